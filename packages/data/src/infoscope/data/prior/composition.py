"""Distributions of the prior, made of independent subsystems.

Idle columns, invertible maps and a random order of the columns change no information.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from infoscope.checks import require_int
from infoscope.data.prior import derived, latent, linear, maps, scalar, wide
from infoscope.data.prior.draws import (
    Array,
    Generator,
    Map,
    log_uniform,
    log_uniform_int,
)
from infoscope.data.prior.noise import draw_noise
from infoscope.data.prior.parts import (
    Part,
    Request,
    Sample,
    categories,
    exactly,
    joined,
    numbers,
)
from infoscope.data.prior.quadrature import draw_observation

VERSION = 9
TYPE_SHARES = {"numbers": 0.55, "labels": 0.2, "categories": 0.1, "mixed": 0.15}
TYPES = tuple(TYPE_SHARES)
# shares of distributions of 1, 2, 3 and 4 subsystems
MANY_PARTS = (0.5, 0.3, 0.13, 0.07)
FEW_PARTS = (0.75, 0.17, 0.05, 0.03)
PART_SHARES = {
    "numbers": MANY_PARTS,
    "labels": FEW_PARTS,
    "categories": FEW_PARTS,
    "mixed": MANY_PARTS,
}
NOTHING_SHARE = 0.15  # distributions without information
# distributions with so little information that a sample may not show it
FAINT_SHARE = 0.1
# quantiles of the others, below which dependence is weak and above which it is strong
WEAK_BELOW = 0.22
STRONG_ABOVE = 0.82
MAX_NATS = 6.0  # information of a distribution, nats
DERIVED_SHARE = 0.25  # variables with columns computed from others
MAX_COLUMNS = 512  # number columns of x or of y, except for wide signals
WIDE_COLUMNS = 12  # number columns of x or y; a subsystem with more is wide
# factors of the weights of families for wide subsystems, where they are not 1
WIDE_WEIGHTS = {
    "wide_signal": 5.0,
    "parity_and_interactions": 0.15,
    "hidden_mechanism": 0.15,
    "hidden_classes": 0.5,
}
MAX_SHAPES = 12  # of independent idle columns
SPARE_CODES = 400  # category codes beyond those of the pilot
MAX_MONOTONE_MAPS = 6  # per variable, each of some columns
PILOT_ROWS = 256  # for locations and scales of columns
MAX_ERROR = 0.0015  # of a truth, nats
MAX_ERROR_SHARE = 0.1  # MAX_ERROR is at most this share of the truth
MIN_ERROR_SHARE = 0.007  # an error up to this share of the truth is always allowed

TIED_SHARE = 0.18  # distributions whose numbers are rounded, censored or limited
PLAIN_SHARE = 0.6  # distributions with the habits PLAIN

# n, generator -> columns [n, p] of numbers, or a sample of n rows
ColumnDraw = Callable[[int, Generator], Array]
SampleDraw = Callable[[int, Generator], Sample]
Kinds = tuple[str, str]  # of x and y


@dataclass(frozen=True)
class Habits:
    """Settings by which distributions are drawn.

    parts        by type: shares of distributions of 1, 2, 3 and 4 subsystems
    information  factor of the target information, except of faint and weak dependence
    weights      factors of the weights of families, where they are not 1
    idle         share of variables with idle columns
    mapped       share of variables with an invertible map of several columns
    maps         names of these maps (`maps.draw_block_map`)
    """

    parts: Mapping[str, tuple[float, ...]]
    information: float
    weights: Mapping[str, float]
    idle: float
    mapped: float
    maps: tuple[str, ...]


VARIED = Habits(PART_SHARES, 1.0, {}, idle=0.6, mapped=0.6, maps=maps.BLOCK_MAPS)
# as most measured data are: little is hidden, and no map bends several columns at once
PLAIN = Habits(
    dict.fromkeys(TYPES, (0.75, 0.2, 0.05, 0.0)),
    0.5,
    {
        "parity_and_interactions": 0.1,
        "hidden_mechanism": 0.1,
        "hidden_classes": 0.1,
        "branches": 0.3,
    },
    idle=0.4,
    mapped=0.3,
    maps=maps.LINEAR_MAPS,
)

NN = ("numbers", "numbers")
NC = ("numbers", "categories")
CC = ("categories", "categories")
NB = ("numbers", "both")
BC = ("both", "categories")
BB = ("both", "both")
KINDS = (NN, NC, CC, NB, BC, BB)
X_NUMBERS = {NN, NC}  # x is numbers; y is numbers or categories
KINDS_OF_TYPE = {"numbers": NN, "labels": NC, "categories": CC}
# of x and y where number columns are observed
TIES = ((True, True), (True, False), (False, True))
TIE_SHARES = (0.5, 0.2, 0.3)


class Family(NamedTuple):
    """A maker of subsystems.

    maker    a function of a request and a generator; of triples, see `conditional`
    kinds    of x and y that it draws
    weight   share of subsystems of these kinds, relative to the other families
    """

    name: str
    maker: Callable[..., Part]
    kinds: set[Kinds]
    weight: float


MAKERS = (
    Family("normal", linear.normal, {NN}, 1.6),
    Family("student", linear.student, {NN}, 1.0),
    Family("copulas", scalar.copulas, X_NUMBERS, 1.0),
    Family("additive_noise", scalar.additive_noise, X_NUMBERS, 1.6),
    Family("multiplied_noise", scalar.multiplied_noise, X_NUMBERS, 1.0),
    Family("branches", scalar.branches, X_NUMBERS, 0.9),
    Family("parity_and_interactions", scalar.interactions, X_NUMBERS, 0.8),
    Family("hidden_mechanism", scalar.hidden_mechanisms, X_NUMBERS, 0.8),
    Family("derived", derived.angles, {NN}, 0.4),
    Family("wide_signal", wide.score_of_many, X_NUMBERS, 1.2),
    Family("wide_signal", wide.classes_of_many, {NC}, 0.8),
    Family("wide_signal", wide.factors_of_many, {NN}, 0.4),
    Family("clusters", latent.clusters, {NN, NC, NB, BB}, 1.0),
    Family("rings_and_tori", latent.rings_and_tori, {NN, NC, NB}, 0.6),
    Family("rings_and_tori", latent.tori, {NN}, 0.4),
    Family("shared_factors", latent.shared_factors, {NN, NC, NB, BC, BB}, 0.7),
    Family("shared_factors", linear.linear_factors, {NN}, 0.5),
    Family("discrete_channel", latent.discrete_channel, {CC}, 1.5),
    Family("discrete_channel", latent.discrete_channel, {NC, NN}, 0.25),
    Family("associations", latent.associations, {CC}, 1.0),
    Family("hidden_classes", latent.hidden_classes, {CC}, 1.5),
    Family("hidden_classes", latent.hidden_classes, {BC, BB}, 0.5),
    Family("look_up", latent.look_up, {CC}, 1.0),
    Family("look_up", latent.look_up, {NN, NC, NB, BC}, 0.8),
    Family("labelled_clusters", latent.labelled_clusters, {NC, BC}, 2.5),
    Family("label_of_numbers", scalar.label_of_numbers, {NC}, 1.5),
    Family("label_of_numbers", scalar.label_of_numbers, {CC}, 0.5),
    Family("label_of_numbers", linear.softmax_of_several, {NC}, 1.0),
    Family("counts", scalar.counts, {NN, CC}, 0.5),
    Family("counts", latent.tuned_counts, {NN, NC, NB}, 0.5),
    Family("ordered_levels", scalar.ordered_levels, {NN, NC, CC}, 0.4),
    Family("ordered_levels", latent.questionnaires, {NN, NC, CC, NB, BC}, 0.5),
    Family("censored_times", scalar.censored_times, {NN, NB}, 0.8),
)
FAMILIES = (*dict.fromkeys(family.name for family in MAKERS), "nothing")


@dataclass(frozen=True, eq=False)
class Distribution:
    """A distribution of the prior with its mutual information.

    Attributes
    ----------
    number : int
        From which the distribution is made.
    families : tuple of str
        Families of its subsystems, sorted, each once.
    type : str
        numbers (in x and y); labels (numbers alone in one variable, categories alone in
        the other); categories (in x and y); or mixed.
    description : str
        The distribution in words.
    truth : float
        Mutual information, nats; of a triple, I(x; y | z).
    truth_error : float
        Standard error of the truth; 0 for a closed form or quadrature.
    columns : tuple of int
        Columns of x, y (and z), numbers and categories together.
    tied : bool
        Whether rounding, censoring, limits, counts or levels act on a number column.
    idle : tuple of int
        Independent columns that were added to x, y (and z).
    """

    number: int
    families: tuple[str, ...]
    type: str
    description: str
    truth: float
    truth_error: float
    columns: tuple[int, ...]
    tied: bool
    idle: tuple[int, ...]
    _draw: Callable[[int, Generator], tuple[Sample, ...]]

    def sample(self, n: int, generator: Generator) -> tuple[Sample, ...]:
        """Independent rows of x and y, and of z in a triple.

        Parameters
        ----------
        n : int
            Number of rows.
        generator : numpy.random.Generator
            Random numbers.

        Returns
        -------
        tuple of Sample
            Number columns and category codes of each variable.
        """
        return self._draw(require_int("n", n), generator)


def distribution(number: int) -> Distribution:
    """The distribution of a number; the number and VERSION determine it.

    Parameters
    ----------
    number : int
        A whole number from 0.

    Returns
    -------
    Distribution
        x and y of known mutual information.

    Raises
    ------
    OutOfRange
        If the number is negative or not whole.

    Examples
    --------
    >>> example = distribution(5)
    >>> x, y = example.sample(100, np.random.default_rng(0))
    >>> len(x.numbers) == len(y.numbers) == 100, example.truth >= 0
    (True, True)
    """
    g, of_truth, of_pilot = streams(number, VERSION)
    kind, empty, habits = _draw_outline(g)
    parts, truth = _draw_parts(kind, empty, habits, g, of_truth)
    if g.random() < 0.5:
        parts = [part.exchanged() for part in parts]
    return assembled(
        number, kind, parts, truth, "xy", MAX_COLUMNS, habits, (g, of_pilot)
    )


def streams(number: int, version: int, *purpose: int) -> list[Generator]:
    """The random numbers of a distribution, of its truth and of its pilots."""
    number = require_int("number", number, 0)
    generators = []
    for stream in range(3):
        g = np.random.default_rng([version, number, stream, *purpose])
        generators.append(g)
    return generators


def assembled(
    number: int,
    kind: str,
    parts: Sequence[Part],
    truth: tuple[float, float],
    names: str,
    most: int,
    habits: Habits,
    generators: tuple[Generator, Generator],
) -> Distribution:
    """The distribution of independent subsystems, whose variables are `names`.

    A variable has up to about `most` number columns.
    """
    g, of_pilot = generators
    variables = []
    for place in range(len(names)):
        variable = VariableMaker(parts, place, g, of_pilot, most, habits)
        variables.append(variable)
    families = {part.family for part in parts}
    if any(variable.derivation for variable in variables):
        families.add("derived")

    def draw(n, g):
        drawn = [part.draw(n, g) for part in parts]
        samples = []
        for variable, of_parts in zip(variables, zip(*drawn)):
            sample = variable.finished(of_parts, n, g)
            samples.append(sample)
        return tuple(samples)

    texts = [f"[{part.family}: {part.description}]" for part in parts]
    text = " + ".join(texts)
    for name, variable in zip(names, variables):
        if variable.words:
            text += f"; {name}: {', '.join(variable.words)}"
    return Distribution(
        int(number),
        tuple(sorted(families)),
        kind,
        text,
        *truth,
        columns=tuple(variable.columns for variable in variables),
        tied=any(variable.tied.any() for variable in variables),
        idle=tuple(variable.idle for variable in variables),
        _draw=draw,
    )


def type_of(number: int) -> str:
    """The type of a number's distribution, without drawing it."""
    g, _, _ = streams(number, VERSION)
    kind, _, _ = _draw_outline(g)
    return kind


