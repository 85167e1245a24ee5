"""DCI and SAP against hand-worked importances, closed forms and repeated samples."""

import numpy as np
import pytest
from numpy.random import default_rng
from pytest import approx
from sklearn.svm import LinearSVC

from infoscope.metrics.disentanglement.predictor_based import (
    concentration,
    correlations,
    dci,
    sap,
)

QUARTER = 1 + (0.25 * np.log(0.25) + 0.75 * np.log(0.75)) / np.log(2)


@pytest.mark.parametrize(
    ("importance", "expected"),
    [
        # weights 1, 3 and 0: (1 x 1 + 3 x 0) / 4
        ([[1.0, 0.0], [1.5, 1.5], [0.0, 0.0]], 0.25),
        (np.eye(3), 1.0),
        (np.ones((4, 3)), 0.0),
        ([[0.25, 0.75]], QUARTER),
        (np.zeros((2, 2)), np.nan),
    ],
)
def test_concentration_by_hand(importance, expected):
    assert concentration(np.array(importance)) == approx(
        expected, abs=1e-12, nan_ok=True
    )


def factors_and_code(n, seed, noise):
    rng = default_rng(seed)
    factors = rng.integers((2, 5), size=(n, 2))
    return factors, factors + noise * rng.standard_normal((n, 2))


def test_an_unused_latent_has_no_weight():
    """A constant latent is never split on: it neither lowers nor raises
    disentanglement.
    """
    factors, codes = factors_and_code(600, 0, 0.01)
    scores = dci(np.column_stack([codes, np.full(600, 0.1)]), factors, 1)
    assert scores.disentanglement.value == approx(1.0, abs=0.01)
    assert scores.completeness.value == approx(1.0, abs=0.01)
    assert (scores.importance[2] == 0).all()
    assert scores.importance.sum(axis=0) == approx(np.ones(2))
    assert scores.accuracy.min() > 0.99
    assert scores.informativeness.n == 600


def test_without_splits_a_score_is_undefined():
    factors, _ = factors_and_code(100, 0, 0.0)
    scores = dci(np.ones((100, 2)), factors, 1)
    assert np.isnan(scores.disentanglement.value)
    assert np.isnan(scores.completeness.value)
    assert scores.informativeness.value < 0.6


def test_dci_errors_are_those_of_new_samples():
    """Over 12 samples: the mean error is 1/2 to 3 times the spread. The spread's own
    error is a fifth of it, so that twice that is off by chance in 1 of 1,000 cases
    (chi-square of 11 degrees); errors are 1.3 to 2 times it.
    """
    samples = []
    for seed in range(12):
        factors, codes = factors_and_code(200, seed, 0.5)
        samples.append(dci(codes, factors, halvings=1))
    for name in ("disentanglement", "completeness", "informativeness"):
        scores = [getattr(sample, name) for sample in samples]
        spread = np.std([score.value for score in scores], ddof=1)
        error = np.mean([score.standard_error for score in scores])
        assert 1 / 2 < error / spread < 3, name


def test_sap_of_a_code_by_hand():
    """One latent names a binary factor, the other guesses: 1 - 1/2 within 4 standard
    errors, 6 in 100,000 by chance.
    """
    rng = default_rng(0)
    factor = rng.integers(2, size=6000)
    noise, guess = rng.standard_normal((2, 6000))
    score = sap(np.column_stack([factor + 0.01 * noise, guess]), factor)
    assert score.matrix[0, 0] == 1.0
    assert score.n == 2000
    assert abs(score.value - 0.5) < 4 * score.standard_error


def test_sap_is_the_svm_of_the_published_code():
    factors, codes = factors_and_code(900, 1, 0.6)
    score = sap(codes, factors, items=None, generator=default_rng(5))
    order = default_rng(5).permutation(900)
    test = order[:300]
    training = order[300:]
    machine = LinearSVC(C=0.01, class_weight="balanced", random_state=0)
    machine.fit(codes[training, 1:], factors[training, 1])
    assert score.matrix[1, 1] == machine.score(codes[test, 1:], factors[test, 1])


def test_continuous_sap_is_r_squared():
    """R2 of y on y + noise of the same variance is 1/2; the influence values give its
    error (4 of them).
    """
    rng = default_rng(0)
    y = rng.integers(7, size=20_000)
    noise, unrelated = rng.standard_normal((2, 20_000))
    code = y + 2 * noise
    score = sap(
        np.column_stack([code, unrelated, np.full(20_000, 0.1)]),
        y,
        "continuous",
        items=None,
    )
    assert abs(score.value - 0.5) < 4 * score.standard_error
    assert score.matrix[2, 0] == 0.0
    assert score.matrix[0, 0] == approx(np.corrcoef(code, y)[0, 1] ** 2)


def test_influences_on_r_squared_are_those_of_leaving_an_item_out():
    """About -influence / n each."""
    rng = default_rng(0)
    y = rng.integers(7, size=(50, 1))
    codes = y + 2 * rng.standard_normal((50, 1))
    influence, squared = correlations(codes, y)
    changes = []
    for item in range(50):
        _, without = correlations(np.delete(codes, item, 0), np.delete(y, item, 0))
        changes.append(squared.item() - without.item())
    assert influence.mean() == approx(0.0, abs=1e-9)
    assert np.corrcoef(changes, influence[:, 0, 0])[0, 1] > 0.98
