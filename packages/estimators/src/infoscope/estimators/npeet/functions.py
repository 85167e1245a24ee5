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

Arguments: x, y, z, xs, ys [n] or [n, d] or lists of lists; k neighbours; base of the logarithm; compat; generator of
the noise and shuffles, a fresh one with seed 0 if None. Results are floats; what `knn` notes is a warning. Errors are
those of `knn`; ValueError also for a base that is not a positive number other than 1.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from math import log
from typing import Any

import numpy as np
from numpy.random import Generator
from sklearn.neighbors import KDTree

from infoscope.estimators import knn
from infoscope.estimators.checks import generator_or_default, require_int
from infoscope.estimators.knn.estimators import Continuous, Discrete, Estimate
from infoscope.estimators.knn.search import nearest
from infoscope.estimators.npeet import _formulas as original
from infoscope.estimators.variables import Variable, as_variable, join, same_length, single_columns


def mi(
    x: Any,
    y: Any,
    z: Any = None,
    k: int = 3,
    base: float = 2,
    alpha: float = 0,
    *,
    compat: bool = False,
    generator: Generator | None = None,
) -> float:
    """I(x; y), or I(x; y | z); alpha > 0 adds the local non-uniformity correction of Gao et al. 2015 to I(x; y)."""
    if compat:
        return original.mi(x, y, z, k, alpha, generator_or_default(generator)) / units(base)
    if z is not None:
        return told(knn.conditional_mutual_information(x, y, z, k)) / units(base)
    value = told(knn.mutual_information(x, y, k))
    if alpha > 0:
        joint = join(as_variable("x", x), as_variable("y", y)).standardised()  # fewer than dim points span no volume
        if joint.kind != "continuous" or k < joint.dim:
            raise ValueError(
                f"alpha must be 0 unless x and y are continuous and k >= {joint.dim} columns, got {alpha!r}."
            )
        value += original.non_uniformity(joint.continuous, nearest(joint.continuous, k).ids, alpha)
    return value / units(base)


def cmi(
    x: Any, y: Any, z: Any, k: int = 3, base: float = 2, *, compat: bool = False, generator: Generator | None = None
) -> float:
    """I(x; y | z)."""
    return mi(x, y, z, k, base, compat=compat, generator=generator)


def entropy(x: Any, k: int = 3, base: float = 2, *, compat: bool = False, generator: Generator | None = None) -> float:
    """H(x)."""
    if compat:
        return original.entropy(x, k, generator_or_default(generator)) / units(base)
    return told(knn.entropy(x, k)) / units(base)


def centropy(
    x: Any, y: Any, k: int = 3, base: float = 2, *, compat: bool = False, generator: Generator | None = None
) -> float:
    """H(x | y)."""
    if compat:
        generator = generator_or_default(generator)
        original.same_rows(x=x, y=y)
        both = np.column_stack([np.asarray(x), np.asarray(y)])
        return (original.entropy(both, k, generator) - original.entropy(y, k, generator)) / units(base)
    return (told(knn.entropy(x, k)) - told(knn.mutual_information(x, y, k))) / units(base)


def tc(xs: Any, k: int = 3, base: float = 2, *, compat: bool = False, generator: Generator | None = None) -> float:
    """Total correlation of the columns of xs."""
    if compat:
        return original.total(lambda part: entropy(part, k, base, compat=True, generator=generator), xs)
    return told(knn.total_correlation(single_columns("xs", xs), k)) / units(base)


def ctc(
    xs: Any, y: Any, k: int = 3, base: float = 2, *, compat: bool = False, generator: Generator | None = None
) -> float:
    """Total correlation of the columns of xs given y."""
    if compat:
        return original.total(lambda part: centropy(part, y, k, base, compat=True, generator=generator), xs)
    return tc(xs, k, base) - corex(xs, y, k, base)


def corex(
    xs: Any, ys: Any, k: int = 3, base: float = 2, *, compat: bool = False, generator: Generator | None = None
) -> float:
    """sum of I(column of xs; ys) - I(xs; ys): what of the total correlation ys explains."""
    if compat:
        return original.total(lambda part: mi(part, ys, None, k, base, compat=True, generator=generator), xs)
    return explained(single_columns("xs", xs), as_variable("ys", ys), k, base)


