"""Families with discrete latent states: x and y are emitted, independently given their states a and b of a known table.

The exact log ratio of a row is log sum_ab P(a, b) p(x|a) p(y|b) - log p(x) - log p(y); its mean is by Monte Carlo.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from infoscope.data.information import bisected, table_information
from infoscope.data.prior.draws import Array, Generator, log_uniform, log_uniform_int, mean_and_error, pick
from infoscope.data.prior.noise import laplace_cdf
from infoscope.data.prior.parts import Part, Request, Sample, categories, joined, numbers
from infoscope.data.prior.quadrature import TOLERANCE, Observation, draw_observation

BATCH = 5_000  # rows of a Monte Carlo batch
CURVE_STATES = 40  # states of a position on a line
ANGLES = 2 * np.pi * np.arange(48) / 48  # states of an angle
IMAGE_SIZES = (6, 16)  # least and largest height of an image, pixels
MAX_CELLS = 1_500  # of a table of several category columns
MAX_SHAPED_COLUMNS = 24  # with noise of any shape; more have normal noise
MAX_CATEGORIES = 300  # of a variable
DRAWN_SHAPES = ("normal", "normal", "t", "Laplace", "Gumbel")


SHAPES: dict[str, tuple[Callable, Callable, Callable]] = {  # draws; log density less a constant; distribution function
    "normal": (lambda size, dof, g: g.normal(size=size), lambda v, dof: -0.5 * v**2, lambda v, dof: special.ndtr(v)),
    "t": (
        lambda size, dof, g: g.standard_t(dof, size=size),
        lambda v, dof: -(dof + 1) / 2 * np.log1p(v**2 / dof),
        lambda v, dof: special.stdtr(dof, v),
    ),
    "Laplace": (lambda size, dof, g: g.laplace(size=size), lambda v, dof: -np.abs(v), lambda v, dof: laplace_cdf(v)),
    "Gumbel": (
        lambda size, dof, g: g.gumbel(size=size),
        lambda v, dof: -v - np.exp(-np.maximum(v, -50)),
        lambda v, dof: np.exp(-np.exp(-np.maximum(v, -50))),
    ),
}


@dataclass(frozen=True, eq=False)
class Columns:
    """Number columns: centres[state] + scales[state] x noise of one shape, independent given the state, observed."""

    centres: Array  # [states, p]
    scales: Array  # [1 or states, p]
    shape: str = "normal"
    dof: float = 5.0
    seen: tuple[Observation | None, ...] = ()

    @property
    def name(self) -> str:
        observed = ", observed" if any(seen is not None for seen in self.seen) else ""
        return f"{self.centres.shape[1]} columns with {self.shape} noise{observed}"

    def sample(self, states: NDArray, g: Generator) -> Sample:
        """Draws for every state given."""
        noise = SHAPES[self.shape][0]((len(states), self.centres.shape[1]), self.dof, g)
        values = self.centres[states] + np.broadcast_to(self.scales, self.centres.shape)[states] * noise
        for column, seen in enumerate(self.seen):
            if seen is not None:
                values[:, column] = seen.apply(values[:, column])
        return numbers(values)

    def log_density(self, sample: Sample) -> Array:
        """Log density (probability where observed) under every state [n, states], up to terms of the sample alone."""
        values, (_, log_pdf, cdf) = sample.numbers, SHAPES[self.shape]
        if self.shape == "normal" and len(self.scales) == 1 and not self.seen:
            scaled, centres = values / self.scales, self.centres / self.scales
            return scaled @ centres.T - 0.5 * (centres**2).sum(axis=1)
        total = np.zeros((len(values), len(self.centres)))
        scales = np.broadcast_to(self.scales, self.centres.shape)
        for column, (centre, scale) in enumerate(zip(self.centres.T, scales.T)):
            seen = self.seen[column] if self.seen else None
            if seen is None or not seen.atoms.all():
                logs = log_pdf((values[:, column, None] - centre) / scale, self.dof) - np.log(scale)
            if seen is not None:
                levels = cdf((seen.edges[:, None] - centre) / scale, self.dof)
                interval = seen.interval(values[:, column])
                log_probabilities = np.log(np.maximum(np.diff(levels, axis=0, prepend=0.0, append=1.0), 1e-300))[
                    interval
                ]
                logs = (
                    log_probabilities
                    if seen.atoms.all()
                    else np.where(seen.atoms[interval][:, None], log_probabilities, logs)
                )
            total += logs
        return total


@dataclass(frozen=True, eq=False)
class Labels:
    """Category columns, independent given the state: each a noisy channel P(label | state) [states, labels]."""

    channels: tuple[Array, ...]

    @property
    def name(self) -> str:
        sizes = " x ".join(str(channel.shape[1]) for channel in self.channels)
        return f"a label of {sizes} classes"

    @property
    def cells(self) -> Array | None:
        """P(labels of all columns | state) [states, cells]; None where the cells are too many for a table."""
        if np.prod([float(channel.shape[1]) for channel in self.channels]) > MAX_CELLS:
            return None
        together = self.channels[0]
        for channel in self.channels[1:]:
            together = (together[:, :, None] * channel[:, None, :]).reshape(len(together), -1)
        return together

    def sample(self, states: NDArray, g: Generator) -> Sample:
        cumulated = [np.cumsum(channel, axis=1)[states, :-1] for channel in self.channels]
        return categories(np.stack([(g.random((len(states), 1)) > c).sum(axis=1) for c in cumulated], axis=1))

    def log_density(self, sample: Sample) -> Array:
        with np.errstate(divide="ignore"):
            return sum(np.log(channel).T[codes] for channel, codes in zip(self.channels, sample.labels.T))


@dataclass(frozen=True, eq=False)
class Counts:
    """Count columns: Poisson (size infinite) or negative binomial of rates[state]."""

    rates: Array  # [states, p]
    size: float = np.inf

    @property
    def name(self) -> str:
        kind = "Poisson" if np.isinf(self.size) else "negative binomial"
        return f"{self.rates.shape[1]} {kind} count columns"

    def sample(self, states: NDArray, g: Generator) -> Sample:
        rates = self.rates[states]
        if np.isfinite(self.size):
            rates = rates * g.gamma(self.size, size=rates.shape) / self.size
        return numbers(g.poisson(rates).astype(float))

    def log_density(self, sample: Sample) -> Array:
        if np.isinf(self.size):
            return sample.numbers @ np.log(self.rates).T - self.rates.sum(axis=1)
        total = np.log(self.rates + self.size)
        return sample.numbers @ (np.log(self.rates) - total).T - self.size * total.sum(axis=1)


@dataclass(frozen=True, eq=False)
class Several:
    """Columns of several emissions of the same state."""

    columns: Columns | Counts
    labels: Labels

    @property
    def name(self) -> str:
        return f"{self.columns.name} and {self.labels.name}"

    def sample(self, states: NDArray, g: Generator) -> Sample:
        return joined([self.columns.sample(states, g), self.labels.sample(states, g)])

    def log_density(self, sample: Sample) -> Array:
        return self.columns.log_density(sample) + self.labels.log_density(sample)


Emission = Columns | Labels | Counts | Several


def cell_sampler(table: Array) -> Callable[[int, Generator], tuple[NDArray, NDArray]]:
    """Draws of row and column of a table of probabilities."""
    cumulated = np.cumsum(table.ravel())

    def draw(n: int, g: Generator) -> tuple[NDArray, NDArray]:
        cells = np.searchsorted(cumulated, g.random(n) * cumulated[-1], side="right")
        return np.divmod(np.minimum(cells, table.size - 1), table.shape[1])

    return draw


def latent_part(
    family: str, text: str, table: Array, x: Emission, y: Emission, tied: tuple[bool, bool] = (False, False)
) -> Part:
    """The subsystem of a table P(a, b) and the emissions of x and y; ties are those requested and those of counts."""
    states = cell_sampler(table)

    def draw(n: int, g: Generator) -> tuple[Sample, Sample]:
        a, b = states(n, g)
        return x.sample(a, g), y.sample(b, g)

    def truth(g: Generator) -> tuple[float, float]:
        x_cells, y_cells = (side.cells if isinstance(side, Labels) else None for side in (x, y))
        if x_cells is not None and y_cells is not None:
            return table_information(x_cells.T @ table @ y_cells), 0.0
        if x_cells is not None or y_cells is not None:
            (side, of, label) = (0, x, table @ y_cells) if x_cells is None else (1, y, table.T @ x_cells)
            return monte_carlo(lambda g: _divergences(of.log_density(draw(BATCH, g)[side]), label), g)
        return monte_carlo(lambda g: _log_ratios(table, x.log_density, y.log_density, *draw(BATCH, g)), g)

    columns = [side.columns if isinstance(side, Several) else side for side in (x, y)]
    with_ties = [isinstance(c, Counts) or (isinstance(c, Columns) and bool(t)) for c, t in zip(columns, tied)]
    return Part(family, f"{text}: {x.name} against {y.name}", draw, truth, tuple(with_ties))


def _divergences(log_density: Array, joint: Array) -> Array:
    """KL of the label's distribution given a row from its margin; joint: P(state, label)."""
    given = np.exp(log_density - log_density.max(axis=1, keepdims=True)) @ joint
    given /= given.sum(axis=1, keepdims=True)
    return special.rel_entr(given, joint.sum(axis=0)).sum(axis=1)


