"""Counts of categories: entropies in closed form, and what too few rows in each would give."""

import numpy as np
import pytest
from scipy.special import digamma

from infoscope.estimators import discrete, npeet, uncertainty
from infoscope.estimators.knn.estimators import (
    Continuous,
    Discrete,
    co_information,
    conditional_mutual_information,
    entropy,
    mutual_information,
    total_correlation,
)
from tests.estimators.samples import draws
from tests.refusals import refused

LN2 = np.log(2)
CHANCE = "would give about"


@pytest.mark.parametrize("estimate", [discrete.plug_in, discrete.chao_shen])
def test_entropies_of_plenty_of_rows(estimate):
    """They agree to about (m - 1) / n with the entropy of the shares, and a single category has none."""
    shares = np.array([0.5, 0.25, 0.125, 0.125])
    assert estimate(shares * 80_000) == pytest.approx(1.75 * LN2, abs=1e-4)
    assert estimate([17]) == pytest.approx(0, abs=1e-12)
    assert estimate([3, 0, 5]) == estimate([5, 3])
    with refused("counts", "invalid"):
        estimate([0.5, 1])


@pytest.mark.parametrize("estimate", [discrete.shrinkage, discrete.nsb])
def test_fractions_of_rows_lie_between_whole_ones(estimate):
    values = [float(getattr(found, "mean", found)) for found in (estimate([80, 8 + part]) for part in (0, 0.5, 1))]
    assert values == sorted(values) and values[0] < values[1] < values[2]
    with refused("counts", "invalid"):
        estimate([0.5, -1])


def test_entropies_by_hand():
    counts = [2, 1, 1]
    assert discrete.plug_in(counts) == pytest.approx(0.5 * LN2 + 2 * 0.25 * np.log(4))
    found = entropy(Discrete([0, 0, 1, 2]), k=1)
    assert float(found) == pytest.approx(digamma(4) - 0.5 * digamma(2) - 0.5 * digamma(1))
    seen = np.array([0.25, 0.125, 0.125])  # half of the rows are alone: half of the probability is unseen
    assert discrete.chao_shen(counts) == pytest.approx(-(seen * np.log(seen) / (1 - (1 - seen) ** 4)).sum())
    assert discrete.chao_shen([1] * 4) == pytest.approx(-4 * (1 / 16) * np.log(1 / 16) / (1 - (15 / 16) ** 4))


def test_unseen_categories_are_allowed_for():
    """1,000 rows of 3,000 equal categories, 20 samples: log 3000 is 8.01, log n 6.91."""
    g = draws()
    counts = [np.bincount(g.integers(0, 3000, 1000)) for _ in range(20)]
    assert np.mean([discrete.chao_shen(of) for of in counts]) == pytest.approx(np.log(3000), abs=0.05)
    assert np.mean([discrete.plug_in(of) for of in counts]) < 6.8


@pytest.mark.parametrize("rows, columns, n", [(40, 30, 60), (5, 3, 60), (60, 2, 60)])
def test_expected_information_is_the_mean_of_permutations(rows, columns, n):
    """1,000 permutations: false alarms at four standard errors, 1 in 15,000."""
    g = draws()
    x, y = g.permutation(np.arange(n) % rows), g.integers(0, columns, n)

    def term(codes):
        return digamma(np.bincount(codes)[codes]).mean() - digamma(n)

    drawn = [term(x * columns + g.permutation(y)) - term(x) - term(y) for _ in range(1000)]
    error = np.std(drawn) / np.sqrt(1000) + 1e-12
    assert abs(discrete.expected_information(x, y) - np.mean(drawn)) < 4 * error
    z = np.arange(n) % 2
    inside = [discrete.expected_information(x[z == s], y[z == s]) for s in (0, 1)]
    assert discrete.expected_information(x, y, z) == pytest.approx(np.mean(inside))


def test_expected_information_by_hand_and_of_many_rows():
    """Four different rows against a coin: every cell holds one, so log-like terms of the coin alone are left."""
    assert discrete.expected_information(np.arange(4), np.repeat([0, 1], 2)) == pytest.approx(digamma(4) - digamma(2))
    g = draws()
    assert abs(discrete.expected_information(g.integers(0, 10, 300_000), g.integers(0, 1000, 300_000))) < 1e-6


def test_every_measure_of_sparse_tables_says_so():
    """300 x 300 independent categories in 1,000 rows: 3.9 for 0; and others."""
    g = draws()
    x, y = (Discrete(column) for column in g.integers(0, 300, (2, 1000)))
    a, b, c = (Discrete(column) for column in g.integers(0, 60, (3, 500)))
    coin, noise = Discrete(g.integers(0, 2, 500)), Continuous(g.normal(size=500))
    for estimate in (
        mutual_information(x, y),
        conditional_mutual_information(a, b, coin),
        conditional_mutual_information(coin, Discrete(g.integers(0, 2, 500)), a, k=1),
        total_correlation([a, b, coin]),
        co_information(a, b, coin),
        mutual_information([noise, Discrete(g.integers(0, 200, 500))], coin),
        uncertainty.subsample(x, y, resamples=10),
    ):
        assert any(CHANCE in note for note in estimate.notes), estimate
        assert abs(float(estimate)) < 3 * estimate.standard_error or estimate.verdict != "reliable"
    with pytest.warns(UserWarning, match=CHANCE):
        npeet.midd(a.values, b.values)


@pytest.mark.parametrize("classes, n", [(10, 1000), (100, 2000), (1000, 20000)])
def test_ordinary_labels_are_passed_in_silence(classes, n):
    g = draws()
    labels, coin = g.integers(0, classes, n), g.integers(0, 2, n)
    for estimate in (mutual_information(labels, coin), mutual_information(labels, labels), entropy(labels)):
        assert not estimate.notes and estimate.standard_error < 0.05


IDS, COIN = np.arange(1000), draws().integers(0, 2, 1000)


@pytest.mark.parametrize(
    "call",
    [
        lambda: entropy(Discrete(IDS)),
        lambda: mutual_information([f"row {i}" for i in IDS], COIN),
        lambda: mutual_information(COIN, Discrete(IDS)),
        lambda: conditional_mutual_information(COIN, COIN[::-1], Discrete(IDS)),
        lambda: total_correlation([Discrete(IDS), COIN]),
        lambda: uncertainty.subsample(Discrete(IDS), COIN),
        lambda: npeet.entropyd(IDS),
    ],
)
def test_rows_that_are_all_different_are_refused(call):
    with refused(code="constant"):
        call()


def test_an_entropy_above_log_n_says_so():
    """990 of 1,000 rows alone in their category."""
    estimate = entropy(Discrete(np.minimum(IDS, 990)))
    assert float(estimate) > np.log(1000) and estimate.standard_error > 1
    assert any("6.908" in note and "99 %" in note for note in estimate.notes)
    few = entropy(Discrete(IDS // 2))
    assert float(few) < np.log(1000) and not few.notes
