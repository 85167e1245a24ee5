"""Information measures from nearest neighbours, nats, never clipped.

Variables may be continuous, discrete or mixed.

    entropy                         Kozachenko & Leonenko 1987, as in Kraskov et al. 2004, eq. 20
    mutual_information              KSG 1 and 2 (Kraskov et al. 2004, eqs. 8 and 9); Ross 2014 if one is discrete
    conditional_mutual_information  Frenzel & Pompe 2007; stratified where the condition is discrete
    total_correlation               Kraskov et al. 2004, eq. 23
    co_information                  I(a; t) + I(b; t) - I(a, b; t): positive is redundancy, negative is synergy

Neighbours are searched, and counted, among rows of the same categories. If all variables
are discrete, the digamma function of counts replaces their logarithm (after Grassberger
1988). If more than `MAX_TIED_SHARE` of the distances are tied, counts include the points
at the radius (Mesner & Shalizi 2019).

The standard error treats local values as independent: it is 0.6 to 0.85 of the sampling
error (k = 5, 1 to 5 normal columns), which `uncertainty.subsample` gives. Neither
includes bias: low in many columns, high for sparse categories.
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
from infoscope.estimators.variables import (
    Variable,
    grid_step,
    join,
    joint_codes,
    of_kept,
    row_codes,
)
from infoscope.notes import Note

# interquartile range of a normal distribution, in standard deviations
NORMAL_QUARTILES = 2 * ndtri(0.75)
# tied samples among normal scores that occur by chance at any n (one or two on average)
MAX_CHANCE_TIES = 8
# of tied samples; with a larger share, the spheres of all samples are closed
MAX_TIED_SHARE = 0.01
MIN_REPEATED_SHARE = 0.3  # of the rows: a variable with more repeated values is rounded

# steps of a grid to the k-th neighbour; a grid with more steps is nearly a continuum
MIN_STEPS = 20
GRID = Note(
    "x: its values are multiples of a step, and neighbours only some steps away: this "
    "is no entropy of a continuum. "
    "Add uniform noise within a step.",
    "grid",
    "x",
)

# a factor, and the indices of the variables; no variable: all samples
Margin = tuple[int, tuple[int, ...]]
PAIR_MARGINS = ((-1, (0,)), (-1, (1,)), (1, ()))  # of I(x; y)
CONDITIONAL_MARGINS = ((-1, (0, 2)), (-1, (1, 2)), (1, (2,)))  # of I(x; y | z)


@dataclass(frozen=True)
class Settings:
    """k, the scales of columns (`scales.prepared`), and codes of groups."""

    k: int
    margins: str
    groups: np.ndarray | None = None

    def on_rows(self, rows: np.ndarray) -> Settings:
        """The settings for the rows of a mask [n]."""
        return replace(self, groups=of_kept(self.groups, rows))


@dataclass(frozen=True, eq=False)
class Spheres:
    """The sphere around each sample.

    radius      [n]
    neighbours  [n], number of samples inside
    closed      [n], whether samples at the radius are inside
    ids         [n, k], of the neighbours; -1: none
    """

    radius: np.ndarray
    neighbours: np.ndarray
    closed: np.ndarray
    ids: np.ndarray
    notes: tuple[str, ...]


def mutual_information(
    x: Any,
    y: Any,
    k: int = 5,
    *,
    method: str = "ksg1",
    margins: str = "auto",
    groups: Any = None,
    local: bool = False,
) -> Estimate:
    """I(x; y), nats.

    Parameters
    ----------
    x, y : array of shape [n] or [n, d]
        Typed per column (see `column_types`).
    k : int
        Number of neighbours. A smaller class uses all its other samples; a class of one
        sample is left out, with a note.
    method : str
        ksg1 or ksg2; ksg2 requires two continuous variables.
    margins : str
        scaled: standard deviation 1; rank: normal scores; auto: rank where tails are
        heavy, else scaled; given: continuous columns as they are.
    groups : array of shape [n], optional
        Rows of one group depend on one another; they are never neighbours of one
        another, and never counted for one another.
    local : bool
        Also return the local values, whose mean is the estimate.

    Returns
    -------
    Estimate
        nats, with the standard error of the mean of the local values.

    Raises
    ------
    ValueError
        k < 1 or k >= n, different lengths, missing or infinite values, a constant
        column, one class only, an unknown method or margins, only classes of one
        sample.

    Examples
    --------
    >>> import numpy as np
    >>> from infoscope.estimators.knn import mutual_information
    >>> generator = np.random.default_rng(0)
    >>> x = generator.normal(size=1000)
    >>> information = mutual_information(x, x + generator.normal(size=1000))
    >>> f"{information.value:.2f} nats, of the true 0.35"
    '0.35 nats, of the true 0.35'
    """
    variables, settings = as_sample({"x": x, "y": y}, k, margins, groups)
    require_classes(**variables)
    left, right = variables.values()
    continuous = left.kind == right.kind == "continuous"
    if method not in ("ksg1", "ksg2") or (method == "ksg2" and not continuous):
        raise InvalidInput(
            "method must be ksg1, or ksg2 for two continuous variables, got "
            f"{method!r}."
        )
    return pair(left, right, settings, local, rectangles=method == "ksg2")


def conditional_mutual_information(
    x: Any,
    y: Any,
    z: Any,
    k: int = 5,
    *,
    margins: str = "auto",
    groups: Any = None,
    local: bool = False,
) -> Estimate:
    """I(x; y | z), nats.

    Arguments and errors as in `mutual_information`. If z is constant: I(x; y), with a
    note.
    """
    constant = is_constant(z)
    if constant:
        _, column, _ = columns("z", z)[0]
        z = Discrete(column)
    variables, settings = as_sample({"x": x, "y": y, "z": z}, k, margins, groups)
    require_classes(x=variables["x"], y=variables["y"])
    name = method_of(*variables.values())
    estimate = combined(variables, CONDITIONAL_MARGINS, name, settings, local)
    if not constant:
        return estimate
    note = Note(
        "z: it is constant, so this is the information without a condition.",
        "constant condition",
        "z",
    )
    return replace(estimate, notes=(*estimate.notes, note))


def is_constant(z: Any) -> bool:
    """Whether all columns of a condition are constant."""
    if isinstance(z, Variable):
        return False
    distinct = [len(pd.unique(column)) for _, column, _ in columns("z", z)]
    return set(distinct) == {1}


def total_correlation(
    columns: Any,
    k: int = 5,
    *,
    margins: str = "auto",
    groups: Any = None,
    local: bool = False,
) -> Estimate:
    """sum of H(column) - H(all columns), nats.

    columns is an array [n, m], a data frame, or a list of variables. Arguments and
    errors as in `mutual_information`; ValueError also with fewer than two variables.
    """
    if not isinstance(columns, (list, tuple)):
        columns = single_columns("columns", columns)
    count = len(columns)
    if count < 2:
        raise OutOfRange(f"columns must be at least two variables, got {count}.")
    values = {f"columns[{number}]": column for number, column in enumerate(columns)}
    variables, settings = as_sample(values, k, margins, groups)
    require_classes(**variables)
    factors: list[Margin] = [(-1, (number,)) for number in range(count)]
    factors.append((count - 1, ()))
    kinds = {variable.kind for variable in variables.values()}
    name = "KSG 1" if kinds == {"continuous"} else "stratified KSG"
    return combined(variables, factors, name, settings, local)


def co_information(
    a: Any,
    b: Any,
    target: Any,
    k: int = 5,
    *,
    margins: str = "auto",
    groups: Any = None,
    local: bool = False,
) -> Estimate:
    """I(a; t) + I(b; t) - I(a, b; t), nats, t the target.

    Positive is redundancy, negative is synergy. The biases of the terms differ in many
    dimensions. Arguments and errors as in `mutual_information`.
    """
    values = {"a": a, "b": b, "target": target}
    variables, settings = as_sample(values, k, margins, groups)
    require_classes(**variables)
    rows, notes = without_singletons(join(*variables.values()), settings.groups)
    variables = prepared_rows(variables, rows, margins)
    require_classes(rows, **variables)
    a, b, target = variables.values()
    unscaled = replace(settings.on_rows(rows), margins="given")
    local_values = np.zeros(a.n)
    freedom = 0.0
    methods = []
    joint = join(a, b, target)
    for sign, source in ((1, a), (1, b), (-1, join(a, b))):
        term = pair(source, target, unscaled, local=True)
        assert term.local is not None
        local_values += sign * term.local
        notes += term.notes
        methods.append(term.method)
        if joint.kind == "discrete":
            freedom += freedom_of({"x": source, "y": target}, PAIR_MARGINS)
    second = 0.0
    if joint.kind == "discrete":
        row_count = independent_rows(joint.strata, settings.groups)
        second = second_order_error(freedom, row_count)
    return finished(
        local_values,
        rows,
        settings.k if joint.dim else None,
        " + ".join(dict.fromkeys(methods)),
        replace(unscaled, margins=margins),
        local,
        tuple(dict.fromkeys(notes)),
        second,
    )


def entropy(
    x: Any,
    k: int = 5,
    *,
    margins: str = "auto",
    groups: Any = None,
    local: bool = False,
) -> Estimate:
    """H(x), nats; differential in the continuous columns, in the units of the columns.

    Arguments and errors as in `mutual_information`, but one class gives 0, and margins
    are auto or given. A note (code "grid") reports values on a grid. ValueError also for
    repeated values, whose entropy is -infinity.
    """
    one_of("margins", margins, ("auto", "given"))
    variables, settings = as_sample({"x": x}, k, margins, groups)
    variable = variables["x"]
    if variable.kind == "discrete":
        return discrete_entropy(variable, settings, local)
    rows, notes = without_singletons(variable, settings.groups)
    settings = settings.on_rows(rows)
    scaled = variable
    scales = np.ones(variable.dim)
    scale_notes: tuple[str, ...] = ()
    if margins == "auto":
        scaled, scales, scale_notes = in_own_units(variable)
    sample = scaled.take(rows)
    around = spheres(sample, settings)
    if not around.radius.all():
        raise OutOfRange(
            f"x must not repeat a continuous value more than k = {k} times (its "
            "entropy would be minus infinity), got "
            f"{np.sum(around.radius == 0)} such rows; {AS_CATEGORIES}, or break ties "
            "with variables.jitter."
        )
    step = max(map(grid_step, sample.continuous.T))
    if step > np.median(around.radius) / MIN_STEPS:
        notes += (GRID,)
    sizes = others_and_self(sample.n, settings.groups)
    log_shares = digamma(sizes) - digamma(around.neighbours)
    log_volumes = sample.dim * np.log(2 * around.radius)
    values = log_shares + log_volumes + np.log(scales).sum()
    notes += scale_notes + around.notes
    return finished(values, rows, k, "Kozachenko-Leonenko", settings, local, notes)


def discrete_entropy(variable: Variable, settings: Settings, local: bool) -> Estimate:
    """H of categories, nats, from their counts."""
    require_repeats(x=variable)
    groups = settings.groups
    sizes = others_and_self(variable.n, groups)
    values = digamma(sizes) - digamma(class_sizes(variable, groups))
    row_count = independent_rows(variable.strata, groups)
    second = second_order_error(variable.categories - 1, row_count)
    return of_counts(values, settings, local, second)


def in_own_units(variable: Variable) -> tuple[Variable, np.ndarray, tuple[str, ...]]:
    """The variable at comparable scales, the scales [c], and notes.

    A note reports columns that are scaled by quartiles.
    """
    numbers = variable.continuous
    scales = variable.scales()
    heavy = np.zeros(variable.dim, bool)
    if variable.dim > 1:
        heavy = heavy_tails(numbers)
    low, high = np.quantile(numbers, (0.25, 0.75), axis=0)
    heavy &= high > low
    if not heavy.any():
        return variable.standardised(), scales, ()
    quartile_scales = (high - low) / NORMAL_QUARTILES
    scales = np.where(heavy, quartile_scales, scales)
    medians = np.median(numbers, axis=0)
    centre = np.where(heavy, medians, numbers.mean(axis=0))
    scaled = (numbers - centre) / scales
    note = (
        f"{heavy.sum()} of {len(heavy)} continuous columns of x have heavy tails or "
        "outliers: scaled by quartiles."
    )
    return replace(variable, continuous=scaled), scales, (note,)


def pair(
    left: Variable,
    right: Variable,
    settings: Settings,
    local: bool,
    rectangles: bool = False,
) -> Estimate:
    """I(left; right), nats, by KSG 2 with `rectangles`."""
    name = "KSG 2" if rectangles else method_of(left, right)
    variables = {"x": left, "y": right}
    return combined(variables, PAIR_MARGINS, name, settings, local, rectangles)


def method_of(x: Variable, y: Variable, z: Variable | None = None) -> str:
    """The estimator of I(x; y), or I(x; y | z), by its authors' names."""
    kinds = {x.kind, y.kind}
    continuous = kinds == {"continuous"}
    across = kinds == {"continuous", "discrete"}
    if z is None:
        if continuous:
            return "KSG 1"
        return "Ross" if across else "stratified KSG"
    if z.kind == "discrete":
        return "stratified Ross" if across else "stratified KSG"
    if continuous and z.kind == "continuous":
        return "Frenzel-Pompe"
    return "stratified Frenzel-Pompe"


