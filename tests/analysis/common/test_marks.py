"""Figures need no screen, and are written as they are printed."""

import os
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

from analysis.common import marks
from analysis.common.marks import BLUE, MANY_POINTS, VERMILLION, save


def test_figures_go_to_files_whatever_screen_is_asked_for():
    program = "import analysis.common.figures, matplotlib; print(matplotlib.get_backend())"
    environment = os.environ | {"MPLBACKEND": "TkAgg"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip().lower() == "agg"


def drawing(points=10):
    """A figure of a cloud, a line and text, whose layout depends on how wide letters are."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(6, 3), layout="constrained")
    values = np.random.default_rng(0).random((2, points))
    left.scatter(*values, color=BLUE)
    right.plot(values[0], "o-", color=VERMILLION, label="of a wide label, so wide that panels make room")
    left.set(ylabel="information (bits²)", xlabel="$10^{-3}$")
    marks.legend(figure)
    return figure


def test_a_pdf_has_its_letters_as_truetype_and_no_date(tmp_path):
    """Letters that stay text, so that a paper's figure can be searched; the same figure gives the same bytes."""
    for name in "ab":
        save(drawing(), [tmp_path / f"{name}.png", tmp_path / f"{name}.pdf"], 100)
    page = (tmp_path / "a.pdf").read_bytes()
    assert page == (tmp_path / "b.pdf").read_bytes() and b"Date" not in page
    assert b"/FontFile2" in page and b"/Subtype /Type3" not in page
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_a_picture_and_its_pdf_have_one_layout_and_a_picture_is_the_same_without(tmp_path):
    alone, both = drawing(), drawing()
    save(alone, [tmp_path / "alone.png"], 100)
    save(both, [tmp_path / "both.png", tmp_path / "both.pdf"], 100)
    assert (tmp_path / "alone.png").read_bytes() == (tmp_path / "both.png").read_bytes()
    for one, other in zip(alone.axes, both.axes):
        assert one.get_position().bounds == other.get_position().bounds
    assert not plt.get_fignums()
    with Image.open(tmp_path / "both.png") as picture:
        assert picture.size == (600, 300)
    assert b"/MediaBox [ 0 0 432 216 ]" in (tmp_path / "both.pdf").read_bytes()  # 6 by 3 inches


@pytest.mark.parametrize(("points", "images"), [(MANY_POINTS - 1, 0), (MANY_POINTS, 2)])
def test_what_is_of_many_points_is_an_image_in_a_pdf(tmp_path, points, images):
    save(drawing(points), [tmp_path / "cloud.pdf"], 100)
    page = (tmp_path / "cloud.pdf").read_bytes()
    assert page.count(b"/Subtype /Image") == 2 * images  # each with its mask
    assert b"/FontFile2" in page
