"""The closed form of normal variables against known cases, minimisation over contractions, and draws."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from infoscope.metrics import pid
from infoscope.metrics.factor_information import toy


def channels(h_a, h_b, noise=None):
    """The covariance of (target, a, b): a and b are h_a and h_b times a standard normal target, plus unit noise that
    the two share by `noise`."""
    h = np.vstack([h_a, h_b])
    within = np.eye(len(h))
    if noise is not None:
        within[: len(h_a), len(h_a) :], within[len(h_a) :, : len(h_a)] = noise, np.transpose(noise)
    places = np.split(np.arange(sum(h.shape)), [h.shape[1], h.shape[1] + len(h_a)])
    return np.block([[np.eye(h.shape[1]), h.T], [h, h @ h.T + within]]), dict(zip(("target", "a", "b"), places))


def random_channels(seed, target, a, b, scale=1.0):
    g = np.random.default_rng(seed)
    noise = g.normal(size=(a, b))
    return scale * g.normal(size=(a, target)), g.normal(size=(b, target)), 0.7 * noise / np.linalg.norm(noise, 2)


def least_over_contractions(h_a, h_b):
    """min over s, ||s|| <= 1, of 1/2 log det(1 + h_b' h_b + B' (1 - s s')^-1 B), B = h_a - s h_b, by L-BFGS in float64:
    s = m l'^-1 with l l' = 1 + m' m, so that (1 - s s')^-1 = 1 + m m'."""
    h_a, h_b = torch.tensor(h_a), torch.tensor(h_b)

    def value(flat):
        m = torch.tensor(flat.reshape(len(h_a), len(h_b)), requires_grad=True)
        lower = torch.linalg.cholesky(torch.eye(len(h_b), dtype=torch.float64) + m.T @ m)
        b = h_a - torch.linalg.solve_triangular(lower, m.T, upper=False).T @ h_b
        combined = h_b.T @ h_b + b.T @ (torch.eye(len(h_a), dtype=torch.float64) + m @ m.T) @ b
        found = 0.5 * torch.logdet(torch.eye(h_a.shape[1], dtype=torch.float64) + combined)
        found.backward()
        return found.item(), m.grad.numpy().ravel()

    start = 0.1 * np.random.default_rng(0).normal(size=len(h_a) * len(h_b))
    options = {"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-10, "maxcor": 30}
    return minimize(value, start, jac=True, method="L-BFGS-B", options=options).fun


@pytest.mark.parametrize(
    "target, a, b, scale",
    [(1, 1, 1, 1.0), (3, 2, 4, 1.0), (4, 2, 2, 1.0), (2, 5, 5, 30.0)],
)
def test_the_union_is_the_least_over_all_contractions(target, a, b, scale):
    h_a, h_b, noise = random_channels(7, target, a, b, scale)
    covariance, places = channels(h_a, h_b, noise)
    found = pid.gaussian(covariance, **places)
    union = found.unique_a + found.unique_b + found.redundant
    assert union == pytest.approx(least_over_contractions(h_a, h_b), abs=1e-9)
    assert found.gap < 1e-6


def test_known_cases():
    """Copies are redundant, separate parts unique, a sum of independent numbers is synergistic, degraded sources have
    no unique information."""
    h = np.array([[1.0, 0.5], [0.2, 2.0]])
    whole = np.linalg.slogdet(np.eye(2) + h.T @ h)[1] / 2
    copies = np.vstack([np.hstack([np.eye(2), h.T, h.T]), *[np.hstack([h, *[h @ h.T + np.eye(2)] * 2])] * 2])
    assert pid.gaussian(copies, [2, 3], [4, 5], [0, 1])[:4] == pytest.approx((0, 0, whole, 0), abs=1e-12)
    apart, places = channels(np.array([[2.0, 0.0]]), np.array([[0.0, 1.0]]))
    assert pid.gaussian(apart, **places)[:4] == pytest.approx((np.log(5) / 2, np.log(2) / 2, 0, 0), abs=1e-12)
    degraded, places = channels(h, 0.5 * h)
    found = pid.gaussian(degraded, **places)
    assert found.unique_b == pytest.approx(0, abs=1e-12) and found.unique_a > 0.1
    added = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 2.1]])  # a, b, a + b + noise
    found = pid.gaussian(added, 0, 1, 2)
    assert found.unique_a == found.unique_b == 0
    assert found.redundant == pytest.approx(np.log(2.1 / 1.1) / 2)
    assert found.synergistic == pytest.approx(np.log(2.1 / 0.1) / 2 - np.log(2.1 / 1.1) / 2)


