"""Information measures from nearest neighbours, for continuous, discrete and mixed variables; nats, never clipped.

    entropy                         Kozachenko & Leonenko 1987, as in Kraskov et al. 2004, eq. 20
    mutual_information              KSG 1 and 2 (Kraskov et al. 2004, eqs. 8 and 9); Ross 2014 if one is discrete
    conditional_mutual_information  Frenzel & Pompe 2007; stratified where the condition is discrete
    total_correlation               Kraskov et al. 2004, eq. 23
    co_information                  I(a; t) + I(b; t) - I(a, b; t): positive is redundancy, negative is synergy

Neighbours are searched, and counted, among rows of the same categories. Discrete variables alone use counts corrected
by their digamma (after Grassberger 1988). With more than `MAX_TIED_SHARE` tied distances, counts include the radius
(Mesner & Shalizi 2019).

The standard error treats local values as independent: it is 0.6 to 0.85 of the sampling error (k = 5, 1 to 5 normal
columns), which `uncertainty.subsample` gives. Neither includes bias: low in many columns, high for sparse categories.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan, sqrt
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import digamma, ndtri

from infoscope.checks import one_of, require_int
from infoscope.errors import InvalidInput, NoVariation, OutOfRange
from infoscope.estimators.column_types import as_variables
from infoscope.estimators.columns import Discrete, columns, single_columns
from infoscope.estimators.guesses import AS_CATEGORIES, AS_NUMBERS
from infoscope.estimators.knn.search import count_within, nearest
from infoscope.estimators.result import Estimate, mean_influence, root_sum_squares
from infoscope.estimators.scales import MARGINS, heavy_tails, prepared
from infoscope.estimators.variables import Variable, grid_step, join, joint_codes, of_kept, row_codes
from infoscope.notes import Note

NORMAL_QUARTILES = 2 * ndtri(0.75)  # interquartile range of a normal distribution, in standard deviations
MAX_CHANCE_TIES = 8  # tied samples among normal scores that occur by chance at any n (one or two on average)
MAX_TIED_SHARE = 0.01  # of the samples; up to it only the tied samples are counted with their radius

MIN_STEPS = 20  # of a grid, to the k-th neighbour, from which it is nearly a continuum
GRID = Note(
    "x: its values are multiples of a step, and neighbours only some steps away: this is no entropy of a continuum. "
    "Add uniform noise within a step.",
    "grid",
    "x",
)


@dataclass(frozen=True)
class Settings:
    """k, the scales of columns (`scales.prepared`), and codes of groups."""

    k: int
    margins: str
    groups: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Spheres:
    """The sphere around each sample [n]: radius, number of neighbours inside, whether closed; ids [n, k], -1: none."""

    radius: np.ndarray
    neighbours: np.ndarray
    closed: np.ndarray
    ids: np.ndarray
    notes: tuple[str, ...]


def mutual_information(
    x: Any, y: Any, k: int = 5, *, method: str = "ksg1", margins: str = "auto", groups: Any = None, local: bool = False
) -> Estimate:
    """I(x; y), nats.

    x, y         [n] or [n, d], typed per column (see `column_types`)
    k            neighbours; a class with fewer others uses those, one with none is left out (noted)
    method       ksg1 or ksg2; the second only where both variables are continuous
    margins      scaled: standard deviation 1; rank: normal scores; auto: rank where tails are heavy, else scaled;
                 given: continuous columns as they are
    groups       [n]; rows of one group depend on one another and are never neighbours or counted together
    local        also returns the local values, whose mean is the estimate

    ValueError: k < 1 or k >= n, different lengths, missing or infinite values, a constant column, one class only, an
    unknown method or margins, only classes of one sample.
    """
    variables, settings = as_sample({"x": x, "y": y}, k, margins, groups)
    require_classes(**variables)
    left, right = variables.values()
    if method not in ("ksg1", "ksg2") or (method == "ksg2" and not left.kind == right.kind == "continuous"):
        raise InvalidInput(f"method must be ksg1, or ksg2 for two continuous variables, got {method!r}.")
    return pair(left, right, settings, local, rectangles=method == "ksg2")


def conditional_mutual_information(
    x: Any, y: Any, z: Any, k: int = 5, *, margins: str = "auto", groups: Any = None, local: bool = False
) -> Estimate:
    """I(x; y | z), nats. Arguments and errors as in `mutual_information`; given a constant: I(x; y), with a note."""
    columns_of_z = [] if isinstance(z, Variable) else [column for _, column, _ in columns("z", z)]
    constant = len(columns_of_z) > 0 and all(len(pd.unique(column)) == 1 for column in columns_of_z)
    z = Discrete(columns_of_z[0]) if constant else z
    named, settings = as_sample({"x": x, "y": y, "z": z}, k, margins, groups)
    require_classes(x=named["x"], y=named["y"])
    found = combined(named, CONDITIONAL_MARGINS, method_of(*named.values()), settings, local)
    if not constant:
        return found
    note = Note("z: it is constant, so this is the information without a condition.", "constant condition", "z")
    return replace(found, notes=(*found.notes, note))


def total_correlation(
    columns: Any, k: int = 5, *, margins: str = "auto", groups: Any = None, local: bool = False
) -> Estimate:
    """sum of H(column) - H(all columns), nats.

    columns is an array [n, m], a data frame, or a list of variables. Arguments and errors as in `mutual_information`;
    ValueError also with fewer than two variables.
    """
    given = columns if isinstance(columns, (list, tuple)) else single_columns("columns", columns)
    if len(given) < 2:
        raise OutOfRange(f"columns must be at least two variables, got {len(given)}.")
    given = {f"columns[{number}]": column for number, column in enumerate(given)}
    named, settings = as_sample(given, k, margins, groups)
    require_classes(**named)
    variables = list(named.values())
    margins = [(-1, (number,)) for number in range(len(variables))] + [(len(variables) - 1, ())]
    name = "KSG 1" if all(variable.kind == "continuous" for variable in variables) else "stratified KSG"
    return combined(named, margins, name, settings, local)


def co_information(
    a: Any, b: Any, target: Any, k: int = 5, *, margins: str = "auto", groups: Any = None, local: bool = False
) -> Estimate:
    """I(a; t) + I(b; t) - I(a, b; t), nats: positive is redundancy, negative is synergy.

    The biases of the terms differ in many dimensions. Arguments and errors as in `mutual_information`.
    """
    variables, settings = as_sample({"a": a, "b": b, "target": target}, k, margins, groups)
    require_classes(**variables)
    kept, notes = without_singletons(join(*variables.values()), settings.groups)
    variables = {name: prepared(variable, settings.margins, name).take(kept) for name, variable in variables.items()}
    require_classes(kept, **variables)
    a, b, target = variables.values()
    unscaled = replace(settings, margins="given", groups=of_kept(settings.groups, kept))
    parts = [(1, a), (1, b), (-1, join(a, b))]
    terms = [(sign, pair(variable, target, unscaled, local=True)) for sign, variable in parts]
    joint, second = join(a, b, target), 0.0
    if joint.kind == "discrete":
        freedom = sum(freedom_of({"x": variable, "y": target}, PAIR_MARGINS) for _, variable in parts)
        second = second_order_error(freedom, independent_rows(joint.codes, settings.groups))
    return finished(
        sum(sign * term.local for sign, term in terms),
        kept,
        settings.k if joint.dim else None,
        " + ".join(dict.fromkeys(term.method for _, term in terms)),
        replace(unscaled, margins=settings.margins),
        local,
        tuple(dict.fromkeys([*notes, *(note for _, term in terms for note in term.notes)])),
        second,
    )


def entropy(x: Any, k: int = 5, *, margins: str = "auto", groups: Any = None, local: bool = False) -> Estimate:
    """H(x), nats; differential in the continuous columns, in their own units.

    Arguments and errors as in `mutual_information`, but one class gives 0, and margins, the scale on which neighbours
    are searched, are auto or given. Values on a grid are noted (code "grid"). ValueError also for repeated values
    (-infinity).
    """
    one_of("margins", margins, ("auto", "given"))
    named, settings = as_sample({"x": x}, k, margins, groups)
    variable = named["x"]
    if variable.kind == "discrete":
        require_repeats(x=variable)
        sizes = class_sizes(variable, settings.groups)
        values = digamma(others_and_self(variable.n, settings.groups)) - digamma(sizes)
        second = second_order_error(variable.categories - 1, independent_rows(variable.codes, settings.groups))
        return finished(values, np.ones(variable.n, bool), None, "Grassberger", settings, local, (), second)
    kept, notes = without_singletons(variable, settings.groups)
    scaled, scales, scale_notes = variable, np.ones(variable.dim), ()
    if margins == "auto":
        scaled, scales, scale_notes = in_own_units(variable)
    sample, settings = scaled.take(kept), replace(settings, groups=of_kept(settings.groups, kept))
    around = spheres(sample, settings)
    if not around.radius.all():
        raise OutOfRange(
            f"x must not repeat a continuous value more than k = {k} times (its entropy would be minus infinity), got "
            f"{np.sum(around.radius == 0)} such rows; {AS_CATEGORIES}, or break ties with variables.jitter."
        )
    if max(map(grid_step, sample.continuous.T)) > np.median(around.radius) / MIN_STEPS:
        notes += (GRID,)
    values = digamma(others_and_self(sample.n, settings.groups)) - digamma(around.neighbours)
    values = values + sample.dim * np.log(2 * around.radius) + np.log(scales).sum()
    return finished(
        values, kept, settings.k, "Kozachenko-Leonenko", settings, local, notes + scale_notes + around.notes
    )


def in_own_units(variable: Variable) -> tuple[Variable, np.ndarray, tuple[str, ...]]:
    """The variable at comparable scales, those scales [c], and a note where they are quartile distances."""
    scales = variable.scales()
    heavy = heavy_tails(variable.continuous) if variable.dim > 1 else np.zeros(variable.dim, bool)
    low, high = np.quantile(variable.continuous, (0.25, 0.75), axis=0)
    heavy &= high > low
    if not heavy.any():
        return variable.standardised(), scales, ()
    scales = np.where(heavy, (high - low) / NORMAL_QUARTILES, scales)
    centre = np.where(heavy, np.median(variable.continuous, axis=0), variable.continuous.mean(axis=0))
    note = f"{heavy.sum()} of {len(heavy)} continuous columns of x have heavy tails or outliers: scaled by quartiles."
    return replace(variable, continuous=(variable.continuous - centre) / scales), scales, (note,)


def pair(left: Variable, right: Variable, settings: Settings, local: bool, rectangles: bool = False) -> Estimate:
    name = "KSG 2" if rectangles else method_of(left, right)
    return combined({"x": left, "y": right}, PAIR_MARGINS, name, settings, local, rectangles)


def method_of(x: Variable, y: Variable, z: Variable | None = None) -> str:
    """The estimator of I(x; y), or I(x; y | z), by its authors' names."""
    kinds = {x.kind, y.kind}
    if z is None:
        if kinds == {"continuous"}:
            return "KSG 1"
        return "Ross" if kinds == {"continuous", "discrete"} else "stratified KSG"
    if z.kind == "discrete":
        return "stratified Ross" if kinds == {"continuous", "discrete"} else "stratified KSG"
    return "Frenzel-Pompe" if kinds | {z.kind} == {"continuous"} else "stratified Frenzel-Pompe"


