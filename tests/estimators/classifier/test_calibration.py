"""Calibration by sets of labels: the parts add up, and noise about one label does not
cost what is known of another.
"""

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose
from scipy import special

from infoscope.estimators.classifier.cross_fitting import (
    calibrating_slope,
    calibrating_slopes,
    cross_fit,
    log_odds_parts,
)
from infoscope.estimators.classifier.inputs import as_joint_labels


def log_softmax(scores):
    return special.log_softmax(scores, axis=1)


def joint_of(*sizes):
    """Joint labels of every combination of values of up to three labels."""
    values = list(np.ndindex(sizes))
    columns = np.transpose(values)
    labels = dict(zip("yde", columns))
    return as_joint_labels(labels, len(values))


@pytest.mark.parametrize("sizes", [(4,), (3, 2), (2, 3, 2)])
def test_parts_add_up_to_the_log_odds(sizes):
    rng = default_rng(0)
    joint = joint_of(*sizes)
    scores = rng.normal(size=(51, joint.count))
    prior, *logs = log_softmax(scores)
    parts = log_odds_parts(np.array(logs), prior, joint)
    assert len(parts) == 2 ** len(sizes) - 1
    assert_allclose(parts.sum(axis=0), logs - prior, atol=1e-12)


def test_each_label_has_its_own_slope():
    """Log odds of d doubled, those of y mere noise: slopes 1/2 and 0, with standard
    errors of about .01 (5 of them).
    """
    rng = default_rng(2)
    joint = joint_of(3, 2)
    n = 20_000
    scores = rng.normal(size=(n, 2))
    true_logs = log_softmax(scores)
    y = rng.integers(0, 3, n)
    probability = np.exp(true_logs[:, 0])
    d = (rng.random(n) > probability).astype(int)
    class_y = joint.values["y"]
    class_d = joint.values["d"]
    same_y = class_y == y[:, None]
    same_d = class_d == d[:, None]
    classes = (same_y & same_d).argmax(axis=1)
    noise = rng.normal(size=(n, 3))
    doubled = log_softmax(2 * true_logs)
    logs = log_softmax(noise)[:, class_y] + doubled[:, class_d]
    prior = np.full(6, -np.log(6))
    parts = log_odds_parts(logs, prior, joint)
    slopes, loss = calibrating_slopes(parts, prior, classes)
    assert_allclose(slopes[:2], [0, 0.5], atol=0.05)
    _, loss_of_one_slope = calibrating_slope(logs, prior, classes)
    assert loss < loss_of_one_slope - 0.01


def test_useless_inputs_cost_nothing():
    """z tells of d only. 4 x 3 classes of 50 rows: one factor for all log_odds_parts
    left I(z; y | d) at -.03 ± .01.
    """
    rng = default_rng(3)
    y = rng.integers(0, 4, 600)
    d = rng.integers(0, 3, 600)
    noise = rng.normal(size=(600, 3))
    z = 2 * np.eye(3)[d] + noise
    labels = {"y": y, "d": d}
    fit = cross_fit(z, labels, subsets=["z"])
    useless = fit.information("z", "y", given="d")
    assert abs(useless.value) < 0.02
    useful = fit.information("z", "d", given="y")
    assert useful.value > 0.4
