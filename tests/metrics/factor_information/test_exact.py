"""Exact informations against sums written out, closed forms, and one another."""

import numpy as np
import pytest
import torch
from scipy.special import logsumexp

from infoscope.metrics.factor_information import density_sums, exact
from infoscope.metrics.factor_information.attacks import redundancy_attack, synergy_attack
from infoscope.metrics.factor_information.posterior import (
    CategoricalPosterior,
    GaussianPosterior,
    ProductPosterior,
)
from tests.metrics.factor_information.full_gaussian import FullGaussian
from tests.refusals import refused

generator = np.random.default_rng

N = 2500  # three blocks of rows, the last one not full


def factors(n=N):
    """No grid: unequal frequencies, dependent, one with 40 values and gaps between its codes."""
    g = generator(0)
    one = g.choice(3, n, p=[0.6, 0.3, 0.1])
    return np.stack([one, (one + g.integers(0, 4, n)) % 5, 7 * g.integers(0, 40, n) - 3], axis=1)


def gaussian(n=N, dim=3, seed=0, names=None):
    g = generator(seed)
    mean = factors(n)[:, np.arange(dim) % 3] * np.array([1, 0.5, 0.01])[np.arange(dim) % 3] + 0.2 * g.normal(
        size=(n, dim)
    )
    return GaussianPosterior(mean, np.exp(g.normal(size=(n, dim)) / 2 - 1.5), names)


def categorical(n=N, values=4, seed=0, name="category"):
    return CategoricalPosterior(generator(seed).dirichlet(np.ones(values), n), name)


def full(n=N, dim=3, seed=0):
    root = generator(seed).normal(size=(n, dim, dim + 2)) / 3
    return FullGaussian(gaussian(n, dim).mean, root @ root.swapaxes(1, 2))


POSTERIORS = {
    "gaussian": gaussian,
    "categorical": categorical,
    "full": full,
    "redundant": lambda: redundancy_attack(gaussian(), 1.5),
    "synergistic": lambda: synergy_attack(gaussian(), 1.5),
    "mixed": lambda: ProductPosterior(categorical(), gaussian(), categorical(values=3, seed=2, name="c")),
    "mixed full": lambda: ProductPosterior(gaussian(dim=2, names=("a", "b")), categorical(), full()),
    "both attacks": lambda: ProductPosterior(
        redundancy_attack(gaussian(), 1.0), synergy_attack(gaussian(dim=2, names=("a", "b")), 1.0)
    ),
    "mixed synergistic": lambda: ProductPosterior(synergy_attack(gaussian(), 2.0), gaussian(dim=1, names=("a",))),
}


@pytest.mark.parametrize("name", POSTERIORS)
def test_both_sweeps_are_the_sums_written_out(name):
    """log q(z_S | y_k) - log q(z_S) of every draw, subset and factor, from log densities of all pairs by logsumexp."""
    posterior, y = POSTERIORS[name](), factors()
    codes = exact.codes_of(y, N)
    order, rows, z = exact.draw_sample(posterior, codes, 7, generator(1))
    found = exact.factor_information(posterior, y, 7, generator(1)).pointwise
    alone, rest, joint = posterior.log_terms(torch.as_tensor(z)[:, None], slice(None))
    every = torch.cat([alone, rest, joint[..., None]], -1).numpy()
    own = y[rows]
    for k in range(3):
        for m in range(7):
            same = every[m, y[:, k] == own[m, k]]
            expected = logsumexp(same, axis=0) - np.log(len(same)) - logsumexp(every[m], axis=0) + np.log(N)
            np.testing.assert_allclose(found[m, k], expected, atol=5e-6)
    sums = exact.sums_of(posterior, codes, order, rows, z, "cpu", None)
    np.testing.assert_allclose(density_sums.latent_sums(posterior, z, rows, codes), sums, rtol=5e-6)


