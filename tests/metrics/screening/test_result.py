"""The output of a screen: a table, a matrix, clusters, a figure on given axes, and safe
HTML.
"""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from infoscope.metrics.screening.result import (
    BARS_BEYOND,
    COLUMNS,
    MAX_BARS,
    MAX_ROWS,
    Screen,
    ordered,
)


def row(column, other, bits, dependent=True, **more):
    values = {
        "column": column,
        "with": other,
        "kind": "number",
        "bits": bits,
        "low_bits": bits / 2,
        "high_bits": 2 * bits + 0.1,
        "dependent": dependent,
        "p": 0.001 if dependent else 0.5,
        "q": 0.002 if dependent else 0.6,
        "grade": "A",
        "n": 100,
        "rows_read": 100,
    }
    return values | more


def screen_of(rows, target="y", groups=0, notes=()):
    return Screen(ordered(rows), target, 0.05, 100, groups, notes)


@pytest.mark.filterwarnings("error")
def test_the_text_of_a_target_without_similar_columns_has_empty_cells():
    """A column of missing values only is a column of floats."""
    text = screen_of([row("best", "y", 0.9), row("next", "y", 0.5)]).text
    assert list(text["chosen"]) == ["", ""]


def axes():
    return Figure().subplots()


@pytest.fixture
def of_target():
    added = {
        "adds_bits": 0.2,
        "adds_low_bits": -0.001,
        "adds_high_bits": 0.4,
        "p_beyond": 0.001,
    }
    rows = [
        row("none", "y", 0.0, dependent=False),
        row("copy", "y", 0.4, like="<best>", **added | {"adds_bits": -0.001}),
        row("<best>", "y", 0.9, chosen=2, **added),
        row("other", "y", 0.3, chosen=1, n=90, **added),
    ]
    return screen_of(rows, groups=20, notes=("x < y is a note.",))


@pytest.fixture
def of_pairs():
    alike = {("a", "b"), ("a", "c"), ("b", "c"), ("u", "v")}
    names = "abcuv"
    rows = []
    for place, x in enumerate(names):
        for y in names[place + 1 :]:
            dependent = (x, y) in alike
            rows.append(row(x, y, 0.8 * dependent, dependent))
    return screen_of(rows, target="")


def test_most_information_comes_first_and_the_others_last(of_target):
    assert list(of_target.table) == list(COLUMNS)
    assert of_target.table["column"].tolist() == ["<best>", "copy", "other", "none"]
    assert of_target.relevant == ["<best>", "copy", "other"]
    assert of_target.chosen == ["other", "<best>"]


def test_a_table_to_read_has_intervals_from_0(of_target, of_pairs):
    text = of_target.text.set_index("column")
    assert text.loc["<best>", "bits (95 %)"] == "0.90 (0.45 to 1.90)"
    assert text["chosen"].tolist() == ["2", "like <best>", "1", ""]
    assert text["adds bits (95 %)"].tolist()[1:] == [
        "0.00 (0.00 to 0.40)",
        "0.20 (0.00 to 0.40)",
        "",
    ]
    assert text["n"].tolist() == ["100", "100", "90", "100"]
    # all n are those of the screen
    assert list(of_pairs.text) == ["column", "with", "bits (95 %)", "grade", "q"]
    many = screen_of([row(f"c{place}", "y", 0.1) for place in range(MAX_ROWS + 5)])
    assert len(many.text) == MAX_ROWS


def test_the_answers_count_what_is_dependent_and_name_what_to_use(of_target, of_pairs):
    first, second, *_ = str(of_target).splitlines()
    assert "3 of 4" in first
    assert "<best> shares most, 0.90 bits" in first
    assert second.startswith("Keep other and <best>")
    assert "4 of 10 pairs" in str(of_pairs)


def test_failed_estimates_have_no_value():
    screening = screen_of(
        [row("a", "b", np.nan), row("a", "c", 0.5), row("b", "c", 0.0)], target=""
    )
    assert screening.text["bits (95 %)"].tolist()[-1] == ""
    assert [set(names) for names in screening.clusters] == [{"a", "c"}]
    screening.plot(axes())


def test_a_matrix_of_pairs_is_symmetric_with_similar_columns_adjacent(
    of_pairs, of_target
):
    matrix = of_pairs.matrix()
    assert list(matrix) == list(matrix.index)
    assert np.isnan(np.diag(matrix)).all()
    pd.testing.assert_frame_equal(matrix, matrix.T)
    assert matrix.loc["a", "c"] == 0.8
    assert matrix.loc["v", "a"] == 0.0
    places = [list(matrix).index(name) for name in "abc"]
    assert max(places) - min(places) == 2
    assert of_pairs.matrix("q").loc["u", "a"] == 0.6
    assert of_target.matrix().loc["copy", "y"] == 0.4
    assert sorted(map(sorted, of_pairs.clusters)) == [["a", "b", "c"], ["u", "v"]]


def test_bars_are_in_order_on_the_given_axes(of_target, of_pairs):
    ax = axes()
    assert of_pairs.plot(ax) is ax
    labels = of_target.plot(axes()).get_yticklabels()
    assert [label.get_text() for label in labels] == ["<best>", "copy", "other", "none"]


@pytest.mark.parametrize(
    ("dependent", "bars"), [(MAX_BARS + 5, MAX_BARS), (2, 2 + BARS_BEYOND)]
)
def test_bars_are_limited(dependent, bars):
    rows = [
        row(f"c{place}", "y", 0.1, place < dependent) for place in range(MAX_BARS + 5)
    ]
    assert len(screen_of(rows).plot(axes()).get_yticklabels()) == bars


def test_html_is_escaped(of_target):
    html = of_target._repr_html_()
    assert "<best>" not in html
    assert "like &lt;best&gt;" in html
    assert "x &lt; y is a note." in html


@pytest.mark.parametrize(("bits", "clusters"), [(0.0, []), (0.5, [["a", "b"]])])
def test_two_columns_are_a_cluster_if_they_depend(bits, clusters):
    assert screen_of([row("a", "b", bits)], target="").clusters == clusters
