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
    noise *= 0.7 / np.linalg.norm(noise, 2)
    return h_a, h_b, noise


def least_over_contractions(h_a, h_b):
    """min over s, ||s|| <= 1, of 1/2 log det(1 + h_b' h_b + B' (1 - s s')^-1 B), B =
    h_a - s h_b, by L-BFGS in float64: s = m l'^-1 with l l' = 1 + m' m, so that (1 - s
    s')^-1 = 1 + m m'.
    """
    h_a = torch.tensor(h_a)
    h_b = torch.tensor(h_b)
    one_a = torch.eye(len(h_a), dtype=torch.float64)
    one_b = torch.eye(len(h_b), dtype=torch.float64)
    one_target = torch.eye(h_a.shape[1], dtype=torch.float64)

    def value(flat):
        m = torch.tensor(flat.reshape(len(h_a), len(h_b)), requires_grad=True)
        lower = torch.linalg.cholesky(one_b + m.T @ m)
        s = torch.linalg.solve_triangular(lower, m.T, upper=False).T
        b = h_a - s @ h_b
        precision = one_a + m @ m.T
        combined = one_target + h_b.T @ h_b + b.T @ precision @ b
        information = 0.5 * torch.logdet(combined)
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
OF_H = np.linalg.slogdet(np.eye(2) + H.T @ H)[1] / 2
APART, _ = channels(np.array([[2.0, 0.0]]), np.array([[0.0, 1.0]]))
# a, b, a + b + noise
SUM = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 2.1]])
OF_A = np.log(2.1 / 1.1) / 2
OF_BOTH = np.log(2.1 / 0.1) / 2


def copies():
    """The covariance of a target of two numbers, a source, and its copy."""
    within = H @ H.T + np.eye(2)
    of_target = [np.eye(2), H.T, H.T]
    of_source = [H, within, within]
    return np.block([of_target, of_source, of_source])


@pytest.mark.parametrize(
    ("covariance", "places", "terms"),
    [
        (copies(), ([2, 3], [4, 5], [0, 1]), (0, 0, OF_H, 0)),
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
        # without rounding
        assert decomposition.unique_a == 0
        assert decomposition.unique_b == 0


@pytest.mark.parametrize("strength", [1e2, 1e6])
def test_a_degraded_source_has_no_unique_information_at_any_signal(strength):
    """To what rounding allows."""
    h_a = np.array([[strength]])
    covariance, places = channels(h_a, h_a / 2)
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
        size = len(rows), len(rows)
        maps[np.ix_(rows, rows)] = scale * rng.normal(size=size)
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
    repeated = pid.gaussian(wider, [2, 3, 7], [4, 5, 8], [0, 1, 6])
    assert repeated[:4] == approx(terms[:4], abs=1e-9)
    about_constant = pid.gaussian(wider, [2, 3], [4, 5], [8])
    assert about_constant[:4] == (0, 0, 0, 0)


@pytest.mark.parametrize("attack", ["redundancy", "synergy"])
def test_the_toy_model_is_within_its_bounds(attack):
    """Of one factor the Gaussian terms are at the ends of the intervals: unique at
    UniBound.
    """
    exact = toy.exact(attack, 3, 0.5, 1.5)
    covariance = toy.covariance(attack, 3, 0.5, 1.5)
    bounds = exact.bounds()
    unique = bounds.unique_low.value
    redundant = bounds.redundant_high.value
    for k, latent in np.ndindex(3, 6):
        rest = [3 + other for other in range(6) if other != latent]
        terms = pid.gaussian(covariance, 3 + latent, rest, k)
        of_a, of_b, of_both = terms.informations
        assert of_a == approx(exact.alone[k, latent], abs=1e-9)
        assert of_b == approx(exact.rest[k, latent], abs=1e-9)
        assert of_both == approx(exact.joint[k], abs=1e-9)
        assert terms.unique_a == approx(unique[k, latent], abs=1e-9)
        assert terms.redundant == approx(redundant[k, latent], abs=1e-9)


def test_estimates_from_rows_are_within_their_errors():
    """Of 20 samples: four standard errors of a mean deviation."""
    h_a = np.array([[2.0, 0.3], [0.0, 0.4]])
    h_b = np.array([[0.2, 1.5]])
    covariance, places = channels(h_a, h_b)
    truth = pid.gaussian(covariance, **places)
    root = np.linalg.cholesky(covariance)
    deviations = np.zeros((20, 4))
    for seed in range(20):
        rows = default_rng(seed).standard_normal((400, 5)) @ root.T
        sample = {name: rows[:, columns] for name, columns in places.items()}
        terms = pid.gaussian_from_arrays(**sample, blocks=40)
        for place in range(4):
            error = terms[place].value - truth[place]
            deviations[seed, place] = error / terms[place].standard_error
    means = deviations.mean(axis=0)
    spreads = deviations.std(axis=0)
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