def _log_ratios(table: Array, log_x: Callable, log_y: Callable, x: Sample, y: Sample) -> Array:
    """log p(x, y) / p(x) p(y) of every row."""
    given_x, given_y = log_x(x), log_y(y)
    given_x = np.exp(given_x - given_x.max(axis=1, keepdims=True))
    given_y = np.exp(given_y - given_y.max(axis=1, keepdims=True))
    joint = ((given_x @ table) * given_y).sum(axis=1)
    product = (given_x @ table.sum(axis=1)) * (given_y @ table.sum(axis=0))
    return np.log(np.maximum(joint, 1e-300)) - np.log(np.maximum(product, 1e-300))


def monte_carlo(log_ratios: Callable[[Generator], Array], g: Generator) -> tuple[float, float]:
    """The mean of log ratios L and its standard error; 1 - exp(-L) is the control variate where its mean is 0."""
    logs = np.zeros(0)
    for _ in range(24):  # batches, at most
        logs = np.concatenate([logs, log_ratios(g)])
        values = _controlled(logs) if (logs < 0).any() else logs
        mean, error = mean_and_error(values)
        if error <= max(TOLERANCE[0], TOLERANCE[1] * mean):
            break
    return mean, error


def _controlled(logs: Array) -> Array:
    """Log ratios less their regression on the control variate.

    E exp(-L) is the probability under p(x) p(y) of p(x, y) > 0: below 1 where pairs are impossible, and hard to sample
    where they are rare. So the control is used only for little information and where its mean is 0 within its error.
    """
    control = -np.expm1(-np.clip(logs, -30, None))
    error = control.std() / np.sqrt(len(logs))
    if logs.mean() > 0.5 or not 0 < abs(control.mean()) < 3 * error:  # 0.5 nats
        return logs
    return logs - np.cov(logs, control)[0, 1] / control.var() * control


