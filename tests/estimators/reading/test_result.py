"""The reading that estimate(x, y) returns: one line, two units, table, grades, types,
groups, the packaged reader.
"""

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng
from pytest import approx
from scipy.optimize import brentq

from infoscope.estimators import Continuous, Discrete, Estimate, estimate
from infoscope.estimators.arrays import as_pairs
from infoscope.estimators.reading import figures
from infoscope.estimators.reading.reader import Read
from infoscope.estimators.reading.result import (
    Reading,
    at_least_tested,
    capped,
    limit_of_test,
    type_of,
)
from tests.estimators.samples import normal_information, normal_pairs


@pytest.fixture(scope="module")
def found():
    return estimate(*normal_pairs(600, 0.8))


def test_a_reading_contains_the_truth_of_two_normal_columns(found):
    assert isinstance(found, Reading) and isinstance(found, Estimate)
    assert found.low <= normal_information(0.8) <= found.high
    assert (
        found.value == approx(normal_information(0.8), abs=0.15) and found.grade in "AB"
    )


def test_bits_are_those_of_nats(found):
    bits = found.bits
    assert (
        isinstance(bits, Reading) and bits.unit == "bits" and repr(bits) == repr(found)
    )
    assert np.array([bits.value, bits.low, bits.high]) * np.log(2) == approx(
        [found.value, found.low, found.high]
    )


def test_the_table_has_what_the_reader_saw(found):
    """Information in bits, other figures as they are."""
    table = found.table.set_index("figure")
    assert table.loc["ksg_3", "value"] == approx(
        normal_information(0.8) / np.log(2), abs=0.2
    )
    assert table.loc["log_rows", "value"] == approx(np.log(600))
    assert (
        set(figures.NAMES) > figures.INFORMATION
        and "local_skewness" not in figures.INFORMATION
    )
    assert (
        set(table.index) <= set(figures.NAMES)
        and (table["meaning"].str.len() > 5).all()
    )


@pytest.mark.parametrize(
    ("x", "y", "type"),
    [
        (Continuous, Continuous, "numbers"),
        (Continuous, Discrete, "labels"),
        (Discrete, Continuous, "labels"),
        (Discrete, Discrete, "categories"),
        (lambda values: [Continuous(values), Discrete(values > 0)], Discrete, "mixed"),
        (
            lambda values: [Continuous(values), Discrete(values > 0)],
            Continuous,
            "mixed",
        ),
    ],
)
def test_every_type_of_pair_has_a_reading(x, y, type):
    """A label is 1 bit at most."""
    left, right = normal_pairs(300, 0.7)
    variables = (
        x(left[:, 0] if x is not Discrete else left[:, 0] > 0),
        y(right[:, 0] if y is not Discrete else right[:, 0] > 0),
    )
    assert type_of(as_pairs(*variables)) == type
    read = estimate(*variables)
    assert 0.0 <= read.low <= read.value <= read.high and read.grade in ("A", "B", "C")
    assert read.low <= normal_information(0.7)


def test_estimates_are_not_negative_and_zero_without_information():
    generator = default_rng(4)
    for columns in (1, 6):
        read = estimate(
            generator.normal(size=(800, columns)), generator.normal(size=800)
        )
        assert read.low == 0.0 and read.value < 0.1


def test_rows_of_a_group_are_counted():
    x, y = normal_pairs(400, 0.8)
    read = estimate(x, y, groups=np.arange(400) // 2)
    assert read.units == 200 and "n = 400 in 200 groups" in repr(read)


@pytest.mark.parametrize(("classes", "columns", "n"), [(2, 60, 60), (8, 5, 200)])
def test_no_reading_is_above_what_a_label_can_carry(classes, columns, n):
    generator = default_rng(classes)
    label = generator.integers(0, classes, n)
    z = generator.normal(size=(n, columns))
    z[:, 0] += 4 * label
    mixed = [Continuous(z), Discrete(generator.random(n) > 0.5)]
    for answer in (estimate(z, label.astype(str)), estimate(label.astype(str), mixed)):
        assert answer.low <= answer.value <= answer.high <= np.log(classes) + 1e-12


def test_a_skewed_label_carries_less_than_the_log_of_its_categories():
    """H of 3 % is 0.135 nats."""
    generator = default_rng(0)
    label = np.arange(400) < 12
    answer = estimate(generator.normal(size=(400, 30)) + 5 * label[:, None], label)
    assert answer.value <= answer.high < 0.25


def test_the_grade_is_that_of_the_limited_interval():
    wide = Read(1.2, 0.6, 2.0, "B")
    label = Discrete(np.arange(200) % 2)
    answer = capped(wide, as_pairs(default_rng(0).normal(size=200), label))
    assert (answer.value, answer.high) == approx(
        (np.log(2), np.log(2))
    ) and answer.grade == "A"
    assert (
        capped(replace(wide, grade="C"), as_pairs(np.arange(200.0), label)).grade == "C"
    )


def weak_labels(information, n, seed):
    """Two labels of 2 and 3 equally frequent classes, of known information: cells of (1
    + c) / 6 or (1 - c) / 6.
    """

    def excess(share):
        return (
            (1 + share) * np.log1p(share) / 3
            + (1 - share) * np.log1p(-share) / 3
            - information
        )

    share = brentq(excess, 0, 0.99)
    cells = np.array([[1 + share, 1 - share, 1], [1 - share, 1 + share, 1]]).ravel() / 6
    drawn = default_rng(seed).choice(6, n, p=cells)
    return as_pairs(Discrete(drawn // 3), Discrete(drawn % 3))


@pytest.mark.parametrize("information_2n", [1, 3, 8, 20])
def test_weak_information_is_above_the_limit_of_the_test_in_about_1_of_40_samples(
    information_2n,
):
    """Of 400: at most 24 has probability .999 where 2.5 % are."""
    truth = information_2n / (2 * 500)
    limits = [limit_of_test(weak_labels(truth, 500, seed)) for seed in range(400)]
    assert sum(limit < truth for limit in limits) <= 24


def test_an_upper_limit_is_at_least_that_of_the_test():
    pairs = weak_labels(0.004, 500, 0)
    limit = limit_of_test(pairs)
    assert at_least_tested(Read(0.0, 0.0, limit / 2, "A"), pairs) == Read(
        0.0, 0.0, limit, "A"
    )
    assert at_least_tested(Read(0.0, 0.0, 2 * limit, "B"), pairs).high == 2 * limit
    # not weak
    assert (
        at_least_tested(Read(0.0, 0.0, 0.001, "A"), weak_labels(0.3, 500, 0)).high
        == 0.001
    )


def test_rare_cells_have_no_limit_of_the_test():
    pairs = as_pairs(Discrete(np.arange(40) % 20), Discrete(np.arange(40) % 2))
    assert limit_of_test(pairs) == 0.0