def treatment(variables: Sequence[Variable], k: int) -> tuple[str, int | None, tuple[str, ...]]:
    """Method, k and notes of the Estimate of I(x; y), or I(x; y | z), without computing it."""
    joint = join(*variables)
    if joint.kind == "discrete":
        return "Grassberger", None, ()
    kept, notes = without_singletons(joint)
    around = spheres(joint.take(kept), Settings(k, "given"))
    return name_of(method_of(*variables), around, joint), k, notes + joint.notes + around.notes


def combined(
    named: Mapping[str, Variable],
    margins: Sequence[tuple[int, tuple[int, ...]]],
    name: str,
    settings: Settings,
    local: bool,
    rectangles: bool = False,
) -> Estimate:
    """digamma(neighbours) + sum of factor * digamma(count in the margin), averaged over the samples.

    A margin is (factor, its variables); none: all samples. `rectangles`: KSG 2. The variable z is a condition.
    """
    variables = list(named.values())
    joint = join(*variables)
    if joint.kind == "discrete":
        require_repeats(**named)
        groups = settings.groups
        values = digamma(class_sizes(joint, groups)).astype(float)
        for factor, members in margins:
            margin = join(*(variables[m] for m in members)) if members else None
            values += factor * digamma(class_sizes(margin, groups) if members else others_and_self(joint.n, groups))
        second = second_order_error(freedom_of(named, margins), independent_rows(joint.codes, groups))
        return finished(values, np.ones(joint.n, bool), None, "Grassberger", settings, local, (), second)
    kept, notes = without_singletons(joint, settings.groups)
    settings = replace(settings, groups=of_kept(settings.groups, kept))
    variables = [prepared(variable, settings.margins, name).take(kept) for name, variable in named.items()]
    require_classes(kept, **{name: variable for name, variable in zip(named, variables) if name != "z"})
    joint = join(*variables)
    around = spheres(joint, settings)
    values = digamma(around.neighbours)
    if rectangles:
        values = values - np.where(around.closed, 0, 1 / around.neighbours)
    for factor, members in margins:
        margin = join(*(variables[m] for m in members)) if members else None
        if margin is None or margin.kind == "discrete":
            size = (
                others_and_self(len(values), settings.groups)
                if margin is None
                else class_sizes(margin, settings.groups)
            )
            values = values + factor * digamma(size)
        else:
            values = values + factor * digamma(counts(margin, around, settings, rectangles))
    found = finished(
        values, kept, settings.k, name_of(name, around, joint), settings, local, notes + joint.notes + around.notes
    )
    if settings.k < len(values) / 2:
        return found
    sentence = f"k = {settings.k} is at least half of the {len(values)} samples: the standard error is not known."
    return replace(found, standard_error=nan, notes=(*found.notes, Note(sentence, "no error", "k")))


