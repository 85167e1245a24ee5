"""What 100 half-subsamples cost beside one plain estimate: processor seconds of both, interleaved, in one run.

20,000 rows, 12 columns, k = 5. What is asserted is what was reached (1.3 to 1.6), with a margin for a busy machine; the
target is printed beside it. Both are ours and give the same numbers (tests/estimators/test_resampling.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from infoscope.estimators import knn
from infoscope.estimators.resampling import halves
from infoscope.estimators.uncertainty._engine import Sample, resampled
from infoscope.estimators.uncertainty.permutation import permutation_test
from infoscope.estimators.uncertainty.subsampling import subsample

pytestmark = pytest.mark.bench

N, DIM, CLASSES, K, HALVES, ROUNDS = 20_000, 12, 10, 5, 100, 5


@pytest.fixture(scope="module")
def data() -> dict[str, np.ndarray]:
    g = np.random.default_rng(0)
    labels = g.integers(0, CLASSES, N)
    z = 0.5 * g.normal(size=(CLASSES, DIM))[labels] + g.normal(size=(N, DIM))
    return {"z": z, "labels": labels, "domain": g.integers(0, 5, N), "y": z[:, 0] + g.normal(size=N)}


def ratio(what: str, ours: Callable[[], object], plain: Callable[[], object], target: float | None = None) -> float:
    """Median over interleaved rounds of processor time of `ours` over `plain`, after one of each; printed."""
    seconds = []
    for _ in range(ROUNDS + 1):
        pair = []
        for call in (ours, plain):
            began = time.process_time()
            call()
            pair.append(time.process_time() - began)
        seconds.append(pair)
    ratios = np.array([a / b for a, b in seconds[1:]])
    one, many = np.median([b for _, b in seconds[1:]]), np.median([a for a, _ in seconds[1:]])
    print(
        f"\n{what:52}{np.median(ratios):8.2f}  ({ratios.min():.2f} - {ratios.max():.2f}), {many:.2f} s over {one:.2f} s"
        + (f"; target {target}" if target else "")
    )
    return float(np.median(ratios))


def engine(*variables: np.ndarray) -> Callable[[], object]:
    plan = halves(N, HALVES, np.random.default_rng(1))
    weights = np.hstack([np.ones((N, 1), np.uint8), plan.weights])
    return lambda: resampled(Sample.of(*variables), weights, K)


def test_hundred_halves_of_ross(data):
    z, labels = data["z"], data["labels"]
    plain = lambda: knn.mutual_information(z, labels, k=K)  # noqa: E731
    assert ratio("I(z; y), 100 halves / one estimate", engine(z, labels), plain, target=1.5) <= 1.9
    ratio("I(z; y), the same with the verdict", lambda: subsample(z, labels, k=K), plain)
    ratio("I(z; y), 199 permutations / one estimate", lambda: permutation_test(z, labels, k=K), plain)


def test_hundred_halves_of_stratified_ross(data):
    variables = data["z"], data["labels"], data["domain"]
    plain = lambda: knn.conditional_mutual_information(*variables, k=K)  # noqa: E731
    assert ratio("I(z; y | d), 100 halves / one estimate", engine(*variables), plain, target=1.5) <= 1.9


def test_hundred_halves_of_ksg(data):
    z, y = data["z"], data["y"]
    plain = lambda: knn.mutual_information(z, y, k=K)  # noqa: E731
    assert ratio("I(z; y), KSG 12 + 1, 100 halves / one estimate", engine(z, y), plain, target=6) <= 2.2
