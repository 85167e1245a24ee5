"""Calibration of a joint classifier by one factor for each set of labels.

The log odds against the class frequencies are a sum over sets of labels (Moebius inversion), each part with a factor.
With one label that is temperature scaling (Guo et al. 2017) around the class frequencies.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from infoscope.estimators.classifier.inputs import JointLabels, combined
from infoscope.estimators.threads import threads_for

SLOPE_LIMITS = (-1.0, 10.0)  # separable labels would let it grow without end

Array = NDArray[np.float64]


def evidence(logs: Array, prior: Array, joint: JointLabels) -> Array:
    """Log odds log q / prior [m, classes] as a sum of parts [parts, m, classes], one for every set of labels."""
    table, frequencies = np.exp(logs), np.exp(np.broadcast_to(prior, logs.shape))
    parts: dict[tuple[str, ...], Array] = {}
    for size in range(1, len(joint.values) + 1):
        for names in combinations(joint.values, size):
            value = combined([joint.values[name] for name in names])
            belongs = np.eye(int(value.max()) + 1)[value]
            odds = (np.log(table @ belongs) - np.log(frequencies @ belongs))[:, value]
            parts[names] = odds - sum(part for of, part in parts.items() if set(of) < set(names))
    return np.stack(list(parts.values()))


def calibrating_slopes(parts: Array, prior: Array, classes: NDArray[np.int64]) -> tuple[Array, float]:
    """The slopes b [parts] that minimise the log loss of q ~ prior * exp(sum of b * part), and that loss, nats.

    parts [parts, m, classes], prior [m, classes] or [classes], classes [m]. The loss is convex in b.
    """
    features, start = parts.reshape(len(parts), -1).astype(np.float32), np.asarray(prior, np.float32)
    m, count = parts.shape[1:]
    chosen = np.take_along_axis(parts, classes[None, :, None], axis=2).mean(axis=(1, 2))

    def loss(slopes: Array) -> tuple[float, Array]:
        scores = start + (slopes.astype(np.float32) @ features).reshape(m, count)
        scores -= scores.max(axis=1, keepdims=True)
        odds = np.exp(scores)
        totals = odds.sum(axis=1)
        value = float((np.log(totals) - scores[np.arange(m), classes]).mean(dtype=np.float64))
        expected = (features @ (odds / totals[:, None]).ravel()).astype(np.float64) / m
        return value, expected - chosen

    limits = [SLOPE_LIMITS] * len(parts)
    with threads_for(parts.size):
        found = minimize(loss, np.ones(len(parts)), jac=True, bounds=limits, options={"ftol": 1e-8})
    return found.x, float(found.fun)


def calibrating_slope(logs: Array, prior: Array, classes: NDArray[np.int64]) -> tuple[float, float]:
    """The one slope b that minimises the log loss of q ~ prior * (q0 / prior)^b for rows of log q0 [m, classes]."""
    slopes, loss = calibrating_slopes((logs - prior)[None], prior, classes)
    return float(slopes[0]), loss