def treatment(
    variables: Sequence[Variable], k: int
) -> tuple[str, int | None, tuple[str, ...]]:
    """Method, k and notes of the Estimate of I(x; y), or I(x; y | z).

    The estimate itself is not computed.
    """
    joint = join(*variables)
    if joint.kind == "discrete":
        return "Grassberger", None, ()
    rows, notes = without_singletons(joint)
    around = spheres(joint.take(rows), Settings(k, "given"))
    name = name_of(method_of(*variables), around, joint)
    return name, k, notes + joint.notes + around.notes


def combined(
    named: Mapping[str, Variable],
    margins: Sequence[Margin],
    name: str,
    settings: Settings,
    local: bool,
    rectangles: bool = False,
) -> Estimate:
    """The mean over samples of digamma(neighbours) + sum of factor * digamma(count).

    A count is of samples in a margin. The variable z is a condition.

    rectangles  KSG 2
    """
    joint = join(*named.values())
    if joint.kind == "discrete":
        return combined_discrete(named, margins, settings, local)
    rows, notes = without_singletons(joint, settings.groups)
    settings = settings.on_rows(rows)
    named = prepared_rows(named, rows, settings.margins)
    unconditional = {role: named[role] for role in named if role != "z"}
    require_classes(rows, **unconditional)
    variables = list(named.values())
    joint = join(*variables)
    around = spheres(joint, settings)
    values = digamma(around.neighbours)
    if rectangles:
        values = values - np.where(around.closed, 0, 1 / around.neighbours)
    for factor, members in margins:
        margin = join_members(variables, members)
        if margin is None or margin.kind == "discrete":
            count = margin_sizes(margin, joint.n, settings.groups)
        else:
            count = counts(margin, around, settings, rectangles)
        values = values + factor * digamma(count)
    notes += joint.notes + around.notes
    name = name_of(name, around, joint)
    estimate = finished(values, rows, settings.k, name, settings, local, notes)
    if settings.k < joint.n / 2:
        return estimate
    sentence = (
        f"k = {settings.k} is at least half of the {joint.n} samples: the standard "
        "error is not known."
    )
    note = Note(sentence, "no error", "k")
    return replace(estimate, standard_error=nan, notes=(*estimate.notes, note))


