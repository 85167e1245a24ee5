"""How many labels are wrong: a model of label noise, fitted to held-out probabilities.

    p(label j | x) = sum over true classes k of p(k | x) T[k, j]

p(k | x) follows from the model's log odds, calibrated by a temperature, a shift of each
class and a mixing matrix. T[k, j] is the probability that class k is labelled j
(Natarajan et al. 2013). All parameters are fitted by penalised maximum likelihood at
several overall rates of wrong labels. Fits are weighted by their marginal likelihood
(Laplace). A rate is identified by how often the labels contradict the model where the
model is certain; where the model is never certain, the interval is wide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator
from scipy.optimize import minimize, root_scalar
from scipy.special import ndtr, softmax

from infoscope.estimators.result import Estimate

LABELS = "labels"  # the unit of numbers of labels
RATES = 7  # overall rates of wrong labels that are fitted
MAX_RATE = 0.4
STEPS = 400  # of the interpolation between the rates
# classes up to which log odds are mixed and each pair of classes has its own rate
MAX_MATRIX = 30
# standard deviations of the penalties on the four kinds of parameters
TEMPERATURE = 3.0
SHIFT = 1.0
MIXING = 0.5
PAIR = 1.5
FIXED = 1e-3  # factor of the standard deviations of parameters that are held near 0
PREFERENCE = 3.0  # log prior odds of noise that is the same for all pairs
# shares of natural mistakes that look certain, equally probable
MISFITS = np.linspace(0.0, 0.2, 5)
LOWEST = -100.0  # log probability that stands for lower ones
OPTIONS = {"maxiter": 60, "ftol": 1e-6}  # of the optimiser
ROWS_AT_ONCE = 1000

Array = NDArray[np.floating]
Mask = NDArray[np.bool_]


class Level(NamedTuple):
    """The fit at one overall rate.

    rate        the log odds of the rate
    evidence    log marginal likelihood
    posterior   [n, classes], probability of each true class, given x and the label
    transition  [classes, classes], probability of each label, given the true class
    odds        [n, classes], log odds at the fitted temperature
    covariance  [parameters, parameters]
    mistakes    expected number of items whose class the model mistakes by nature
    """

    rate: float
    evidence: float
    posterior: Array
    transition: Array
    odds: Array
    covariance: Array
    mistakes: float


@dataclass(frozen=True, eq=False)
class LabelNoise:
    """The fitted noise of n labels.

    levels  fits at rates from 1 / n to `MAX_RATE`, with a rate for each pair of classes
    even    fits at the same rates, equal for all pairs of classes, without and with shifts
    """

    model: NoiseModel
    levels: Sequence[Level]
    even: Sequence[Level]

    @cached_property
    def posterior(self) -> Array:
        """The probability of each true class [n, classes].

        The mean over all fits by their evidence: a few wrong labels do not decide which
        classes are confused.
        """
        levels = [*self.levels, *self.even]
        evidence = np.array([level.evidence for level in levels])
        evidence[: len(self.levels)] -= PREFERENCE
        posterior = np.zeros(self.model.indicators.shape)
        for weight, level in zip(softmax(evidence), levels):
            posterior = posterior + weight * level.posterior
        return posterior

    @property
    def wrong(self) -> Array:
        """The probability that each label is wrong [n]."""
        right = (self.posterior * self.model.indicators).sum(axis=1)
        return 1.0 - right

    def number(self, mask: Mask) -> Estimate:
        """The number of items whose true class is in the mask [n, classes], with its 95
        % interval.

        >>> logs = np.log([[0.9, 0.1], [0.1, 0.9]] * 50)
        >>> noise = fit_noise(logs, np.array([0, 1] * 50))
        >>> noise.number(np.eye(2, dtype=bool)[[1, 0] * 50]).low
        0.0
        """
        means, errors, weights = self.mixture(mask)
        most = float(mask.any(axis=1).sum())

        def quantile(level: float) -> float:
            def excess(number: float) -> float:
                probability = ndtr((number - means) / errors)
                return float((weights * probability).sum()) - level

            if excess(0.0) >= 0.0:
                return 0.0
            if excess(most) > 0.0:
                return root_scalar(excess, bracket=(0.0, most), method="brentq").root
            return most

        low = float(np.floor(quantile(0.025)))
        median = round(quantile(0.5))
        high = float(np.ceil(quantile(0.975)))
        centre = (weights * means).sum()
        squares = errors**2 + (means - centre) ** 2
        deviation = float(np.sqrt((weights * squares).sum()))
        interval = low, high
        n = len(mask)
        return Estimate(median, deviation, LABELS, n, "label noise", interval=interval)

    def mixture(self, mask: Mask) -> tuple[Array, Array, Array]:
        """Means, standard errors and weights of normal distributions of the number in a
        mask, which broadcast to [rates, misfits].
        """
        wrong_label = self.model.indicators == 0
        moments = []
        for level in self.levels:
            mean, variance = self.model.moments(level, mask)
            wrong, _ = self.model.moments(level, wrong_label)
            mistakes = level.mistakes / wrong
            moments.append((mean, variance, mistakes, level.evidence))
        rates = [level.rate for level in self.levels]
        interpolate = PchipInterpolator(rates, moments)
        fine_rates = np.linspace(rates[0], rates[-1], STEPS)
        mean, variance, mistakes, evidence = interpolate(fine_rates).T
        by_noise = np.maximum(1.0 - MISFITS * mistakes[:, None], 0.0)
        means = mean[:, None] * by_noise
        error = np.sqrt(np.maximum(variance, 1e-12))
        weight = softmax(evidence) * (1.0 / len(MISFITS))
        return means, error[:, None], weight[:, None]


def fit_noise(logs: Array, codes: NDArray[np.int64], share: float = 1.0) -> LabelNoise:
    """The noise of labels, from held-out log probabilities.

    logs   [n, classes], of models that were not trained on the item
    codes  [n], the labels
    share  independent groups per row; below 1, errors are larger
    """
    model = NoiseModel(logs, codes, share)
    without_shifts = _levels(model, 1)
    with_shifts = _levels(model, 2)
    all_free = _levels(model, 4)
    return LabelNoise(model, all_free, without_shifts + with_shifts)


def _levels(model: NoiseModel, free: int) -> list[Level]:
    """The fits at all rates with the first kinds of parameters free, and the other
    kinds held near 0.
    """
    deviations = model.deviations.copy()
    deviations[model.ends[free - 1] :] *= FIXED
    parameters = np.zeros(len(deviations))
    levels = []
    for rate in np.geomspace(1.0 / len(model.codes), MAX_RATE, RATES):
        log_odds = float(np.log(rate / (1.0 - rate)))
        parameters, level = model.fit(parameters, log_odds, deviations)
        levels.append(level)
    return levels


class NoiseModel:
    """Log odds and labels, with the likelihood of four kinds of parameters: the log
    temperature, shifts of classes, the mixing matrix, rates of pairs.

    indicators  [n, classes], 1 at the label
    unequal     [classes, classes], mask of pairs of different classes
    rate_of     [pairs], the parameter of each pair: the pair's, or its true class's
    deviations  [parameters], standard deviations of the penalties
    ends        [4], where each kind of parameters ends
    """

    def __init__(self, logs: Array, codes: NDArray[np.int64], share: float):
        floored = np.maximum(logs, LOWEST)
        self.odds = floored - floored.mean(axis=1, keepdims=True)
        self.codes = codes
        self.share = share
        self.classes = logs.shape[1]
        self.indicators = np.eye(self.classes)[codes]
        self.unequal = ~np.eye(self.classes, dtype=bool)
        self.rate_of = np.nonzero(self.unequal)[0]
        mixed = 0
        if self.classes <= MAX_MATRIX:
            self.rate_of = np.arange(len(self.rate_of))
            mixed = self.classes**2
        if self.classes == 2:  # the temperature suffices
            mixed = 0
        rates = int(self.rate_of[-1]) + 1
        sizes = (1, self.classes - 1, mixed, rates)
        self.deviations = np.repeat([TEMPERATURE, SHIFT, MIXING, PAIR], sizes)
        self.ends = np.cumsum(sizes)
        self.is_mixed = mixed > 0

    def parts(self, parameters: Array, rate: float) -> tuple[Array, Array, Array]:
        """Scaled log odds [n, classes], p(true class | x) [n, classes], transitions
        [classes, classes].
        """
        kinds = np.split(parameters, self.ends[:-1])
        temperature, shifts, matrix, rates_of_pairs = kinds
        scaled = np.exp(temperature) * self.odds
        logits = scaled + np.append(0.0, shifts)
        square = (self.classes, self.classes)
        if self.is_mixed:
            logits = logits + self.odds @ matrix.reshape(square).T
        rates = np.zeros(square)
        even_rate = rate - np.log(self.classes - 1)
        rates[self.unequal] = even_rate + rates_of_pairs[self.rate_of]
        transition = softmax(rates, axis=1)
        return scaled, softmax(logits, axis=1), transition

    def given_label(self, prior: Array, transition: Array) -> tuple[Array, Array]:
        """p(true class | x, label) [n, classes], and p(label | x) [n, 1]."""
        joint = prior * transition[:, self.codes].T
        likelihood = joint.sum(axis=1, keepdims=True)
        return joint / likelihood, likelihood

    def fit(self, start: Array, rate: float, deviations: Array) -> tuple[Array, Level]:
        """The parameters at one overall rate (log odds) with penalties of these standard
        deviations, and the level.
        """

        def loss(parameters: Array) -> tuple[float, Array]:
            scaled, prior, transition = self.parts(parameters, rate)
            posterior, likelihood = self.given_label(prior, transition)
            penalty = 0.5 * ((parameters / deviations) ** 2).sum()
            log_likelihood = np.log(likelihood).sum()
            slope = self.slope(posterior - prior, posterior, scaled, transition)
            value = penalty - self.share * log_likelihood
            gradient = parameters / deviations**2 - self.share * slope
            return value, gradient

        fit = minimize(loss, start, jac=True, method="L-BFGS-B", options=OPTIONS)
        scaled, prior, transition = self.parts(fit.x, rate)
        posterior, _ = self.given_label(prior, transition)
        information = np.diag(deviations**-2.0)
        logits = posterior - prior
        n = len(posterior)
        batches = np.array_split(np.arange(n), 1 + n // ROWS_AT_ONCE)
        for rows in batches:
            slopes = self.slopes(
                logits[rows], posterior[rows], scaled[rows], transition, rows
            )
            information += self.share * slopes.T @ slopes
        relative = information * np.outer(deviations, deviations)
        determinant = np.linalg.slogdet(relative)[1]
        evidence = -fit.fun - 0.5 * determinant
        covariance = np.linalg.inv(information)
        mistakes = float((1.0 - prior.max(axis=1)).sum())
        level = Level(
            rate, evidence, posterior, transition, scaled, covariance, mistakes
        )
        return fit.x, level

    def slope(
        self, logits: Array, changes: Array, scaled: Array, transition: Array
    ) -> Array:
        """The gradient of a sum over items by the parameters.

        logits   [n, classes], the derivative of an item by the log odds of a true class
        changes  [n, classes], the derivative of an item by log T[true class, label]
        """
        total = changes.sum(axis=0)
        expected = total[:, None] * transition
        pairs = changes.T @ self.indicators - expected
        temperature = (logits * scaled).sum()
        shifts = logits.sum(axis=0)[1:]
        matrix = np.empty(0)
        if self.is_mixed:
            matrix = logits.T @ self.odds
        rates = np.bincount(self.rate_of, pairs[self.unequal])
        return np.concatenate([[temperature], shifts, matrix.ravel(), rates])

    def slopes(
        self,
        logits: Array,
        changes: Array,
        scaled: Array,
        transition: Array,
        rows: NDArray[np.int64],
    ) -> Array:
        """The addends of `slope` for some rows [rows, parameters]."""
        n = len(rows)
        temperature = (logits * scaled).sum(axis=1, keepdims=True)
        parts = [temperature, logits[:, 1:]]
        if self.is_mixed:
            odds = self.odds[rows]
            matrix = logits[:, :, None] * odds[:, None, :]
            parts.append(matrix.reshape(n, -1))
        indicators = self.indicators[rows]
        residual = indicators[:, None, :] - transition
        pairs = changes[:, :, None] * residual
        rates = pairs[:, self.unequal]
        if self.classes > MAX_MATRIX:  # one rate for each true class
            rates = rates.reshape(n, self.classes, -1).sum(axis=2)
        return np.hstack([*parts, rates])

    def moments(self, level: Level, mask: Mask) -> tuple[float, float]:
        """Mean and variance of the number of items whose true class is in a mask [n,
        classes], at one rate.
        """
        share = (level.posterior * mask).sum(axis=1, keepdims=True)
        changes = level.posterior * (mask - share)
        slope = self.slope(changes, changes, level.odds, level.transition)
        variance_of_items = (share * (1.0 - share)).sum() / self.share
        variance_of_fit = slope @ level.covariance @ slope
        return float(share.sum()), float(variance_of_items + variance_of_fit)