# --- emissions drawn -----------------------------------------------------------------------------------------------
def _columns(g: Generator, centres: Array, separation: float, tied: bool) -> Columns:
    """Emission about centres, scaled so that `separation` is their root mean square distance over the noise."""
    centres = centres - centres.mean(axis=0)
    spread = np.sqrt((centres**2).sum(axis=1).mean())
    centres = centres * separation / max(spread, 1e-9)
    shape = pick(g, DRAWN_SHAPES) if centres.shape[1] <= MAX_SHAPED_COLUMNS else "normal"
    scales = np.exp(g.normal(0, 0.3, centres.shape)) if g.random() < 0.25 else np.ones((1, centres.shape[1]))
    plain = Columns(centres, scales, shape, log_uniform(g, 2.5, 10.0))
    if not tied:
        return plain
    pilot = plain.sample(g.integers(len(centres), size=1_000), g).numbers
    every = g.random() < 0.6
    kind = pick(g, ("rounding", "limit", "censoring", "levels", "levels")) if g.random() < 0.7 else None
    seen = tuple(draw_observation(g, column, kind) if every or g.random() < 0.5 else None for column in pilot.T)
    return Columns(plain.centres, plain.scales, shape, plain.dof, seen)


def _labels(g: Generator, states: int, coarse: bool = False) -> Labels:
    """The state itself, a coarser class of it, or either through noise."""
    channel = np.eye(states)
    if coarse or (states > 8 and g.random() < 0.5):
        classes = int(g.integers(2, min(states, 9) + 1))
        blocks = np.arange(states) * classes // states
        channel = np.eye(classes)[g.permutation(blocks) if g.random() < 0.3 and not coarse else blocks]
    if g.random() < 0.4:
        noise = g.uniform(0.02, 0.4)
        channel = (1 - noise) * channel + noise / channel.shape[1]
    return Labels((channel,))


