"""Calibration by sets of labels: the parts add up, and noise about one label does not cost what is known of another."""

import functools

import numpy as np
import pytest
from scipy import special

from infoscope.estimators.classifier.cross_fitting import (
    calibrating_slope,
    calibrating_slopes,
    cross_fit,
    log_odds_parts,
)
from infoscope.estimators.classifier.inputs import as_joint_labels

log_softmax = functools.partial(special.log_softmax, axis=1)


def joint_of(*sizes):
    values = [column.ravel() for column in np.meshgrid(*map(np.arange, sizes), indexing="ij")]
    return as_joint_labels({name: value for name, value in zip("yde", values)}, len(values[0]))


@pytest.mark.parametrize("sizes", [(4,), (3, 2), (2, 3, 2)])
def test_parts_add_up_to_the_log_odds(sizes):
    rng = np.random.default_rng(0)
    joint = joint_of(*sizes)
    prior, logs = log_softmax(rng.normal(size=(1, joint.count))), log_softmax(rng.normal(size=(50, joint.count)))
    parts = log_odds_parts(logs, prior[0], joint)
    assert len(parts) == 2 ** len(sizes) - 1
    np.testing.assert_allclose(parts.sum(axis=0), logs - prior, atol=1e-12)


def test_each_label_has_its_own_slope():
    """Log odds of d doubled, those of y mere noise: slopes 1/2 and 0, with standard errors of about .01 (5 of them)."""
    rng = np.random.default_rng(2)
    joint, n = joint_of(3, 2), 20_000
    of_d = log_softmax(rng.normal(size=(n, 2)))
    d = (rng.random(n) > np.exp(of_d[:, 0])).astype(int)
    classes = np.argmax(
        (joint.values["y"] == rng.integers(0, 3, n)[:, None]) & (joint.values["d"] == d[:, None]), axis=1
    )
    prior = np.full(6, -np.log(6))
    noise = log_softmax(rng.normal(size=(n, 3)))
    doubled = log_softmax(2 * of_d)
    logs = noise[:, joint.values["y"]] + doubled[:, joint.values["d"]]
    slopes, loss = calibrating_slopes(log_odds_parts(logs, prior, joint), prior, classes)
    np.testing.assert_allclose(slopes[:2], [0, 0.5], atol=0.05)
    assert loss < calibrating_slope(logs, prior, classes)[1] - 0.01


def test_useless_inputs_cost_nothing():
    """z tells of d only. 4 x 3 classes of 50 rows: one factor for all log_odds_parts left I(z; y | d) at -.03 ± .01."""
    rng = np.random.default_rng(3)
    y, d = rng.integers(0, 4, 600), rng.integers(0, 3, 600)
    z = 2 * np.eye(3)[d] + rng.normal(size=(600, 3))
    found = cross_fit(z, {"y": y, "d": d}, subsets=["z"])
    assert abs(found.information("z", "y", given="d").value) < 0.02
    assert found.information("z", "d", given="y").value > 0.4
    (figures,) = found.calibration.values()
    assert len(figures.slopes) == 15
