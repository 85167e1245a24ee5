"""Labels by classifiers."""

import numpy as np

from infoscope.estimators.arrays import estimate
from infoscope.estimators.classifier import cross_fit
from tests.refusals import refused


def test_it_is_what_cross_fitting_gives():
    g = np.random.default_rng(0)
    label = g.integers(0, 2, 600)
    x = label + g.normal(size=600)
    groups = np.arange(600) // 3
    estimated = estimate(
        x, label, "classifier", groups, np.random.default_rng(3), folds=4
    )
    fitted = cross_fit(x, label, groups, folds=4, generator=np.random.default_rng(3))
    assert estimated.value == fitted.information("z", "y").value
    assert estimated.units == 200


def test_an_unknown_family_is_refused():
    with refused("family", "name"):
        estimate(
            np.arange(50.0) ** 1.5,
            np.repeat(["a", "b"], 25),
            "classifier",
            family="forest",
        )