def _counts(g: Generator, centres: Array, separation: float) -> Counts:
    """Counts whose log rates follow the centres; more counts or steeper rates inform more."""
    mean = log_uniform(g, 0.5, 12.0)
    centres = (centres - centres.mean(axis=0)) / max(np.sqrt(((centres - centres.mean(axis=0)) ** 2).mean()), 1e-9)
    steep = np.clip(separation / np.sqrt(mean * centres.shape[1]), 0.03, 1.5)
    size = log_uniform(g, 1.0, 20.0) if g.random() < 0.4 else np.inf
    return Counts(mean * np.exp(np.clip(steep * centres, -4, 2.5)), size)


def draw_emission(
    g: Generator, kind: str, centres: Array, nats: float, tied: bool, counts: bool = False, coarse: bool = False
) -> Emission:
    """Columns, labels or both, for which the states have an information of about `nats`."""
    separation = np.sqrt(np.expm1(2 * nats)) * np.exp(g.normal(0.2, 0.25))
    if kind == "categories":
        return _labels(g, len(centres), coarse)
    columns = _counts(g, centres, separation) if counts else _columns(g, centres, separation, tied)
    if kind == "numbers":
        return columns
    return Several(columns, _labels(g, len(centres), coarse=True))


# --- families ------------------------------------------------------------------------------------------------------
def draw_table(g: Generator, x_states: int, y_states: int, nats: float) -> Array:
    """A joint table of states: one to one through noise, neighbouring states, or random cells."""
    kind = pick(g, ("one to one", "one to one", "band", "random"))
    a, b = np.arange(x_states)[:, None] / x_states, np.arange(y_states) / y_states
    if kind == "one to one":
        table = (np.arange(x_states)[:, None] % y_states == np.arange(y_states) % x_states).astype(float)
        noise = g.uniform(0, 0.25) if nats > 0.3 else g.uniform(0.1, 0.6)
        table = (1 - noise) * table / table.sum() + noise / table.size
    elif kind == "band":
        table = np.exp(-0.5 * ((a - b) / g.uniform(0.05, 0.3)) ** 2)
    else:
        table = g.dirichlet(np.full(table_size := x_states * y_states, min(1.0, 4 / np.sqrt(table_size))))
        table = table.reshape(x_states, y_states)
    table = table * g.dirichlet(np.full(x_states, 4.0))[:, None]
    return table / table.sum()


def _draw_informative_columns(g: Generator, most: int) -> int:
    """The number of informative columns: few, or the largest allowed."""
    return log_uniform_int(g, 1, max(1, most)) if g.random() < 0.6 else max(1, most)


