"""Triples x, y, z with known I(x; y | z), for readings of conditional information.

z shifts, scales or turns a pair of known information. Given z these maps are
invertible, so the pair keeps its information; a pair without information has a common
cause and a truth of 0. If the noise or the slope of y depends on z, information is a
mean over z. Linear systems have a closed form. The exact log ratio of three states with
emissions is summed or sampled. The information of independent subsystems adds up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from infoscope.data.information import bisected, student_information
from infoscope.data.prior import composition, scalar
from infoscope.data.prior.composition import (
    KINDS,
    NN,
    X_NUMBERS,
    Distribution,
    Family,
    Kinds,
)
from infoscope.data.prior.conditions import (
    MAX_CONDITIONS,
    SCALES,
    SHAPES,
    Conditions,
    draw_move,
)
from infoscope.data.prior.draws import (
    Array,
    Generator,
    Map,
    log_uniform,
    log_uniform_int,
    pick,
)
from infoscope.data.prior.emissions import (
    BATCH,
    cell_sampler,
    draw_emission,
    exact_labels,
    log_ratio,
    monte_carlo,
    relative_likelihoods,
)
from infoscope.data.prior.noise import draw_function, draw_noise, plain_predictor
from infoscope.data.prior.parts import Part, Sample, exactly, joined, numbers
from infoscope.data.prior.quadrature import (
    PILOT_ROWS,
    Observation,
    calibrated,
    draw_levels,
    draw_observation,
    information,
    observed,
)

VERSION = 5
NOTHING_SHARE = 1 / 3  # distributions without information given z
EXTRA_SHARE = 0.3  # distributions in which x or y share a further subsystem with z
MAX_COLUMNS = 24  # number columns of a variable
MAX_PAIR_COLUMNS = 8  # number columns of a variable in one subsystem
SMALL_SHARE = 0.6  # distributions of few columns, as most real questions have
SMALL_COLUMNS = 3  # number columns of a variable of a small distribution
SMALL_CONDITIONS = 5  # columns of z in a subsystem of a small distribution
SMALL_EXTRA_SHARE = 0.1  # as EXTRA_SHARE, of small distributions
# of y on x; the slope is the absolute value of a condition
LEAST_SLOPE = 0.05
MOST_SCORE = 3.0  # at which the condition that changes noise or slope is clipped
NODE_ERROR = 0.001  # share of a mean over nodes

UNTIED = (False, False, False)  # x, y and z
ANY = {*KINDS, *(kinds[::-1] for kinds in KINDS)}  # of x and y


@dataclass(frozen=True)
class Wanted:
    """A requested subsystem.

    kinds   of x and y
    nats    I(x; y | z)
    empty   whether x and y share nothing given z
    small   whether it has few columns
    habits  of the distribution
    """

    kinds: Kinds
    nats: float
    empty: bool
    small: bool = False
    habits: composition.Habits = composition.VARIED

    @property
    def conditions(self) -> int:
        """The most columns of z."""
        return SMALL_CONDITIONS if self.small else MAX_CONDITIONS


def conditional_distribution(number: int) -> Distribution:
    """The triple x, y, z of a number; the number and VERSION determine it.

    Parameters
    ----------
    number : int
        A whole number from 0.

    Returns
    -------
    Distribution
        x, y and z; its truth is I(x; y | z), nats.

    Raises
    ------
    OutOfRange
        If the number is negative or not whole.

    Examples
    --------
    >>> example = conditional_distribution(2)
    >>> x, y, z = example.sample(100, np.random.default_rng(0))
    >>> len(z.numbers)
    100
    """
    g, of_truth, of_pilot = composition.streams(number, VERSION, 1)
    kind = composition.draw_type(g)
    empty = g.random() < NOTHING_SHARE
    small = g.random() < SMALL_SHARE
    most = SMALL_COLUMNS if small else MAX_COLUMNS
    habits = composition.draw_habits(g)
    truth = (0.0, 0.0)
    while True:
        (kinds,) = composition.draw_kinds(kind, 1, g)
        nats = composition.draw_nats(g, habits)
        wanted = Wanted(kinds, nats, empty, small, habits)
        parts = _draw_parts(wanted, g)
        if empty:
            break
        truth = parts[0].truth(of_truth)
        if composition.is_exact(*truth):
            break
    if g.random() < 0.5:
        parts = [part.exchanged() for part in parts]
    return composition.assembled(
        number, kind, parts, truth, "xyz", most, habits, (g, of_pilot)
    )


def _draw_parts(wanted: Wanted, g: Generator) -> list[Part]:
    """The subsystem with the information, and sometimes two more.

    The other two depend on z: one in x alone, one in y alone.
    """
    usable = []
    for family in MAKERS:
        if wanted.kinds in family.kinds:
            usable.append(family)
    weights = [family.weight for family in usable]
    family = usable[composition.draw_index(weights, g)]
    parts = [family.maker(wanted, family.name, g)]
    extra_share = SMALL_EXTRA_SHARE if wanted.small else EXTRA_SHARE
    if family.name == "shared" or g.random() < extra_share:
        parts.append(_with_z_alone(wanted, 0, g))
        parts.append(_with_z_alone(wanted, 1, g))
    return parts


def _pair(wanted: Wanted, g: Generator) -> Part:
    """A pair of known information and few columns; if small, mostly one column each."""
    most = 1 if wanted.small else MAX_PAIR_COLUMNS
    while True:
        part = composition.draw_part(
            wanted.kinds, wanted.nats, 1, False, wanted.habits, g, most
        )
        if part.family != "wide_signal":
            return part


def _pair_wanted(wanted: Wanted, g: Generator) -> Part:
    """A pair with the nats wanted, or x of one pair with y of another."""
    part = _pair(wanted, g)
    if not wanted.empty:
        return part
    other = _pair(wanted, g)
    return composition.independent(part, other)


def _with_z_alone(wanted: Wanted, place: int, g: Generator) -> Part:
    """Columns of one variable (place 0: x, 1: y) that depend on columns of z.

    Sometimes z is a copy of these columns, and the other variable depends on them.
    """
    copied = g.random() < 0.3
    kind = wanted.kinds[place]
    partner_kind = wanted.kinds[1 - place]
    if not copied:
        partner_kind = pick(g, ("numbers", "categories"))
    nats = g.uniform(0.1, 2.0)
    wanted = replace(wanted, kinds=(kind, partner_kind), nats=nats)
    part = _pair(wanted, g)

    def draw(n, g):
        variable, partner = part.draw(n, g)
        other = partner
        z = variable
        if not copied:
            other = numbers(np.empty((n, 0)))
            z = partner
        if place == 0:
            return variable, other, z
        return other, variable, z

    return Part("shared", f"with z: {part.description}", draw, exactly(0.0), UNTIED)


def shared(wanted: Wanted, family: str, g: Generator) -> Part:
    """A pair and independent columns of z; other subsystems depend on z."""
    pair = _pair_wanted(wanted, g)
    conditions = Conditions(g, wanted.conditions)

    def draw(n, g):
        x, y = pair.draw(n, g)
        z, _ = conditions.draw(n, g)
        return x, y, z

    text = f"{pair.description}, beside {conditions.name}"
    return Part(family, text, draw, pair.truth, (*pair.tied, conditions.tied))


def common_cause(wanted: Wanted, family: str, g: Generator) -> Part:
    """A pair moved by functions of z; the family is the shape of the functions.

    Without information, categories are mostly levels of moved numbers, and numbers are
    sometimes rounded or censored.
    """
    kinds = wanted.kinds
    if wanted.empty:
        moved_kinds = [_kind_before_levels(kind, g) for kind in kinds]
        wanted = replace(wanted, kinds=tuple(moved_kinds))
    pair = _pair_wanted(wanted, g)
    conditions = Conditions(g, wanted.conditions)
    pilots = pair.draw(PILOT_ROWS, g)
    moves = [draw_move(family, conditions, pilot, g) for pilot in pilots]
    _, scores = conditions.draw(PILOT_ROWS, g)
    observations = []
    ties = []
    for place, kind in enumerate(kinds):
        moved = moves[place](pilots[place], scores).numbers
        of_columns = []
        if wanted.kinds[place] != kind:
            for column in moved.T:
                levels = int(g.integers(2, 6))
                of_columns.append(draw_levels(g, column, levels))
        elif wanted.empty and kind == "numbers" and g.random() < 0.2:
            of_columns = [draw_observation(g, column) for column in moved.T]
        observations.append(of_columns)
        ties.append(bool(of_columns) and kind == "numbers")

    def draw(n, g):
        z, scores = conditions.draw(n, g)
        variables = []
        for place, sample in enumerate(pair.draw(n, g)):
            moved = moves[place](sample, scores)
            variable = _observed(moved, observations[place], kinds[place])
            variables.append(variable)
        return *variables, z

    text = f"{pair.description}, moved by {conditions.name}"
    return Part(family, text, draw, pair.truth, (*ties, conditions.tied))


def _kind_before_levels(kind: str, g: Generator) -> str:
    """The kind of columns that z moves; mostly numbers if categories are requested."""
    if kind == "categories" and g.random() < 0.7:
        return "numbers"
    return kind


def _observed(sample: Sample, observations: list[Observation], kind: str) -> Sample:
    """Number columns as observed; unchanged if there are no observations."""
    if not observations:
        return sample
    columns = []
    for column, observation in zip(sample.numbers.T, observations):
        columns.append(observed(column, observation, kind))
    return joined(columns)


def changed_noise(wanted: Wanted, family: str, g: Generator) -> Part:
    """y is a function of x plus noise whose scale depends on one condition."""
    rate = g.uniform(0.3, 1.5)

    def strength_at(z):
        return np.exp(rate * np.clip(z, -MOST_SCORE, MOST_SCORE))

    nodes = clipped_normal(-MOST_SCORE, MOST_SCORE, 10)
    return _changed(wanted, family, strength_at, nodes, g)


def changed_slope(wanted: Wanted, family: str, g: Generator) -> Part:
    """y is one condition times a function of x, plus noise.

    Without z, x and y may share little.
    """

    def strength_at(z):
        return np.clip(np.abs(z), LEAST_SLOPE, MOST_SCORE)

    nodes, weights = clipped_normal(LEAST_SLOPE, MOST_SCORE, 8)
    weights *= 2  # of the absolute value of a normal variable
    weights[0] -= 1
    return _changed(wanted, family, strength_at, (nodes, weights), g)


def clipped_normal(low: float, high: float, count: int) -> tuple[Array, Array]:
    """Nodes and weights [count + 2] of a normal variable clipped at two values.

    The nodes between the two values are Gauss-Legendre nodes.
    """
    places, widths = np.polynomial.legendre.leggauss(count)
    width = high - low
    nodes = low + width * (places + 1) / 2
    exponentials = np.exp(-(nodes**2) / 2)
    inside = widths * width / 2 * exponentials / np.sqrt(2 * np.pi)
    weights = np.r_[special.ndtr(low), inside, special.ndtr(-high)]
    return np.r_[low, nodes, high], weights


def _changed(
    wanted: Wanted,
    family: str,
    strength_at: Map,
    nodes: tuple[Array, Array],
    g: Generator,
) -> Part:
    """y = f(x) + noise / strength, or its levels; the strength depends on a condition.

    The condition is normal; further columns of z move x and y. Information is a mean
    over nodes of the condition. Without information, y depends on another x. For a
    slope, y is multiplied by strength and sign of the condition, which is invertible
    given z.
    """
    is_slope = family == "changed_slope"
    _, kind = wanted.kinds
    noise = draw_noise(g)
    predictor = plain_predictor(g)
    name, function = draw_function(g)
    signal = scalar.standardised_on(predictor, function)
    build = scalar.about(predictor, noise, signal)
    _, score = predictor.sample(PILOT_ROWS, g)
    strength = calibrated(build, score, wanted.nats, scalar.NOISE_STRENGTHS, g)
    conditions = Conditions(g, wanted.conditions)

    def pair_at(z):
        return build(strength * strength_at(z))

    def multiplied(y, z):
        if is_slope:
            return y * np.sign(z) * strength_at(z)
        return y

    of_pilot = g.normal(size=PILOT_ROWS)
    pilot = pair_at(of_pilot).draw(score, g)
    levels = None
    if not is_slope and (kind == "categories" or g.random() < 0.15):
        levels = draw_levels(g, pilot)
    moves = []
    for column in (score, multiplied(pilot, of_pilot)):
        shape = pick(g, SHAPES)
        move = draw_move(shape, conditions, numbers(column), g)
        moves.append(move)
    move_x, move_y = moves

    def draw(n, g):
        _, x = predictor.sample(n, g)
        z = g.normal(size=n)
        cause = x
        if wanted.empty:
            _, cause = predictor.sample(n, g)
        y = pair_at(z).draw(cause, g)
        y = multiplied(y, z)
        others, scores = conditions.draw(n, g)
        moved_x = move_x(numbers(x), scores)
        if levels is None:
            seen_y = move_y(numbers(y), scores)
        else:
            seen_y = observed(y, levels, kind)
        return moved_x, seen_y, joined([numbers(z), others])

    def truth(g):
        places, weights = nodes
        values = []
        for place in places:
            values.append(information(pair_at(place), None, levels, pilot))
        nats = float(weights @ values)
        return nats, NODE_ERROR * nats

    text = (
        f"{name} of {predictor.name}, {noise.name} noise whose strength depends on z, "
        f"beside {conditions.name}"
    )
    tied = levels is not None and kind == "numbers"
    return Part(family, text, draw, truth, (False, tied, conditions.tied))


@dataclass(frozen=True, eq=False)
class LinearSystem:
    """A linear system of m columns, in which each may depend on earlier columns.

    place   [m], of each column: 0 in x, 1 in y, 2 in z
    links   [m, m], lower triangular; links between x and y are multiplied by a strength
    dof     degrees of freedom of Student's distribution; inf: normal
    """

    place: NDArray[np.intp]
    links: Array
    dof: float

    @property
    def sides(self) -> list[NDArray[np.intp]]:
        """The columns of x, y and z."""
        return [np.flatnonzero(self.place == which) for which in range(3)]

    def mixing(self, strength: float) -> Array:
        """The matrix [m, m] that makes columns from noise."""
        across = self.place[:, None] + self.place == 1
        links = np.where(across, strength * self.links, self.links)
        parents = (self.links != 0).sum(axis=1, keepdims=True)
        scaled = links / np.sqrt(1 + parents)
        return np.linalg.inv(np.eye(len(links)) - scaled)

    def nats(self, strength: float) -> float:
        """I(x; y | z), nats."""
        x, y, z = self.sides
        mixed = self.mixing(strength)

        def log_determinant(*sides):
            block = mixed[np.concatenate(sides)]
            return np.linalg.slogdet(block @ block.T)[1]

        total = (
            log_determinant(x, z)
            + log_determinant(y, z)
            - log_determinant(z)
            - log_determinant(x, y, z)
        )
        nats = float(total) / 2
        if np.isinf(self.dof):
            return nats
        # plus the information in the common scale of Student's distribution
        p, q, r = map(len, self.sides)
        with_y = student_information(p, q + r, self.dof)
        without_y = student_information(p, r, self.dof)
        return nats + (with_y - without_y)

    def draw(self, n: int, mixed: Array, g: Generator) -> tuple[Sample, ...]:
        """x, y and z of n rows."""
        noise = g.normal(size=(n, len(mixed)))
        values = noise @ mixed.T
        if np.isfinite(self.dof):
            scale = g.chisquare(self.dof, size=(n, 1)) / self.dof
            values /= np.sqrt(scale)
        return tuple(numbers(values[:, side]) for side in self.sides)


def linear_system(wanted: Wanted, family: str, g: Generator) -> Part:
    """Normal or Student columns of a random linear system.

    The order of columns is random, so z has causes, effects and colliders of x and y.
    Without information, z comes first.
    """
    most_columns = (6, 6, MAX_CONDITIONS)
    if wanted.small:
        most_columns = (1, 1, SMALL_CONDITIONS)
    sizes = [log_uniform_int(g, 1, most) for most in most_columns]
    place = np.repeat([0, 1, 2], sizes)
    if wanted.empty:
        place = place[np.argsort(place != 2, kind="stable")]
    else:
        place = g.permutation(place)
    square = (len(place), len(place))
    weights = np.tril(g.normal(size=square), -1)
    chances = g.random(square)
    links = weights * (chances < g.uniform(0.15, 0.7))
    dof = np.inf
    if not wanted.empty and g.random() < 0.3:
        dof = log_uniform(g, 2.0, 20.0)
    system = LinearSystem(place, links, dof)
    strength = 0.0

    def below(log_strength):
        return system.nats(float(np.exp(log_strength))) < wanted.nats

    if not wanted.empty:
        log_strength, _ = bisected(below, -8.0, 3.0, 30)
        strength = float(np.exp(log_strength))
    mixed = system.mixing(strength)

    def draw(n, g):
        return system.draw(n, mixed, g)

    text = f"{' + '.join(map(str, sizes))} columns, t({dof:.3g})"
    truth = exactly(system.nats(strength))
    return Part(family, text, draw, truth, UNTIED)


def three_states(wanted: Wanted, family: str, g: Generator) -> Part:
    """A table P(a, b, c) of states; x, y and z show them as labels, numbers or both.

    Without information, a and b are independent given c, and z shows c exactly.
    """
    table = _table_of_states(wanted, g)
    sizes = table.shape
    exact = wanted.empty or g.random() < 0.6
    kinds = (*wanted.kinds, pick(g, ("numbers", "categories")))
    nats = wanted.nats + 1.0
    emissions = []
    for size, kind in zip(sizes, kinds):
        columns = 1 if wanted.small else log_uniform_int(g, 1, 5)
        centres = g.normal(size=(size, columns))
        emission = draw_emission(g, kind, centres, nats, False)
        emissions.append(emission)
    if exact:
        emissions[2] = exact_labels(sizes[2])
    draw_cells = cell_sampler(table.reshape(sizes[0], -1))

    def draw(n, g):
        a, others = draw_cells(n, g)
        b, c = np.divmod(others, sizes[2])
        samples = []
        for emission, state in zip(emissions, (a, b, c)):
            samples.append(emission.sample(state, g))
        return tuple(samples)

    def truth(g):
        cells = [emission.cells for emission in emissions]
        if any(table is None for table in cells):
            return monte_carlo(log_ratios, g)
        joint = np.einsum("abc,ai,bj,ck->ijk", table, *cells, optimize=True)
        return table_nats(joint), 0.0

    def log_ratios(g):
        log_densities = []
        for emission, sample in zip(emissions, draw(BATCH, g)):
            log_densities.append(emission.log_density(sample))
        return triple_log_ratios(table, log_densities)

    text = " / ".join(emission.name for emission in emissions)
    return Part(family, text, draw, truth, UNTIED)


def _table_of_states(wanted: Wanted, g: Generator) -> Array:
    """A mixture of two random tables P(a, b, c) with 1.3 times the nats wanted.

    Emissions lower the information.
    """
    sizes = g.integers(2, 7, 3)
    x_size, y_size, z_size = sizes
    x_given_z = g.dirichlet(np.full(x_size, 0.5), size=z_size).T
    y_given_z = g.dirichlet(np.full(y_size, 0.5), size=z_size).T
    z = g.dirichlet(np.full(z_size, 4.0))
    independent = x_given_z[:, None] * y_given_z * z
    dependent = g.dirichlet(np.full(sizes.prod(), 0.3)).reshape(sizes)

    def mixture(share):
        return (1 - share) * independent + share * dependent

    if wanted.empty:
        return mixture(0.0)

    def below(share):
        return table_nats(mixture(share)) < 1.3 * wanted.nats

    share, _ = bisected(below, 0.0, 1.0, 30)
    return mixture(share)


def table_nats(table: Array) -> float:
    """I(a; b | c) of a table of probabilities [a, b, c], nats."""

    def negative_entropy(*summed_axes):
        margin = table.sum(axis=summed_axes)
        return special.xlogy(margin, margin).sum()

    return float(
        negative_entropy()
        + negative_entropy(0, 1)
        - negative_entropy(0)
        - negative_entropy(1)
    )


def triple_log_ratios(table: Array, log_densities: list[Array]) -> Array:
    """log p(x, y | z) / p(x | z) p(y | z) [n].

    log_densities   [n, states], of x, y and z under every state
    """
    x, y, z = map(relative_likelihoods, log_densities)
    joint = np.einsum("abc,na,nb,nc->n", table, x, y, z, optimize=True)
    of_x = (x @ table.sum(axis=1)) * z
    of_y = (y @ table.sum(axis=0)) * z
    of_z = z @ table.sum(axis=(0, 1))
    product = of_x.sum(axis=1) * of_y.sum(axis=1)
    return log_ratio(joint * of_z, product)


MAKERS = (
    *(Family(shape, common_cause, ANY, 1.0) for shape in (*SHAPES, SCALES)),
    Family("shared", shared, ANY, 1.0),
    Family("changed_noise", changed_noise, X_NUMBERS, 1.0),
    Family("changed_slope", changed_slope, {NN}, 1.0),
    Family("linear_system", linear_system, {NN}, 1.5),
    Family("three_states", three_states, ANY, 1.5),
)
FAMILIES = (*(family.name for family in MAKERS), "derived")
