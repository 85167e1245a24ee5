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
def of_normal_columns():
    return estimate(*normal_pairs(600, 0.8))


def test_a_reading_contains_the_truth_of_two_normal_columns(of_normal_columns):
    assert isinstance(of_normal_columns, Reading)
    assert isinstance(of_normal_columns, Estimate)
    assert of_normal_columns.low <= normal_information(0.8) <= of_normal_columns.high
    assert of_normal_columns.value == approx(normal_information(0.8), abs=0.15)
    assert of_normal_columns.grade in "AB"


def test_the_table_has_what_the_reader_saw(of_normal_columns):
    """Information in bits, other figures as they are."""
    table = of_normal_columns.table.set_index("figure")
    assert table.loc["ksg_3", "value"] == approx(
        normal_information(0.8) / np.log(2), abs=0.2
    )
    assert table.loc["log_rows", "value"] == approx(np.log(600))
    assert set(figures.NAMES) > figures.INFORMATION
    assert "local_skewness" not in figures.INFORMATION
    assert set(table.index) <= set(figures.NAMES)
    assert (table["meaning"].str.len() > 5).all()


DRAWN_X, DRAWN_Y = normal_pairs(300, 0.7)


NUMBERS_X, NUMBERS_Y = Continuous(DRAWN_X[:, 0]), Continuous(DRAWN_Y[:, 0])


LABEL_X, LABEL_Y = Discrete(DRAWN_X[:, 0] > 0), Discrete(DRAWN_Y[:, 0] > 0)


@pytest.mark.parametrize(
    ("x", "y", "type"),
    [
        (NUMBERS_X, NUMBERS_Y, "numbers"),
        (NUMBERS_X, LABEL_Y, "labels"),
        (LABEL_X, NUMBERS_Y, "labels"),
        (LABEL_X, LABEL_Y, "categories"),
        ([NUMBERS_X, LABEL_X], LABEL_Y, "mixed"),
        ([NUMBERS_X, LABEL_X], NUMBERS_Y, "mixed"),
    ],
)
def test_every_type_of_pair_has_a_reading(x, y, type):
    assert type_of(as_pairs(x, y)) == type
    reading = estimate(x, y)
    assert 0.0 <= reading.low <= reading.value <= reading.high
    assert reading.grade in ("A", "B", "C")
    assert reading.low <= normal_information(0.7)


@pytest.mark.parametrize(("classes", "columns", "n"), [(2, 60, 60), (8, 5, 200)])
def test_no_reading_is_above_what_a_label_can_carry(classes, columns, n):
    generator = default_rng(classes)
    codes = generator.integers(0, classes, n)
    z = generator.normal(size=(n, columns))
    z[:, 0] += 4 * codes
    label = Discrete(codes)
    mixed = [Continuous(z), Discrete(generator.random(n) > 0.5)]
    for reading in (estimate(z, label), estimate(label, mixed)):
        assert reading.low <= reading.value <= reading.high
        assert reading.high <= np.log(classes) + 1e-12


def test_a_skewed_label_carries_less_than_the_log_of_its_categories():
    """H of 3 % is 0.135 nats."""
    generator = default_rng(0)
    label = np.arange(400) < 12
    answer = estimate(generator.normal(size=(400, 30)) + 5 * label[:, None], label)
    assert answer.value <= answer.high < 0.25


def test_the_grade_is_that_of_the_limited_interval():
    wide = Read(1.2, 0.6, 2.0, "B")
    label = Discrete(np.arange(200) % 2)
    pairs = as_pairs(default_rng(0).normal(size=200), label)
    limited = capped(wide, pairs)
    assert limited.value == approx(np.log(2))
    assert limited.high == approx(np.log(2))
    assert limited.grade == "A"
    assert capped(replace(wide, grade="C"), pairs).grade == "C"


def weak_labels(information, n, seed):
    """Two labels of 2 and 3 equally frequent classes, of known information: cells of (1
    + c) / 6 or (1 - c) / 6.
    """

    def excess(share):
        more = (1 + share) * np.log1p(share)
        less = (1 - share) * np.log1p(-share)
        return (more + less) / 3 - information

    share = brentq(excess, 0, 0.99)
    cells = np.array([1 + share, 1 - share, 1, 1 - share, 1 + share, 1]) / 6
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
