"""The estimators of `knn` under NPEET's names, with its argument order and base 2.

NPEET is by Greg Ver Steeg (MIT licence). Differences from NPEET:

    columns       integers, booleans and strings are categories in mi, cmi, entropy, centropy, tc, ctc and corex; NPEET
                  takes their codes as numbers. A c or d in a function's name fixes the type: c numbers, d categories
    micd, midc    Ross 2014, which may be slightly negative; NPEET takes the absolute value of a difference of entropies
    discrete      digamma-corrected counts; NPEET plugs in frequencies, biased by about (cells - 1) / 2n
    centropy...   H(x) - I(x; y); NPEET subtracts two entropies of different dimension, its centropycd uses the base
                  as k, and its centropydc returns H(y | x)
    tc            one neighbourhood for all columns (Kraskov et al. 2004, eq. 23); NPEET subtracts entropies
    scale         columns are standardised; NPEET's noise (1e-10) destroys data of this scale

`compat=True` of mi, cmi, micd, midc and entropy returns the numbers of NPEET, up to its
tie-breaking noise. NPEET's correction of thin neighbourhoods (alpha) is missing here.

Arguments: x, y, z, xs, ys [n] or [n, d] or lists of lists; k, number of neighbours;
base of the logarithm; warning: whether to warn of classes with too few samples;
generator of the noise (None: a new generator with seed 0). Results are floats; notes of
`knn` become warnings. Errors as `knn`; OutOfRange also for a base of 1, 0 or less.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import log
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.special import digamma
from sklearn.neighbors import KDTree

from infoscope.checks import require_int
from infoscope.errors import InvalidInput, OutOfRange, WrongLength
from infoscope.estimators import knn
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.column_types import as_variable, as_variables
from infoscope.estimators.columns import Continuous, Discrete, as_matrix, single_columns
from infoscope.estimators.knn.search import count_within, nearest
from infoscope.estimators.result import Estimate
from infoscope.estimators.variables import join

NOISE = 1e-10  # largest value of NPEET's noise


def mi(
    x: Any,
    y: Any,
    z: Any = None,
    k: int = 3,
    base: float = 2,
    *,
    compat: bool = False,
    generator: Generator | None = None,
) -> float:
    """I(x; y), or I(x; y | z)."""
    if compat:
        nats = _original_mi(k, generator, x, y, z)
        return nats / _nats_per_unit(base)
    return _total([_mi(k, x, y, z)], base)


def cmi(
    x: Any,
    y: Any,
    z: Any,
    k: int = 3,
    base: float = 2,
    *,
    compat: bool = False,
    generator: Generator | None = None,
) -> float:
    """I(x; y | z)."""
    if compat:
        nats = _original_mi(k, generator, x, y, z)
        return nats / _nats_per_unit(base)
    return _total([_mi(k, x, y, z)], base)


def entropy(
    x: Any,
    k: int = 3,
    base: float = 2,
    *,
    compat: bool = False,
    generator: Generator | None = None,
) -> float:
    """H(x)."""
    if compat:
        nats = _original_entropy(k, generator, x)
        return nats / _nats_per_unit(base)
    return _total([knn.entropy(x, k)], base)


def centropy(x: Any, y: Any, k: int = 3, base: float = 2) -> float:
    """H(x | y)."""
    return _total(_centropy(k, x, y), base)


def tc(xs: Any, k: int = 3, base: float = 2) -> float:
    """Total correlation of the columns of xs."""
    return _total([_tc(k, xs)], base)


def ctc(xs: Any, y: Any, k: int = 3, base: float = 2) -> float:
    """Total correlation of the columns of xs given y."""
    return _total(_ctc(k, xs, y), base)


def corex(xs: Any, ys: Any, k: int = 3, base: float = 2) -> float:
    """Part of the total correlation of xs that ys explains.

    The sum of I(column of xs; ys) over columns, minus I(xs; ys).
    """
    return _total(_corex(k, xs, ys), base)


def entropyd(sx: Any, base: float = 2) -> float:
    """H(sx) of categories."""
    return _total([knn.entropy(Discrete(sx), 1)], base)


def centropyd(x: Any, y: Any, base: float = 2) -> float:
    """H(x | y) of categories."""
    return _total(_centropy(1, Discrete(x), Discrete(y)), base)


def midd(x: Any, y: Any, base: float = 2) -> float:
    """I(x; y) of categories."""
    return _total([_mi(1, Discrete(x), Discrete(y))], base)


def cmidd(x: Any, y: Any, z: Any, base: float = 2) -> float:
    """I(x; y | z) of categories."""
    return _total([_mi(1, Discrete(x), Discrete(y), Discrete(z))], base)


def tcd(xs: Any, base: float = 2) -> float:
    """Total correlation of the columns of xs, categories."""
    return _total([_tc(1, Discrete(xs))], base)


def ctcd(xs: Any, y: Any, base: float = 2) -> float:
    """Total correlation of the columns of xs given y, all categories."""
    return _total(_ctc(1, Discrete(xs), Discrete(y)), base)


def corexd(xs: Any, ys: Any, base: float = 2) -> float:
    """Part of the total correlation of xs that ys explains, all categories."""
    return _total(_corex(1, Discrete(xs), Discrete(ys)), base)


def micd(
    x: Any,
    y: Any,
    k: int = 3,
    base: float = 2,
    warning: bool = True,
    *,
    compat: bool = False,
    generator: Generator | None = None,
) -> float:
    """I(x; y), x numbers and y categories."""
    if compat:
        nats = _original_micd(k, generator, x, y)
        return nats / _nats_per_unit(base)
    return _total([_mi(k, Continuous(x), Discrete(y))], base, warning)


def midc(
    x: Any,
    y: Any,
    k: int = 3,
    base: float = 2,
    warning: bool = True,
    *,
    compat: bool = False,
    generator: Generator | None = None,
) -> float:
    """I(x; y), x categories and y numbers."""
    if compat:
        nats = _original_micd(k, generator, y, x)
        return nats / _nats_per_unit(base)
    return _total([_mi(k, Discrete(x), Continuous(y))], base, warning)


def centropycd(
    x: Any, y: Any, k: int = 3, base: float = 2, warning: bool = True
) -> float:
    """H(x | y), x numbers and y categories."""
    return _total(_centropy(k, Continuous(x), Discrete(y)), base, warning)


def centropydc(
    x: Any, y: Any, k: int = 3, base: float = 2, warning: bool = True
) -> float:
    """H(x | y), x categories and y numbers."""
    return _total(_centropy(k, Discrete(x), Continuous(y)), base, warning)


def ctccd(xs: Any, y: Any, k: int = 3, base: float = 2, warning: bool = True) -> float:
    """Total correlation of the columns of xs, numbers, given y, categories."""
    return _total(_ctc(k, Continuous(xs), Discrete(y)), base, warning)


def ctcdc(xs: Any, y: Any, k: int = 3, base: float = 2, warning: bool = True) -> float:
    """Total correlation of the columns of xs, categories, given y, numbers."""
    return _total(_ctc(k, Discrete(xs), Continuous(y)), base, warning)


def corexcd(
    xs: Any, ys: Any, k: int = 3, base: float = 2, warning: bool = True
) -> float:
    """Part of the total correlation of xs, numbers, that ys, categories, explains."""
    return _total(_corex(k, Continuous(xs), Discrete(ys)), base, warning)


def corexdc(
    xs: Any, ys: Any, k: int = 3, base: float = 2, warning: bool = True
) -> float:
    """Part of the total correlation of xs, categories, that ys, numbers, explains."""
    return _total(_corex(k, Discrete(xs), Continuous(ys)), base, warning)


def _mi(k: int, x: Any, y: Any, z: Any = None) -> Estimate:
    """I(x; y), or I(x; y | z), nats."""
    if z is None:
        return knn.mutual_information(x, y, k)
    return knn.conditional_mutual_information(x, y, z, k)


def _centropy(k: int, x: Any, y: Any) -> list[Estimate]:
    """Terms whose sum is H(x | y), nats."""
    return [knn.entropy(x, k), -_mi(k, x, y)]


def _tc(k: int, xs: Any) -> Estimate:
    """Total correlation of the columns of xs, nats."""
    return knn.total_correlation(single_columns("xs", xs), k)


def _corex(k: int, xs: Any, ys: Any) -> list[Estimate]:
    """Terms whose sum is the part of the total correlation that ys explains, nats."""
    values = {}
    for place, column in enumerate(single_columns("xs", xs)):
        values[f"xs[{place}]"] = column
    variables, _ = as_variables(**values, ys=ys)
    *columns, ys = variables.values()
    terms = [_mi(k, column, ys) for column in columns]
    joint = _mi(k, join(*columns), ys)
    return [*terms, -joint]


def _ctc(k: int, xs: Any, y: Any) -> list[Estimate]:
    """Terms whose sum is the total correlation of xs given y, nats."""
    explained = _corex(k, xs, y)
    return [_tc(k, xs), *(-term for term in explained)]


def _total(terms: list[Estimate], base: float, warning: bool = True) -> float:
    """The sum of estimates in units of the base.

    The notes of the estimates are warnings at the line that calls the public function.
    """
    nats_per_unit = _nats_per_unit(base)
    notes = []
    for term in terms:
        notes += term.notes
    if warning:
        for note in dict.fromkeys(notes):
            warnings.warn(note, stacklevel=3)
    return sum(map(float, terms)) / nats_per_unit


def kldiv(x: Any, xp: Any, k: int = 3, base: float = 2) -> float:
    """D(p || q), the mean of log p / q over p.

    p is the density of x [n, d], q the density of xp [m, d]. Compares distances to the
    k-th neighbour in x and in xp (Wang et al. 2009, eq. 5), in the units of the columns.
    ValueError: different numbers of columns, discrete columns, k >= n, k > m, or k
    neighbours at distance 0 (repeated values).
    """
    p, q = as_variable("x", x), as_variable("xp", xp)
    if {p.kind, q.kind} != {"continuous"} or p.dim != q.dim:
        raise WrongLength(
            f"x and xp must be continuous and have as many columns, got {p.dim} and "
            f"{q.dim}."
        )
    if require_int("k", k, 1) >= p.n or k > q.n:
        raise OutOfRange(
            f"k must be below {p.n} and at most {q.n}, the numbers of rows, got {k}."
        )
    radius_p = nearest(p.continuous, k).distances[:, -1]
    tree = KDTree(q.continuous, metric="chebyshev")
    distances, _ = tree.query(p.continuous, k)
    radius_q = distances[:, -1]
    if not (radius_p.all() and radius_q.all()):
        raise InvalidInput(
            f"x must not repeat a value of x or xp k = {k} times or more; break ties "
            "with jitter."
        )
    log_ratios = p.dim * (np.log(radius_q) - np.log(radius_p))
    log_size_ratio = log(q.n / (p.n - 1))
    nats = log_size_ratio + float(log_ratios.mean())
    return nats / _nats_per_unit(base)


def _nats_per_unit(base: float) -> float:
    """Nats in a unit of information with this base of the logarithm."""
    if not 0 < base < np.inf or base == 1:
        raise OutOfRange(f"base must be a positive number other than 1, got {base!r}.")
    return log(base)


def _original_mi(k: int, generator: Generator | None, x: Any, y: Any, z: Any) -> float:
    """NPEET's KSG 1, or Frenzel-Pompe given z, nats."""
    generator = generator_or_default(generator)
    if z is None:
        _require_same_rows(x=x, y=y)
        z = np.empty((len(x), 0))
    else:
        _require_same_rows(x=x, y=y, z=z)
        z = as_matrix("values", z)
    x = _noisy(x, generator)
    y = _noisy(y, generator)
    radius = _radii(np.hstack([x, y, z]), k)
    digamma_xz = _mean_digamma(np.hstack([x, z]), radius)
    digamma_yz = _mean_digamma(np.hstack([y, z]), radius)
    if not z.size:
        return float(digamma(k) + digamma(len(x)) - digamma_xz - digamma_yz)
    digamma_z = _mean_digamma(z, radius)
    return float(digamma(k) - digamma_xz - digamma_yz + digamma_z)


