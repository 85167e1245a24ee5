"""Distributions of the prior: independent subsystems, idle columns, invertible maps, and columns in a random order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from infoscope.checks import require_int
from infoscope.data.prior import derived, latent, linear, maps, scalar, wide
from infoscope.data.prior.draws import Array, Generator, log_uniform, log_uniform_int
from infoscope.data.prior.noise import draw_noise
from infoscope.data.prior.parts import Part, Request, Sample, categories, joined, numbers
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
FAINT_SHARE = 0.1  # distributions with so little information that a sample may not show it
WEAK_BELOW, STRONG_ABOVE = 0.22, 0.82  # shares of the others: below, dependence is weak; above, strong
MAX_NATS = 6.0  # information of a distribution, nats
DERIVED_SHARE = 0.25  # variables with columns computed from others
MAX_COLUMNS = 512  # number columns of x or of y, except for wide signals
WIDE_COLUMNS = 12  # number columns of x or y; a subsystem with more is called wide
WIDE_WEIGHTS = {"wide_signal": 5.0, "parity_and_interactions": 0.15, "hidden_mechanism": 0.15, "hidden_classes": 0.5}
MAX_MONOTONE_MAPS = 6  # per variable, each of some columns
PILOT_ROWS = 256  # for locations and scales of columns
MAX_TRUTH_ERROR = (0.0015, 0.1, 0.007)  # nats, but at most the second share of the truth; or the third share

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
PLAIN = Habits(  # as most measured data are: little is hidden, and no map bends several columns at once
    dict.fromkeys(TYPES, (0.75, 0.2, 0.05, 0.0)),
    0.5,
    {"parity_and_interactions": 0.1, "hidden_mechanism": 0.1, "hidden_classes": 0.1, "branches": 0.3},
    idle=0.4,
    mapped=0.3,
    maps=maps.LINEAR_MAPS,
)

NN, NC, CC, NB, BC, BB = (
    ("numbers", "numbers"), ("numbers", "categories"), ("categories", "categories"),
    ("numbers", "both"), ("both", "categories"), ("both", "both"),
)  # fmt: skip
KINDS = (NN, NC, CC, NB, BC, BB)
MAKERS: tuple[tuple[str, Maker, set[tuple[str, str]], float], ...] = (  # family, maker, kinds, weight
    ("normal", linear.normal, {NN}, 1.6),
    ("student", linear.student, {NN}, 1.0),
    ("copulas", scalar.copulas, {NN, NC}, 1.0),
    ("additive_noise", scalar.additive_noise, {NN, NC}, 1.6),
    ("multiplied_noise", scalar.multiplied_noise, {NN, NC}, 1.0),
    ("branches", scalar.branches, {NN, NC}, 0.9),
    ("parity_and_interactions", scalar.interactions, {NN, NC}, 0.8),
    ("hidden_mechanism", scalar.hidden_mechanisms, {NN, NC}, 0.8),
    ("derived", derived.angles, {NN}, 0.4),
    ("wide_signal", wide.score_of_many, {NN, NC}, 1.2),
    ("wide_signal", wide.classes_of_many, {NC}, 0.8),
    ("wide_signal", wide.factors_of_many, {NN}, 0.4),
    ("clusters", latent.clusters, {NN, NC, NB, BB}, 1.0),
    ("rings_and_tori", latent.rings_and_tori, {NN, NC, NB}, 0.6),
    ("rings_and_tori", latent.tori, {NN}, 0.4),
    ("shared_factors", latent.shared_factors, {NN, NC, NB, BC, BB}, 0.7),
    ("shared_factors", linear.linear_factors, {NN}, 0.5),
    ("discrete_channel", latent.discrete_channel, {CC}, 1.5),
    ("discrete_channel", latent.discrete_channel, {NC, NN}, 0.25),
    ("associations", latent.associations, {CC}, 1.0),
    ("hidden_classes", latent.hidden_classes, {CC}, 1.5),
    ("hidden_classes", latent.hidden_classes, {BC, BB}, 0.5),
    ("look_up", latent.look_up, {CC}, 1.0),
    ("look_up", latent.look_up, {NN, NC, NB, BC}, 0.8),
    ("labelled_clusters", latent.labelled_clusters, {NC, BC}, 2.5),
    ("label_of_numbers", scalar.label_of_numbers, {NC}, 1.5),
    ("label_of_numbers", scalar.label_of_numbers, {CC}, 0.5),
    ("label_of_numbers", linear.softmax_of_several, {NC}, 1.0),
    ("counts", scalar.counts, {NN, CC}, 0.5),
    ("counts", latent.tuned_counts, {NN, NC, NB}, 0.5),
    ("ordered_levels", scalar.ordered_levels, {NN, NC, CC}, 0.4),
    ("ordered_levels", latent.questionnaires, {NN, NC, CC, NB, BC}, 0.5),
    ("censored_times", scalar.censored_times, {NN, NB}, 0.8),
)
FAMILIES = (*dict.fromkeys(family for family, *_ in MAKERS), "nothing")


@dataclass(frozen=True, eq=False)
class Distribution:
    """A distribution of the prior with its mutual information.

    Types: numbers (in x and y); labels (numbers alone in one, categories alone in the other); categories (in x and y);
    mixed (anything else).
    """

    number: int
    families: tuple[str, ...]  # of its subsystems, sorted, distinct
    type: str
    description: str
    truth: float  # nats
    truth_error: float  # standard error; 0: closed form or quadrature
    columns: tuple[int, ...]  # of x, y (and z), numbers and categories together
    tied: bool  # whether rounding, censoring, limits, counts or levels act on some number column
    idle: tuple[int, ...]  # independent columns added to each
    _draw: Callable[[int, Generator], tuple[Sample, ...]]

    def sample(self, n: int, generator: Generator) -> tuple[Sample, ...]:
        """n independent rows of x and y, and of z where there is one."""
        return self._draw(require_int("n", n), generator)


def distribution(number: int) -> Distribution:
    """The distribution of a number; the same number and VERSION always give the same one."""
    number = require_int("number", number, 0)
    g, of_truth, of_pilot = (np.random.default_rng([VERSION, number, s]) for s in range(3))
    kind, empty, habits = _draw_outline(g)
    parts, truth, error = _draw_parts(kind, empty, habits, g, of_truth)
    if g.random() < 0.5:
        parts = [part.exchanged() for part in parts]
    return assembled(number, kind, parts, (truth, error), "xy", MAX_COLUMNS, habits, (g, of_pilot))


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
    """The distribution of independent subsystems of variables `names`, each of about `most` number columns."""
    g, of_pilot = generators
    variables = [VariableMaker(parts, place, g, of_pilot, most, habits) for place in range(len(names))]
    families = {part.family for part in parts}
    if any(variable.derivation for variable in variables):
        families.add("derived")

    def draw(n: int, generator: Generator) -> tuple[Sample, ...]:
        drawn = [part.draw(n, generator) for part in parts]
        samples = []
        for place, variable in enumerate(variables):
            own = [part[place] for part in drawn]
            samples.append(variable.finished(own, n, generator))
        return tuple(samples)

    text = " + ".join(f"[{part.family}: {part.description}]" for part in parts)
    text += "".join(
        f"; {name}: {variable.description}" for name, variable in zip(names, variables) if variable.description
    )
    columns = tuple(variable.columns for variable in variables)
    idle = tuple(variable.idle for variable in variables)
    tied = any(variable.tied.any() for variable in variables)
    return Distribution(number, tuple(sorted(families)), kind, text, *truth, columns, tied, idle, draw)


def type_of(number: int) -> str:
    """The type of a number's distribution, without drawing it."""
    return _draw_outline(np.random.default_rng([VERSION, require_int("number", number, 0), 0]))[0]


