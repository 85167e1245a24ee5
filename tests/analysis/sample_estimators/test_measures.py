"""The table of accuracies on made-up runs."""

import argparse

import numpy as np
import pandas as pd
import pytest

from analysis.common.tables import save
from analysis.sample_estimators.measures import analyse

NOBODY = argparse.Namespace()


def made_up(sets=5, start="2026-01-01", estimators=("knn", "micd")):
    rows = []
    for case, truth, error in (("mixture-2", 1.1, 0.001), ("gaussian-1", 1.0, 0.0)):
        for n in (500, 2000):
            for estimator in estimators if case == "mixture-2" else ("knn",):
                for block, mean in ((0, truth + 0.02), (1, truth + 0.04)):
                    rows.append({
                        "case": case, "n": n, "estimator": estimator, "block": block, "sets": sets, "k": 5,
                        "mean": mean, "variance": 0.0004, "truth": truth, "truth_error": error, "cpu_seconds": 0.1,
                        "version": "1", "profile": "made-up", "tags": {}, "start": pd.Timestamp(start),
                    })  # fmt: skip
    return pd.DataFrame(rows)


def test_blocks_are_pooled_as_one_sample():
    figures = analyse(made_up(), NOBODY)[0].figures.set_index(["case", "n", "estimator"])
    row = figures.loc["mixture-2", 500, "knn"]
    values = np.concatenate([np.full(5, 1.12), np.full(5, 1.14)])
    spread = np.sqrt((2 * 4 * 0.0004 + ((values - 1.13) ** 2).sum()) / 9)
    assert (row["sets"], row["bias"]) == (10, pytest.approx(0.03))
    assert row["standard_error"] == pytest.approx(spread)
    assert row["bias_error"] == pytest.approx(np.hypot(spread / np.sqrt(10), 0.001))


def test_the_table_says_who_was_asked_and_who_is_worst(tmp_path):
    (result,) = analyse(made_up(), NOBODY)
    text = result.text.set_index(["case", "n"])
    assert list(dict.fromkeys(result.text["case"])) == ["mixture-2", "gaussian-1"]  # as the sweep lists them
    assert text.loc[("gaussian-1", 500), "entropy difference (NPEET micd)"] == "not asked"
    assert text.loc[("mixture-2", 500), "truth (nats)"] == "1.100 ± 0.001" and "10 data sets" in result.caption
    assert "largest bias at n = 2000 is +0.030 nats" in result.caption
    assert len(save(result, tmp_path / "table")) == 3


def test_older_settings_are_left_out_and_said():
    runs = pd.concat([made_up(), made_up(sets=7, start="2026-02-01")], ignore_index=True)
    (result,) = analyse(runs, NOBODY)
    assert set(result.figures["sets"]) == {14} and f"{len(made_up())} older runs" in result.caption