def name_of(method: str, around: Spheres, joint: Variable) -> str:
    """The method as results name it: that for tied distances where they are many, and rank-normal margins."""
    name = "Mesner-Shalizi" if around.closed.all() else method
    return f"{name}, rank-normal margins" if joint.ranked else name


def spheres(joint: Variable, settings: Settings) -> Spheres:
    """The spheres around the samples of a variable in which every category has at least two."""
    found = nearest(joint.continuous, settings.k, joint.codes, settings.groups)
    sizes = class_sizes(joint, settings.groups)
    own = np.minimum(settings.k, sizes - 1)
    radius = np.take_along_axis(found.distances, own[:, None] - 1, axis=1)[:, 0]
    tied = (found.ties > 0) | (radius == 0)
    neighbours = own + np.where(tied, found.ties, 0)
    notes = []
    if (own < settings.k).any():
        small = np.zeros(joint.n, int)[own < settings.k] if joint.codes is None else joint.codes[own < settings.k]
        number = len(np.unique(small))
        have, their = ("class has", "its") if number == 1 else ("classes have", "their")
        sentence = (
            f"{number} {have} at most k = {settings.k} samples ({len(small)} in all): k is {their} size - 1 there."
        )
        notes.append(Note(sentence, "small class", "k"))
    accidents = MAX_CHANCE_TIES if joint.ranked else 0  # columns share their scores, which are symmetric
    if tied.mean() > MAX_TIED_SHARE and tied.sum() > accidents:
        tied[:] = True
    elif tied.sum() > accidents:
        where = "1 sample" if tied.sum() == 1 else f"{tied.sum()} samples"
        notes.append(Note(f"Distances are tied at {where}: Mesner-Shalizi counts there.", "tied distances"))
    return Spheres(radius, neighbours, tied, found.ids, tuple(notes))


