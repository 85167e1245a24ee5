"""Families in many columns: normal, Student and linear factors in closed form, and
labels by softmax.
"""

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
    """Information of each canonical pair: in one, a few (low rank), all equal (dense),
    or decaying.
    """
    kind = pick(g, ("one", "few", "dense", "decaying"))
    few = g.integers(1, 6)
    ranks = {"one": 1, "few": min(few, most)}
    rank = ranks.get(kind, most)
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
    """Normal x and y of which the first columns are correlated one to one, and maps by
    which x and y are then mixed.
    """

    sizes: list[int]
    correlations: Array
    mix_x: Columns
    mix_y: Columns

    @property
    def nats(self) -> float:
        """The information of x and y."""
        logs = np.log1p(-(self.correlations**2))
        return float(-0.5 * logs.sum())

    def draw(self, n: int, g: Generator) -> tuple[Array, Array]:
        """x and y of n rows before they are mixed."""
        rho = self.correlations
        x, y = (g.normal(size=(n, size)) for size in self.sizes)
        pairs = len(rho)
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
    mix_x, mix_y = (draw_mixing(size, g) for size in sizes)
    return CanonicalPairs(sizes, rho, mix_x, mix_y)


def normal(request: Request, g: Generator) -> Part:
    """A multivariate normal with given canonical correlations, x and y each mixed by an
    invertible matrix.
    """
    rounded = any(request.tied)
    if rounded:
        is_single = max(request.columns) == 1
        if is_single or g.random() < 0.4:
            return normal_scores(request, g, "normal")
    p, q = sizes = _draw_sizes(request, g)
    pairs = _draw_canonical(sizes, request.nats, g)
    rho = pairs.correlations

    def draw(n, g):
        x, y = pairs.draw(n, g)
        return pairs.mixed(x, y)

    text = f"{p} + {q} normal with {len(rho)} canonical correlations, the largest {rho.max():.2g}"
    if not rounded:
        return Part("normal", text, draw, exactly(pairs.nats))
    step = log_uniform(g, 0.02, 0.35)  # in standard deviations of a column
    steps_x, loss_x = _rounding(pairs.mix_x(np.eye(p)), rho, step)
    steps_y, loss_y = _rounding(pairs.mix_y(np.eye(q)), rho, step)
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
    """Steps of every column, and the information that rounding to them destroys, to
    second order.

    Rounding x to steps h lowers I by sum_i h_i^2 / 24 E(d_i log p(x|y) - d_i log
    p(x))^2; for normals that is the difference of the precisions (after Widrow, Kollar
    & Liu 1996: quantisation as added noise).
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
    """A multivariate t with given canonical correlations and one common scale of all
    columns.
    """
    dof = log_uniform(g, 1.0, 30.0)
    if any(request.tied):
        return normal_scores(request, g, "student", dof)
    p, q = sizes = _draw_sizes(request, g)
    nats_of_scale = student_information(p, q, dof)
    nats_of_pairs = max(request.nats - nats_of_scale, 0.0)
    pairs = _draw_canonical(sizes, nats_of_pairs, g)

    def draw(n, g):
        x, y = pairs.draw(n, g)
        squares = g.chisquare(dof, size=(n, 1))
        scale = np.sqrt(squares / dof)
        return pairs.mixed(x / scale, y / scale)

    largest = pairs.correlations.max()
    text = (
        f"{p} + {q} Student t({dof:.2g}), largest canonical correlation {largest:.2g}"
    )
    nats = nats_of_scale + pairs.nats
    return Part("student", text, draw, exactly(nats))


def linear_factors(request: Request, g: Generator) -> Part:
    """Two noisy linear images of the same factors (an embedding and another view), in
    closed form.
    """
    p, q = _draw_sizes(request, g)
    return factors_part("shared_factors", p, q, request.nats, g)


def factors_part(family: str, p: int, q: int, nats: float, g: Generator) -> Part:
    """Noisy linear images of the same factors in p and q columns, with an information
    of `nats`.
    """
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
        precisions = np.stack([precision_x, precision_y, precision_x + precision_y])
        _, logs = np.linalg.slogdet(np.eye(factors) + precisions)
        log_ratio = logs[0] + logs[1] - logs[2]
        return 0.5 * float(log_ratio)

    def below(log_strength):
        strength = np.exp(log_strength)
        return information(strength) < nats

    log_strength, _ = bisected(below, -16.0, 8.0, 40)
    strength = float(np.exp(log_strength))

    def draw(n, g):
        z = g.normal(size=(n, factors)) * np.sqrt(strength)
        x = z @ loadings_x.T + noise_x * g.normal(size=(n, p))
        y = z @ loadings_y.T + noise_y * g.normal(size=(n, q))
        return numbers(x), numbers(y)

    text = f"{factors} linear factors in {p} + {q} columns, variance {strength:.2g}"
    truth = exactly(information(strength))
    return Part(family, text, draw, truth)


BENDS = {
    "linear": lambda z: z,
    "tanh": lambda z: np.tanh(2 * z),
    "square": lambda z: z**2 - 1,
}


def softmax_of_several(request: Request, g: Generator) -> Part:
    """A label whose logits are linear in features of several columns: projections,
    bends and squares of them.
    """
    if request.columns[0] == 1 or request.tied[0]:
        return label_of_numbers(request, g)
    most = min(request.columns[0], draws.MAX_COMBINED)
    columns = log_uniform_int(g, 2, most)
    classes = g.integers(2, 9)
    features = g.integers(2, 6)
    bend = pick(g, tuple(BENDS))
    weights = g.normal(size=(columns, features))
    weights *= g.random(weights.shape) < g.uniform(0.2, 1)
    lengths = np.linalg.norm(weights, axis=0)
    weights /= np.maximum(lengths, 0.3)
    to_logits = g.normal(size=(features, classes))
    offsets = g.normal(0, 0.7, classes)

    def probabilities(x, strength):
        bent = BENDS[bend](x @ weights)
        logits = strength * bent @ to_logits + offsets
        return special.softmax(logits, axis=1)

    def divergences(chances):
        """KL [n] of the label's distribution in each row from its margin."""
        margin = chances.mean(axis=0)
        terms = special.rel_entr(chances, margin)
        return terms.sum(axis=1)

    pilot = g.normal(size=(PILOT_ROWS, columns))

    def below(log_strength):
        chances = probabilities(pilot, np.exp(log_strength))
        return divergences(chances).mean() < request.nats

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
        return mean_and_error(divergences(chances))

    text = f"{classes} classes by softmax of {features} {bend} features of {columns} columns, strength {strength:.2g}"
    return Part("label_of_numbers", text, draw, truth)