def first_columns(number: int) -> int:
    """Number columns of the subsystems that are drawn first for a number."""
    g, _, _ = streams(number, VERSION)
    kind, _, habits = _draw_outline(g)
    draw_parts = _draw_composition(kind, habits, g)
    columns = 0
    for part in draw_parts():
        x, y = part.draw(2, np.random.default_rng(0))
        columns += x.numbers.shape[1] + y.numbers.shape[1]
    return columns


# --- subsystems ------------------------------------------------------------------------------------------------------
def _draw_outline(g: Generator) -> tuple[str, bool, Habits]:
    """The type, whether x and y are independent, and the habits of the distribution."""
    kind = draw_type(g)
    empty = g.random() < NOTHING_SHARE
    return kind, empty, draw_habits(g)


def draw_type(g: Generator) -> str:
    """A random type, by TYPE_SHARES."""
    kind = g.choice(TYPES, p=list(TYPE_SHARES.values()))
    return str(kind)


def draw_habits(g: Generator) -> Habits:
    """PLAIN or VARIED habits, at random."""
    return PLAIN if g.random() < PLAIN_SHARE else VARIED


def draw_nats(g: Generator, habits: Habits) -> float:
    """Target information: faint, weak, medium or strong, nats.

    Ties, noise and limits of a family may lower the information.
    """
    if g.random() < FAINT_SHARE:
        nats_of_rows = log_uniform(g, 0.15, 30)
        rows = log_uniform(g, 100, 5000)
        return nats_of_rows / rows
    quantile = g.random()
    if quantile < WEAK_BELOW:
        return log_uniform(g, 0.01, 0.2)
    limits = (0.05, 2.8)
    if quantile >= STRONG_ABOVE:
        limits = (1.5, 5.0)
    return habits.information * g.uniform(*limits)