def first_columns(number: int) -> int:
    """Number columns of the subsystems drawn first for a number; quick, as no truth is computed."""
    g = np.random.default_rng([VERSION, require_int("number", number, 0), 0])
    kind, _, habits = _draw_outline(g)
    drawn = [part.draw(2, np.random.default_rng(0)) for part in _draw_composition(kind, habits, g)[0]]
    return sum(variable.numbers.shape[1] for pair in drawn for variable in pair)


# --- subsystems ----------------------------------------------------------------------------------------------------
def _draw_outline(g: Generator) -> tuple[str, bool, Habits]:
    """The type, whether x and y are independent, and the habits of the distribution."""
    kind = str(g.choice(TYPES, p=list(TYPE_SHARES.values())))
    return kind, bool(g.random() < NOTHING_SHARE), draw_habits(g)


def draw_habits(g: Generator) -> Habits:
    """PLAIN or VARIED."""
    return PLAIN if g.random() < PLAIN_SHARE else VARIED


def draw_nats(g: Generator, habits: Habits) -> float:
    """Target information: faint, weak, medium or strong; ties, noise and limits of a family may lower it."""
    if g.random() < FAINT_SHARE:
        return log_uniform(g, 0.15, 30) / log_uniform(g, 100, 5000)  # 2 n I of .3 to 60 for n rows
    chance = g.random()
    if chance < WEAK_BELOW:
        return log_uniform(g, 0.01, 0.2)
    medium = chance < STRONG_ABOVE
    return habits.information * float(g.uniform(0.05, 2.8) if medium else g.uniform(1.5, 5.0))


