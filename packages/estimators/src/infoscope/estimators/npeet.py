"""NPEET's function names, argument order and base 2 (NPEET: Ver Steeg, MIT licence), on
the estimators of `knn`.

Differences from NPEET:

    columns       in mi, cmi, entropy, centropy, tc, ctc and corex integers, booleans and strings are categories; NPEET
                  takes their codes as numbers. A name with c or d says what the columns
                  are
    micd, midc    Ross 2014, which may be slightly negative; NPEET takes the absolute value of a difference of entropies
    discrete      digamma-corrected counts; NPEET plugs in frequencies, biased by about (cells - 1) / 2n
    centropy...   H(x) - I(x; y); NPEET subtracts two entropies of different dimension, its centropycd takes the base
                  for k, and its centropydc returns H(y | x)
    tc            one neighbourhood for all columns (Kraskov et al. 2004, eq. 23); NPEET subtracts entropies
    scale         columns are standardised; NPEET's noise (1e-10) destroys data of this scale

`compat=True` of mi, cmi, micd, midc and entropy gives NPEET's own numbers, up to its
tie-breaking noise. The correction of thin neighbourhoods (alpha in NPEET) is not here.

Arguments: x, y, z, xs, ys [n] or [n, d] or lists of lists; k neighbours; base of the
logarithm; warning: whether to warn of classes with too few samples; generator of the
noise, a fresh one with seed 0 if None. Results are floats; notes of `knn` are warnings.
Errors as `knn`; OutOfRange also for a base that is not positive, or is 1.
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
        return _original_mi(
            k, generator_or_default(generator), x, y, z
        ) / _nats_per_unit(base)
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
        return _original_mi(
            k, generator_or_default(generator), x, y, z
        ) / _nats_per_unit(base)
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
        return _original_entropy(
            k, generator_or_default(generator), x
        ) / _nats_per_unit(base)
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
    """Part of the total correlation of xs that ys explains: sum of I(column of xs; ys)
    - I(xs; ys).
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
        return _original_micd(
            k, generator_or_default(generator), x, y
        ) / _nats_per_unit(base)
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
        return _original_micd(
            k, generator_or_default(generator), y, x
        ) / _nats_per_unit(base)
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
    """Part of the total correlation of xs that ys explains: columns of xs numbers, ys
    categories.
    """
    return _total(_corex(k, Continuous(xs), Discrete(ys)), base, warning)


def corexdc(
    xs: Any, ys: Any, k: int = 3, base: float = 2, warning: bool = True
) -> float:
    """Part of the total correlation of xs that ys explains: columns of xs categories,
    ys numbers.
    """
    return _total(_corex(k, Discrete(xs), Continuous(ys)), base, warning)


def _mi(k: int, x: Any, y: Any, z: Any = None) -> Estimate:
    if z is None:
        return knn.mutual_information(x, y, k)
    return knn.conditional_mutual_information(x, y, z, k)


def _centropy(k: int, x: Any, y: Any) -> list[Estimate]:
    return [knn.entropy(x, k), -_mi(k, x, y)]


def _tc(k: int, xs: Any) -> Estimate:
    return knn.total_correlation(single_columns("xs", xs), k)


def _corex(k: int, xs: Any, ys: Any) -> list[Estimate]:
    named = {
        f"xs[{place}]": column for place, column in enumerate(single_columns("xs", xs))
    }
    *columns, ys = as_variables(**named, ys=ys)[0].values()
    terms = [_mi(k, column, ys) for column in columns]
    return [*terms, -_mi(k, join(*columns), ys)]


def _ctc(k: int, xs: Any, y: Any) -> list[Estimate]:
    return [_tc(k, xs), *(-term for term in _corex(k, xs, y))]


def _total(terms: list[Estimate], base: float, warning: bool = True) -> float:
    """The sum of estimates in units of the base; warns of their notes in the line that
    called the public function.
    """
    nats_per_unit = _nats_per_unit(base)
    notes = [note for term in terms for note in term.notes]
    if warning:
        for note in dict.fromkeys(notes):
            warnings.warn(note, stacklevel=3)
    return sum(map(float, terms)) / nats_per_unit


