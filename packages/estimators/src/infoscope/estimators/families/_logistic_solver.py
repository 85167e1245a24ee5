"""Logistic regressions of several subsets of the same rows.

With few weights, one Newton fit of all rows gives the start and a Hessian factor, with which every subset takes
quasi-Newton steps in float64 (own Hessians if it does not settle). With many, each subset is fitted by L-BFGS in
float32 (Nocedal & Wright 2006, algorithm 7.5), from the linear discriminant with shrunk covariance (Friedman 1989) and
in coordinates that whiten it. With fewer rows than columns either way uses the span of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from infoscope.errors import OutOfRange
from infoscope.estimators.families.protocol import Features
from infoscope.estimators.matmul import product, threads_for

OF_TWO, OF_MORE = 1024, 64  # weights of two classes, and of more together, up to which Newton's way is the shorter one
MUCH = 1 << 30  # multiplications of a Hessian's block, from which on it is float32
GAP, FLOAT32_GAP = 1e-10, 1e-7  # nats per row that the next step would still gain, at which to stop
CHORD_STEPS, NEWTON_STEPS, BFGS_STEPS = 40, 60, 500
MEMORY = 12  # pairs of steps and gradients
SHORTEST = 1e-6  # of a line search
SPAN = 1e-12  # of the largest squared length, below which a direction of the rows is rounding
SUFFICIENT = 1e-4  # share of the promised decrease that a step must keep (Armijo)
ROWS = 4096  # in one product, so that the scores stay in the cache
SHRINKAGE = 2.0  # added to the variances within classes: in between the penalty and the data shape the problem
STARTS = (1.0, 0.3, 0.1)  # shares of the discriminant's weights to try: it overshoots where classes are not Gaussian

Weights = tuple[np.ndarray, np.ndarray]
"""Weights [d, classes] and intercepts [classes] of inputs as they are given."""
Loss = Callable[[Tensor], tuple[float, Tensor]]


def fit_logistic(
    x: np.ndarray, y: np.ndarray, classes: int, subsets: Sequence[np.ndarray], penalties: Sequence[float]
) -> list[Weights]:
    """Weights of least summed log loss + penalty / 2 * |weights|^2, for every subset (a mask [n]) under its penalty.

    x [n, d], y codes [n]. The penalty is on inputs standardised by the subset; with two classes on the one vector of
    log odds. Classes that a subset lacks have the intercept -inf.
    """
    scaling = Features.of(x, 1)
    standard = scaling(x)
    alike: dict[bytes, list[int]] = {}  # subsets that hold the same classes
    for place, rows in enumerate(subsets):
        alike.setdefault((np.bincount(y[rows], minlength=classes) > 0).tobytes(), []).append(place)
    found: list[Weights] = [(np.empty(0), np.empty(0))] * len(subsets)
    for key, places in alike.items():
        present = np.frombuffer(key, dtype=bool)
        rows = present[y]
        codes = (present.cumsum() - 1)[y[rows]]
        masks = np.stack([subsets[place][rows] for place in places])
        outputs = int(present.sum())
        thin = len(codes) < x.shape[1]
        width = 1 + (len(codes) if thin else x.shape[1])
        few = width <= OF_TWO if outputs == 2 else width * outputs <= OF_MORE
        newton = newton_in_span if thin else by_newton
        with threads_for(standard[rows].size * outputs):
            solve = newton if few and outputs > 1 else by_bfgs
            solved = solve(standard[rows], codes, masks, [penalties[place] for place in places])
        for place, (weights, intercepts) in zip(places, solved):
            every = np.zeros((x.shape[1], classes)), np.full(classes, -np.inf)
            every[0][:, present] = weights / scaling.scale[:, None]
            every[1][present] = intercepts - scaling.centre @ every[0][:, present]
            found[place] = every
    return found


def by_newton(x: np.ndarray, y: np.ndarray, masks: np.ndarray, penalties: Sequence[float]) -> list[Weights]:
    """`fit_logistic` of standardised inputs, where every subset holds every class."""
    lanes = Problem.of(x, y).solve(torch.as_tensor(masks).double(), penalties)
    return [of_every_class(lane) for lane in lanes]


def of_every_class(lane: Tensor) -> Weights:
    """Solved weights [p, k] as weights and intercepts of every class: those of the first of two are 0."""
    weights = lane.numpy()
    weights = np.hstack([np.zeros_like(weights), weights]) if weights.shape[1] == 1 else weights
    return weights[:-1], weights[-1]


def newton_in_span(x: np.ndarray, y: np.ndarray, masks: np.ndarray, penalties: Sequence[float]) -> list[Weights]:
    """`by_newton` of fewer rows than columns, one subset after another."""
    found = []
    for rows, penalty in zip(masks, penalties):
        own = Features.of(x[rows], 1)
        inputs, basis = in_span(torch.as_tensor(own(x[rows])))
        ridge = torch.full((1, inputs.shape[1] + 1), float(penalty), dtype=torch.float64)
        ridge[:, -1] = 0.0
        whole = torch.ones(1, len(inputs), dtype=torch.float64)
        weights, intercepts = of_every_class(Problem.of(inputs.numpy(), y[rows]).solve_under(whole, ridge)[0])
        found.append(of_unscaled(basis.numpy() @ weights, intercepts, own))
    return found


def in_span(inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Coordinates [n, r] of rows [n, d] in an orthonormal basis [d, r] of their span, and that basis (Kimeldorf & Wahba
    1971).
    """
    rows = inputs.double()
    values, vectors = torch.linalg.eigh(rows @ rows.T)
    kept = values > SPAN * values[-1].clamp_min(torch.finfo(values.dtype).tiny)
    scales, vectors = values[kept].sqrt(), vectors[:, kept]
    basis = rows.T @ (vectors / scales)
    return (vectors * scales).to(inputs.dtype), basis.to(inputs.dtype)


