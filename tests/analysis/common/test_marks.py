"""Figures need no screen, are written as they are printed, and their marks and ticks
can be told apart.
"""

import os
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

from analysis.common import marks
from analysis.common.marks import BLUE, VERMILLION, save

WIDE = "a label so wide that panels make room"
PROGRAM = "import analysis.common.figures, matplotlib; print(matplotlib.get_backend())"


def test_figures_go_to_files_whatever_screen_is_asked_for():
    environment = os.environ | {"MPLBACKEND": "TkAgg"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip().lower() == "agg"


def drawing(points=10):
    """A figure of a cloud, a line and text, whose layout depends on how wide letters
    are.
    """
    figure, (left, right) = plt.subplots(1, 2, figsize=(6, 3), layout="constrained")
    values = np.random.default_rng(0).random((2, points))
    left.scatter(*values, color=BLUE)
    right.plot(values[0], "o-", color=VERMILLION, label=WIDE)
    left.set(ylabel="information (bits²)", xlabel="$10^{-3}$")
    marks.legend(figure)
    return figure


def test_a_pdf_has_its_letters_as_truetype_and_no_date(tmp_path):
    """Letters that stay text, so that a paper's figure can be searched; the same figure
    gives the same bytes.
    """
    for name in "ab":
        save(drawing(), [tmp_path / f"{name}.png", tmp_path / f"{name}.pdf"], 100)
    page = (tmp_path / "a.pdf").read_bytes()
    assert page == (tmp_path / "b.pdf").read_bytes()
    assert b"Date" not in page
    assert b"/FontFile2" in page
    assert b"/Subtype /Type3" not in page
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_a_picture_and_its_pdf_have_one_layout_and_a_picture_is_the_same_without(
    tmp_path,
):
    others = plt.get_fignums()
    alone = drawing()
    both = drawing()
    save(alone, [tmp_path / "alone.png"], 100)
    save(both, [tmp_path / "both.png", tmp_path / "both.pdf"], 100)
    assert (tmp_path / "alone.png").read_bytes() == (tmp_path / "both.png").read_bytes()
    for one, other in zip(alone.axes, both.axes):
        assert one.get_position().bounds == other.get_position().bounds
    assert plt.get_fignums() == others
    with Image.open(tmp_path / "both.png") as picture:
        assert picture.size == (600, 300)
    # 6 by 3 inches
    assert b"/MediaBox [ 0 0 432 216 ]" in (tmp_path / "both.pdf").read_bytes()


def test_marks_go_by_the_name_alone():
    for of, names in marks.NAMES.items():
        styles = [marks.mark(of, name) for name in names]
        assert len(set(styles)) == len(styles)
        others = [marks.mark(of, f"other {number}") for number in range(30)]
        assert not set(others) & set(styles)
        assert others == [marks.mark(of, f"other {number}") for number in range(30)]


@pytest.mark.parametrize(
    "low, high", [(0.1, 10), (0.3, 0.9), (1.1, 1.4), (3e-5, 2e6), (0.12, 0.13)]
)
def test_a_logarithmic_axis_has_round_ticks_and_not_too_many(low, high):
    figure, axis = plt.subplots(figsize=(3, 3))
    axis.set(yscale="log", ylim=(low, high))
    marks.readable(figure)
    ticks = []
    for tick in axis.get_yticks():
        if low <= tick <= high:
            ticks.append(tick)
    assert 2 <= len(ticks) <= 12
    written = [axis.yaxis.get_major_formatter()(tick, 0) for tick in ticks]
    assert [float(text.replace(",", "")) for text in written] == pytest.approx(
        ticks, rel=1e-5
    )
    plt.close(figure)