def combined_discrete(
    named: Mapping[str, Variable],
    margins: Sequence[Margin],
    settings: Settings,
    local: bool,
) -> Estimate:
    """`combined` if all variables are discrete."""
    require_repeats(**named)
    groups = settings.groups
    variables = list(named.values())
    joint = join(*variables)
    values = digamma(class_sizes(joint, groups))
    for factor, members in margins:
        margin = join_members(variables, members)
        sizes = margin_sizes(margin, joint.n, groups)
        values = values + factor * digamma(sizes)
    row_count = independent_rows(joint.strata, groups)
    second = second_order_error(freedom_of(named, margins), row_count)
    return of_counts(values, settings, local, second)


def prepared_rows(
    named: Mapping[str, Variable], rows: np.ndarray, margins: str
) -> dict[str, Variable]:
    """The rows of a mask [n] of every variable, on the scale of the search."""
    variables = {}
    for name, variable in named.items():
        scaled = prepared(variable, margins, name)
        variables[name] = scaled.take(rows)
    return variables


def join_members(
    variables: Sequence[Variable], members: Sequence[int]
) -> Variable | None:
    """The variables of these numbers as one; None without a number."""
    return join(*(variables[member] for member in members)) if members else None


def margin_sizes(
    margin: Variable | None, n: int, groups: np.ndarray | None
) -> int | np.ndarray:
    """The number of samples with the same category of a discrete margin.

    The sample itself is included. None: the number of all samples.
    """
    return others_and_self(n, groups) if margin is None else class_sizes(margin, groups)


