"""Logistic regression as a predictive family, with all folds and penalties in one computation.

The penalised loss is strictly convex in the weights, so a fit does not depend on where it starts. One Newton fit of all
rows gives a starting point and a Hessian; from there every subset of the rows is a lane that takes quasi-Newton steps
with that same factor (the chord method) and its own exact gradient. The lanes share their matrix products, a lane
that does not settle gets its own Hessians. Hessians only steer and are float32 (`estimators.products`); gradients are
float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.families.classifiers import Logistic as OneFit
from infoscope.estimators.families.classifiers import log_softmax
from infoscope.estimators.families.protocol import CLASSES, Features, Posterior, as_matrix, frequencies, needed
from infoscope.estimators.families.scikit import Standardised
from infoscope.estimators.matmul import product

LARGEST_HESSIAN = 4096  # columns; beyond, one fit after another by the estimators' own
MUCH = 1 << 30  # multiplications of a Hessian's block, from which on it is float32
GAP = 1e-10  # nats per row that the next step would still gain, at which to stop
CHORD_STEPS, NEWTON_STEPS = 40, 60
ASIDE = 5  # a fifth of a subset's groups chooses its penalty


@dataclass(frozen=True)
class Logistic:
    """Multinomial logistic regression: log odds linear in the features, penalty / 2 * |weights|^2 on the summed loss.

    penalty  positive; several: every subset takes the one of least log loss on a fifth of its own groups, when fitted
             on the rest of them, and is then fitted whole
    degree   of the polynomial of the inputs, products included

    Features are standardised by the rows that are fitted; powers are of inputs centred and scaled by all rows given,
    the inputs of held-out ones included. With two classes the penalty is on the one vector of the log
    odds. The intercept is free, so without an input the best member is the class frequencies.
    """

    penalty: float | tuple[float, ...] = 1.0
    degree: int = 1
    outcomes = (CLASSES,)

    def __post_init__(self) -> None:
        if not self.penalties or not all(penalty > 0.0 for penalty in self.penalties):
            raise ValueError(f"penalty must be one or more positive numbers, got {self.penalty!r}.")
        if self.degree < 1:
            raise ValueError(f"degree must be at least 1, got {self.degree!r}.")

    @property
    def penalties(self) -> tuple[float, ...]:
        return tuple(self.penalty) if isinstance(self.penalty, Sequence) else (self.penalty,)

    @property
    def name(self) -> str:
        penalties = " or ".join(f"{penalty:g}" for penalty in self.penalties)
        return f"logistic(penalty={penalties}{f', degree={self.degree}' if self.degree > 1 else ''})"

    def fit(
        self,
        x: Any | None,
        y: np.ndarray,
        classes: int | None = None,
        groups: np.ndarray | None = None,
        generator: np.random.Generator | None = None,
    ) -> Posterior:
        if x is None:
            return frequencies(y, classes)
        return self.fit_subsets(x, y, [np.ones(len(y), dtype=bool)], classes, groups, generator)[0]

    def fit_subsets(
        self,
        x: Any,
        y: np.ndarray,
        subsets: Sequence[np.ndarray],
        classes: int | None = None,
        groups: np.ndarray | None = None,
        generator: np.random.Generator | None = None,
    ) -> list[Posterior]:
        inputs = as_matrix("x", x)
        groups = np.arange(len(y)) if groups is None else groups
        features = Features.of(inputs, self.degree)
        found = features(inputs)
        columns = (found.shape[1] + 1) * (1 if needed(classes) == 2 else classes)
        if columns <= LARGEST_HESSIAN:
            fits: Fits = Problem.of(features, found, y, classes)
        else:
            fits = OneByOne(features, inputs, y, classes)
        penalties = [self.penalties[0]] * len(subsets)
        if len(self.penalties) > 1:
            penalties = self._choose(fits, inputs, y, subsets, groups, generator)
        return fits.posteriors(subsets, penalties)

    def _choose(
        self,
        fits: Fits,
        inputs: np.ndarray,
        y: np.ndarray,
        subsets: Sequence[np.ndarray],
        groups: np.ndarray,
        generator: np.random.Generator | None,
    ) -> list[float]:
        """The penalty of every subset."""
        generator = generator_or_default(generator)
        asides = []
        for rows in subsets:
            order = generator.permutation(np.unique(groups[rows]))
            if len(order) < 2:
                raise ValueError("groups must be at least 2 in every training set to choose a penalty, got 1.")
            asides.append(rows & np.isin(groups, order[: max(1, len(order) // ASIDE)]))
        losses = np.empty((len(self.penalties), len(subsets)))
        for place, penalty in enumerate(self.penalties):
            tried = fits.posteriors([rows & ~aside for rows, aside in zip(subsets, asides)], [penalty] * len(subsets))
            losses[place] = [-fit.log_density(inputs[aside], y[aside]).mean() for fit, aside in zip(tried, asides)]
        return [self.penalties[place] for place in losses.argmin(axis=0)]


class Fits(Protocol):
    """Fits of subsets of the same rows."""

    def posteriors(self, subsets: Sequence[np.ndarray], penalties: Sequence[float]) -> list[Posterior]:
        """The predictor of every subset (a mask [n]) under its penalty."""
        ...


@dataclass(frozen=True, eq=False)
class OneByOne:
    """One fit after another, by the estimators' own, where a Hessian would be too large."""

    features: Features
    inputs: np.ndarray
    y: np.ndarray
    classes: int

    def posteriors(self, subsets: Sequence[np.ndarray], penalties: Sequence[float]) -> list[Posterior]:
        return [self._posterior(rows, penalty) for rows, penalty in zip(subsets, penalties)]

    def _posterior(self, rows: np.ndarray, penalty: float) -> Posterior:
        fit = Standardised(OneFit(penalty)).fit(self.features(self.inputs[rows]), self.y[rows], self.classes)
        return Posterior(lambda new: fit.log_probabilities(self.features(new)))


