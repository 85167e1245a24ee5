"""Figures of several panels."""

import numpy as np
import pandas as pd
import pytest

from analysis.common.figures import draw_estimates, draw_truths, drawing, finish, grid_panels


def test_a_grid_leaves_the_place_of_what_was_not_run_empty(tmp_path):
    drawn = []
    figures = pd.DataFrame({"critic": ["a", "b"], "bound": ["dv", "js"], "mse": [1.0, 2.0]})

    def draw(axis, rows):
        drawn.append(rows["mse"].tolist())
        axis.plot([0, 1], [0, 1], label="line")

    grid_panels(figures, "critic", "bound", draw, "MSE", tmp_path / "grid.png")
    assert drawn == [[1.0], [2.0]] and (tmp_path / "grid.png").stat().st_size > 0


def test_a_panel_for_each_domain_or_for_the_values_of_two_fields(tmp_path):
    drawn = []
    figures = pd.DataFrame({"domain": ["text", "text"], "pool": ["a", "b"], "critic": ["joint"] * 2, "x": [1.0, 2.0]})
    figures = figures.assign(bound="dv", y=[1.0, 2.0], y_error=0.1, published=[1.5, 2.5], true_bits=2.0)
    figures = figures.assign(decodable_bits=1.8)

    def draw(axis, rows):
        draw_estimates(axis, rows, "x", "y", published="published")
        draw_truths(axis, rows)
        drawn.append({line.get_label() for line in axis.lines} | {len(axis.lines)})

    for number, grid in enumerate([(), ("domain", "critic")]):
        drawing(figures, draw, "y", *grid)(tmp_path / f"{number}.png")
        assert (tmp_path / f"{number}.png").stat().st_size > 0
    assert len(drawn) == 2 + 1 and all({"nominal MI", "decodable MI"} < labels for labels in drawn)


@pytest.mark.parametrize(
    ("values", "scale", "said"),
    [
        ([0.5, 0.7], "linear", None),
        ([0.5, -0.26], "linear", None),  # half of its marker is seen
        ([0.5] * 99 + [9.0], "linear", None),  # a start that leaves the axis is no news
        ([1075.0, 1069.0, 0.5, 1100.0], "linear", "a: 3 of 4 outside,\nmedian 1,075"),
        ([-7.0], "linear", "a: -7"),
        ([np.nan, np.nan], "log", "a: no finite figure"),
        ([0.5, np.nan, -7.0], "linear", "a: 1 of 3 not finite;\n1 of 3 outside,\nmedian -7"),
    ],
)
def test_a_panel_says_what_it_does_not_show(values, scale, said):
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots()
    axis.errorbar(range(len(values)), values, np.zeros(len(values)), label="a")
    axis.axhline(0.3, label="all across")
    axis.set(ylim=(-0.25, 1.5))
    axis.set_yscale(scale)
    finish(axis)
    assert [text.get_text() for text in axis.texts] == ([said] if said else [])
    plt.close(figure)


def test_a_panel_of_one_place_has_one_tick():
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots()
    axis.errorbar([2.0], [0.7], [0.1], label="a")
    axis.axhline(0.3, label="all across")
    finish(axis)
    assert axis.get_xticks().tolist() == [2.0]
    plt.close(figure)