def name_of(method: str, around: Spheres, joint: Variable) -> str:
    """The method's name in results.

    Mesner-Shalizi if all spheres are closed; rank-normal margins are mentioned.
    """
    name = "Mesner-Shalizi" if around.closed.all() else method
    return f"{name}, rank-normal margins" if joint.ranked else name


def spheres(joint: Variable, settings: Settings) -> Spheres:
    """The spheres around the samples of a variable.

    Every category must have at least two samples.
    """
    neighbours = nearest(joint.continuous, settings.k, joint.codes, settings.groups)
    others = class_sizes(joint, settings.groups) - 1
    inside = np.minimum(settings.k, others)
    farthest = inside[:, None] - 1
    radius = np.take_along_axis(neighbours.distances, farthest, axis=1)[:, 0]
    tied = (neighbours.ties > 0) | (radius == 0)
    notes = []
    small = inside < settings.k
    if small.any():
        notes.append(small_classes_note(joint, small, settings.k))
    counted = inside + np.where(tied, neighbours.ties, 0)
    # all columns have the same symmetric scores, so some distances tie by chance
    by_chance = MAX_CHANCE_TIES if joint.ranked else 0
    count = int(tied.sum())
    if count > by_chance and tied.mean() > MAX_TIED_SHARE:
        tied[:] = True
    elif count > by_chance:
        where = "1 sample" if count == 1 else f"{count} samples"
        sentence = f"Distances are tied at {where}: Mesner-Shalizi counts there."
        notes.append(Note(sentence, "tied distances"))
    return Spheres(radius, counted, tied, neighbours.ids, tuple(notes))


