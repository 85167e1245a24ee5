"""The output of a screen: a table, a matrix, clusters, a figure on given axes, and safe HTML."""

import subprocess
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest

from infoscope.metrics.screening.result import BARS_BEYOND, COLUMNS, MAX_BARS, MAX_ROWS, Screen, ordered

matplotlib.use("Agg")


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


def test_sentences(of_target, of_pairs):
    assert str(of_target).splitlines() == [
        "3 of 4 columns depend on y at a false discovery rate of 5 % (n = 100 in 20 groups); <best> shares most, "
        "0.90 bits (95 %: 0.45 to 1.90), grade A.",
        "Keep other and <best>: each adds information to the others. copy adds nothing detectable to these.",
        "x < y is a note.",
    ]
    assert repr(of_pairs) == str(of_pairs) and "4 of 10 pairs of columns depend on each other" in str(of_pairs)


def test_a_table(of_target, of_pairs):
    shown = of_target.text.set_index("column")
    assert shown["bits (95 %)"].tolist() == [
        "0.90 (0.45 to 1.90)", "0.40 (0.20 to 0.90)", "0.30 (0.15 to 0.70)", "0.00 (0.00 to 0.10)",
    ]  # fmt: skip
    assert shown["chosen"].tolist() == ["2", "like <best>", "1", ""]
    assert shown["adds bits (95 %)"].tolist()[1:] == ["0.00 (0.00 to 0.40)", "0.20 (0.00 to 0.40)", ""]
    assert shown["n"].tolist() == ["100", "100", "90", "100"]
    assert list(of_pairs.text) == ["column", "with", "bits (95 %)", "grade", "q"]  # all n are those of the screen
    many = [row(f"c{place}", "y", 0.1, dependent=False) for place in range(MAX_ROWS + 5)]
    assert len(Screen(ordered(many), "y", 0.05, 100, 0).text) == MAX_ROWS


def test_failed_estimates_have_no_figure():
    found = Screen(ordered([row("a", "b", np.nan), row("a", "c", 0.5), row("b", "c", 0.0)]), "", 0.05, 100, 0)
    assert found.text["bits (95 %)"].tolist()[-1] == "" and [set(names) for names in found.clusters] == [{"a", "c"}]
    found.plot()


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


def test_figures_are_drawn_on_given_axes_or_on_own_ones(of_target, of_pairs):
    import matplotlib.pyplot as plt

    for found in (of_target, of_pairs):
        axis = plt.subplots()[1]
        assert found.plot(axis) is axis and found.plot() is not axis
    bars = of_target.plot()
    assert [label.get_text() for label in bars.get_yticklabels()] == ["<best>", "copy", "other", "none"]
    many = Screen(ordered([row(f"c{place}", "y", 0.1) for place in range(MAX_BARS + 5)]), "y", 0.05, 100, 0)
    assert len(many.plot().get_yticklabels()) == MAX_BARS and f"first {MAX_BARS} of" in many.plot().get_title()
    few = Screen(ordered([row(f"c{place}", "y", 0.1, place < 2) for place in range(20)]), "y", 0.05, 100, 0)
    assert len(few.plot().get_yticklabels()) == 2 + BARS_BEYOND
    plt.close("all")


def test_html_is_escaped(of_target):
    html = of_target._repr_html_()
    assert "<best>" not in html and "like &lt;best&gt;" in html and "x &lt; y is a note." in html


def test_matplotlib_is_not_imported_for_a_screen():
    program = "import sys; import infoscope.metrics.screening.table; assert 'matplotlib' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=120).returncode == 0
