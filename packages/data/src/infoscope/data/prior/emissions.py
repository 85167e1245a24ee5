"""Columns that depend on a discrete latent state: numbers, labels or counts.

A subsystem has a state a of x and a state b of y with a known table. Given the states,
x and y are independent. The exact log ratio of a row is
log sum_ab P(a, b) p(x|a) p(y|b) - log p(x) - log p(y); its mean is by Monte Carlo.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from infoscope.data.information import table_information
from infoscope.data.prior.draws import (
    Array,
    Generator,
    log_uniform,
    mean_and_error,
    pick,
)
from infoscope.data.prior.noise import laplace_cdf
from infoscope.data.prior.parts import Part, Sample, categories, joined, numbers
from infoscope.data.prior.quadrature import TOLERANCE, Observation, draw_observation

BATCH = 5_000  # rows of a Monte Carlo batch
MAX_BATCHES = 24
MAX_CONTROLLED = 0.5  # nats; with more information the control variate is not used
MAX_CELLS = 1_500  # of a table of several category columns
MAX_SHAPED_COLUMNS = 24  # with noise of any shape; more columns have normal noise
DRAWN_SHAPES = ("normal", "normal", "t", "Laplace", "Gumbel")
OBSERVATIONS = ("rounding", "limit", "censoring", "levels", "levels")
LEAST = 1e-300  # probability


class NoiseShape(NamedTuple):
    """Draws of a size, log density up to a constant, and distribution function.

    Each takes the degrees of freedom.
    """

    draw: Callable
    log_density: Callable
    cdf: Callable


def _gumbel_rate(v: Array) -> Array:
    """exp(-v), bounded."""
    return np.exp(-np.maximum(v, -50))


SHAPES = {
    "normal": NoiseShape(
        lambda size, dof, g: g.normal(size=size),
        lambda v, dof: -0.5 * v**2,
        lambda v, dof: special.ndtr(v),
    ),
    "t": NoiseShape(
        lambda size, dof, g: g.standard_t(dof, size=size),
        lambda v, dof: -(dof + 1) / 2 * np.log1p(v**2 / dof),
        lambda v, dof: special.stdtr(dof, v),
    ),
    "Laplace": NoiseShape(
        lambda size, dof, g: g.laplace(size=size),
        lambda v, dof: -np.abs(v),
        lambda v, dof: laplace_cdf(v),
    ),
    "Gumbel": NoiseShape(
        lambda size, dof, g: g.gumbel(size=size),
        lambda v, dof: -v - _gumbel_rate(v),
        lambda v, dof: np.exp(-_gumbel_rate(v)),
    ),
}


@dataclass(frozen=True, eq=False)
class Columns:
    """Observed number columns, independent given the state.

    A column is centres[state] + scales[state] x noise of one shape before observation.
    """

    centres: Array  # [states, p]
    scales: Array | float  # [states, p], or 1.0
    shape: str = "normal"
    dof: float = 5.0
    observations: tuple[Observation | None, ...] = ()
    cells = None

    @property
    def name(self) -> str:
        text = f"{self.centres.shape[1]} columns with {self.shape} noise"
        if any(self.observations):
            text += ", observed"
        return text

    def sample(self, states: NDArray, g: Generator) -> Sample:
        centres = self.centres[states]
        shape = SHAPES[self.shape]
        noise = shape.draw(centres.shape, self.dof, g)
        scales = np.broadcast_to(self.scales, self.centres.shape)
        values = centres + scales[states] * noise
        for column, observation in zip(values.T, self.observations):
            if observation is not None:
                column[:] = observation.apply(column)
        return numbers(values)

    def log_density(self, sample: Sample) -> Array:
        """Log densities; log probabilities for values that are observed as atoms."""
        has_unit_scales = isinstance(self.scales, float)
        if self.shape == "normal" and has_unit_scales and not self.observations:
            squares = (self.centres**2).sum(axis=1)
            return sample.numbers @ self.centres.T - 0.5 * squares
        total = np.zeros((len(sample.numbers), len(self.centres)))
        scales = np.broadcast_to(self.scales, self.centres.shape)
        observations = self.observations or [None] * len(scales.T)
        columns = zip(sample.numbers.T, self.centres.T, scales.T, observations)
        for values, centre, scale, observation in columns:
            total += self._column_log_density(values, centre, scale, observation)
        return total

    def _column_log_density(
        self, values: Array, centre: Array, scale: Array, seen: Observation | None
    ) -> Array:
        """Log density [n, states] of one column."""
        shape = SHAPES[self.shape]
        scores = (values[:, None] - centre) / scale
        log_density = shape.log_density(scores, self.dof) - np.log(scale)
        if seen is None:
            return log_density
        edges = (seen.edges[:, None] - centre) / scale
        levels = shape.cdf(edges, self.dof)
        probabilities = np.diff(levels, axis=0, prepend=0.0, append=1.0)
        log_probabilities = np.log(np.maximum(probabilities, LEAST))
        interval = seen.interval(values)
        is_atom = seen.atoms[interval, None]
        return np.where(is_atom, log_probabilities[interval], log_density)


@dataclass(frozen=True, eq=False)
class Labels:
    """Category columns, independent given the state.

    channels   P(label | state) [states, labels] of each column
    """

    channels: tuple[Array, ...]

    @property
    def name(self) -> str:
        sizes = [str(channel.shape[1]) for channel in self.channels]
        return f"a label of {' x '.join(sizes)} classes"

    @property
    def cells(self) -> Array | None:
        sizes = [float(channel.shape[1]) for channel in self.channels]
        if np.prod(sizes) > MAX_CELLS:
            return None
        table, *others = self.channels
        for channel in others:
            products = table[:, :, None] * channel[:, None, :]
            table = products.reshape(len(table), -1)
        return table

    def sample(self, states: NDArray, g: Generator) -> Sample:
        columns = []
        for channel in self.channels:
            levels = np.cumsum(channel, axis=1)
            chances = g.random((len(states), 1))
            above = chances > levels[states, :-1]
            columns.append(above.sum(axis=1))
        return categories(np.stack(columns, axis=1))

    def log_density(self, sample: Sample) -> Array:
        total = np.zeros((len(sample.labels), len(self.channels[0])))
        for channel, codes in zip(self.channels, sample.labels.T):
            with np.errstate(divide="ignore"):
                log_channel = np.log(channel)
            total += log_channel.T[codes]
        return total


def exact_labels(states: int) -> Labels:
    """The state itself as a label."""
    return Labels((np.eye(states),))


@dataclass(frozen=True, eq=False)
class Counts:
    """Count columns: Poisson (infinite size) or negative binomial, of rates[state]."""

    rates: Array  # [states, p]
    size: float = np.inf
    cells = None

    @property
    def name(self) -> str:
        kind = "negative binomial"
        if np.isinf(self.size):
            kind = "Poisson"
        return f"{self.rates.shape[1]} {kind} count columns"

    def sample(self, states: NDArray, g: Generator) -> Sample:
        rates = self.rates[states]
        if np.isfinite(self.size):
            factors = g.gamma(self.size, size=rates.shape)
            rates = rates * factors / self.size
        counts = g.poisson(rates)
        return numbers(counts.astype(float))

    def log_density(self, sample: Sample) -> Array:
        log_rates = np.log(self.rates)
        if np.isinf(self.size):
            total = self.rates.sum(axis=1)
            return sample.numbers @ log_rates.T - total
        log_sizes = np.log(self.rates + self.size)
        log_shares = log_rates - log_sizes
        total = self.size * log_sizes.sum(axis=1)
        return sample.numbers @ log_shares.T - total


@dataclass(frozen=True, eq=False)
class Several:
    """Columns and labels of the same state."""

    columns: Columns | Counts
    labels: Labels
    cells = None

    @property
    def name(self) -> str:
        return f"{self.columns.name} and {self.labels.name}"

    def sample(self, states: NDArray, g: Generator) -> Sample:
        columns = self.columns.sample(states, g)
        labels = self.labels.sample(states, g)
        return joined([columns, labels])

    def log_density(self, sample: Sample) -> Array:
        of_columns = self.columns.log_density(sample)
        of_labels = self.labels.log_density(sample)
        return of_columns + of_labels


# Columns that depend on a state. Each has a name and
# cells                 P(labels | state) [states, cells]; None unless the columns are
#                       labels of few cells
# sample(states, g)     draws for states [n]
# log_density(sample)   under every state [n, states], up to terms of the sample alone
Emission = Columns | Labels | Counts | Several


# --- emissions drawn -------------------------------------------------------------------------------------------------
def draw_emission(
    g: Generator,
    kind: str,
    centres: Array,
    nats: float,
    tied: bool,
    counts: bool = False,
    coarse: bool = False,
) -> Emission:
    """Columns, labels or both with about `nats` of information about the states."""
    factor = np.exp(g.normal(0.2, 0.25))
    separation = factor * np.sqrt(np.expm1(2 * nats))
    if kind == "categories":
        return _draw_labels(g, len(centres), coarse)
    if counts:
        columns = _draw_counts(g, centres, separation)
    else:
        columns = draw_columns(g, centres, separation, tied)
    if kind == "numbers":
        return columns
    return Several(columns, _draw_labels(g, len(centres), coarse=True))


def draw_columns(
    g: Generator, centres: Array, separation: float, tied: bool
) -> Columns:
    """Columns about scaled centres.

    separation   root mean square distance of the scaled centres from their mean, in
                 standard deviations of noise
    """
    centres = centres - centres.mean(axis=0)
    squares = (centres**2).sum(axis=1)
    spread = np.sqrt(squares.mean())
    centres = centres * separation / max(spread, 1e-9)
    size = centres.shape[1]
    shape = "normal"
    if size <= MAX_SHAPED_COLUMNS:
        shape = pick(g, DRAWN_SHAPES)
    scales = 1.0
    if g.random() < 0.25:
        log_scales = g.normal(0, 0.3, centres.shape)
        scales = np.exp(log_scales)
    dof = log_uniform(g, 2.5, 10.0)
    columns = Columns(centres, scales, shape, dof)
    if not tied:
        return columns
    states = g.integers(len(centres), size=1_000)
    pilot = columns.sample(states, g).numbers
    all_observed = g.random() < 0.6
    kind = None
    if g.random() < 0.7:
        kind = pick(g, OBSERVATIONS)
    observations = []
    for values in pilot.T:
        observation = None
        if all_observed or g.random() < 0.5:
            observation = draw_observation(g, values, kind)
        observations.append(observation)
    return replace(columns, observations=tuple(observations))


def _draw_labels(g: Generator, states: int, coarse: bool) -> Labels:
    """The state itself, a coarser class of it, or either through noise."""
    channel = np.eye(states)
    if coarse or (states > 8 and g.random() < 0.5):
        most = max(2, min(states, 9))
        classes = int(g.integers(2, most + 1))
        class_of_state = np.arange(states) * classes // states
        if g.random() < 0.3 and not coarse:
            class_of_state = g.permutation(class_of_state)
        channel = np.eye(classes)[class_of_state]
    if g.random() < 0.4:
        noise = g.uniform(0.02, 0.4)
        channel = (1 - noise) * channel + noise / channel.shape[1]
    return Labels((channel,))


def _draw_counts(g: Generator, centres: Array, separation: float) -> Counts:
    """Counts whose log rates follow the centres.

    The slope is lower for higher counts, which carry more information.
    """
    mean = log_uniform(g, 0.5, 12.0)
    centres = centres - centres.mean(axis=0)
    spread = np.sqrt((centres**2).mean())
    centres = centres / max(spread, 1e-9)
    slope = separation / np.sqrt(mean * centres.shape[1])
    slope = np.clip(slope, 0.03, 1.5)
    size = np.inf
    if g.random() < 0.4:
        size = log_uniform(g, 1.0, 20.0)
    log_rates = np.clip(slope * centres, -4, 2.5)
    return Counts(mean * np.exp(log_rates), size)


# --- subsystems ------------------------------------------------------------------------------------------------------
def cell_sampler(table: Array) -> Callable[[int, Generator], tuple[NDArray, NDArray]]:
    """A function that draws rows and columns of a table of probabilities."""
    cumulated = np.cumsum(table.ravel())

    def draw(n, g):
        levels = g.random(n) * cumulated[-1]
        cells = np.searchsorted(cumulated, levels, side="right")
        cells = np.minimum(cells, table.size - 1)
        return np.divmod(cells, table.shape[1])

    return draw


def latent_part(
    family: str,
    text: str,
    table: Array,
    x: Emission,
    y: Emission,
    tied: tuple[bool, bool] = (False, False),
) -> Part:
    """The subsystem of a table P(a, b) of states and the emissions of x and y.

    tied   whether number columns of x and y are observed; counts always have ties
    """
    draw_states = cell_sampler(table)

    def draw(n, g):
        a, b = draw_states(n, g)
        return x.sample(a, g), y.sample(b, g)

    def truth(g):
        x_cells = x.cells
        y_cells = y.cells
        if x_cells is not None and y_cells is not None:
            joint = x_cells.T @ table @ y_cells
            return table_information(joint), 0.0

        def log_ratios(g):
            """Log ratios of rows; their means over the labels if x or y is labels."""
            x_sample, y_sample = draw(BATCH, g)
            if x_cells is not None:
                log_density = y.log_density(y_sample)
                return _divergences(log_density, table.T @ x_cells)
            log_density = x.log_density(x_sample)
            if y_cells is not None:
                return _divergences(log_density, table @ y_cells)
            return _log_ratios(table, log_density, y.log_density(y_sample))

        return monte_carlo(log_ratios, g)

    tied_x, tied_y = tied
    ties = (_has_ties(x, tied_x), _has_ties(y, tied_y))
    text = f"{text}: {x.name} against {y.name}"
    return Part(family, text, draw, truth, ties)


def _has_ties(emission: Emission, requested: bool) -> bool:
    """Whether the number columns have ties, as counts always do."""
    columns = emission.columns if isinstance(emission, Several) else emission
    if isinstance(columns, Columns):
        return requested
    return isinstance(columns, Counts)


def relative_likelihoods(log_density: Array) -> Array:
    """Likelihoods [n, states] of the states over the largest likelihood of the row."""
    largest = log_density.max(axis=1, keepdims=True)
    return np.exp(log_density - largest)


def _divergences(log_density: Array, joint: Array) -> Array:
    """KL divergences [n] of P(label | row) from P(label); joint: P(state, label)."""
    shares = relative_likelihoods(log_density) @ joint
    shares /= shares.sum(axis=1, keepdims=True)
    margin = joint.sum(axis=0)
    return special.rel_entr(shares, margin).sum(axis=1)


def _log_ratios(table: Array, log_density_x: Array, log_density_y: Array) -> Array:
    """log p(x, y) / p(x) p(y) of every row."""
    x = relative_likelihoods(log_density_x)
    y = relative_likelihoods(log_density_y)
    products = (x @ table) * y
    joint = products.sum(axis=1)
    margin_x = x @ table.sum(axis=1)
    margin_y = y @ table.sum(axis=0)
    return log_ratio(joint, margin_x * margin_y)


def log_ratio(joint: Array, product: Array) -> Array:
    """The logarithm of a ratio of densities, bounded where one is 0."""
    numerator = np.maximum(joint, LEAST)
    denominator = np.maximum(product, LEAST)
    return np.log(numerator) - np.log(denominator)


def monte_carlo(
    log_ratios: Callable[[Generator], Array], g: Generator
) -> tuple[float, float]:
    """The mean of log ratios and its standard error, with a control variate."""
    absolute, share = TOLERANCE
    logs = np.zeros(0)
    for _ in range(MAX_BATCHES):
        logs = np.concatenate([logs, log_ratios(g)])
        values = logs
        if (logs < 0).any():
            values = _controlled(logs)
        mean, error = mean_and_error(values)
        if error <= max(absolute, share * mean):
            break
    return mean, error


def _controlled(logs: Array) -> Array:
    """Log ratios L less their regression on the control variate 1 - exp(-L).

    E exp(-L) is the probability under p(x) p(y) of p(x, y) > 0. It is below 1 if some
    pairs are impossible, and hard to sample if they are rare. So the control is used
    only for little information, and only if its mean is 0 within its error.
    """
    bounded = np.clip(logs, -30, None)
    control = -np.expm1(-bounded)
    mean, error = mean_and_error(control)
    if logs.mean() > MAX_CONTROLLED or not 0 < abs(mean) < 3 * error:
        return logs
    covariance = np.cov(logs, control)[0, 1]
    slope = covariance / control.var()
    return logs - slope * control
