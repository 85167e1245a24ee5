"""Local permutation tests of I(x; y | z) with numbers in z, against a plain implementation of the published one."""

import numpy as np
import pytest

from infoscope.estimators import knn
from infoscope.estimators.knn import Continuous, Discrete
from infoscope.estimators.uncertainty import permutation_test
from infoscope.estimators.uncertainty._local import draw_in_turn, local_permutations, permuted_estimates
from tests.estimators.samples import draws, sample_of
from tests.refusals import refused


def fork(n, seed=0, dim=1, effect=0.0):
    """x <- z -> y, and x -> y by `effect`."""
    g = draws(seed)
    z = g.normal(size=(n, dim))
    x = z[:, 0] + g.normal(size=n)
    return x, z[:, 0] + effect * x + g.normal(size=n), z


def typed(name, n=250, seed=1):
    """x, y, z whose types, ties and rare categories differ."""
    g = draws(seed)
    x, y, z = fork(n, seed, 2, 0.3)
    label = g.integers(0, 3, n)
    return {
        "wide x": (np.c_[x, g.normal(size=n)], y, z),
        "category x": (Discrete(np.digitize(x, [-1, 0, 2.8])), y, z),
        "categories": (Discrete(x > 0), Discrete(y > 0), z),
        "mixed z": (x, y, [Continuous(z), Discrete(label)]),
        "mixed": ([Continuous(x), Discrete(y > 1)], [Continuous(y), Discrete(x > 0)],
                      [Continuous(z[:, 0]), Discrete(label)]),
        "grid": (np.round(x, 1) + 0.01, np.round(y, 1) + 0.01, np.round(z, 1) + 0.01),
        "ties": (np.where(np.arange(n) < 5, 0.25, x), np.where(np.arange(n) < 5, 0.25, y),
                 np.where(np.arange(n)[:, None] < 5, 0.25, z)),
    }[name]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "k"),
    [("wide x", 1), ("category x", 1), ("categories", 1), ("mixed z", 1), ("mixed", 40), ("grid", 1), ("ties", 40)],
)
def test_every_null_value_is_the_estimate_of_those_rows(name, k):
    x, y, z = sample_of(*typed(name)).variables
    rows = np.vstack([np.arange(z.n), local_permutations(z, 7, 4, draws())])
    found = permuted_estimates(x, y, z, rows, k)
    alone = [float(knn.conditional_mutual_information(x.take(row), y, z, k=k, margins="given")) for row in rows]
    np.testing.assert_allclose(found, alone, rtol=0, atol=1e-12)


def published(order, choices):
    """Algorithm 1 of Runge 2018, line by line."""
    used, drawn = set(), {}
    for i in order:
        m, j = 0, choices[i][0]
        while j in used and m < len(choices[i]) - 1:
            m += 1
            j = choices[i][m]
        drawn[i] = j
        used.add(j)
    return [drawn[i] for i in range(len(order))]


def test_permutations_are_those_of_the_published_algorithm():
    g, drawn = draws(3), np.empty(200, np.intp)
    choices = np.argsort(abs(np.subtract.outer(*[g.normal(size=200)] * 2)), axis=1)[:, :6]
    for _ in range(5):
        order, mixed = g.permutation(200), g.permuted(choices, axis=1)
        draw_in_turn(order, mixed, drawn)
        assert drawn.tolist() == published(order, mixed.tolist())


def test_rows_are_exchanged_among_the_nearest_of_their_category_and_group():
    _, _, z = sample_of(*typed("mixed z")).variables
    groups = np.arange(z.n) % 2
    rows = local_permutations(z, 6, 20, draws(), groups)
    assert (z.codes[rows] == z.codes).all() and (groups[rows] == groups).all()
    for i in range(0, z.n, 17):
        near = np.abs(z.continuous - z.continuous[i]).max(axis=1)
        mates = (z.codes == z.codes[i]) & (groups == groups[i])
        assert near[rows[:, i]].max() <= np.sort(near[mates])[5]
    assert len(np.unique(rows[:, 0])) > 3
    assert (np.sort(rows, axis=1) == np.arange(z.n)).all()  # nobody's is used twice
    again = local_permutations(z, 6, 20, draws(), groups, reuse=True)
    assert 0.8 * z.n < np.mean([len(np.unique(row)) for row in again]) < z.n


def test_a_common_cause_is_no_dependence_and_a_direct_one_is():
    useless, found = (permutation_test(*fork(300, 5, 2, effect), permutations=99) for effect in (0.0, 0.8))
    assert useless.p_value > 0.05 and found.p_value == 0.01
    x, y, _ = fork(300, 5, 2)
    assert permutation_test(x, y, permutations=99).p_value == 0.01  # it is the condition that explains it
    assert found.observed.low < found.observed.value < found.observed.high and len(found.null) == 99
    assert found.k_perm == 5 and found.p_error == pytest.approx(np.sqrt(0.01 * 0.99 / 99))


def test_p_values_have_their_level_and_follow_their_seed():
    """No information, 60 tests with 19 permutations: P(p <= 0.1) is about 0.1; 16 or more with probability 0.0003. Four
    standard errors of the mean of p are 0.15; as published, it is above that of ours.
    """
    found, reused = ([permutation_test(*fork(80, seed), permutations=19, generator=draws(seed), reuse=reuse).p_value
                      for seed in range(60)] for reuse in (False, True))  # fmt: skip
    assert np.sum(np.array(found) <= 0.1) < 16 and np.mean(found) == pytest.approx(0.525, abs=0.15)
    assert np.mean(reused) > np.mean(found) + 0.03
    assert found[3] == permutation_test(*fork(80, 3), permutations=19, generator=draws(3)).p_value


@pytest.mark.parametrize(("changed", "argument", "code"), [
    ({"k_perm": 101}, "k_perm", "range"),
    ({"groups": np.arange(100) // 5, "x": np.arange(100) // 5 % 3}, "groups", "constant"),
    ({"x": np.r_[np.zeros(50, int), np.ones(50, int)], "z": np.r_[np.arange(50.5)[:50], 1e4 + np.arange(50.5)[:50]]},
     "x", "constant"),
])  # fmt: skip
def test_bad_input_is_one_sentence(changed, argument, code):
    x, y, z = fork(100, 7)
    with refused(argument, code):
        permutation_test(**{"x": x, "y": y, "z": z, "permutations": 9} | changed)
