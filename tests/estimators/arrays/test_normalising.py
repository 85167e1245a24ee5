"""Shares of entropies: closed forms, errors of new samples, and why numbers have none."""

from dataclasses import replace

import numpy as np
import pytest

from infoscope.estimators.arrays import estimate, normalised
from infoscope.estimators.columns import Discrete
from tests.refusals import refused


def table(n, seed, keep=0.7):
    """x of three values, and y, which is x's own with a chance of `keep`, else drawn among four."""
    rng = np.random.default_rng(seed)
    x = rng.integers(3, size=n)
    return Discrete(x), Discrete(np.where(rng.random(n) < keep, x, rng.integers(4, size=n)))


def entropy(p):
    p = np.asarray(p, float)[np.asarray(p) > 0]
    return -(p * np.log(p)).sum()


def truths(keep=0.7):
    joint = (keep * np.eye(3, 4) + (1 - keep) / 4) / 3
    of_x, of_y, both = entropy(joint.sum(axis=1)), entropy(joint.sum(axis=0)), entropy(joint.ravel())
    shared = of_x + of_y - both
    return {"x": shared / of_x, "y": shared / of_y, "min": shared / min(of_x, of_y), "joint": shared / both}


@pytest.mark.parametrize("by", ["x", "joint"])
def test_intervals_hold_the_closed_form_and_errors_are_those_of_new_samples(by):
    """60 samples: 51 to 60 intervals of 95 % hold it but in 1 of 1,000 cases; the spread's own error is a tenth."""
    found = [normalised(*table(400, seed), by, "miller-madow") for seed in range(60)]
    truth = truths()[by]
    assert sum(one.low <= truth <= one.high for one in found) >= 51
    errors = [one.standard_error for one in found]
    assert np.mean(errors) == pytest.approx(np.std(found, ddof=1), rel=1 / 3)


def test_numbers_have_no_entropy_to_be_a_share_of():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=400)
    x = y + 0.1 * rng.standard_normal(400)
    found = normalised(x, Discrete(y), "min")
    assert found == pytest.approx(1.0, abs=0.02) and "min(H(x), H(y))" in found.unit
    for other, by in ((Discrete(y), "x"), (Discrete(y), "joint"), (x + 1.0, "min")):
        with refused("x", "conflict"):
            normalised(x, other, by)
    with refused("by", "name"):
        normalised(x, y, "mean")


def test_where_dependence_is_not_known_the_error_is_the_largest():
    found = estimate(*table(300, 1), "plug-in")
    whole = estimate(*table(300, 1), "nsb")
    apart = replace(found, influence=None).share_of(whole)
    assert apart.standard_error > found.share_of(whole).standard_error and "largest" in apart.notes[-1]
    with refused("whole", "range"):
        found.share_of(whole.bits)


@pytest.mark.parametrize("method", ["ksg", "plug-in"])
def test_a_copy_of_many_values_is_no_more_than_all(method):
    """60 values in 500 rows: an estimate that corrects its counts is set beside an entropy that does."""
    x = Discrete(np.arange(500) % 60)
    for by in ("x", "min", "joint"):
        found = normalised(x, x, by, method)
        assert found == pytest.approx(1.0, abs=1e-12) and found.low <= 1 <= found.high + 1e-12
