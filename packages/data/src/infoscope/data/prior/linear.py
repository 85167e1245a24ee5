"""Families in many columns: normal, Student, linear factors, and labels by softmax."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from infoscope.data.information import bisected, student_information
from infoscope.data.prior import draws
from infoscope.data.prior.draws import (
    Array,
    Generator,
    log_uniform,
    log_uniform_int,
    mean_and_error,
    pick,
)
from infoscope.data.prior.emissions import BATCH
from infoscope.data.prior.maps import Columns, draw_mixing
from infoscope.data.prior.parts import Pair, Part, Request, categories, exactly, numbers
from infoscope.data.prior.quadrature import PILOT_ROWS
from infoscope.data.prior.scalar import label_of_numbers, normal_scores

MAX_CORRELATION = 0.999  # canonical
TRUTH_BATCHES = 12  # of BATCH rows, for the truth of a softmax


def split(g: Generator, nats: float, most: int) -> Array:
    """Information of each canonical pair, nats, with the sum `nats`.

    It is in one pair, in a few, about equally in all, or decays over the pairs.
    """
    kind = pick(g, ("one", "few", "dense", "decaying"))
    few = g.integers(1, 6)
    rank = most
    if kind == "one":
        rank = 1
    if kind == "few":
        rank = min(few, most)
    if kind == "decaying":
        rate = g.uniform(0.1, 1.0)
        weights = np.exp(-rate * np.arange(rank))
    else:
        weights = g.dirichlet(np.full(rank, 8.0))
    return nats * weights / weights.sum()


def _draw_sizes(request: Request, g: Generator) -> list[int]:
    """Numbers of columns of x and of y."""
    sizes = []
    for most in request.columns:
        size = min(most, draws.MAX_COMBINED)
        if g.random() < 0.6:
            size = log_uniform_int(g, 1, size)
        sizes.append(size)
    return sizes


@dataclass(frozen=True, eq=False)
class CanonicalPairs:
    """Normal x and y whose first columns are correlated one to one, and maps of them."""

    sizes: list[int]
    correlations: Array
    mix_x: Columns
    mix_y: Columns

    @property
    def nats(self) -> float:
        """The information of x and y, nats."""
        logs = np.log1p(-(self.correlations**2))
        return float(-0.5 * logs.sum())

    def draw(self, n: int, g: Generator) -> tuple[Array, Array]:
        """x and y of n rows before they are mixed."""
        rho = self.correlations
        pairs = len(rho)
        size_x, size_y = self.sizes
        x = g.normal(size=(n, size_x))
        y = g.normal(size=(n, size_y))
        noise = np.sqrt(1 - rho**2) * y[:, :pairs]
        y[:, :pairs] = rho * x[:, :pairs] + noise
        return x, y

    def mixed(self, x: Array, y: Array) -> Pair:
        """x and y as samples after mixing."""
        return numbers(self.mix_x(x)), numbers(self.mix_y(y))


def _draw_canonical(sizes: list[int], nats: float, g: Generator) -> CanonicalPairs:
    """Canonical pairs with an information of about `nats`, and random mixing maps."""
    nats_of_pairs = split(g, nats, min(sizes))
    rho = np.sqrt(-np.expm1(-2 * nats_of_pairs))
    rho = np.minimum(rho, MAX_CORRELATION)
    mixing = [draw_mixing(size, g) for size in sizes]
    return CanonicalPairs(sizes, rho, *mixing)


def normal(request: Request, g: Generator) -> Part:
    """A multivariate normal of canonical pairs; an invertible matrix mixes x, another y."""
    rounded = any(request.tied)
    if rounded:
        is_single = max(request.columns) == 1
        if is_single or g.random() < 0.4:
            return normal_scores(request, g, "normal")
    sizes = _draw_sizes(request, g)
    p, q = sizes
    pairs = _draw_canonical(sizes, request.nats, g)
    rho = pairs.correlations

    def draw(n, g):
        x, y = pairs.draw(n, g)
        return pairs.mixed(x, y)

    text = f"{p} + {q} normal with {len(rho)} canonical correlations"
    text += f", the largest {rho.max():.2g}"
    if not rounded:
        return Part("normal", text, draw, exactly(pairs.nats))
    step = log_uniform(g, 0.02, 0.35)  # in standard deviations of a column
    mixing_x = pairs.mix_x(np.eye(p))
    mixing_y = pairs.mix_y(np.eye(q))
    steps_x, loss_x = _rounding(mixing_x, rho, step)
    steps_y, loss_y = _rounding(mixing_y, rho, step)
    loss = loss_x + loss_y

    def draw_rounded(n, g):
        x, y = draw(n, g)
        counts_x = np.round(x.numbers / steps_x)
        counts_y = np.round(y.numbers / steps_y)
        return numbers(counts_x * steps_x), numbers(counts_y * steps_y)

    def truth(g):
        return pairs.nats - loss, 0.1 * loss

    text += f", every column rounded to at most {step:.2g} standard deviations"
    return Part("normal", text, draw_rounded, truth, (True, True))


def _rounding(mixing: Array, rho: Array, step: float) -> tuple[Array, float]:
    """Steps of every column, and the information, nats, that rounding to them destroys.

    To second order, rounding x to steps h lowers I by sum_i h_i^2 / 24 E(d_i log p(x|y)
    - d_i log p(x))^2. For normals the expectation is the difference of the precisions
    (after Widrow, Kollar & Liu 1996: quantisation as added noise).
    """
    variance_given_y = np.ones(len(mixing))
    variance_given_y[: len(rho)] -= rho**2
    unmixing = np.linalg.inv(mixing)
    unmixing_given_y = unmixing / variance_given_y
    precision = np.diag(unmixing @ unmixing.T)
    precision_given_y = np.diag(unmixing @ unmixing_given_y.T)
    spread = np.sqrt((mixing**2).sum(axis=0))
    # of a standard deviation given y and all other columns
    widest = 0.6 / np.sqrt(precision_given_y)
    steps = np.minimum(step * spread, widest)
    loss = steps**2 * (precision_given_y - precision)
    return steps, float(loss.sum() / 24)


def student(request: Request, g: Generator) -> Part:
    """A multivariate t of canonical pairs: all columns have one common random scale."""
    dof = log_uniform(g, 1.0, 30.0)
    if any(request.tied):
        return normal_scores(request, g, "student", dof)
    sizes = _draw_sizes(request, g)
    p, q = sizes
    nats_of_scale = student_information(p, q, dof)
    nats_of_pairs = max(request.nats - nats_of_scale, 0.0)
    pairs = _draw_canonical(sizes, nats_of_pairs, g)

    def draw(n, g):
        x, y = pairs.draw(n, g)
        squares = g.chisquare(dof, size=(n, 1))
        scale = np.sqrt(squares / dof)
        return pairs.mixed(x / scale, y / scale)

    text = f"{p} + {q} Student t({dof:.2g})"
    text += f", largest canonical correlation {pairs.correlations.max():.2g}"
    truth = exactly(nats_of_scale + pairs.nats)
    return Part("student", text, draw, truth)


def linear_factors(request: Request, g: Generator) -> Part:
    """Two noisy linear images of the same factors, as an embedding and another view."""
    p, q = _draw_sizes(request, g)
    return factors_part("shared_factors", p, q, request.nats, g)


def factors_part(family: str, p: int, q: int, nats: float, g: Generator) -> Part:
    """Noisy linear images of the same factors in p and q columns, of information `nats`."""
    most = max(2, min(p, q, 8))
    factors = int(g.integers(1, most + 1))
    loadings_x = g.normal(size=(p, factors))
    loadings_y = g.normal(size=(q, factors))
    noise_x = g.uniform(0.5, 1.5, p)
    noise_y = g.uniform(0.5, 1.5, q)

    scaled_x = loadings_x / noise_x[:, None] ** 2
    scaled_y = loadings_y / noise_y[:, None] ** 2

    def information(strength):
        precision_x = strength * scaled_x.T @ loadings_x
        precision_y = strength * scaled_y.T @ loadings_y
        precision_both = precision_x + precision_y
        precisions = np.stack([precision_x, precision_y, precision_both])
        _, logs = np.linalg.slogdet(np.eye(factors) + precisions)
        log_x, log_y, log_both = logs
        return 0.5 * float(log_x + log_y - log_both)

    def below(log_strength):
        strength = np.exp(log_strength)
        return information(strength) < nats

    log_strength, _ = bisected(below, -16.0, 8.0, 40)
    strength = float(np.exp(log_strength))

    def draw(n, g):
        z = g.normal(size=(n, factors)) * np.sqrt(strength)
        x = noise_x * g.normal(size=(n, p))
        x += z @ loadings_x.T
        y = noise_y * g.normal(size=(n, q))
        y += z @ loadings_y.T
        return numbers(x), numbers(y)

    text = f"{factors} linear factors in {p} + {q} columns, variance {strength:.2g}"
    truth = exactly(information(strength))
    return Part(family, text, draw, truth)


def _bent(projections: Array, kind: str) -> Array:
    """Features from projections of columns: linear, bounded or squared."""
    if kind == "linear":
        return projections
    if kind == "tanh":
        return np.tanh(2 * projections)
    return projections**2 - 1


def _divergences(chances: Array) -> Array:
    """KL divergence [n] of the label's distribution in each row from its margin."""
    margin = chances.mean(axis=0)
    return special.rel_entr(chances, margin).sum(axis=1)


