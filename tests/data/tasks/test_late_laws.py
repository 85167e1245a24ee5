"""Laws that measure the advice: their truths by another route than their own."""

import math

import numpy as np
import pytest

from infoscope.data.tasks import exam
from infoscope.data.tasks.late_laws import LAWS
from infoscope.estimators import knn
from infoscope.estimators.knn import Continuous, Discrete

OF_MANY_COLUMNS = ("waiting-times-3-of-6", "one-factor-6-4", "shared-spread-2-3")  # which neighbours miss


def test_they_are_a_collection_of_the_exam():
    assert exam.COLLECTIONS["late"] == tuple(LAWS) and len(LAWS) == 12
    assert all(exam.law(name) is law for name, law in LAWS.items())


@pytest.mark.parametrize("name", [name for name in LAWS if name not in OF_MANY_COLUMNS])
def test_neighbours_find_it_in_many_rows(name):
    law = LAWS[name]
    x, y, *_ = law.sample(8000, np.random.default_rng(0))
    typed = [Discrete(one) if one.dtype.kind in "iU" else Continuous(one) for one in (x, y)]
    found = knn.mutual_information(*typed)
    assert abs(found - law.truth()[0]) < 4.5 * found.standard_error + 0.02  # their own bias is below .02 here


def test_waiting_times_add_up():
    """log density ratio of a sum of two exponentials: log of what the sum has in the place of y."""
    x, y = LAWS["waiting-times-3-of-6"].sample(40_000, np.random.default_rng(1))
    local = (-(y - x[:, :3]) - (np.log(y) - y)).sum(axis=1)
    assert abs(local.mean() - LAWS["waiting-times-3-of-6"].truth()[0]) < 4.5 * local.std() / 200


def test_one_factor_is_a_determinant():
    a, b = np.linspace(0.3, 0.9, 6), np.linspace(0.8, 0.4, 4)
    both = np.concatenate([a, b])
    logs = [np.linalg.slogdet(np.eye(len(c)) + np.outer(c, c))[1] for c in (a, b, both)]
    assert LAWS["one-factor-6-4"].truth()[0] == pytest.approx(0.5 * (logs[0] + logs[1] - logs[2]), abs=1e-12)


def test_a_shared_spread_without_correlation_is_that_of_beyond_normal():
    from infoscope.data.tasks.late_laws import shared_spread

    assert shared_spread(3, 3, 2.0, 0.0).truth()[0] == pytest.approx(0.29092192268276484, abs=1e-9)


def test_people_who_are_asked_again_have_one_group():
    *_, who = LAWS["asked-again"].sample(100, np.random.default_rng(2))
    assert (np.bincount(who) == 4).all() and LAWS["asked-again"].truth()[0] == pytest.approx(
        0.5 * math.log(1 + 1 / 0.64)
    )