def rounded_variables(named: Mapping[str, Variable]) -> list[str]:
    """The names of variables with many repeated numbers; none where the numbers of all variables repeat."""
    codes = {name: row_codes(variable) for name, variable in named.items()}
    tied = {name: float(np.mean(np.bincount(of)[of] > 1)) for name, of in codes.items()}
    if min(tied.values()) > MAX_TIED_SHARE:
        return []
    return [name for name, share in tied.items() if share > 0.3]  # of the rows with a repeated value


def counts(margin: Variable, around: Spheres, settings: Settings, rectangles: bool) -> np.ndarray:
    """The number [n] whose digamma is used for a margin: 1 + others inside an open sphere, others in a closed one."""
    radius, closed = around.radius, around.closed
    if rectangles:
        ids = np.where(around.ids < 0, around.ids[:, :1], around.ids)  # where groups leave fewer than k others
        extent = np.abs(margin.continuous[:, None] - margin.continuous[ids]).max(axis=(1, 2))
        radius, closed = np.where(closed, radius, extent), np.ones_like(closed)
    limit = np.where(closed, np.nextafter(radius, np.inf), radius)
    inside = count_within(margin.continuous, limit, margin.codes, settings.groups)
    return inside + ~closed


def class_sizes(variable: Variable, groups: np.ndarray | None = None) -> np.ndarray:
    """Number of samples [n] of the same category, itself included, that are not of its group."""
    if variable.codes is None:
        return np.broadcast_to(others_and_self(variable.n, groups), variable.n).copy()
    sizes = np.bincount(variable.codes)[variable.codes]
    if groups is None:
        return sizes
    mates = joint_codes([variable.codes, groups])[0]
    return sizes - np.bincount(mates)[mates] + 1


