"""Small networks as plain arrays, evaluated by numpy: they predict a distribution of the information from figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, stdtrit

DEGREES = 4.0  # of freedom of the predicted Student t
LINEAR_BELOW = 0.05  # figures far below it are linear under asinh
MAX_INPUT = 4.0  # standard deviations at which inputs are clipped


@dataclass(frozen=True, eq=False)
class Inputs:
    """Inputs of a network from figures: asinh, standardised, clipped; missing ones are 0 and flagged.

    centre, spread  float32 [columns]
    flagged         int16 [f], the columns that are missing in some rows
    """

    centre: NDArray[np.float32]
    spread: NDArray[np.float32]
    flagged: NDArray[np.int16]

    @classmethod
    def of(cls, rows: NDArray[np.float64]) -> Inputs:
        """Fitted to rows [m, columns]."""
        known = np.isfinite(rows)
        scaled = np.where(known, np.arcsinh(np.where(known, rows, 0.0) / LINEAR_BELOW), 0.0)
        count = np.maximum(known.sum(axis=0), 1)
        centre = scaled.sum(axis=0) / count
        spread = np.sqrt((np.where(known, scaled - centre, 0.0) ** 2).sum(axis=0) / count)
        flagged = np.flatnonzero(known.any(axis=0) & ~known.all(axis=0))
        spread = np.where(spread > 0, spread, 1.0)
        return cls(centre.astype(np.float32), spread.astype(np.float32), flagged.astype(np.int16))

    def __call__(self, rows: NDArray[np.float64]) -> NDArray[np.float32]:
        """The inputs [m, columns + f] of rows [m, columns]."""
        known = np.isfinite(rows)
        scaled = (np.arcsinh(np.where(known, rows, 0.0) / LINEAR_BELOW) - self.centre) / self.spread
        bounded = np.where(known, np.clip(scaled, -MAX_INPUT, MAX_INPUT), 0.0)
        return np.hstack([bounded, ~known[:, self.flagged]]).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Prediction:
    """A distribution for every sample: a two-piece Student t, and a probability that nothing is shared.

    mode, below, above  float64 [m], of the log ratio of the information to the baseline
    nothing             float64 [m], the probability that x and y share nothing
    """

    mode: NDArray[np.float64]
    below: NDArray[np.float64]
    above: NDArray[np.float64]
    nothing: NDArray[np.float64]

    def __getitem__(self, rows: Any) -> Prediction:
        return Prediction(*(part[rows] for part in vars(self).values()))

    def median(self) -> NDArray[np.float64]:
        """The median [m] of the Student t."""
        wider = np.maximum(self.below, self.above)
        away = wider * stdtrit(DEGREES, 1 - (self.below + self.above) / (4 * wider))
        return self.mode + np.where(self.above > self.below, away, -away)


@dataclass(frozen=True, eq=False)
class Networks:
    """Several networks with rectified hidden layers and four outputs: mode, log scales, log odds of nothing.

    inputs  shared by all
    layers  (weights float32 [networks, in, out], biases float32 [networks, 1, out]) of every layer
    """

    inputs: Inputs
    layers: Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]]

    def __call__(self, rows: NDArray[np.float64]) -> Prediction:
        """The prediction for rows [m, columns]; nan is a missing value.

        It is the mean of the networks' outputs, with the variance of their modes added to the squared scales: networks
        differ where training data are few (deep ensembles: Lakshminarayanan et al. 2017).
        """
        values = self.inputs(rows)[None]
        for place, (weights, biases) in enumerate(self.layers):
            values = values @ weights + biases
            if place + 1 < len(self.layers):
                values = np.maximum(values, 0.0)
        mode, below, above, nothing = values.mean(axis=0).astype(np.float64).T
        apart = values[..., 0].std(axis=0)
        return Prediction(mode, np.hypot(np.exp(below), apart), np.hypot(np.exp(above), apart), expit(nothing))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Its arrays by `network/part`."""
        found = {f"network/{part}": value for part, value in vars(self.inputs).items()}
        for place, (weights, biases) in enumerate(self.layers):
            found |= {f"network/weights{place}": weights, f"network/biases{place}": biases}
        return found

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Networks:
        """The networks whose `arrays` these are."""
        inputs = Inputs(*(arrays[f"network/{part}"] for part in Inputs.__dataclass_fields__))
        depth = sum(key.startswith("network/weights") for key in arrays)
        return cls(inputs, [(arrays[f"network/weights{at}"], arrays[f"network/biases{at}"]) for at in range(depth)])
