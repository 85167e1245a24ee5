"""Exact informations against sums written out, closed forms, and one another."""

import numpy as np
import pytest
import torch
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from pytest import approx
from scipy.special import logsumexp

from infoscope.metrics.factor_information import density_sums, exact
from infoscope.metrics.factor_information.attacks import (
    redundancy_attack,
    synergy_attack,
)
from infoscope.metrics.factor_information.posterior import (
    CategoricalPosterior,
    GaussianPosterior,
    ProductPosterior,
)
from tests.metrics.factor_information.full_gaussian import FullGaussian
from tests.refusals import refused

N = 2500  # three blocks of rows, the last one not full


def factors(n=N):
    """No grid: unequal frequencies, dependent, one with 40 values and gaps between its
    codes.
    """
    rng = default_rng(0)
    first = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    second = (first + rng.integers(0, 4, n)) % 5
    third = 7 * rng.integers(0, 40, n) - 3
    return np.stack([first, second, third], axis=1)


def gaussian(n=N, dim=3, seed=0, names=None):
    rng = default_rng(seed)
    places = np.arange(dim) % 3
    weights = np.array([1, 0.5, 0.01])[places]
    mean = factors(n)[:, places] * weights + 0.2 * rng.normal(size=(n, dim))
    scale = np.exp(rng.normal(size=(n, dim)) / 2 - 1.5)
    return GaussianPosterior(mean, scale, names)


def categorical(n=N, values=4, seed=0, name="category"):
    probabilities = default_rng(seed).dirichlet(np.ones(values), n)
    return CategoricalPosterior(probabilities, name)


def full(n=N, dim=3, seed=0):
    root = default_rng(seed).normal(size=(n, dim, dim + 2)) / 3
    return FullGaussian(gaussian(n, dim).mean, root @ root.swapaxes(1, 2))


def pair():
    return gaussian(dim=2, names=("a", "b"))


POSTERIORS = {
    "gaussian": gaussian,
    "categorical": categorical,
    "full": full,
    "redundant": lambda: redundancy_attack(gaussian(), 1.5),
    "mixed": lambda: ProductPosterior(
        categorical(), gaussian(), categorical(values=3, seed=2, name="c")
    ),
    "mixed full": lambda: ProductPosterior(pair(), categorical(), full()),
    "both attacks": lambda: ProductPosterior(
        redundancy_attack(gaussian(), 1.0), synergy_attack(pair(), 1.0)
    ),
}


@pytest.mark.parametrize("name", POSTERIORS)
def test_both_sweeps_are_the_sums_written_out(name):
    """log q(z_S | y_k) - log q(z_S) of every draw, subset and factor, from log
    densities of all pairs by logsumexp.
    """
    posterior = POSTERIORS[name]()
    y = factors()
    codes = exact.codes_of(y, N)
    order, rows, z = exact.draw_sample(posterior, codes, 7, default_rng(1))
    pointwise = exact.factor_information(posterior, y, 7, default_rng(1)).pointwise
    alone, rest, joint = posterior.log_terms(torch.as_tensor(z)[:, None], slice(None))
    densities = torch.cat([alone, rest, joint[..., None]], -1).numpy()
    for m, row in enumerate(rows):
        log_marginal = logsumexp(densities[m], axis=0) - np.log(N)
        for k in range(3):
            same = densities[m, y[:, k] == y[row, k]]
            log_conditional = logsumexp(same, axis=0) - np.log(len(same))
            assert_allclose(pointwise[m, k], log_conditional - log_marginal, atol=5e-6)
    sums = exact.sums_of(posterior, codes, order, rows, z, "cpu", None)
    assert_allclose(
        density_sums.latent_sums(posterior, z, rows, codes), sums, rtol=5e-6
    )


