"""Shares of entropies: closed forms, errors of new samples, and why numbers have none."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng
from pytest import approx
from scipy.stats import entropy

from infoscope.estimators.arrays import estimate, normalised
from infoscope.estimators.columns import Discrete
from tests.estimators.samples import covering, mean_standard_error
from tests.refusals import refused


def channel(n, seed):
    """x of three values, and y, which is x with a chance of 0.7, else drawn among four."""
    g = default_rng(seed)
    x = g.integers(3, size=n)
    is_copied = g.random(n) < 0.7
    y = np.where(is_copied, x, g.integers(4, size=n))
    return Discrete(x), Discrete(y)


JOINT = (0.7 * np.eye(3, 4) + 0.3 / 4) / 3
ENTROPY = entropy(JOINT.ravel())
ENTROPY_X = entropy(JOINT.sum(axis=1))
ENTROPY_Y = entropy(JOINT.sum(axis=0))
INFORMATION = ENTROPY_X + ENTROPY_Y - ENTROPY


@pytest.mark.parametrize(
    ("by", "truth"), [("x", INFORMATION / ENTROPY_X), ("joint", INFORMATION / ENTROPY)]
)
def test_intervals_cover_the_closed_form_and_errors_are_those_of_new_samples(by, truth):
    """60 samples: 51 to 60 intervals of 95 % hold it but in 1 of 1,000 cases; the
    spread's own error is a tenth.
    """
    shares = [normalised(*channel(400, seed), by, "miller-madow") for seed in range(60)]
    assert covering(shares, truth) >= 51
    assert mean_standard_error(shares) == approx(np.std(shares, ddof=1), rel=1 / 3)


def test_numbers_have_no_entropy_to_be_a_share_of():
    g = default_rng(0)
    y = g.integers(2, size=400)
    x = y + 0.1 * g.standard_normal(400)
    label = Discrete(y)
    share = normalised(x, label, "min")
    assert share == approx(1.0, abs=0.02)
    assert "min(H(x), H(y))" in share.unit
    for other, by in ((label, "x"), (label, "joint"), (x + 1.0, "min")):
        with refused("x", "conflict"):
            normalised(x, other, by)
    with refused("by", "name"):
        normalised(x, y, "mean")


def test_where_dependence_is_not_known_the_error_is_the_largest():
    part = estimate(*channel(300, 1), "plug-in")
    whole = estimate(*channel(300, 1), "nsb")
    unpaired = replace(part, influence=None).share_of(whole)
    assert unpaired.standard_error > part.share_of(whole).standard_error
    with refused("whole", "range"):
        part.share_of(whole.bits)


@pytest.mark.parametrize("method", ["ksg", "plug-in"])
@pytest.mark.parametrize("by", ["x", "min", "joint"])
def test_a_copy_of_many_values_is_no_more_than_all(method, by):
    """60 values in 500 rows: an estimate that corrects its counts is divided by an
    entropy that does.
    """
    x = Discrete(np.arange(500) % 60)
    share = normalised(x, x, by, method)
    assert share == approx(1.0, abs=1e-12)
    assert share.low <= 1 <= share.high + 1e-12