def draw_kinds(kind: str, count: int, g: Generator) -> list[Kinds]:
    """Kinds of x and y of every subsystem that give the type."""
    if kind != "mixed":
        return [KINDS_OF_TYPE[kind]] * count
    while True:
        places = [g.integers(len(KINDS)) for _ in range(count)]
        kinds = []
        for place in places:
            x, y = KINDS[place]
            if g.random() < 0.5:
                x, y = y, x
            kinds.append((x, y))
        for of_variable in zip(*kinds):
            if "both" in of_variable or len(set(of_variable)) == 2:
                return kinds


def _draw_parts(
    kind: str, empty: bool, habits: Habits, g: Generator, of_truth: Generator
) -> tuple[list[Part], tuple[float, float]]:
    """Subsystems of a type, and their information with its standard error, nats.

    They are drawn again until the information is not too large and is accurate.
    """
    while True:
        draw_parts = _draw_composition(kind, habits, g)
        parts = draw_parts()
        if empty:
            pairs = map(independent, parts, draw_parts())
            return list(pairs), (0.0, 0.0)
        truth = variance = 0.0
        for part in parts:
            nats, error = part.truth(of_truth)
            truth += nats
            variance += error**2
        error = float(np.sqrt(variance))
        if is_exact(truth, error):
            return parts, (float(truth), error)


