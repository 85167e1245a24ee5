"""BetaVAE and FactorVAE votes: the published protocols, the draws behind a vote, and
collapsed latents.
"""

import numpy as np
import pytest
from numpy.random import default_rng

from infoscope.metrics.disentanglement.intervention_based import (
    PROTOCOLS,
    beta_vae_score,
    factor_vae_score,
    partners,
)
from infoscope.metrics.disentanglement.registry import Protocol, Votes
from infoscope.metrics.factor_information.inputs import as_factors

SMALL = Protocol(
    "small", Votes(20, 600, 400), Votes(20, 600, 400), "logistic", 1000, 0.05
)


@pytest.fixture
def factors():
    return default_rng(0).integers((3, 4), size=(600, 2))


def test_protocols_are_the_published_ones():
    """Tokui & Sato 2021 with its code, and disentanglement_lib."""
    authors = PROTOCOLS["uni-bound"]
    library = PROTOCOLS["disentanglement-lib"]
    assert authors.beta == Votes(200, 30_000, 800)
    assert authors.factor == Votes(100, 800, 800)
    assert library.beta == Votes(64, 10_000, 5_000)
    assert library.factor == Votes(64, 10_000, 5_000)
    assert authors.scale_items == 65_536
    assert library.scale_items == 10_000
    assert authors.least_deviation == 0.0
    assert library.least_deviation == 0.05


def test_partners_share_the_value_are_others_and_are_uniform(factors):
    known = as_factors(factors)
    generator = default_rng(1)
    shared = generator.integers(2, size=200)
    items = generator.integers(600, size=(200, 50))
    found = partners(known, shared, items, generator)
    assert (factors[found, shared[:, None]] == factors[items, shared[:, None]]).all()
    assert (found != items).all()
    same = np.flatnonzero(factors[:, 0] == factors[0, 0])
    drawn = partners(known, np.zeros(1, int), np.zeros((1, 40_000), int), generator)
    counts = np.bincount(drawn[0], minlength=600)[same[same != 0]]
    expected = 40_000 / len(counts)
    # Chi-square over its degrees of freedom, mean 1 and deviation 0.1: 5 deviations.
    assert np.sum((counts - expected) ** 2 / expected) / (len(counts) - 1) < 1.5


@pytest.mark.parametrize("preset", ["uni-bound", "disentanglement-lib"])
def test_collapsed_latents(preset):
    """A constant (0.1 has no exact mean in binary) never votes; a small one only where
    the protocol keeps it.
    """
    factors = default_rng(0).integers((3, 4), size=(3000, 2))
    noise = default_rng(1).standard_normal(3000)
    codes = np.column_stack([factors, np.full(3000, 0.1), 0.01 * noise])
    found = factor_vae_score(codes, factors, preset)
    assert found.active == (True, True, False, preset == "uni-bound")
    assert found.value > 0.99
    assert found.chance == 0.5


def test_without_active_latents_a_score_is_undefined(factors):
    found = factor_vae_score(0.01 * factors, factors, SMALL)
    assert np.isnan(found.value)
    assert found.active == (False, False)
    assert "No column" in found.notes[0]


def test_a_category_counts_by_disagreement(factors):
    """As numbers these codes of the first factor are far apart for the outer values
    only; as categories they are all alike, and relabelling them changes nothing.
    """
    codes = np.column_stack([factors[:, 0], factors[:, 1]]).astype(float)
    relabelled = codes.copy()
    relabelled[:, 0] = np.array([5.0, -3.0, 100.0])[factors[:, 0]]
    for score in (beta_vae_score, factor_vae_score):
        one, other = (
            score(c, factors, SMALL, categorical=(0,)) for c in (codes, relabelled)
        )
        assert one.value == other.value > 0.99


def test_fresh_draws_hide_what_one_draw_for_each_item_would_not(factors):
    """A group of one item drawn many times varies by the posterior's noise."""
    rng = default_rng(0)
    hidden = factor_vae_score(
        lambda items: rng.standard_normal((len(items), 3)), factors, SMALL
    )
    assert abs(hidden.value - 0.5) < 4 * hidden.standard_error  # 6 in 100,000 by chance


def test_the_error_is_that_of_the_test_votes(factors):
    """Votes drawn again, training and all, vary by little more than the binomial error:
    within a factor of 2.
    """
    codes = factors + 0.7 * default_rng(0).standard_normal(factors.shape)
    found = [
        factor_vae_score(codes, factors, SMALL, generator=default_rng(s))
        for s in range(40)
    ]
    spread = np.std([score.value for score in found], ddof=1)
    assert 0.5 < found[0].standard_error / spread < 2.0
