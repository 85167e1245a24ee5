"""The same rows in another order, under other names, with x and y exchanged, have the
same reading.
"""

import numpy as np
import pytest
from numpy.random import default_rng

from infoscope.estimators import Continuous, Discrete, estimate
from infoscope.estimators.arrays import as_pairs
from infoscope.estimators.reading.order import in_canonical_order

N = 160


def samples():
    generator = default_rng(3)
    z = generator.normal(size=N)
    numbers = z[:, None] + generator.normal(size=(N, 2))
    counts = generator.poisson(np.exp(z)).astype(float)
    label = np.digitize(z + generator.normal(size=N), [-1, 0, 1])
    rows = generator.permutation(N)
    symmetric = rows % 2  # of a table whose categories have the same content
    other = np.where(rows % 8 < 6, symmetric, 1 - symmetric)
    return {
        "counts": (Continuous(counts), Continuous(np.round(z))),
        "label": (Continuous(numbers), Discrete(label)),
        "labels": (Discrete(label), Discrete(generator.integers(0, 4, N))),
        "symmetric table": (Discrete(symmetric), Discrete(other)),
        "mixed": ([Continuous(numbers[:, 0]), Discrete(label)], Continuous(z)),
    }


def moved(value, rows):
    if isinstance(value, list):
        return [moved(part, rows) for part in value]
    return type(value)(value.values[rows])


def renamed(value):
    if isinstance(value, list):
        return [renamed(part) for part in value]
    if isinstance(value, Continuous):
        return value
    names = np.array(["d", "a", "c", "b"])
    return Discrete(names[value.values])


def answer(x, y, groups=None):
    reading = estimate(x, y, groups=groups)
    return (
        reading.value,
        reading.low,
        reading.high,
        reading.grade,
        reading.p_value,
        *reading.figures.values(),
    )


@pytest.mark.parametrize("grouped", [False, True], ids=["rows", "groups"])
@pytest.mark.parametrize("name", list(samples()))
def test_the_order_of_rows_and_names_do_not_matter(name, grouped):
    x, y = samples()[name]
    groups = np.arange(N) // 4 if grouped else None
    rows = default_rng(1).permutation(N)
    other_groups = None if groups is None else (np.max(groups) - groups)[rows]
    other = (renamed(moved(x, rows)), renamed(moved(y, rows)))
    np.testing.assert_array_equal(answer(*other, other_groups), answer(x, y, groups))


def test_rows_are_in_random_order():
    """Of sorted rows, halves are alike; another seed gives another order."""
    x = np.sort(default_rng(0).normal(size=2000))
    orders = []
    for seed in (0, 1):
        pairs, _ = in_canonical_order(as_pairs(x, x), default_rng(seed))
        orders.append(pairs.x.continuous[:, 0])
        assert abs(orders[-1][:1000].mean()) < 0.1
        assert abs(np.corrcoef(orders[-1], np.arange(2000))[0, 1]) < 0.1
    assert np.mean(orders[0] == orders[1]) < 0.01
