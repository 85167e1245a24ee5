"""Families in many columns: normal, Student and linear factors in closed form, and labels by softmax."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from infoscope.data.information import bisected, student_information
from infoscope.data.prior import draws
from infoscope.data.prior.draws import Array, Generator, log_uniform, log_uniform_int, mean_and_error, pick
from infoscope.data.prior.latent import BATCH
from infoscope.data.prior.maps import Columns, draw_mixing
from infoscope.data.prior.parts import Part, Request, Sample, categories, numbers
from infoscope.data.prior.quadrature import PILOT_ROWS
from infoscope.data.prior.scalar import label_of_numbers, normal_scores


def split(g: Generator, nats: float, most: int) -> Array:
    """Information of each canonical pair: in one, a few (low rank), all equal (dense), or decaying."""
    kind = pick(g, ("one", "few", "dense", "decaying"))
    rank = {"one": 1, "few": int(g.integers(1, 6)), "dense": most, "decaying": most}[kind]
    rank = min(rank, most)
    weights = np.exp(-np.arange(rank) * g.uniform(0.1, 1.0)) if kind == "decaying" else g.dirichlet(np.full(rank, 8.0))
    return nats * weights / weights.sum()


def _columns(request: Request, g: Generator) -> tuple[int, int]:
    limits = [min(most, draws.MAX_COMBINED) for most in request.columns]
    x, y = (log_uniform_int(g, 1, most) if g.random() < 0.6 else most for most in limits)
    return x, y


def _canonical(p: int, q: int, nats: float, g: Generator) -> tuple[Array, float, list[Columns], Callable]:
    """Canonical correlations and their information (about `nats`), mixing maps of x and y, draws before these."""
    rho = np.minimum(np.sqrt(-np.expm1(-2 * split(g, nats, min(p, q)))), 0.999)  # largest correlation

    def draw(n: int, g: Generator) -> tuple[Array, Array]:
        x, y = g.normal(size=(n, p)), g.normal(size=(n, q))
        y[:, : len(rho)] = rho * x[:, : len(rho)] + np.sqrt(1 - rho**2) * y[:, : len(rho)]
        return x, y

    return rho, float(-0.5 * np.log1p(-(rho**2)).sum()), [draw_mixing(size, g) for size in (p, q)], draw


def normal(request: Request, g: Generator) -> Part:
    """A multivariate normal with given canonical correlations, x and y each mixed by an invertible matrix."""
    rounded = any(request.tied)
    if rounded and (max(request.columns) == 1 or g.random() < 0.4):
        return normal_scores(request, g, "normal")
    p, q = _columns(request, g)
    rho, nats, mixes, correlated = _canonical(p, q, request.nats, g)
    mix_x, mix_y = mixes

    def draw(n: int, g: Generator) -> tuple[Sample, Sample]:
        x, y = correlated(n, g)
        return numbers(mix_x(x)), numbers(mix_y(y))

    text = f"{p} + {q} normal with {len(rho)} canonical correlations, the largest {rho.max():.2g}"
    if not rounded:
        return Part("normal", text, draw, lambda _: (nats, 0.0))
    step = log_uniform(g, 0.02, 0.35)  # in standard deviations of a column
    (steps_x, loss_x), (steps_y, loss_y) = (_rounding(m(np.eye(d)), rho, step) for m, d in ((mix_x, p), (mix_y, q)))

    def draw_rounded(n: int, g: Generator) -> tuple[Sample, Sample]:
        x, y = draw(n, g)
        return numbers(np.round(x.numbers / steps_x) * steps_x), numbers(np.round(y.numbers / steps_y) * steps_y)

    loss = loss_x + loss_y
    text += f", every column rounded to at most {step:.2g} standard deviations"
    return Part("normal", text, draw_rounded, lambda _: (nats - loss, 0.1 * loss), (True, True))


def _rounding(mixing: Array, rho: Array, step: float) -> tuple[Array, float]:
    """Steps of every column, and the information that rounding to them destroys, to second order.

    Rounding x to steps h lowers I by sum_i h_i^2 / 24 E(d_i log p(x|y) - d_i log p(x))^2; for normals that is the
    difference of the precisions (after Widrow, Kollar & Liu 1996: quantisation as added noise).
    """
    given = np.ones(len(mixing))
    given[: len(rho)] -= rho**2
    inverse = np.linalg.inv(mixing)
    alone, beside = (inverse @ (inverse / variance[None, :]).T for variance in (np.ones(len(mixing)), given))
    spread, precision = np.sqrt((mixing**2).sum(axis=0)), np.diag(beside)
    steps = np.minimum(step * spread, 0.6 / np.sqrt(precision))  # of a standard deviation given all other columns
    return steps, float((steps**2 * (precision - np.diag(alone))).sum() / 24)


def student(request: Request, g: Generator) -> Part:
    """A multivariate t with given canonical correlations and one common scale of all columns."""
    dof = log_uniform(g, 1.0, 30.0)
    if any(request.tied):
        return normal_scores(request, g, "student", dof)
    p, q = _columns(request, g)
    common = student_information(p, q, dof)
    rho, linear, (mix_x, mix_y), correlated = _canonical(p, q, max(request.nats - common, 0.0), g)

    def draw(n: int, g: Generator) -> tuple[Sample, Sample]:
        x, y = correlated(n, g)
        scale = np.sqrt(g.chisquare(dof, size=(n, 1)) / dof)
        return numbers(mix_x(x / scale)), numbers(mix_y(y / scale))

    text = f"{p} + {q} Student t({dof:.2g}), largest canonical correlation {rho.max():.2g}"
    return Part("student", text, draw, lambda _: (common + linear, 0.0))


def linear_factors(request: Request, g: Generator) -> Part:
    """Two noisy linear images of the same factors (an embedding and another view), in closed form."""
    return factors_part("shared_factors", *_columns(request, g), request.nats, g)


def factors_part(family: str, p: int, q: int, aim: float, g: Generator) -> Part:
    """Noisy linear images of the same factors in p and q columns, with an information of `aim` nats."""
    factors = int(g.integers(1, max(2, min(p, q, 8)) + 1))
    a, b = g.normal(size=(p, factors)), g.normal(size=(q, factors))
    noise_x, noise_y = g.uniform(0.5, 1.5, p), g.uniform(0.5, 1.5, q)

    def nats(strength: float) -> float:
        gram_x = strength * (a / noise_x[:, None] ** 2).T @ a
        gram_y = strength * (b / noise_y[:, None] ** 2).T @ b
        eye = np.eye(factors)
        logs = [np.linalg.slogdet(eye + gram)[1] for gram in (gram_x, gram_y, gram_x + gram_y)]
        return 0.5 * float(logs[0] + logs[1] - logs[2])

    low, _ = bisected(lambda log: nats(np.exp(log)) < aim, -16.0, 8.0, 40)
    strength = float(np.exp(low))

    def draw(n: int, g: Generator) -> tuple[Sample, Sample]:
        z = g.normal(size=(n, factors)) * np.sqrt(strength)
        return numbers(z @ a.T + noise_x * g.normal(size=(n, p))), numbers(z @ b.T + noise_y * g.normal(size=(n, q)))

    text = f"{factors} linear factors in {p} + {q} columns, variance {strength:.2g}"
    return Part(family, text, draw, lambda _: (nats(strength), 0.0))


def softmax_of_several(request: Request, g: Generator) -> Part:
    """A label whose logits are linear in features of several columns: projections, bends and squares of them."""
    if request.columns[0] == 1 or request.tied[0]:
        return label_of_numbers(request, g)
    columns, classes = log_uniform_int(g, 2, min(request.columns[0], draws.MAX_COMBINED)), int(g.integers(2, 9))
    features, bend = int(g.integers(2, 6)), pick(g, ("linear", "tanh", "square"))
    weights = g.normal(size=(columns, features))
    weights *= g.random(weights.shape) < g.uniform(0.2, 1)
    weights /= np.maximum(np.linalg.norm(weights, axis=0), 0.3)
    to_logits, offsets = g.normal(size=(features, classes)), g.normal(0, 0.7, classes)

    def probabilities(x: Array, strength: float) -> Array:
        z = x @ weights
        z = {"linear": z, "tanh": np.tanh(2 * z), "square": z**2 - 1}[bend]
        return special.softmax(strength * z @ to_logits + offsets, axis=1)

    def ratios(given: Array) -> Array:
        return special.rel_entr(given, given.mean(axis=0)).sum(axis=1)

    pilot = g.normal(size=(PILOT_ROWS, columns))

    def below(log_strength: Array) -> bool:
        return ratios(probabilities(pilot, np.exp(log_strength))).mean() < request.nats

    strength = float(np.exp(bisected(below, np.log(0.03), np.log(30.0), 12)[0]))

    def draw(n: int, g: Generator) -> tuple[Sample, Sample]:
        x = g.normal(size=(n, columns))
        levels = np.cumsum(probabilities(x, strength), axis=1)[:, :-1]
        return numbers(x), categories((g.random((n, 1)) > levels).sum(axis=1))

    def truth(g: Generator) -> tuple[float, float]:
        batches = 12
        given = np.concatenate([probabilities(g.normal(size=(BATCH, columns)), strength) for _ in range(batches)])
        return mean_and_error(ratios(given))

    text = f"{classes} classes by softmax of {features} {bend} features of {columns} columns, strength {strength:.2g}"
    return Part("label_of_numbers", text, draw, truth)