@pytest.mark.parametrize("values", (2, 4))
def test_a_noisy_copy_has_its_closed_form(values):
    """z is y with probability 2/3, else another value: within 5 standard errors, and
    the expectation itself.
    """
    truth = np.log(4 * values**3 / (27 * (values - 1))) / 3
    miss = 1 / (3 * (values - 1))
    probability = np.where(np.eye(values, dtype=bool), 2 / 3, miss)
    information = exact.factor_information(
        CategoricalPosterior(probability),
        np.arange(values)[:, None],
        4000,
        default_rng(values),
    )
    error = information.standard_errors()[0][0, 0]
    assert abs(information.alone[0, 0] - truth) < 5 * error
    ratios = information.pointwise[:, 0, 0]
    hit = ratios > 0
    expectation = 2 / 3 * ratios[hit].mean() + 1 / 3 * ratios[~hit].mean()
    assert expectation == approx(truth, abs=1e-6)


def test_exclusive_or_is_synergy():
    """Two certain bits whose exclusive or is the factor: a = b = 0, t = log 2, all of
    it synergy, without any error.
    """
    first = np.array([0, 0, 1, 1])
    second = np.array([0, 1, 0, 1])
    posterior = ProductPosterior(
        CategoricalPosterior(np.eye(2)[first], "first"),
        CategoricalPosterior(np.eye(2)[second], "second"),
    )
    information = exact.factor_information(
        posterior, (first ^ second)[:, None], 50, default_rng(0)
    )
    assert_allclose(information.alone, 0, atol=1e-6)
    assert information.joint[0] == approx(np.log(2), abs=1e-6)
    bounds = information.bounds()
    assert_allclose(bounds.synergistic_low.value, np.log(2), atol=1e-6)
    assert_allclose(bounds.synergistic_high.value, np.log(2), atol=1e-6)


def errors_of(information):
    return np.sqrt(np.square(information.deviations).sum(axis=0))


def test_estimates_are_unbiased_and_standard_errors_cover_the_spread():
    """200 samples of 50 draws against 20,000 draws: the mean within 4.5 standard
    errors; draws are stratified, so that the standard error of a sample is at least its
    spread (less 20 %, 4 standard errors of a spread).
    """
    posterior = gaussian(200)
    y = factors(200)
    truth = exact.factor_information(posterior, y, 20_000, default_rng(1))
    parts = []
    errors = []
    for seed in range(100, 300):
        information = exact.factor_information(posterior, y, 50, default_rng(seed))
        parts.append(information.parts)
        errors.append(errors_of(information))
    error = np.mean(errors, axis=0)
    spread = np.std(parts, axis=0)
    tolerance = 4.5 * np.hypot(spread / np.sqrt(200), errors_of(truth))
    assert (np.abs(np.mean(parts, axis=0) - truth.parts) < tolerance).all()
    assert (error > 0.8 * spread).all()
    assert (error < 2 * spread).all()


def latents_of(posterior, draws, seed):
    """The `LatentInformation` of a posterior."""
    no_factor = np.zeros((posterior.n, 1), int)
    return exact.measure(posterior, no_factor, draws, default_rng(seed)).latents


@pytest.mark.parametrize("name", ("gaussian", "mixed"))
def test_information_of_the_input_and_the_three_parts_of_the_divergence(name):
    """MI + total correlation + dimension-wise KL is KL(q(z | x) || p), draw by draw."""
    latents = latents_of(POSTERIORS[name](), 300, 2)
    information = latents.mutual_information.value
    total = (
        information
        + latents.total_correlation.value
        + latents.dimension_wise_kl.value.sum()
    )
    assert total == approx(latents.kl.value, abs=1e-5)
    assert 0 < information <= np.log(N)


def test_the_divergence_has_its_closed_form():
    """Of a Gaussian posterior, over all rows; within 5 standard errors of 4,000 draws."""
    posterior = gaussian(300)
    kl = latents_of(posterior, 4000, 3).kl
    by_latent = posterior.mean**2 + posterior.scale**2 - 1 - 2 * np.log(posterior.scale)
    truth = 0.5 * by_latent.sum(axis=1).mean()
    assert abs(kl.value - truth) < 5 * kl.standard_error


