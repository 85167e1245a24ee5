"""How many labels are wrong: a model of label noise, fitted to held-out probabilities.

    p(label j | x) = sum over true classes k of p(k | x) T[k, j]

p(k | x) are the model's log odds, calibrated: a temperature, a shift of each class, a
matrix. T[k, j] is the probability that class k is labelled j (Natarajan et al. 2013).
Both are fitted by penalised maximum likelihood at several overall rates of wrong
labels, weighted by the marginal likelihood (Laplace). A rate is identified by how often
the labels contradict the model where it is certain; where it never is, the interval is
wide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator
from scipy.optimize import brentq, minimize
from scipy.special import ndtr, softmax

from infoscope.estimators.result import Estimate

LABELS = "labels"  # the unit of numbers of labels
RATES = 7  # overall rates of wrong labels that are fitted
MAX_RATE = 0.4
STEPS = 400  # of the interpolation between them
# classes up to which log odds are mixed and each pair of classes has its own rate
MAX_MATRIX = 30
TEMPERATURE = 3.0  # standard deviations of the penalties
SHIFT = 1.0
MIXING = 0.5
PAIR = 1.5
FIXED = 1e-3  # factor of those of parameters that are held near 0
PREFERENCE = 3.0  # log prior odds of noise that is the same for all pairs
# shares of natural mistakes that look certain, equally probable
MISFITS = np.linspace(0.0, 0.2, 5)
LOWEST = -100.0  # log probability that stands for lower ones

Array = NDArray[np.float64]


class Level(NamedTuple):
    """The fit at one overall rate.

    rate        its log odds
    evidence    log marginal likelihood
    posterior   [n, classes], of each true class, given the label
    transition  [classes, classes], of each label, given the true class
    odds        [n, classes], scaled
    covariance  [parameters, parameters]
    unsure      number of items whose class the model would mistake by nature
    """

    rate: float
    evidence: float
    posterior: Array
    transition: Array
    odds: Array
    covariance: Array
    unsure: float


@dataclass(frozen=True, eq=False)
class LabelNoise:
    """The fitted noise of n labels.

    levels  fits at rates from 1 / n to `MAX_RATE`, each pair of classes with its own
    even    fits at these rates, the same for all pairs of classes, without and with shifts
    """

    model: NoiseModel
    levels: Sequence[Level]
    even: Sequence[Level]

    @cached_property
    def posterior(self) -> Array:
        """The probability of each true class [n, classes]: the mean over all fits by
        their evidence, so that few wrong labels do not decide which classes are
        confused.
        """
        levels = [*self.levels, *self.even]
        evidence = np.array([level.evidence for level in levels])
        evidence[: len(self.levels)] -= PREFERENCE
        posterior = 0
        for weight, level in zip(softmax(evidence), levels):
            posterior = posterior + weight * level.posterior
        return posterior

    @property
    def wrong(self) -> Array:
        """The probability that each label is wrong [n]."""
        right = (self.posterior * self.model.indicators).sum(axis=1)
        return 1.0 - right

    def number(self, mask: NDArray[np.bool_]) -> Estimate:
        """The number of items whose true class is in the mask [n, classes], with its 95
        % interval.

        >>> logs = np.log([[0.9, 0.1], [0.1, 0.9]] * 50)
        >>> noise = fit_noise(logs, np.array([0, 1] * 50))
        >>> noise.number(np.eye(2, dtype=bool)[[1, 0] * 50]).low
        0.0
        """
        mean, error, weights = self.mixture(mask)
        most = float(mask.any(axis=1).sum())

        def quantile(level: float) -> float:
            def excess(number: float) -> float:
                probability = ndtr((number - mean) / error)
                return float((weights * probability).sum()) - level

            if excess(0.0) >= 0.0:
                return 0.0
            if excess(most) > 0.0:
                return brentq(excess, 0.0, most)
            return most

        low = float(np.floor(quantile(0.025)))
        median = round(quantile(0.5))
        high = float(np.ceil(quantile(0.975)))
        centre = (weights * mean).sum()
        variance = (weights * (error**2 + (mean - centre) ** 2)).sum()
        deviation = float(np.sqrt(variance))
        return Estimate(
            median, deviation, LABELS, len(mask), "label noise", interval=(low, high)
        )

    def mixture(self, mask: NDArray[np.bool_]) -> tuple[Array, Array, Array]:
        """Means, standard errors and weights [rates, misfits] of normal distributions
        of the number in a mask.
        """
        rates = [level.rate for level in self.levels]
        fine = np.linspace(rates[0], rates[-1], STEPS)
        moments = [self.moments(level, mask) for level in self.levels]
        mean, variance, unsure, evidence = PchipInterpolator(rates, moments)(fine).T
        by_noise = np.maximum(1.0 - MISFITS * unsure[:, None], 0.0)
        means = mean[:, None] * by_noise
        error = np.sqrt(np.maximum(variance, 1e-12))
        errors = np.broadcast_to(error[:, None], means.shape)
        weight = softmax(evidence) * (1.0 / len(MISFITS))
        weights = np.broadcast_to(weight[:, None], means.shape)
        return means, errors, weights

    def moments(
        self, level: Level, mask: NDArray[np.bool_]
    ) -> tuple[float, float, float, float]:
        """Mean and variance of the number in a mask, natural mistakes by wrong labels,
        and evidence of one level.
        """
        mean, variance = self.model.moments(level, mask)
        wrong, _ = self.model.moments(level, self.model.indicators == 0)
        return mean, variance, level.unsure / wrong, level.evidence


def fit_noise(logs: Array, codes: NDArray[np.int64], share: float = 1.0) -> LabelNoise:
    """The noise of labels, from held-out log probabilities.

    logs   [n, classes], of models that were not trained on the item
    codes  [n], the labels
    share  independent groups per row; below 1, errors are larger
    """
    model = NoiseModel(logs, codes, share)
    without_shifts = _levels(model, 1)
    with_shifts = _levels(model, 2)
    all_free = _levels(model, len(model.ends) + 1)
    return LabelNoise(model, all_free, without_shifts + with_shifts)


def _levels(model: NoiseModel, free: int) -> list[Level]:
    """The fits at all rates; the parameters after the first kinds, so many as are free,
    are held near 0.
    """
    ends = [*model.ends, len(model.deviations)]
    deviations = model.deviations.copy()
    deviations[ends[free - 1] :] *= FIXED
    parameters = np.zeros(len(deviations))
    levels = []
    for rate in np.geomspace(1.0 / len(model.codes), MAX_RATE, RATES):
        log_odds = float(np.log(rate / (1.0 - rate)))
        parameters, level = model.fit(parameters, log_odds, deviations)
        levels.append(level)
    return levels


class NoiseModel:
    """Log odds and labels, with the likelihood of parameters: log temperature, shifts,
    matrix, rates of pairs.
    """

    def __init__(self, logs: Array, codes: NDArray[np.int64], share: float):
        floored = np.maximum(logs, LOWEST)
        self.odds = floored - floored.mean(axis=1, keepdims=True)
        self.codes = codes
        self.share = share
        self.classes = logs.shape[1]
        self.indicators = np.eye(self.classes)[codes]
        self.off = ~np.eye(self.classes, dtype=bool)
        detailed = self.classes <= MAX_MATRIX
        self.mixing = self.classes**2 if detailed and self.classes > 2 else 0
        row = np.nonzero(self.off)[0]
        # the rate of each pair of classes
        self.cell = np.arange(len(row)) if detailed else row
        self.cells = int(self.cell[-1]) + 1
        sizes = (1, self.classes - 1, self.mixing, self.cells)
        self.deviations = np.repeat([TEMPERATURE, SHIFT, MIXING, PAIR], sizes)
        self.ends = np.cumsum(sizes)[:-1]

    def parts(self, parameters: Array, rate: float) -> tuple[Array, Array, Array]:
        """Scaled log odds [n, classes], p(true class | x) [n, classes], transitions
        [classes, classes].
        """
        temperature, shifts, matrix, pairs = np.split(parameters, self.ends)
        scaled = np.exp(temperature) * self.odds
        logits = scaled + np.append(0.0, shifts)
        square = (self.classes, self.classes)
        if self.mixing:
            logits = logits + self.odds @ matrix.reshape(square).T
        rates = np.zeros(square)
        rates[self.off] = rate - np.log(self.classes - 1) + pairs[self.cell]
        transition = softmax(rates, axis=1)
        return scaled, softmax(logits, axis=1), transition

    def fit(self, start: Array, rate: float, deviations: Array) -> tuple[Array, Level]:
        """The parameters at one overall rate (log odds), and the level; deviations: of
        the penalties.
        """

        def loss(parameters: Array) -> tuple[float, Array]:
            scaled, prior, transition = self.parts(parameters, rate)
            joint = prior * transition[:, self.codes].T
            likelihood = joint.sum(axis=1)
            posterior = joint / likelihood[:, None]
            penalty = 0.5 * ((parameters / deviations) ** 2).sum()
            log_likelihood = np.log(likelihood).sum()
            slope = self.slope(posterior - prior, posterior, scaled, transition)
            value = penalty - self.share * log_likelihood
            gradient = parameters / deviations**2 - self.share * slope
            return value, gradient

        options = {"maxiter": 60, "ftol": 1e-6}
        fit = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)
        scaled, prior, transition = self.parts(fit.x, rate)
        joint = prior * transition[:, self.codes].T
        posterior = joint / joint.sum(axis=1, keepdims=True)
        information = np.diag(deviations**-2.0)
        logits = posterior - prior
        n = len(joint)
        for rows in np.array_split(np.arange(n), 1 + n // 1000):
            slopes = self.slopes(
                logits[rows], posterior[rows], scaled[rows], transition, rows
            )
            information += self.share * slopes.T @ slopes
        relative = information * np.outer(deviations, deviations)
        determinant = np.linalg.slogdet(relative)[1]
        evidence = -fit.fun - 0.5 * determinant
        unsure = float((1.0 - prior.max(axis=1)).sum())
        covariance = np.linalg.inv(information)
        level = Level(rate, evidence, posterior, transition, scaled, covariance, unsure)
        return fit.x, level

    def slope(
        self, logits: Array, changes: Array, scaled: Array, transition: Array
    ) -> Array:
        """The gradient of a sum over items by the parameters.

        logits   [n, classes], its derivative by the log odds of the true class
        changes  [n, classes], by log T[true class, label]
        """
        expected = changes.sum(axis=0)[:, None] * transition
        pairs = changes.T @ self.indicators - expected
        temperature = (logits * scaled).sum()
        shifts = logits.sum(axis=0)[1:]
        matrix = logits.T @ self.odds if self.mixing else np.empty(0)
        by_cell = np.bincount(self.cell, pairs[self.off])
        return np.concatenate([[temperature], shifts, matrix.ravel(), by_cell])

    def slopes(
        self,
        logits: Array,
        changes: Array,
        scaled: Array,
        transition: Array,
        rows: Array,
    ) -> Array:
        """The terms of `slope` of some rows [rows, parameters]."""
        n = len(rows)
        residual = self.indicators[rows][:, None, :] - transition
        pairs = changes[:, :, None] * residual
        temperature = (logits * scaled).sum(axis=1, keepdims=True)
        parts = [temperature, logits[:, 1:]]
        if self.mixing:
            matrix = logits[:, :, None] * self.odds[rows][:, None, :]
            parts.append(matrix.reshape(n, -1))
        by_cell = pairs[:, self.off]
        if by_cell.shape[1] > self.cells:
            by_cell = by_cell.reshape(n, self.classes, -1).sum(axis=2)
        return np.hstack([*parts, by_cell])

    def moments(self, level: Level, mask: NDArray[np.bool_]) -> tuple[float, float]:
        """Mean and variance of the number of items whose true class is in a mask [n,
        classes], at one level.
        """
        share = (level.posterior * mask).sum(axis=1, keepdims=True)
        changes = level.posterior * (mask - share)
        slope = self.slope(changes, changes, level.odds, level.transition)
        of_items = (share * (1.0 - share)).sum() / self.share
        of_parameters = slope @ level.covariance @ slope
        return float(share.sum()), float(of_items + of_parameters)
