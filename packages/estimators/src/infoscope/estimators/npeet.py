"""NPEET's function names, argument order and base 2 (NPEET: Ver Steeg, MIT licence), on the estimators of `knn`.

Differences from NPEET:

    columns       in mi, cmi, entropy, centropy, tc, ctc and corex integers, booleans and strings are categories; NPEET
                  takes their codes as numbers. A name with c or d says what the columns are
    micd, midc    Ross 2014, which may be slightly negative; NPEET takes the absolute value of a difference of entropies
    discrete      digamma-corrected counts; NPEET plugs in frequencies, biased by about (cells - 1) / 2n
    centropy...   H(x) - I(x; y); NPEET subtracts two entropies of different dimension, its centropycd takes the base
                  for k, and its centropydc returns H(y | x)
    tc            one neighbourhood for all columns (Kraskov et al. 2004, eq. 23); NPEET subtracts entropies
    scale         columns are standardised; NPEET's noise (1e-10) destroys data of that scale

`compat=True` of mi, cmi, micd, midc and entropy gives NPEET's own numbers, up to its tie-breaking noise. The correction
of thin neighbourhoods (alpha in NPEET) is not here.

Arguments: x, y, z, xs, ys [n] or [n, d] or lists of lists; k neighbours; base of the logarithm; warning: whether to
warn of classes with too few samples; generator of the noise, a fresh one with seed 0 if None. Results are
floats; notes of `knn` are warnings. Errors as `knn`; OutOfRange also for a base that is not positive, or is 1.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from inspect import Parameter, Signature
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

Terms = list[tuple[int, Estimate]]  # estimates, nats, and the signs with which they are summed


def _mi(k: int, x: Any, y: Any, z: Any = None) -> Terms:
    measured = knn.mutual_information(x, y, k) if z is None else knn.conditional_mutual_information(x, y, z, k)
    return [(1, measured)]


def _entropy(k: int, x: Any) -> Terms:
    return [(1, knn.entropy(x, k))]


def _centropy(k: int, x: Any, y: Any) -> Terms:
    return _entropy(k, x) + _negative(_mi(k, x, y))


def _tc(k: int, xs: Any) -> Terms:
    return [(1, knn.total_correlation(single_columns("xs", xs), k))]


def _corex(k: int, xs: Any, ys: Any) -> Terms:
    given = {f"xs[{place}]": column for place, column in enumerate(single_columns("xs", xs))}
    *columns, ys = as_variables(**given, ys=ys)[0].values()
    alone = [term for column in columns for term in _mi(k, column, ys)]
    return alone + _negative(_mi(k, join(*columns), ys))


def _ctc(k: int, xs: Any, y: Any) -> Terms:
    return _tc(k, xs) + _negative(_corex(k, xs, y))


def _negative(terms: Terms) -> Terms:
    return [(-sign, one) for sign, one in terms]


def _function(
    name: str, measure: Callable[..., Terms], kinds: str, arguments: str, meaning: str,
    original: Callable[..., float] | None = None,
) -> Callable[..., float]:  # fmt: skip
    """NPEET's function of a name; kinds: c or d for x and for y, or empty: types from the values.

    Its arguments (z may be left out of those of mi), then k (unless all are categories), base, warning (of mixed kinds)
    and, with NPEET's own formula, compat and generator by name.
    """
    defaults = {"base": 2} if kinds == "dd" else {"k": 3, "base": 2} | ({"warning": True} if kinds else {})
    own = {} if original is None else {"compat": False, "generator": None}
    named = {one: None if (name, one) == ("mi", "z") else Parameter.empty for one in arguments.split()}
    signature = Signature(
        [Parameter(one, Parameter.POSITIONAL_OR_KEYWORD, default=value) for one, value in (named | defaults).items()]
        + [Parameter(one, Parameter.KEYWORD_ONLY, default=value) for one, value in own.items()],
        return_annotation=float,
    )
    types = [{"c": Continuous, "d": Discrete}[kind] for kind in kinds] or [lambda values: values] * 2

    def function(*args: Any, **kwargs: Any) -> float:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        units, variables = _units(given["base"]), [given[one] for one in named if given[one] is not None]
        if given.get("compat"):
            return original(given["k"], generator_or_default(given["generator"]), *variables) / units
        typed = [types[min(place, 1)](one) for place, one in enumerate(variables)]
        terms = measure(given.get("k", 1), *typed)
        for note in dict.fromkeys(note for _, one in terms for note in one.notes if given.get("warning", True)):
            warnings.warn(note, stacklevel=2)
        return sum(sign * float(one) for sign, one in terms) / units

    function.__name__, function.__qualname__, function.__doc__ = name, name, meaning
    function.__signature__ = signature
    return function


def kldiv(x: Any, xp: Any, k: int = 3, base: float = 2) -> float:
    """D(p || q), the mean of log p / q over p, for p the density of x [n, d] and q that of xp [m, d].

    Wang et al. 2009, eq. 5: the distance to the k-th other of x against that to the k-th of xp, columns in their own
    units. ValueError: different numbers of columns, discrete columns, k >= n, k > m, or values so often repeated that
    their neighbours are at distance 0.
    """
    first, second = as_variable("x", x), as_variable("xp", xp)
    if first.kind != "continuous" or second.kind != "continuous" or first.dim != second.dim:
        raise WrongLength(f"x and xp must be continuous and have as many columns, got {first.dim} and {second.dim}.")
    if require_int("k", k, 1) >= first.n or k > second.n:
        raise OutOfRange(f"k must be below {first.n} and at most {second.n}, the numbers of rows, got {k}.")
    within = nearest(first.continuous, k).distances[:, -1]
    across = KDTree(second.continuous, metric="chebyshev").query(first.continuous, k)[0][:, -1]
    if not (within.all() and across.all()):
        raise InvalidInput(f"x must not repeat a value of x or xp k = {k} times or more; break ties with jitter.")
    ratios = first.dim * (np.log(across) - np.log(within))
    return (log(second.n / (first.n - 1)) + float(ratios.mean())) / _units(base)


def _units(base: float) -> float:
    """Nats in a unit of this base."""
    if not 0 < base < np.inf or base == 1:
        raise OutOfRange(f"base must be a positive number other than 1, got {base!r}.")
    return log(base)


def _original_mi(k: int, generator: Generator, x: Any, y: Any, z: Any = None) -> float:
    """NPEET's KSG 1, or Frenzel-Pompe given z, nats."""
    _require_same_rows(x=x, y=y, **({} if z is None else {"z": z}))
    x, y = (_noisy(variable, generator) for variable in (x, y))
    z = np.empty((len(x), 0)) if z is None else as_matrix("values", z)
    radius = _distances(np.hstack([x, y, z]), k)
    xz, yz = (_mean_digamma(np.hstack([variable, z]), radius) for variable in (x, y))
    if not z.size:
        return float(digamma(k) + digamma(len(x)) - xz - yz)
    return float(digamma(k) - xz - yz + _mean_digamma(z, radius))


