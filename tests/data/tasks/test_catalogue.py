"""Known distributions: what each of them states, and its information computed in
another way.
"""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from pytest import approx
from scipy import stats

from infoscope.data.tasks import beyond_normal, catalogue
from tests.data.common import plug_in

REFERENCE = Path(__file__).parents[4] / "shared/reference/beyond_normal_tasks.csv"
NAMES = []
for distributions in catalogue.COLLECTIONS.values():
    NAMES.extend(distributions)


GENERATED = [name for name in NAMES if not catalogue.pool_of(name)]


def drawn(name, n, seed=0):
    return catalogue.case(name).sample(n, default_rng(seed))


def truth(name):
    nats, _ = catalogue.case(name).truth()
    return nats


def columns(variable):
    if isinstance(variable, dict):
        return np.column_stack(list(variable.values()))
    return np.column_stack([variable])


def test_the_collections_of_the_exam():
    sizes = {}
    for name, distributions in catalogue.COLLECTIONS.items():
        sizes[name] = len(distributions)
    assert sizes == {"beyond-normal": 40, "everyday": 12, "unseen": 29, "difficult": 16}
    assert len(set(NAMES)) == len(NAMES)
    half = 0.5 * math.log(2)
    for name in set(NAMES) - set(GENERATED):
        assert catalogue.case(name).truth() == (approx(half), 0.0)


def columns_drawn(distribution, seed):
    x, y = distribution.sample(60, default_rng(seed))[:2]
    return columns(x), columns(y)


@pytest.mark.parametrize("name", GENERATED)
def test_a_distribution_draws_what_it_states(name):
    """n finite rows that depend on the seed alone, y as declared, and a truth known to
    a few thousandths.
    """
    distribution = catalogue.case(name)
    x, y = columns_drawn(distribution, 3)
    again_x, again_y = columns_drawn(distribution, 3)
    other_x, other_y = columns_drawn(distribution, 4)
    assert_array_equal(x, again_x)
    assert_array_equal(y, again_y)
    assert (x != other_x).any() or (y != other_y).any()
    for values in (x, y):
        assert len(values) == 60
        if values.dtype.kind not in "OSU":
            assert np.isfinite(values.astype(float)).all()
    assert (distribution.y == "numbers") == (y.dtype.kind == "f")
    nats, error = distribution.truth()
    assert -1e-6 < nats < 8
    assert 0 <= error < 0.003


def test_the_truths_of_beyond_normal_are_the_published_ones():
    if not REFERENCE.is_file():
        pytest.skip("no published table")
    published = pd.read_csv(REFERENCE).set_index("task")
    assert set(published.index) == set(beyond_normal.NAMES)
    for name, row in published.iterrows():
        x, y = drawn(name, 7)
        assert truth(name) == approx(row["mi_nats"], abs=1e-6)
        assert x.shape == (7, row["dim_x"])
        assert y.shape == (7, row["dim_y"])


SPARSE = "multinormal-sparse-3-3-2-2.0"


@pytest.mark.parametrize("name", ["normal_cdf", "half_cube"])
def test_maps_of_single_columns_keep_their_ranks(name):
    x, _ = drawn(SPARSE, 50)
    moved, _ = drawn(f"{name}-{SPARSE}", 50)
    assert_array_equal(moved.argsort(axis=0), x.argsort(axis=0))


def test_a_spiral_keeps_norms():
    x, _ = drawn(SPARSE, 50)
    spiral, _ = drawn(f"spiral-{SPARSE}", 50)
    norms = np.linalg.norm(x, axis=1)
    assert_allclose(np.linalg.norm(spiral, axis=1), norms)


def test_a_swiss_roll_has_the_base_as_its_radius():
    base, _ = drawn("1v1-normal-0.75", 50)
    roll, _ = drawn("swissroll_x-normal_cdf-1v1-normal-0.75", 50)
    radius = np.hypot(roll[:, 0], roll[:, 1])
    angle = 21 * radius / (1.5 * np.pi)
    level = stats.norm.cdf(base[:, 0])
    assert_allclose((angle - 1) / 2, level, atol=1e-9)


