"""Names of users, safe where they are shown."""

import csv
import doctest
import io

import pytest

from infoscope import names


def test_examples():
    assert doctest.testmod(names).failed == 0


@pytest.mark.parametrize(
    "text", ["=1+1", "+1 day", "-x", "@sum", "\n=1+1", "  =1+1", "\t1", "\r=1"]
)
def test_a_formula_is_a_text_in_a_spreadsheet(text):
    assert names.in_csv(text) == f"'{text}"


@pytest.mark.parametrize("value", ["-", "a=b", "1e-5", -0.5, None])
def test_any_other_cell_is_unchanged(value):
    assert names.in_csv(value) is value


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("line", ['x,"=1+1" shares', "x, =1+1", "x;+1", "x,\t=1"])
def test_a_comment_that_is_split_has_no_formula(line, separator):
    for row in csv.reader(
        io.StringIO("# " + names.in_csv_comment(line)), delimiter=separator
    ):
        for cell in row:
            assert cell.lstrip()[:1] not in ("=", "+", "@", "-")


def test_a_label_in_a_figure_is_one_short_line():
    assert names.in_figure("two\nlines") == "two lines"
    label = names.in_figure("a" * 100 + "b" * 100)
    assert len(label) <= names.MAX_LABEL
    assert label[0] == "a"
    assert label[-1] == "b"


@pytest.mark.parametrize("text", ["$x_1", "$\\frac{$", "$$"])
def test_a_dollar_sign_is_drawn_as_it_is_written(text):
    from matplotlib.figure import Figure

    figure = Figure()
    axes = figure.subplots()
    axes.set_title(text)
    axes.set_xticks([0], [text])
    names.as_written(figure)
    figure.savefig(io.BytesIO(), format="png")