def _original_micd(k: int, generator: Generator, x: Any, y: Any) -> float:
    """NPEET's |H(x) - sum p(y) H(x | y)|, nats; a class of at most k samples counts with H(x)."""
    _require_same_rows(x=x, y=y)
    x = as_matrix("values", x)
    labels = np.unique(np.asarray(y).reshape(len(y), -1), axis=0, return_inverse=True)[1].reshape(-1)
    of_all = _original_entropy(k, generator, x)
    conditional = 0.0
    for label in range(labels.max() + 1):
        members = labels == label
        few = members.sum() <= k
        conditional += members.mean() * (of_all if few else _original_entropy(k, generator, x[members]))
    return abs(of_all - conditional)


def _original_entropy(k: int, generator: Generator, x: Any) -> float:
    """NPEET's Kozachenko-Leonenko, nats."""
    x = _noisy(x, generator)
    n, dim = x.shape
    return float(digamma(n) - digamma(k) + dim * np.log(2 * _distances(x, k)).mean())


def _mean_digamma(points: np.ndarray, radius: np.ndarray) -> float:
    """Mean digamma of the number of points within radius - 1e-15, itself included."""
    closed = np.nextafter(radius - 1e-15, np.inf)  # as NPEET
    return float(digamma(1 + count_within(np.ascontiguousarray(points), closed)).mean())


