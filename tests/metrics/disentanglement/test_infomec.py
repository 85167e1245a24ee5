"""InfoMEC: hand-worked shares and uninformative codes.

Where a tolerance is 4 standard errors, about 6 in 100,000 other seeds would fail by
chance.
"""

import numpy as np
from numpy.random import default_rng
from pytest import approx

from infoscope.metrics.disentanglement import explicitness
from infoscope.metrics.factor_information.arrays import from_arrays
from infoscope.metrics.factor_information.result import FactorInformation
from tests.refusals import refused

SIZES = (3, 6)


def known(alone):
    """A closed form of I(y_k; z_l) [K, L], H(y_k) being 1."""
    alone = np.asarray(alone, float)
    names = [tuple(map(str, range(count))) for count in alone.shape]
    return FactorInformation(
        factors=names[0], latents=names[1], entropy=np.ones(len(alone)), alone=alone, rest=np.zeros_like(alone),
        joint=np.ones(len(alone)), n=None, method="made",
    )  # fmt: skip


def estimated(alone, n, noise, rng):
    """The same of rows, each of them off by so much noise."""
    alone = np.asarray(alone, float)
    parts = np.hstack([alone, np.zeros_like(alone), np.ones((len(alone), 1))])
    names = [tuple(map(str, range(count))) for count in alone.shape]
    rows = parts + noise * rng.standard_normal((n, *parts.shape))
    return FactorInformation.from_pointwise(*names, np.ones(len(alone)), rows, "made")


def planted(n, seed, noise=0.3, extra=3):
    rng = default_rng(seed)
    factors = rng.integers(0, SIZES, (n, 2))
    codes = factors + noise * rng.standard_normal((n, 2))
    return np.hstack([codes, rng.standard_normal((n, extra))]), factors


def test_modularity_and_compactness_by_hand():
    """Largest 3 + 2 of 3 + 1 + 2 + 2 = 8 by latents, 3 + 2 by factors; (2 x 5 / 8 - 1)
    / (2 - 1).
    """
    of = known([[3.0, 2.0], [1.0, 2.0]])
    assert of.modularity() == approx(0.25)
    assert of.compactness() == approx(0.25)
    assert (
        known(np.eye(3)).modularity() == known(np.eye(3)).compactness() == approx(1.0)
    )
    assert (
        known(np.ones((3, 4))).modularity()
        == known(np.ones((3, 4))).compactness()
        == approx(0.0)
    )
    one_latent = known([[1.0], [1.0]])
    with refused("latents", "range"):
        one_latent.compactness()
    assert one_latent.modularity() == approx(0.0)


def test_a_largest_share_of_noise_is_no_modularity():
    """Equal shares: ours is 0 on average, where the plain maximum is above it; its
    error is the spread of new rows.

    60 samples: the mean error is within a third of the spread, whose own error is a
    tenth of it.
    """
    rng = default_rng(0)
    found = [estimated(np.full((3, 4), 0.5), 400, 2.0, rng) for _ in range(60)]
    ours = np.array([one.modularity() for one in found])
    plain = [
        (3 * one.alone.max(axis=0).sum() / one.alone.sum() - 1) / 2 for one in found
    ]
    assert abs(ours.mean()) < 4 * ours.std() / np.sqrt(60) < np.mean(plain)
    assert np.mean([one.modularity().standard_error for one in found]) == approx(
        ours.std(), rel=1 / 3
    )


def test_shares_of_zero_information_are_undefined():
    of = estimated(np.zeros((2, 3)), 300, 1.0, default_rng(0))
    for score in (of.modularity(), of.compactness()):
        assert np.isnan(score)
        assert "undefined" in score.notes[0]


def test_intervals_cover_the_truth_with_many_latents():
    """Two signs in noise among 30 latents, 500 items: in 7 of 9 data sets the interval
    must cover the truth, 0.486 of H, which 95 % intervals fail once in 125 times.
    """
    # of one bit: log 2 less the mean entropy of the posterior, by quadrature in
    # test_reporting
    truth = 0.4859
    held = 0
    for seed in range(9):
        rng = default_rng(seed)
        factors = rng.integers(0, 2, (500, 2))
        codes = rng.standard_normal((500, 30))
        codes[:, :2] += 2 * factors - 1
        found = explicitness(codes, factors)
        held += found.low <= truth <= found.high <= 1.0
    assert held >= 7


def test_the_unit_of_a_latent_changes_no_score():
    codes, factors = planted(500, 2)
    wide = codes * np.array([128, 1, 1, 1, 1])  # a power of two: no rounding
    assert explicitness(wide, factors).value == approx(
        explicitness(codes, factors).value, abs=1e-6
    )
    ours = [
        from_arrays(one, factors, "knn", resamples=None).modularity().value
        for one in (codes, wide)
    ]
    assert ours[0] == approx(ours[1], abs=1e-6)
