"""How much faster nearest-neighbour estimates are than NPEET's way of computing them,
in one run on one thread.

The baseline is written plainly here: scikit-learn trees (KDTree; BallTree from 20
columns on), one query of the joint space and one range count per margin, labels as
numbers in the conditional case, as NPEET does it. Runs of both are interleaved; the
verdict is the median of their ratios of processor time. The numbers are compared too.
"""

import numpy as np
import pytest
from numpy.random import default_rng
from scipy.special import digamma
from sklearn.neighbors import BallTree, KDTree

from infoscope.estimators import knn
from tests.benchmarks.timing import median, ratios

pytestmark = pytest.mark.bench

N = 20_000
K = 5
ROUNDS = 3


def tree(points):
    return (BallTree if points.shape[1] >= 20 else KDTree)(points, metric="chebyshev")


def mean_digamma(points, radius):
    return digamma(
        tree(points).query_radius(points, np.nextafter(radius, 0), count_only=True)
    ).mean()


def plain_mi(x, y):
    joint = np.hstack([x, y])
    radius = tree(joint).query(joint, K + 1)[0][:, K]
    return (
        digamma(K) + digamma(len(x)) - mean_digamma(x, radius) - mean_digamma(y, radius)
    )


def plain_cmi(x, y, z):
    joint = np.hstack([x, y, z])
    radius = tree(joint).query(joint, K + 1)[0][:, K]
    xz, yz = (mean_digamma(np.hstack([side, z]), radius) for side in (x, y))
    return digamma(K) - xz - yz + mean_digamma(z, radius)


def ratio(what, plain, ours):
    return median(what, ratios(plain, ours, ROUNDS))


@pytest.mark.parametrize("dim, least", [(5, 3.5), (12, 9), (24, 25)])
def test_mutual_information(dim, least):
    generator = default_rng(dim)
    x = generator.normal(size=(N, dim))
    y = x[:, :1] + generator.normal(size=(N, 1))
    x = x / x.std(axis=0)
    y = y / y.std()
    plain = lambda: plain_mi(x, y)
    ours = lambda: knn.mutual_information(x, y, K, margins="given")
    assert ours() == pytest.approx(plain(), abs=1e-12)
    assert ratio(f"KSG ({dim} + 1)", plain, ours) >= least


def test_conditional_on_a_class():
    """z is 12-dimensional, y has 10 classes, d has 6. The baseline takes their codes
    for numbers.
    """
    generator = default_rng(0)
    y = generator.integers(0, 10, N)
    d = generator.integers(0, 6, N)
    z = (
        generator.normal(size=(10, 12))[y]
        + generator.normal(size=(6, 12))[d]
        + generator.normal(size=(N, 12))
    )
    numbers = y[:, None].astype(float), d[:, None].astype(float)
    assert (
        ratio(
            "I(z; y | d)",
            lambda: plain_cmi(z, *numbers),
            lambda: knn.conditional_mutual_information(z, y, d),
        )
        >= 4
    )
