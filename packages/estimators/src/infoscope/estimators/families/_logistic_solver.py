"""The fit of a multinomial logistic regression, fast enough to be repeated for every set of blocks and every fold.

A strictly convex problem has one solution, so only the way to it matters. Two things make it short: coordinates in
which the classes' common (shrunk) covariance is the identity, and a start from the linear discriminant with that
covariance (Friedman 1989), near the solution where the classes are Gaussian. From there limited-memory BFGS (Nocedal &
Wright 2006, algorithm 7.5) takes over, in float32 and with the products of `products`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from infoscope.estimators.matmul import product, threads_for

GAP = 1e-5  # nats per row that the next step would still gain, at which to stop
STEPS = 500
MEMORY = 12  # pairs of steps and gradients
SHORTEST = 1e-6  # of a line search
SUFFICIENT = 1e-4  # share of the promised decrease that a step must keep (Armijo)
ROWS = 4096  # in one product, so that the scores stay in the cache
SHRINKAGE = 2.0  # added to the variances within classes: in between the penalty and the data shape the problem
STARTS = (1.0, 0.3, 0.1)  # shares of the discriminant's weights to try: it overshoots where classes are not Gaussian

Loss = Callable[[Tensor], tuple[float, Tensor]]


def fit_logistic(x: np.ndarray, classes: np.ndarray, penalty: float) -> tuple[np.ndarray, np.ndarray]:
    """Weights [d, classes] and intercepts [classes] of least summed log loss + penalty / 2 * |weights|^2.

    x [n, d] standardised, classes [n] holding each of 0..max. With two classes the weights of the penalty are those of
    the log odds, one vector instead of two opposite ones.
    """
    with threads_for(x.size * (int(classes.max()) + 1)):
        return fitted(torch.as_tensor(x, dtype=torch.float32), torch.as_tensor(classes), penalty)


def fitted(inputs: Tensor, targets: Tensor, penalty: float) -> tuple[np.ndarray, np.ndarray]:
    """See `fit_logistic`."""
    n, dim = inputs.shape
    count = int(targets.max()) + 1
    means = torch.zeros(count, dim).index_add_(0, targets, inputs) / torch.bincount(targets)[:, None]
    basis = whitening(inputs, means, targets)
    design = torch.hstack([inputs @ basis, torch.ones(n, 1)])
    prior = (torch.bincount(targets) / n).log()
    ridge = penalty / n * (2.0 if count == 2 else 1.0) * (basis.T @ basis)

    def loss(weights: Tensor) -> tuple[float, Tensor]:
        value, gradient = mean_log_loss(design, targets, weights)
        pull = ridge @ weights[:-1]
        gradient[:-1] += pull
        return value + 0.5 * float((weights[:-1] * pull).sum()), gradient

    weights = minimise(loss, start(loss, means @ basis, prior))
    return (basis @ weights[:-1]).double().numpy(), weights[-1].double().numpy()


def whitening(inputs: Tensor, means: Tensor, targets: Tensor) -> Tensor:
    """A matrix [d, d] after which the (shrunk) covariance within classes of inputs [n, d] is the identity."""
    dim = inputs.shape[1]
    total, between = inputs.T @ inputs, means.T @ (means * torch.bincount(targets)[:, None])
    covariance = ((total - between) / len(inputs)).double() + SHRINKAGE * torch.eye(dim, dtype=torch.float64)
    values, vectors = torch.linalg.eigh(covariance)
    return (vectors / values.sqrt()).float()


def start(loss: Loss, means: Tensor, prior: Tensor) -> Tensor:
    """The linear discriminant [d + 1, classes] from whitened class means, scaled down where less of it fits better."""
    found = torch.vstack([torch.zeros_like(means.T), prior])
    best = loss(found)[0]
    for share in STARTS:
        tried = torch.vstack([share * means.T, prior - 0.5 * share * (means**2).sum(dim=1)])
        value = loss(tried)[0]
        if value < best:
            found, best = tried, value
    return found


def mean_log_loss(design: Tensor, targets: Tensor, weights: Tensor) -> tuple[float, Tensor]:
    """Mean log loss, nats, of scores design [n, p] @ weights [p, classes], and its gradient in the weights."""
    total, gradient = 0.0, torch.zeros_like(weights)
    for rows, own in zip(design.split(ROWS), targets.split(ROWS)):
        logs = product(rows, weights).log_softmax(dim=1)
        total -= float(logs.gather(1, own[:, None]).sum(dtype=torch.float64))
        excess = logs.exp_().scatter_add_(1, own[:, None], -torch.ones(len(own), 1))
        gradient += product(rows.T, excess)
    return total / len(design), gradient / len(design)


def minimise(loss: Loss, weights: Tensor) -> Tensor:
    """The minimum of a convex loss, by limited-memory BFGS with step halving."""
    value, gradient = loss(weights)
    pairs: list[tuple[Tensor, Tensor, float]] = []
    for _ in range(STEPS):
        direction = -quasi_newton(gradient, pairs)
        slope = float((direction * gradient).sum())
        if -0.5 * slope < GAP:
            break
        length = 1.0 if pairs else min(1.0, 1.0 / float(gradient.abs().sum()))
        while True:
            tried = weights + length * direction
            new_value, new_gradient = loss(tried)
            if new_value <= value + SUFFICIENT * length * slope:
                break
            length *= 0.5
            if length < SHORTEST:  # what is left to gain is below the rounding of float32
                return weights
        step, change = tried - weights, new_gradient - gradient
        curvature = float((step * change).sum())
        if curvature > 0.0:
            pairs = [*pairs[-MEMORY + 1 :], (step, change, curvature)]
        weights, value, gradient = tried, new_value, new_gradient
    return weights


def quasi_newton(gradient: Tensor, pairs: list[tuple[Tensor, Tensor, float]]) -> Tensor:
    """The inverse Hessian, as the last steps have it, times the gradient (Nocedal & Wright 2006, algorithm 7.4)."""
    found, factors = gradient.clone(), []
    for step, change, curvature in reversed(pairs):
        factor = float((step * found).sum()) / curvature
        factors.append(factor)
        found -= factor * change
    if pairs:
        step, change, curvature = pairs[-1]
        found *= curvature / float((change * change).sum())
    for (step, change, curvature), factor in zip(pairs, reversed(factors)):
        found += (factor - float((change * found).sum()) / curvature) * step
    return found
