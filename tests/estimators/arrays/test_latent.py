"""Few columns first, neighbours then: closed forms, what is chosen and on which rows, and MNIST where it is."""

import os

import numpy as np
import pytest
import torch

from infoscope.estimators.arrays import as_pairs, estimate
from infoscope.estimators.arrays.fitting import Schedule
from infoscope.estimators.arrays.latent import METHODS, Latent
from infoscope.estimators.arrays.preparing import splits
from infoscope.estimators.knn import mutual_information
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.estimators.variables import Continuous, Discrete

NAMES = [method.name for method in METHODS]
SMALL = {
    "lmi": {"size": 3, "width": 32, "schedule": Schedule(learning_rate=5e-3, epochs=30, patience=5)},
    "reduced-ksg": {},
}


def normal(rho, n, columns=1, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, columns))
    return x, rho * x + np.sqrt(1 - rho**2) * rng.normal(size=(n, columns)), -0.5 * columns * np.log(1 - rho**2)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("rho", "columns", "room"), [(0.6, 1, 0.08), (0.9, 1, 0.12), (0.6, 3, 0.22)])
def test_normal_columns(name, rho, columns, room):
    x, y, truth = normal(rho, 1500, columns)
    assert estimate(x, y, name, **SMALL[name]) == pytest.approx(truth, abs=room)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_shared_is_about_nothing(name):
    rng = np.random.default_rng(5)
    assert abs(estimate(rng.normal(size=(800, 4)), rng.normal(size=(800, 3)), name, **SMALL[name])) < 0.07


@pytest.mark.parametrize("name", NAMES)
def test_labels_and_categories(name):
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 800)
    x = rng.normal(size=(800, 6)) + 8.0 * label[:, None]
    names = np.array(["a", "b"])[label]
    for left, right in ((x, names), (names, x)):
        assert estimate(left, right, name, **SMALL[name]) == pytest.approx(np.log(2), abs=0.04)


@pytest.mark.parametrize("name", NAMES)
def test_many_columns_around_one_shared_factor(name):
    """40 columns on each side are one factor and noise: neighbours in all of them miss most of it."""
    rng = np.random.default_rng(1)
    a = rng.normal(size=1000)
    b = 0.9 * a + np.sqrt(1 - 0.81) * rng.normal(size=1000)
    x, y = (one[:, None] * rng.normal(size=40) + 0.3 * rng.normal(size=(1000, 40)) for one in (a, b))
    truth = -0.5 * np.log(1 - 0.81)
    assert mutual_information(x, y) < estimate(x, y, name, **SMALL[name])
    assert estimate(x, y, name, **SMALL[name]) == pytest.approx(truth, abs=0.15)


def test_components_hold_most_variance_and_do_not_depend_on_the_pairing():
    x, y, _ = normal(0.9, 400)
    rng = np.random.default_rng(2)
    x, y = (np.hstack([50 * side, rng.normal(size=(400, 30))]) for side in (x, y))
    assert "1 and 1 components" in estimate(x, y, "reduced-ksg").settings
    assert "8 and 8 components" in estimate(x, y, "reduced-ksg", margins="scaled").settings
    assert "2 and 2 components" in estimate(x, y, "reduced-ksg", components=2).settings
    assert "1 and 1 components" in estimate(x, rng.permutation(y), "reduced-ksg").settings


def test_codes_do_not_see_the_rows_that_are_measured():
    x, y, _ = normal(0.6, 200, 2)
    pairs = as_pairs(x, y)
    split = next(splits(pairs, 2, np.random.default_rng(0)))
    y[split.held[0]] = 40.0
    method = Latent(**SMALL["lmi"])
    codes = [method._codes(of, split, torch.Generator().manual_seed(0)) for of in (pairs, as_pairs(x, y))]
    assert all((before[split.seen] == after[split.seen]).all() for before, after in zip(*codes))