def draw_kinds(kind: str, count: int, g: Generator) -> list[tuple[str, str]]:
    """Kinds of x and y of every subsystem that give the type."""
    if kind != "mixed":
        return [{"numbers": NN, "labels": NC, "categories": CC}[kind]] * count
    while True:
        kinds = [list(KINDS[g.integers(len(KINDS))]) for _ in range(count)]
        drawn = [tuple(k[::-1] if g.random() < 0.5 else k) for k in kinds]
        if any("both" in kind or len(set(kind)) == 2 for kind in zip(*drawn)):
            return drawn


def _draw_parts(
    kind: str, empty: bool, habits: Habits, g: Generator, of_truth: Generator
) -> tuple[list[Part], float, float]:
    """Subsystems of a type with their information; redrawn where it is too large or too inexact."""
    while True:
        parts, draw_again = _draw_composition(kind, habits, g)
        if empty:
            others = draw_again()
            return [independent(*pair) for pair in zip(parts, others)], 0.0, 0.0
        truths = [part.truth(of_truth) for part in parts]
        truth, error = sum(t for t, _ in truths), float(np.sqrt(sum(e**2 for _, e in truths)))
        if is_exact(truth, error):
            return parts, float(truth), error


def is_exact(truth: float, error: float) -> bool:
    """Whether information is above 0, not too large, and known well enough; nats."""
    absolute, share, relative = MAX_TRUTH_ERROR
    return 0 < truth <= MAX_NATS and error <= max(min(absolute, share * truth), relative * truth)