def _original_micd(k: int, generator: Generator | None, x: Any, y: Any) -> float:
    """NPEET's |H(x) - sum p(y) H(x | y)|, nats.

    A class with at most k samples contributes H(x).
    """
    generator = generator_or_default(generator)
    _require_same_rows(x=x, y=y)
    x = as_matrix("values", x)
    label_rows = np.asarray(y).reshape(len(y), -1)
    _, labels = np.unique(label_rows, axis=0, return_inverse=True)
    labels = labels.reshape(-1)
    marginal = _original_entropy(k, generator, x)
    conditional = 0.0
    for label in range(labels.max() + 1):
        is_member = labels == label
        entropy_in_class = marginal
        if is_member.sum() > k:
            entropy_in_class = _original_entropy(k, generator, x[is_member])
        conditional += is_member.mean() * entropy_in_class
    return abs(marginal - conditional)


def _original_entropy(k: int, generator: Generator | None, x: Any) -> float:
    """NPEET's Kozachenko-Leonenko entropy, nats."""
    x = _noisy(x, generator_or_default(generator))
    n, dim = x.shape
    log_widths = np.log(2 * _radii(x, k))
    return float(digamma(n) - digamma(k) + dim * log_widths.mean())


def _mean_digamma(points: np.ndarray, radius: np.ndarray) -> float:
    """Mean digamma of the number of points within radius - 1e-15 of each point.

    The point itself is included.
    """
    closed = np.nextafter(radius - 1e-15, np.inf)  # as NPEET
    counts = 1 + count_within(np.ascontiguousarray(points), closed)
    return float(digamma(counts).mean())


def _radii(points: np.ndarray, k: int) -> np.ndarray:
    """The distance of each point to its k-th neighbour [n]."""
    if require_int("k", k, 1) >= len(points):
        raise OutOfRange(f"k must be below the number of rows, {len(points)}, got {k}.")
    return nearest(np.ascontiguousarray(points), k).distances[:, -1]


def _require_same_rows(**variables: Sequence[Any]) -> None:
    lengths = {name: len(values) for name, values in variables.items()}
    if len(set(lengths.values())) > 1:
        raise WrongLength(
            f"{' and '.join(lengths)} must have the same number of rows, got {lengths}."
        )


def _noisy(values: Any, generator: Generator) -> np.ndarray:
    """The values [n, d] with NPEET's noise."""
    points = as_matrix("values", values)
    return points + NOISE * generator.random(points.shape)