def test_high_signal_to_noise_to_what_rounding_allows():
    for strength in (1e2, 1e4, 1e6):
        covariance, places = channels(np.array([[strength]]), np.array([[strength / 2]]))
        found = pid.gaussian(covariance, **places)
        exact = np.log1p(strength**2) / 2, np.log1p(strength**2 / 4) / 2
        off = abs(found.redundant - exact[1]), abs(found.unique_a - (exact[0] - exact[1]))
        assert max(off) <= found.gap <= 1e-14 * strength**2


def test_invertible_maps_of_each_variable_change_no_term():
    g = np.random.default_rng(3)
    covariance, places = channels(*random_channels(1, 3, 2, 4))
    found = pid.gaussian(covariance, **places)
    maps = np.zeros_like(covariance)
    for rows in places.values():
        maps[np.ix_(rows, rows)] = g.normal(size=(len(rows), len(rows))) * 1000.0 ** g.integers(-1, 2)
    assert pid.gaussian(maps @ covariance @ maps.T, **places)[:4] == pytest.approx(found[:4], abs=1e-9)
    swapped = pid.gaussian(covariance, places["b"], places["a"], places["target"])
    assert (swapped.unique_b, *swapped[2:4]) == pytest.approx((found.unique_a, *found[2:4]), abs=1e-12)


def test_repeated_and_constant_columns_change_no_term():
    covariance, places = channels(*random_channels(2, 2, 2, 2))
    found = pid.gaussian(covariance, **places)
    more = np.zeros((9, 9))  # the target's sum, a repeated column of a, and a constant
    mapped = np.vstack([np.eye(6), [1, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0]])
    more[:8, :8] = mapped @ covariance @ mapped.T
    again = pid.gaussian(more, [2, 3, 7], [4, 5, 8], [0, 1, 6])
    assert again[:4] == pytest.approx(found[:4], abs=1e-9)
    assert pid.gaussian(more, [2, 3], [4, 5], [8])[:4] == (0, 0, 0, 0)


def test_the_toy_model_is_within_its_bounds():
    """Of one factor the Gaussian terms are at the ends of the intervals: unique at UniBound."""
    for attack in ("redundancy", "synergy"):
        exact = toy.exact(attack, 3, 0.5, 1.5)
        covariance = toy.covariance(attack, 3, 0.5, 1.5)
        bounds = exact.bounds()
        for k in range(3):
            for latent in range(6):
                rest = [3 + other for other in range(6) if other != latent]
                found = pid.gaussian(covariance, 3 + latent, rest, k)
                known = exact.alone[k, latent], exact.rest[k, latent], exact.joint[k]
                assert found.informations == pytest.approx(known, abs=1e-9)
                assert found.unique_a == pytest.approx(bounds.unique_low.value[k, latent], abs=1e-9)
                assert found.redundant == pytest.approx(bounds.redundant_high.value[k, latent], abs=1e-9)
                assert found.synergistic == pytest.approx(bounds.synergistic_low.value[k, latent], abs=1e-9)


def test_estimates_from_rows_are_within_their_errors():
    h_a, h_b = np.array([[2.0, 0.3], [0.0, 0.4]]), np.array([[0.2, 1.5]])
    covariance, places = channels(h_a, h_b)
    exact = pid.gaussian(covariance, **places)
    root, z = np.linalg.cholesky(covariance), []
    for seed in range(20):
        rows = np.random.default_rng(seed).standard_normal((400, 5)) @ root.T
        found = pid.gaussian_from_arrays(*(rows[:, places[name]] for name in ("a", "b", "target")), blocks=40)
        z.append([(term.value - truth) / term.standard_error for term, truth in zip(found[:4], exact)])
        assert found.informations[0].standard_error < found.unique_a.standard_error + found.redundant.standard_error
    z = np.array(z)
    assert (np.abs(z.mean(axis=0)) < 0.9).all()  # four standard errors of a mean of 20
    assert ((z.std(axis=0) > 0.6) & (z.std(axis=0) < 1.6)).all()


def test_ranks_do_not_depend_on_monotone_maps():
    g = np.random.default_rng(0)
    target = g.normal(size=300)
    a, b = target + g.normal(size=300), target + g.normal(size=300)
    found = pid.gaussian_from_arrays(a, b, target, margins="rank")
    again = pid.gaussian_from_arrays(np.exp(a), b**3, target, margins="rank")
    assert again[:4] == pytest.approx(found[:4])
    assert "rank-normal" in found.redundant.method and found.redundant.n == 300
