"""Local permutation tests of I(x; y | z) with numbers in z, against a plain
implementation of the published one.
"""

import numpy as np
import pytest
from pytest import approx

from infoscope.estimators import knn
from infoscope.estimators.knn import Continuous, Discrete
from infoscope.estimators.uncertainty import permutation_test
from infoscope.estimators.uncertainty._local import (
    draw_in_turn,
    local_permutations,
    permuted_estimates,
)
from tests.estimators.samples import draws, sample_of
from tests.refusals import refused


def fork(n, seed=0, dim=1, effect=0.0):
    """x <- z -> y, and x -> y by `effect`."""
    g = draws(seed)
    z = g.normal(size=(n, dim))
    x = z[:, 0] + g.normal(size=n)
    y = z[:, 0] + effect * x + g.normal(size=n)
    return x, y, z


N = 250
X, Y, Z = fork(N, 1, 2, 0.3)
LABEL = draws(1).integers(0, 3, N)


def equal_in_five_rows(values):
    equal = values.copy()
    equal[:5] = 0.25
    return equal


MIXED_X = [Continuous(X), Discrete(Y > 1)]
MIXED_Y = [Continuous(Y), Discrete(X > 0)]
MIXED_Z = [Continuous(Z), Discrete(LABEL)]
TYPED = {  # x, y, z and k
    "wide x": (np.c_[X, draws(2).normal(size=N)], Y, Z, 1),
    "category x": (Discrete(np.digitize(X, [-1, 0, 2.8])), Y, Z, 1),
    "categories": (Discrete(X > 0), Discrete(Y > 0), Z, 1),
    "mixed": (MIXED_X, MIXED_Y, MIXED_Z, 40),
    "grid": (np.round(X, 1), np.round(Y, 1), np.round(Z, 1), 1),
    "ties": (equal_in_five_rows(X), equal_in_five_rows(Y), equal_in_five_rows(Z), 40),
}


@pytest.mark.parametrize("name", TYPED)
def test_every_null_value_is_the_estimate_of_those_rows(name):
    *variables, k = TYPED[name]
    x, y, z = sample_of(*variables).variables
    rows = np.vstack([np.arange(N), local_permutations(z, 7, 4, draws())])
    alone = []
    for row in rows:
        permuted_x = x.take(row)
        estimate = knn.conditional_mutual_information(
            permuted_x, y, z, k=k, margins="given"
        )
        alone.append(estimate.value)
    null = permuted_estimates(x, y, z, rows, k)
    np.testing.assert_allclose(null, alone, rtol=0, atol=1e-12)


def published(order, choices):
    """Algorithm 1 of Runge 2018, line by line."""
    used = set()
    drawn = {}
    for i in order:
        m = 0
        j = choices[i][m]
        while j in used and m < len(choices[i]) - 1:
            m += 1
            j = choices[i][m]
        drawn[i] = j
        used.add(j)
    return [drawn[i] for i in range(len(order))]


def test_permutations_are_those_of_the_published_algorithm():
    g = draws(3)
    distances = np.abs(np.subtract.outer(g.normal(size=200), g.normal(size=200)))
    nearest = np.argsort(distances, axis=1)[:, :6]
    drawn = np.empty(200, np.intp)
    for _ in range(5):
        order = g.permutation(200)
        choices = g.permuted(nearest, axis=1)
        draw_in_turn(order, choices, drawn)
        assert drawn.tolist() == published(order, choices.tolist())


def test_rows_are_exchanged_among_the_nearest_of_their_category_and_group():
    _, _, z = sample_of(X, Y, MIXED_Z).variables
    groups = np.arange(N) % 2
    rows = local_permutations(z, 6, 20, draws(), groups)
    assert (z.codes[rows] == z.codes).all()
    assert (groups[rows] == groups).all()
    for i in range(0, N, 17):
        differences = np.abs(z.continuous - z.continuous[i])
        distances = differences.max(axis=1)
        inside = (z.codes == z.codes[i]) & (groups == groups[i])
        nearest = np.sort(distances[inside])[:6]
        assert distances[rows[:, i]].max() <= nearest[-1]
    assert len(np.unique(rows[:, 0])) > 3
    assert (np.sort(rows, axis=1) == np.arange(N)).all()  # no row is used twice
    reused = local_permutations(z, 6, 20, draws(), groups, reuse=True)
    distinct = [len(np.unique(row)) for row in reused]
    assert 0.8 * N < np.mean(distinct) < N


def test_a_common_cause_is_no_dependence_and_a_direct_one_is():
    x, y, z = fork(300, 5, 2)
    assert permutation_test(x, y, z, permutations=99).p_value > 0.05
    # it is the condition that explains it
    assert permutation_test(x, y, permutations=99).p_value == 0.01
    direct = permutation_test(*fork(300, 5, 2, 0.8), permutations=99)
    assert direct.p_value == 0.01
    assert direct.p_error == approx(np.sqrt(0.01 * 0.99 / 99))
    assert direct.observed.low < direct.observed.value < direct.observed.high


def p_values(**settings):
    """60 tests with 19 permutations each of variables that share nothing given z."""
    settings = {"permutations": 19} | settings
    values = []
    for seed in range(60):
        x, y, z = fork(80, seed)
        result = permutation_test(x, y, z, generator=draws(seed), **settings)
        values.append(result.p_value)
    return np.array(values)


def test_p_values_have_their_level():
    """P(p <= 0.1) is about 0.1; 16 or more of 60 with probability 0.0003. Four standard
    errors of the mean of p are 0.15; as published, with rows that are reused, it is
    larger.
    """
    values = p_values()
    assert np.sum(values <= 0.1) < 16
    assert np.mean(values) == approx(0.525, abs=0.15)
    assert np.mean(p_values(reuse=True)) > np.mean(values) + 0.03


GROUPS = np.arange(100) // 5
CLUSTERS = np.repeat([0, 1], 50)


@pytest.mark.parametrize(
    ("changed", "argument", "code"),
    [
        ({"k_perm": 101}, "k_perm", "range"),
        ({"groups": GROUPS, "x": GROUPS % 3}, "groups", "constant"),
        ({"x": CLUSTERS, "z": 1e4 * CLUSTERS + np.arange(100)}, "x", "constant"),
    ],
)
def test_bad_input_is_refused(changed, argument, code):
    x, y, z = fork(100, 7)
    arguments = {"x": x, "y": y, "z": z, "permutations": 9} | changed
    with refused(argument, code):
        permutation_test(**arguments)
