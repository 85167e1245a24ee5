"""Tables that scikit-learn brings: rows once, and truths by a second route."""

import numpy as np
import pytest
from scipy import stats

from infoscope.data.tasks import bundled
from infoscope.data.tasks.resampled import coupled_information
from tests.refusals import refused


@pytest.mark.parametrize("name", bundled.CASES)
def test_rows_are_drawn_once_and_columns_vary(name):
    most = bundled.most_rows(name)
    x, y = bundled.CASES[name].sample(most, np.random.default_rng(0))
    assert len(np.unique(x, axis=0)) == len(x) == len(y) == most and (np.ptp(x, axis=0) > 0).all()
    with refused("n", "few"):
        bundled.CASES[name].sample(most + 1, np.random.default_rng(0))


def test_the_truth_of_scores_is_that_of_two_normal_variables():
    """By the correlation of score and y over many draws: -log(1 - r²) / 2."""
    generator = np.random.default_rng(0)
    score = bundled.drawn("digits", bundled.most_rows("digits-and-score"), generator)[1]
    assert stats.kstest(score, "norm").statistic < 0.001
    y = [bundled.CASES["digits-and-score"].sample(len(score), np.random.default_rng(k))[1] for k in range(40)]
    spread = np.var(np.concatenate(y))
    assert np.log(spread / bundled.NOISE**2) / 2 == pytest.approx(
        bundled.CASES["digits-and-score"].truth()[0], abs=0.02
    )


def test_the_truth_of_groups_is_that_of_their_table():
    x, group = (np.repeat(np.arange(4), 50_000), np.random.default_rng(0).random(200_000))
    label = np.where(group < bundled.KEPT, x, np.random.default_rng(1).integers(0, 4, len(x)))
    table = np.histogram2d(x, label, bins=4)[0] / len(x)
    expected = np.sum(table * np.log(table / np.outer(table.sum(1), table.sum(0))))
    assert coupled_information(bundled.KEPT, bundled.GROUPS) == pytest.approx(expected, abs=0.01)
    assert bundled.CASES["wine-and-group"].truth() == (pytest.approx(expected, abs=0.01), 0.0)
