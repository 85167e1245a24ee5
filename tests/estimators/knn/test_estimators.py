"""Nearest-neighbour information against closed forms, its invariances, and the known defects of other packages.

Statistical bounds are at least four standard errors wide plus the documented bias: false alarms below 1 in 10,000.
"""

import numpy as np
import pytest
import torch

from infoscope.estimators.columns import Continuous, Discrete
from infoscope.estimators.knn.estimators import (
    co_information,
    conditional_mutual_information,
    entropy,
    mutual_information,
    total_correlation,
)
from tests.estimators.samples import normal_information, normal_pair

LN2 = np.log(2)


def mean_and_error(values):
    return np.mean(values), np.std(values, ddof=1) / np.sqrt(len(values))


# Closed forms


@pytest.mark.parametrize("method", ["ksg1", "ksg2"])
def test_two_gaussians(method):
    """Kraskov et al. 2004, figures 4 and 9: the systematic error is below 0.02 here."""
    estimates = [mutual_information(*normal_pair(1000, 0.9, seed), method=method) for seed in range(10)]
    mean, error = mean_and_error(estimates)
    assert abs(mean - normal_information(0.9)) < 0.02 + 5 * error
    assert error < 0.02


def test_entropy_of_known_densities():
    generator = np.random.default_rng(0)
    for sample, truth in (
        (generator.normal(size=(4000, 2)) * 3, np.log(2 * np.pi * np.e * 9)),
        (generator.uniform(size=4000) * 7, np.log(7)),
        (generator.exponential(size=4000), 1.0),
    ):
        estimate = entropy(sample)
        assert abs(estimate - truth) < 0.02 + 5 * estimate.standard_error


def test_total_correlation_of_gaussians():
    covariance = np.array([[1.0, 0.6, 0.3], [0.6, 1.0, 0.5], [0.3, 0.5, 1.0]])
    sample = np.random.default_rng(0).multivariate_normal(np.zeros(3), covariance, 4000)
    estimate = total_correlation(sample)
    assert abs(estimate + 0.5 * np.log(np.linalg.det(covariance))) < 0.03 + 5 * estimate.standard_error
    two = total_correlation(sample[:, :2])
    assert float(two) == pytest.approx(mutual_information(sample[:, 0], sample[:, 1]), abs=1e-12)


GATES = {
    "xor": (lambda a, b: a ^ b, -LN2),
    "and": (lambda a, b: a & b, 2 * (0.75 * np.log(4 / 3) + 0.25 * np.log(4) - 0.5 * LN2) - 0.5623351446188083),
}


@pytest.mark.parametrize("gate", GATES)
def test_gates(gate):
    """a and b independent bits; positive is redundancy. Every cell holds 1000 samples: the error is of order 1/1000."""
    a, b = np.repeat([0, 0, 1, 1], 1000), np.repeat([0, 1, 0, 1], 1000)
    function, truth = GATES[gate]
    estimate = co_information(torch.as_tensor(a), np.array(["no", "yes"])[b], function(a, b))
    assert float(estimate) == pytest.approx(truth, abs=2e-3)
    assert estimate.method == "Grassberger" and estimate.settings == ""


def test_co_information_is_the_sum_of_its_terms():
    generator = np.random.default_rng(0)
    a = generator.normal(size=(300, 2))
    b = generator.integers(0, 3, 300)
    t = generator.normal(size=300)
    terms = mutual_information(a, t) + mutual_information(b, t) - mutual_information([Continuous(a), Discrete(b)], t)
    estimate = co_information(a, b, t, local=True)
    assert float(estimate) == pytest.approx(terms, abs=1e-12)
    assert estimate.local.mean() == pytest.approx(estimate.value, abs=1e-12)


def test_terms_of_co_information_are_of_the_same_rows():
    """A label that is alone with its class of b is left out of all three terms."""
    generator = np.random.default_rng(1)
    a = generator.normal(size=200)
    b = generator.integers(0, 3, 200)
    t = generator.integers(0, 2, 200)
    b[0] = 3
    estimate = co_information(a, b, t, local=True)
    assert estimate.n == 199
    assert np.isnan(estimate.local[0])
    assert "1 sample" in estimate.notes[0]
    assert np.nanmean(estimate.local) == pytest.approx(float(estimate), abs=1e-12)
    rest = co_information(a[1:], b[1:], t[1:], margins="given")  # one column of numbers: its scale is irrelevant
    assert float(estimate) == pytest.approx(float(rest), abs=1e-12)


# Ties


def gaussian_information_rounded(correlation, step):
    """I of two standard Gaussians rounded to multiples of step, nats, by quadrature."""
    from scipy.stats import multivariate_normal

    edges = (np.arange(-8, 8 + step, step) - step / 2)[:, None]
    grid = np.stack(np.broadcast_arrays(edges, edges.T), axis=-1)
    cumulative = multivariate_normal([0, 0], [[1, correlation], [correlation, 1]]).cdf(grid)
    cells = np.maximum(np.diff(np.diff(cumulative, axis=0), axis=1), 1e-300)
    product = cells.sum(axis=1, keepdims=True) * cells.sum(axis=0)
    return float((cells * np.log(cells / product)).sum())