def first_of_copies(joint: Variable, groups: np.ndarray | None) -> np.ndarray:
    """Which samples [n] are the first of equal ones in their group, where some column is a number."""
    first = np.ones(joint.n, bool)
    if groups is not None and joint.dim:
        labels = groups if joint.codes is None else joint_codes([groups, joint.codes])[0]
        first[:] = False
        first[np.unique(np.column_stack([joint.continuous, labels]), axis=0, return_index=True)[1]] = True
    return first


def others_and_self(n: int, groups: np.ndarray | None) -> int | np.ndarray:
    """Number of samples, itself included, that are not of its group: n, or [n]."""
    return n if groups is None else n - np.bincount(groups)[groups] + 1


def require_repeats(**variables: Variable) -> None:
    """ValueError for a discrete variable whose categories never repeat."""
    for name, variable in variables.items():
        if variable.kind == "discrete" and variable.categories == variable.n > 1:
            raise NoVariation(
                f"{name} must share categories among rows, got {variable.n} rows that are all different; for "
                f"numbers, {AS_NUMBERS}; or merge categories."
            )


def without_singletons(joint: Variable, groups: np.ndarray | None = None) -> tuple[np.ndarray, tuple[str, ...]]:
    """Which samples [n] are used (not those alone in their class: Ross 2014; no copies in a group), and notes."""
    first = first_of_copies(joint, groups)
    if not first.all():
        kept = np.zeros(joint.n, bool)
        some, notes = without_singletons(joint.take(first), of_kept(groups, first))
        kept[np.flatnonzero(first)[some]] = True
        return kept, (copies_note(int(np.sum(~first))), *notes)
    kept = (class_sizes(joint, groups) > 1) | (joint.kind == "discrete")
    if not kept.any() and groups is not None:
        raise NoVariation(f"groups must share categories, got {groups.max() + 1} groups with no category in common.")
    if not kept.any():
        raise NoVariation(f"discrete columns must share categories, got {joint.n} rows that are all different.")
    left_out = int(np.sum(~kept))
    alone = "sample is alone in its" if left_out == 1 else "samples are alone in their"
    if not left_out:
        return kept, ()
    return kept, (Note(f"{left_out} {alone} class and left out.", "alone in class"),)


def copies_note(count: int) -> Note:
    """A note on rows that are left out as copies within their group."""
    return Note(f"{count} rows are exact copies of others of their group and left out.", "copies", "groups")


