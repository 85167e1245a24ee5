"""Distributions of the prior: independent subsystems, idle columns, invertible maps,
and columns in a random order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from infoscope.checks import require_int
from infoscope.data.prior import derived, latent, linear, maps, scalar, wide
from infoscope.data.prior.draws import Array, Generator, log_uniform, log_uniform_int
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
PART_SHARES = {  # by type: shares of distributions of 1, 2, 3 and 4 subsystems
    "numbers": (0.5, 0.3, 0.13, 0.07),
    "labels": (0.75, 0.17, 0.05, 0.03),
    "categories": (0.75, 0.17, 0.05, 0.03),
    "mixed": (0.5, 0.3, 0.13, 0.07),
}
NOTHING_SHARE = 0.15  # distributions without information
# distributions with so little information that a sample may not show it
FAINT_SHARE = 0.1
# shares of the others: below, dependence is weak; above, strong
WEAK_BELOW, STRONG_ABOVE = 0.22, 0.82
MAX_NATS = 6.0  # information of a distribution, nats
DERIVED_SHARE = 0.25  # variables with columns computed from others
MAX_COLUMNS = 512  # number columns of x or of y, except for wide signals
WIDE_COLUMNS = 12  # number columns of x or y; a subsystem with more is called wide
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
# nats, but at most the second share of the truth; or the third share
MAX_TRUTH_ERROR = (0.0015, 0.1, 0.007)

TIED_SHARE = 0.18  # distributions whose numbers are rounded, censored or limited
PLAIN_SHARE = 0.6  # distributions with the habits PLAIN

Maker = Callable[[Request, Generator], Part]


@dataclass(frozen=True)
class Habits:
    """How distributions are drawn.

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
KINDS_OF_TYPE = {"numbers": NN, "labels": NC, "categories": CC}
# of x and y where number columns are observed
TIES = ((True, True), (True, False), (False, True))
TIE_SHARES = (0.5, 0.2, 0.3)


class Family(NamedTuple):
    """A maker of subsystems: the kinds of x and y that it draws, and its weight among
    the others of these kinds.
    """

    name: str
    maker: Maker
    kinds: set[tuple[str, str]]
    weight: float