@pytest.mark.parametrize("values", (2, 4))
def test_a_noisy_copy_has_its_closed_form(values):
    """z is y with probability 2/3, else another value: within 5 standard errors, and the expectation itself."""
    truth = np.log(4 * values**3 / (27 * (values - 1))) / 3
    probability = np.where(np.eye(values, dtype=bool), 2 / 3, 1 / (3 * (values - 1)))
    posterior, y = CategoricalPosterior(probability), np.arange(values)[:, None]
    found = exact.factor_information(posterior, y, 4000, generator(values))
    assert abs(found.alone[0, 0] - truth) < 5 * found.standard_errors()[0][0, 0]
    hit = found.pointwise[:, 0, 0] > 0
    expected = 2 / 3 * found.pointwise[hit, 0, 0].mean() + 1 / 3 * found.pointwise[~hit, 0, 0].mean()
    assert expected == pytest.approx(truth, abs=1e-6)


def test_exclusive_or_is_synergy():
    """Two certain bits whose exclusive or is the factor: a = b = 0, t = log 2, all of it synergy, without any error."""
    bits = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    posterior = ProductPosterior(*[CategoricalPosterior(np.eye(2)[bit], f"bit {i}") for i, bit in enumerate(bits.T)])
    found = exact.factor_information(posterior, np.bitwise_xor(*bits.T)[:, None], 50, generator(0))
    np.testing.assert_allclose(found.alone, 0, atol=1e-6)
    assert found.joint[0] == pytest.approx(np.log(2), abs=1e-6)
    low, high = found.bounds().synergistic_low, found.bounds().synergistic_high
    np.testing.assert_allclose([low.value, high.value], np.log(2), atol=1e-6)
    assert found.aggregated().synergistic_low.value == pytest.approx(1, abs=1e-6)


def test_estimates_are_unbiased_and_standard_errors_cover_the_spread():
    """200 samples of 50 draws against 20,000 draws: the mean within 4.5 standard errors; draws are stratified, so that
    the standard error of a sample is at least its spread (less 20 %, 4 standard errors of a spread).
    """
    posterior, y = gaussian(200), factors(200)
    truth = exact.factor_information(posterior, y, 20_000, generator(1))
    runs = [exact.factor_information(posterior, y, 50, generator(seed)) for seed in range(100, 300)]
    parts = np.array([run.parts for run in runs])
    claimed = np.mean([np.sqrt(np.square(run.deviations).sum(axis=0)) for run in runs], axis=0)
    spread = parts.std(axis=0)
    errors = np.hypot(spread / np.sqrt(200), np.sqrt(np.square(truth.deviations).sum(axis=0)))
    assert (np.abs(parts.mean(axis=0) - truth.parts) < 4.5 * errors).all()
    assert (claimed > 0.8 * spread).all() and (claimed < 2 * spread).all()


def test_every_row_is_equally_likely():
    posterior, codes = gaussian(30), exact.codes_of(factors(30), 30)
    samples = (exact.draw_sample(posterior, codes, 7, generator(s)) for s in range(3000))
    counts = sum(np.bincount(rows, minlength=30) for _, rows, _ in samples)
    expected = 3000 * 7 / 30
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()  # a false alarm once in 5e4 times
    many = np.bincount(exact.draw_sample(posterior, codes, 90, generator(0))[1], minlength=30)
    assert many.sum() == 90 and many.min() >= 1  # more draws than rows: each row in turn


def latents_of(posterior, draws, drawn):
    """The `LatentInformation` of a posterior."""
    return exact.measure(posterior, np.zeros((posterior.n, 1), int), draws, drawn).latents


@pytest.mark.parametrize("name", ("gaussian", "mixed"))
def test_information_of_the_input_and_the_three_parts_of_the_divergence(name):
    """MI + total correlation + dimension-wise KL is KL(q(z | x) || p), draw by draw."""
    posterior = POSTERIORS[name]()
    found = latents_of(posterior, 300, generator(2))
    parts = found.mutual_information.value + found.total_correlation.value + found.dimension_wise_kl.value.sum()
    assert parts == pytest.approx(found.kl.value, abs=1e-5)
    assert 0 < found.mutual_information.value <= np.log(N)
    assert found.dimension_wise_kl.value.shape == (len(posterior.latents),)


def test_the_divergence_has_its_closed_form():
    """Of a Gaussian posterior, over all rows; within 5 standard errors of 4,000 draws."""
    posterior = gaussian(300)
    found = latents_of(posterior, 4000, generator(3)).kl
    closed = 0.5 * (posterior.mean**2 + posterior.scale**2 - 1 - 2 * np.log(posterior.scale)).sum(axis=1).mean()
    assert abs(found.value - closed) < 5 * found.standard_error


