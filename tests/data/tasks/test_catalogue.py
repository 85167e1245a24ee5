"""Known distributions: what each of them states, and its information computed in
another way.
"""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from infoscope.data.tasks import beyond_normal, catalogue
from tests.data.common import plug_in

REFERENCE = (
    Path(__file__).parents[4] / "shared" / "reference" / "beyond_normal_tasks.csv"
)
NAMES = [
    name for distributions in catalogue.COLLECTIONS.values() for name in distributions
]
GENERATED = [name for name in NAMES if not catalogue.pool_of(name)]
EVERY = {name: catalogue.case(name) for name in GENERATED}


def drawn(name, n, seed=0):
    return catalogue.case(name).sample(n, np.random.default_rng(seed))


def truth(name):
    return catalogue.case(name).truth()[0]


def columns(variable):
    return np.column_stack(
        list(variable.values()) if isinstance(variable, dict) else [variable]
    )


def test_the_collections_of_the_exam():
    sizes = {
        name: len(distributions)
        for name, distributions in catalogue.COLLECTIONS.items()
    }
    assert sizes == {"beyond-normal": 40, "everyday": 12, "unseen": 29, "difficult": 16}
    assert len(set(NAMES)) == len(NAMES)
    for name in set(NAMES) - set(GENERATED):
        assert catalogue.case(name).truth() == (pytest.approx(0.5 * math.log(2)), 0.0)


@pytest.mark.parametrize("distribution", EVERY.values(), ids=EVERY)
def test_a_distribution_draws_what_it_states(distribution):
    """n finite rows that depend on the seed alone, y as declared, and a truth known to
    a few thousandths.
    """
    sample = list(map(columns, distribution.sample(60, np.random.default_rng(3))))
    again = list(map(columns, distribution.sample(60, np.random.default_rng(3))))
    other = list(map(columns, distribution.sample(60, np.random.default_rng(4))))
    for values, same in zip(sample, again):
        assert len(values) == 60
        np.testing.assert_array_equal(values, same)
        if values.dtype.kind not in "OSU":
            assert np.isfinite(values.astype(float)).all()
    assert any((values != others).any() for values, others in zip(sample, other))
    assert (distribution.y == "numbers") == (sample[1].dtype.kind == "f")
    truth, error = distribution.truth()
    assert -1e-6 < truth < 8
    assert 0 <= error < 0.003


def test_the_truths_of_beyond_normal_are_the_published_ones():
    if not REFERENCE.is_file():
        pytest.skip("no published table")
    published = pd.read_csv(REFERENCE).set_index("task")
    assert set(published.index) == set(beyond_normal.NAMES)
    for name, row in published.iterrows():
        x, y = drawn(name, 7)
        assert truth(name) == pytest.approx(row["mi_nats"], abs=1e-6)
        assert (x.shape, y.shape) == ((7, row["dim_x"]), (7, row["dim_y"]))


SPARSE = "multinormal-sparse-3-3-2-2.0"


@pytest.mark.parametrize("name", ["normal_cdf", "half_cube"])
def test_maps_of_single_columns_keep_their_ranks(name):
    x, _ = drawn(SPARSE, 50)
    moved, _ = drawn(f"{name}-{SPARSE}", 50)
    np.testing.assert_array_equal(moved.argsort(axis=0), x.argsort(axis=0))


def test_a_spiral_keeps_norms():
    x, _ = drawn(SPARSE, 50)
    spiral, _ = drawn(f"spiral-{SPARSE}", 50)
    np.testing.assert_allclose((spiral**2).sum(axis=1), (x**2).sum(axis=1))


def test_a_swiss_roll_has_the_base_as_its_radius():
    plain, _ = drawn("1v1-normal-0.75", 50)
    roll, _ = drawn("swissroll_x-normal_cdf-1v1-normal-0.75", 50)
    angle = 21 * np.hypot(roll[:, 0], roll[:, 1]) / (1.5 * np.pi)
    np.testing.assert_allclose((angle - 1) / 2, stats.norm.cdf(plain[:, 0]), atol=1e-9)


