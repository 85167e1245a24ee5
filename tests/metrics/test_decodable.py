"""Decodable information against closed forms, brute force, and the published values of
real pools.

The values of whole pools are among the slow checks; in every run of the tests smaller
images of MNIST come near them.
"""

import itertools
import math
import os

import numpy as np
import pytest
import torch
from numpy.random import default_rng
from numpy.testing import assert_allclose
from pytest import approx
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

needs_data = pytest.mark.skipif(
    not os.environ.get("INFOSCOPE_DATA"),
    reason="INFOSCOPE_DATA names no folder of real data",
)


def truth_of_one_source(distance, crossover):
    """I(X; Y) in nats of two readings N(+-distance, 1) of fair labels that share a
    channel, by quadrature.
    """
    grid = np.linspace(-9 - distance, 9 + distance, 1601)
    likelihoods = np.stack(
        [stats.norm.pdf(grid, -distance), stats.norm.pdf(grid, distance)]
    )
    likelihoods /= likelihoods.sum(axis=1, keepdims=True)
    labels = np.array([[1 - crossover, crossover], [crossover, 1 - crossover]]) / 2
    joint = np.einsum("kl,ki,lj->ij", labels, likelihoods, likelihoods)
    independent = np.multiply.outer(joint.sum(1), joint.sum(0))
    ratio = np.where(joint > 0, joint / independent, 1.0)
    return float((joint * np.log(ratio)).sum())


class NoisyBits:
    """Labels with noise, N(+-distance, 1), independently in x and y; `dims` numbers for
    each source of y.
    """

    def __init__(self, sources, distance, crossover, dims=1):
        self.sources = sources
        self.distance = distance
        self.crossover = crossover
        self.dims = dims

    def sample_labelled(self, n, generator, device="cpu"):
        labels = torch.rand(n, self.sources, generator=generator) < 0.5
        flipped = labels ^ (
            torch.rand(n, self.sources, generator=generator) < self.crossover
        )
        x = self.read(labels, generator)
        y = self.read(flipped, generator)
        noise = torch.randn(n, self.sources * (self.dims - 1), generator=generator)
        return x, torch.cat([y, noise], 1), labels, flipped

    def read(self, labels, generator):
        return (2.0 * labels - 1) * self.distance + torch.randn(
            labels.shape, generator=generator
        )


def test_items_reach_the_exact_information():
    """Within 4 standard errors (6e-5 each) and the loss of fitting two parameters,
    about 10 x 2 / 3000 nats.
    """
    rng = default_rng(0)
    labels = rng.permutation(np.arange(3000) % 2)
    vectors = (2.0 * labels - 1) * 1.5 + rng.normal(size=3000)
    crossovers = [0.0, 0.1, 0.4, 0.5]
    result = decodable_information_of_items(
        vectors[:, None], labels, crossovers, sources=10
    )
    assert result.n == 3000
    assert (
        abs(result.accuracy - stats.norm.cdf(1.5)) < 4 * result.accuracy_standard_error
    )
    *informations, nothing = result.information
    assert nothing.value == 0.0
    assert nothing.nominal == approx(0.0, abs=1e-15)
    for crossover, information in zip(crossovers, informations):
        truth = 10 * truth_of_one_source(1.5, crossover)
        assert abs(information.value - truth) < 4 * information.standard_error + 0.007
        assert (
            information.low < information.value < information.high < information.nominal
        )
        assert information.nominal == approx(10 * channel_information(crossover))
        assert information.normaliser == approx(1.0, abs=0.01)


def test_means_over_pairs_are_exact():
    """Against a loop over all ordered pairs of distinct items, labels drawn through the
    channel.
    """
    agreement = default_rng(2).uniform(-0.8, 1, size=40)
    bits = np.arange(40) % 3 % 2
    crossover = 0.15
    posterior = agreement * (2 * bits - 1)
    factors = {labels: [] for labels in itertools.product((0, 1), repeat=2)}
    for i, j in itertools.permutations(range(40), 2):
        factors[bits[i], bits[j]].append(1 + 0.7 * posterior[i] * posterior[j])
    normaliser = sum(np.mean(values) for values in factors.values()) / 4
    value = -math.log(normaliser)
    for (first, second), values in factors.items():
        chance = 1 - crossover if first == second else crossover
        value += chance / 2 * np.mean(np.log(values))
    information = information_of_items(
        agreement, bits, np.arange(40), crossover, sources=7
    )
    assert information.value == approx(7 * value, rel=1e-10)
    assert information.normaliser == approx(normaliser**7, rel=1e-10)


def normal_agreement(n, seed):
    return np.tanh(default_rng(seed).normal(1.5, 1.0, size=n))


