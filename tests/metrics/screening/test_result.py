"""The output of a screen: a table, a matrix, clusters, a figure on given axes, and safe HTML."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from infoscope.metrics.screening.result import BARS_BEYOND, COLUMNS, MAX_BARS, MAX_ROWS, Screen, ordered


def row(column, other, bits, dependent=True, **more):
    interval = {"low_bits": bits / 2, "high_bits": 2 * bits + 0.1, "grade": "A", "n": 100, "rows_read": 100}
    q = {"p": 0.001, "q": 0.002} if dependent else {"p": 0.5, "q": 0.6}
    return (
        {"column": column, "with": other, "kind": "number", "bits": bits, "dependent": dependent} | interval | q | more
    )


@pytest.fixture
def of_target():
    added = {"adds_bits": 0.2, "adds_low_bits": -0.001, "adds_high_bits": 0.4, "p_beyond": 0.001}
    rows = [
        row("none", "y", 0.0, dependent=False),
        row("copy", "y", 0.4, like="<best>", **added | {"adds_bits": -0.001}),
        row("<best>", "y", 0.9, chosen=2, **added),
        row("other", "y", 0.3, chosen=1, n=90, **added),
    ]
    return Screen(ordered(rows), "y", 0.05, 100, 20, ("x < y is a note.",))


@pytest.fixture
def of_pairs():
    names = ["a", "b", "c", "u", "v"]
    alike = {("a", "b"), ("a", "c"), ("b", "c"), ("u", "v")}
    pairs = [(x, y) for place, x in enumerate(names) for y in names[place + 1 :]]
    rows = [row(*pair, 0.8 if pair in alike else 0.0, dependent=pair in alike) for pair in pairs]
    return Screen(ordered(rows), "", 0.05, 100, 0)


def test_most_information_comes_first_and_the_others_last(of_target):
    assert list(of_target.table) == list(COLUMNS)
    assert of_target.table["column"].tolist() == ["<best>", "copy", "other", "none"]
    assert of_target.relevant == ["<best>", "copy", "other"] and of_target.chosen == ["other", "<best>"]


def test_a_table(of_target, of_pairs):
    shown = of_target.text.set_index("column")
    assert shown.loc["<best>", "bits (95 %)"] == "0.90 (0.45 to 1.90)"
    assert shown["chosen"].tolist() == ["2", "like <best>", "1", ""]
    assert shown["adds bits (95 %)"].tolist()[1:] == ["0.00 (0.00 to 0.40)", "0.20 (0.00 to 0.40)", ""]
    assert shown["n"].tolist() == ["100", "100", "90", "100"]
    assert list(of_pairs.text) == ["column", "with", "bits (95 %)", "grade", "q"]  # all n are those of the screen
    many = [row(f"c{place}", "y", 0.1, dependent=False) for place in range(MAX_ROWS + 5)]
    assert len(Screen(ordered(many), "y", 0.05, 100, 0).text) == MAX_ROWS
    first, second, note = str(of_target).splitlines()
    assert "3 of 4" in first and "20 groups" in first and "<best> shares most, 0.90 bits" in first
    assert second.startswith("Keep other and <best>") and "copy adds nothing" in second
    assert "4 of 10 pairs" in str(of_pairs)


def test_failed_estimates_have_no_figure():
    found = Screen(ordered([row("a", "b", np.nan), row("a", "c", 0.5), row("b", "c", 0.0)]), "", 0.05, 100, 0)
    assert found.text["bits (95 %)"].tolist()[-1] == "" and [set(names) for names in found.clusters] == [{"a", "c"}]
    found.plot(Figure().subplots())


def test_a_matrix_of_pairs_is_symmetric_with_similar_columns_adjacent(of_pairs, of_target):
    matrix = of_pairs.matrix()
    assert list(matrix) == list(matrix.index) and np.isnan(np.diag(matrix)).all()
    pd.testing.assert_frame_equal(matrix, matrix.T)
    assert matrix.loc["a", "c"] == 0.8 and matrix.loc["v", "a"] == 0.0
    places = [list(matrix).index(name) for name in "abc"]
    assert max(places) - min(places) == 2
    assert of_pairs.matrix("q").loc["u", "a"] == 0.6
    assert of_target.matrix().loc["copy", "y"] == 0.4
    assert sorted(map(sorted, of_pairs.clusters)) == [["a", "b", "c"], ["u", "v"]]


def test_bars_are_in_order_and_at_most_so_many(of_target, of_pairs):
    ax = Figure().subplots()
    assert of_pairs.plot(ax) is ax
    bars = of_target.plot(Figure().subplots())
    assert [label.get_text() for label in bars.get_yticklabels()] == ["<best>", "copy", "other", "none"]
    for dependent, bars in ((MAX_BARS + 5, MAX_BARS), (2, 2 + BARS_BEYOND)):
        rows = [row(f"c{place}", "y", 0.1, place < dependent) for place in range(MAX_BARS + 5)]
        found = Screen(ordered(rows), "y", 0.05, 100, 0)
        assert len(found.plot(Figure().subplots()).get_yticklabels()) == bars


def test_html_is_escaped(of_target):
    html = of_target._repr_html_()
    assert "<best>" not in html and "like &lt;best&gt;" in html and "x &lt; y is a note." in html