def clusters(request: Request, g: Generator) -> Part:
    """Mixtures and grids of clusters in x and y with a joint table of the components' probabilities."""
    least = int(np.ceil(np.exp(min(request.nats, 2.3)) * 1.2))
    x_states, y_states = (int(g.integers(max(2, least), max(14, least + 2))) for _ in range(2))
    table = draw_table(g, x_states, y_states, request.nats)
    emissions = []
    for states, (kind, most, tied) in zip(table.shape, request.sides):
        columns = _draw_informative_columns(g, min(most, 12))
        centres = g.normal(size=(states, columns))
        if g.random() < 0.3:
            side = int(np.ceil(np.sqrt(states)))
            grid = np.stack(np.divmod(g.permutation(states), side), axis=1).astype(float)
            centres = grid[:, : min(2, columns)]
        emissions.append(draw_emission(g, kind, centres, request.nats + 0.6, tied))
    return latent_part("clusters", "clusters", table, emissions[0], emissions[1], request.tied)


def labelled_clusters(request: Request, g: Generator) -> Part:
    """A class label and columns whose density depends on the class; few of many columns, or many, inform."""
    least = int(np.ceil(np.exp(min(request.nats, 2.5)) * 1.3))
    classes = int(g.integers(max(2, least), max(9, least + 3)))
    prior = g.dirichlet(np.full(classes, log_uniform(g, 0.8, 20.0))) + 0.01
    centres = g.normal(
        size=(classes, _draw_informative_columns(g, min(request.columns[0], 12 if request.tied[0] else 128)))
    )
    x = draw_emission(g, request.x, centres, request.nats, request.tied[0], counts=g.random() < 0.15)
    return latent_part(
        "labelled_clusters", "classes", np.diag(prior / prior.sum()), x, Labels((np.eye(classes),)), request.tied
    )


def on_circle(angles: Array) -> Array:
    """Points of the unit circle [n, 2]."""
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def rings_and_tori(request: Request, g: Generator) -> Part:
    """Angles on circles: y's angle is a multiple of x's plus noise, both with noise in the plane."""
    winding = int(g.integers(1, 4)) * int(g.choice([-1, 1]))
    concentration = log_uniform(g, 0.5, 60.0)
    table = np.exp(concentration * (np.cos(ANGLES - winding * ANGLES[:, None]) - 1))
    table /= table.sum()
    emissions = []
    for kind, most, tied in request.sides:
        centres = on_circle(ANGLES)[:, :most]
        if most > 3 and g.random() < 0.4:
            centres = np.hstack([centres, on_circle(int(g.integers(2, 4)) * ANGLES)])
        emissions.append(draw_emission(g, kind, centres, request.nats + 0.7, tied, coarse=True))
    text = f"angles, winding {winding}, concentration {concentration:.2g}"
    return latent_part("rings_and_tori", text, table, emissions[0], emissions[1], request.tied)


