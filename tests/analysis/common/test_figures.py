"""Figures of several panels."""

import pandas as pd

from analysis.common.figures import grid_panels


def test_a_grid_leaves_the_place_of_what_was_not_run_empty(tmp_path):
    drawn = []
    figures = pd.DataFrame({"critic": ["a", "b"], "bound": ["dv", "js"], "mse": [1.0, 2.0]})

    def draw(axis, rows):
        drawn.append(rows["mse"].tolist())
        axis.plot([0, 1], [0, 1], label="line")

    grid_panels(figures, "critic", "bound", draw, "MSE", tmp_path / "grid.png")
    assert drawn == [[1.0], [2.0]] and (tmp_path / "grid.png").stat().st_size > 0
