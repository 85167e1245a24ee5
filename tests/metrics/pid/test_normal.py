"""The closed form of normal variables against cases by hand, minimisation over
contractions, and draws.
"""

import numpy as np
import pytest
import torch
from numpy.random import default_rng
from pytest import approx
from scipy.optimize import minimize

from infoscope.metrics import pid
from infoscope.metrics.factor_information import toy


def channels(h_a, h_b, noise=0.0):
    """The covariance of (target, a, b): a and b are h_a and h_b times a standard normal
    target, plus unit noise that the two share by `noise`; and the places of each.
    """
    h = np.vstack([h_a, h_b])
    sources, targets = h.shape
    first = len(h_a)
    within = np.eye(sources)
    within[:first, first:] = noise
    within[first:, :first] = np.transpose(noise)
    covariance = np.block([[np.eye(targets), h.T], [h, h @ h.T + within]])
    target, a, b = np.split(np.arange(targets + sources), [targets, targets + first])
    return covariance, {"target": target, "a": a, "b": b}


def random_channels(seed, target, a, b, scale=1.0):
    rng = default_rng(seed)
    noise = rng.normal(size=(a, b))
    h_a = scale * rng.normal(size=(a, target))
    h_b = rng.normal(size=(b, target))
    return h_a, h_b, 0.7 * noise / np.linalg.norm(noise, 2)


def least_over_contractions(h_a, h_b):
    """min over s, ||s|| <= 1, of 1/2 log det(1 + h_b' h_b + B' (1 - s s')^-1 B), B =
    h_a - s h_b, by L-BFGS in float64: s = m l'^-1 with l l' = 1 + m' m, so that (1 - s
    s')^-1 = 1 + m m'.
    """
    h_a = torch.tensor(h_a)
    h_b = torch.tensor(h_b)

    def identity(size):
        return torch.eye(size, dtype=torch.float64)

    def value(flat):
        m = torch.tensor(flat.reshape(len(h_a), len(h_b)), requires_grad=True)
        lower = torch.linalg.cholesky(identity(len(h_b)) + m.T @ m)
        s = torch.linalg.solve_triangular(lower, m.T, upper=False).T
        b = h_a - s @ h_b
        combined = h_b.T @ h_b + b.T @ (identity(len(h_a)) + m @ m.T) @ b
        information = 0.5 * torch.logdet(identity(h_a.shape[1]) + combined)
        information.backward()
        return information.item(), m.grad.numpy().ravel()

    start = 0.1 * default_rng(0).normal(size=len(h_a) * len(h_b))
    options = {"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 30}
    return minimize(value, start, jac=True, method="L-BFGS-B", options=options).fun


@pytest.mark.parametrize(
    ("target", "a", "b", "scale"),
    [(1, 1, 1, 1.0), (3, 2, 4, 1.0), (2, 5, 5, 30.0)],
)
def test_the_union_is_the_least_over_all_contractions(target, a, b, scale):
    h_a, h_b, noise = random_channels(7, target, a, b, scale)
    covariance, places = channels(h_a, h_b, noise)
    terms = pid.gaussian(covariance, **places)
    union = terms.unique_a + terms.unique_b + terms.redundant
    assert union == approx(least_over_contractions(h_a, h_b), abs=1e-9)
    assert terms.gap < 1e-6


H = np.array([[1.0, 0.5], [0.2, 2.0]])
WITHIN = H @ H.T + np.eye(2)
COPIES = np.block([[np.eye(2), H.T, H.T], [H, WITHIN, WITHIN], [H, WITHIN, WITHIN]])
APART, _ = channels(np.array([[2.0, 0.0]]), np.array([[0.0, 1.0]]))
# a, b, a + b + noise
SUM = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 2.1]])
OF_H = np.linalg.slogdet(np.eye(2) + H.T @ H)[1] / 2
OF_A = np.log(2.1 / 1.1) / 2
OF_BOTH = np.log(2.1 / 0.1) / 2


@pytest.mark.parametrize(
    ("covariance", "places", "terms"),
    [
        (COPIES, ([2, 3], [4, 5], [0, 1]), (0, 0, OF_H, 0)),
        (APART, (2, 3, [0, 1]), (np.log(5) / 2, np.log(2) / 2, 0, 0)),
        (SUM, (0, 1, 2), (0, 0, OF_A, OF_BOTH - OF_A)),
    ],
    ids=[
        "copies are redundant",
        "separate parts are unique",
        "a sum of independent numbers is synergistic",
    ],
)
def test_closed_forms(covariance, places, terms):
    decomposition = pid.gaussian(covariance, *places)
    assert decomposition[:4] == approx(terms, abs=1e-12)
    if covariance is SUM:
        assert decomposition.unique_a == decomposition.unique_b == 0  # without rounding