def is_exact(truth: float, error: float) -> bool:
    """Whether information is above 0, at most MAX_NATS, and accurate; nats."""
    limit = min(MAX_ERROR, MAX_ERROR_SHARE * truth)
    limit = max(limit, MIN_ERROR_SHARE * truth)
    return 0 < truth <= MAX_NATS and error <= limit


def _draw_composition(
    kind: str, habits: Habits, g: Generator
) -> Callable[[], list[Part]]:
    """A function that draws subsystems of a type.

    Every time they have the same kinds of x and y and the same target information.
    """
    count = 1 + int(g.choice(4, p=habits.parts[kind]))
    total = draw_nats(g, habits)
    nats = total * g.dirichlet(np.full(count, 1.5))
    kinds = draw_kinds(kind, count, g)
    tied = g.random() < TIED_SHARE

    def draw():
        parts = []
        for pair, share in zip(kinds, nats):
            part = draw_part(pair, float(share), count, tied, habits, g)
            parts.append(part)
        return parts

    return draw


def draw_part(
    kinds: Kinds,
    nats: float,
    count: int,
    tied: bool,
    habits: Habits,
    g: Generator,
    widest: int = MAX_COLUMNS,
) -> Part:
    """A subsystem of some kinds of x and y, one of `count`.

    The subsystems together have at most about `widest` number columns in x or y.
    """
    most = widest // count
    columns_x = min(most, log_uniform_int(g, 1, widest))
    columns_y = min(most, log_uniform_int(g, 1, widest))
    is_wide = max(columns_x, columns_y) > WIDE_COLUMNS
    kind_x, kind_y = kinds
    exchanged_kinds = (kind_y, kind_x)
    usable = []
    weights = []
    for family in MAKERS:
        if kinds in family.kinds or exchanged_kinds in family.kinds:
            weight = family.weight
            if is_wide:
                weight *= WIDE_WEIGHTS.get(family.name, 1.0)
            weight *= habits.weights.get(family.name, 1.0)
            usable.append(family)
            weights.append(weight)
    family = usable[draw_index(weights, g)]
    exchange = kinds not in family.kinds
    if not exchange and exchanged_kinds in family.kinds:
        exchange = g.random() < 0.5
    if exchange:
        kind_x, kind_y = exchanged_kinds
    ties = TIES[g.choice(3, p=TIE_SHARES)]
    if not tied:
        ties = (False, False)
    request = Request(kind_x, kind_y, nats, (columns_x, columns_y), ties)
    part = family.maker(request, g)
    if exchange:
        return part.exchanged()
    return part