def _draw_composition(kind: str, habits: Habits, g: Generator) -> tuple[list[Part], Callable[[], list[Part]]]:
    """Subsystems of a type, and a function that draws others of the same kinds and target information."""
    count = int(g.choice((1, 2, 3, 4), p=habits.parts[kind]))
    nats = draw_nats(g, habits) * g.dirichlet(np.full(count, 1.5))
    kinds = draw_kinds(kind, count, g)
    tied = g.random() < 0.18  # numbers are rounded, censored or limited

    def draw() -> list[Part]:
        return [draw_part(pair, float(aim), count, tied, habits, g) for pair, aim in zip(kinds, nats)]

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
    """A subsystem of some kinds of x and y, of at most about `widest` number columns where it is one of `count`."""
    columns = tuple(min(widest // count, log_uniform_int(g, 1, widest)) for _ in range(2))
    usable = [entry for entry in MAKERS if kinds in entry[2] or kinds[::-1] in entry[2]]
    weights = np.array([entry[3] for entry in usable])
    if max(columns) > WIDE_COLUMNS:
        weights = weights * [WIDE_WEIGHTS.get(entry[0], 1.0) for entry in usable]
    weights = weights * [habits.weights.get(entry[0], 1.0) for entry in usable]
    _, maker, known, _ = usable[g.choice(len(usable), p=weights / weights.sum())]
    flip = kinds not in known or (kinds[::-1] in known and g.random() < 0.5)
    ordered = kinds[::-1] if flip else kinds
    tied_variables = ((True, True), (True, False), (False, True))[g.choice(3, p=[0.5, 0.2, 0.3])]
    part = maker(Request(ordered[0], ordered[1], nats, columns, tied_variables if tied else (False, False)), g)
    return part.exchanged() if flip else part


def independent(of_x: Part, of_y: Part) -> Part:
    """x of one subsystem with y of another: independent."""

    def draw(n: int, g: Generator) -> tuple[Sample, Sample]:
        return of_x.draw(n, g)[0], of_y.draw(n, g)[1]

    text = f"x of {of_x.family} ({of_x.description}) beside y of {of_y.family} ({of_y.description})"
    return Part("nothing", text, draw, lambda _: (0.0, 0.0), (of_x.tied[0], of_y.tied[1]))


# --- idle columns --------------------------------------------------------------------------------------------------
def draw_idle_numbers(count: int, tied: bool, g: Generator) -> tuple[Callable[[int, Generator], Array], bool]:
    """Idle number columns of a few shapes, sometimes with common factors, sometimes rounded or censored."""
    if count == 1 or g.random() < 0.4:
        noises = [draw_noise(g) for _ in range(min(count, 12))]
        seen = [draw_observation(g, noise.sample(500, g)) if tied else None for noise in noises]

        def draw(n: int, g: Generator) -> Array:
            columns = np.empty((n, count))
            for i, noise in enumerate(noises):
                block = columns[:, i :: len(noises)]
                values = noise.sample(block.size, g).reshape(block.shape)
                columns[:, i :: len(noises)] = seen[i].apply(values) if seen[i] is not None else values
            return columns

        return draw, tied
    mix = maps.draw_mixing(count, g)
    dof = log_uniform(g, 1.0, 8.0) if g.random() < 0.2 else np.inf

    def mixed(n: int, g: Generator) -> Array:
        scale = 1.0 if np.isinf(dof) else np.sqrt(g.chisquare(dof, size=(n, 1)) / dof)
        return mix(g.normal(size=(n, count))) / scale

    return mixed, False


def draw_idle_categories(count: int, g: Generator) -> Callable[[int, Generator], Sample]:
    margins = [np.cumsum(latent.draw_margin(g, int(g.integers(2, 9))))[:-1] for _ in range(count)]
    return lambda n, g: categories(np.stack([np.searchsorted(margin, g.random(n)) for margin in margins], axis=1))


# --- x and y ---------------------------------------------------------------------------------------------------------
class VariableMaker:
    """A variable of a distribution: columns of the subsystems and idle ones, under maps, scales and a permutation."""

    def __init__(
        self, parts: Sequence[Part], place: int, g: Generator, of_pilot: Generator, most: int, habits: Habits
    ) -> None:
        self.draw_idle: list[Callable[[int, Generator], Sample]] = []
        self.idle, words = 0, []
        pilots = [part.draw(PILOT_ROWS, of_pilot)[place] for part in parts]
        self.tied = np.repeat([part.tied[place] for part in parts], [pilot.numbers.shape[1] for pilot in pilots])
        labels = sum(pilot.labels.shape[1] for pilot in pilots)
        if g.random() < habits.idle:
            if len(self.tied):
                self._add_idle_numbers(g, most)
            if labels and g.random() < 0.15:
                idle_labels = log_uniform_int(g, 1, 12)
                self.draw_idle.append(draw_idle_categories(idle_labels, g))
                self.idle, labels = self.idle + idle_labels, labels + idle_labels
        if self.idle:
            words.append(f"{self.idle} idle columns")
        pilot = joined(pilots + [draw_idle(PILOT_ROWS, of_pilot) for draw_idle in self.draw_idle])
        self.block, self.block_map, self.derivation = np.zeros(0, int), None, None
        self._draw_maps(pilot.numbers, habits, g, words)
        self.columns = len(self.scale) + pilot.labels.shape[1]
        self.order, self.label_order = g.permutation(len(self.scale)), g.permutation(labels)
        self.codes = [g.permutation(int(column.max()) + 400) if len(column) else None for column in pilot.labels.T]
        self.description = ", ".join(words)

    def _add_idle_numbers(self, g: Generator, most: int) -> None:
        wanted = log_uniform_int(g, 1, most) - len(self.tied)
        if wanted < 1:
            return
        draw, seen = draw_idle_numbers(wanted, bool(self.tied.any() and g.random() < 0.6), g)
        self.draw_idle.append(lambda n, g: numbers(draw(n, g)))
        self.idle += wanted
        self.tied = np.concatenate([self.tied, np.full(wanted, seen)])

    def _draw_maps(self, pilot: Array, habits: Habits, g: Generator, words: list[str]) -> None:
        size = pilot.shape[1]
        middle, wide = np.median(pilot, axis=0), pilot.std(axis=0)
        spread = np.median(np.abs(pilot - middle), axis=0) * 1.48
        spread = np.where(spread > 0.05 * wide, spread, np.where(wide > 0, wide, 1.0))
        self.middle, self.spread = np.where(self.tied, 0.0, middle), np.where(self.tied, 1.0, spread)
        free = np.flatnonzero(~self.tied)
        values = (pilot - self.middle) / self.spread
        if len(free) > 1 and g.random() < habits.mapped:
            share = 1.0 if g.random() < 0.6 else g.uniform(0.3, 1)
            self.block = free[g.permutation(len(free))[: max(2, int(share * len(free)))]]
            name, self.block_map = maps.draw_block_map(len(self.block), habits.maps, g)
            values[:, self.block] = self.block_map(values[:, self.block])
            words.append(f"{name} of {len(self.block)} columns")
        self.monotone: list[tuple[NDArray, maps.Map]] = []
        chance = g.choice([0.0, 0.3, 1.0], p=[0.5, 0.2, 0.3])
        bent = g.permutation(free[g.random(len(free)) < chance])
        for group in (*(bent[i::MAX_MONOTONE_MAPS] for i in range(MAX_MONOTONE_MAPS)), np.flatnonzero(self.tied)[:1]):
            if len(group) and (not self.tied[group[0]] or g.random() < 0.3):
                kind, function = maps.draw_monotone(g, float(np.abs(values[:, group]).max()))
                self.monotone.append((group, function))
                words.append(kind)
                values[:, group] = function(values[:, group])
        tied = self.tied
        if size and g.random() < DERIVED_SHARE:
            name, self.derivation = derived.draw_derivation(size, g)
            words.append(name)
            size = self.derivation(values).shape[1]
            tied = np.zeros(size, bool)
        alike = g.random() < 0.4
        self.scale = np.exp(g.normal(0, 0.0 if alike else 1.5, size))
        self.offset = self.scale * g.normal(0, 0.0 if alike else 3.0, size)
        plain = tied & (g.random() < 0.6)
        self.scale, self.offset = np.where(plain, 1.0, self.scale), np.where(plain, 0.0, self.offset)

    def finished(self, drawn: list[Sample], n: int, g: Generator) -> Sample:
        """The variable's columns from the draws of the subsystems."""
        raw = joined(drawn + [draw_idle(n, g) for draw_idle in self.draw_idle])
        values = (raw.numbers - self.middle) / self.spread
        if self.block_map is not None:
            values[:, self.block] = self.block_map(values[:, self.block])
        for group, function in self.monotone:
            values[:, group] = function(values[:, group])
        if self.derivation is not None:
            values = self.derivation(values)
        values = values * self.scale + self.offset
        codes = [order[column] for order, column in zip(self.codes, raw.labels.T)]
        labels = np.stack(codes, axis=1) if codes else raw.labels
        return Sample(np.ascontiguousarray(values[:, self.order]), np.ascontiguousarray(labels[:, self.label_order]))
