"""Figures of several panels: the style that all share, read back from two of them, and
what a panel says in words.
"""

import functools
import itertools
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from analysis.common import marks
from analysis.common.figures import draw_second_half, drawing, finish
from analysis.mi_benchmark import critic_capacity

BOUNDS = marks.NAMES["bound"][:8]
FOLDER = Path(critic_capacity.__file__).parents[1]
POOLS = {"gaussian": "gaussian", "images": "mnist", "text": "imdb-bert"}
TRUTH = dict(
    true_bits=2.0,
    decodable_bits=1.9,
    second_half_mean_bits=1.0,
    second_half_mean_bits_error=0.1,
)


def rows_of_estimators():
    """Panels with a line for every estimator over a logarithmic axis; each panel lacks
    some of them.
    """
    for number, (domain, pool) in enumerate(POOLS.items()):
        for critic, bound, depth in itertools.product(
            ("joint", "separable"), BOUNDS[number:], range(5)
        ):
            mse = (1 + BOUNDS.index(bound)) / 10 * 30 ** (depth / 5)
            of = dict(
                domain=domain,
                pool=pool,
                critic=critic,
                bound=bound,
                depth=depth,
                mse_bits2=mse,
            )
            yield of | dict(
                mse_bits2_error=0.02,
                oracle_critic_mse_bits2=0.08,
                published_mse_bits2=0.3,
            )


def lines_of_estimators(turned):
    frame = pd.DataFrame(rows_of_estimators())
    if turned:
        frame = frame[::-1][5:]
    return drawing(
        frame,
        functools.partial(critic_capacity.draw_estimators, "depth"),
        "MSE (bits²)",
    )


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """A function: what draws at a path -> the figure as it was saved."""
    figures = []
    monkeypatch.setattr(
        Figure, "savefig", lambda self, *given, **settings: figures.append(self)
    )

    def draw(drawing):
        drawing(tmp_path / "figure.png")
        figures[-1].draw_without_rendering()
        return figures.pop()

    return draw


def looks(figure):
    """Label -> how its handles look in all panels: colour, marker, line."""
    by_label = {}
    for axis in figure.axes:
        for handle, label in zip(*axis.get_legend_handles_labels()):
            # of an error bar: its line
            line = handle[0] if isinstance(handle, tuple) else handle
            look = (
                to_hex(line.get_color()),
                str(line.get_marker()),
                line.get_fillstyle(),
                line.get_linestyle(),
            )
            by_label.setdefault(label, set()).add(look)
    return by_label


def assert_readable(axes):
    """Logarithmic axes have two labels or more, and no labels of an axis are one over
    another.
    """
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        ticks = []
        for place, text in zip(axis.get_ticklocs(), axis.get_ticklabels()):
            if text.get_text():
                ticks.append((place, text))
        if axis.get_scale() == "log" and ticks:
            assert sum(low <= place <= high for place, _ in ticks) >= 2
        level = []
        for _, text in ticks:
            if text.get_visible() and text.get_rotation() in (0, 90):
                level.append(text)
        boxes = [text.get_window_extent() for text in level]
        spans = sorted(
            (box.x0, box.x1) if axis is axes.xaxis else (box.y0, box.y1)
            for box in boxes
        )
        for one, other in itertools.pairwise(spans):
            assert one[1] <= other[0]


def test_the_style_of_all_figures(drawn):
    """A name looks the same in every panel, whatever the order of rows; one legend;
    readable ticks; nothing cut off; colours of the palette or grey.
    """
    figure = drawn(lines_of_estimators(False))
    turned = drawn(lines_of_estimators(True))
    look_by_label = looks(figure)
    again = looks(turned)
    assert len(look_by_label) >= 2
    for label in look_by_label:
        assert len(look_by_label[label] | again.get(label, set())) == 1
    assert len(
        {look for looks_of in look_by_label.values() for look in looks_of}
    ) == len(look_by_label)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [*look_by_label]
    edge = figure.bbox
    for axes in figure.axes:
        assert not axes.get_legend()
        assert_readable(axes)
        for text in (axes.title, axes.xaxis.label, axes.yaxis.label, *axes.texts):
            box = text.get_window_extent()
            if text.get_text() and text.get_visible():
                assert edge.x0 - 1 <= box.x0 and box.x1 <= edge.x1 + 1, text.get_text()
                assert edge.y0 - 1 <= box.y0 and box.y1 <= edge.y1 + 1, text.get_text()
    shown = set()
    for axes in figure.axes:
        for line in axes.lines:
            shown.add(to_hex(line.get_color()))
    grey = set()
    for colour in shown:
        if len(set(to_rgb(colour))) == 1:
            grey.add(colour)
    assert shown - grey <= {colour.lower() for colour in marks.COLOURS}


def test_rows_are_drawn_in_the_colour_of_their_own_name(drawn):
    """By the values: the line at the level of an estimator has its mark, in every
    panel.
    """
    for axis in drawn(lines_of_estimators(True)).axes:
        for handle, label in zip(*axis.get_legend_handles_labels()):
            bound = label.rpartition(" ")[2]
            assert min(handle[0].get_ydata()) == pytest.approx(
                (1 + BOUNDS.index(bound)) / 10
            )
            assert (
                to_hex(handle[0].get_color())
                == marks.mark("bound", bound).color.lower()
            )


def test_a_grid_names_its_numbers_and_its_empty_places(drawn):
    """A panel of eta 0.2 says so; a place without runs is not a title above nothing."""
    places = [("mnist", 0.0), ("mnist", 0.2), ("digits", 0.2)]
    rows = []
    for pool, eta in places:
        for bound in ("dv", "js"):
            rows.append(TRUTH | {"pool": pool, "nuisance": eta, "bound": bound})
    axes = drawn(
        drawing(pd.DataFrame(rows), draw_second_half, "bits", "pool", "nuisance")
    ).axes
    assert [axis.get_title() for axis in axes] == [f"nuisance {eta}, {pool}" for pool in ("mnist", "digits")
                                                   for eta in ("0", "0.2")]  # fmt: skip
    assert [bool(axis.texts) for axis in axes] == [False, False, True, False]


@pytest.mark.parametrize(
    "label, values, scale, said",
    [
        ("a", [0.5, 0.7], "linear", None),
        ("a", [0.5, -7.0], "linear", None),  # it is seen where it leaves
        ("a", [1075.0, 1069.0, 1100.0], "linear", "a: outside,1,075"),
        ("a", [-7.0], "linear", "a: outside,-7"),
        ("a", [np.nan, np.nan], "log", "no finite"),
    ],
)
def test_a_panel_says_what_it_does_not_show(label, values, scale, said):
    figure, axis = plt.subplots()
    axis.errorbar(range(len(values)), values, np.zeros(len(values)), label=label)
    axis.axhline(0.3, label="all across")
    axis.set(ylim=(-0.25, 1.5))
    axis.set_yscale(scale)
    finish(axis)
    texts = [text.get_text() for text in axis.texts]
    assert len(texts) == bool(said)
    for part in said.split(",") if said else ():
        assert part in texts[0]
    # a panel of one place has one tick
    assert len(values) > 1 or axis.get_xticks().tolist() == [0.0]
    plt.close(figure)
