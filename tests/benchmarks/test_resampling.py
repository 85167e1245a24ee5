"""What 100 half-subsamples cost beside one plain estimate: processor seconds of both, interleaved, in one run.

20,000 rows, 12 columns, k = 5. What is asserted is what was reached (1.3 to 1.6), with a margin for a busy machine.
Both are ours and give the same numbers (tests/estimators/uncertainty).
"""

from __future__ import annotations

import numpy as np
import pytest

from infoscope.estimators import knn
from infoscope.estimators.uncertainty._engine import Sample, resampled
from infoscope.estimators.uncertainty.permutation import permutation_test
from infoscope.estimators.uncertainty.subsampling import half_samples, subsample
from tests.benchmarks.timing import Call, median, ratios

pytestmark = pytest.mark.bench

N, DIM, CLASSES, K, HALVES, ROUNDS = 20_000, 12, 10, 5, 100, 5


@pytest.fixture(scope="module")
def data() -> dict[str, np.ndarray]:
    g = np.random.default_rng(0)
    labels = g.integers(0, CLASSES, N)
    z = 0.5 * g.normal(size=(CLASSES, DIM))[labels] + g.normal(size=(N, DIM))
    return {"z": z, "labels": labels, "domain": g.integers(0, 5, N), "y": z[:, 0] + g.normal(size=N)}


def engine(*variables: np.ndarray) -> Call:
    plan = half_samples(N, HALVES, np.random.default_rng(1))
    weights = np.hstack([np.ones((N, 1), np.uint8), plan.weights])
    sample, _ = Sample.of(*variables)
    return lambda: resampled(sample, weights, K)


def ratio(what: str, ours: Call, plain: Call) -> float:
    return median(what, ratios(ours, plain, ROUNDS))


def test_hundred_halves_of_ross(data):
    z, labels = data["z"], data["labels"]
    plain = lambda: knn.mutual_information(z, labels, k=K)  # noqa: E731
    assert ratio("I(z; y), halves", engine(z, labels), plain) <= 1.9  # aimed at 1.5
    ratio("I(z; y), subsample", lambda: subsample(z, labels, k=K), plain)
    ratio("I(z; y), permutations", lambda: permutation_test(z, labels, k=K), plain)


def test_hundred_halves_of_stratified_ross(data):
    variables = data["z"], data["labels"], data["domain"]
    plain = lambda: knn.conditional_mutual_information(*variables, k=K)  # noqa: E731
    assert ratio("I(z; y|d), halves", engine(*variables), plain) <= 1.9  # aimed at 1.5


def test_hundred_halves_of_ksg(data):
    z, y = data["z"], data["y"]
    plain = lambda: knn.mutual_information(z, y, k=K)  # noqa: E731
    assert ratio("KSG, halves", engine(z, y), plain) <= 2.2  # aimed at 6
