"""What every result does in a notebook: escaped HTML, and rows of estimates on one pair
of axes.
"""

import subprocess
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest

from infoscope.estimators.result import Estimate, undefined
from infoscope.notebook import MAX_ROWS, InNotebook, as_html, axes, intervals
from tests.refusals import refused

matplotlib.use("Agg")
import matplotlib
import matplotlib.pyplot as plt  # noqa: E402
from numpy.testing import assert_allclose

from infoscope.notebook import heat


class Found(InNotebook):
    table = pd.DataFrame(
        {"<i>name</i>": ["a & b", "<script>"], "value": [1 / 3, np.nan]}
    )

    def __str__(self):
        return "x > y\n  and a <b>note</b>"


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_text_comes_before_the_table_and_what_users_wrote_is_escaped():
    page = Found()._repr_html_()
    assert (
        page.index("x &gt; y")
        < page.index("&lt;b&gt;note&lt;/b&gt;")
        < page.index("<table")
    )
    assert "a &amp; b" in page
    assert "&lt;script&gt;" in page
    assert "&lt;i&gt;name" in page
    assert "<script" not in page
    assert "<i>" not in page
    assert "0.3333" in page
    assert "NaN" not in page


def test_a_table_may_be_a_method_or_missing():
    class ByMethod(Found):
        def table(self):
            return pd.DataFrame({"n": [7]})

    class Bare(InNotebook):
        def __str__(self):
            return "one line"

    assert "<td>7</td>" in ByMethod()._repr_html_()
    assert Bare()._repr_html_() == "<p><b>one line</b></p>"


def test_long_tables_are_cut_and_details_open_by_a_click():
    page = as_html(
        ["first"],
        None,
        {"all <rows>": pd.DataFrame({"n": range(10 * MAX_ROWS)}), "nothing": []},
    )
    assert page.count("<details>") == 1
    assert "<summary>all &lt;rows&gt;</summary>" in page
    assert page.count("<tr") < 2 * MAX_ROWS


def test_rows_are_added_below_those_that_are_there():
    first = Estimate(0.5, 0.1, n=100)
    ax = axes()
    assert axes(ax) is ax
    intervals(ax, ["one"], [first])
    intervals(ax, ["bare", "failed"], [Estimate(0.2), undefined("no reason")])
    assert [text.get_text() for text in ax.get_yticklabels()] == [
        "one",
        "bare",
        "failed: no value",
    ]
    assert ax.get_xlabel() == "information (bits), 95 % interval"
    (whisker,) = ax.containers[0][2]
    assert_allclose(whisker.get_segments()[0][:, 0], [first.bits.low, first.bits.high])
    intervals(ax, ["bits"], [first.bits])
    with refused("ax", "conflict"):
        intervals(ax, ["share"], [Estimate(0.5, 0.1, "1")])


def test_nats_are_drawn_where_they_are_asked_for():
    ax = axes()
    intervals(ax, ["one"], [Estimate(0.5, 0.1, "bits")], unit="nats")
    assert ax.get_xlabel() == "information (nats), 95 % interval"


def test_an_interval_that_does_not_contain_its_value_is_drawn_where_it_is():
    """Intervals that were widened or shifted may lie to one side of the estimate."""
    ax = axes()
    intervals(ax, ["aside"], [Estimate(0.0, 0.1, "bits", interval=(0.01, 0.4))])
    (whisker,) = ax.containers[0][2]
    assert_allclose(whisker.get_segments()[0][:, 0], [0.01, 0.4])


def test_cells_without_a_value_are_grey():
    ax = axes()
    image = heat(ax, np.array([[0.5, np.nan]]), [["a", "b"]], ["row"], ["x", "y"])
    assert image.cmap.get_bad().tolist() == pytest.approx(
        [0.867, 0.867, 0.867, 1.0], abs=1e-3
    )
    assert [text.get_text() for text in ax.texts] == ["a", "b"]


def test_matplotlib_is_imported_only_to_draw_and_asked_for_by_name():
    program = (
        "import sys; sys.modules['matplotlib'] = sys.modules['matplotlib.pyplot'] = "
        "None\n"
        "from infoscope.notebook import axes\n"
        "try:\n    axes()\nexcept ModuleNotFoundError as error:\n    print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert (
        done.stdout
        == "plot needs matplotlib, which is not installed: pip install 'infoscope[plots]'\n"
    )
