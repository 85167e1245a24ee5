"""The table of coverages on made-up data sets."""

import functools

import numpy as np
import pandas as pd
import pytest

from analysis.sample_estimators.coverage import draw, judged_share, scored, verdicts


def made_up(method="half-subsamples", bias=0.0, n=1000, sets=40):
    """Estimates spread evenly over truth + bias +- 0.1, all intervals +- 0.05: half of them hold the expectation."""
    value = 1 + bias + np.linspace(-0.1, 0.1, sets)
    return pd.DataFrame({
        "case": "gaussian-1", "n": n, "method": method, "truth": 1.0, "truth_error": 0.0, "value": value,
        "standard_error": 0.025, "low": value - 0.05, "high": value + 0.05,
        "truth_low": value - 0.06, "truth_high": value + 0.06,
        "verdict": np.where(np.arange(sets) % 2, "reliable", "drifting") if method == "half-subsamples" else "",
        "predicted_bias": bias if method == "half-subsamples" else np.nan,
    })  # fmt: skip


def test_expectation_and_truth_are_scored_apart():
    row = scored(made_up(bias=0.2)).iloc[0]
    assert row["covers_expectation"] == pytest.approx(0.5) and row["covers_truth"] == 0
    assert row["bias"] == pytest.approx(0.2) == row["predicted_bias"]
    assert row["standard_error_ratio"] == pytest.approx(0.025 / np.linspace(-0.1, 0.1, 40).std(ddof=1))


def test_reliable_sets_are_scored_apart():
    sets = made_up()
    sets.loc[sets["verdict"] == "reliable", ["truth_low", "truth_high"]] = [0.0, 2.0]
    row = scored(sets).iloc[0]
    assert (row["reliable"], row["reliable_covers_truth"]) == (20, 1.0) and row["covers_truth"] == pytest.approx(0.5)


def test_what_is_not_judged_says_so():
    row = scored(made_up("jackknife")).iloc[0]
    assert np.isnan(row["reliable"]) and judged_share(row["reliable_covers_truth"], row["reliable"], 40) == "not judged"
    assert judged_share(np.nan, 0, 40).startswith("none of 40")


def test_the_caption_names_rows_that_miss_and_counts_the_reliable(tmp_path):
    figures = pd.concat([scored(made_up()), scored(made_up("jackknife"))], ignore_index=True)
    words = " ".join(verdicts(figures))
    assert "0 of 2 rows" in words and "jackknife 50 %" in words and "60 % (36 to 81)" in words
    unseen = scored(made_up().assign(case="gaussian-given-1"))
    assert "not chosen on" in " ".join(verdicts(unseen))
    functools.partial(draw, figures)(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 1000
