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
from matplotlib.colors import to_hex
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
    """Label -> how its lines look in all panels: colour, marker, line."""
    by_label = {}
    for axis in figure.axes:
        for handle, label in zip(*axis.get_legend_handles_labels()):
            line = handle[0]  # of an error bar
            look = to_hex(line.get_color()), line.get_marker(), line.get_linestyle()
            by_label.setdefault(label, set()).add(look)
    return by_label


def test_a_figure_has_one_legend_of_all_names_and_nothing_is_cut_off(drawn):
    """A name has one look, and no two names share theirs."""
    figure = drawn(lines_of_estimators(False))
    look_by_label = looks(figure)
    every_look = set().union(*look_by_label.values())
    assert len(every_look) == len(look_by_label)
    for axes in figure.axes:
        assert not axes.get_legend()
        for text in (axes.title, axes.xaxis.label, axes.yaxis.label, *axes.texts):
            if text.get_text() and text.get_visible():
                box = text.get_window_extent()
                assert -1 <= box.x0 <= box.x1 <= figure.bbox.x1 + 1, text.get_text()
                assert -1 <= box.y0 <= box.y1 <= figure.bbox.y1 + 1, text.get_text()
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [*look_by_label]


@pytest.mark.parametrize("turned", [False, True])
def test_rows_are_drawn_in_the_colour_of_their_own_name(drawn, turned):
    """By the values: the line at the level of an estimator has its mark, in every
    panel, whatever the order of rows.
    """
    for axis in drawn(lines_of_estimators(turned)).axes:
        for handle, label in zip(*axis.get_legend_handles_labels()):
            bound = label.rpartition(" ")[2]
            level = (1 + BOUNDS.index(bound)) / 10
            assert min(handle[0].get_ydata()) == pytest.approx(level)
            colour = marks.mark("bound", bound).color.lower()
            assert to_hex(handle[0].get_color()) == colour


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