def test_a_generator_repeats_and_groups_are_whole():
    x, y, _ = normal(0.6, 200, 2)
    groups = np.arange(200) // 4
    for name in NAMES:
        before, again = (estimate(x, y, name, groups, **SMALL[name]) for _ in range(2))
        assert before.local.tolist() == again.local.tolist()
        assert before.units == 50


def test_sides_that_follow_from_one_another_have_no_upper_end():
    x = np.random.default_rng(0).normal(size=(400, 2))
    found = estimate(x, x @ [[0.8, -0.6], [0.6, 0.8]], method="reduced-ksg")
    assert found.high == np.inf and found.low < found.value
    assert any("may follow from one another" in note for note in found.notes)


@pytest.mark.parametrize("mixed", [False, True])
def test_sparse_categories_are_held_by_the_interval(mixed):
    """300 categories of three rows each beside 300, or beside a number and 3: nothing, of which counts make 3.9 nats,
    or .6. The bias is that of `ksg`, and so is the error."""
    rng = np.random.default_rng(0)
    x, y = (Discrete(rng.integers(0, size, 1000)) for size in (300, 3 if mixed else 300))
    x = [x, Continuous(rng.normal(size=1000))] if mixed else x
    found = {name: estimate(x, y, name) for name in ("reduced-ksg", "ksg")}
    assert found["reduced-ksg"] > 0.5 and found["reduced-ksg"].low < 0 < found["reduced-ksg"].high
    assert found["reduced-ksg"].standard_error == pytest.approx(found["ksg"].standard_error, rel=0.3)


def test_neighbours_that_are_much_of_their_class_are_told():
    """30 classes of 33 rows around centres from -2 to 2, .437 nats: .475 are found. 25 of 30 intervals of the draw
    of rows hold it; of 20 at least 17, and all are noted."""
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        label = rng.integers(0, 30, 1000)
        found.append(estimate(np.linspace(-2, 2, 30)[label] + rng.normal(size=1000), Discrete(label), "reduced-ksg"))
    assert all("these are not near" in " ".join(one.notes) for one in found)
    assert sum(one.low < 0.437 < one.high for one in found) >= 17


def test_bad_settings_are_said():
    x, y, _ = normal(0.6, 60)
    for name, settings, said in (
        ("reduced-ksg", {"components": 0}, "components must be a whole number of at least 1, got 0."),
        ("reduced-ksg", {"margins": "log"}, "margins must be one of auto, scaled, rank, given, got 'log'."),
        ("lmi", {"size": 0}, "size must be a whole number of at least 1, got 0."),
    ):
        with pytest.raises(ValueError, match=said):
            estimate(x, y, name, **settings)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_pairs_of_mnist_digits_with_coupled_labels():
    """The benchmark of Gowri et al. 2024: digits 0 and 1, 784 pixels a side, labels coupled at three of its levels."""
    data = pytest.importorskip("infoscope.data")
    if "INFOSCOPE_DATA" not in os.environ:
        pytest.skip("INFOSCOPE_DATA names no folder with MNIST")
    pool = data.mnist("train")
    images, labels = pool.images.reshape(len(pool.images), -1).double().numpy() / 255, np.asarray(pool.labels)
    errors = []
    for level, flips in enumerate((0.05, 0.2, 0.5)):
        rng = np.random.default_rng(level)
        left = np.arange(5000) % 2
        right = np.where(rng.random(5000) < flips, 1 - left, left)
        sides = [np.empty((5000, 784)) for _ in range(2)]
        for digit in (0, 1):
            items = rng.permutation(np.flatnonzero(labels == digit))
            sides[0][left == digit] = images[items[:2500]]
            sides[1][right == digit] = images[np.resize(items[2500:], (right == digit).sum())]
        sides = [Continuous(side[:, np.ptp(side, axis=0) > 0]) for side in sides]
        truth = 1 + sum(p * np.log2(p) for p in (flips, 1 - flips))
        errors.append(abs(estimate(*sides, "reduced-ksg") / NATS_PER_BIT - truth))
    assert np.mean(errors) < 0.025
