"""Decodable information against closed forms, brute force, and the published figures of real pools.

The figures of whole pools are among the slow checks; in every run of the tests smaller images of MNIST come near them.
"""

import itertools
import math
import os

import numpy as np
import pytest
import torch
from scipy import stats

from infoscope.data import imdb_embeddings, mnist
from infoscope.metrics.decodable import (
    channel_information,
    decodable_information,
    decodable_information_of_items,
    equal_rows,
    information_of_items,
    log_factor_sums,
)

LN2 = math.log(2.0)
needs_data = pytest.mark.skipif(
    not os.environ.get("INFOSCOPE_DATA"), reason="INFOSCOPE_DATA names no folder of real data"
)


def truth_of_one_source(distance, crossover):
    """I(X; Y) in nats of two readings N(+-distance, 1) of fair labels that share a channel, by quadrature."""
    grid = np.linspace(-9 - distance, 9 + distance, 1601)
    likelihoods = np.stack([stats.norm.pdf(grid, -distance), stats.norm.pdf(grid, distance)])
    likelihoods /= likelihoods.sum(axis=1, keepdims=True)
    joint_labels = np.array([[1 - crossover, crossover], [crossover, 1 - crossover]]) / 2
    joint = np.einsum("kl,ki,lj->ij", joint_labels, likelihoods, likelihoods)
    independent = np.multiply.outer(joint.sum(1), joint.sum(0))
    return float((joint * np.log(np.where(joint > 0, joint / independent, 1.0))).sum())


class NoisyBits:
    """Labels with noise, N(+-distance, 1), independently in x and y; `dims` numbers for each source of y."""

    def __init__(self, sources, distance, crossover, dims=1):
        self.sources, self.distance, self.crossover, self.dims = sources, distance, crossover, dims

    def sample_labelled(self, n, generator, device="cpu"):
        labels = torch.rand(n, self.sources, generator=generator) < 0.5
        flipped = labels ^ (torch.rand(n, self.sources, generator=generator) < self.crossover)
        x = self.read(labels, generator)
        y = torch.cat(
            [self.read(flipped, generator)] + [torch.randn(n, self.sources * (self.dims - 1), generator=generator)], 1
        )
        return x, y, labels, flipped

    def read(self, labels, generator):
        return (2.0 * labels - 1) * self.distance + torch.randn(labels.shape, generator=generator)


def noisy_items(n, distance, seed):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % 2)
    return ((2.0 * labels - 1) * distance + rng.normal(size=n))[:, None], labels


def test_items_reach_the_exact_information():
    """Within 4 standard errors (6e-5 each) and the loss of fitting two parameters, about 10 x 2 / 3000 nats."""
    vectors, labels = noisy_items(3000, 1.5, 0)
    crossovers = [0.0, 0.1, 0.4, 0.5]
    found = decodable_information_of_items(vectors, labels, crossovers, sources=10)
    assert found.n == 3000
    assert abs(found.accuracy - stats.norm.cdf(1.5)) < 4 * found.accuracy_standard_error
    *found, nothing = found.information
    assert nothing.value == 0.0 and nothing.nominal == pytest.approx(0.0, abs=1e-15)
    for crossover, one in zip(crossovers, found):
        truth = 10 * truth_of_one_source(1.5, crossover)
        assert abs(one.value - truth) < 4 * one.standard_error + 0.007
        assert one.low < one.value < one.high < one.nominal
        assert one.nominal == pytest.approx(10 * channel_information(crossover))
        assert one.normaliser == pytest.approx(1.0, abs=0.01)


def test_means_over_pairs_are_exact():
    """Against a loop over all ordered pairs of distinct items, labels drawn through the channel."""
    rng = np.random.default_rng(2)
    agreement, bits, crossover = rng.uniform(-0.8, 1, size=40), np.arange(40) % 3 % 2, 0.15
    sums = {(k, m): [] for k in (0, 1) for m in (0, 1)}
    for i, j in itertools.permutations(range(40), 2):
        u, v = (agreement[i] * (2 * bits[i] - 1), agreement[j] * (2 * bits[j] - 1))
        sums[bits[i], bits[j]].append((math.log(1 + 0.7 * u * v), 1 + 0.7 * u * v))
    means = {labels: np.mean(terms, axis=0) for labels, terms in sums.items()}
    chance = {labels: (crossover if labels[0] != labels[1] else 1 - crossover) / 2 for labels in means}
    normaliser = sum(mean[1] for mean in means.values()) / 4
    value = sum(chance[labels] * mean[0] for labels, mean in means.items()) - math.log(normaliser)
    found = information_of_items(agreement, bits, np.arange(40), crossover, sources=7)
    assert found.value == pytest.approx(7 * value, rel=1e-10)
    assert found.normaliser == pytest.approx(normaliser**7, rel=1e-10)