def _distances(points: np.ndarray, k: int) -> np.ndarray:
    """The distance of each point to its k-th neighbour [n]."""
    if require_int("k", k, 1) >= len(points):
        raise OutOfRange(f"k must be below the number of rows, {len(points)}, got {k}.")
    return nearest(np.ascontiguousarray(points), k).distances[:, -1]


def _require_same_rows(**variables: Sequence[Any]) -> None:
    lengths = {name: len(values) for name, values in variables.items()}
    if len(set(lengths.values())) > 1:
        raise WrongLength(f"{' and '.join(lengths)} must have the same number of rows, got {lengths}.")


def _noisy(values: Any, generator: Generator) -> np.ndarray:
    points = as_matrix("values", values)
    return points + 1e-10 * generator.random(points.shape)  # as NPEET


_TOTAL, _EXPLAINED = "Total correlation of the columns of xs", "Part of the total correlation of xs that ys explains"
mi = _function("mi", _mi, "", "x y z", "I(x; y), or I(x; y | z).", _original_mi)
cmi = _function("cmi", _mi, "", "x y z", "I(x; y | z).", _original_mi)
entropy = _function("entropy", _entropy, "", "x", "H(x).", _original_entropy)
centropy = _function("centropy", _centropy, "", "x y", "H(x | y).")
tc = _function("tc", _tc, "", "xs", f"{_TOTAL}.")
ctc = _function("ctc", _ctc, "", "xs y", f"{_TOTAL} given y.")
corex = _function("corex", _corex, "", "xs ys", f"{_EXPLAINED}: sum of I(column of xs; ys) - I(xs; ys).")
entropyd = _function("entropyd", _entropy, "dd", "sx", "H(sx) of categories.")
centropyd = _function("centropyd", _centropy, "dd", "x y", "H(x | y) of categories.")
midd = _function("midd", _mi, "dd", "x y", "I(x; y) of categories.")
cmidd = _function("cmidd", _mi, "dd", "x y z", "I(x; y | z) of categories.")
tcd = _function("tcd", _tc, "dd", "xs", f"{_TOTAL}, categories.")
ctcd = _function("ctcd", _ctc, "dd", "xs y", f"{_TOTAL} given y, all categories.")
corexd = _function("corexd", _corex, "dd", "xs ys", f"{_EXPLAINED}, all categories.")
micd = _function("micd", _mi, "cd", "x y", "I(x; y), x numbers and y categories.", _original_micd)
midc = _function(
    "midc", _mi, "dc", "x y", "I(x; y), x categories and y numbers.", lambda k, g, x, y: _original_micd(k, g, y, x)
)
centropycd = _function("centropycd", _centropy, "cd", "x y", "H(x | y), x numbers and y categories.")
centropydc = _function("centropydc", _centropy, "dc", "x y", "H(x | y), x categories and y numbers.")
ctccd = _function("ctccd", _ctc, "cd", "xs y", f"{_TOTAL}, numbers, given y, categories.")
ctcdc = _function("ctcdc", _ctc, "dc", "xs y", f"{_TOTAL}, categories, given y, numbers.")
corexcd = _function("corexcd", _corex, "cd", "xs ys", f"{_EXPLAINED}: columns of xs numbers, ys categories.")
corexdc = _function("corexdc", _corex, "dc", "xs ys", f"{_EXPLAINED}: columns of xs categories, ys numbers.")