def test_standard_error_of_items_is_the_jackknife():
    """Deleting one item at a time (Efron & Stein 1981) agrees with the closed form to 2
    % at 200 items.
    """
    agreement = normal_agreement(200, 3)
    bits = np.arange(200) % 2
    information = information_of_items(agreement, bits, np.arange(200), 0.1, 1)
    without = []
    for i in range(200):
        rows = np.delete(np.arange(200), i)
        without.append(
            information_of_items(
                agreement[rows], bits[rows], np.arange(199), 0.1, 1
            ).value
        )
    assert information.standard_error == approx(
        math.sqrt(199 * np.var(without)), rel=0.02
    )


def test_copies_count_once():
    """Four copies of every item, named as such: the error stays near that of the items
    alone (pairs of copies of one item are 1.5 % of the pairs of their class here, and
    shift it a little).
    """
    agreement = normal_agreement(400, 4)
    bits = np.arange(400) % 2
    items = np.arange(400)
    alone = information_of_items(agreement, bits, items, 0.1, 1)
    rows = np.repeat(items, 4)
    copied = information_of_items(agreement[rows], bits[rows], rows, 0.1, 1)
    assert copied.standard_error == approx(alone.standard_error, rel=0.02)
    vectors = default_rng(0).normal(size=(5, 3))
    assert len(set(equal_rows(np.repeat(vectors, 2, axis=0)))) == 5


@pytest.mark.parametrize(("decoder", "dims"), [("linear", 2), ("mlp", 1)])
def test_sources_of_pairs_reach_the_exact_information(decoder, dims):
    """Fresh Gaussian readings, for which the linear decoder is well specified; dims 2
    makes x and y unlike. Three folds: within 9.9 standard errors (Student t, 2 degrees
    of freedom: 1 %; fixed seed) and 5 % of training loss.
    """
    fold = NoisyBits(3, 1.5, 0.0, dims), NoisyBits(3, 1.5, 0.3, dims)
    settings = {"shared": dims == 1, "samples": 1000, "steps": 200, "batch": 128}
    result = decodable_information([fold] * 3, [0.0, 0.1], decoder, **settings)
    assert result.n == 3000
    assert abs(result.accuracy - stats.norm.cdf(1.5)) < 0.015
    for crossover, information in zip([0.0, 0.1], result.information):
        truth = 3 * truth_of_one_source(1.5, crossover)
        assert (
            abs(information.value - truth)
            < 9.9 * information.standard_error + 0.05 * truth
        )
        assert information.value < information.nominal
        assert information.normaliser == approx(1.0, abs=0.02)


def test_log_factor_sums():
    a, b = default_rng(6).uniform(-1, 1, size=(2, 37))
    a[0] = -(1 - 1e-6)
    b[0] = 1 - 1e-6
    expected = np.log1p(0.9 * np.outer(a, b)).sum(axis=1)
    assert_allclose(log_factor_sums(a, b, 0.9), expected, rtol=1e-9)
    extreme = np.full(64, 1 - 2e-6)
    assert_allclose(
        log_factor_sums(extreme, -extreme, 1.0), 64 * math.log(4e-6 - 4e-12), rtol=1e-9
    )


@needs_data
@pytest.mark.parametrize(
    ("side", "information_error", "accuracy_error"),
    # of 784 pixels: two minutes
    [(7, 0.01, 0.0015), pytest.param(28, 0.005, 0.0005, marks=pytest.mark.slow)],
)
def test_mnist_is_nearly_error_free(side, information_error, accuracy_error):
    """The benchmark's posteriors of MNIST 0/1 give 0.990 bits for one source; the error
    of ours is about 0.0025. Means of 4 x 4 pixels have nearly as much information.
    """
    pool = mnist().restrict((0, 1))
    images = torch.nn.functional.avg_pool2d(pool.images.double() / 255, 28 // side)
    result = decodable_information_of_items(
        images.flatten(1), pool.labels, [0.0], sources=1
    )
    assert result.information[0].bits.value == approx(0.990, abs=information_error)
    assert result.accuracy == approx(0.9987, abs=accuracy_error)


@needs_data
@pytest.mark.slow  # two pools of 25,000 x 768, about 20 seconds each
@pytest.mark.parametrize(
    ("encoder", "published"),
    [
        ("bert", (1.85, 3.68, 5.51, 7.29, 8.92)),
        ("roberta", (1.76, 3.50, 5.23, 6.88, 8.34)),
    ],
)
def test_imdb_values(encoder, published):
    """At nominal 2, 4, 6, 8 and 10 bits; other calibrations and classifiers move the
    last by 0.1.
    """
    pool = imdb_embeddings(encoder)
    crossovers = (0.243004, 0.146102, 0.079383, 0.031124, 0.0)
    result = decodable_information_of_items(
        pool.vectors.double(), pool.labels, crossovers, sources=10
    )
    for bits, information in zip(published, result.information):
        assert information.value / math.log(2) == approx(
            bits, abs=0.01 * information.nominal / math.log(2)
        )
        assert information.low / math.log(2) < bits < information.high / math.log(2)
