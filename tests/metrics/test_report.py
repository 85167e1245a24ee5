"""The record that all reports share: its file, its table to read, its sentences."""

import doctest
import math

import pandas as pd
import pytest
from pytest import approx

from infoscope.estimators.result import Estimate, undefined
from infoscope.metrics import report
from infoscope.metrics.report import COLUMNS, Report, ReportRow, cell, percent, share
from infoscope.notes import Note

BIT = math.log(2)


class Two(Report):
    """An information in nats about a block, and a score without a value."""

    n = 90
    groups = 30
    answers = ("z holds the size.", "Nothing else.")
    record = (
        ReportRow("information", Estimate(BIT, 0.1 * BIT, n=90, notes=(Note("It is a series.", "series"),)),
                  {"block": "z"}),
        ReportRow("MIG", undefined(Note("One latent.", "few"), "share of H(y)", 90), {"factor": "size"}, "gap"),
    )  # fmt: skip
    doubts = ("One training.",)


def test_the_file_has_bits_and_codes():
    table = Two().table
    assert list(table) == ["what", "block", "factor", *COLUMNS, "codes", "says"]
    assert table["value"][0] == approx(1)
    assert table["high"][0] == approx(1.196, abs=1e-3)
    assert table["unit"].tolist() == ["bits", "share of H(y)"]
    assert table["codes"].tolist() == ["series", "few"]
    assert table["block"].tolist() == ["z", ""]
    assert math.isnan(table["value"][1])


def test_a_report_begins_with_its_verdict_and_ends_with_its_doubts():
    lines = str(Two()).splitlines()
    assert lines[0] == "z holds the size."
    assert "90 rows in 30 groups:" in lines
    assert lines[-1] == "One training."
    page = Two()._repr_html_()
    assert page.index("z holds") < page.index("<table") < page.index("One training.")
    assert isinstance(Two().text, pd.DataFrame)
    assert "nan" not in str(Two())


def test_a_number_is_found_by_its_measure_and_what_it_is_of():
    assert Two().find("information", block="z").n == 90
    with pytest.raises(KeyError):
        Two().find("information", block="size")


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (Estimate(0.5, interval=(0.3, 0.7)), "0.50 (0.30 to 0.70)"),
        (Estimate(-0.001, 0.0), "0.00"),
        (Estimate(0.5), "0.50"),
        (undefined("why"), "none"),
    ],
)
def test_a_cell_is_a_value_with_its_interval(one, text):
    assert cell(one) == text


def test_a_share_is_in_per_cent():
    assert percent(Estimate(0.482)) == "48 %"
    assert (
        share(Estimate(0.482, interval=(0.4, 0.56)), "H(size)")
        == "48 % of H(size) (95 %: 40 to 56)"
    )


def test_its_examples_are_true():
    assert doctest.testmod(report, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0