def finished(
    values: np.ndarray,
    kept: np.ndarray,
    k: int | None,
    method: str,
    settings: Settings,
    local: bool,
    notes: tuple[str, ...],
    second_order: float = 0.0,
) -> Estimate:
    """The estimate from the local values of the kept rows; its error is at least the second-order one, nats."""
    everywhere = np.full(len(kept), np.nan)
    everywhere[kept] = values
    influence = mean_influence(values, settings.groups)
    chosen = [f"k = {k}"] if k is not None else []
    chosen += ["columns as given"] if settings.margins == "given" else []
    return Estimate(
        float(values.mean()),
        max(root_sum_squares(influence), second_order),
        n=len(values),
        method=method,
        notes=notes,
        settings=", ".join(chosen),
        units=len(influence),
        degrees=len(influence) - 1,
        local=everywhere if local else None,
        influence=influence,
    )


def as_sample(given: dict[str, Any], k: int, margins: str, groups: Any) -> tuple[dict[str, Variable], Settings]:
    """The variables of the same rows (`column_types.as_variables`) and the settings."""
    found, codes = as_variables(groups, **given)
    return found, checked(k, next(iter(found.values())).n, margins, codes)


def checked(k: int, n: int, margins: str, groups: np.ndarray | None) -> Settings:
    """The settings, for groups as codes [n] or None."""
    one_of("margins", margins, MARGINS)
    if require_int("k", k, 1) >= n:
        raise OutOfRange(f"k must be below the number of rows, {n}, got {k}.")
    return Settings(int(k), margins, groups)


def require_classes(kept: np.ndarray | None = None, /, **variables: Variable) -> None:
    """ValueError for a discrete variable of one class, among the rows [n] that are kept if some are not."""
    for name, variable in variables.items():
        if variable.kind == "discrete" and variable.categories == 1:
            rows = f"all {variable.n} rows"
            if kept is not None and not kept.all():
                rows += " that are not alone in their class; merge or drop rare classes"
            raise NoVariation(f"{name} must have at least two classes, got one in {rows}.")


PAIR_MARGINS = ((-1, (0,)), (-1, (1,)), (1, ()))  # the margins of I(x; y): (factor, numbers of variables)
CONDITIONAL_MARGINS = ((-1, (0, 2)), (-1, (1, 2)), (1, (2,)))  # and of I(x; y | z)


def second_order_error(freedom: float, rows: float) -> float:
    """The standard deviation of chi-square / (2 rows), nats, of so many independent rows."""
    return sqrt(min(freedom, rows) / 2) / rows  # rows fall into no more cells than they are


def freedom_of(named: Mapping[str, Variable], margins: Sequence[tuple[int, tuple[int, ...]]]) -> float:
    """Degrees of freedom of a sum of entropies: possible combinations within z, and the categories of the margins."""
    given = named["z"].codes if "z" in named else np.zeros(next(iter(named.values())).n, np.int64)
    possible = np.ones(int(given.max()) + 1)
    for name, variable in named.items():
        if name != "z":
            within = joint_codes([variable.codes, given])[0]
            possible *= np.bincount(given[np.unique(within, return_index=True)[1]], minlength=len(possible))
    variables = list(named.values())
    sizes = (
        factor * (join(*(variables[m] for m in members)).categories if members else 1) for factor, members in margins
    )
    return float(possible.sum() + sum(sizes))


def independent_rows(codes: np.ndarray, groups: np.ndarray | None) -> float:
    """Number of rows over the design effect of categories [n] in groups [n] (Rao & Scott 1981), at most n."""
    n = len(codes)
    if groups is None:
        return float(n)
    shares, sizes = np.bincount(codes) / n, np.bincount(groups)
    mates = joint_codes([groups, codes])[0]
    _, first, counts = np.unique(mates, return_index=True, return_counts=True)
    squares = (counts * (counts - 2.0 * shares[codes[first]] * sizes[groups[first]]) / shares[codes[first]]).sum()
    effect = (squares + (sizes.astype(float) ** 2).sum()) / (n * max(1, len(shares) - 1))
    return n / max(1.0, effect)
