"""Nearest-neighbour information: the formula by hand, other implementations, the result and the errors."""

import itertools

import numpy as np
import pytest
from scipy.special import digamma

from infoscope.estimators.columns import Continuous, Discrete
from infoscope.estimators.knn.estimators import (
    co_information,
    conditional_mutual_information,
    entropy,
    mutual_information,
    total_correlation,
)
from tests.refusals import refused

# The formula by hand, and other implementations


def by_hand(parts, margins, k):
    """The formula of the module, one sample and one comparison at a time. parts: (numbers [n, d], labels [n]) each;
    margins: (factor, numbers of parts). No ties."""
    n = len(parts[0][1])

    def distance(members, i, j):
        if any(parts[m][1][i] != parts[m][1][j] for m in members):
            return np.inf
        return max((abs(parts[m][0][i] - parts[m][0][j]).max() for m in members if parts[m][0].size), default=0.0)

    values = []
    for i in range(n):
        everything = range(len(parts))
        near = sorted(d for d in (distance(everything, i, j) for j in range(n) if j != i) if d < np.inf)[:k]
        value = digamma(len(near))
        for factor, members in margins:
            inside = sum(distance(members, i, j) < near[-1] for j in range(n) if j != i)
            value += factor * digamma(1 + inside)
        values.append(value)
    return np.array(values)


def test_every_combination_by_hand():
    """Numbers, labels and both, in every place; classes down to two samples, so that k is reduced in some."""
    generator = np.random.default_rng(0)
    n = 40
    codes = generator.permutation(np.repeat([0, 1, 2, 3], [20, 14, 4, 2]))
    nothing, none = np.zeros((n, 0)), np.zeros(n, int)
    for kinds in itertools.product(["numbers", "labels", "both"], repeat=3):
        parts, given = [], []
        for kind, coarse in zip(kinds, (codes, codes // 2, codes % 2)):
            numbers = nothing if kind == "labels" else generator.normal(size=(n, 2))
            labels = none if kind == "numbers" else coarse
            parts.append((numbers, labels))
            both = {"numbers": Continuous(numbers), "labels": Discrete(labels)}
            given.append(both.get(kind, list(both.values())))
        if kinds == ("labels",) * 3:
            continue  # counts alone: test_gates
        estimate = conditional_mutual_information(*given, k=3, margins="given", local=True)
        margins = [(-1, (0, 2)), (-1, (1, 2)), (1, (2,))]
        assert np.allclose(estimate.local, by_hand(parts, margins, 3), atol=1e-12), kinds
        if "numbers" in kinds[:2] or "both" in kinds[:2]:
            estimate = mutual_information(*given[:2], k=3, margins="given", local=True)
            pair = by_hand(parts[:2], [(-1, (0,)), (-1, (1,))], 3) + digamma(n)
            assert np.allclose(estimate.local, pair, atol=1e-12), kinds


# The result and the errors


def test_small_classes_use_the_neighbours_they_have():
    """Two classes of 3 use k = 2; a class of one is left out, as in Ross 2014."""
    generator = np.random.default_rng(0)
    labels = np.array([0] * 50 + [1] * 3 + [2] * 3 + [3])
    z = generator.normal(size=57) + labels
    estimate = mutual_information(z, labels, local=True)
    assert estimate.n == 56 and np.isnan(estimate.local[-1]) and np.isfinite(estimate.local[:-1]).all()
    alone, small = estimate.notes
    assert alone.startswith("1 sample") and small.startswith("2 classes") and "6 in all" in small
    assert float(estimate) == float(mutual_information(z[:-1], labels[:-1]))


@pytest.mark.parametrize(("values", "codes"), [
    (np.arange(1000), ["grid"]), (np.random.default_rng(0).normal(size=(500, 2)).round(4), []),
])  # fmt: skip
def test_a_grid_is_not_taken_for_a_continuum(values, codes):
    """Row numbers had 7.115 ± 0.003 for 6.908."""
    found = entropy(values)
    assert [note.code for note in found.notes] == codes and "sampling error only" in str(found)


NUMBERS, HALF_SAMPLES = np.arange(10.0) ** 1.5, np.arange(10) % 2


@pytest.mark.parametrize(
    ("call", "argument", "code"),
    [
        (lambda: mutual_information(NUMBERS, NUMBERS, k=10), "k", "range"),
        (lambda: mutual_information(NUMBERS, Discrete(np.arange(10))), "discrete columns", "constant"),
        (lambda: conditional_mutual_information(NUMBERS, [0] * 9 + [1], [0] * 10), "y", "constant"),
        (lambda: total_correlation([NUMBERS, [0] * 9 + [1]]), "columns[1]", "constant"),
        (lambda: co_information(NUMBERS, NUMBERS, [0] * 9 + [1]), "target", "constant"),
        (lambda: mutual_information(NUMBERS, NUMBERS, method="ksg3"), "method", "invalid"),
        (lambda: mutual_information(NUMBERS, HALF_SAMPLES, method="ksg2"), "method", "invalid"),
        (lambda: total_correlation(NUMBERS), "columns", "range"),
        (lambda: entropy(np.repeat(NUMBERS, 7)), "x", "range"),
        (lambda: mutual_information(NUMBERS, HALF_SAMPLES, groups=HALF_SAMPLES), "groups", "constant"),
    ],
)
def test_bad_input_is_named(call, argument, code):
    with refused(argument, code):
        call()
