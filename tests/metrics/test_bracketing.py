"""Both sides of I(x; y), and what their order is said to mean."""

import numpy as np
import pytest

from infoscope.metrics.bracketing import bracket
from tests.refusals import refused


def draws(seed=0):
    return np.random.default_rng(seed)


def mixture(n, dim, spread, seed=0, classes=10):
    """Ten Gaussian classes, and their mutual information with the labels from 2,000 draws of each."""
    g, centres = draws(seed), draws(7).normal(size=(classes, dim)) * spread
    labels = g.integers(0, classes, n)
    points = centres[:, None] + g.normal(size=(classes, 2000, dim))
    logs = -0.5 * ((points[:, :, None] - centres) ** 2).sum(axis=-1)
    own = np.take_along_axis(logs, np.arange(classes)[:, None, None], axis=2)[..., 0]
    truth = (own - np.logaddexp.reduce(logs, axis=2)).mean() + np.log(classes)
    return centres[labels] + g.normal(size=(n, dim)), labels, truth


def test_in_many_dimensions_the_classifier_shows_what_neighbours_miss():
    x, y, truth = mixture(1500, 12, 0.5)
    found = bracket(x, y)
    assert found.finding == "neighbours low" and found.gap < 0
    assert found.neighbours.value < found.usable.low < truth < found.ceiling + 3 * found.ceiling.standard_error
    assert f"misses at least {-found.gap:.3f} nats" in found.meaning and "logistic" in found.meaning


def test_in_two_dimensions_they_agree():
    """A logistic classifier is the right family for equal Gaussians; 500 rows per class, so neighbours are too."""
    x, y, truth = mixture(1500, 2, 1.5, classes=3)
    found = bracket(x, y)
    assert found.finding == "agree" and "the two agree" in found.meaning
    assert found.usable.value == pytest.approx(truth, abs=0.1) == found.neighbours.value


def test_what_a_linear_family_cannot_use_is_the_gap():
    """Labels by the sign of a product: 0 for a linear classifier, log 2 in truth."""
    x = draws(1).normal(size=(2000, 2))
    y = x.prod(axis=1) > 0
    found = bracket(x, y)
    assert found.finding == "neighbours above" and found.usable.value == pytest.approx(0, abs=0.02)
    assert f"{found.gap:.3f} nats" in found.meaning and found.gap > 0.4
    assert bracket(x, y, family="gradient-boosting").usable.value > 0.5


def test_independent_labels_carry_nothing():
    """Three standard errors: false alarm 0.3 % for each of two."""
    found = bracket(draws(2).normal(size=(800, 3)), draws(3).integers(0, 4, 800))
    assert found.finding == "agree" and abs(found.usable.value) < 3 * max(found.usable.standard_error, 0.005)
    assert abs(found.neighbours.value) < 3 * found.neighbours.standard_error


def test_categories_among_the_features_are_used_as_categories():
    """x is a number without information and a category that is the label: everything is found."""
    from infoscope.estimators.variables import Continuous, Discrete

    y = draws(4).integers(0, 3, 600)
    names = np.array(["c", "a", "b"])[y]
    found = bracket([Continuous(draws(5).normal(size=600)), Discrete(names)], y)
    assert found.usable.value == pytest.approx(np.log(3), abs=0.02)
    assert float(found.ceiling) == pytest.approx(np.log(3), abs=0.02)


def test_groups_stay_together():
    """Four near copies of 100 rows without information: kept apart they would tell one another's labels."""
    z, y = draws(6).normal(size=(100, 5)), draws(7).integers(0, 3, 100)
    x = np.repeat(z, 4, axis=0) + 1e-3 * draws(8).normal(size=(400, 5))
    apart = bracket(x, np.repeat(y, 4), family="knn")
    together = bracket(x, np.repeat(y, 4), groups=np.arange(400) // 4, family="knn")
    assert apart.usable.low > 0.1 > together.usable.value
    assert together.neighbours.units == together.usable.units == 100
    # H(y) of 100 independent rows four times over is known as that of 100: the closed form of its error, by group.
    shares = np.bincount(y) / 100
    spread = np.sqrt((shares * np.log(shares) ** 2).sum() - (shares * np.log(shares)).sum() ** 2)
    assert together.ceiling.standard_error == pytest.approx(spread / np.sqrt(100), rel=0.02)
    assert apart.ceiling.standard_error == pytest.approx(spread / np.sqrt(400), rel=0.02)


@pytest.mark.parametrize(("x", "y", "words"), [
    (np.arange(40.0), np.arange(39) % 2, "same number of rows"),
    (np.arange(40.0), np.zeros(40, int), "y must have at least two classes"),
])  # fmt: skip
def test_bad_input_is_one_sentence(x, y, words):
    with pytest.raises(ValueError, match=words):
        bracket(x, y)


def test_a_family_of_classifiers_needs_labels():
    with refused("family", "conflict"):
        bracket(np.arange(40.0), np.arange(40.0) ** 2, family="logistic")


def test_numbers_have_a_bracket_without_a_ceiling():
    """Two normals of correlation .75, 0.413 nats: both sides within four errors; the lower loses .1 at most."""
    g = draws(10)
    x = g.normal(size=1500)
    y = 0.75 * x + np.sqrt(1 - 0.75**2) * g.normal(size=1500)
    found = bracket(x, y)
    assert found.ceiling is None and "numbers have no ceiling" in found.meaning
    assert found.neighbours.value == pytest.approx(0.413, abs=4 * found.neighbours.standard_error)
    assert 0.3 - 4 * found.usable.standard_error < found.usable.value < 0.413 + 4 * found.usable.standard_error


def test_numbers_in_many_columns_show_what_neighbours_miss():
    """One of 20 columns, 0.223 nats, of which neighbours find a third."""
    g = draws(11)
    x = g.normal(size=(1500, 20))
    found = bracket(x, 0.6 * x[:, 0] + 0.8 * g.normal(size=1500))
    assert found.finding == "neighbours low" and found.neighbours.verdict != "reliable"
    assert found.neighbours.high < found.usable.value < 0.223 + 4 * found.usable.standard_error
