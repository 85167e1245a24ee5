"""Common parts of the analyses of the benchmark: verdicts by intervals, ratios,
differences from published settings.
"""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analysis.common.published import published
from analysis.mi_benchmark._benchmark import Evidence, figures_text, latest_setting
from analysis.mi_benchmark._captions import least_error, setting_differences
from analysis.mi_benchmark._claims import (
    every_claim,
    limit_claim,
    log_ratios,
    paired_claim,
    paired_difference,
    ratio_claim,
    relative_error,
)
from tests.analysis.pictures import numbers

INF = math.inf
NAN = math.nan


@pytest.mark.parametrize(
    "values, verdict",
    [
        ([0.10, 0.11, 0.12], "confirmed"),
        ([0.30, 0.31, 0.32], "contradicted"),
        ([0.10, 0.30, 0.20], "undecided"),
        ([0.1], "not tested"),  # one run has no interval
        ([0.1, NAN, 0.1], "undecided"),
        ([INF, 0.5], "contradicted"),
        ([INF, 0.1], "undecided"),
        ([-INF, 0.1], "confirmed"),
    ],
)
def test_verdict_by_the_interval_over_runs(values, verdict):
    assert limit_claim("It is small.", values, 0.2, "size").verdict == verdict


def test_a_figure_at_its_limit_is_decided_in_5_percent_of_the_cases():
    """Normal figures whose mean is the limit: 4,000 claims are decided 5 % of the time.
    By the binomial distribution 200 ± 14, so outside 130 to 270 with a probability
    below 1e-6.
    """
    draws = np.random.default_rng(1).normal(0.2, 0.05, (4000, 3))
    claims = [limit_claim("It is small.", values, 0.2, "size") for values in draws]
    decided = sum(claim.verdict != "undecided" for claim in claims)
    assert 130 < decided < 270


def rows_of(first, second):
    """Rows with a figure by seed and true MI: [seeds, truths] of each of two critics."""
    rows = []
    for name, table in (("a", first), ("b", second)):
        for seed, values in enumerate(table):
            for bits, value in zip((2.0, 4.0, 6.0), values):
                rows.append(
                    dict(
                        seed=seed,
                        bound="dv",
                        true_bits=bits,
                        critic=name,
                        mse_bits2=value,
                    )
                )
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    "first, second, ratios, verdict",
    [
        # medians within a seed
        (
            [[1, 1, 1], [1, 1, 1]],
            [[10, 100, 1], [0.1, 0.1, 1e9]],
            [-1.0, 1.0],
            "undecided",
        ),
        ([[1, 1, NAN]], [[NAN, NAN, NAN]], [-INF], "undecided"),
        ([[NAN] * 3] * 2, [[NAN] * 3] * 2, [], "not tested"),
    ],
)
def test_ratios_are_medians_within_a_seed_and_undefined_where_both_diverged(
    first, second, ratios, verdict
):
    rows = rows_of(first, second)
    assert log_ratios(rows, "critic", "a", "b", "mse_bits2").tolist() == pytest.approx(
        ratios
    )
    claim = ratio_claim(
        "a is better.", rows, "critic", "a", "b", "mse_bits2", below=1.0
    )
    assert claim.verdict == verdict


def test_a_ratio_is_printed_with_its_interval():
    rows = rows_of([[1], [1], [1]], [[2], [4], [8]])
    claim = ratio_claim(
        "a is better.", rows, "critic", "a", "b", "mse_bits2", below=1.0
    )
    # log2 is -2, and 4.303 / sqrt(3) on both sides
    assert numbers(claim.evidence) == [0.25, 95, 0.0447, 1.4, 3, 1]


@pytest.mark.parametrize(
    "first, second, finding",
    [
        ([[1], [1.1], [0.9]], [[1.02], [1.0], [1.0]], "a and b have"),
        ([[1], [1.1], [0.9]], [[2], [2.1], [1.9]], "a has"),
        ([[1], [1.1], [0.9]], [[1e3], [1e6], [1e4]], "a has"),
        ([[1]], [[1.004]], "a has"),
        ([[1], [NAN]], [[2], [2]], "b has"),
        ([[NAN]], [[NAN]], "No estimate is finite"),
    ],
)
def test_the_least_error_names_all_that_are_not_surely_worse(first, second, finding):
    rows = rows_of(first, second).assign(domain="text")
    assert least_error(rows, "domain", ["critic"]).startswith(finding)


def test_many_levels_are_named_without_their_errors():
    """Four domains at three true MI, of which critic b wins the last in each."""
    rows = rows_of([[1, 1, 3]], [[2, 2, 2]])
    parts = [rows.assign(domain=name) for name in ("text", "images", "mixed", "noise")]
    finding = least_error(pd.concat(parts), "domain", ["critic"])
    beginning = "the least MSE has, by true MI in bits: a for text at 2, 4; b for text"
    assert finding.startswith(f"{beginning} at 6; a for images")
    assert finding.endswith("b for noise at 6 (lowest in one run).")


def test_true_mi_has_four_digits():
    figures = pd.DataFrame({"true_bits": [1 / math.log(2), 2.0], "runs": 1})
    text = figures_text(figures, ["true_bits"], {})
    assert text["true MI (bits)"].tolist() == [1.443, 2.0]


def verdict_of(rows):
    return every_claim(
        "All are small.", rows, ["bound", "true_bits"], "mse_bits2", 0.25
    ).verdict