def tori(request: Request, g: Generator) -> Part:
    """Two or three angles of x whose sum, plus von Mises noise, is the angle of y; radii vary by themselves.

    The noise turns a uniform angle, so I = log 2 pi - h(noise) (Mardia & Jupp 2000, section 3.5.4).
    """
    if request.columns[0] < 4 or request.columns[1] < 2 or any(request.tied):
        return rings_and_tori(request, g)
    angles, spread = int(g.integers(2, min(3, request.columns[0] // 2) + 1)), g.uniform(0.02, 0.4)

    def nats(concentration: float) -> float:
        scaled = special.i0e(concentration)
        return float(concentration * (special.i1e(concentration) / scaled - 1) - np.log(scaled))

    low, _ = bisected(lambda log: nats(np.exp(log)) < request.nats, np.log(0.05), np.log(3000.0), 40)
    concentration = float(np.exp(low))

    def circle(angle: Array, g: Generator) -> Array:
        return np.exp(spread * g.normal(size=(len(angle), 1))) * on_circle(angle)

    def draw(n: int, g: Generator) -> tuple[Sample, Sample]:
        turns = g.uniform(0, 2 * np.pi, (n, angles))
        y = circle(turns.sum(axis=1) + g.vonmises(0, concentration, n), g)
        return numbers(np.hstack([circle(turn, g) for turn in turns.T])), numbers(y)

    text = f"the sum of {angles} angles, concentration {concentration:.3g}"
    return Part("rings_and_tori", text, draw, lambda _: (nats(concentration), 0.0))


def shared_factors(request: Request, g: Generator) -> Part:
    """One latent position, observed twice: curves in many columns, images of a bump, its coordinates or class."""
    if request.columns[0] >= IMAGE_SIZES[0] ** 2 and request.x != "categories" and g.random() < 0.6:
        return _images(request, g)
    position = np.linspace(-1, 1, CURVE_STATES)
    prior = np.exp(-0.5 * (position * g.uniform(0, 2.5)) ** 2)
    table = np.diag(prior / prior.sum())
    emissions = []
    for kind, most, tied in request.sides:
        columns = _draw_informative_columns(g, min(most, 12 if tied else 96))
        frequencies = g.uniform(0.3, log_uniform(g, 0.6, 4.0), columns)
        centres = np.sin(np.pi * frequencies * position[:, None] + g.uniform(0, 2 * np.pi, columns))
        emissions.append(draw_emission(g, kind, centres, request.nats + 0.5, tied, coarse=True))
    return latent_part("shared_factors", "curves of one position", table, emissions[0], emissions[1], request.tied)


def _images(request: Request, g: Generator) -> Part:
    side = int(g.integers(IMAGE_SIZES[0], min(IMAGE_SIZES[1], int(np.sqrt(request.columns[0]))) + 1))
    along = np.linspace(0, 1, 9)  # positions along a side of the image
    positions = np.stack([c.ravel() for c in np.meshgrid(along, along)], axis=1)
    pixels = np.stack([c.ravel() for c in np.meshgrid(np.linspace(0, 1, side), np.linspace(0, 1, side))], axis=1)
    distance = ((positions[:, None] - pixels) ** 2).sum(axis=2)
    x = draw_emission(g, request.x, np.exp(-distance / 2 / g.uniform(0.08, 0.3) ** 2), request.nats + 0.6, False)
    if request.y != "categories":
        y = draw_emission(g, request.y, positions[:, : min(2, request.columns[1])], request.nats + 0.6, request.tied[1])
    else:
        classes = int(g.integers(2, 7))
        direction = positions @ g.normal(size=2)
        y = Labels((np.eye(classes)[np.argsort(np.argsort(direction)) * classes // len(direction)],))
    table = np.eye(len(positions)) / len(positions)
    return latent_part("shared_factors", f"{side} x {side} image of a position", table, x, y, (False, request.tied[1]))


def tuned_counts(request: Request, g: Generator) -> Part:
    """Count columns (neurons) tuned to an angle, against that angle, its sector or other neurons."""
    emissions = []
    for kind, most, neurons in zip((request.x, request.y), request.columns, (True, g.random() < 0.4)):
        columns = _draw_informative_columns(g, min(most, 64))
        centres = np.cos(ANGLES[:, None] - g.uniform(0, 2 * np.pi, columns)) * np.exp(g.normal(0, 0.3, columns))
        if not neurons:
            centres = on_circle(ANGLES)[:, :most]
        emissions.append(draw_emission(g, kind, centres, request.nats + 0.5, False, counts=neurons, coarse=True))
    table = np.eye(len(ANGLES)) / len(ANGLES)
    return latent_part("counts", "tuning to an angle", table, emissions[0], emissions[1], (False, False))


def questionnaires(request: Request, g: Generator) -> Part:
    """Several ordered items of one trait against items, numbers or a class of a correlated trait."""
    trait = np.linspace(-3, 3, CURVE_STATES)
    rho = np.sqrt(-np.expm1(-2 * (request.nats + 0.2)))
    table = np.exp(-(trait[:, None] ** 2 + trait**2 - 2 * rho * trait[:, None] * trait) / 2 / (1 - rho**2))
    emissions = []
    for kind, most, tied in zip((request.x, request.y), request.columns, (True, request.tied[1])):
        loadings = g.uniform(0.3, 1.5, _draw_informative_columns(g, min(most, 24)))
        emissions.append(draw_emission(g, kind, trait[:, None] * loadings, request.nats + 1.0, tied, coarse=True))
    table /= table.sum()
    return latent_part("ordered_levels", "items of a trait", table, emissions[0], emissions[1], (True, request.tied[1]))


# --- channels between categories -----------------------------------------------------------------------------------
def draw_margin(g: Generator, size: int) -> Array:
    """Probabilities of categories: equal, random, or Zipf."""
    kind = pick(g, ("alike", "random", "Zipf"))
    if kind == "alike":
        return np.full(size, 1 / size)
    shares = g.dirichlet(np.full(size, 3.0)) if kind == "random" else np.arange(1.0, size + 1) ** -g.uniform(0.6, 1.6)
    return shares / shares.sum()


def weakened(table: Array, nats: float) -> Array:
    """The mixture of a table and the product of its margins with `nats` in common; the table where it has fewer."""
    product = table.sum(axis=1, keepdims=True) * table.sum(axis=0)
    noise, _ = bisected(lambda share: table_information((1 - share) * table + share * product) > nats, 0.0, 1.0, 30)
    return (1 - noise) * table + noise * product


def draw_channel(g: Generator, nats: float) -> tuple[str, Array]:
    """A joint table of two categories with about `nats` in common where it can have them."""
    least = int(np.ceil(np.exp(min(nats, 4.5))))
    x_size = log_uniform_int(g, max(2, least), MAX_CATEGORIES if g.random() < 0.35 else max(12, 3 * least))
    y_size = x_size if g.random() < 0.4 else log_uniform_int(g, 2, max(12, x_size))
    kind = pick(g, ("function", "neighbours", "random table"))
    margin = draw_margin(g, x_size)
    if kind == "function":
        image = g.permutation(np.arange(x_size) % y_size)
        full = margin[:, None] * np.eye(y_size)[image]
    elif kind == "neighbours":
        a, b = np.arange(x_size)[:, None] / x_size, np.arange(y_size) / y_size
        band = np.exp(-0.5 * ((a - b) / g.uniform(0.01, 0.25)) ** 2) + 1e-12
        full = margin[:, None] * band / band.sum(axis=1, keepdims=True)
    else:
        full = margin[:, None] * g.dirichlet(np.full(y_size, log_uniform(g, 0.02, 1.0)), size=x_size)
    full /= full.sum()
    return f"{kind} of {x_size} in {y_size} categories", weakened(full, nats)


def discrete_channel(request: Request, g: Generator) -> Part:
    """Two categories with a known joint table; as numbers, the codes are spread as ordered values."""
    text, table = draw_channel(g, request.nats)
    cells = cell_sampler(table)
    emissions = [
        (request.x, np.sort(g.normal(size=table.shape[0]))),
        (request.y, np.sort(g.normal(size=table.shape[1]))),
    ]
    whole = g.random() < 0.6

    def draw(n: int, g: Generator) -> tuple[Sample, Sample]:
        x, y = (
            categories(codes) if kind == "categories" else numbers(codes.astype(float) if whole else values[codes])
            for codes, (kind, values) in zip(cells(n, g), emissions)
        )
        return x, y

    tied = (request.x != "categories", request.y != "categories")
    return Part("discrete_channel", text, draw, lambda _: (table_information(table), 0.0), tied)


def associations(request: Request, g: Generator) -> Part:
    """Two categories of a log-linear table: P(y | x) is exp of products of scores (RC models, Goodman 1979)."""
    least = int(np.ceil(1.3 * np.exp(min(request.nats, 3.5))))
    x_size, y_size = (log_uniform_int(g, max(2, least), max(40, 3 * least)) for _ in range(2))
    x_margin, y_margin = draw_margin(g, x_size), draw_margin(g, y_size)
    scores = int(g.integers(1, 5))
    products = g.normal(size=(x_size, scores)) @ g.normal(size=(scores, y_size))

    def of(strength: float) -> Array:
        logs = strength * products + np.log(y_margin)
        given = np.exp(logs - logs.max(axis=1, keepdims=True))
        return x_margin[:, None] * given / given.sum(axis=1, keepdims=True)

    strength, _ = bisected(
        lambda log: table_information(of(np.exp(log))) < request.nats, np.log(0.01), np.log(30.0), 30
    )
    text = f"{scores} scores of {x_size} and {y_size} categories"
    emissions = [Labels((np.eye(size),)) for size in (x_size, y_size)]
    return latent_part("associations", text, of(float(np.exp(strength))), emissions[0], emissions[1])


def hidden_classes(request: Request, g: Generator) -> Part:
    """Category columns of hidden classes (latent class analysis, Lazarsfeld & Henry 1968): each column has its own
    probabilities in every class, and the classes of x and y have a table.
    """
    least = int(np.ceil(1.3 * np.exp(min(request.nats, 2.3))))
    x_classes, y_classes = (int(g.integers(max(2, least), max(9, least + 3))) for _ in range(2))
    table = weakened(draw_table(g, x_classes, y_classes, request.nats), 2 * request.nats)
    emissions = []
    for classes, (kind, most, tied) in zip(table.shape, request.sides):
        items = []
        for _ in range(_draw_informative_columns(g, min(most, 12))):
            levels = log_uniform_int(g, max(2, least), 24)
            weights = log_uniform(g, 0.02, 1.0) * levels * draw_margin(g, levels)
            items.append(g.dirichlet(weights + 0.01, size=classes))
        labels = Labels(tuple(items))
        if kind == "both":
            columns = _columns(
                g, g.normal(size=(classes, _draw_informative_columns(g, min(most, 12)))), request.nats + 0.6, tied
            )
            emissions.append(Several(columns, labels))
        else:
            emissions.append(labels)
    return latent_part("hidden_classes", "hidden classes", table, emissions[0], emissions[1], request.tied)


def look_up(request: Request, g: Generator) -> Part:
    """y is looked up in a table of the levels of two to four columns of x together: sums modulo a number, of which no
    column informs alone, a conjunction, or a random table.
    """
    count = int(g.integers(2, 5))
    sizes = [int(g.integers(2, 6 if count < 4 else 4)) for _ in range(count)]
    levels = np.stack([axis.ravel() for axis in np.meshgrid(*(np.arange(size) for size in sizes), indexing="ij")], 1)
    margins = [draw_margin(g, size) if g.random() < 0.3 else np.full(size, 1 / size) for size in sizes]
    of_cells = np.prod([margin[column] for margin, column in zip(margins, levels.T)], axis=0)
    kind = pick(g, ("sum", "sum", "conjunction", "random"))
    if kind == "sum":
        states = levels.sum(axis=1) % min(sizes)
    elif kind == "conjunction":
        states = (levels >= [g.integers(1, size) for size in sizes]).all(axis=1).astype(int)
    else:
        states = g.integers(int(g.integers(2, 7)), size=len(levels))
    states = np.unique(states, return_inverse=True)[1]
    table = weakened(of_cells[:, None] * np.eye(states.max() + 1)[states], request.nats * 1.3)
    codes = np.stack([g.permutation(size)[column] for size, column in zip(sizes, levels.T)], axis=1)
    items = tuple(np.eye(size)[column] for size, column in zip(sizes, codes.T))
    if request.x == "categories":
        x: Emission = Labels(items)
    else:
        numeric = count if request.x == "numbers" else int(g.integers(1, count))
        x = _columns(g, codes[:, :numeric].astype(float), log_uniform(g, 4.0, 30.0), request.tied[0])
        x = x if numeric == count else Several(x, Labels(items[numeric:]))
    centres = g.normal(size=(states.max() + 1, _draw_informative_columns(g, min(request.columns[1], 12))))
    y = draw_emission(g, request.y, centres, request.nats + 1.0, request.tied[1])
    return latent_part("look_up", f"{kind} of {' x '.join(map(str, sizes))} levels", table, x, y, request.tied)
