"""Nearest-neighbour information: the formula by hand, other implementations, the result
and the errors.
"""

import itertools

import numpy as np
import pytest
from numpy.random import default_rng
from scipy.special import digamma

from infoscope.estimators.columns import Continuous, Discrete
from infoscope.estimators.knn.estimators import (
    CONDITIONAL_MARGINS,
    PAIR_MARGINS,
    co_information,
    conditional_mutual_information,
    entropy,
    mutual_information,
    total_correlation,
)
from tests.refusals import refused

# The formula by hand


def by_hand(parts, margins, k, groups):
    """The formula of the module, one row at a time. parts: (numbers [n, d], labels [n])
    each; margins: (factor, numbers of parts). No ties.
    """
    numeric = any(numbers.size for numbers, _ in parts)

    def distances(members, i):
        others = groups != groups[i]
        distance = np.zeros(others.sum())
        for member in members:
            numbers, labels = parts[member]
            differences = np.abs(numbers[others] - numbers[i])
            distance = np.maximum(distance, differences.max(axis=1, initial=0.0))
            distance[labels[others] != labels[i]] = np.inf
        return distance

    values = np.empty(len(groups))
    for i in range(len(groups)):
        joint = distances(range(len(parts)), i)
        near = np.sort(joint[joint < np.inf])
        values[i] = digamma(1 + len(near))
        radius = np.inf
        if numeric:
            near = near[:k]
            values[i] = digamma(len(near))
            radius = near[-1]
        for factor, members in margins:
            inside = distances(members, i) < radius
            values[i] += factor * digamma(1 + inside.sum())
    return values


@pytest.mark.parametrize("group_size", [1, 2])
@pytest.mark.parametrize(
    "kinds", list(itertools.product(["numbers", "labels", "both"], repeat=3))
)
def test_every_combination_by_hand(kinds, group_size):
    """Numbers, labels and both, in every place; classes down to two samples, so that k
    is reduced in some.
    """
    generator = default_rng(0)
    n = 40
    groups = np.arange(n) // group_size
    codes = generator.permutation(np.repeat([0, 1, 2, 3], [20, 14, 4, 2]))
    parts = []
    variables = []
    for kind, labels in zip(kinds, (codes, codes // 2, codes % 2)):
        numbers = generator.normal(size=(n, 2))
        columns = [Continuous(numbers), Discrete(labels)]
        if kind == "numbers":
            labels = np.zeros(n, int)
            columns = numbers
        if kind == "labels":
            numbers = np.zeros((n, 0))
            columns = Discrete(labels)
        parts.append((numbers, labels))
        variables.append(columns)
    settings = {"k": 3, "margins": "given", "local": True, "groups": groups}
    estimate = conditional_mutual_information(*variables, **settings)
    expected = by_hand(parts, CONDITIONAL_MARGINS, 3, groups)
    assert np.allclose(estimate.local, expected, atol=1e-12)
    estimate = mutual_information(*variables[:2], **settings)
    expected = by_hand(parts[:2], PAIR_MARGINS, 3, groups)
    assert np.allclose(estimate.local, expected, atol=1e-12)


# The result and the errors


def test_small_classes_use_the_neighbours_they_have():
    """Two classes of 3 use k = 2; a class of one is left out, as in Ross 2014."""
    generator = default_rng(0)
    labels = np.array([0] * 50 + [1] * 3 + [2] * 3 + [3])
    z = generator.normal(size=57) + labels
    estimate = mutual_information(z, labels, local=True)
    assert estimate.n == 56
    assert np.isnan(estimate.local[-1])
    alone, small = estimate.notes
    assert alone.startswith("1 sample")
    assert small.startswith("2 classes")
    assert estimate.value == mutual_information(z[:-1], labels[:-1]).value


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        (np.arange(1000), ["grid"]),
        (default_rng(0).normal(size=(500, 2)).round(4), []),
    ],
)
def test_a_grid_is_not_taken_for_a_continuum(values, codes):
    """Row numbers had 7.115 ± 0.003 for 6.908."""
    estimate = entropy(values)
    assert [note.code for note in estimate.notes] == codes


NUMBERS = np.arange(10.0) ** 1.5
HALVES = np.arange(10) % 2
RARE = [0] * 9 + [1]


@pytest.mark.parametrize(
    ("call", "argument", "code"),
    [
        (lambda: mutual_information(NUMBERS, NUMBERS, k=10), "k", "range"),
        (
            lambda: mutual_information(NUMBERS, Discrete(np.arange(10))),
            "discrete columns",
            "constant",
        ),
        (
            lambda: conditional_mutual_information(NUMBERS, RARE, np.zeros(10)),
            "y",
            "constant",
        ),
        (lambda: total_correlation([NUMBERS, RARE]), "columns[1]", "constant"),
        (lambda: co_information(NUMBERS, NUMBERS, RARE), "target", "constant"),
        (
            lambda: mutual_information(NUMBERS, NUMBERS, method="ksg3"),
            "method",
            "invalid",
        ),
        (
            lambda: mutual_information(NUMBERS, HALVES, method="ksg2"),
            "method",
            "invalid",
        ),
        (lambda: total_correlation(NUMBERS), "columns", "range"),
        (lambda: entropy(np.repeat(NUMBERS, 7)), "x", "range"),
        (
            lambda: mutual_information(NUMBERS, HALVES, groups=HALVES),
            "groups",
            "constant",
        ),
    ],
)
def test_bad_input_is_named(call, argument, code):
    with refused(argument, code):
        call()
