"""How much faster the closed form of the Gaussian PID is than its published algorithm,
in one run on one thread.

The baseline is written plainly after Venkatesh et al. 2023, with the constants of the
authors' code: whitened channels, a start at h_a h_b^+, signs of gradients with a step
of 1e-3 for each entry, times 1/0.9 or 0.9 as the sign stays or not and 0.999 at every
iteration, a ridge of 1e-7, at most 10,000 iterations, an end once 20 values are within
1e-6 bits. Times are processor time; the accuracy of the baseline is printed, too.
"""

import numpy as np
import pytest
from scipy.linalg import sqrtm

from infoscope.metrics import pid
from tests.benchmarks.timing import seconds, show

pytestmark = pytest.mark.bench

RIDGE = 1e-7
ITERATIONS = 10_000
PATIENCE = 20
MINIMUM = 5
CLOSE = 1e-6 * np.log(2)  # nats


def information(s, h_a, h_b):
    """I(target; a, b) where the noises have the covariance s, and its gradient."""
    h = np.vstack([h_a, h_b])
    noise = np.block([[np.eye(len(h_a)), s], [s.T, np.eye(len(h_b))]]) + RIDGE * np.eye(
        len(h)
    )
    solved = np.linalg.solve(noise, h)
    precision = np.eye(h.shape[1]) + h.T @ solved
    slope = -solved @ np.linalg.solve(precision, solved.T)
    return np.linalg.slogdet(precision)[1] / 2, slope[: len(h_a), len(h_a) :]


def by_sign_gradients(h_a, h_b):
    """The union information and how many iterations it took."""
    s = contraction(h_a @ np.linalg.pinv(h_b))
    step = np.full(s.shape, 1e-3)
    before = np.zeros(s.shape)
    values = []
    while len(values) < ITERATIONS:
        value, slope = information(s, h_a, h_b)
        values.append(value)
        if len(values) > PATIENCE and np.ptp(values[-PATIENCE - 1 :]) < CLOSE:
            break
        s = contraction(s - 0.999 ** len(values) * step * np.sign(slope))
        step *= 0.9 ** -np.sign(slope * before)
        before = slope
    return min(values), len(values)


def contraction(s):
    """As published: the covariance of both noises without its negative part, each noise
    white again, with as much of a ridge as makes it a contraction.
    """
    first = len(s)
    covariance = np.block([[np.eye(first), s], [s.T, np.eye(s.shape[1])]])
    values, vectors = np.linalg.eigh(covariance)
    if values.min() > 0:
        return s
    noise = (vectors * np.maximum(values, 0.0)) @ vectors.T
    root_a = sqrtm(noise[:first, :first]).real
    root_b = sqrtm(noise[first:, first:]).real
    for ridge in 10.0 ** np.arange(-12, 1):
        left = root_a + ridge * np.eye(len(root_a))
        right = root_b + ridge * np.eye(len(root_b))
        s = np.linalg.solve(left, np.linalg.solve(right, noise[first:, :first]).T)
        if np.linalg.norm(s, 2) < 1:
            break
    return s


@pytest.mark.parametrize(
    "dims", [(2, 2, 2), (5, 5, 5), (10, 10, 10), (20, 20, 20), (50, 50, 50)]
)
def test_the_closed_form_against_sign_gradients(dims):
    g = np.random.default_rng(0)
    target, a, b = np.split(np.arange(sum(dims)), np.cumsum(dims)[:-1])
    h_a = g.normal(size=(len(a), len(target)))
    h_b = g.normal(size=(len(b), len(target)))
    h = np.vstack([h_a, h_b])
    covariance = np.block([[np.eye(len(target)), h.T], [h, h @ h.T + np.eye(len(h))]])
    terms = pid.gaussian(covariance, a, b, target)  # imports
    ours = seconds(lambda: pid.gaussian(covariance, a, b, target), 50)
    unions = []
    plain = seconds(lambda: unions.append(by_sign_gradients(h_a, h_b)))
    ((union, iterations),) = unions
    off = float(union - (terms.unique_a + terms.unique_b + terms.redundant))
    show(
        str(dims),
        ms=1e3 * ours,
        plain_s=plain,
        iterations=iterations,
        ratio=plain / ours,
        off_nats=off,
    )
    assert abs(off) < 1e-5
    assert plain / ours >= MINIMUM