def draw_index(weights: list[float], g: Generator) -> int:
    """A random index of `weights`, with probabilities in proportion to them."""
    probabilities = np.array(weights) / np.sum(weights)
    return g.choice(len(weights), p=probabilities)


def independent(of_x: Part, of_y: Part) -> Part:
    """x of one subsystem with y of another: independent."""

    def draw(n, g):
        x, _ = of_x.draw(n, g)
        _, y = of_y.draw(n, g)
        return x, y

    text = (
        f"x of {of_x.family} ({of_x.description}) beside y of {of_y.family} "
        f"({of_y.description})"
    )
    ties = (of_x.tied[0], of_y.tied[1])
    return Part("nothing", text, draw, exactly(0.0), ties)


# --- idle columns ----------------------------------------------------------------------------------------------------
def draw_idle_numbers(count: int, tied: bool, g: Generator) -> tuple[ColumnDraw, bool]:
    """A function that draws idle number columns, and whether they have ties.

    The columns have a few shapes; some share factors, some are rounded or censored.
    """
    if count == 1 or g.random() < 0.4:
        return _draw_noise_columns(count, tied, g), tied
    mix = maps.draw_mixing(count, g)
    dof = np.inf
    if g.random() < 0.2:
        dof = log_uniform(g, 1.0, 8.0)

    def draw(n, g):
        variance = 1.0
        if np.isfinite(dof):
            variance = g.chisquare(dof, size=(n, 1)) / dof
        columns = g.normal(size=(n, count))
        return mix(columns) / np.sqrt(variance)

    return draw, False


def _draw_noise_columns(count: int, tied: bool, g: Generator) -> ColumnDraw:
    """A function that draws independent columns of up to MAX_SHAPES shapes in turn."""
    shapes = min(count, MAX_SHAPES)
    noises = [draw_noise(g) for _ in range(shapes)]
    observations = []
    if tied:
        for noise in noises:
            pilot = noise.sample(500, g)
            observations.append(draw_observation(g, pilot))

    def draw(n, g):
        columns = np.empty((n, count))
        for shape, noise in enumerate(noises):
            block = columns[:, shape::shapes]
            values = noise.sample(block.size, g)
            if tied:
                values = observations[shape].apply(values)
            block[:] = values.reshape(block.shape)
        return columns

    return draw


