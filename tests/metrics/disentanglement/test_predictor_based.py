"""DCI and SAP against hand-worked importances, closed forms and repeated samples."""

import numpy as np
from numpy.random import default_rng
from pytest import approx
from sklearn.svm import LinearSVC

from infoscope.metrics.disentanglement.predictor_based import concentration, correlations, dci, sap


def test_concentration_by_hand():
    """Rows (1, 0), (1/2, 1/2) and one that is never used, weights 1, 3 and 0: (1 x 1 + 3 x 0) / 4."""
    assert concentration(np.array([[1.0, 0.0], [1.5, 1.5], [0.0, 0.0]])) == approx(0.25)
    assert concentration(np.eye(3)) == approx(1.0)
    assert concentration(np.ones((4, 3))) == approx(0.0, abs=1e-12)
    quarter = 1 + (0.25 * np.log(0.25) + 0.75 * np.log(0.75)) / np.log(2)
    assert concentration(np.array([[0.25, 0.75]])) == approx(quarter)
    assert np.isnan(concentration(np.zeros((2, 2))))


def factors_and_code(n, seed, noise):
    rng = default_rng(seed)
    factors = rng.integers((2, 5), size=(n, 2))
    return factors, factors + noise * rng.standard_normal((n, 2))


def test_an_unused_latent_has_no_weight():
    """A constant latent is never split on: it neither lowers nor raises disentanglement."""
    factors, codes = factors_and_code(600, 0, 0.01)
    found = dci(np.column_stack([codes, np.full(600, 0.1)]), factors, 1)
    assert found.disentanglement.value == approx(1.0, abs=0.01) and (found.importance[2] == 0).all()
    assert found.completeness.value == approx(1.0, abs=0.01) and np.allclose(found.importance.sum(axis=0), 1)
    assert found.accuracy.min() > 0.99 and found.informativeness.n == 600


def test_without_splits_a_score_is_undefined():
    factors, _ = factors_and_code(100, 0, 0.0)
    found = dci(np.ones((100, 2)), factors, 1)
    assert np.isnan(found.disentanglement.value) and "use no column" in found.disentanglement.notes[0]
    assert np.isnan(found.completeness.value) and found.informativeness.value < 0.6


def test_dci_errors_are_those_of_new_samples():
    """Over 12 samples: the mean error is 1/2 to 3 times the spread. The spread's own error is a fifth of it, so that
    twice that is off by chance in 1 of 1,000 cases (chi-square of 11 degrees); errors are 1.3 to 2 times it.
    """
    samples = [factors_and_code(200, seed, 0.5) for seed in range(12)]
    found = [dci(codes, factors, halvings=1) for factors, codes in samples]
    for name in ("disentanglement", "completeness", "informativeness"):
        scores = [getattr(one, name) for one in found]
        spread = np.std([score.value for score in scores], ddof=1)
        assert 1 / 2 < np.mean([score.standard_error for score in scores]) / spread < 3, name


def test_sap_of_a_code_by_hand():
    """One latent names a binary factor, the other guesses: 1 - 1/2 within 4 standard errors, 6 in 100,000 by chance."""
    rng = default_rng(0)
    factor = rng.integers(2, size=(6000, 1))
    found = sap(np.column_stack([factor[:, 0] + 0.01 * rng.standard_normal(6000), rng.standard_normal(6000)]), factor)
    assert found.matrix[0, 0] == 1.0 and found.n == 2000
    assert abs(found.value - 0.5) < 4 * found.standard_error


def test_sap_is_the_svm_of_the_published_code():
    factors, codes = factors_and_code(900, 1, 0.6)
    found = sap(codes, factors, items=None, generator=default_rng(5))
    order = default_rng(5).permutation(900)
    test, training = order[:300], order[300:]
    machine = LinearSVC(C=0.01, class_weight="balanced", random_state=0).fit(codes[training, 1:], factors[training, 1])
    assert found.matrix[1, 1] == machine.score(codes[test, 1:], factors[test, 1])


def test_continuous_sap_is_r_squared():
    """R2 of y on y + noise of the same variance is 1/2; the influence values give its error (4 of them)."""
    rng = default_rng(0)
    y = rng.integers(7, size=20_000)
    codes = np.column_stack([y + 2 * rng.standard_normal(20_000), rng.standard_normal(20_000), np.full(20_000, 0.1)])
    found = sap(codes, y, "continuous", items=None)
    assert abs(found.value - 0.5) < 4 * found.standard_error
    assert found.matrix[2, 0] == 0.0
    assert found.matrix[0, 0] == approx(np.corrcoef(codes[:, 0], y)[0, 1] ** 2)
    influence, squared = correlations(codes[:, :1], y[:, None])
    assert influence.mean() == approx(0.0, abs=1e-9)
    without = [
        correlations(np.delete(codes[:50, :1], i, 0), np.delete(y[:50, None], i, 0))[1].item() for i in range(50)
    ]
    influence, squared = correlations(codes[:50, :1], y[:50, None])
    # Leaving an item out changes the figure by about -influence / n.
    assert np.corrcoef(squared.item() - np.array(without), influence[:, 0, 0])[0, 1] > 0.98
