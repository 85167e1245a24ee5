"""Small networks as plain arrays, evaluated by numpy: they predict a distribution of
the information from figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logsumexp, softmax

COMPONENTS = 3  # of the mixture that a network predicts
LOG_SCALES = (-5.0, 3.0)  # limits of predicted log scales
BISECTIONS = 40  # of a quantile
LINEAR_BELOW = 0.05  # figures far below it are linear under asinh
MAX_INPUT = 4.0  # standard deviations at which inputs are clipped
Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Inputs:
    """Transform of figures to inputs of a network.

    Inputs are asinh of figures, standardised and clipped; missing ones are 0 and flagged.

    centre, spread  float32 [columns]
    flagged         int16 [f], the columns that are missing in some rows
    """

    centre: NDArray[np.float32]
    spread: NDArray[np.float32]
    flagged: NDArray[np.int16]

    @classmethod
    def of(cls, rows: Values) -> Inputs:
        """Fitted to rows [m, columns]."""
        is_finite = np.isfinite(rows)
        count = is_finite.sum(axis=0)
        divisor = np.maximum(count, 1)
        scaled = _asinh(rows)
        centre = scaled.sum(axis=0) / divisor
        deviations = np.where(is_finite, scaled - centre, 0.0)
        variance = (deviations**2).sum(axis=0) / divisor
        spread = np.where(variance > 0, np.sqrt(variance), 1.0)
        is_flagged = (count > 0) & (count < len(rows))
        flagged = np.flatnonzero(is_flagged).astype(np.int16)
        return cls(centre.astype(np.float32), spread.astype(np.float32), flagged)

    def __call__(self, rows: Values) -> NDArray[np.float32]:
        """The inputs [m, columns + f] of rows [m, columns]."""
        is_finite = np.isfinite(rows)
        standardised = (_asinh(rows) - self.centre) / self.spread
        clipped = np.clip(standardised, -MAX_INPUT, MAX_INPUT)
        bounded = np.where(is_finite, clipped, 0.0)
        is_missing = ~is_finite[:, self.flagged]
        return np.hstack([bounded, is_missing]).astype(np.float32)


def _asinh(rows: Values) -> Values:
    """asinh of figures [m, columns], linear near 0; 0 where a figure is missing."""
    finite = np.where(np.isfinite(rows), rows, 0.0)
    return np.arcsinh(finite / LINEAR_BELOW)


@dataclass(frozen=True, eq=False)
class Prediction:
    """A predicted distribution of the information of every sample.

    It has a point mass at 0, and else is a mixture of logistics.

    weights, centres, scales  float64 [m, k], of the log ratio of the information to the baseline
    nothing                   float64 [m], the probability that the information is exactly 0
    """

    weights: Values
    centres: Values
    scales: Values
    nothing: Values

    def __getitem__(self, rows: Any) -> Prediction:
        return Prediction(*(part[rows] for part in vars(self).values()))

    def log_odds(self, log_ratio: Values) -> Values:
        """Log odds [m] that the log ratio of a sample is at most `log_ratio` [m]."""
        standardised = (log_ratio[:, None] - self.centres) / self.scales
        log_weights = np.log(self.weights)
        log_shares_below = log_weights + log_expit(standardised)
        log_shares_above = log_weights + log_expit(-standardised)
        below = logsumexp(log_shares_below, axis=1)
        above = logsumexp(log_shares_above, axis=1)
        with np.errstate(divide="ignore"):
            log_nothing = np.log(self.nothing)
            log_something = np.log1p(-self.nothing)
        log_below = np.logaddexp(log_nothing, log_something + below)
        return log_below - (log_something + above)

    def quantile(self, log_odds: float, least: Values) -> Values:
        """Log ratios [m] with these log odds, by bisection.

        They are at least `least` [m], the log ratios of no information.
        """
        low = least
        quantiles = self.centres + self.scales * log_odds
        high = np.maximum(least, quantiles.max(axis=1))
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            is_above = self.log_odds(middle) >= log_odds
            low = np.where(is_above, low, middle)
            high = np.where(is_above, middle, high)
        return np.where(self.log_odds(least) >= log_odds, least, high)


@dataclass(frozen=True, eq=False)
class Networks:
    """Several networks with rectified hidden layers, each with 3 k + 1 outputs.

    The outputs are logits of weights, centres and log scales of k components, and the
    log odds of no information.

    inputs  shared by all
    layers  (weights float32 [networks, in, out], biases float32 [networks, 1, out]) of every layer
    """

    inputs: Inputs
    layers: Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]]

    def __call__(self, rows: Values) -> Prediction:
        """The prediction for figures [m, columns], with the components of all networks.

        A missing figure is nan. Networks differ where training data are few (deep ensembles: Lakshminarayanan et
        al. 2017).
        """
        *hidden, (last_weights, last_biases) = self.layers
        values = self.inputs(rows)[None]
        for weights, biases in hidden:
            values = np.maximum(values @ weights + biases, 0.0)
        values = values @ last_weights + last_biases
        outputs = values.astype(np.float64)  # [networks, m, 3 k + 1]
        logits, centres, log_scales = np.split(outputs[..., :-1], 3, axis=-1)
        log_scales = np.clip(log_scales, *LOG_SCALES)
        nothing = expit(outputs[..., -1])
        return Prediction(
            np.concatenate(softmax(logits, axis=-1) / len(outputs), axis=1),
            np.concatenate(centres, axis=1),
            np.concatenate(np.exp(log_scales), axis=1),
            nothing.mean(axis=0),
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays of the networks, by `network/part`."""
        arrays = {f"network/{part}": value for part, value in vars(self.inputs).items()}
        for place, (weights, biases) in enumerate(self.layers):
            arrays[f"network/weights{place}"] = weights
            arrays[f"network/biases{place}"] = biases
        return arrays

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Networks:
        """The networks that `arrays` describes."""
        inputs = Inputs(
            arrays["network/centre"],
            arrays["network/spread"],
            arrays["network/flagged"],
        )
        layers = []
        while f"network/weights{len(layers)}" in arrays:
            place = len(layers)
            weights = arrays[f"network/weights{place}"]
            biases = arrays[f"network/biases{place}"]
            layers.append((weights, biases))
        return cls(inputs, layers)