def small_classes_note(joint: Variable, small: np.ndarray, k: int) -> Note:
    """A note on classes with at most k samples; `small` [n] are their samples."""
    classes = 1
    if joint.codes is not None:
        classes = len(np.unique(joint.codes[small]))
    have, their = ("class has", "its") if classes == 1 else ("classes have", "their")
    sentence = (
        f"{classes} {have} at most k = {k} samples ({small.sum()} in all): k is "
        f"{their} size - 1 there."
    )
    return Note(sentence, "small class", "k")


def rounded_variables(named: Mapping[str, Variable]) -> list[str]:
    """The names of variables with many repeated numbers.

    None if the numbers of all variables repeat.
    """
    repeated = {}
    for name, variable in named.items():
        codes = row_codes(variable)
        sizes = np.bincount(codes)[codes]
        repeated[name] = float(np.mean(sizes > 1))
    if min(repeated.values()) > MAX_TIED_SHARE:
        return []
    return [name for name, share in repeated.items() if share > MIN_REPEATED_SHARE]


def counts(
    margin: Variable, around: Spheres, settings: Settings, rectangles: bool
) -> np.ndarray:
    """The numbers [n] for the digamma function of a margin.

    1 + the others inside an open sphere, or the others inside a closed sphere.
    """
    radius = around.radius
    closed = around.closed
    if rectangles:
        nearest_id = around.ids[:, :1]
        # groups can leave fewer than k neighbours
        ids = np.where(around.ids < 0, nearest_id, around.ids)
        differences = np.abs(margin.continuous[:, None] - margin.continuous[ids])
        radius = np.where(closed, radius, differences.max(axis=(1, 2)))
        closed = np.ones_like(closed)
    limit = np.where(closed, np.nextafter(radius, np.inf), radius)
    inside = count_within(margin.continuous, limit, margin.codes, settings.groups)
    return inside + ~closed


