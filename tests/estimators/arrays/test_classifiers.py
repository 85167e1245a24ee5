"""Labels by classifiers."""

import numpy as np
import pytest

from infoscope.estimators.arrays import estimate
from infoscope.estimators.classifier import cross_fit
from tests.refusals import refused


@pytest.fixture(scope="module")
def channel():
    """A label that errs in a fifth of the rows about a number without overlap, and the information."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 1500)
    seen = np.where(rng.random(1500) < 0.2, 1 - label, label)
    truth = np.log(2) + 0.2 * np.log(0.2) + 0.8 * np.log(0.8)
    return 8.0 * seen + rng.normal(size=1500), np.array(["no", "yes"])[label], truth


def test_it_is_what_cross_fitting_gives(channel):
    x, y, _ = channel
    groups = np.arange(len(x)) // 3
    found = estimate(x, y, "classifier", groups, np.random.default_rng(3), folds=4)
    codes = np.unique(groups, return_inverse=True)[1]
    same = cross_fit(x, np.unique(y, return_inverse=True)[1], codes, folds=4, generator=np.random.default_rng(3))
    assert float(found) == float(same.information("z", "y"))
    assert found.units == 500


def test_an_unknown_family_is_refused():
    with refused("family", "name"):
        estimate(np.arange(50.0) ** 1.5, np.repeat(["a", "b"], 25), "classifier", family="forest")