def kldiv(x: Any, xp: Any, k: int = 3, base: float = 2, *, compat: bool = False) -> float:
    """D(p || q), the mean of log p / q over p, for p the density of x [n, d] and q that of xp [m, d].

    Wang et al. 2009, eq. 5: the distance to the k-th other of x against that to the k-th of xp. Columns enter in their
    own units, with compat or without: the divergence does not depend on them, its estimate does.

    ValueError: different numbers of columns, discrete columns, k >= n, k > m, or values so often repeated that their
    neighbours are at distance 0 (with compat, that divergence is infinite or nan).
    """
    first, second = as_variable("x", x), as_variable("xp", xp)
    if first.kind != "continuous" or second.kind != "continuous" or first.dim != second.dim:
        raise ValueError(f"x and xp must be continuous and have as many columns, got {first.dim} and {second.dim}.")
    if require_int("k", k, 1) >= first.n or k > second.n:
        raise ValueError(f"k must be below {first.n} and at most {second.n}, the numbers of rows, got {k}.")
    within = nearest(first.continuous, k).distances[:, -1]
    across = KDTree(second.continuous, metric="chebyshev").query(first.continuous, k)[0][:, -1]
    if not compat and not (within.all() and across.all()):
        raise ValueError(f"x must not repeat a value of x or xp k = {k} times or more; break ties with jitter.")
    ratios = first.dim * (np.log(across) - np.log(within))
    return (log(second.n / (first.n - 1)) + float(ratios.mean())) / units(base)


def entropyd(sx: Any, base: float = 2, *, compat: bool = False) -> float:
    """H(sx) of categories."""
    if compat:
        return original.plug_in(sx) / units(base)
    return told(knn.entropy(Discrete(sx), 1)) / units(base)


def centropyd(x: Any, y: Any, base: float = 2, *, compat: bool = False) -> float:
    """H(x | y) of categories."""
    if compat:
        return (original.plug_in(x, y) - original.plug_in(y)) / units(base)
    return entropyd(x, base) - midd(x, y, base)


def midd(x: Any, y: Any, base: float = 2, *, compat: bool = False) -> float:
    """I(x; y) of categories."""
    if compat:
        return (original.plug_in(x) + original.plug_in(y) - original.plug_in(x, y)) / units(base)
    return told(knn.mutual_information(Discrete(x), Discrete(y), 1)) / units(base)


def cmidd(x: Any, y: Any, z: Any, base: float = 2, *, compat: bool = False) -> float:
    """I(x; y | z) of categories."""
    if compat:
        pairs = original.plug_in(x, z) + original.plug_in(y, z)
        return (pairs - original.plug_in(x, y, z) - original.plug_in(z)) / units(base)
    return told(knn.conditional_mutual_information(Discrete(x), Discrete(y), Discrete(z), 1)) / units(base)


def tcd(xs: Any, base: float = 2, *, compat: bool = False) -> float:
    """Total correlation of the columns of xs, which are categories."""
    if compat:
        return original.total(lambda part: entropyd(part, base, compat=True), xs)
    return told(knn.total_correlation(single_columns("xs", Discrete(xs)), 1)) / units(base)


def ctcd(xs: Any, y: Any, base: float = 2, *, compat: bool = False) -> float:
    """Total correlation of the columns of xs given y, all categories."""
    if compat:
        return original.total(lambda part: centropyd(part, y, base, compat=True), xs)
    return tcd(xs, base) - corexd(xs, y, base)


def corexd(xs: Any, ys: Any, base: float = 2, *, compat: bool = False) -> float:
    """As corex, all categories."""
    if compat:
        return original.total(lambda part: midd(part, ys, base, compat=True), xs)
    return explained(single_columns("xs", Discrete(xs)), as_variable("ys", Discrete(ys)), 1, base)


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
    """I(x; y), x numbers and y categories; `warning` warns of classes with too few samples."""
    if compat:
        return original.micd(x, y, k, warning, generator_or_default(generator)) / units(base)
    return told(knn.mutual_information(Continuous(x), Discrete(y), k), warning) / units(base)


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
    return micd(y, x, k, base, warning, compat=compat, generator=generator)


