"""Families with discrete latent states, and channels between categories.

The states are clusters, angles, positions on curves or in images, or traits.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from infoscope.data.information import bisected, table_information
from infoscope.data.prior.draws import (
    Array,
    Generator,
    log_uniform,
    log_uniform_int,
    pick,
)
from infoscope.data.prior.emissions import (
    Emission,
    Labels,
    Several,
    cell_sampler,
    draw_columns,
    draw_emission,
    exact_labels,
    latent_part,
)
from infoscope.data.prior.parts import Part, Request, categories, exactly, numbers

CURVE_STATES = 40  # states of a position on a line
ANGLES = 2 * np.pi * np.arange(48) / 48  # states of an angle
IMAGE_SIZES = (6, 16)  # least and largest height of an image, pixels
IMAGE_POSITIONS = 9  # along each side
MAX_CATEGORIES = 300  # of a variable


def draw_table(g: Generator, x_states: int, y_states: int, nats: float) -> Array:
    """A joint table of states.

    States match through noise, are neighbours, or have cells of random probability.
    """
    kind = pick(g, ("one to one", "one to one", "band", "random"))
    a = np.arange(x_states)[:, None]
    b = np.arange(y_states)
    size = x_states * y_states
    if kind == "one to one":
        matches = a % y_states == b % x_states
        limits = (0.1, 0.6)
        if nats > 0.3:
            limits = (0, 0.25)
        noise = g.uniform(*limits)
        table = (1 - noise) * matches / matches.sum()
        table += noise / size
    elif kind == "band":
        distance = a / x_states - b / y_states
        width = g.uniform(0.05, 0.3)
        table = _bell(distance / width)
    else:
        concentration = min(1.0, 4 / np.sqrt(size))
        cells = g.dirichlet(np.full(size, concentration))
        table = cells.reshape(x_states, y_states)
    row_factors = g.dirichlet(np.full(x_states, 4.0))
    table *= row_factors[:, None]
    return table / table.sum()


def _bell(score: Array) -> Array:
    """The standard normal density over its maximum."""
    return np.exp(-0.5 * score**2)


def _draw_informative_columns(g: Generator, most: int, limit: int) -> int:
    """The number of informative columns, at least 1: few, or the most allowed."""
    most = max(1, min(most, limit))
    if g.random() < 0.6:
        return log_uniform_int(g, 1, most)
    return most


def _least_states(nats: float, limit: float, factor: float) -> int:
    """`factor` times the least number of states for `nats` of information; at least 2.

    nats above `limit` are taken as the limit.
    """
    needed = np.exp(min(nats, limit))
    states = int(np.ceil(factor * needed))
    return max(2, states)


def clusters(request: Request, g: Generator) -> Part:
    """Clusters in x and in y, at random or on a grid, with a joint table."""
    least = _least_states(request.nats, 2.3, 1.2)
    end = max(14, least + 2)
    x_states, y_states = g.integers(least, end, size=2)
    table = draw_table(g, x_states, y_states, request.nats)
    nats = request.nats + 0.6
    emissions = []
    for states, (kind, most, tied) in zip(table.shape, request.sides):
        columns = _draw_informative_columns(g, most, 12)
        centres = g.normal(size=(states, columns))
        if g.random() < 0.3:
            side = int(np.ceil(np.sqrt(states)))
            places = g.permutation(states)
            coordinates = np.divmod(places, side)
            centres = np.stack(coordinates[:columns], axis=1)
        emission = draw_emission(g, kind, centres, nats, tied)
        emissions.append(emission)
    x, y = emissions
    return latent_part("clusters", "clusters", table, x, y, request.tied)


def labelled_clusters(request: Request, g: Generator) -> Part:
    """A class label y, and columns x whose density depends on the class.

    Few of the columns, or many, are informative.
    """
    least = _least_states(request.nats, 2.5, 1.3)
    end = max(9, least + 3)
    classes = int(g.integers(least, end))
    concentration = log_uniform(g, 0.8, 20.0)
    prior = g.dirichlet(np.full(classes, concentration))
    prior += 0.01
    table = np.diag(prior / prior.sum())
    most, _ = request.columns
    tied, _ = request.tied
    limit = 128
    if tied:
        limit = 12
    columns = _draw_informative_columns(g, most, limit)
    centres = g.normal(size=(classes, columns))
    counts = g.random() < 0.15
    x = draw_emission(g, request.x, centres, request.nats, tied, counts)
    y = exact_labels(classes)
    return latent_part("labelled_clusters", "classes", table, x, y, request.tied)


def on_circle(angles: Array) -> Array:
    """Points of the unit circle [n, 2] at angles [n]."""
    return np.column_stack([np.cos(angles), np.sin(angles)])


def rings_and_tori(request: Request, g: Generator) -> Part:
    """Angles of x and y, each a noisy point of a circle.

    The angle of y is a multiple of the angle of x plus von Mises noise.
    """
    turns = g.integers(1, 4)
    winding = turns * g.choice([-1, 1])
    concentration = log_uniform(g, 0.5, 60.0)
    differences = ANGLES - winding * ANGLES[:, None]
    exponents = np.cos(differences) - 1
    table = np.exp(concentration * exponents)
    table /= table.sum()
    nats = request.nats + 0.7
    emissions = []
    for kind, most, tied in request.sides:
        centres = on_circle(ANGLES)[:, :most]
        if most > 3 and g.random() < 0.4:
            multiple = g.integers(2, 4)
            overtone = on_circle(multiple * ANGLES)
            centres = np.hstack([centres, overtone])
        emission = draw_emission(g, kind, centres, nats, tied, coarse=True)
        emissions.append(emission)
    x, y = emissions
    text = f"angles, winding {winding}, concentration {concentration:.2g}"
    return latent_part("rings_and_tori", text, table, x, y, request.tied)


def von_mises_information(concentration: float) -> float:
    """Information of two uniform angles that differ by von Mises noise, nats.

    Mardia & Jupp (2000), section 3.5.4.
    """
    scaled = special.i0e(concentration)
    mean_cosine = special.i1e(concentration) / scaled
    energy = concentration * (mean_cosine - 1)
    return float(energy - np.log(scaled))


def tori(request: Request, g: Generator) -> Part:
    """Two or three angles of x whose sum, plus von Mises noise, is the angle of y.

    The radii are independent of everything.
    """
    most_x, most_y = request.columns
    if most_x < 4 or most_y < 2 or any(request.tied):
        return rings_and_tori(request, g)
    most = min(3, most_x // 2)
    angles = g.integers(2, most + 1)
    spread = g.uniform(0.02, 0.4)

    def below(log_concentration):
        nats = von_mises_information(np.exp(log_concentration))
        return nats < request.nats

    low = np.log(0.05)
    high = np.log(3000.0)
    log_concentration, _ = bisected(below, low, high, 40)
    concentration = float(np.exp(log_concentration))

    def circle(angle, g):
        size = (len(angle), 1)
        radii = np.exp(spread * g.normal(size=size))
        return radii * on_circle(angle)

    def draw(n, g):
        turns = g.uniform(0, 2 * np.pi, (n, angles))
        total = turns.sum(axis=1)
        total += g.vonmises(0, concentration, n)
        y = circle(total, g)
        circles = [circle(turn, g) for turn in turns.T]
        x = np.hstack(circles)
        return numbers(x), numbers(y)

    text = f"the sum of {angles} angles, concentration {concentration:.3g}"
    nats = von_mises_information(concentration)
    return Part("rings_and_tori", text, draw, exactly(nats))


def shared_factors(request: Request, g: Generator) -> Part:
    """One latent position, observed twice.

    The observations are curves in many columns, an image of a bump, its coordinates or
    its class.
    """
    least, _ = IMAGE_SIZES
    most, _ = request.columns
    has_pixels = most >= least**2 and request.x != "categories"
    if has_pixels and g.random() < 0.6:
        return _images(request, g)
    position = np.linspace(-1, 1, CURVE_STATES)
    rate = g.uniform(0, 2.5)
    prior = _bell(position * rate)
    table = np.diag(prior / prior.sum())
    nats = request.nats + 0.5
    emissions = []
    for kind, most, tied in request.sides:
        limit = 96
        if tied:
            limit = 12
        columns = _draw_informative_columns(g, most, limit)
        largest = log_uniform(g, 0.6, 4.0)
        frequencies = g.uniform(0.3, largest, columns)
        phases = g.uniform(0, 2 * np.pi, columns)
        angles = np.pi * frequencies * position[:, None]
        centres = np.sin(angles + phases)
        emission = draw_emission(g, kind, centres, nats, tied, coarse=True)
        emissions.append(emission)
    x, y = emissions
    text = "curves of one position"
    return latent_part("shared_factors", text, table, x, y, request.tied)


def _grid(points: int) -> Array:
    """The points [points^2, 2] of a square grid on the unit square."""
    along = np.linspace(0, 1, points)
    first, second = np.meshgrid(along, along)
    return np.column_stack([first.ravel(), second.ravel()])


def _images(request: Request, g: Generator) -> Part:
    """An image of a bump against the coordinates or the class of its position."""
    least, largest = IMAGE_SIZES
    pixels, most_y = request.columns
    most = min(largest, int(np.sqrt(pixels)))
    side = int(g.integers(least, most + 1))
    positions = _grid(IMAGE_POSITIONS)
    steps = positions[:, None] - _grid(side)
    squared_distances = (steps**2).sum(axis=2)
    width = g.uniform(0.08, 0.3)
    bumps = np.exp(-squared_distances / 2 / width**2)
    nats = request.nats + 0.6
    x = draw_emission(g, request.x, bumps, nats, False)
    _, tied = request.tied
    count = len(positions)
    if request.y != "categories":
        coordinates = positions[:, :most_y]
        y = draw_emission(g, request.y, coordinates, nats, tied)
    else:
        classes = int(g.integers(2, 7))
        projection = positions @ g.normal(size=2)
        order = np.argsort(projection)
        rank = np.argsort(order)
        class_of_position = rank * classes // count
        channel = np.eye(classes)[class_of_position]
        y = Labels((channel,))
    table = np.eye(count) / count
    text = f"{side} x {side} image of a position"
    return latent_part("shared_factors", text, table, x, y, (False, tied))


def tuned_counts(request: Request, g: Generator) -> Part:
    """Counts (neurons) tuned to an angle; y: the angle, its sector or other neurons."""
    nats = request.nats + 0.5
    emissions = []
    are_neurons = (True, g.random() < 0.4)  # columns of x and of y
    for neurons, (kind, most, _) in zip(are_neurons, request.sides):
        columns = _draw_informative_columns(g, most, 64)
        preferred = g.uniform(0, 2 * np.pi, columns)
        log_gains = g.normal(0, 0.3, columns)
        differences = ANGLES[:, None] - preferred
        centres = np.cos(differences) * np.exp(log_gains)
        if not neurons:
            centres = on_circle(ANGLES)[:, :most]
        emission = draw_emission(g, kind, centres, nats, False, neurons, coarse=True)
        emissions.append(emission)
    x, y = emissions
    states = len(ANGLES)
    table = np.eye(states) / states
    return latent_part("counts", "tuning to an angle", table, x, y)


def questionnaires(request: Request, g: Generator) -> Part:
    """Ordered items of a trait, and items, numbers or a class of a correlated trait."""
    trait = np.linspace(-3, 3, CURVE_STATES)
    nats_of_traits = request.nats + 0.2
    rho = np.sqrt(-np.expm1(-2 * nats_of_traits))
    a = trait[:, None]
    products = 2 * rho * a * trait
    squares = a**2 + trait**2 - products
    variance = 1 - rho**2
    table = np.exp(-squares / 2 / variance)
    table /= table.sum()
    ties = (True, request.tied[1])
    nats = request.nats + 1.0
    emissions = []
    request = replace(request, tied=ties)
    for kind, most, tied in request.sides:
        columns = _draw_informative_columns(g, most, 24)
        loadings = g.uniform(0.3, 1.5, columns)
        emission = draw_emission(g, kind, a * loadings, nats, tied, coarse=True)
        emissions.append(emission)
    x, y = emissions
    return latent_part("ordered_levels", "items of a trait", table, x, y, ties)


# --- channels between categories -------------------------------------------------------------------------------------
def draw_margin(g: Generator, size: int) -> Array:
    """Probabilities of categories: equal, random, or Zipf."""
    kind = pick(g, ("alike", "random", "Zipf"))
    if kind == "alike":
        return np.full(size, 1 / size)
    if kind == "random":
        shares = g.dirichlet(np.full(size, 3.0))
    else:
        ranks = np.arange(1.0, size + 1)
        exponent = g.uniform(0.6, 1.6)
        shares = ranks**-exponent
    return shares / shares.sum()


def weakened(table: Array, nats: float) -> Array:
    """The mixture of a table and the product of its margins with `nats` in common.

    A table with fewer nats stays unchanged.
    """
    x_margin = table.sum(axis=1, keepdims=True)
    product = x_margin * table.sum(axis=0)

    def mixture(noise):
        return (1 - noise) * table + noise * product

    def above(noise):
        return table_information(mixture(noise)) > nats

    noise, _ = bisected(above, 0.0, 1.0, 30)
    return mixture(noise)


def draw_channel(g: Generator, nats: float) -> tuple[str, Array]:
    """The name and the joint table of two categories with about `nats` in common.

    Some tables cannot have so many nats.
    """
    least = _least_states(nats, 4.5, 1.0)
    most = max(12, 3 * least)
    if g.random() < 0.35:
        most = MAX_CATEGORIES
    x_size = log_uniform_int(g, least, most)
    y_size = x_size
    if g.random() >= 0.4:
        most_y = max(12, x_size)
        y_size = log_uniform_int(g, 2, most_y)
    kind = pick(g, ("function", "neighbours", "random table"))
    margin = draw_margin(g, x_size)[:, None]
    codes = np.arange(x_size)
    if kind == "function":
        image = g.permutation(codes % y_size)
        table = margin * np.eye(y_size)[image]
    elif kind == "neighbours":
        place_y = np.arange(y_size) / y_size
        distance = codes[:, None] / x_size - place_y
        width = g.uniform(0.01, 0.25)
        band = _bell(distance / width) + 1e-12
        totals = band.sum(axis=1, keepdims=True)
        table = margin * band / totals
    else:
        concentration = log_uniform(g, 0.02, 1.0)
        weights = np.full(y_size, concentration)
        table = margin * g.dirichlet(weights, size=x_size)
    table /= table.sum()
    text = f"{kind} of {x_size} in {y_size} categories"
    return text, weakened(table, nats)


def discrete_channel(request: Request, g: Generator) -> Part:
    """Two categories with a known joint table; numbers are ordered like categories."""
    text, table = draw_channel(g, request.nats)
    draw_cells = cell_sampler(table)
    x_size, y_size = table.shape
    values_x = np.sort(g.normal(size=x_size))
    values_y = np.sort(g.normal(size=y_size))
    whole_numbers = g.random() < 0.6

    def shown(codes, kind, values):
        if kind == "categories":
            return categories(codes)
        if whole_numbers:
            return numbers(codes)
        return numbers(values[codes])

    def draw(n, g):
        codes_x, codes_y = draw_cells(n, g)
        x = shown(codes_x, request.x, values_x)
        y = shown(codes_y, request.y, values_y)
        return x, y

    tied = (request.x != "categories", request.y != "categories")
    nats = table_information(table)
    return Part("discrete_channel", text, draw, exactly(nats), tied)


def associations(request: Request, g: Generator) -> Part:
    """Two categories of a log-linear table (RC model, Goodman 1979).

    log P(y | x) is a sum of products of scores, plus the log margin and a constant.
    """
    least = _least_states(request.nats, 3.5, 1.3)
    most = max(40, 3 * least)
    x_size = log_uniform_int(g, least, most)
    y_size = log_uniform_int(g, least, most)
    x_margin = draw_margin(g, x_size)
    y_margin = draw_margin(g, y_size)
    scores = g.integers(1, 5)
    scores_x = g.normal(size=(x_size, scores))
    products = scores_x @ g.normal(size=(scores, y_size))

    def table_of(log_strength):
        strength = np.exp(log_strength)
        logs = strength * products + np.log(y_margin)
        largest = logs.max(axis=1, keepdims=True)
        weights = np.exp(logs - largest)
        totals = weights.sum(axis=1, keepdims=True)
        return x_margin[:, None] * weights / totals

    def below(log_strength):
        return table_information(table_of(log_strength)) < request.nats

    low = np.log(0.01)
    high = np.log(30.0)
    log_strength, _ = bisected(below, low, high, 30)
    text = f"{scores} scores of {x_size} and {y_size} categories"
    table = table_of(log_strength)
    x = exact_labels(x_size)
    y = exact_labels(y_size)
    return latent_part("associations", text, table, x, y)


def hidden_classes(request: Request, g: Generator) -> Part:
    """Category columns of hidden classes of x and y (Lazarsfeld & Henry 1968).

    Every column has other probabilities in every class; the classes have a joint table.
    """
    least = _least_states(request.nats, 2.3, 1.3)
    end = max(9, least + 3)
    x_classes, y_classes = g.integers(least, end, size=2)
    table = draw_table(g, x_classes, y_classes, request.nats)
    table = weakened(table, 2 * request.nats)
    emissions = []
    for classes, (kind, most, tied) in zip(table.shape, request.sides):
        channels = []
        count = _draw_informative_columns(g, most, 12)
        for _ in range(count):
            levels = log_uniform_int(g, least, 24)
            concentration = log_uniform(g, 0.02, 1.0) * levels
            weights = concentration * draw_margin(g, levels)
            channel = g.dirichlet(weights + 0.01, size=classes)
            channels.append(channel)
        emission = Labels(tuple(channels))
        if kind == "both":
            count = _draw_informative_columns(g, most, 12)
            centres = g.normal(size=(classes, count))
            separation = request.nats + 0.6
            columns = draw_columns(g, centres, separation, tied)
            emission = Several(columns, emission)
        emissions.append(emission)
    x, y = emissions
    return latent_part("hidden_classes", "hidden classes", table, x, y, request.tied)


def look_up(request: Request, g: Generator) -> Part:
    """A state that y shows, looked up in a table of the levels of 2 to 4 columns of x.

    The table holds sums modulo a number, where single columns are uninformative, a
    conjunction, or random states.
    """
    count = g.integers(2, 5)
    largest = 5 if count < 4 else 3
    sizes = [int(g.integers(2, largest + 1)) for _ in range(count)]
    # the levels of each column in all cells
    cells = np.indices(sizes).reshape(count, -1)
    shares = []
    for size, column in zip(sizes, cells):
        margin = np.full(size, 1 / size)
        if g.random() < 0.3:
            margin = draw_margin(g, size)
        shares.append(margin[column])
    of_cells = np.prod(shares, axis=0)
    kind, states = _draw_states(cells.T, sizes, g)
    state_count = int(states.max()) + 1
    is_state = np.eye(state_count)[states]
    table = of_cells[:, None] * is_state
    table = weakened(table, request.nats * 1.3)
    codes = []
    channels = []
    for size, column in zip(sizes, cells):
        recoded = g.permutation(size)[column]
        codes.append(recoded)
        channels.append(np.eye(size)[recoded])
    recoded_levels = np.stack(codes, axis=1)
    x = _emitted_levels(recoded_levels, tuple(channels), request, g)
    _, most = request.columns
    _, tied = request.tied
    columns = _draw_informative_columns(g, most, 12)
    centres = g.normal(size=(state_count, columns))
    nats = request.nats + 1.0
    y = draw_emission(g, request.y, centres, nats, tied)
    shape = " x ".join(map(str, sizes))
    text = f"{kind} of {shape} levels"
    return latent_part("look_up", text, table, x, y, request.tied)


def _draw_states(
    levels: NDArray, sizes: list[int], g: Generator
) -> tuple[str, NDArray]:
    """The kind of a look-up table, and the state of y [cells] in each cell."""
    kind = pick(g, ("sum", "sum", "conjunction", "random"))
    if kind == "sum":
        states = levels.sum(axis=1) % min(sizes)
    elif kind == "conjunction":
        cuts = [g.integers(1, size) for size in sizes]
        states = (levels >= cuts).all(axis=1)
    else:
        count = g.integers(2, 7)
        states = g.integers(count, size=len(levels))
    _, codes = np.unique(states, return_inverse=True)
    return kind, codes


def _emitted_levels(
    codes: NDArray, channels: tuple[Array, ...], request: Request, g: Generator
) -> Emission:
    """Levels [cells, count] as categories, as numbers, or partly as each."""
    if request.x == "categories":
        return Labels(channels)
    numeric = count = len(channels)
    if request.x == "both":
        numeric = g.integers(1, count)
    centres = codes[:, :numeric]
    separation = log_uniform(g, 4.0, 30.0)
    tied, _ = request.tied
    columns = draw_columns(g, centres, separation, tied)
    if numeric == count:
        return columns
    return Several(columns, Labels(channels[numeric:]))