def test_a_degraded_source_has_no_unique_information():
    covariance, places = channels(H, 0.5 * H)
    terms = pid.gaussian(covariance, **places)
    assert terms.unique_b == approx(0, abs=1e-12)
    assert terms.unique_a > 0.1


@pytest.mark.parametrize("strength", [1e2, 1e6])
def test_high_signal_to_noise_to_what_rounding_allows(strength):
    covariance, places = channels(np.array([[strength]]), np.array([[strength / 2]]))
    terms = pid.gaussian(covariance, **places)
    of_a = np.log1p(strength**2) / 2
    of_b = np.log1p(strength**2 / 4) / 2
    assert abs(terms.redundant - of_b) <= terms.gap
    assert abs(terms.unique_a - (of_a - of_b)) <= terms.gap
    assert terms.gap <= 1e-14 * strength**2


def test_invertible_maps_of_each_variable_change_no_term():
    rng = default_rng(3)
    covariance, places = channels(*random_channels(1, 3, 2, 4))
    terms = pid.gaussian(covariance, **places)
    maps = np.zeros_like(covariance)
    for rows in places.values():
        scale = 1000.0 ** rng.integers(-1, 2)
        maps[np.ix_(rows, rows)] = scale * rng.normal(size=(len(rows), len(rows)))
    mapped = pid.gaussian(maps @ covariance @ maps.T, **places)
    assert mapped[:4] == approx(terms[:4], abs=1e-9)
    swapped = pid.gaussian(covariance, places["b"], places["a"], places["target"])
    assert swapped.unique_b == approx(terms.unique_a, abs=1e-12)
    assert swapped[2:4] == approx(terms[2:4], abs=1e-12)


def test_repeated_and_constant_columns_change_no_term():
    covariance, places = channels(*random_channels(2, 2, 2, 2))
    terms = pid.gaussian(covariance, **places)
    sum_of_target = [1, 1, 0, 0, 0, 0]
    copy_of_a = [0, 0, 1, 0, 0, 0]
    constant = np.zeros(6)
    columns = np.vstack([np.eye(6), sum_of_target, copy_of_a, constant])
    wider = columns @ covariance @ columns.T
    assert pid.gaussian(wider, [2, 3, 7], [4, 5, 8], [0, 1, 6])[:4] == approx(
        terms[:4], abs=1e-9
    )
    assert pid.gaussian(wider, [2, 3], [4, 5], [8])[:4] == (0, 0, 0, 0)


@pytest.mark.parametrize("attack", ["redundancy", "synergy"])
def test_the_toy_model_is_within_its_bounds(attack):
    """Of one factor the Gaussian terms are at the ends of the intervals: unique at
    UniBound.
    """
    exact = toy.exact(attack, 3, 0.5, 1.5)
    covariance = toy.covariance(attack, 3, 0.5, 1.5)
    bounds = exact.bounds()
    for k, latent in np.ndindex(3, 6):
        rest = [3 + other for other in range(6) if other != latent]
        terms = pid.gaussian(covariance, 3 + latent, rest, k)
        informations = exact.alone[k, latent], exact.rest[k, latent], exact.joint[k]
        assert terms.informations == approx(informations, abs=1e-9)
        assert terms.unique_a == approx(bounds.unique_low.value[k, latent], abs=1e-9)
        assert terms.redundant == approx(
            bounds.redundant_high.value[k, latent], abs=1e-9
        )


def test_estimates_from_rows_are_within_their_errors():
    """Of 20 samples: four standard errors of a mean deviation."""
    covariance, places = channels(
        np.array([[2.0, 0.3], [0.0, 0.4]]), np.array([[0.2, 1.5]])
    )
    exact = pid.gaussian(covariance, **places)
    root = np.linalg.cholesky(covariance)
    deviations = []
    for seed in range(20):
        rows = default_rng(seed).standard_normal((400, 5)) @ root.T
        sample = {name: rows[:, columns] for name, columns in places.items()}
        terms = pid.gaussian_from_arrays(**sample, blocks=40)
        deviations.append(
            [
                (term.value - truth) / term.standard_error
                for term, truth in zip(terms[:4], exact)
            ]
        )
    means = np.mean(deviations, axis=0)
    spreads = np.std(deviations, axis=0)
    assert np.abs(means).max() < 0.9
    assert spreads.min() > 0.6
    assert spreads.max() < 1.6


def test_ranks_do_not_depend_on_monotone_maps():
    rng = default_rng(0)
    target, noise_a, noise_b = rng.normal(size=(3, 300))
    a = target + noise_a
    b = target + noise_b
    plain = pid.gaussian_from_arrays(a, b, target, margins="rank")
    mapped = pid.gaussian_from_arrays(np.exp(a), b**3, target, margins="rank")
    assert mapped[:4] == approx(plain[:4])
