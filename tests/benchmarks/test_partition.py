"""What a whole evaluation of a partition costs beside the seed's way: processor seconds
of both in one run.

The plain side is the seed's recipe written with scipy's k-d tree: class codes as
numbers, 14 calls of KSG or Frenzel-Pompe for its ten quantities, and each of them again
for 100 bootstrap resamples. It is scaled down twice: both sides get 3,000 rows instead
of 20,000, and the plain one runs one resample instead of 100, whose time counts 100
times. Ours is everything `evaluate` does: both routes, all intervals, tests, and the
seed's own way. What is asserted is below what was reached (see the printout), with a
margin for a busy machine.
"""

import numpy as np
import pytest
from numpy.random import default_rng
from scipy.spatial import cKDTree
from scipy.special import digamma

from infoscope.metrics.partition.evaluation import evaluate
from tests.benchmarks.timing import seconds, show

pytestmark = pytest.mark.bench

ROWS = 3_000
DIM = 12
K = 5
BOOTSTRAPS = 100


def sample(n):
    """10 classes in 6 domains; blocks of 12 columns for the class with some domain,
    both, the domain, and little.
    """
    g = default_rng(0)
    y = g.integers(0, 10, n)
    d = g.integers(0, 6, n)
    of_y = g.normal(size=(10, DIM))
    of_d = g.normal(size=(6, DIM))
    of_both = g.normal(size=(60, DIM))
    blocks = {
        "z_y": of_y[y] + 0.3 * of_d[d] + 0.7 * g.normal(size=(n, DIM)),
        "z_x": 0.1 * of_y[y] + g.normal(size=(n, DIM)),
        "z_dy": of_both[6 * y + d] + g.normal(size=(n, DIM)),
        "z_d": of_d[d] + 0.7 * g.normal(size=(n, DIM)),
    }
    return blocks, y, d


def plain_information(x, y, z=None):
    """KSG 1, or Frenzel-Pompe given z, as they are usually written; nats."""
    g = default_rng(0)
    x, y = (side + 1e-10 * g.random(side.shape) for side in (x, y))
    margins = [x, y] if z is None else [np.hstack([x, z]), np.hstack([y, z]), z]
    everything = np.hstack([x, y] if z is None else [x, y, z])
    radius = cKDTree(everything).query(everything, K + 1, p=np.inf)[0][:, -1] - 1e-15
    counts = [
        cKDTree(m).query_ball_point(m, radius, p=np.inf, return_length=True)
        for m in margins
    ]
    means = [digamma(np.maximum(c, 1)).mean() for c in counts]
    return (
        digamma(K) - means[0] - means[1] + (digamma(len(x)) if z is None else means[2])
    )


def plain_pass(blocks, y, d):
    """Every estimate that the seed's ten quantities take, once."""
    y = y[:, None].astype(float)
    d = d[:, None].astype(float)
    pairs = [(y, None), (d, None), (y, d), (d, y)]
    calls = [(b, *pair) for b in ("z_y", "z_d") for pair in pairs[2:]]
    calls += [("z_dy", *pair) for pair in pairs]  # the co-information, by both formulas
    # alone, and of both labels
    calls += [("z_dy", y, None), ("z_dy", d, None), ("z_dy", y, None), ("z_dy", d, y)]
    calls += [("z_x", y, None), ("z_x", d, y)]
    return [
        max(0.0, plain_information(blocks[name], label, given))
        for name, label, given in calls
    ]


def test_evaluation_against_the_way_of_the_seed():
    blocks, y, d = sample(ROWS)
    evaluate(*sample(600))  # compiles
    rows = default_rng(1).integers(0, ROWS, ROWS)
    resample = {name: block[rows] for name, block in blocks.items()}, y[rows], d[rows]
    once = seconds(lambda: plain_pass(blocks, y, d))
    again = seconds(lambda: plain_pass(*resample))
    plain = once + BOOTSTRAPS * again
    ours = seconds(lambda: evaluate(blocks, y, d))
    show(
        f"{ROWS} rows",
        plain=plain,
        once=once,
        again=again,
        ours=ours,
        ratio=plain / ours,
    )
    assert plain / ours > 12
