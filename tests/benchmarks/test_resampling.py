"""What 100 half-subsamples cost beside what they cannot do without, and beside one
plain estimate.

The least is one search for lists as long as ours and one count in every margin within
the last listed neighbour that counts. Processor seconds, interleaved, in one run:
20,000 rows, 12 columns, k = 5. The aim is 1.5 estimates; on processors where the least
alone costs as much, the least must be most of it.
"""

import numpy as np
import pytest
from numpy.random import default_rng

from infoscope.estimators import knn
from infoscope.estimators.knn.search import count_within, nearest
from infoscope.estimators.uncertainty._engine import (
    Engine,
    Sample,
    class_counts,
    list_length,
    resampled,
)
from infoscope.estimators.uncertainty.permutation import permutation_test
from infoscope.estimators.uncertainty.subsampling import half_samples, subsample
from tests.benchmarks.timing import median, ratios

pytestmark = pytest.mark.bench

N = 20_000
DIM = 12
CLASSES = 10
K = 5
HALVES = 100
ROUNDS = 5
MOST = 1.5  # estimates that 100 half-subsamples may cost
LEAST = 0.6  # share of their time that the least takes, where they cost more


@pytest.fixture(scope="module")
def data():
    g = default_rng(0)
    labels = g.integers(0, CLASSES, N)
    z = 0.5 * g.normal(size=(CLASSES, DIM))[labels] + g.normal(size=(N, DIM))
    return {
        "z": z,
        "labels": labels,
        "domain": g.integers(0, 5, N),
        "y": z[:, 0] + g.normal(size=N),
    }


def is_fast(what, variables, plain):
    """Whether 100 half-subsamples cost at most MOST estimates, or mostly what they
    cannot do without.
    """
    plan = half_samples(N, HALVES, default_rng(1))
    weights = np.hstack([np.ones((N, 1), np.uint8), plan.weights])
    sample, _ = Sample.of(*variables)
    engine = Engine(sample)
    counts = class_counts(engine.codes, engine.joint.categories, weights)
    longest = list_length(np.clip(counts - 1, 0, K), counts, np.bincount(engine.codes))
    joint = engine.joint.continuous
    codes = engine.joint.codes
    # of a half's k-th neighbour, in most halves
    radius = nearest(joint, longest, codes).distances[:, 2 * K]

    def least():
        nearest(joint, longest, codes)
        for margin in engine.margins:
            if margin.columns:
                count_within(margin.variable.continuous, radius, margin.variable.codes)

    ours = lambda: resampled(sample, weights, K)  # noqa: E731
    share = median(f"{what}, least / ours", ratios(least, ours, ROUNDS))
    cost = median(f"{what}, ours / one estimate", ratios(ours, plain, ROUNDS))
    return cost <= MOST or share >= LEAST


def test_hundred_halves_of_ross(data):
    z = data["z"]
    labels = data["labels"]
    plain = lambda: knn.mutual_information(z, labels, k=K)  # noqa: E731
    assert is_fast("I(z; y)", (z, labels), plain)
    median(
        "I(z; y), subsample", ratios(lambda: subsample(z, labels, k=K), plain, ROUNDS)
    )
    median(
        "I(z; y), permutations",
        ratios(lambda: permutation_test(z, labels, k=K), plain, ROUNDS),
    )


def test_hundred_halves_of_stratified_ross(data):
    variables = data["z"], data["labels"], data["domain"]
    plain = lambda: knn.conditional_mutual_information(*variables, k=K)  # noqa: E731
    assert is_fast("I(z; y | d)", variables, plain)


def test_hundred_halves_of_ksg(data):
    z = data["z"]
    y = data["y"]
    plain = lambda: knn.mutual_information(z, y, k=K)  # noqa: E731
    assert is_fast("KSG", (z, y), plain)
