"""NPEET's function names, argument order and base 2, on the estimators of `knn`.

By default every function does what its name says, correctly; `compat=True` reproduces NPEET's own numbers up to its
tie-breaking noise (NPEET: Ver Steeg, MIT licence). Where the default differs:

    columns       typed as in `variables`: in mi, cmi, entropy, tc, ctc and corex integers, booleans and strings are
                  categories; NPEET takes their codes as numbers. A name with c or d says what the columns are
    micd, midc    Ross 2014, which may be slightly negative; NPEET takes the absolute value of a difference of two
                  entropies whose errors differ
    discrete      digamma-corrected counts (after Grassberger 1988, without its alternating term); NPEET plugs in
                  frequencies, biased by about (cells - 1) / 2n
    centropy      H(x) - I(x; y); NPEET subtracts two entropies of different dimension
    centropycd    NPEET takes the base for k; centropydc: NPEET returns H(y | x) instead of H(x | y)
    tc            one neighbourhood for all columns (Kraskov et al. 2004, eq. 23); NPEET subtracts entropies
    scale         columns are standardised; NPEET's noise (1e-10) destroys data of that scale, and its strictness
                  (radius - 1e-15) is lost at radii above about 16
    shuffle_test  takes a generator, and shuffles within the classes of a discrete z

Arguments: x, y, z, xs, ys [n] or [n, d] or lists of lists; k neighbours; base of the logarithm; warning: whether to
warn of classes with too few samples; compat; generator of the noise and shuffles, a fresh one with seed 0 if None.
Results are floats; what `knn` notes is a warning. Errors are those of `knn`; ValueError also for a base that is not a
positive number other than 1.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from math import log
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.random import Generator
from sklearn.neighbors import KDTree

from infoscope.checks import require_int
from infoscope.errors import InvalidInput, OutOfRange, WrongLength
from infoscope.estimators import knn
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.knn.estimators import Continuous, Discrete
from infoscope.estimators.knn.search import nearest
from infoscope.estimators.npeet import _formulas as original
from infoscope.estimators.result import Estimate
from infoscope.estimators.variables import Variable, as_variable, as_variables, join, single_columns


class Compat(TypedDict, total=False):
    """compat and generator, by name only."""

    compat: bool
    generator: Generator | None


def mi(x: Any, y: Any, z: Any = None, k: int = 3, base: float = 2, alpha: float = 0, **compat: Unpack[Compat]) -> float:
    """I(x; y), or I(x; y | z); alpha > 0 adds the local non-uniformity correction of Gao et al. 2015 to I(x; y)."""
    return _measured("mi", "", (x, y, z, alpha), base, k, **compat)


def cmi(x: Any, y: Any, z: Any, k: int = 3, base: float = 2, **compat: Unpack[Compat]) -> float:
    """I(x; y | z)."""
    return _measured("mi", "", (x, y, z), base, k, **compat)


def entropy(x: Any, k: int = 3, base: float = 2, **compat: Unpack[Compat]) -> float:
    """H(x)."""
    return _measured("entropy", "", (x,), base, k, **compat)


def centropy(x: Any, y: Any, k: int = 3, base: float = 2, **compat: Unpack[Compat]) -> float:
    """H(x | y)."""
    return _measured("centropy", "", (x, y), base, k, **compat)


def tc(xs: Any, k: int = 3, base: float = 2, **compat: Unpack[Compat]) -> float:
    """Total correlation of the columns of xs."""
    return _measured("tc", "", (xs,), base, k, **compat)


def ctc(xs: Any, y: Any, k: int = 3, base: float = 2, **compat: Unpack[Compat]) -> float:
    """Total correlation of the columns of xs given y."""
    return _measured("ctc", "", (xs, y), base, k, **compat)


def corex(xs: Any, ys: Any, k: int = 3, base: float = 2, **compat: Unpack[Compat]) -> float:
    """sum of I(column of xs; ys) - I(xs; ys): what of the total correlation ys explains."""
    return _measured("corex", "", (xs, ys), base, k, **compat)


def kldiv(x: Any, xp: Any, k: int = 3, base: float = 2, *, compat: bool = False) -> float:
    """D(p || q), the mean of log p / q over p, for p the density of x [n, d] and q that of xp [m, d].

    Wang et al. 2009, eq. 5: the distance to the k-th other of x against that to the k-th of xp. Columns enter in their
    own units, with compat or without: the divergence does not depend on them, its estimate does.

    ValueError: different numbers of columns, discrete columns, k >= n, k > m, or values so often repeated that their
    neighbours are at distance 0 (with compat, that divergence is infinite or nan).
    """
    first, second = as_variable("x", x), as_variable("xp", xp)
    if first.kind != "continuous" or second.kind != "continuous" or first.dim != second.dim:
        raise WrongLength(f"x and xp must be continuous and have as many columns, got {first.dim} and {second.dim}.")
    if require_int("k", k, 1) >= first.n or k > second.n:
        raise OutOfRange(f"k must be below {first.n} and at most {second.n}, the numbers of rows, got {k}.")
    within = nearest(first.continuous, k).distances[:, -1]
    across = KDTree(second.continuous, metric="chebyshev").query(first.continuous, k)[0][:, -1]
    if not compat and not (within.all() and across.all()):
        raise InvalidInput(f"x must not repeat a value of x or xp k = {k} times or more; break ties with jitter.")
    ratios = first.dim * (np.log(across) - np.log(within))
    return (log(second.n / (first.n - 1)) + float(ratios.mean())) / _units(base)


def entropyd(sx: Any, base: float = 2, **compat: Unpack[Compat]) -> float:
    """H(sx) of categories."""
    return _measured("entropy", "dd", (sx,), base, **compat)


def centropyd(x: Any, y: Any, base: float = 2, **compat: Unpack[Compat]) -> float:
    """H(x | y) of categories."""
    return _measured("centropy", "dd", (x, y), base, **compat)


def midd(x: Any, y: Any, base: float = 2, **compat: Unpack[Compat]) -> float:
    """I(x; y) of categories."""
    return _measured("mi", "dd", (x, y), base, **compat)


def cmidd(x: Any, y: Any, z: Any, base: float = 2, **compat: Unpack[Compat]) -> float:
    """I(x; y | z) of categories."""
    return _measured("mi", "dd", (x, y, z), base, **compat)


def tcd(xs: Any, base: float = 2, **compat: Unpack[Compat]) -> float:
    """Total correlation of the columns of xs, which are categories."""
    return _measured("tc", "dd", (xs,), base, **compat)


def ctcd(xs: Any, y: Any, base: float = 2, **compat: Unpack[Compat]) -> float:
    """Total correlation of the columns of xs given y, all categories."""
    return _measured("ctc", "dd", (xs, y), base, **compat)


def corexd(xs: Any, ys: Any, base: float = 2, **compat: Unpack[Compat]) -> float:
    """The part of the total correlation that ys explains, all categories."""
    return _measured("corex", "dd", (xs, ys), base, **compat)


def micd(x: Any, y: Any, k: int = 3, base: float = 2, warning: bool = True, **compat: Unpack[Compat]) -> float:
    """I(x; y), x numbers and y categories."""
    return _measured("mi", "cd", (x, y), base, k, warning, **compat)


def midc(x: Any, y: Any, k: int = 3, base: float = 2, warning: bool = True, **compat: Unpack[Compat]) -> float:
    """I(x; y), x categories and y numbers."""
    return _measured("mi", "dc", (x, y), base, k, warning, **compat)


def centropycd(x: Any, y: Any, k: int = 3, base: float = 2, warning: bool = True, **compat: Unpack[Compat]) -> float:
    """H(x | y), x numbers and y categories."""
    return _measured("centropy", "cd", (x, y), base, k, warning, **compat)


def centropydc(x: Any, y: Any, k: int = 3, base: float = 2, warning: bool = True, **compat: Unpack[Compat]) -> float:
    """H(x | y), x categories and y numbers."""
    return _measured("centropy", "dc", (x, y), base, k, warning, **compat)


def ctccd(xs: Any, y: Any, k: int = 3, base: float = 2, warning: bool = True, **compat: Unpack[Compat]) -> float:
    """Total correlation of the columns of xs, numbers, given y, categories."""
    return _measured("ctc", "cd", (xs, y), base, k, warning, **compat)


def ctcdc(xs: Any, y: Any, k: int = 3, base: float = 2, warning: bool = True, **compat: Unpack[Compat]) -> float:
    """Total correlation of the columns of xs, categories, given y, numbers."""
    return _measured("ctc", "dc", (xs, y), base, k, warning, **compat)


def corexcd(xs: Any, ys: Any, k: int = 3, base: float = 2, warning: bool = True, **compat: Unpack[Compat]) -> float:
    """The part of the total correlation that ys explains: columns of xs numbers, ys categories."""
    return _measured("corex", "cd", (xs, ys), base, k, warning, **compat)


def corexdc(xs: Any, ys: Any, k: int = 3, base: float = 2, warning: bool = True, **compat: Unpack[Compat]) -> float:
    """The part of the total correlation that ys explains: columns of xs categories, ys numbers."""
    return _measured("corex", "dc", (xs, ys), base, k, warning, **compat)


def shuffle_test(
    measure: Callable[..., float],
    x: Any,
    y: Any,
    z: Any = None,
    ns: int = 200,
    ci: float = 0.95,
    *,
    generator: Generator | None = None,
    **kwargs: Any,
) -> tuple[float, tuple[float, float]]:
    """Mean and central interval of `measure(x, y, [z,] **kwargs)` over `ns` shuffles of x: its values without any
    dependence. With a discrete z, x is shuffled within the classes of z.

    ValueError: ns < 2, ci outside (0, 1), different lengths.
    """
    require_int("ns", ns, 2)
    if not 0 < ci < 1:
        raise OutOfRange(f"ci must be between 0 and 1, got {ci!r}.")
    generator, rows = generator_or_default(generator), np.asarray(x)
    given = () if z is None or z is False else (z,)
    strata = as_variables(x=x, y=y, **({"z": z} if given else {}))[0].get("z")
    values = np.sort([measure(rows[shuffled(len(rows), strata, generator)], y, *given, **kwargs) for _ in range(ns)])
    low, high = (values[int((1 + side * ci) / 2 * ns)] for side in (-1, 1))
    return float(values.mean()), (float(low), float(high))


def shuffled(n: int, strata: Variable | None, generator: Generator) -> np.ndarray:
    """A permutation of the rows, within the classes of a discrete variable if there is one."""
    if strata is None or strata.kind != "discrete":
        return generator.permutation(n)
    rows = np.empty(n, dtype=np.intp)
    rows[np.argsort(strata.codes, kind="stable")] = np.lexsort((generator.random(n), strata.codes))
    return rows


class _Measures:
    """Every quantity by the estimators of `knn`, nats, of variables typed by `kinds`: one letter each for x and y, c
    or d, or none for what `variables` takes them for; a third variable has the type of y.
    """

    def __init__(self, kinds: str, k: int, notes: list[str]) -> None:
        types = {"c": Continuous, "d": Discrete}
        self._x, self._y = [types[kind] for kind in kinds] or [lambda values: values] * 2
        self._k, self._notes = k, notes

    def _told(self, estimate: Estimate) -> float:
        self._notes += estimate.notes
        return float(estimate)

    def entropy(self, x: Any) -> float:
        return self._told(knn.entropy(self._x(x), self._k))

    def mi(self, x: Any, y: Any, z: Any = None, alpha: float = 0) -> float:
        x, y, k = self._x(x), self._y(y), self._k
        if z is not None:
            return self._told(knn.conditional_mutual_information(x, y, self._y(z), k))
        value = self._told(knn.mutual_information(x, y, k))
        if alpha > 0:
            joint = join(as_variable("x", x), as_variable("y", y)).standardised()
            if joint.kind != "continuous" or k < joint.dim:  # fewer than dim points span no volume
                raise InvalidInput(
                    f"alpha must be 0 unless x and y are continuous and k >= {joint.dim} columns, got {alpha!r}."
                )
            value += original.non_uniformity(joint.continuous, nearest(joint.continuous, k).ids, alpha)
        return value

    def centropy(self, x: Any, y: Any) -> float:
        return self.entropy(x) - self.mi(x, y)

    def tc(self, xs: Any) -> float:
        return self._told(knn.total_correlation(single_columns("xs", self._x(xs)), self._k))

    def corex(self, xs: Any, ys: Any) -> float:
        given = {f"xs[{place}]": column for place, column in enumerate(single_columns("xs", self._x(xs)))}
        named, _ = as_variables(**given, ys=self._y(ys))
        *columns, ys = named.values()
        alone = sum(self._told(knn.mutual_information(column, ys, self._k)) for column in columns)
        return alone - self._told(knn.mutual_information(join(*columns), ys, self._k))

    def ctc(self, xs: Any, y: Any) -> float:
        return self.tc(xs) - self.corex(xs, y)


def _measured(
    quantity: str,
    kinds: str,
    variables: tuple,
    base: float,
    k: int = 1,
    warning: bool = True,
    compat: bool = False,
    generator: Generator | None = None,
) -> float:
    """A quantity of the variables in units of the base; what there is to note is warned of, once each."""
    units, notes = _units(base), []
    measures = original.Measures(kinds, k, base, generator, notes) if compat else _Measures(kinds, k, notes)
    value = getattr(measures, quantity)(*variables)
    for note in dict.fromkeys(notes if warning else ()):
        warnings.warn(note, stacklevel=3)
    return value / units


def _units(base: float) -> float:
    """Nats in a unit of this base."""
    if not 0 < base < np.inf or base == 1:
        raise OutOfRange(f"base must be a positive number other than 1, got {base!r}.")
    return log(base)
