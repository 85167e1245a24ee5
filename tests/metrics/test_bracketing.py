"""Both sides of I(x; y), and what their order is said to mean."""

import numpy as np
import pytest

from infoscope.metrics.bracketing import bracket
from tests.refusals import refused


def draws(seed):
    return np.random.default_rng(seed)


def test_in_many_dimensions_the_classifier_shows_what_neighbours_miss():
    """Ten Gaussian classes in 12 dimensions, and their information from 1,000 draws of each."""
    g, centres = draws(0), draws(7).normal(size=(10, 12)) / 2
    points = centres[:, None] + g.normal(size=(10, 1000, 12))
    logs = -0.5 * ((points[:, :, None] - centres) ** 2).sum(axis=-1)
    own = np.take_along_axis(logs, np.arange(10)[:, None, None], axis=2)[..., 0]
    truth = (own - np.logaddexp.reduce(logs, axis=2)).mean() + np.log(10)
    y = g.integers(0, 10, 1500)
    found = bracket(centres[y] + g.normal(size=(1500, 12)), y, resamples=40)
    assert found.finding == "neighbours low" and found.gap < 0
    assert found.neighbours.value < found.usable.low < truth < found.ceiling + 3 * found.ceiling.standard_error
    assert f"{-found.gap:.3f} nats" in found.meaning and "logistic" in found.meaning


def test_what_a_linear_family_cannot_use_is_the_gap():
    """Labels by the sign of a product: 0 for a linear classifier, log 2 in truth."""
    x = draws(1).normal(size=(1000, 2))
    y = x.prod(axis=1) > 0
    found = bracket(x, y, resamples=40)
    assert found.finding == "neighbours above" and found.usable.value == pytest.approx(0, abs=0.02)
    assert f"{found.gap:.3f} nats" in found.meaning and found.gap > 0.4


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


def test_numbers_have_a_bracket_without_a_ceiling():
    """Two normals of correlation .75, 0.413 nats: both sides within four errors; the lower loses .1 at most."""
    x, noise = draws(10).normal(size=(2, 1500))
    found = bracket(x, 0.75 * x + np.sqrt(1 - 0.75**2) * noise, resamples=40)
    assert found.ceiling is None and "no ceiling" in found.meaning
    assert found.neighbours.value == pytest.approx(0.413, abs=4 * found.neighbours.standard_error)
    assert 0.3 - 4 * found.usable.standard_error < found.usable.value < 0.413 + 4 * found.usable.standard_error


def test_bad_input_is_refused():
    x = np.arange(40.0)
    for y, family, argument, code in (
        (np.arange(39) % 2, None, "x and y", "length"),
        (np.zeros(40, int), None, "y", "constant"),
        (x**2, "logistic", "family", "conflict"),
    ):
        with refused(argument, code):
            bracket(x, y, family=family)