def test_bimodal_columns_have_the_stated_margins():
    """Kolmogorov-Smirnov at 1e-4 each."""
    for variable, parts in zip(drawn("1v1-bimodal-0.75", 4000), beyond_normal.BIMODAL):
        levels = sum(
            weight * stats.norm.cdf(variable[:, 0] - mean) for weight, mean in parts
        )
        assert stats.kstest(levels, "uniform").pvalue > 1e-4


def of_mixed_columns(x, y):
    means = pd.Series({"a": -2.0, "b": 0.0, "c": 1.5})
    spread = np.hypot(0.8, 0.7)
    densities = stats.norm.pdf(y[:, None], means.to_numpy(), spread)
    marginal = densities.mean(axis=1)
    centre = means[x["kind"]].to_numpy() + 0.8 * x["size"]
    return stats.norm.logpdf(y, centre, 0.7) - np.log(marginal)


def of_label(x, y):
    """The label moves the first column by 1.5."""
    apart = np.where(y == 1, -1, 1) * (1.5 * x[:, 0] - 1.125)
    return math.log(2) - np.logaddexp(0, apart)


@pytest.mark.parametrize(
    ("name", "ratio"),
    [("mixed-columns", of_mixed_columns), ("label-of-one-of-40", of_label)],
)
def test_the_mean_log_density_ratio_of_draws_is_the_truth(name, ratio):
    """Within 4.5 standard errors, a false alarm of 7e-6, and a thousandth for the grids
    of the densities.
    """
    n = 50_000
    local = ratio(*drawn(name, n))
    error = local.std() / math.sqrt(n)
    assert local.mean() == pytest.approx(truth(name), abs=4.5 * error + 1e-3)


# --- correlations, tables and symmetries ---


def test_tables_have_the_information_of_their_draws():
    x, y = drawn("sparse-table", 400_000)
    nats = plug_in(x.astype(int), y.astype(int))
    assert nats == pytest.approx(truth("sparse-table"), abs=0.01)


def test_parity_depends_on_two_columns_and_on_neither_alone():
    x, y = drawn("parity-of-signs", 400_000)
    signs = (x[:, :2] > 0).astype(int)
    assert plug_in(signs @ [1, 2], y) == pytest.approx(
        truth("parity-of-signs"), abs=0.006
    )
    for column in range(2):
        assert abs(plug_in(signs[:, column], y)) < 1e-4


def test_rows_of_a_patient_are_alike_and_any_row_is_normal():
    n = 400_000
    x, y, patient = drawn("patients", n)
    assert (np.bincount(patient) == 10).all()
    assert catalogue.case("patients").grouped
    error = 4.5 * 3 / np.sqrt(n / 10)  # rows of a patient are far from independent
    assert np.corrcoef(x, y)[0, 1] == pytest.approx(0.7, abs=error)
    first, second, *_ = x.reshape(-1, 10).T
    assert np.corrcoef(first, second)[0, 1] == pytest.approx(0.6, abs=error)


def test_monstrous_tails_are_a_normal_distribution_behind_their_map():
    n = 400_000
    tails = drawn("monstrous-tails-3", n)
    # of 1.2 million values; |v| > 3.8 is sure to be among them
    assert np.abs(tails[0]).max() > 1e6
    normal = np.sign(tails) * np.sqrt(np.log1p(np.abs(tails)))
    for x, y in zip(normal[0].T, normal[1].T):
        correlation = np.corrcoef(x, y)[0, 1]
        assert correlation == pytest.approx(0.7, abs=4.5 * (1 - 0.49) / np.sqrt(n))
    assert truth("monstrous-tails-3") == pytest.approx(-1.5 * np.log(1 - 0.49))