def test_independent_latents_have_no_total_correlation():
    """Rows on a grid of two means: q(z) factorises, and the information about the row
    is far below log n.
    """
    grid = np.meshgrid(np.arange(6.0), np.arange(5.0))
    mean = np.stack(grid, axis=-1).reshape(-1, 2)
    latents = latents_of(GaussianPosterior(mean, np.full_like(mean, 0.01)), 200, 0)
    assert latents.total_correlation.value == approx(0, abs=1e-5)
    assert latents.mutual_information.value == approx(np.log(30), abs=1e-5)


def test_sharp_posteriors_are_measured_exactly():
    """Scales of 1e-5 around means of 3: float32 differences of the means alone would be
    off by 2 %.
    """
    rng = default_rng(8)
    mean = 3 + 1e-5 * rng.normal(size=(500, 2))
    posterior = GaussianPosterior(mean, np.full((500, 2), 1e-5))
    y = rng.integers(0, 3, (500, 1))
    order, rows, z = exact.draw_sample(posterior, y, 40, default_rng(1))
    sums = exact.kernel_sums(exact.layout(posterior), y, order, rows, z, None)
    assert_allclose(sums, density_sums.latent_sums(posterior, z, rows, y), rtol=1e-5)


@pytest.mark.parametrize(("factor", "scale"), [(1, 1e-39), (1e38, 1.0)])
def test_scales_and_means_beyond_float32_are_measured_in_float64(factor, scale):
    """At 1e-39 float32 would lose the own row, and log 3 with it."""
    mean = factor * np.array([[0.0], [1], [0.5], [1.5], [2], [3]])
    y = np.array([[0], [0], [1], [1], [2], [2]])
    posterior = GaussianPosterior(mean, np.full((6, 1), scale))
    information = exact.factor_information(posterior, y, 60, default_rng(0))
    assert information.alone[0, 0] == approx(np.log(3), abs=1e-6)


def test_what_float32_cannot_hold_is_summed_in_float64():
    """Twelve latents, of which some rows are 10^4 times as sure as others: products of
    densities reach 10^48.
    """
    mean = np.zeros((50, 12))
    scale = np.full((50, 12), 1e-4)
    mean[:25] = 1e-3
    scale[:25] = 1.0
    posterior = GaussianPosterior(mean, scale)
    y = np.arange(50)[:, None] % 2
    order = np.arange(50)
    rows = np.arange(4)
    draws = np.full((4, 12), 1e-5)  # of a vague row, by chance where the sure ones are
    with np.errstate(over="ignore", invalid="ignore"):
        in_float32 = exact.kernel_sums(
            exact.layout(posterior), y, order, rows, draws, None
        )
    assert not np.isfinite(in_float32).all()
    sums = exact.sums_of(posterior, y, order, rows, draws, "cpu", None)
    assert_allclose(sums, density_sums.latent_sums(posterior, draws, rows, y))
    assert_allclose(
        sums[0, 0, -1],
        25 + 25 * 1e48 * np.exp(-0.06 + 6 * (1e-3 - 1e-5) ** 2),
        rtol=1e-3,
    )


def test_threads_do_not_matter():
    pointwise = []
    before = torch.get_num_threads()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        pointwise.append(
            exact.factor_information(
                gaussian(), factors(), 700, default_rng(1)
            ).pointwise
        )
    torch.set_num_threads(before)
    assert_array_equal(*pointwise)


def test_information_about_a_constant_factor_is_zero():
    y = np.column_stack([np.arange(5) > 2, np.ones(5, bool)])
    information = exact.factor_information(gaussian(5), y, 20)
    assert information.joint[1] == information.entropy[1] == 0
    with refused("factor 'y1'", "range"):
        information.unibound()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA")
@pytest.mark.parametrize("name", POSTERIORS)
def test_a_gpu_gives_the_same(name):
    posterior = POSTERIORS[name]()
    y = factors()
    on_gpu = exact.measure(posterior, y, 100, default_rng(1), device="cuda")
    on_cpu = exact.measure(posterior, y, 100, default_rng(1))
    assert_allclose(on_gpu.factors.pointwise, on_cpu.factors.pointwise, atol=1e-5)
    assert on_gpu.latents.kl.value == approx(on_cpu.latents.kl.value, abs=1e-5)