MAKERS = (
    Family("normal", linear.normal, {NN}, 1.6),
    Family("student", linear.student, {NN}, 1.0),
    Family("copulas", scalar.copulas, {NN, NC}, 1.0),
    Family("additive_noise", scalar.additive_noise, {NN, NC}, 1.6),
    Family("multiplied_noise", scalar.multiplied_noise, {NN, NC}, 1.0),
    Family("branches", scalar.branches, {NN, NC}, 0.9),
    Family("parity_and_interactions", scalar.interactions, {NN, NC}, 0.8),
    Family("hidden_mechanism", scalar.hidden_mechanisms, {NN, NC}, 0.8),
    Family("derived", derived.angles, {NN}, 0.4),
    Family("wide_signal", wide.score_of_many, {NN, NC}, 1.2),
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

    Types: numbers (in x and y); labels (numbers alone in one, categories alone in the
    other); categories (in x and y); mixed (anything else).
    """

    number: int
    families: tuple[str, ...]  # of its subsystems, sorted, distinct
    type: str
    description: str
    truth: float  # nats
    truth_error: float  # standard error; 0: closed form or quadrature
    columns: tuple[int, ...]  # of x, y (and z), numbers and categories together
    # whether rounding, censoring, limits, counts or levels act on some number column
    tied: bool
    idle: tuple[int, ...]  # independent columns added to each
    _draw: Callable[[int, Generator], tuple[Sample, ...]]

    def sample(self, n: int, generator: Generator) -> tuple[Sample, ...]:
        """Independent rows of x and y, and of z where there is one.

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
    """The distribution of a number; the same number and VERSION always give the same
    one.

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
    number = require_int("number", number, 0)
    g, of_truth, of_pilot = (
        np.random.default_rng([VERSION, number, stream]) for stream in range(3)
    )
    kind, empty, habits = _draw_outline(g)
    parts, truth, error = _draw_parts(kind, empty, habits, g, of_truth)
    if g.random() < 0.5:
        parts = [part.exchanged() for part in parts]
    return assembled(
        number, kind, parts, (truth, error), "xy", MAX_COLUMNS, habits, (g, of_pilot)
    )


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
    """The distribution of independent subsystems of variables `names`, each of about
    `most` number columns.
    """
    g, of_pilot = generators
    variables = [
        VariableMaker(parts, place, g, of_pilot, most, habits)
        for place in range(len(names))
    ]
    families = {part.family for part in parts}
    if any(variable.derivation for variable in variables):
        families.add("derived")

    def draw(n, g):
        drawn = [part.draw(n, g) for part in parts]
        samples = []
        for variable, of_parts in zip(variables, zip(*drawn)):
            samples.append(variable.finished(of_parts, n, g))
        return tuple(samples)

    texts = [f"[{part.family}: {part.description}]" for part in parts]
    text = " + ".join(texts)
    for name, variable in zip(names, variables):
        if variable.words:
            text += f"; {name}: {', '.join(variable.words)}"
    return Distribution(
        number,
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
    kind, _, _ = _draw_outline(_first_generator(number))
    return kind


def first_columns(number: int) -> int:
    """Number columns of the subsystems drawn first for a number; quick, as no truth is
    computed.
    """
    g = _first_generator(number)
    kind, _, habits = _draw_outline(g)
    parts, _ = _draw_composition(kind, habits, g)
    columns = 0
    for part in parts:
        x, y = part.draw(2, np.random.default_rng(0))
        columns += x.numbers.shape[1] + y.numbers.shape[1]
    return columns


def _first_generator(number: int) -> Generator:
    """The stream from which a number's subsystems are drawn."""
    return np.random.default_rng([VERSION, require_int("number", number, 0), 0])


# --- subsystems ------------------------------------------------------------------------------------------------------
def _draw_outline(g: Generator) -> tuple[str, bool, Habits]:
    """The type, whether x and y are independent, and the habits of the distribution."""
    kind = g.choice(TYPES, p=list(TYPE_SHARES.values()))
    empty = g.random() < NOTHING_SHARE
    return str(kind), empty, draw_habits(g)


def draw_habits(g: Generator) -> Habits:
    """PLAIN or VARIED."""
    return PLAIN if g.random() < PLAIN_SHARE else VARIED


def draw_nats(g: Generator, habits: Habits) -> float:
    """Target information: faint, weak, medium or strong; ties, noise and limits of a
    family may lower it.
    """
    if g.random() < FAINT_SHARE:
        # 2 n I of .3 to 60 for n rows
        return log_uniform(g, 0.15, 30) / log_uniform(g, 100, 5000)
    chance = g.random()
    if chance < WEAK_BELOW:
        return log_uniform(g, 0.01, 0.2)
    low, high = (0.05, 2.8) if chance < STRONG_ABOVE else (1.5, 5.0)
    return habits.information * g.uniform(low, high)


def draw_kinds(kind: str, count: int, g: Generator) -> list[tuple[str, str]]:
    """Kinds of x and y of every subsystem that give the type."""
    if kind != "mixed":
        return [KINDS_OF_TYPE[kind]] * count
    while True:
        places = [g.integers(len(KINDS)) for _ in range(count)]
        kinds = []
        for place in places:
            pair = KINDS[place]
            kinds.append(pair[::-1] if g.random() < 0.5 else pair)
        if any(map(_is_mixed, zip(*kinds))):
            return kinds


def _is_mixed(kinds: tuple[str, ...]) -> bool:
    """Whether subsystems of these kinds make a variable of numbers and categories."""
    return "both" in kinds or len(set(kinds)) == 2


def _draw_parts(
    kind: str, empty: bool, habits: Habits, g: Generator, of_truth: Generator
) -> tuple[list[Part], float, float]:
    """Subsystems of a type with their information; redrawn where it is too large or too
    inexact.
    """
    while True:
        parts, draw_again = _draw_composition(kind, habits, g)
        if empty:
            others = draw_again()
            return list(map(independent, parts, others)), 0.0, 0.0
        truth = variance = 0.0
        for part in parts:
            nats, error = part.truth(of_truth)
            truth += nats
            variance += error**2
        error = float(np.sqrt(variance))
        if is_exact(truth, error):
            return parts, float(truth), error


def is_exact(truth: float, error: float) -> bool:
    """Whether information is above 0, not too large, and known well enough; nats."""
    absolute, share, relative = MAX_TRUTH_ERROR
    limit = max(min(absolute, share * truth), relative * truth)
    return 0 < truth <= MAX_NATS and error <= limit


def _draw_composition(
    kind: str, habits: Habits, g: Generator
) -> tuple[list[Part], Callable[[], list[Part]]]:
    """Subsystems of a type, and a function that draws others of the same kinds and
    target information.
    """
    count = int(g.choice((1, 2, 3, 4), p=habits.parts[kind]))
    nats = draw_nats(g, habits) * g.dirichlet(np.full(count, 1.5))
    kinds = draw_kinds(kind, count, g)
    tied = g.random() < TIED_SHARE

    def draw():
        parts = []
        for pair, share in zip(kinds, nats):
            parts.append(draw_part(pair, float(share), count, tied, habits, g))
        return parts

    return draw(), draw


def draw_part(
    kinds: tuple[str, str],
    nats: float,
    count: int,
    tied: bool,
    habits: Habits,
    g: Generator,
    widest: int = MAX_COLUMNS,
) -> Part:
    """A subsystem of some kinds of x and y, of at most about `widest` number columns
    where it is one of `count`.
    """
    columns = tuple(
        min(widest // count, log_uniform_int(g, 1, widest)) for _ in range(2)
    )
    exchanged_kinds = kinds[::-1]
    usable = [
        family
        for family in MAKERS
        if kinds in family.kinds or exchanged_kinds in family.kinds
    ]
    weights = np.array([family.weight for family in usable])
    if max(columns) > WIDE_COLUMNS:
        weights *= [WIDE_WEIGHTS.get(family.name, 1.0) for family in usable]
    weights *= [habits.weights.get(family.name, 1.0) for family in usable]
    family = usable[g.choice(len(usable), p=weights / weights.sum())]
    exchange = kinds not in family.kinds
    if not exchange and exchanged_kinds in family.kinds:
        exchange = g.random() < 0.5
    kind_x, kind_y = exchanged_kinds if exchange else kinds
    ties = TIES[g.choice(3, p=TIE_SHARES)]
    request = Request(kind_x, kind_y, nats, columns, ties if tied else (False, False))
    part = family.maker(request, g)
    return part.exchanged() if exchange else part


def independent(of_x: Part, of_y: Part) -> Part:
    """x of one subsystem with y of another: independent."""

    def draw(n, g):
        x, _ = of_x.draw(n, g)
        _, y = of_y.draw(n, g)
        return x, y

    text = f"x of {of_x.family} ({of_x.description}) beside y of {of_y.family} ({of_y.description})"
    ties = (of_x.tied[0], of_y.tied[1])
    return Part("nothing", text, draw, exactly(0.0), ties)


# --- idle columns ----------------------------------------------------------------------------------------------------
def draw_idle_numbers(
    count: int, tied: bool, g: Generator
) -> tuple[Callable[[int, Generator], Array], bool]:
    """Idle number columns of a few shapes, sometimes with common factors, sometimes
    rounded or censored.
    """
    if count == 1 or g.random() < 0.4:
        return _draw_noise_columns(count, tied, g), tied
    mix = maps.draw_mixing(count, g)
    dof = np.inf
    if g.random() < 0.2:
        dof = log_uniform(g, 1.0, 8.0)

    def draw(n, g):
        scale = 1.0
        if np.isfinite(dof):
            scale = np.sqrt(g.chisquare(dof, size=(n, 1)) / dof)
        return mix(g.normal(size=(n, count))) / scale

    return draw, False


def _draw_noise_columns(
    count: int, tied: bool, g: Generator
) -> Callable[[int, Generator], Array]:
    """Independent columns of up to MAX_SHAPES shapes in turn."""
    noises = [draw_noise(g) for _ in range(min(count, MAX_SHAPES))]
    observations = [
        draw_observation(g, noise.sample(500, g)) for noise in noises if tied
    ]

    def draw(n, g):
        columns = np.empty((n, count))
        for shape, noise in enumerate(noises):
            block = columns[:, shape :: len(noises)]
            values = noise.sample(block.size, g).reshape(block.shape)
            block[:] = observations[shape].apply(values) if tied else values
        return columns

    return draw


def draw_idle_categories(
    count: int, g: Generator
) -> Callable[[int, Generator], Sample]:
    """Idle category columns of 2 to 8 categories each."""
    levels = []
    for _ in range(count):
        margin = latent.draw_margin(g, int(g.integers(2, 9)))
        levels.append(np.cumsum(margin)[:-1])

    def draw(n, g):
        codes = [np.searchsorted(cuts, g.random(n)) for cuts in levels]
        return categories(np.stack(codes, axis=1))

    return draw


# --- x and y ---------------------------------------------------------------------------------------------------------
class VariableMaker:
    """A variable of a distribution: columns of the subsystems and idle ones, under
    maps, scales and a permutation.

    columns   numbers and categories together
    idle      independent columns among them
    tied      [numbers before a derivation], whether rounding, censoring, limits, counts or levels act on each
    words     what was done to the columns
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
        self.draw_idle: list[Callable[[int, Generator], Sample]] = []
        self.idle = 0
        self.words: list[str] = []
        pilots = [part.draw(PILOT_ROWS, of_pilot)[place] for part in parts]
        ties = [part.tied[place] for part in parts]
        self.tied = np.repeat(ties, [pilot.numbers.shape[1] for pilot in pilots])
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
        self.codes = [
            g.permutation(int(column.max()) + SPARE_CODES) for column in pilot.labels.T
        ]

    def _add_idle(self, has_labels: bool, most: int, g: Generator) -> None:
        """Idle numbers beside numbers, up to about `most` columns, and sometimes idle
        categories beside categories.
        """
        if len(self.tied):
            count = log_uniform_int(g, 1, most) - len(self.tied)
            if count > 0:
                tied = bool(self.tied.any() and g.random() < 0.6)
                draw, is_tied = draw_idle_numbers(count, tied, g)
                self.draw_idle.append(lambda n, g: numbers(draw(n, g)))
                self.idle += count
                self.tied = np.concatenate([self.tied, np.full(count, is_tied)])
        if has_labels and g.random() < 0.15:
            count = log_uniform_int(g, 1, 12)
            self.draw_idle.append(draw_idle_categories(count, g))
            self.idle += count
        if self.idle:
            self.words.append(f"{self.idle} idle columns")

    def _set_scales(self, pilot: Array) -> None:
        """Location and scale of every number column; 0 and 1 where there are ties."""
        middle = np.median(pilot, axis=0)
        deviation = pilot.std(axis=0)
        spread = np.median(np.abs(pilot - middle), axis=0) * 1.48
        fallback = np.where(deviation > 0, deviation, 1.0)
        spread = np.where(spread > 0.05 * deviation, spread, fallback)
        self.middle = np.where(self.tied, 0.0, middle)
        self.spread = np.where(self.tied, 1.0, spread)

    def _draw_block_map(self, values: Array, habits: Habits, g: Generator) -> None:
        """Sometimes an invertible map of several columns without ties, which changes
        `values`.
        """
        self.block = np.zeros(0, int)
        self.block_map = None
        free = np.flatnonzero(~self.tied)
        if len(free) > 1 and g.random() < habits.mapped:
            share = 1.0
            if g.random() >= 0.6:
                share = g.uniform(0.3, 1)
            size = max(2, int(share * len(free)))
            self.block = free[g.permutation(len(free))[:size]]
            name, self.block_map = maps.draw_block_map(size, habits.maps, g)
            values[:, self.block] = self.block_map(values[:, self.block])
            self.words.append(f"{name} of {size} columns")

    def _draw_monotone_maps(self, values: Array, g: Generator) -> None:
        """Increasing maps of groups of columns without ties, and sometimes of one with
        ties; they change `values`.
        """
        self.monotone: list[tuple[NDArray, maps.Map]] = []
        share = g.choice([0.0, 0.3, 1.0], p=[0.5, 0.2, 0.3])
        free = np.flatnonzero(~self.tied)
        bent = g.permutation(free[g.random(len(free)) < share])
        for start in range(MAX_MONOTONE_MAPS):
            self._draw_monotone_map(bent[start::MAX_MONOTONE_MAPS], values, g)
        first_tied = np.flatnonzero(self.tied)[:1]
        if len(first_tied) and g.random() < 0.3:
            self._draw_monotone_map(first_tied, values, g)

    def _draw_monotone_map(self, group: NDArray, values: Array, g: Generator) -> None:
        if not len(group):
            return
        largest = np.abs(values[:, group]).max()
        name, function = maps.draw_monotone(g, float(largest))
        values[:, group] = function(values[:, group])
        self.monotone.append((group, function))
        self.words.append(name)

    def _draw_derivation(self, values: Array, g: Generator) -> int:
        """Sometimes columns computed from others; the number of number columns then."""
        self.derivation = None
        size = values.shape[1]
        if size and g.random() < DERIVED_SHARE:
            name, self.derivation = derived.draw_derivation(size, g)
            self.words.append(name)
            size = self.derivation(values).shape[1]
        return size

    def _draw_units(self, size: int, g: Generator) -> None:
        """Scales and offsets of the number columns; columns with ties mostly stay as
        they are.
        """
        alike = g.random() < 0.4
        scale = np.exp(g.normal(0, 0.0 if alike else 1.5, size))
        offset = scale * g.normal(0, 0.0 if alike else 3.0, size)
        tied = np.zeros(size, bool) if self.derivation else self.tied
        plain = tied & (g.random() < 0.6)
        self.scale = np.where(plain, 1.0, scale)
        self.offset = np.where(plain, 0.0, offset)

    def finished(self, samples: Sequence[Sample], n: int, g: Generator) -> Sample:
        """The variable's columns from the draws of the subsystems."""
        idle = [draw_idle(n, g) for draw_idle in self.draw_idle]
        raw = joined([*samples, *idle])
        values = (raw.numbers - self.middle) / self.spread
        if self.block_map is not None:
            values[:, self.block] = self.block_map(values[:, self.block])
        for group, function in self.monotone:
            values[:, group] = function(values[:, group])
        if self.derivation is not None:
            values = self.derivation(values)
        values = values * self.scale + self.offset
        labels = np.empty_like(raw.labels)
        for column, codes in enumerate(self.codes):
            labels[:, column] = codes[raw.labels[:, column]]
        ordered_values = np.ascontiguousarray(values[:, self.order])
        ordered_labels = np.ascontiguousarray(labels[:, self.label_order])
        return Sample(ordered_values, ordered_labels)
