"""Figures of several panels."""

import pandas as pd

from analysis.common.figures import draw_estimates, draw_truths, drawing, grid_panels


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