@pytest.mark.parametrize("step, bias", [(1.0, 0.01), (0.1, 0.035)])
def test_rounded_gaussians(step, bias):
    """Mesner & Shalizi on rounded data; KSG's strict counts are off by whole nats there, and using them at the untied
    samples only would still be off by 0.11 at a step of 0.1."""
    sets = [normal_pair(2000, 0.8, seed) for seed in range(6)]
    estimates = [mutual_information(np.round(x / step), np.round(y / step) + 0.5) for x, y in sets]
    mean, error = mean_and_error(estimates)
    assert estimates[0].method == "Mesner-Shalizi"
    assert abs(mean - gaussian_information_rounded(0.8, step)) < bias + 5 * error


@pytest.mark.parametrize("scale", [0.1, 1e-7])
def test_ties_survive_scaling(scale):
    """Multiples of 0.1 are unequally spaced in float64 and float32; their ties are those of the whole numbers."""
    x, y = (np.round(4 * variable) for variable in normal_pair(1000, 0.8, 0))
    reference = mutual_information(x, y)
    assert reference.method == "Mesner-Shalizi"
    for moved in (x * scale, (x * scale).astype(np.float32), 7 - x * scale):
        assert float(mutual_information(moved, y)) == pytest.approx(reference, abs=1e-12)


def test_zero_inflated_margins():
    """Half of x and half of y are exactly 0, independently: no information; KSG would find several nats."""
    estimates = []
    for seed in range(6):
        x, y = np.maximum(np.random.default_rng(seed).normal(size=(2, 1000)), 0)
        estimates.append(mutual_information(x, y))
    mean, error = mean_and_error(estimates)
    assert abs(mean) < 0.02 + 5 * error


# Invariances


@pytest.mark.parametrize("rename", [lambda codes: np.array(["ash", "oak", "elm"])[codes], lambda c: Discrete(c * 0.01)])
def test_names_and_order_of_classes_do_not_matter(rename):
    generator = np.random.default_rng(2)
    labels = generator.integers(0, 3, 800)
    condition = generator.integers(0, 3, 800)
    z = generator.normal(size=(800, 12)) + labels[:, None]
    renamed = rename(labels)
    information = mutual_information(z, renamed)
    conditional = conditional_mutual_information(z, renamed, condition)
    assert float(information) == pytest.approx(mutual_information(z, labels), abs=1e-12)
    assert float(conditional) == pytest.approx(conditional_mutual_information(z, labels, condition), abs=1e-12)


@pytest.mark.parametrize("constant", [np.ones((500, 2)), ["a"] * 500])
def test_given_a_constant_it_is_the_information_without_it(constant):
    x, y = normal_pair(500, 0.7)
    found = conditional_mutual_information(x, y, constant)
    assert float(found) == pytest.approx(mutual_information(x, y), abs=1e-12)
    assert [note.code for note in found.notes] == ["constant condition"]


@pytest.mark.parametrize("scale", [1e-10, 1e12])
def test_scales_do_not_matter(scale):
    """Margins are standardised, radii strict at any size: rescaling a variable or a column changes no count."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=(500, 5))
    y = x[:, 0] + generator.normal(size=500)
    labels = generator.integers(0, 3, 500)
    one_column = x * [scale, 1, 1, 1, 1]
    for scaled in (one_column, -x * scale):
        for estimate, expected in (
            (mutual_information(scaled, y), mutual_information(x, y)),
            (mutual_information(scaled, labels), mutual_information(x, labels)),
            (
                conditional_mutual_information(scaled, labels, y * scale),
                conditional_mutual_information(x, labels, y),
            ),
        ):
            assert float(estimate) == pytest.approx(expected, abs=1e-12)
    assert float(entropy(x * scale)) == pytest.approx(entropy(x) + 5 * np.log(scale), abs=1e-9)


def test_mixed_columns():
    """H(x, c) = H(c) + H(x | c), and a class column beside x carries the information of the class."""
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 2, 4000)
    x = generator.normal(size=4000) * np.where(labels == 0, 1, 5)
    mixed = [Continuous(x), Discrete(labels)]
    noisy = np.where(generator.random(4000) < 0.9, labels, 1 - labels)
    truth = LN2 + 0.5 * np.log(2 * np.pi * np.e) + 0.5 * np.log(5)
    estimate = entropy(mixed)
    assert abs(estimate - truth) < 0.02 + 5 * estimate.standard_error
    truth = LN2 + 0.9 * np.log(0.9) + 0.1 * np.log(0.1)
    estimate = mutual_information(mixed, noisy)
    assert abs(estimate - truth) < 0.03 + 5 * estimate.standard_error


def test_the_standard_error_is_that_of_repeated_samples():
    """In 1 + 1 dimensions. 60 sets: the ratio is known to 9 % (one standard deviation)."""
    estimates = [mutual_information(*normal_pair(500, 0.6, seed)) for seed in range(60)]
    claimed = np.mean([estimate.standard_error for estimate in estimates])
    assert 0.6 < claimed / np.std(estimates, ddof=1) < 1.5