def of_unscaled(weights: np.ndarray, intercepts: np.ndarray, scaling: Features) -> Weights:
    """Weights and intercepts of standardised inputs as those of the inputs themselves."""
    weights = weights / scaling.scale[:, None]
    return weights, intercepts - scaling.centre @ weights


@dataclass(frozen=True, eq=False)
class Problem:
    """Standardised inputs with a one [n, p] and targets [n, k]; `steering` is the (float32) design for Hessians."""

    design: Tensor
    steering: Tensor
    targets: Tensor

    @classmethod
    def of(cls, x: np.ndarray, y: np.ndarray) -> Problem:
        codes = torch.as_tensor(y)
        targets = codes[:, None] if y.max() == 1 else functional.one_hot(codes)
        design = torch.as_tensor(np.hstack([x, np.ones((len(y), 1))]))
        much = design.numel() * design.shape[1] > MUCH
        return cls(design, design.float() if much else design, targets.double())

    @property
    def outputs(self) -> int:
        """Columns of weights: one for two classes, else one for each."""
        return self.targets.shape[1]

    def solve(self, masks: Tensor, penalties: Sequence[float]) -> list[Tensor]:
        """Weights [p, k] of every subset, masks [lanes, n], under its penalty."""
        lanes = [self.design.new_empty(0)] * len(masks)
        ridges = self._unit_ridges(masks)
        for penalty in dict.fromkeys(penalties):
            chosen = [lane for lane, own in enumerate(penalties) if own == penalty]
            found = self.solve_under(masks[chosen], penalty * ridges[chosen])
            for lane, weights in zip(chosen, found):
                lanes[lane] = weights
        return lanes

    def _unit_ridges(self, masks: Tensor) -> Tensor:
        """The squared scale of every input in every subset [lanes, p]; 0 for the intercept."""
        counts = masks.sum(dim=1, keepdim=True)
        means = masks @ self.design / counts
        ridges = (masks @ self.design**2 / counts - means**2).clamp_min_(0.0)
        ridges[ridges <= 1e-12] = 1.0  # constant in this subset: its weight is to be 0
        ridges[:, -1] = 0.0
        return ridges

    def solve_under(self, masks: Tensor, ridges: Tensor) -> list[Tensor]:
        """Weights [p, k] of every subset, masks [lanes, n], under ridges [lanes, p] on the weights."""
        union, ridge = masks.amax(dim=0), ridges.mean(dim=0)
        start, factor = self._newton(union, ridge, self._null(union))
        if len(masks) == 1:
            return [start]
        weights = start.repeat(len(masks), 1, 1)  # [lanes, p, k]
        active = torch.arange(len(masks))
        for _ in range(CHORD_STEPS):
            gradients = self._gradients(weights[active], masks[active], ridges[active])
            steps = self._steps(factor, gradients)
            gains = (steps * gradients).sum(dim=(1, 2)) / masks[active].sum(dim=1)
            weights[active] -= steps
            active = active[~(0.5 * gains < GAP)]
            if not len(active):
                break
        for lane in active.tolist():
            weights[lane] = self._newton(masks[lane], ridges[lane], self._null(masks[lane]))[0]
        return list(weights)

    def _null(self, mask: Tensor) -> Tensor:
        """The weights that state the class frequencies."""
        shares = ((mask[:, None] * self.targets).sum(dim=0) + 0.5) / (mask.sum() + 1.0)
        weights = torch.zeros(self.design.shape[1], self.outputs, dtype=torch.float64)
        weights[-1] = shares.logit() if self.outputs == 1 else shares.log()
        return weights

    def _probabilities(self, scores: Tensor) -> Tensor:
        """Class probabilities of scores [..., k]."""
        return scores.sigmoid() if self.outputs == 1 else scores.softmax(dim=-1)

    def _gradients(self, weights: Tensor, masks: Tensor, ridges: Tensor) -> Tensor:
        """Gradients of the penalised summed loss, of every lane [lanes, p, k]."""
        lanes, width, outputs = weights.shape
        scores = self.design @ weights.permute(1, 0, 2).reshape(width, lanes * outputs)
        residuals = self._probabilities(scores.view(-1, lanes, outputs)) - self.targets[:, None]
        residuals *= masks.T[:, :, None]
        flat = self.design.T @ residuals.view(-1, lanes * outputs)
        return flat.view(width, lanes, outputs).permute(1, 0, 2) + ridges[:, :, None] * weights

    def _steps(self, factor: Tensor, gradients: Tensor) -> Tensor:
        """The inverse Hessian times gradients [lanes, p, k]."""
        flat = gradients.permute(0, 2, 1).reshape(len(gradients), -1)
        return torch.cholesky_solve(flat.T, factor).T.reshape(len(flat), self.outputs, -1).permute(0, 2, 1)

    def _factor(self, weights: Tensor, mask: Tensor, ridge: Tensor) -> Tensor:
        """The Cholesky factor of the Hessian [p k, p k] of one lane, class by class."""
        p = self._probabilities(self.design @ weights)
        width, outputs = weights.shape
        hessian = torch.empty(outputs, width, outputs, width, dtype=torch.float64)
        for a in range(outputs):
            for b in range(a + 1):
                curvature = mask * p[:, a] * ((1.0 - p[:, a]) if a == b else -p[:, b])
                weighted = self.steering * curvature[:, None].to(self.steering.dtype)
                block = product(self.steering.T, weighted).double()
                block = 0.5 * (block + block.T)
                hessian[a, :, b], hessian[b, :, a] = block, block
        if outputs > 1:  # only differences of intercepts count: no gradient has a part along their sum, nor a step
            hessian[:, -1, :, -1] += float(mask.sum()) / outputs**2
        hessian = hessian.view(outputs * width, outputs * width)
        rounding = 100.0 * torch.finfo(self.steering.dtype).eps
        hessian.diagonal().add_(ridge.repeat(outputs) + rounding * float(hessian.diagonal().mean()))
        return torch.linalg.cholesky(hessian)

    def _newton(self, mask: Tensor, ridge: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        """The solution of one subset by Newton's method with step halving, and the last factor."""
        value, size = self._value(weights, mask, ridge), float(mask.sum())
        for _ in range(NEWTON_STEPS):
            factor = self._factor(weights, mask, ridge)
            gradient = self._gradients(weights[None], mask[None], ridge[None])
            step = self._steps(factor, gradient)[0]
            gain = 0.5 * float((step * gradient[0]).sum()) / size
            if gain < GAP:
                return weights - step, factor
            length = 1.0
            while not (tried := self._value(weights - length * step, mask, ridge)) < value and length > 1e-8:
                length /= 2.0
            weights, value = weights - length * step, tried
        raise OutOfRange(
            f"penalty is too small for the logistic regression to settle in {NEWTON_STEPS} Newton steps: its next step "
            f"would still gain {gain:.1e} nats per row; give a larger one."
        )

    def _value(self, weights: Tensor, mask: Tensor, ridge: Tensor) -> float:
        """The penalised summed loss."""
        scores = self.design @ weights
        if self.outputs == 1:
            losses = functional.softplus(scores) - self.targets * scores
        else:
            losses = scores.logsumexp(dim=1, keepdim=True) - (self.targets * scores).sum(dim=1, keepdim=True)
        return float(mask @ losses[:, 0] + 0.5 * (ridge[:, None] * weights**2).sum())


def by_bfgs(x: np.ndarray, y: np.ndarray, masks: np.ndarray, penalties: Sequence[float]) -> list[Weights]:
    """`fit_logistic` of standardised inputs, where every subset holds every class, one after another."""
    found = []
    for rows, penalty in zip(masks, penalties):
        own = Features.of(x[rows], 1)
        inputs = torch.as_tensor(own(x[rows]), dtype=torch.float32)
        basis = None
        if len(inputs) < inputs.shape[1]:
            inputs, basis = in_span(inputs)
        weights, intercepts = fit_one(inputs, torch.as_tensor(y[rows]), penalty)
        found.append(of_unscaled(weights if basis is None else basis.double().numpy() @ weights, intercepts, own))
    return found


def fit_one(inputs: Tensor, targets: Tensor, penalty: float) -> Weights:
    """The fit of all rows of standardised inputs [n, d]; targets hold each of 0..max."""
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

    weights = minimise(loss, discriminant(loss, means @ basis, prior))
    return (basis @ weights[:-1]).double().numpy(), weights[-1].double().numpy()


def whitening(inputs: Tensor, means: Tensor, targets: Tensor) -> Tensor:
    """A matrix [d, d] after which the (shrunk) covariance within classes of inputs [n, d] is the identity."""
    dim = inputs.shape[1]
    total, between = inputs.T @ inputs, means.T @ (means * torch.bincount(targets)[:, None])
    covariance = ((total - between) / len(inputs)).double() + SHRINKAGE * torch.eye(dim, dtype=torch.float64)
    values, vectors = torch.linalg.eigh(covariance)
    return (vectors / values.sqrt()).float()


def discriminant(loss: Loss, means: Tensor, prior: Tensor) -> Tensor:
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
    for _ in range(BFGS_STEPS):
        direction = -quasi_newton(gradient, pairs)
        slope = float((direction * gradient).sum())
        if -0.5 * slope < FLOAT32_GAP:
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