def test_standard_error_of_items_is_the_jackknife():
    """Deleting one item at a time (Efron & Stein 1981) agrees with the closed form to 2 % at 200 items."""
    rng = np.random.default_rng(3)
    agreement, bits = np.tanh(rng.normal(1.5, 1.0, size=200)), np.arange(200) % 2
    found = information_of_items(agreement, bits, np.arange(200), 0.1, 1)
    kept = [np.delete(np.arange(200), i) for i in range(200)]
    without = [information_of_items(agreement[k], bits[k], np.arange(199), 0.1, 1).value for k in kept]
    assert found.standard_error == pytest.approx(math.sqrt(199 * np.var(without)), rel=0.02)


def test_copies_count_once():
    """Four copies of every item, known as such: the error stays near that of the items alone (pairs of copies of one
    item are 1.5 % of the pairs of their class here, and shift it a little).
    """
    rng = np.random.default_rng(4)
    agreement, bits = np.tanh(rng.normal(1.5, 1.0, size=400)), np.arange(400) % 2
    alone = information_of_items(agreement, bits, np.arange(400), 0.1, 1)
    copied = [np.repeat(values, 4) for values in (agreement, bits, np.arange(400))]
    assert information_of_items(*copied, 0.1, 1).standard_error == pytest.approx(alone.standard_error, rel=0.02)
    assert len(set(equal_rows(np.repeat(rng.normal(size=(5, 3)), 2, axis=0)))) == 5


@pytest.mark.parametrize(("decoder", "dims"), [("linear", 2), ("mlp", 1)])
def test_sources_of_pairs_reach_the_exact_information(decoder, dims):
    """Fresh Gaussian readings, for which the linear decoder is well specified; dims 2 makes x and y unlike. Three
    folds: within 9.9 standard errors (Student t, 2 degrees of freedom: 1 %; fixed seed) and 5 % of training loss.
    """
    folds = [(NoisyBits(3, 1.5, 0.0, dims), NoisyBits(3, 1.5, 0.3, dims)) for _ in range(3)]
    found = decodable_information(folds, [0.0, 0.1], decoder, shared=dims == 1, samples=1000, steps=200, batch=128)
    assert found.n == 3000
    assert abs(found.accuracy - stats.norm.cdf(1.5)) < 0.015
    for crossover, one in zip([0.0, 0.1], found.information):
        truth = 3 * truth_of_one_source(1.5, crossover)
        assert abs(one.value - truth) < 9.9 * one.standard_error + 0.05 * truth
        assert one.value < one.nominal and one.normaliser == pytest.approx(1.0, abs=0.02)


def test_log_factor_sums():
    rng = np.random.default_rng(6)
    a, b = rng.uniform(-1, 1, size=(2, 37))
    b[0], a[0] = 1 - 1e-6, -(1 - 1e-6)
    np.testing.assert_allclose(log_factor_sums(a, b, 0.9), np.log1p(0.9 * np.outer(a, b)).sum(axis=1), rtol=1e-9)
    extreme = np.full(64, 1 - 2e-6)
    np.testing.assert_allclose(log_factor_sums(extreme, -extreme, 1.0), 64 * math.log(4e-6 - 4e-12), rtol=1e-9)


@needs_data
@pytest.mark.parametrize(
    ("side", "information_error", "accuracy_error"),
    [(7, 0.01, 0.0015), pytest.param(28, 0.005, 0.0005, marks=pytest.mark.slow)],  # of 784 pixels: two minutes
)
def test_mnist_is_nearly_error_free(side, information_error, accuracy_error):
    """The benchmark's posteriors of MNIST 0/1 give 0.990 bits for one source; the error of ours is about 0.0025. Means
    of 4 x 4 pixels have nearly as much information.
    """
    pool = mnist().restrict((0, 1))
    vectors = torch.nn.functional.avg_pool2d(pool.images.double() / 255, 28 // side).flatten(1)
    found = decodable_information_of_items(vectors, pool.labels, [0.0], sources=1)
    assert found.information[0].value / LN2 == pytest.approx(0.990, abs=information_error)
    assert found.accuracy == pytest.approx(0.9987, abs=accuracy_error)


@needs_data
@pytest.mark.slow  # two pools of 25,000 x 768, about 20 seconds each
@pytest.mark.parametrize(
    ("encoder", "bits"),
    [("bert", (1.85, 3.68, 5.51, 7.29, 8.92)), ("roberta", (1.76, 3.50, 5.23, 6.88, 8.34))],
)
def test_imdb_figures(encoder, bits):
    """The known figures at nominal 2, 4, 6, 8 and 10 bits; other calibrations and classifiers move the last by 0.1."""
    pool = imdb_embeddings(encoder)
    crossovers = (0.243004, 0.146102, 0.079383, 0.031124, 0.0)
    found = decodable_information_of_items(pool.vectors.double(), pool.labels, crossovers, sources=10)
    for known, one in zip(bits, found.information):
        assert one.value / LN2 == pytest.approx(known, abs=0.01 * one.nominal / LN2)
        assert one.low / LN2 < known < one.high / LN2
