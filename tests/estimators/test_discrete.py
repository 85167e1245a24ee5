"""Entropies of categories from counts, in closed form."""

import numpy as np
import pytest
from pytest import approx
from scipy.special import digamma, entr

from infoscope.estimators import discrete, estimate, uncertainty
from infoscope.estimators.columns import Discrete
from infoscope.estimators.knn.estimators import (
    conditional_mutual_information,
    entropy,
    mutual_information,
    total_correlation,
)
from tests.estimators.samples import draws
from tests.refusals import refused

LN2 = np.log(2)


@pytest.mark.parametrize("entropy_of", [discrete.plug_in, discrete.chao_shen])
def test_entropies_of_plenty_of_rows(entropy_of):
    """They agree to about (m - 1) / n with the entropy of the shares, and a single
    category has none.
    """
    counts = [40_000, 20_000, 10_000, 10_000]
    assert entropy_of(counts) == approx(1.75 * LN2, abs=1e-4)
    assert entropy_of([17]) == approx(0, abs=1e-12)
    assert entropy_of([3, 0, 5]) == entropy_of([5, 3])
    with refused("counts", "invalid"):
        entropy_of([0.5, 1])


@pytest.mark.parametrize(
    "entropy_of", [discrete.shrinkage, lambda counts: discrete.nsb(counts)[0]]
)
def test_fractions_of_rows_lie_between_whole_ones(entropy_of):
    assert entropy_of([80, 8]) < entropy_of([80, 8.5]) < entropy_of([80, 9])
    with refused("counts", "invalid"):
        entropy_of([0.5, -1])


def test_entropies_by_hand():
    counts = [2, 1, 1]
    plug_in = 0.5 * LN2 + 2 * 0.25 * np.log(4)
    assert discrete.plug_in(counts) == approx(plug_in)
    grassberger = digamma(4) - 0.5 * digamma(2) - 0.5 * digamma(1)
    estimated = entropy(Discrete([0, 0, 1, 2]), k=1)
    assert estimated.value == approx(grassberger)
    # half of the rows are alone: half of the probability is unseen
    shares = np.array([0.25, 0.125, 0.125])
    is_seen = 1 - (1 - shares) ** 4
    terms = shares * np.log(shares) / is_seen
    assert discrete.chao_shen(counts) == approx(-terms.sum())


IDS = np.arange(1000)
COIN = draws().integers(0, 2, 1000)


@pytest.mark.parametrize(
    "call",
    [
        lambda: entropy(Discrete(IDS)),
        lambda: mutual_information([f"row {i}" for i in IDS], COIN),
        lambda: mutual_information(COIN, Discrete(IDS)),
        lambda: conditional_mutual_information(COIN, COIN[::-1], Discrete(IDS)),
        lambda: total_correlation([Discrete(IDS), COIN]),
        lambda: uncertainty.subsample(Discrete(IDS), COIN),
        lambda: estimate(Discrete(IDS), COIN, "plug-in"),
    ],
)
def test_rows_that_are_all_different_are_refused(call):
    with refused(code="constant"):
        call()


@pytest.mark.parametrize(
    ("sizes", "most"),
    [
        ([100, 100], np.log(2)),  # no more than both categories
        ([25] * 4, np.log(4)),
        ([30, 30, 1], np.log(3)),  # a single row alone suggests nothing unseen
        ([1] * 40, np.inf),  # of names that never repeat, any number may be unseen
    ],
)
def test_a_label_carries_at_most_what_its_categories_can(sizes, most):
    codes = np.repeat(np.arange(len(sizes)), sizes)
    estimate = discrete.label_entropy(codes)
    assert estimate.value == approx(discrete.plug_in(sizes))
    assert estimate.value <= estimate.high <= most + 1e-12


@pytest.mark.parametrize("rows_of_a_group", [1, 4])
def test_the_upper_limit_covers_the_entropy(rows_of_a_group):
    """In 97.5 % of samples, here of labels of 2 to 20 categories, also in groups of
    equal labels.
    """
    generator = np.random.default_rng(0)
    groups = np.repeat(np.arange(100), rows_of_a_group)
    covered = []
    for size in np.repeat([2, 5, 20], 60):
        shares = generator.dirichlet(np.ones(size))
        labels = generator.choice(size, 100, p=shares)[groups]
        _, codes = np.unique(labels, return_inverse=True)
        estimate = discrete.label_entropy(codes, groups)
        covered.append(estimate.high >= entr(shares).sum())
    assert np.mean(covered) >= 0.94