def centropycd(
    x: Any,
    y: Any,
    k: int = 3,
    base: float = 2,
    warning: bool = True,
    *,
    compat: bool = False,
    generator: Generator | None = None,
) -> float:
    """H(x | y), x numbers and y categories."""
    if compat:
        # NPEET hands the base over as k.
        unconditional = original.entropy(x, int(base), generator_or_default(generator)) / log(2)
        return unconditional - micd(x, y, k, base, warning, compat=True, generator=generator)
    return told(knn.entropy(Continuous(x), k), warning) / units(base) - micd(x, y, k, base, warning)


def centropydc(
    x: Any,
    y: Any,
    k: int = 3,
    base: float = 2,
    warning: bool = True,
    *,
    compat: bool = False,
    generator: Generator | None = None,
) -> float:
    """H(x | y), x categories and y numbers."""
    if compat:
        return centropycd(y, x, k, base, warning, compat=True, generator=generator)
    return entropyd(x, base) - midc(x, y, k, base, warning)


def ctcdc(
    xs: Any,
    y: Any,
    k: int = 3,
    base: float = 2,
    warning: bool = True,
    *,
    compat: bool = False,
    generator: Generator | None = None,
) -> float:
    """Total correlation of the columns of xs, categories, given y, numbers."""
    if compat:
        return original.total(lambda part: centropydc(part, y, k, base, warning, compat=True, generator=generator), xs)
    return tcd(xs, base) - corexdc(xs, y, k, base, warning)


def ctccd(
    xs: Any,
    y: Any,
    k: int = 3,
    base: float = 2,
    warning: bool = True,
    *,
    compat: bool = False,
    generator: Generator | None = None,
) -> float:
    """Total correlation of the columns of xs, numbers, given y, categories."""
    if compat:
        return ctcdc(y, xs, k, base, warning, compat=True, generator=generator)
    total = knn.total_correlation(single_columns("xs", Continuous(xs)), k)
    return told(total, warning) / units(base) - corexcd(xs, y, k, base, warning)


def corexcd(
    xs: Any,
    ys: Any,
    k: int = 3,
    base: float = 2,
    warning: bool = True,
    *,
    compat: bool = False,
    generator: Generator | None = None,
) -> float:
    """As corex: columns of xs numbers, ys categories."""
    if compat:
        return corexdc(ys, xs, k, base, warning, compat=True, generator=generator)
    return explained(single_columns("xs", Continuous(xs)), as_variable("ys", Discrete(ys)), k, base)


def corexdc(
    xs: Any,
    ys: Any,
    k: int = 3,
    base: float = 2,
    warning: bool = True,
    *,
    compat: bool = False,
    generator: Generator | None = None,
) -> float:
    """As corex: columns of xs categories, ys numbers."""
    if compat:
        return tcd(xs, base, compat=True) - ctcdc(xs, ys, k, base, warning, compat=True, generator=generator)
    return explained(single_columns("xs", Discrete(xs)), as_variable("ys", Continuous(ys)), k, base)


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
        raise ValueError(f"ci must be between 0 and 1, got {ci!r}.")
    generator, rows = generator_or_default(generator), np.asarray(x)
    given = () if z is None or z is False else (z,)
    strata = as_variable("z", z) if given else None
    same_length(x=as_variable("x", x), y=as_variable("y", y), **({"z": strata} if given else {}))
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


def explained(columns: list[Variable], ys: Variable, k: int, base: float) -> float:
    """sum of I(column; ys) - I(columns; ys)."""
    alone = sum(told(knn.mutual_information(column, ys, k)) for column in columns)
    return (alone - told(knn.mutual_information(join(*columns), ys, k))) / units(base)


def told(estimate: Estimate, warning: bool = True) -> float:
    """The estimate as a float, its notes as warnings."""
    if warning:
        for note in estimate.notes:
            warnings.warn(note, stacklevel=3)
    return float(estimate)


def units(base: float) -> float:
    """Nats in a unit of this base."""
    if not 0 < base < np.inf or base == 1:
        raise ValueError(f"base must be a positive number other than 1, got {base!r}.")
    return log(base)