def class_sizes(variable: Variable, groups: np.ndarray | None = None) -> np.ndarray:
    """Number [n] of samples with the same category in other groups, and the sample."""
    if variable.codes is None:
        return np.zeros(variable.n, int) + others_and_self(variable.n, groups)
    sizes = np.bincount(variable.codes)[variable.codes]
    if groups is None:
        return sizes
    mates, _ = joint_codes((variable.codes, groups))
    return sizes - np.bincount(mates)[mates] + 1


def first_of_copies(joint: Variable, groups: np.ndarray | None) -> np.ndarray:
    """Which samples [n] are the first of equal samples in their group.

    All samples if no column is numeric.
    """
    if groups is None or not joint.dim:
        return np.ones(joint.n, bool)
    labels = groups
    if joint.codes is not None:
        labels, _ = joint_codes((groups, joint.codes))
    rows = np.column_stack([joint.continuous, labels])
    _, places = np.unique(rows, axis=0, return_index=True)
    first = np.zeros(joint.n, bool)
    first[places] = True
    return first


def others_and_self(n: int, groups: np.ndarray | None) -> int | np.ndarray:
    """Number of samples in other groups, and the sample itself: n, or [n]."""
    if groups is None:
        return n
    group_sizes = np.bincount(groups)[groups]
    return n - group_sizes + 1


def require_repeats(**variables: Variable) -> None:
    """ValueError for a discrete variable whose categories never repeat."""
    for name, variable in variables.items():
        if variable.kind == "discrete" and variable.categories == variable.n > 1:
            raise NoVariation(
                f"{name} must share categories among rows, got {variable.n} rows that "
                "are all different; for "
                f"numbers, {AS_NUMBERS}; or merge categories."
            )


