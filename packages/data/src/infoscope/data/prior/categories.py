"""Channels between categories: random tables, noisy channels, Zipf margins, up to 300 categories."""

from __future__ import annotations

import numpy as np
from scipy import special

from infoscope.data.prior.noise import Array, Generator, log_uniform, log_uniform_int, pick
from infoscope.data.prior.parts import Part, Request, Sample, categories, numbers
from infoscope.data.prior.quadrature import table_information
from infoscope.data.prior.scalar import label_of_numbers

MOST_CATEGORIES = 300
PILOT, BATCH, BATCHES = 2_000, 5_000, 12  # rows that set the strength, and of the Monte Carlo truth of softmax labels
STEPS = 30  # bisections of the noise of a channel


def draw_margin(g: Generator, size: int) -> Array:
    """Probabilities of categories: alike, random, or Zipf."""
    kind = pick(g, ("alike", "random", "Zipf"))
    if kind == "alike":
        return np.full(size, 1 / size)
    shares = g.dirichlet(np.full(size, 3.0)) if kind == "random" else np.arange(1.0, size + 1) ** -g.uniform(0.6, 1.6)
    return shares / shares.sum()


def draw_channel(g: Generator, nats: float) -> tuple[str, Array]:
    """A joint table of two categories with about `nats` in common where it can have them."""
    least = int(np.ceil(np.exp(min(nats, 4.5))))
    x_size = log_uniform_int(g, max(2, least), MOST_CATEGORIES if g.random() < 0.35 else max(12, 3 * least))
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
    product = full.sum(axis=1, keepdims=True) * full.sum(axis=0)
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        enough = table_information((1 - middle) * full + middle * product) > nats
        low, high = (middle, high) if enough else (low, middle)
    return f"{kind} of {x_size} in {y_size} categories, noise {low:.2g}", (1 - low) * full + low * product


def discrete_channel(request: Request, g: Generator) -> Part:
    """Two categories with a known joint table; as numbers, the codes are spread as ordered values."""
    text, table = draw_channel(g, request.nats)
    cumulated = np.cumsum(table.ravel())
    sides = [(request.x, np.sort(g.normal(size=table.shape[0]))), (request.y, np.sort(g.normal(size=table.shape[1])))]
    whole = g.random() < 0.6

    def draw(n: int, g: Generator) -> tuple[Sample, Sample]:
        cells = np.minimum(np.searchsorted(cumulated, g.random(n) * cumulated[-1], side="right"), table.size - 1)
        x, y = (
            categories(codes) if kind == "categories" else numbers(codes.astype(float) if whole else values[codes])
            for codes, (kind, values) in zip(np.divmod(cells, table.shape[1]), sides)
        )
        return x, y

    tied = (request.x != "categories", request.y != "categories")
    return Part("discrete_channel", text, draw, lambda _: (table_information(table), 0.0), tied)


def softmax_of_several(request: Request, g: Generator) -> Part:
    """A label whose logits are linear in features of several columns: projections, bends and squares of them."""
    if request.columns[0] == 1 or request.tied[0]:
        return label_of_numbers(request, g)
    columns, classes = log_uniform_int(g, 2, min(request.columns[0], 64)), int(g.integers(2, 9))
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

    pilot = g.normal(size=(PILOT, columns))
    low, high = np.log(0.03), np.log(30.0)
    for _ in range(12):
        middle = (low + high) / 2
        nats = ratios(probabilities(pilot, np.exp(middle))).mean()
        low, high = (middle, high) if nats < request.nats else (low, middle)
    strength = float(np.exp(low))

    def draw(n: int, g: Generator) -> tuple[Sample, Sample]:
        x = g.normal(size=(n, columns))
        levels = np.cumsum(probabilities(x, strength), axis=1)[:, :-1]
        return numbers(x), categories((g.random((n, 1)) > levels).sum(axis=1))

    def truth(g: Generator) -> tuple[float, float]:
        given = np.concatenate([probabilities(g.normal(size=(BATCH, columns)), strength) for _ in range(BATCHES)])
        values = ratios(given)
        return float(values.mean()), float(values.std() / np.sqrt(len(values)))

    text = f"{classes} classes by softmax of {features} {bend} features of {columns} columns, strength {strength:.2g}"
    return Part("label_of_numbers", text, draw, truth)
