"""Nearest-neighbour information against closed forms, its invariances, and the known
defects of other packages.

Statistical bounds are at least four standard errors wide plus the documented bias:
false alarms below 1 in 10,000.
"""

import numpy as np
import pytest
import torch
from numpy.random import default_rng
from pytest import approx

from infoscope.data.tasks.catalogue import case
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


# Closed forms


@pytest.mark.parametrize("method", ["ksg1", "ksg2"])
def test_two_gaussians(method):
    """Kraskov et al. 2004, figures 4 and 9: the systematic error is below 0.02 here."""
    estimates = []
    for seed in range(10):
        estimates.append(
            mutual_information(*normal_pair(1000, 0.9, seed), method=method)
        )
    error = np.std(estimates, ddof=1) / np.sqrt(10)
    assert abs(np.mean(estimates) - normal_information(0.9)) < 0.02 + 5 * error
    assert error < 0.02


DENSITIES = {
    "normal": (lambda g: 3 * g.normal(size=(4000, 2)), np.log(2 * np.pi * np.e * 9)),
    "uniform": (lambda g: 7 * g.uniform(size=4000), np.log(7)),
    "exponential": (lambda g: g.exponential(size=4000), 1.0),
}


@pytest.mark.parametrize("density", DENSITIES)
def test_entropy_of_known_densities(density):
    sample, truth = DENSITIES[density]
    estimate = entropy(sample(default_rng(0)))
    assert abs(estimate - truth) < 0.02 + 5 * estimate.standard_error


def test_total_correlation_of_gaussians():
    covariance = np.array([[1.0, 0.6, 0.3], [0.6, 1.0, 0.5], [0.3, 0.5, 1.0]])
    sample = default_rng(0).multivariate_normal(np.zeros(3), covariance, 4000)
    estimate = total_correlation(sample)
    truth = -0.5 * np.log(np.linalg.det(covariance))
    assert abs(estimate - truth) < 0.03 + 5 * estimate.standard_error
    of_pair = total_correlation(sample[:, :2])
    assert of_pair.value == approx(
        mutual_information(sample[:, 0], sample[:, 1]), abs=1e-12
    )


AND_INFORMATION = 0.75 * np.log(4 / 3) + 0.25 * np.log(4) - 0.5 * LN2  # I(a; a & b)
AND_ENTROPY = 0.5623351446188083
GATES = {
    "xor": (np.bitwise_xor, -LN2),
    "and": (np.bitwise_and, 2 * AND_INFORMATION - AND_ENTROPY),
}


@pytest.mark.parametrize("gate", GATES)
def test_gates(gate):
    """a and b independent bits; positive is redundancy. Every cell holds 1000 samples:
    the error is of order 1/1000.
    """
    a = np.repeat([0, 0, 1, 1], 1000)
    b = np.repeat([0, 1, 0, 1], 1000)
    function, truth = GATES[gate]
    estimate = co_information(
        torch.as_tensor(a), np.array(["no", "yes"])[b], function(a, b)
    )
    assert estimate.value == approx(truth, abs=2e-3)
    assert estimate.method == "Grassberger"


def test_terms_of_co_information_are_of_the_same_rows():
    """A label that is alone with its class of b is left out of all three terms."""
    generator = default_rng(1)
    a = generator.normal(size=200)
    b = generator.integers(0, 3, 200)
    t = generator.integers(0, 2, 200)
    b[0] = 3
    estimate = co_information(a, b, t, local=True)
    assert estimate.n == 199
    assert np.isnan(estimate.local[0])
    # one column of numbers: its scale is irrelevant
    rest = co_information(a[1:], b[1:], t[1:], margins="given")
    assert estimate.value == approx(rest.value, abs=1e-12)


# Ties


def rounded_to_a_tenth(seed):
    x, y = normal_pair(2000, 0.8, seed)
    return np.round(10 * x), np.round(10 * y) + 0.5


def rounded_to_a_half(seed):
    x, y = HALVES.sample(2000, np.random.default_rng(seed))
    return Continuous(x), Continuous(y)


HALVES = case("rounded-gaussian")


@pytest.mark.parametrize(
    ("sample", "truth"),
    [
        (rounded_to_a_tenth, normal_information(0.8)),  # less 0.002
        (rounded_to_a_half, HALVES.truth()[0]),
    ],
)
def test_rounded_gaussians(sample, truth):
    """Mesner & Shalizi on rounded data; KSG's strict counts are off by whole nats
    there, and using them at the untied samples only would still be off by 0.11 at a
    step of 0.1.
    """
    estimates = [mutual_information(*sample(seed)) for seed in range(6)]
    error = np.std(estimates, ddof=1) / np.sqrt(6)
    assert estimates[0].method == "Mesner-Shalizi"
    assert np.mean(estimates) == approx(truth, abs=0.035 + 5 * error)


@pytest.mark.parametrize("scale", [0.1, 1e-7])
def test_ties_survive_scaling(scale):
    """Multiples of 0.1 are unequally spaced in float64 and float32; their ties are
    those of the whole numbers.
    """
    x, y = np.round(4 * np.array(normal_pair(1000, 0.8)))
    reference = mutual_information(x, y)
    assert reference.method == "Mesner-Shalizi"
    for moved in (x * scale, (x * scale).astype(np.float32), 7 - x * scale):
        assert mutual_information(moved, y).value == approx(reference, abs=1e-12)


# Invariances


@pytest.mark.parametrize("constant", [np.ones((500, 2)), ["a"] * 500])
def test_given_a_constant_it_is_the_information_without_it(constant):
    x, y = normal_pair(500, 0.7)
    estimate = conditional_mutual_information(x, y, constant)
    assert estimate.value == approx(mutual_information(x, y), abs=1e-12)
    assert [note.code for note in estimate.notes] == ["constant condition"]


@pytest.mark.parametrize("scale", [1e-10, 1e12])
def test_scales_do_not_matter(scale):
    """Margins are standardised, radii strict at any size: rescaling a variable or a
    column changes no count.
    """
    generator = default_rng(0)
    x = generator.normal(size=(500, 5))
    y = x[:, 0] + generator.normal(size=500)
    labels = generator.integers(0, 3, 500)
    of_labels = conditional_mutual_information(x, labels, y)
    for scaled in (x * [scale, 1, 1, 1, 1], -x * scale):
        estimate = conditional_mutual_information(scaled, labels, y * scale)
        assert estimate.value == approx(of_labels, abs=1e-12)
    assert entropy(x * scale).value == approx(entropy(x) + 5 * np.log(scale), abs=1e-9)


def test_entropy_of_mixed_columns():
    """H(x, c) = H(c) + H(x | c)."""
    generator = default_rng(0)
    labels = generator.integers(0, 2, 4000)
    x = generator.normal(size=4000) * np.where(labels == 0, 1, 5)
    truth = LN2 + 0.5 * np.log(2 * np.pi * np.e) + 0.5 * np.log(5)
    estimate = entropy([Continuous(x), Discrete(labels)])
    assert abs(estimate - truth) < 0.02 + 5 * estimate.standard_error