def without_singletons(
    joint: Variable, groups: np.ndarray | None = None
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Which samples [n] are used, and notes.

    Samples that are alone in their class (Ross 2014), and copies within a group, are
    left out.
    """
    first = first_of_copies(joint, groups)
    if not first.all():
        groups_of_first = of_kept(groups, first)
        among_first, notes = without_singletons(joint.take(first), groups_of_first)
        used = np.zeros(joint.n, bool)
        used[first] = among_first
        note = copies_note(int(np.sum(~first)))
        return used, (note, *notes)
    if joint.kind == "discrete":
        return np.ones(joint.n, bool), ()
    used = class_sizes(joint, groups) > 1
    if not used.any() and groups is not None:
        raise NoVariation(
            f"groups must share categories, got {groups.max() + 1} groups with no "
            "category in common."
        )
    if not used.any():
        raise NoVariation(
            f"discrete columns must share categories, got {joint.n} rows that are all "
            "different."
        )
    if used.all():
        return used, ()
    left_out = int(np.sum(~used))
    alone = "sample is alone in its" if left_out == 1 else "samples are alone in their"
    return used, (Note(f"{left_out} {alone} class and left out.", "alone in class"),)


def copies_note(count: int) -> Note:
    """A note on rows that are left out as copies within their group."""
    return Note(
        f"{count} rows are exact copies of others of their group and left out.",
        "copies",
        "groups",
    )


def of_counts(
    values: np.ndarray, settings: Settings, local: bool, second_order: float
) -> Estimate:
    """The estimate from the local values [n] of discrete variables."""
    rows = np.ones(len(values), bool)
    name = "Grassberger"
    return finished(values, rows, None, name, settings, local, (), second_order)


def finished(
    values: np.ndarray,
    rows: np.ndarray,
    k: int | None,
    method: str,
    settings: Settings,
    local: bool,
    notes: tuple[str, ...],
    second_order: float = 0.0,
) -> Estimate:
    """The estimate from local values.

    rows          mask [n], the rows that have a local value
    second_order  smallest standard error, nats
    """
    influence = mean_influence(values, settings.groups)
    described = []
    if k is not None:
        described.append(f"k = {k}")
    if settings.margins == "given":
        described.append("columns as given")
    local_values = None
    if local:
        local_values = np.full(len(rows), np.nan)
        local_values[rows] = values
    return Estimate(
        float(values.mean()),
        max(root_sum_squares(influence), second_order),
        n=len(values),
        method=method,
        notes=notes,
        settings=", ".join(described),
        units=len(influence),
        degrees=len(influence) - 1,
        local=local_values,
        influence=influence,
    )


def as_sample(
    named: Mapping[str, Any], k: int, margins: str, groups: Any
) -> tuple[dict[str, Variable], Settings]:
    """The variables of the same rows (`column_types.as_variables`) and the settings."""
    variables, codes = as_variables(groups, **named)
    n = next(iter(variables.values())).n
    one_of("margins", margins, MARGINS)
    if require_int("k", k, 1) >= n:
        raise OutOfRange(f"k must be below the number of rows, {n}, got {k}.")
    return variables, Settings(int(k), margins, codes)


def require_classes(used: np.ndarray | None = None, /, **variables: Variable) -> None:
    """ValueError for a discrete variable with one class.

    used  mask [n] of the rows that are used; None: all rows
    """
    for name, variable in variables.items():
        if variable.kind == "discrete" and variable.categories == 1:
            rows = f"all {variable.n} rows"
            if used is not None and not used.all():
                rows += " that are not alone in their class; merge or drop rare classes"
            raise NoVariation(
                f"{name} must have at least two classes, got one in {rows}."
            )


def second_order_error(freedom: float, rows: float) -> float:
    """The standard deviation of chi-squared / (2 rows), nats, of independent rows."""
    # rows cannot be in more cells than there are rows
    return sqrt(min(freedom, rows) / 2) / rows


def freedom_of(named: Mapping[str, Variable], margins: Sequence[Margin]) -> float:
    """Degrees of freedom of a sum of entropies.

    They are the possible combinations within z, and the categories of the margins.
    """
    variables = list(named.values())
    strata = np.zeros(variables[0].n, np.int64)
    if "z" in named:
        strata = named["z"].strata
    possible = np.ones(int(strata.max()) + 1)
    for name, variable in named.items():
        if name != "z":
            cells, _ = joint_codes((variable.strata, strata))
            _, first = np.unique(cells, return_index=True)
            possible *= np.bincount(strata[first], minlength=len(possible))
    of_margins = 0
    for factor, members in margins:
        margin = join_members(variables, members)
        of_margins += factor * (1 if margin is None else margin.categories)
    return float(possible.sum() + of_margins)


def independent_rows(codes: np.ndarray, groups: np.ndarray | None) -> float:
    """Number of rows / design effect of groups [n] (Rao & Scott 1981), at most n."""
    n = len(codes)
    if groups is None:
        return float(n)
    shares = np.bincount(codes) / n
    sizes = np.bincount(groups)
    cells, _ = joint_codes((groups, codes))
    _, first, count = np.unique(cells, return_index=True, return_counts=True)
    share = shares[codes[first]]
    size = sizes[groups[first]]
    squares = count * (count - 2.0 * share * size) / share
    of_groups = (sizes.astype(float) ** 2).sum()
    freedom = max(1, len(shares) - 1)
    effect = (squares.sum() + of_groups) / (n * freedom)
    return n / max(1.0, effect)
