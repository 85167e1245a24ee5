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
    """Inputs of a network from figures: asinh, standardised, clipped; missing ones are
    0 and flagged.

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
        scaled = np.arcsinh(np.where(is_finite, rows, 0.0) / LINEAR_BELOW)
        count = is_finite.sum(axis=0)
        centre = scaled.sum(axis=0) / np.maximum(count, 1)
        deviations = np.where(is_finite, scaled - centre, 0.0)
        variance = (deviations**2).sum(axis=0) / np.maximum(count, 1)
        spread = np.where(variance > 0, np.sqrt(variance), 1.0)
        flagged = np.flatnonzero((count > 0) & (count < len(rows)))
        return cls(
            centre.astype(np.float32),
            spread.astype(np.float32),
            flagged.astype(np.int16),
        )

    def __call__(self, rows: Values) -> NDArray[np.float32]:
        """The inputs [m, columns + f] of rows [m, columns]."""
        is_finite = np.isfinite(rows)
        scaled = np.arcsinh(np.where(is_finite, rows, 0.0) / LINEAR_BELOW)
        standardised = (scaled - self.centre) / self.spread
        clipped = np.clip(standardised, -MAX_INPUT, MAX_INPUT)
        bounded = np.where(is_finite, clipped, 0.0)
        return np.hstack([bounded, ~is_finite[:, self.flagged]]).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Prediction:
    """A distribution of the information of every sample: nothing with a probability,
    else a mixture of logistics.

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
        """The log odds [m] that the information is at most that of the log ratios [m]."""
        standardised = (log_ratio[:, None] - self.centres) / self.scales
        log_weights = np.log(self.weights)
        below = logsumexp(log_weights + log_expit(standardised), axis=1)
        above = logsumexp(log_weights + log_expit(-standardised), axis=1)
        with np.errstate(divide="ignore"):
            log_nothing = np.log(self.nothing)
            log_something = np.log1p(-self.nothing)
        log_below = np.logaddexp(log_nothing, log_something + below)
        return log_below - (log_something + above)

    def quantile(self, log_odds: float, least: Values) -> Values:
        """The log ratios [m] with these log odds, by bisection, at least `least` [m],
        those of no information.
        """
        low = least
        high = np.maximum(least, (self.centres + self.scales * log_odds).max(axis=1))
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            beyond = self.log_odds(middle) >= log_odds
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        return np.where(self.log_odds(least) >= log_odds, least, high)


@dataclass(frozen=True, eq=False)
class Networks:
    """Several networks with rectified hidden layers, each with 3 k + 1 outputs for a
    sample.

    The outputs are logits of weights, centres and log scales of k components, and the
    log odds of no information.

    inputs  shared by all
    layers  (weights float32 [networks, in, out], biases float32 [networks, 1, out]) of every layer
    """

    inputs: Inputs
    layers: Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]]

    def __call__(self, rows: Values) -> Prediction:
        """The prediction for rows [m, columns], with the components of all networks;
        nan is a missing value.

        Networks differ where training data are few (deep ensembles: Lakshminarayanan et
        al. 2017).
        """
        values = self.inputs(rows)[None]
        for place, (weights, biases) in enumerate(self.layers):
            values = values @ weights + biases
            if place + 1 < len(self.layers):
                values = np.maximum(values, 0.0)
        outputs = values.astype(np.float64)  # [networks, m, 3 k + 1]
        logits, centres, log_scales = np.split(outputs[..., :-1], 3, axis=-1)
        weights = softmax(logits, axis=-1) / len(outputs)
        scales = np.exp(np.clip(log_scales, *LOG_SCALES))
        components = [
            np.concatenate(list(part), axis=1) for part in (weights, centres, scales)
        ]
        return Prediction(*components, expit(outputs[..., -1]).mean(axis=0))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Its arrays by `network/part`."""
        arrays = {f"network/{part}": value for part, value in vars(self.inputs).items()}
        for place, (weights, biases) in enumerate(self.layers):
            arrays[f"network/weights{place}"] = weights
            arrays[f"network/biases{place}"] = biases
        return arrays

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Networks:
        """The networks whose `arrays` these are."""
        inputs = Inputs(
            *(arrays[f"network/{part}"] for part in Inputs.__dataclass_fields__)
        )
        layers = []
        while f"network/weights{len(layers)}" in arrays:
            weights = arrays[f"network/weights{len(layers)}"]
            biases = arrays[f"network/biases{len(layers)}"]
            layers.append((weights, biases))
        return cls(inputs, layers)
