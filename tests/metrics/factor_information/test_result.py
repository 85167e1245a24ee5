"""Scores and their standard errors, from pointwise values whose distributions are set."""

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from pytest import approx

from infoscope.metrics.factor_information.result import FactorInformation
from infoscope.metrics.pid import Bounds, bounds


def information(pointwise, entropy=None, **settings):
    factors, columns = pointwise.shape[1:]
    factor_names = tuple(f"y{k}" for k in range(factors))
    latent_names = tuple(f"z{i}" for i in range(columns // 2))
    if entropy is None:
        entropy = np.ones(factors)
    return FactorInformation.from_pointwise(
        factor_names, latent_names, entropy, pointwise, "made", **settings
    )


def normal_information(seed, means, n=400, spread=0.3, **settings):
    """Of correlated normal values with the given means [K, 2 L + 1]."""
    means = np.array(means, float)
    size = means.size
    mixing = default_rng(99).normal(size=(size, size)) * spread / np.sqrt(size)
    noise = default_rng(seed).normal(size=(n, size)) @ mixing
    return information(noise.reshape(n, *means.shape) + means, **settings)


# Two factors, three latents: alone, rest, joint. Of the first, latent 0 is good; of the
# second, 0 and 1 are alike.
GOOD = [0.9, 0.2, 0.0, 0.3, 1.0, 1.0, 1.1]
ALIKE = [0.5, 0.5, 0.1, 0.55, 0.55, 0.8, 0.9]
OTHER_GOOD = [0.1, 0.9, 0.1, 1.0, 0.2, 1.0, 1.1]


def test_scores_are_the_arithmetic_of_the_parts():
    of = normal_information(0, [GOOD, ALIKE], spread=1e-9, entropy=np.array([2.0, 1.0]))
    assert of.mig().value == approx((0.7 / 2 + 0.0) / 2, abs=1e-6)
    assert of.mig(normalised=False).value == approx(0.35, abs=1e-6)
    assert of.unibound().value == approx((0.6 / 2 + 0.0) / 2, abs=1e-6)
    assert of.informativeness().value == approx((1.1 / 2 + 0.9) / 2, abs=1e-6)
    expected = bounds(of.alone, of.rest, of.joint[:, None])
    aggregated = of.aggregated(normalised=False)
    for name in Bounds._fields:
        bound = getattr(expected, name)
        largest = bound.max(axis=1).mean()
        assert_array_equal(getattr(of.bounds(), name).value, bound)
        assert getattr(aggregated, name).value == approx(largest)
    best = of.aggregated("alone", normalised=False)
    alone = best.unique_low.value + best.redundant_high.value
    assert alone == approx(of.alone.max(axis=1).mean())


def assert_errors_are_spreads(estimates):
    spread = np.std([estimate.value for estimate in estimates], axis=0)
    error = np.mean([estimate.standard_error for estimate in estimates], axis=0)
    assert_allclose(error, spread, rtol=0.25, atol=0.1 * spread.max())


def test_standard_errors_are_the_spread_over_samples():
    """300 samples: a spread is determined to 4.1 %, so 25 % is 6 of its own standard
    errors.

    Near a kink (the bounds of the factor whose latents 0 and 1 are alike) the normal
    theory is met by the same margin; scores are of factors whose best latents stand
    out.
    """
    near_kink = [normal_information(seed, [GOOD, ALIKE], n=60) for seed in range(300)]
    for bound in Bounds._fields:
        assert_errors_are_spreads([getattr(of.bounds(), bound) for of in near_kink])
    apart = [normal_information(seed, [GOOD, OTHER_GOOD], n=60) for seed in range(300)]
    for score in ("mig", "unibound", "informativeness"):
        assert_errors_are_spreads([getattr(of, score)() for of in apart])
    assert_errors_are_spreads([of.aggregated("alone").synergistic_high for of in apart])


def test_a_bound_that_is_certainly_zero_is_sure_and_one_at_its_kink_is_not():
    of = normal_information(1, [[0.5, 0.5, 0.5, 0.5, 0.9], [0.1, 0.1, 0.8, 0.8, 0.9]])
    low = of.bounds().unique_low
    alone_less_rest = of.deviations[:, 0, 0] - of.deviations[:, 0, 2]
    error = np.sqrt(np.square(alone_less_rest).sum())
    assert low.value[1, 0] == 0
    assert low.standard_error[1, 0] < 1e-12
    assert 0.2 * error < low.standard_error[0, 0] < error
    assert of.aggregated(normalised=False).unique_low.standard_error > 0.1 * error


@pytest.mark.parametrize(
    ("alone", "rest"), [([0.0, 0.4], [2.0, 0.41]), ([0.4, 0.0], [0.41, 2.0])]
)
def test_a_score_of_zero_is_as_sure_as_the_latent_that_comes_nearest_to_more(
    alone, rest
):
    """alone - rest is -2 for one latent and -0.01 for the other, whichever comes first."""
    score = normal_information(1, [[*alone, *rest, 2.0]]).unibound(normalised=False)
    assert score.value == 0
    assert score.standard_error > 1e-3


def test_rows_of_a_cluster_count_once():
    """Rows repeated 5 times have the errors of single rows."""
    once = normal_information(2, [GOOD, ALIKE], n=200)
    rows = np.repeat(np.arange(200), 5)
    copied = information(once.pointwise[rows], clusters=rows)
    errors = zip(once.standard_errors(), copied.standard_errors(), strict=True)
    for single, clustered in errors:
        assert_allclose(single, clustered, rtol=1e-12)


def test_a_share_of_an_estimated_entropy_inherits_its_error():
    """The entropy is the joint information: their share is 1 and certain."""
    pointwise = normal_information(2, [GOOD, ALIKE], n=200).pointwise
    joint = pointwise[:, :, -1]
    entropy = joint.mean(axis=0)
    certain = information(pointwise, entropy, surprisal=joint).informativeness()
    assert certain.value == approx(1)
    assert certain.standard_error == approx(0, abs=1e-12)
    of_fixed_entropy = information(pointwise, entropy).informativeness()
    assert of_fixed_entropy.standard_error > 1e-3


def test_without_pointwise_values_errors_are_unknown():
    parts = {
        "factors": ("y",),
        "latents": ("a", "b"),
        "entropy": np.ones(1),
        "alone": np.array([[0.4, 0.1]]),
        "rest": np.array([[0.1, 0.4]]),
        "joint": np.array([0.5]),
        "method": "made",
    }
    sampled = FactorInformation(**parts, n=10)
    scores = [sampled.mig(), sampled.unibound(), sampled.informativeness()]
    for estimate in (*scores, *sampled.aggregated("alone")):
        assert np.isnan(estimate.standard_error)
        assert np.isfinite(estimate.value)
    closed_form = FactorInformation(**parts, n=None)
    assert closed_form.mig().standard_error == 0
    assert closed_form.unibound().standard_error == 0


def test_crossed_bounds_have_a_note_with_their_standard_errors():
    """Of the first factor and latent alone exceeds joint by 0.3: all three lower bounds
    are that far above.
    """
    of = normal_information(3, [[0.9, 0.2, 0.5, 0.4, 0.6], [0.5, 0.1, 0.2, 0.5, 0.6]])
    alone_less_joint = of.deviations[:, 0, 0] - of.deviations[:, 0, 4]
    error = np.sqrt(np.square(alone_less_joint).sum())
    excess = of.excess()
    limits = of.bounds()
    for low, high in zip(limits[::2], limits[1::2]):
        assert_allclose(excess.value, low.value - high.value, atol=1e-12)
    assert excess.standard_error[0, 0] == approx(error)
    table = of.table()
    assert f"{excess.value[0, 0] / error:.1f} standard errors" in table["notes"][0]
    assert [bool(notes) for notes in table["notes"]] == [True, False, False, False]
