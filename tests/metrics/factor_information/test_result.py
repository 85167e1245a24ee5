"""Scores and their standard errors, from pointwise values with known distributions."""

import numpy as np
import pytest

from infoscope.metrics.factor_information.result import FactorInformation
from infoscope.metrics.pid import Bounds, bounds


def of(pointwise, entropy=None, **more):
    k, columns = pointwise.shape[1:]
    names = tuple(f"y{i}" for i in range(k)), tuple(f"z{i}" for i in range(columns // 2))
    return FactorInformation.from_pointwise(
        *names, np.ones(k) if entropy is None else entropy, pointwise, "made", **more
    )


def made(seed, means, n=400, spread=0.3, **more):
    """Correlated normal values with the given means [K, 2 L + 1]."""
    g, means = np.random.default_rng(seed), np.asarray(means, float)
    mixing = np.random.default_rng(99).normal(size=(means.size, means.size)) * spread / np.sqrt(means.size)
    return of((g.normal(size=(n, means.size)) @ mixing).reshape(n, *means.shape) + means, **more)


# Two factors, three latents: alone, rest, joint. Of the first, latent 0 is good; of the second, 0 and 1 are alike.
MEANS = [[0.9, 0.2, 0.0, 0.3, 1.0, 1.0, 1.1], [0.5, 0.5, 0.1, 0.55, 0.55, 0.8, 0.9]]


def test_scores_are_the_arithmetic_of_the_parts():
    found = made(0, MEANS, spread=1e-9, entropy=np.array([2.0, 1.0]))
    assert found.mig().value == pytest.approx((0.7 / 2 + 0.0) / 2, abs=1e-6)
    assert found.mig(normalised=False).value == pytest.approx(0.35, abs=1e-6)
    assert found.unibound().value == pytest.approx((0.6 / 2 + 0.0) / 2, abs=1e-6)
    assert found.informativeness().value == pytest.approx((1.1 / 2 + 0.9) / 2, abs=1e-6)
    expected = bounds(found.alone, found.rest, found.joint[:, None])
    for name in Bounds._fields:
        np.testing.assert_array_equal(getattr(found.bounds(), name).value, getattr(expected, name))
        ours, separately = getattr(expected, name), getattr(found.aggregated(normalised=False), name).value
        assert separately == pytest.approx(ours.max(axis=1).mean())
    at_best = found.aggregated("alone", normalised=False)
    assert at_best.unique_low.value + at_best.redundant_high.value == pytest.approx(found.alone.max(axis=1).mean())


def spread_and_claim(estimates):
    """Standard deviation of figures over samples, and the mean of their standard errors."""
    return np.std([e.value for e in estimates], axis=0), np.mean([e.standard_error for e in estimates], axis=0)


def test_standard_errors_are_the_spread_over_samples():
    """300 samples: a spread is known to 4.1 %, so 20 % is 4.9 of its own standard errors for each of about 60 figures.
    Near a kink (the bounds of factor 1, whose latents 0 and 1 are alike) the normal theory is met by the same margin;
    scores are of factors whose best latents stand out.
    """
    runs = [made(seed, MEANS, n=60) for seed in range(300)]
    spread = np.std([run.parts for run in runs], axis=0)
    claims = [np.sqrt(np.square(run.deviations).sum(axis=0)) for run in runs]
    np.testing.assert_allclose(np.mean(claims, axis=0), spread, rtol=0.2)
    apart = [made(seed, [MEANS[0], [0.1, 0.9, 0.1, 1.0, 0.2, 1.0, 1.1]], n=60) for seed in range(300)]
    scores = [[r.mig(), r.unibound(), r.informativeness(), r.aggregated("alone").synergistic_high] for r in apart]
    for estimates in [*zip(*scores), *zip(*[run.bounds() for run in runs])]:
        spread, claim = spread_and_claim(estimates)
        np.testing.assert_allclose(claim, spread, rtol=0.25, atol=0.1 * spread.max())


def test_a_bound_that_is_certainly_zero_is_sure_and_one_at_its_kink_is_not():
    found = made(1, [[0.5, 0.5, 0.5, 0.5, 0.9], [0.1, 0.1, 0.8, 0.8, 0.9]])
    low = found.bounds().unique_low
    error = np.sqrt(np.sum((found.deviations[:, 0, 0] - found.deviations[:, 0, 2]) ** 2))  # of alone - rest
    assert low.value[1, 0] == 0 and low.standard_error[1, 0] < 1e-12
    assert found.aggregated(normalised=False).unique_low.standard_error > 0.1 * error
    assert 0.2 * error < low.standard_error[0, 0] < error


def test_a_score_of_zero_is_as_sure_as_the_latent_that_comes_nearest_to_more():
    """alone - rest is -2 for one latent and -0.01 for the other, whichever comes first."""
    for alone, rest in (([0.0, 0.4], [2.0, 0.41]), ([0.4, 0.0], [0.41, 2.0])):
        score = made(1, [[*alone, *rest, 2.0]]).unibound(normalised=False)
        assert score.value == 0 and score.standard_error > 1e-3


def test_clusters_and_an_estimated_entropy():
    """Rows repeated 5 times have the errors of single rows; a share of an estimated entropy inherits its error."""
    once = made(2, MEANS, n=200)
    five = of(np.repeat(once.pointwise, 5, axis=0), clusters=np.repeat(np.arange(200), 5))
    for one, other in zip(once.standard_errors(), five.standard_errors(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    same = once.pointwise[:, :, -1]  # the entropy is the joint information: their share is 1 and certain
    certain = of(once.pointwise, entropy=same.mean(axis=0), surprisal=same).informativeness()
    assert certain.value == pytest.approx(1) and certain.standard_error == pytest.approx(0, abs=1e-12)
    assert of(once.pointwise, entropy=same.mean(axis=0)).informativeness().standard_error > 1e-3


def test_without_pointwise_values_errors_are_unknown():
    known = {"factors": ("y",), "latents": ("a", "b"), "entropy": np.ones(1), "alone": np.array([[0.4, 0.1]])}
    known |= {"rest": np.array([[0.1, 0.4]]), "joint": np.array([0.5]), "method": "made"}
    unknown, closed = FactorInformation(**known, n=10), FactorInformation(**known, n=None)
    for estimate in (unknown.mig(), unknown.unibound(), unknown.informativeness(), *unknown.aggregated("alone")):
        assert np.isnan(estimate.standard_error) and np.isfinite(estimate.value)
    assert np.isnan(unknown.bounds().unique_low.standard_error).all()
    assert closed.mig().standard_error == closed.unibound().standard_error == 0
    assert (closed.table().filter(like="_error") == 0).all(axis=None)


def test_crossed_bounds_have_a_note_with_their_standard_errors():
    """Of the first factor and latent alone exceeds joint by 0.3: all three lower bounds are that far above."""
    means = [[0.9, 0.2, 0.5, 0.4, 0.6], [0.5, 0.1, 0.2, 0.5, 0.6]]
    found = made(3, means, entropy=np.array([2.0, 1.0]))
    errors = np.sqrt(np.square(found.deviations[:, 0, 0] - found.deviations[:, 0, 4]).sum())
    excess, six = found.excess(), found.bounds()
    for low, high in zip(six[::2], six[1::2]):
        np.testing.assert_allclose(excess.value, low.value - high.value, atol=1e-12)
    assert excess.standard_error[0, 0] == pytest.approx(errors)
    table = found.table()
    assert f"{excess.value[0, 0] / errors:.1f} standard errors" in table["notes"][0]
    assert [bool(words) for words in table["notes"]] == [True, False, False, False]
    assert table["excess"][0] == pytest.approx(excess.value[0, 0])
    assert all(bound.notes for bound in found.aggregated("alone")) and not any(made(3, MEANS).table()["notes"])
