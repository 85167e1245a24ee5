"""Labels by classifiers."""

import numpy as np
from numpy.random import default_rng

from infoscope.estimators.arrays import estimate
from infoscope.estimators.classifier import cross_fit
from tests.refusals import refused


def test_it_is_what_cross_fitting_gives():
    g = default_rng(0)
    label = g.integers(0, 2, 600)
    x = label + g.normal(size=600)
    groups = np.arange(600) // 3
    estimated = estimate(x, label, "classifier", groups, default_rng(3), folds=4)
    fitted = cross_fit(x, label, groups, folds=4, generator=default_rng(3))
    assert estimated.value == fitted.information("z", "y").value
    assert estimated.units == 200
    with refused("family", "name"):
        estimate(x, label, "classifier", family="forest")