@dataclass(frozen=True, eq=False)
class Problem:
    """Standardised features with a one beside them [n, p], and targets [n, k]: k is 1 for two classes, else one each.

    steering is the design for Hessians, in float32 where they cost much. standardised: inputs -> features.
    """

    standardised: Callable[[Any], np.ndarray]
    design: Tensor
    steering: Tensor
    targets: Tensor

    @classmethod
    def of(cls, features: Features, found: np.ndarray, y: np.ndarray, classes: int) -> Problem:
        """found [n, p - 1] are the features of the inputs."""
        outer = Features.of(found, 1)  # powers have other scales than what they are powers of
        design = torch.as_tensor(np.hstack([outer(found), np.ones((len(y), 1))]))
        codes = torch.as_tensor(y)
        targets = codes[:, None].double() if classes == 2 else functional.one_hot(codes, classes).double()
        much = design.numel() * design.shape[1] > MUCH
        return cls(lambda new: outer(features(new)), design, design.float() if much else design, targets)

    def posteriors(self, subsets: Sequence[np.ndarray], penalties: Sequence[float]) -> list[Posterior]:
        return [self._posterior(weights) for weights in self.solve(subsets, penalties)]

    @property
    def outputs(self) -> int:
        """Columns of weights: one for two classes, else one for each."""
        return self.targets.shape[1]

    def solve(self, subsets: Sequence[np.ndarray], penalties: Sequence[float]) -> list[Tensor]:
        """Weights [p, k] of every subset (a mask [n]) under its penalty."""
        lanes = [self.design.new_empty(0)] * len(subsets)
        masks = torch.as_tensor(np.stack(subsets)).double()
        ridges = self._unit_ridges(masks)
        for penalty in dict.fromkeys(penalties):
            chosen = [lane for lane, own in enumerate(penalties) if own == penalty]
            found = self._solve_lanes(masks[chosen], penalty * ridges[chosen])
            for lane, weights in zip(chosen, found):
                lanes[lane] = weights
        return lanes

    def _unit_ridges(self, masks: Tensor) -> Tensor:
        """The squared scale of every feature in every subset [lanes, p]; 0 for the intercept."""
        counts = masks.sum(dim=1, keepdim=True)
        means = product(masks, self.design) / counts
        ridges = (product(masks, self.design**2) / counts - means**2).clamp_min_(0.0)
        ridges[ridges <= 1e-12] = 1.0  # constant in this subset: its weight is to be 0
        ridges[:, -1] = 0.0
        return ridges

    def _solve_lanes(self, masks: Tensor, ridges: Tensor) -> list[Tensor]:
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
        """Of scores [..., k]."""
        return scores.sigmoid() if self.outputs == 1 else scores.softmax(dim=-1)

    def _gradients(self, weights: Tensor, masks: Tensor, ridges: Tensor) -> Tensor:
        """Of the penalised summed loss, of every lane [lanes, p, k]."""
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
        raise ValueError(
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

    def _posterior(self, weights: Tensor) -> Posterior:
        """The predictor with these weights."""

        def predict(new: Any) -> np.ndarray:
            features = torch.as_tensor(self.standardised(new))
            scores = (features @ weights[:-1] + weights[-1]).numpy()
            return log_softmax(np.hstack([np.zeros_like(scores), scores]) if self.outputs == 1 else scores)

        return Posterior(predict)
