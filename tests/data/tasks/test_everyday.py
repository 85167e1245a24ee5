"""The laws like the data that people have: truths by other routes than those that state them."""

import numpy as np
import pytest
from scipy import stats

from infoscope.data.tasks import everyday
from infoscope.data.tasks.everyday import LAWS, OF_POOLS
from infoscope.data.tasks.known_truth import discrete_information

MANY = 400_000
SURE = 4.5  # standard errors: a false alarm in 150,000


def drawn(name, n=MANY, seed=0):
    return LAWS[name].sample(n, np.random.default_rng(seed))


def of_table(a, b):
    """Plug-in information of codes, and about its bias."""
    joint = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(joint, (a, b), 1.0)
    bias = ((joint > 0).sum() - (joint.sum(0) > 0).sum() - (joint.sum(1) > 0).sum() + 1) / (2 * len(a))
    return discrete_information(joint / len(a)) - bias


def test_there_are_twelve_and_their_truths_are_told():
    assert len(LAWS) == 12
    for law in LAWS.values():
        truth, error = law.truth()
        assert np.isfinite(truth) and truth > 0 and error == 0


@pytest.mark.parametrize("name", [name for name in LAWS if name not in OF_POOLS])
def test_a_sample_is_its_seed_and_has_n_rows(name):
    first, again, other = (drawn(name, 60, seed) for seed in (1, 1, 2))
    columns = [np.stack(list(side.values())) if isinstance(side, dict) else side for side in first]
    assert all((len(column) == 60 or column.shape[1] == 60) for column in columns)
    for one, two in zip(first, again):
        assert all(np.array_equal(one[key], two[key]) for key in one) if isinstance(one, dict) else (one == two).all()
    assert not np.array_equal(first[1], other[1])


def test_monstrous_tails_are_a_normal_law_behind_their_map():
    x, y = drawn("monstrous-tails-3")
    assert np.abs(x).max() > 1e6  # of 1.2 million values; |v| > 3.8 is sure to be among them
    back = [np.sign(side) * np.sqrt(np.log1p(np.abs(side))) for side in (x, y)]
    for column in range(3):
        found = np.corrcoef(back[0][:, column], back[1][:, column])[0, 1]
        assert found == pytest.approx(0.7, abs=SURE * (1 - 0.49) / np.sqrt(MANY))
    assert LAWS["monstrous-tails-3"].truth()[0] == pytest.approx(-1.5 * np.log(1 - 0.49))


def test_parity_is_told_by_two_columns_and_by_neither_alone():
    x, y = drawn("parity-of-signs")
    signs = (x[:, :2] > 0).astype(int)
    assert of_table(signs @ [1, 2], y) == pytest.approx(LAWS["parity-of-signs"].truth()[0], abs=0.006)
    for column in range(2):
        assert abs(of_table(signs[:, column], y)) < 1e-4


def test_mixed_columns_have_the_mean_of_their_log_density_ratio():
    x, y = drawn("mixed-columns")
    means = dict(zip("abc", (-2.0, 0.0, 1.5)))
    centre = np.array([means[kind] for kind in x["kind"]])
    marginal = np.mean([stats.norm.pdf(y, mean, np.hypot(0.8, 0.7)) for mean in means.values()], axis=0)
    local = stats.norm.logpdf(y, centre + 0.8 * x["size"], 0.7) - np.log(marginal)
    error = local.std() / np.sqrt(MANY)
    assert local.mean() == pytest.approx(LAWS["mixed-columns"].truth()[0], abs=SURE * error)


def test_a_sparse_table_has_the_information_of_its_draws():
    x, y = (side.astype(int) for side in drawn("sparse-table"))
    assert of_table(x, y) == pytest.approx(LAWS["sparse-table"].truth()[0], abs=0.01)
    assert len(np.unique(x * 40 + y)) > 1000


def test_rows_of_a_patient_are_alike_and_any_row_is_normal():
    x, y, patient = drawn("patients")
    assert (np.bincount(patient) == 10).all() and LAWS["patients"].grouped
    error = SURE * 3 / np.sqrt(MANY / 10)  # rows of a patient are far from independent
    assert np.corrcoef(x, y)[0, 1] == pytest.approx(0.7, abs=error)
    assert (x.mean(), x.std()) == (pytest.approx(0, abs=error), pytest.approx(1, abs=error))
    grouped = x.reshape(-1, 10)
    assert np.corrcoef(grouped[:, 0], grouped[:, 1])[0, 1] == pytest.approx(0.6, abs=error)
    rest = everyday.patients(rows=4).sample(10, np.random.default_rng(0))[2]
    assert rest.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]