def softmax_of_several(request: Request, g: Generator) -> Part:
    """A label whose logits are linear in features of projections of several columns."""
    if request.columns[0] == 1 or request.tied[0]:
        return label_of_numbers(request, g)
    most = min(request.columns[0], draws.MAX_COMBINED)
    columns = log_uniform_int(g, 2, most)
    classes = g.integers(2, 9)
    features = g.integers(2, 6)
    bend = pick(g, ("linear", "tanh", "square"))
    weights = g.normal(size=(columns, features))
    u = g.random(weights.shape)
    weights *= u < g.uniform(0.2, 1)
    lengths = np.linalg.norm(weights, axis=0)
    weights /= np.maximum(lengths, 0.3)
    to_logits = g.normal(size=(features, classes))
    offsets = g.normal(0, 0.7, classes)

    def probabilities(x, strength):
        bent = _bent(x @ weights, bend)
        logits = strength * bent @ to_logits + offsets
        return special.softmax(logits, axis=1)

    pilot = g.normal(size=(PILOT_ROWS, columns))

    def below(log_strength):
        chances = probabilities(pilot, np.exp(log_strength))
        return _divergences(chances).mean() < request.nats

    log_strength, _ = bisected(below, np.log(0.03), np.log(30.0), 12)
    strength = float(np.exp(log_strength))

    def draw(n, g):
        x = g.normal(size=(n, columns))
        chances = probabilities(x, strength)
        levels = np.cumsum(chances, axis=1)[:, :-1]
        above = g.random((n, 1)) > levels
        return numbers(x), categories(above.sum(axis=1))

    def truth(g):
        batches = []
        for _ in range(TRUTH_BATCHES):
            x = g.normal(size=(BATCH, columns))
            batches.append(probabilities(x, strength))
        chances = np.concatenate(batches)
        return mean_and_error(_divergences(chances))

    text = f"{classes} classes by softmax of {features} {bend} features"
    text += f" of {columns} columns, strength {strength:.2g}"
    return Part("label_of_numbers", text, draw, truth)