def draw_idle_categories(count: int, g: Generator) -> SampleDraw:
    """A function that draws idle category columns of 2 to 8 categories each."""
    levels = []
    for _ in range(count):
        size = int(g.integers(2, 9))
        margin = latent.draw_margin(g, size)
        levels.append(np.cumsum(margin)[:-1])

    def draw(n, g):
        codes = [np.searchsorted(cuts, g.random(n)) for cuts in levels]
        return categories(np.stack(codes, axis=1))

    return draw


# --- x and y ---------------------------------------------------------------------------------------------------------
class VariableMaker:
    """A variable: columns of the subsystems and idle columns, mapped and permuted.

    columns   numbers and categories together
    idle      number of idle columns, which are independent of everything
    tied      [numbers before a derivation], whether rounding, censoring, limits, counts
              or levels act on each
    words     descriptions of the maps and of the idle columns
    """

    def __init__(
        self,
        parts: Sequence[Part],
        place: int,
        g: Generator,
        of_pilot: Generator,
        most: int,
        habits: Habits,
    ) -> None:
        self.draw_idle = []
        self.maps = []
        self.idle = 0
        self.words = []
        pilots = [part.draw(PILOT_ROWS, of_pilot)[place] for part in parts]
        ties = [part.tied[place] for part in parts]
        sizes = [pilot.numbers.shape[1] for pilot in pilots]
        self.tied = np.repeat(ties, sizes)
        has_labels = any(pilot.labels.size for pilot in pilots)
        if g.random() < habits.idle:
            self._add_idle(has_labels, most, g)
        pilots += [draw_idle(PILOT_ROWS, of_pilot) for draw_idle in self.draw_idle]
        pilot = joined(pilots)
        self._set_scales(pilot.numbers)
        values = (pilot.numbers - self.middle) / self.spread
        self._draw_block_map(values, habits, g)
        self._draw_monotone_maps(values, g)
        numbers_after = self._draw_derivation(values, g)
        self._draw_units(numbers_after, g)
        label_columns = pilot.labels.shape[1]
        self.columns = numbers_after + label_columns
        self.order = g.permutation(numbers_after)
        self.label_order = g.permutation(label_columns)
        self.codes = []
        for column in pilot.labels.T:
            size = int(column.max()) + SPARE_CODES
            self.codes.append(g.permutation(size))

    def _add_idle(self, has_labels: bool, most: int, g: Generator) -> None:
        """Add idle numbers, up to about `most` columns, and sometimes idle categories.

        A variable without numbers gets no idle numbers, one without categories no
        idle categories.
        """
        if len(self.tied):
            count = log_uniform_int(g, 1, most) - len(self.tied)
            if count > 0:
                tied = bool(self.tied.any() and g.random() < 0.6)
                draw, is_tied = draw_idle_numbers(count, tied, g)
                self.draw_idle.append(lambda n, g: numbers(draw(n, g)))
                self.idle += count
                ties = np.full(count, is_tied)
                self.tied = np.concatenate([self.tied, ties])
        if has_labels and g.random() < 0.15:
            count = log_uniform_int(g, 1, 12)
            self.draw_idle.append(draw_idle_categories(count, g))
            self.idle += count
        if self.idle:
            self.words.append(f"{self.idle} idle columns")

    def _set_scales(self, pilot: Array) -> None:
        """Set location and scale of number columns; 0 and 1 where there are ties."""
        middle = np.median(pilot, axis=0)
        distances = np.abs(pilot - middle)
        spread = np.median(distances, axis=0) * 1.48
        deviation = pilot.std(axis=0)
        fallback = np.where(deviation > 0, deviation, 1.0)
        spread = np.where(spread > 0.05 * deviation, spread, fallback)
        self.middle = np.where(self.tied, 0.0, middle)
        self.spread = np.where(self.tied, 1.0, spread)

    def _draw_block_map(self, values: Array, habits: Habits, g: Generator) -> None:
        """Draw an invertible map of several columns without ties; it changes `values`.

        Only a share of the variables has such a map.
        """
        free = np.flatnonzero(~self.tied)
        if len(free) > 1 and g.random() < habits.mapped:
            share = 1.0
            if g.random() >= 0.6:
                share = g.uniform(0.3, 1)
            size = max(2, int(share * len(free)))
            block = g.permutation(free)[:size]
            name, block_map = maps.draw_block_map(size, habits.maps, g)
            self._add_map(block, block_map, f"{name} of {size} columns", values)

    def _draw_monotone_maps(self, values: Array, g: Generator) -> None:
        """Draw increasing maps of groups of columns; they change `values`.

        The columns have no ties, except sometimes one.
        """
        share = g.choice([0.0, 0.3, 1.0], p=[0.5, 0.2, 0.3])
        free = np.flatnonzero(~self.tied)
        is_bent = g.random(len(free)) < share
        bent = g.permutation(free[is_bent])
        for start in range(MAX_MONOTONE_MAPS):
            group = bent[start::MAX_MONOTONE_MAPS]
            if len(group):
                self._draw_monotone_map(group, values, g)
        first_tied = np.flatnonzero(self.tied)[:1]
        if len(first_tied) and g.random() < 0.3:
            self._draw_monotone_map(first_tied, values, g)

    def _draw_monotone_map(self, group: NDArray, values: Array, g: Generator) -> None:
        """Draw an increasing map of a group of columns; it changes `values`."""
        largest = np.abs(values[:, group]).max()
        name, function = maps.draw_monotone(g, float(largest))
        self._add_map(group, function, name, values)

    def _add_map(self, group: NDArray, function: Map, name: str, values: Array) -> None:
        """Add a map of a group of columns; it changes `values`."""
        values[:, group] = function(values[:, group])
        self.maps.append((group, function))
        self.words.append(name)

    def _draw_derivation(self, values: Array, g: Generator) -> int:
        """Draw a derivation or none; return the number of number columns after it."""
        self.derivation = None
        size = values.shape[1]
        if size and g.random() < DERIVED_SHARE:
            name, self.derivation = derived.draw_derivation(size, g)
            self.words.append(name)
            size = self.derivation(values).shape[1]
        return size

    def _draw_units(self, size: int, g: Generator) -> None:
        """Draw scales and offsets of the number columns; mostly 1 and 0 for ties."""
        varied = g.random() >= 0.4
        scale = np.exp(g.normal(0, 1.5 * varied, size))
        offset = scale * g.normal(0, 3.0 * varied, size)
        tied = self.tied
        if self.derivation:
            tied = np.zeros(size, bool)
        is_plain = tied & (g.random() < 0.6)
        self.scale = np.where(is_plain, 1.0, scale)
        self.offset = np.where(is_plain, 0.0, offset)

    def finished(self, samples: Sequence[Sample], n: int, g: Generator) -> Sample:
        """The variable's columns from the draws of the subsystems."""
        idle = [draw_idle(n, g) for draw_idle in self.draw_idle]
        raw = joined([*samples, *idle])
        values = (raw.numbers - self.middle) / self.spread
        for group, function in self.maps:
            values[:, group] = function(values[:, group])
        if self.derivation is not None:
            values = self.derivation(values)
        values = values * self.scale + self.offset
        labels = np.empty_like(raw.labels)
        for column, codes in enumerate(self.codes):
            drawn = raw.labels[:, column]
            labels[:, column] = codes[drawn]
        ordered_values = np.ascontiguousarray(values[:, self.order])
        ordered_labels = np.ascontiguousarray(labels[:, self.label_order])
        return Sample(ordered_values, ordered_labels)