def kldiv(x: Any, xp: Any, k: int = 3, base: float = 2) -> float:
    """D(p || q), the mean of log p / q over p, for p the density of x [n, d] and q the
    density of xp [m, d].

    Wang et al. 2009, eq. 5: compares distances to the k-th neighbour in x and in xp,
    columns in their own units. ValueError: different numbers of columns, discrete
    columns, k >= n, k > m, or values so often repeated that their neighbours are at
    distance 0.
    """
    p, q = as_variable("x", x), as_variable("xp", xp)
    if {p.kind, q.kind} != {"continuous"} or p.dim != q.dim:
        raise WrongLength(
            f"x and xp must be continuous and have as many columns, got {p.dim} and {q.dim}."
        )
    if require_int("k", k, 1) >= p.n or k > q.n:
        raise OutOfRange(
            f"k must be below {p.n} and at most {q.n}, the numbers of rows, got {k}."
        )
    radius_p = nearest(p.continuous, k).distances[:, -1]
    distances, _ = KDTree(q.continuous, metric="chebyshev").query(p.continuous, k)
    radius_q = distances[:, -1]
    if not (radius_p.all() and radius_q.all()):
        raise InvalidInput(
            f"x must not repeat a value of x or xp k = {k} times or more; break ties with jitter."
        )
    log_ratios = p.dim * (np.log(radius_q) - np.log(radius_p))
    return (log(q.n / (p.n - 1)) + float(log_ratios.mean())) / _nats_per_unit(base)


def _nats_per_unit(base: float) -> float:
    """Nats in a unit of this base."""
    if not 0 < base < np.inf or base == 1:
        raise OutOfRange(f"base must be a positive number other than 1, got {base!r}.")
    return log(base)


def _original_mi(k: int, generator: Generator, x: Any, y: Any, z: Any = None) -> float:
    """NPEET's KSG 1, or Frenzel-Pompe given z, nats."""
    if z is None:
        _require_same_rows(x=x, y=y)
        z = np.empty((len(x), 0))
    else:
        _require_same_rows(x=x, y=y, z=z)
        z = as_matrix("values", z)
    x = _noisy(x, generator)
    y = _noisy(y, generator)
    radius = _radii(np.hstack([x, y, z]), k)
    xz = _mean_digamma(np.hstack([x, z]), radius)
    yz = _mean_digamma(np.hstack([y, z]), radius)
    if not z.size:
        return float(digamma(k) + digamma(len(x)) - xz - yz)
    return float(digamma(k) - xz - yz + _mean_digamma(z, radius))


def _original_micd(k: int, generator: Generator, x: Any, y: Any) -> float:
    """NPEET's |H(x) - sum p(y) H(x | y)|, nats; a class of at most k samples is
    included with H(x).
    """
    _require_same_rows(x=x, y=y)
    x = as_matrix("values", x)
    rows_of_labels = np.asarray(y).reshape(len(y), -1)
    labels = np.unique(rows_of_labels, axis=0, return_inverse=True)[1].reshape(-1)
    marginal = _original_entropy(k, generator, x)
    conditional = 0.0
    for label in range(labels.max() + 1):
        is_member = labels == label
        entropy_in_class = marginal
        if is_member.sum() > k:
            entropy_in_class = _original_entropy(k, generator, x[is_member])
        conditional += is_member.mean() * entropy_in_class
    return abs(marginal - conditional)


def _original_entropy(k: int, generator: Generator, x: Any) -> float:
    """NPEET's Kozachenko-Leonenko, nats."""
    x = _noisy(x, generator)
    n, dim = x.shape
    return float(digamma(n) - digamma(k) + dim * np.log(2 * _radii(x, k)).mean())


def _mean_digamma(points: np.ndarray, radius: np.ndarray) -> float:
    """Mean digamma of the number of points within radius - 1e-15 of each, which is
    itself included.
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
    points = as_matrix("values", values)
    return points + NOISE * generator.random(points.shape)
