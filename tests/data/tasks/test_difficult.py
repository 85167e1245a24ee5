"""Difficult distributions: their information computed in another way, and what they
state.
"""

import math

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose
from pytest import approx
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from infoscope.data.tasks.difficult import DIFFICULT
from tests.data.common import plug_in

ROWS = 200_000


def drawn(name):
    return DIFFICULT[name].sample(ROWS, default_rng(11))


def truth(name):
    nats, _ = DIFFICULT[name].truth()
    return nats


@pytest.mark.parametrize("name", ["value-and-square", "saturated-sensor"])
def test_what_columns_are_computed_from_has_the_stated_correlation(name):
    x, y = drawn(name)
    source = x[:, 0]
    if name == "saturated-sensor":
        source = np.arctanh(source)
    correlation = np.corrcoef(source, y[:, 0])[0, 1]
    nats = -0.5 * math.log1p(-(correlation**2))
    assert nats == approx(truth(name), abs=0.01)
    assert_allclose(y[:, 1], y[:, 0] ** 2)


def test_parts_add_up():
    x, y = drawn("two-compositions")
    assert_allclose(x.sum(axis=1), 1)
    assert_allclose(y.sum(axis=1), 1)
    ratios_x = np.log(x[:, :2] / x[:, 2:])
    ratios_y = np.log(y[:, :2] / y[:, 2:])
    for ratio_x, ratio_y in zip(ratios_x.T, ratios_y.T):
        correlation = np.corrcoef(ratio_x, ratio_y)[0, 1]
        assert correlation == approx(0.7, abs=0.01)


def test_totals_are_the_sum_of_their_parts():
    x, _ = drawn("totals-beside-parts")
    first, second, total = x.T
    assert_allclose(first + second, total)


def angle_of(circle):
    cosine, sine = circle.T
    return np.arctan2(sine, cosine)


@pytest.mark.parametrize("degrees", [5, 30])
def test_angles_have_the_entropy_of_a_wrapped_normal(degrees):
    """Its Fourier series converges for wide noise; narrow noise is a normal density."""
    name = f"two-angles-{degrees}"
    noise = math.radians(degrees)
    entropy = stats.norm(scale=noise).entropy()
    assert truth(name) == approx(math.log(2 * np.pi) - entropy, abs=1e-6)
    x, y = map(angle_of, drawn(name))
    turn = np.angle(np.exp(1j * (y - x)))
    assert turn.std() == approx(noise, rel=0.02)


@pytest.mark.parametrize("strength", [1, 20])
def test_a_weak_table_shifts_the_test_by_its_strength(strength):
    """The statistic of 1,000 rows, less its degree of freedom, has the strength as its
    mean.
    """
    name = f"weak-table-{strength}"
    generator = default_rng(0)
    assert truth(name) == approx(strength / 2000, rel=1e-6)
    statistics = []
    for _ in range(400):
        x, y = DIFFICULT[name].sample(1000, generator)
        nats = plug_in(x.astype(int), y.astype(int))
        statistics.append(2000 * nats)
    error = np.std(statistics) / math.sqrt(400)
    assert np.mean(statistics) == approx(strength, abs=4.5 * error + 0.1)


def orthonormal(columns):
    basis, _ = np.linalg.qr(columns - columns.mean(axis=0))
    return basis


@pytest.mark.parametrize("name", ["embeddings-32-32", "embeddings-128-16"])
def test_embeddings_have_the_information_of_their_correlations(name):
    x, y = drawn(name)
    product = orthonormal(x).T @ orthonormal(y)
    correlations = np.linalg.svd(product, compute_uv=False)
    nats = -0.5 * np.log1p(-(correlations**2)).sum()
    bias = x.shape[1] * y.shape[1] / (2 * ROWS)
    assert nats - bias == approx(truth(name), abs=0.015)


def test_the_score_explains_its_share():
    x, y = drawn("score-of-64")
    weights, *_ = np.linalg.lstsq(x, y, rcond=None)
    residual = y - x @ weights
    assert residual.var() / y.var() == approx(0.2, abs=0.005)


def test_a_linear_classifier_loses_the_entropy_of_the_label_given_the_columns():
    """The optimal classifier is linear; fitted to half of the rows it loses little
    more.
    """
    distribution = DIFFICULT["label-of-50-columns"]
    x, y = distribution.sample(40_000, default_rng(2))
    half = 20_000
    classifier = LogisticRegression().fit(x[:half], y[:half])
    probabilities = classifier.predict_proba(x[half:])
    nats = math.log(5) - log_loss(y[half:], probabilities)
    assert nats == approx(truth("label-of-50-columns"), abs=0.02)