def test_independent_latents_have_no_total_correlation():
    """Rows on a grid of two means: q(z) factorises, and the information about the row is far below log n."""
    mean = np.stack(np.meshgrid(np.arange(6.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    found = latents_of(GaussianPosterior(mean, np.full_like(mean, 0.01)), 200, generator(0))
    assert found.total_correlation.value == pytest.approx(0, abs=1e-5)
    assert found.mutual_information.value == pytest.approx(np.log(30), abs=1e-5)


def test_sharp_posteriors_are_measured_exactly():
    """Scales of 1e-5 around means of 3: float32 differences of the means alone would be off by 2 %."""
    g = generator(8)
    mean = 3 + 1e-5 * g.normal(size=(500, 2))
    posterior, y = GaussianPosterior(mean, np.full((500, 2), 1e-5)), g.integers(0, 3, (500, 1))
    sample = exact.draw_sample(posterior, y, 40, generator(1))
    sums = exact.kernel_sums(exact.layout(posterior), y, *sample, None)
    np.testing.assert_allclose(sums, density_sums.latent_sums(posterior, sample[2], sample[1], y), rtol=1e-5)


def test_scales_and_means_beyond_float32_are_measured_in_float64():
    """At 1e-39 float32 would lose the own row, and log 3 with it."""
    mean, y = np.array([[0.0], [1], [0.5], [1.5], [2], [3]]), np.repeat(np.arange(3), 2)[:, None]
    for factor, scale in ((1, 1e-37), (1, 1e-39), (1e38, 1.0)):
        found = exact.factor_information(GaussianPosterior(factor * mean, np.full((6, 1), scale)), y, 60, generator(0))
        assert found.alone[0, 0] == pytest.approx(np.log(3), abs=1e-6)


def test_what_float32_cannot_hold_is_summed_in_float64():
    """Twelve latents, of which some rows are 10^4 times as sure as others: products of densities reach 10^48."""
    mean, scale = np.zeros((50, 12)), np.full((50, 12), 1e-4)
    scale[:25] = 1.0
    mean[:25] = 1e-3
    posterior, y = GaussianPosterior(mean, scale), np.arange(50)[:, None] % 2
    draws = np.full((4, 12), 1e-5)  # of a vague row, by chance where the sure ones are
    rows = np.arange(4)
    with np.errstate(over="ignore", invalid="ignore"):
        in_float32 = exact.kernel_sums(exact.layout(posterior), y, np.arange(50), rows, draws, None)
    assert not np.isfinite(in_float32).all()
    found = exact.sums_of(posterior, y, np.arange(50), rows, draws, "cpu", None)
    np.testing.assert_allclose(found, density_sums.latent_sums(posterior, draws, rows, y))
    np.testing.assert_allclose(found[0, 0, -1], 25 + 25 * 1e48 * np.exp(-0.06 + 6 * (1e-3 - 1e-5) ** 2), rtol=1e-3)


def test_threads_do_not_matter():
    posterior, y = gaussian(), factors()
    found, before = [], torch.get_num_threads()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        found.append(exact.factor_information(posterior, y, 700, generator(1)).pointwise)
    torch.set_num_threads(before)
    np.testing.assert_array_equal(*found)


def test_information_about_a_constant_factor_is_zero():
    found = exact.factor_information(gaussian(5), np.column_stack([np.arange(5) > 2, np.ones(5, bool)]), 20)
    assert found.joint[1] == found.entropy[1] == 0 and found.table()["entropy"].min() == 0
    with refused("factor 'y1'", "range"):
        found.unibound()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA")
@pytest.mark.parametrize("name", POSTERIORS)
def test_a_gpu_gives_the_same(name):
    posterior, y = POSTERIORS[name](), factors()
    on_gpu = exact.measure(posterior, y, 100, generator(1), device="cuda")
    here = exact.measure(posterior, y, 100, generator(1))
    np.testing.assert_allclose(on_gpu.factors.pointwise, here.factors.pointwise, atol=1e-5)
    assert on_gpu.latents.kl.value == pytest.approx(here.latents.kl.value, abs=1e-5)