def test_bimodal_columns_have_the_stated_margins():
    """Kolmogorov-Smirnov at 1e-4 each."""
    variables = drawn("1v1-bimodal-0.75", 4000)
    for variable, parts in zip(variables, beyond_normal.BIMODAL):
        levels = 0.0
        for weight, mean in parts:
            levels = levels + weight * stats.norm.cdf(variable[:, 0] - mean)
        assert stats.kstest(levels, "uniform").pvalue > 1e-4


def log_ratio_of_mixed_columns(x, y):
    means = np.array([-2.0, 0.0, 1.5])
    spread = np.hypot(0.8, 0.7)
    densities = stats.norm.pdf(y[:, None], means, spread)
    marginal = densities.mean(axis=1)
    kind = np.searchsorted(["a", "b", "c"], x["kind"])
    centre = means[kind] + 0.8 * x["size"]
    return stats.norm.logpdf(y, centre, 0.7) - np.log(marginal)


def log_ratio_of_label(x, y):
    """The label moves the first column by 1.5."""
    sign = np.where(y == 1, -1, 1)
    difference = 1.5 * x[:, 0] - 1.125
    return math.log(2) - np.logaddexp(0, sign * difference)


@pytest.mark.parametrize(
    ("name", "ratio"),
    [
        ("mixed-columns", log_ratio_of_mixed_columns),
        ("label-of-one-of-40", log_ratio_of_label),
    ],
)
def test_the_mean_log_density_ratio_of_draws_is_the_truth(name, ratio):
    """Within 4.5 standard errors, a false alarm of 7e-6, and a thousandth for the grids
    of the densities.
    """
    n = 50_000
    ratios = ratio(*drawn(name, n))
    error = ratios.std() / math.sqrt(n)
    assert ratios.mean() == approx(truth(name), abs=4.5 * error + 1e-3)


# --- correlations, tables and symmetries ---


def test_tables_have_the_information_of_their_draws():
    x, y = drawn("sparse-table", 400_000)
    nats = plug_in(x.astype(int), y.astype(int))
    assert nats == approx(truth("sparse-table"), abs=0.01)


def test_parity_depends_on_two_columns_and_on_neither_alone():
    x, y = drawn("parity-of-signs", 400_000)
    signs = (x[:, :2] > 0).astype(int)
    together = plug_in(signs @ [1, 2], y)
    assert together == approx(truth("parity-of-signs"), abs=0.006)
    for sign in signs.T:
        assert abs(plug_in(sign, y)) < 1e-4


def correlation(x, y):
    return np.corrcoef(x, y)[0, 1]


def test_rows_of_a_patient_are_alike_and_any_row_is_normal():
    n = 400_000
    x, y, patient = drawn("patients", n)
    assert (np.bincount(patient) == 10).all()
    assert catalogue.case("patients").grouped
    error = 4.5 * 3 / np.sqrt(n / 10)  # rows of a patient are far from independent
    assert correlation(x, y) == approx(0.7, abs=error)
    first, second, *_ = x.reshape(-1, 10).T
    assert correlation(first, second) == approx(0.6, abs=error)


def test_monstrous_tails_are_a_normal_distribution_behind_their_map():
    n = 400_000
    tails = drawn("monstrous-tails-3", n)
    # of 1.2 million values; |v| > 3.8 is sure to be among them
    assert np.abs(tails[0]).max() > 1e6
    size = np.sqrt(np.log1p(np.abs(tails)))
    normal_x, normal_y = np.sign(tails) * size
    unexplained = 1 - 0.7**2
    error = 4.5 * unexplained / np.sqrt(n)
    for x, y in zip(normal_x.T, normal_y.T):
        assert correlation(x, y) == approx(0.7, abs=error)
    assert truth("monstrous-tails-3") == approx(-1.5 * np.log(unexplained))
