"""Known laws that measure estimators and verdicts: truths against published figures and other ways to get them."""

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from infoscope.data.tasks import beyond_normal, verdict_laws
from tests.refusals import refused

REFERENCE = Path(__file__).parents[4] / "shared" / "reference" / "beyond_normal_tasks.csv"


def test_the_truths_of_beyond_normal_are_the_published_ones():
    if not REFERENCE.is_file():
        pytest.skip("the published table is not beside the repository")
    with REFERENCE.open() as lines:
        published = {row["task"]: row for row in csv.DictReader(lines)}
    assert set(published) == set(beyond_normal.NAMES)
    for name, row in published.items():
        law = beyond_normal.law(name)
        x, y = law.sample(7, np.random.default_rng(0))
        assert law.truth()[0] == pytest.approx(float(row["mi_nats"]), abs=1e-6)
        assert (x.shape, y.shape) == ((7, int(row["dim_x"])), (7, int(row["dim_y"])))


def test_an_unknown_law_is_refused():
    with refused("law", "name"):
        beyond_normal.law("1v1-normal")


def test_maps_keep_the_ranks_of_what_they_move():
    """Maps of single columns are increasing; the swiss roll's radius and the spiral's norm are those of the base."""
    base = beyond_normal.law("multinormal-sparse-3-3-2-2.0")
    x, _ = base.sample(50, np.random.default_rng(1))
    for name in ("normal_cdf", "half_cube"):
        moved, _ = beyond_normal.law(f"{name}-multinormal-sparse-3-3-2-2.0").sample(50, np.random.default_rng(1))
        np.testing.assert_array_equal(moved.argsort(axis=0), x.argsort(axis=0))
    spiral, _ = beyond_normal.law("spiral-multinormal-sparse-3-3-2-2.0").sample(50, np.random.default_rng(1))
    np.testing.assert_allclose((spiral**2).sum(axis=1), (x**2).sum(axis=1))
    roll, _ = beyond_normal.law("swissroll_x-normal_cdf-1v1-normal-0.75").sample(50, np.random.default_rng(1))
    plain, _ = beyond_normal.law("1v1-normal-0.75").sample(50, np.random.default_rng(1))
    radius = 21 * np.hypot(*roll.T)
    np.testing.assert_allclose((radius / (1.5 * np.pi) - 1) / 2, stats.norm.cdf(plain[:, 0]), atol=1e-9)


def test_bimodal_columns_have_the_stated_margins():
    """Kolmogorov-Smirnov at 1e-4 each."""
    x, y = beyond_normal.law("1v1-bimodal-0.75").sample(4000, np.random.default_rng(2))
    for side, parts in ((x, beyond_normal.BIMODAL[0]), (y, beyond_normal.BIMODAL[1])):
        margin = lambda v, parts=parts: sum(w * stats.norm.cdf(v - m) for w, m in parts)  # noqa: E731
        assert stats.kstest(side[:, 0], margin).pvalue > 1e-4


@pytest.mark.parametrize("name", verdict_laws.LAWS)
def test_a_law_draws_what_it_says(name):
    law = verdict_laws.LAWS[name]
    x, y = law.sample(30, np.random.default_rng(3))
    assert len(x) == len(y) == 30 and np.isfinite(np.asarray(x, float)).all()
    truth, error = law.truth()
    assert -1e-6 < truth < 2.5 and error < 0.01


def test_a_noiseless_limit_of_a_curve_is_its_entropy():
    """y = x + little noise: log of the range over the noise's scale, log(2 / (s sqrt(2 pi e)))."""
    assert verdict_laws.curve(lambda x: x, 0.01).truth()[0] == pytest.approx(
        np.log(2 / (0.01 * np.sqrt(2 * np.pi * np.e))), abs=0.01
    )
