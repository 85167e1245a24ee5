"""What is said of a sample before it is measured: copies of rows, and groups that are none."""

import numpy as np
import pytest

from infoscope.estimators import estimate
from infoscope.estimators.arrays import as_pairs
from infoscope.estimators.variables import Continuous


def labelled(n, generator, columns=1):
    """Numbers [n, columns] and a label of two that knows nothing of them."""
    return generator.normal(size=(n, columns)), generator.random(n) < 0.5


def heaped(money, at_fives):
    """Amounts [n] of which some are rounded to fives, the others to cents."""
    return np.where(at_fives, 5 * np.round(money / 5), np.round(money, 2))


def oversampled(generator, n=1000, columns=2):
    """A label of the last tenth of n rows, whose rows are drawn again and again until there are as many of each."""
    x, rare = generator.normal(size=(n, columns)), np.arange(n) >= 0.9 * n
    rows = generator.permutation(np.r_[: int(0.9 * n), generator.integers(int(0.9 * n), n, int(0.9 * n))])
    return x[rows], rare[rows]


@pytest.mark.parametrize("copies", ["oversampled", "three times", "one in fifty again"])
def test_copies_beside_a_label_are_kept_together(copies):
    for seed in range(10):
        generator = np.random.default_rng(seed)
        if copies == "oversampled":
            x, label = oversampled(generator)
        else:
            x, label = labelled(600, generator)
            rows = (
                np.repeat(np.arange(600), 3)
                if copies == "three times"
                else np.r_[:600, generator.integers(600, size=12)]
            )
            x, label = x[rows], label[rows]
        pairs = as_pairs(x, label)
        assert len(np.unique(pairs.groups)) == len(np.unique(x, axis=0)) and "as one group" in pairs.notes[-1]
        swapped = as_pairs(label, x)
        np.testing.assert_array_equal(swapped.groups, pairs.groups)


def test_copies_are_no_information():
    """Independent sides; without the copies told, .4 nats with an interval far from 0."""
    x, label = oversampled(np.random.default_rng(0))
    assert estimate(x, label).low < 0.0


@pytest.mark.parametrize(
    "numbers",
    [
        lambda generator, n: generator.normal(size=n),
        lambda generator, n: generator.normal(size=n).round(1),
        lambda generator, n: generator.normal(size=n).round(3),
        lambda generator, n: generator.normal(size=(n, 2)).round(1),
        lambda generator, n: generator.normal(size=n).astype(np.float16),
        lambda generator, n: np.where(generator.random(n) < 0.4, 0.0, generator.exponential(size=n)),
        lambda generator, n: (200 * generator.exponential(size=n)).round(2 - 3 * generator.integers(2)),
        lambda generator, n: np.array([float(f"{one:.3g}") for one in np.exp(2 * generator.normal(size=n))]),
        lambda generator, n: heaped(np.exp(4 + generator.normal(size=n)), generator.random(n) < 0.6),
    ],
)
@pytest.mark.parametrize("told", [False, True])
def test_numbers_that_repeat_by_their_resolution_are_no_copies(numbers, told):
    """Beside a label that knows nothing of them, and one that follows from them. 20 data sets of each."""
    for seed in range(20):
        generator = np.random.default_rng(seed)
        x = numbers(generator, 1000)
        first = x[:, 0] if x.ndim > 1 else x
        pairs = as_pairs(Continuous(x), first > np.median(first) if told else generator.random(1000) < 0.5)
        assert pairs.groups is None and not any("copies" in note for note in pairs.notes)


def test_what_may_be_copies_is_said_and_left():
    """Rows of two rounded columns, copied: chance would make some of them, if the columns depended on one another."""
    x, label = oversampled(np.random.default_rng(1))
    pairs = as_pairs(x.round(2), label)
    assert pairs.groups is None and "If they are copies" in pairs.notes[-1]


def test_groups_of_one_row_are_none():
    walks = np.cumsum(np.random.default_rng(0).normal(size=(2, 1000)), axis=1)
    pairs = as_pairs(*walks, groups=np.arange(1000))
    assert pairs.groups is None and pairs.serial is not None
    assert "groups say nothing" in pairs.notes[0] and "follow one another" in pairs.notes[1]


@pytest.mark.parametrize("codes", [(-999.0,), (9999.0,), (-998.0, -999.0)])
def test_a_value_far_from_all_others_may_stand_for_what_is_missing(codes):
    g = np.random.default_rng(4)
    x, y = g.normal(size=(2, 800))
    both = np.column_stack([x, y])
    for place, code in enumerate(codes):
        both[place::25, 1] = code  # 32 rows
    (note,) = as_pairs(both, y).notes
    more = " (and 1 more such values)" if len(codes) > 1 else ""
    assert note.startswith(f"Column 2 of the numbers of x is {codes[0 if len(codes) == 1 else 1]:g} in 32 of 800 rows,")
    assert f"far from all others{more}: if that stands for a missing value, leave these rows out" in note
    assert not as_pairs(x, y).notes


@pytest.mark.parametrize(
    "values",
    [
        lambda g, n: np.exp(3 * g.normal(size=n)),
        lambda g, n: g.standard_cauchy(n),
        lambda g, n: np.where(g.random(n) < 0.5, g.exponential(size=n), 0.0),
        lambda g, n: np.clip(g.normal(size=n), -1, 1),
        lambda g, n: 1e6 * g.integers(0, 2, n) + 0.5,
        lambda g, n: np.round(g.standard_cauchy(n)) + 0.5,
        lambda g, n: g.normal(size=n) + 1e4 * (g.random(n) < 0.04),
    ],
)
def test_tails_heaps_and_two_values_are_no_codes(values):
    g = np.random.default_rng(5)
    for n in (60, 1000):
        assert not any("far from all others" in note for note in as_pairs(values(g, n), g.normal(size=n)).notes)