def test_every_cell_must_hold():
    rows = rows_of([[0.1, 0.1, 0.1], [0.11, 0.11, 0.5], [0.12, 0.12, 0.1]], [])
    few = rows["true_bits"] < 5
    assert verdict_of(rows) == "undecided"
    assert verdict_of(rows.iloc[:0]) == "not tested"
    assert verdict_of(rows[few]) == "confirmed"
    assert (
        verdict_of(rows.assign(mse_bits2=rows["mse_bits2"].where(few, INF)))
        == "contradicted"
    )


def test_relative_error_distinguishes_divergence_from_an_unknown_truth():
    rows = pd.DataFrame(
        {"second_half_mean_bits": [1.0, NAN, 1.0], "true_bits": [2.0, 2.0, NAN]}
    )
    error = relative_error(rows)
    assert error.tolist()[:2] == [0.5, INF]
    assert math.isnan(error[2])


@pytest.mark.parametrize(
    "steps, published, told",
    [
        ([800, 800], 4000, [800, 4000]),
        ([4000, 800], 4000, [800, 4000]),
        ([800, 800], 800, []),
    ],
)
def test_what_differs_from_the_published_setting(steps, published, told):
    """One value that is not published is enough."""
    notes = setting_differences(pd.DataFrame({"steps": steps}), {"steps": {published}})
    assert numbers(" ".join(notes)) == told


@pytest.mark.parametrize(
    "schedule, comparable",
    [
        ([2.0], True),
        ([2.0, 4.0, 6.0, 8.0, 10.0], True),
        ([2.0, 6.0, 10.0], False),
    ],
)
def test_a_schedule_may_be_the_beginning_of_the_published_one(schedule, comparable):
    runs = pd.DataFrame({"schedule_bits": [schedule] * 2, "steps": 4000})
    notes = setting_differences(runs)
    assert (notes == []) == comparable


def runs_of(start, **fields):
    """Two runs, of two seeds."""
    fields = {"domain": "images", "pool": "mnist"} | fields
    return pd.DataFrame(
        [fields | {"seed": seed, "start": pd.Timestamp(start)} for seed in (0, 1)]
    )


@pytest.mark.parametrize("field", ["rows", "decoder"])
def test_older_runs_of_another_setting_are_no_replicates(field):
    runs = pd.concat(
        [runs_of("2025-01-01", **{field: 1}), runs_of("2026-01-01", **{field: 2})],
        ignore_index=True,
    )
    latest, note = latest_setting(runs)
    assert list(latest[field]) == [2, 2]
    assert numbers(*note) == [2]
    assert len(latest_setting(runs, axes=(field,))[0]) == 4


def test_kinds_of_cells_do_not_drop_each_other():
    """Each kind of cell has fields that the others lack; only the network was changed
    and run again.
    """
    runs = pd.concat([
        runs_of("2026-01-01", encoder="identity", statistics="none"),
        runs_of("2026-01-02", encoder="maf", statistics="batch", encoder_size="small"),
        runs_of("2026-01-03", encoder="resnet", statistics="none", network_depth=18),
        runs_of("2026-01-04", encoder="resnet", statistics="none", network_depth=50),
        runs_of("2026-01-05", domain="text", pool="imdb-bert"),
    ], ignore_index=True)  # fmt: skip
    latest, _ = latest_setting(runs)
    assert latest["encoder"].fillna("").value_counts().to_dict() == {
        "identity": 2,
        "maf": 2,
        "resnet": 2,
        "": 2,
    }
    assert set(latest["network_depth"].dropna()) == {50}
    assert latest_setting(runs.iloc[:0])[0].empty


def test_pairs_are_of_seeds_that_were_run_at_both():
    rows = pd.DataFrame(
        {
            "seed": [0, 1, 2, 0, 1],
            "bound": [*"aaabb"],
            "mse_bits2": [1.0, 2.0, 3.0, 4.0, 6.0],
        }
    )
    difference = paired_difference(rows, "bound", "a", "b", "mse_bits2")
    assert difference.value == -3.5
    assert difference.n == 2
    diverged = paired_difference(
        rows.assign(mse_bits2=[1.0, NAN, 3.0, 4.0, 6.0]), "bound", "a", "b", "mse_bits2"
    )
    assert math.isnan(diverged.value)
    assert paired_difference(rows.iloc[[2, 3]], "bound", "a", "b", "mse_bits2") is None
    claim = paired_claim("a is better.", rows.iloc[[2, 3]], "bound", "a", "b")
    assert claim.verdict == "not tested"
    assert "same seed" in claim.evidence


def test_published_figures_have_their_own_columns():
    ours = pd.DataFrame(
        {"domain": ["images", "text"], "depth": [2, 99], "mse_bits2": [0.2, 0.3]}
    )
    of = Evidence(ours, ours, ours)
    table = of.add_published(ours, "table2", ["domain", "depth"])
    theirs = published("table2").set_index(["domain", "depth"]).loc[("images", 2)]
    assert table["published_mse_bits2"].iloc[0] == theirs["mse_bits2"]
    assert math.isnan(table["published_mse_bits2"][1])
    # the paper's is truth - mean
    assert table["published_bias_bits"].iloc[0] == -theirs["bias_bits"]
    other = replace(
        of, comparison=["Note: not comparable with the paper: steps 8 (paper: 4,000)."]
    )
    assert (
        other.add_published(ours, "table2", ["domain", "depth"])["published_mse_bits2"]
        .isna()
        .all()
    )
