"""Triples x, y, z with known I(x; y | z), for the reading of what x and y share given z.

A pair of known information that z shifts, scales or turns keeps it, as given z these maps are invertible; a pair
without information thus has a common cause and a truth of 0. Where the noise or the slope of y depends on z,
information is a mean over z. Linear systems are in closed form; the exact log ratio of three states with emissions is
summed or sampled. Independent subsystems add.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from infoscope.checks import require_int
from infoscope.data.information import bisected, student_information
from infoscope.data.prior import composition, latent, scalar
from infoscope.data.prior.composition import NC, NN, TYPE_SHARES, TYPES, Distribution
from infoscope.data.prior.conditions import MAX_CONDITIONS, SCALES, SHAPES, Conditions, draw_move
from infoscope.data.prior.draws import Array, Generator, log_uniform, log_uniform_int, pick
from infoscope.data.prior.noise import draw_function, draw_noise, plain_predictor
from infoscope.data.prior.parts import Part, Sample, joined, numbers
from infoscope.data.prior.quadrature import (
    PILOT_ROWS,
    ScoredPair,
    calibrated,
    draw_levels,
    draw_observation,
    information,
    observed,
)

VERSION = 2
NOTHING_SHARE = 1 / 3  # distributions without information given z
EXTRA_SHARE = 0.3  # distributions in which x or y share a further subsystem with z
MAX_COLUMNS, MAX_PAIR_COLUMNS = 24, 8  # number columns of each variable, and of one subsystem
SMALL_SHARE = 0.6  # distributions of few columns, as most real questions have
SMALL_COLUMNS, SMALL_CONDITIONS, SMALL_EXTRA_SHARE = 3, 5, 0.1
LEAST_SLOPE = 0.05  # of y in x, in standard deviations of the condition that it depends on
MOST_SCORE = 3.0  # at which the condition that changes noise or slope is clipped
NODE_ERROR = 0.001  # share of a mean over nodes

Triples = tuple[Sample, Sample, Sample]


@dataclass(frozen=True)
class Wanted:
    """A requested subsystem: kinds of x and y, nats, whether x and y share nothing given z, and whether it is small."""

    kinds: tuple[str, str]
    nats: float
    empty: bool
    small: bool = False

    @property
    def conditions(self) -> int:
        """The most columns of z."""
        return SMALL_CONDITIONS if self.small else MAX_CONDITIONS


def conditional_distribution(number: int) -> Distribution:
    """The triple of a number; the same number and VERSION always give the same one. Its truth is I(x; y | z)."""
    number = require_int("number", number, 0)
    g, of_truth, of_pilot = (np.random.default_rng([VERSION, number, stream, 1]) for stream in range(3))
    kind = str(g.choice(TYPES, p=list(TYPE_SHARES.values())))
    empty = bool(g.random() < NOTHING_SHARE)
    small = bool(g.random() < SMALL_SHARE)
    most = SMALL_COLUMNS if small else MAX_COLUMNS
    while True:
        kinds = composition.draw_kinds(kind, 1, g)[0]
        parts = _draw_parts(Wanted(kinds, composition.draw_nats(g), empty, small), g)
        truth, error = (0.0, 0.0) if empty else parts[0].truth(of_truth)
        if empty or composition.is_exact(truth, error):
            break
    if g.random() < 0.5:
        parts = [part.exchanged() for part in parts]
    return composition.assembled(number, kind, parts, (truth, error), "xyz", most, (g, of_pilot))


def _draw_parts(wanted: Wanted, g: Generator) -> list[Part]:
    """The subsystem with the information, and sometimes others that x or y share with z alone."""
    usable = [entry for entry in MAKERS if not entry[2] or wanted.kinds in entry[2]]
    weights = np.array([entry[3] for entry in usable])
    family, maker, _, _ = usable[g.choice(len(usable), p=weights / weights.sum())]
    parts = [maker(wanted, family, g)]
    extra_share = SMALL_EXTRA_SHARE if wanted.small else EXTRA_SHARE
    if family == "shared" or g.random() < extra_share:
        parts += [_with_z_alone(wanted, place, g) for place in (0, 1)]
    return parts


def _pair(kinds: tuple[str, str], nats: float, small: bool, g: Generator) -> Part:
    """A pair of known information, of few columns; a small one mostly of one each."""
    most = 1 if small else MAX_PAIR_COLUMNS
    while True:
        part = composition.draw_part(kinds, nats, 1, False, g, most)
        if part.family != "wide_signal":
            return part


def _pair_wanted(wanted: Wanted, g: Generator) -> Part:
    """A pair with the nats wanted, or x of one pair with y of another."""
    part = _pair(wanted.kinds, wanted.nats, wanted.small, g)
    if not wanted.empty:
        return part
    return composition.independent(part, _pair(wanted.kinds, wanted.nats, wanted.small, g))


def _with_z_alone(wanted: Wanted, place: int, g: Generator) -> Part:
    """Columns of x (or y) that depend on columns of z; in some z holds these too, and the other variable depends."""
    copied = g.random() < 0.3
    of_other = wanted.kinds[1 - place] if copied else pick(g, ("numbers", "categories"))
    part = _pair((wanted.kinds[place], of_other), g.uniform(0.1, 2.0), wanted.small, g)

    def draw(n: int, g: Generator) -> Triples:
        own, other = part.draw(n, g)
        nothing = numbers(np.empty((n, 0)))
        x, y, z = (own, other, own) if copied else (own, nothing, other)
        return (x, y, z) if place == 0 else (y, x, z)

    return Part("shared", f"with z: {part.description}", draw, lambda _: (0.0, 0.0), (False,) * 3)


def shared(wanted: Wanted, family: str, g: Generator) -> Part:
    """A pair beside independent columns of z; the subsystem comes with others that x or y share with z."""
    pair, given = _pair_wanted(wanted, g), Conditions(g, wanted.conditions)

    def draw(n: int, g: Generator) -> Triples:
        return *pair.draw(n, g), given.draw(n, g)[0]

    return Part(family, f"{pair.description}, beside {given.name}", draw, pair.truth, (*pair.tied, given.tied))


def common_cause(wanted: Wanted, family: str, g: Generator) -> Part:
    """A pair whose x and y are moved by functions of z of the shape that the family is named by.

    Without information, categories are mostly levels of moved numbers, and numbers sometimes rounded or censored.
    """
    seen_as = list(wanted.kinds)
    if wanted.empty:
        kinds = ["numbers" if kind == "categories" and g.random() < 0.7 else kind for kind in seen_as]
        wanted = replace(wanted, kinds=(kinds[0], kinds[1]))
    pair, given = _pair_wanted(wanted, g), Conditions(g, wanted.conditions)
    pilots = pair.draw(PILOT_ROWS, g)
    moves = [draw_move(family, given, pilot, g) for pilot in pilots]
    scores = given.draw(PILOT_ROWS, g)[1]
    seen = []
    for place, kind in enumerate(wanted.kinds):
        leveled = kind != seen_as[place]
        moved = moves[place](pilots[place], scores).numbers
        if leveled:
            seen.append([draw_levels(g, column, int(g.integers(2, 6))) for column in moved.T])
        elif wanted.empty and kind == "numbers" and g.random() < 0.2:
            seen.append([draw_observation(g, column) for column in moved.T])
        else:
            seen.append([])

    def draw(n: int, g: Generator) -> Triples:
        z, scores = given.draw(n, g)
        x, y = (
            _seen(move(sample, scores), columns, kind)
            for move, sample, columns, kind in zip(moves, pair.draw(n, g), seen, seen_as)
        )
        return x, y, z

    text = f"{pair.description}, moved by {given.name}"
    ties = [bool(columns) and kind == "numbers" for columns, kind in zip(seen, seen_as)]
    return Part(family, text, draw, pair.truth, (*ties, given.tied))


def _seen(sample: Sample, seen: list, kind: str) -> Sample:
    """Number columns as they are observed, where there are observations."""
    if not seen:
        return sample
    return joined([observed(column, each, kind) for column, each in zip(sample.numbers.T, seen)])


def changed_noise(wanted: Wanted, family: str, g: Generator) -> Part:
    """y is a function of x plus noise whose scale depends on one condition."""
    rate = g.uniform(0.3, 1.5)

    def strength_at(z: Array) -> Array:
        return np.exp(rate * np.clip(z, -MOST_SCORE, MOST_SCORE))

    return _changed(wanted, family, strength_at, clipped_normal(-MOST_SCORE, MOST_SCORE, 10), g)


def changed_slope(wanted: Wanted, family: str, g: Generator) -> Part:
    """y is one condition times a function of x, plus noise: x and y may share little without z."""

    def strength_at(z: Array) -> Array:
        return np.clip(np.abs(z), LEAST_SLOPE, MOST_SCORE)

    nodes, weights = clipped_normal(LEAST_SLOPE, MOST_SCORE, 8)
    of_size = 2 * weights  # of the size of a normal value
    of_size[0] -= 1
    return _changed(wanted, family, strength_at, (nodes, of_size), g)


def clipped_normal(low: float, high: float, count: int) -> tuple[Array, Array]:
    """Nodes and weights [count + 2] of a normal variable clipped at two values (Gauss-Legendre between them)."""
    places, weights = np.polynomial.legendre.leggauss(count)
    nodes = low + (high - low) * (places + 1) / 2
    inside = weights * (high - low) / 2 * np.exp(-(nodes**2) / 2) / np.sqrt(2 * np.pi)
    return np.r_[low, nodes, high], np.r_[special.ndtr(low), inside, special.ndtr(-high)]


def _changed(
    wanted: Wanted, family: str, strength_at: Callable[[Array], Array], nodes: tuple[Array, Array], g: Generator
) -> Part:
    """y = f(x) + noise / strength, which depends on a normal condition, or levels of y; others may move x and y.

    Information is a mean over nodes of the condition. For a slope, y is multiplied by strength and sign of the
    condition, which is invertible given z.
    """
    slope = family == "changed_slope"
    noise, predictor = draw_noise(g), plain_predictor(g)
    name, function = draw_function(g)
    build = scalar.about(predictor, noise, scalar.standardised_on(predictor, function))
    score = predictor.sample(PILOT_ROWS, g)[1]
    strength = calibrated(build, score, wanted.nats, scalar.NOISE_STRENGTHS, g)
    given = Conditions(g, wanted.conditions)

    def pair_at(z: Array) -> ScoredPair:
        return build(strength * strength_at(z))

    def multiplied(y: Array, z: Array) -> Array:
        return y * np.sign(z) * strength_at(z) if slope else y

    of_pilot = g.normal(size=PILOT_ROWS)
    pilot = pair_at(of_pilot).draw(score, g)
    leveled = not slope and (wanted.kinds[1] == "categories" or g.random() < 0.15)
    seen = draw_levels(g, pilot) if leveled else None
    columns = score, multiplied(pilot, of_pilot)
    moves = [draw_move(pick(g, SHAPES), given, numbers(column), g) for column in columns]

    def draw(n: int, g: Generator) -> Triples:
        x, z = predictor.sample(n, g)[1], g.normal(size=n)
        y = multiplied(pair_at(z).draw(x, g), z)
        others, scores = given.draw(n, g)
        first = moves[0](numbers(x), scores)
        second = moves[1](numbers(y), scores) if seen is None else observed(y, seen, wanted.kinds[1])
        return first, second, joined([numbers(z), others])

    def truth(g: Generator) -> tuple[float, float]:
        values = [information(pair_at(node), None, seen, pilot) for node in nodes[0]]
        nats = float(nodes[1] @ values)
        return nats, NODE_ERROR * nats

    text = f"{name} of {predictor.name}, {noise.name} noise whose strength depends on z, beside {given.name}"
    return Part(family, text, draw, truth, (False, seen is not None and wanted.kinds[1] == "numbers", given.tied))


def linear_system(wanted: Wanted, family: str, g: Generator) -> Part:
    """Normal or Student columns of a random linear system in which each may depend on those before it.

    In a random order of columns z has causes, effects and colliders of x and y; without information z comes first.
    """
    most_columns = (1, 1, SMALL_CONDITIONS) if wanted.small else (6, 6, MAX_CONDITIONS)
    sizes = [log_uniform_int(g, 1, most) for most in most_columns]
    place = np.repeat([0, 1, 2], sizes)
    place = place[np.argsort(place != 2, kind="stable")] if wanted.empty else g.permutation(place)
    sides = [np.flatnonzero(place == which) for which in range(3)]
    square = (len(place),) * 2
    links = np.tril(g.normal(size=square), -1) * (g.random(square) < g.uniform(0.15, 0.7))
    across = place[:, None] + place == 1  # between x and y
    dof = log_uniform(g, 2.0, 20.0) if not wanted.empty and g.random() < 0.3 else np.inf

    def mixing(strength: float) -> Array:
        scaled = np.where(across, strength * links, links) / np.sqrt(1 + (links != 0).sum(axis=1))[:, None]
        return np.linalg.inv(np.eye(len(place)) - scaled)

    def nats(strength: float) -> float:
        x, y, z = sides
        mixed = mixing(strength)
        blocks = [mixed[np.concatenate(rows)] for rows in ((x, z), (y, z), (z,), (x, y, z))]
        logs = [np.linalg.slogdet(block @ block.T)[1] for block in blocks]
        return float(logs[0] + logs[1] - logs[2] - logs[3]) / 2 + common

    p, q, r = sizes
    common = student_information(p, q + r, dof) - student_information(p, r, dof) if np.isfinite(dof) else 0.0
    log_strength = bisected(lambda log: nats(np.exp(log)) < wanted.nats, -8.0, 3.0, 30)[0]
    strength = 0.0 if wanted.empty else float(np.exp(log_strength))
    mixed = mixing(strength)

    def draw(n: int, g: Generator) -> Triples:
        values = g.normal(size=(n, len(place))) @ mixed.T
        if np.isfinite(dof):
            values /= np.sqrt(g.chisquare(dof, size=(n, 1)) / dof)
        x, y, z = (numbers(values[:, side]) for side in sides)
        return x, y, z

    text = f"{' + '.join(map(str, sizes))} columns, t({dof:.3g})"
    return Part(family, text, draw, lambda _: (nats(strength), 0.0), (False,) * 3)


def three_states(wanted: Wanted, family: str, g: Generator) -> Part:
    """A table P(a, b, c) of states that x, y and z show as labels, numbers about centres, or both.

    Without information a and b are independent given c, which z shows exactly.
    """
    sizes = tuple(int(size) for size in g.integers(2, 7, 3))
    a, b = (g.dirichlet(np.full(size, 0.5), size=sizes[2]).T for size in sizes[:2])
    chain = a[:, None] * b * g.dirichlet(np.full(sizes[2], 4.0))
    full = g.dirichlet(np.full(np.prod(sizes), 0.3)).reshape(sizes)
    share, _ = bisected(lambda mix: table_nats((1 - mix) * chain + mix * full) < 1.3 * wanted.nats, 0.0, 1.0, 30)
    share = 0.0 if wanted.empty else share
    table = (1 - share) * chain + share * full
    exact = wanted.empty or g.random() < 0.6
    emissions = []
    for size, kind in zip(sizes, (*wanted.kinds, pick(g, ("numbers", "categories")))):
        centres = g.normal(size=(size, 1 if wanted.small else log_uniform_int(g, 1, 5)))
        emissions.append(latent.draw_emission(g, kind, centres, wanted.nats + 1.0, False))
    if exact:
        emissions[2] = latent.Labels((np.eye(sizes[2]),))
    cells = latent.cell_sampler(table.reshape(sizes[0], -1))

    def draw(n: int, g: Generator) -> Triples:
        first, rest = cells(n, g)
        states = (first, *np.divmod(rest, sizes[2]))
        x, y, z = (emission.sample(state, g) for emission, state in zip(emissions, states))
        return x, y, z

    def truth(g: Generator) -> tuple[float, float]:
        shown = [emission.cells for emission in emissions if isinstance(emission, latent.Labels)]
        if len(shown) == 3:
            return table_nats(np.einsum("abc,ai,bj,ck->ijk", table, *shown, optimize=True)), 0.0

        def log_ratios(g: Generator) -> Array:
            samples = draw(latent.BATCH, g)
            return triple_log_ratios(table, [e.log_density(sample) for e, sample in zip(emissions, samples)])

        return latent.monte_carlo(log_ratios, g)

    text = " / ".join(emission.name for emission in emissions)
    return Part(family, text, draw, truth, (False,) * 3)


def table_nats(table: Array) -> float:
    """I(a; b | c) of a table of probabilities [a, b, c], nats."""
    sums = [table, table.sum(axis=(0, 1)), table.sum(axis=0), table.sum(axis=1)]
    both, margin, first, second = (special.xlogy(part, part).sum() for part in sums)
    return float(both + margin - first - second)


def triple_log_ratios(table: Array, log_densities: list[Array]) -> Array:
    """log p(x, y | z) / p(x | z) p(y | z) [n] from log densities [n, states] of x, y and z by state."""
    x, y, z = (np.exp(log - log.max(axis=1, keepdims=True)) for log in log_densities)
    joint = np.einsum("abc,na,nb,nc->n", table, x, y, z, optimize=True)
    with_x = ((x @ table.sum(axis=1)) * z).sum(axis=1)
    with_y = ((y @ table.sum(axis=0)) * z).sum(axis=1)
    ratio, product = joint * (z @ table.sum(axis=(0, 1))), with_x * with_y
    return np.log(np.maximum(ratio, 1e-300)) - np.log(np.maximum(product, 1e-300))


Maker = Callable[[Wanted, str, Generator], Part]
MAKERS: tuple[tuple[str, Maker, tuple, float], ...] = (  # family, maker, kinds of x and y (none: any), weight
    *((shape, common_cause, (), 1.0) for shape in (*SHAPES, SCALES)),
    ("shared", shared, (), 1.0),
    ("changed_noise", changed_noise, (NN, NC), 1.0),
    ("changed_slope", changed_slope, (NN,), 1.0),
    ("linear_system", linear_system, (NN,), 1.5),
    ("three_states", three_states, (), 1.5),
)
FAMILIES = (*dict.fromkeys(family for family, *_ in MAKERS), "derived")
