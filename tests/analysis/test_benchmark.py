"""What the analyses of the benchmark share: verdicts by intervals, ratios, settings beside the published ones."""

import math

import numpy as np
import pandas as pd
import pytest

from analysis.benchmark import (
    every_claim,
    grid_panels,
    limit_claim,
    log_ratios,
    ratio_claim,
    relative_error,
    unlike_published,
    verdict_below,
)

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(("values", "verdict"), [
    ([0.10, 0.11, 0.12], "holds"),
    ([0.30, 0.31, 0.32], "does not hold"),
    ([0.10, 0.30, 0.20], "undecided"),
    ([0.1], "undecided"),  # one run has no interval
    ([], "undecided"),
    ([0.1, NAN, 0.1], "undecided"),
    ([INF, INF], "does not hold"),
    ([INF, 0.5], "does not hold"),
    ([INF, 0.1], "undecided"),
    ([-INF, 0.1], "holds"),
])  # fmt: skip
def test_verdict_by_the_interval_over_runs(values, verdict):
    assert verdict_below(values, 0.2) == verdict
    assert limit_claim("It is small.", values, 0.2, "size").verdict == verdict


def test_a_figure_at_its_limit_is_decided_in_one_of_twenty_cases():
    """Normal figures whose mean is the limit: 4,000 claims are decided 5 % of the time. By the binomial law 200 ± 14,
    so outside 130 to 270 with a probability below 1e-6.
    """
    draws = np.random.default_rng(1).normal(0.2, 0.05, (4000, 3))
    decided = sum(verdict_below(values, 0.2) != "undecided" for values in draws)
    assert 130 < decided < 270


def test_evidence_has_the_interval_and_the_runs():
    claim = limit_claim("It is small.", [0.10, 0.12], 0.2, "size", "{:.1%}")
    assert claim.evidence == "size: 11.0% (95 % interval -1.7% to 23.7%, 2 runs); limit 20.0%."


def rows_of(first, second, field="critic"):
    """Rows with a figure by seed and true MI: [seeds, truths] at each value of a field."""
    return pd.DataFrame([
        {"seed": seed, "bound": "dv", "true_bits": bits, field: name, "mse_bits2": value}
        for name, table in (("a", first), ("b", second))
        for seed, values in enumerate(table)
        for bits, value in zip((2.0, 4.0, 6.0), values)
    ])  # fmt: skip


def test_ratios_are_medians_within_a_seed():
    ratios = log_ratios(
        rows_of([[1, 1, 1], [1, 1, 1]], [[10, 100, 1], [0.1, 0.1, 1e9]]), "critic", "a", "b", "mse_bits2"
    )
    assert ratios.tolist() == pytest.approx([-1.0, 1.0])


def test_what_diverged_is_infinite_and_says_nothing_where_both_did():
    ratios = log_ratios(rows_of([[1, 1, NAN]], [[NAN, NAN, NAN]]), "critic", "a", "b", "mse_bits2")
    assert ratios.tolist() == [-INF]
    both = rows_of([[NAN] * 3] * 2, [[NAN] * 3] * 2)
    assert log_ratios(both, "critic", "a", "b", "mse_bits2").empty
    claim = ratio_claim("a is better.", both, "critic", "a", "b", "mse_bits2")
    assert claim.verdict == "undecided" and "nothing to compare a and b in" in claim.evidence


def test_a_margin_is_allowed():
    rows = rows_of([[1.04, 1.05, 1.06]] * 2, [[1, 1, 1]] * 2)
    assert ratio_claim("a", rows, "critic", "a", "b", "mse_bits2").verdict == "does not hold"
    assert ratio_claim("a", rows, "critic", "a", "b", "mse_bits2", at_most=1.1).verdict == "holds"
    assert ratio_claim("c", rows, "critic", "a", "c", "mse_bits2").verdict == "undecided"


def test_every_cell_must_hold():
    rows = rows_of([[0.1, 0.1, 0.1], [0.11, 0.11, 0.5], [0.12, 0.12, 0.1]], [])
    claim = every_claim("All are small.", rows, ["bound", "true_bits"], "mse_bits2", 0.25)
    assert claim.verdict == "undecided" and "3 cells: 2 holds, 0 does not hold, 1 undecided" in claim.evidence
    assert every_claim("", rows[rows["true_bits"] < 5], ["bound", "true_bits"], "mse_bits2", 0.25).verdict == "holds"
    large = rows.assign(mse_bits2=rows["mse_bits2"].where(rows["true_bits"] < 5, INF))
    claim = every_claim("All are small.", large, ["bound", "true_bits"], "mse_bits2", 0.25)
    assert claim.verdict == "does not hold" and "not: dv 6 bits (diverged)" in claim.evidence
    assert every_claim("", rows.iloc[:0], ["bound", "true_bits"], "mse_bits2", 0.25).verdict == "undecided"


def test_relative_error_tells_diverged_from_unknown_truth():
    rows = pd.DataFrame({"settled_mean_bits": [1.0, NAN, 1.0], "true_bits": [2.0, 2.0, NAN]})
    error = relative_error(rows)
    assert error.tolist()[:2] == [0.5, INF] and math.isnan(error[2])


def test_what_differs_from_the_published_setting():
    runs = pd.DataFrame({"steps": [800, 800], "batch": [64, 64], "size": [32, None], "pool": ["mnist", "gaussian"]})
    assert unlike_published(runs) == [
        "Note: not comparable with the paper: steps 800 (paper: 4,000); size 32 (paper: 64)."
    ]
    assert unlike_published(runs, {"steps": {800}, "depth": {2}}) == []


def test_a_grid_leaves_the_place_of_what_was_not_run_empty(tmp_path):
    drawn = []
    figures = pd.DataFrame({"critic": ["a", "b"], "bound": ["dv", "js"], "mse": [1.0, 2.0]})

    def draw(axis, rows):
        drawn.append(rows["mse"].tolist())
        axis.plot([0, 1], [0, 1], label="line")

    grid_panels(figures, "critic", "bound", draw, "MSE", tmp_path / "grid.png")
    assert drawn == [[1.0], [2.0]] and (tmp_path / "grid.png").stat().st_size > 0
