"""The tables of structure learning on made-up runs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from analysis.common.tables import save
from analysis.usable_information.structure_learning import ANALYSIS
from tests.analysis.pictures import drawn, numbers
from tests.analysis.runs import RUN, analysed, named

WRONG = {"v-information": 0.1, "knn": 0.3, "partitioning": 0.1}


@pytest.fixture
def store(monkeypatch):
    """Two sizes, two blocks of five data sets; on every data set knn has two tenths
    more wrong edges.
    """
    rows = []
    tables = {}
    for study, case in (
        ("trees", "gaussian-hub"),
        ("genes", "simulated"),
        ("frames", "digits"),
    ):
        for n in (50, 200):
            for block in (0, 1):
                hardness = 0.1 * np.random.default_rng([n, block]).random(5)
                for method, level in WRONG.items():
                    score = {"trees": "wrong", "frames": "wrong", "genes": "auc"}[study]
                    values = (
                        1 - level - hardness if study == "genes" else level + hardness
                    )
                    run = f"run-{len(rows)}"
                    row = {"study": study, "case": case, "n": n, "method": method, "block": block, "sets": 5,
                           score: values.mean(), f"{score}_variance": values.var(ddof=1), "run_id": run}  # fmt: skip
                    if study == "frames":
                        row |= {"wrong_directed": 0.5, "wrong_directed_variance": 0.1, "wrong_rooted": 0.0,
                                "wrong_rooted_variance": 0.0}  # fmt: skip
                    rows.append(RUN | row)
                    tables[run] = pd.DataFrame({score: values})
    monkeypatch.setattr(
        "infoscope.tracking.table", lambda run, name: tables[run].copy()
    )
    return pd.DataFrame(rows), tables


def results_of(runs):
    return named(analysed(ANALYSIS, runs))


def test_blocks_are_pooled_as_one_sample(store, tmp_path):
    runs, tables = store
    results = results_of(runs)
    assert set(results) == {"trees", "genes", "frames"}
    row = results["trees"].figures.set_index(["n", "method"]).loc[50, "knn"]
    knn_runs = runs[
        (runs["study"] == "trees") & (runs["n"] == 50) & (runs["method"] == "knn")
    ]
    values = np.concatenate([tables[run]["wrong"] for run in knn_runs["run_id"]])
    assert row["sets"] == 10
    assert row["wrong"] == pytest.approx(values.mean())
    assert row["wrong_error"] == pytest.approx(values.std(ddof=1) / np.sqrt(10))
    assert any("first frame" in title for title in results["frames"].text)
    assert drawn(save(results["trees"], tmp_path / "trees"))


def test_methods_are_compared_on_the_same_data_sets(store, verdicts):
    results = results_of(store[0])
    claims = verdicts(results.values())
    for case in ("gaussian-hub", "simulated", "digits"):
        assert claims.of(f"{case}:", "nearest neighbours") == {"confirmed"}
        assert claims.of(f"{case}:", "partitioning") == {"not tested"}
    assert {-0.2, 20} <= {*numbers(results["trees"].claims[0].evidence)}


def test_ties_are_named_and_what_is_behind(store):
    finding = results_of(store[0])["trees"].finding
    assert "(equal within error), ahead of nearest neighbours" in finding
    assert finding.index("partitioning") < finding.index("ahead of")


def test_equal_scores_test_nothing(store):
    runs, tables = store
    for run in runs.loc[runs["study"] == "frames", "run_id"]:
        tables[run]["wrong"] = 0.0
    for claim in results_of(runs)["frames"].claims:
        assert claim.verdict == "not tested"
        assert "both score the same" in claim.evidence
