"""The tables of usable leakage on made-up runs."""

from __future__ import annotations

import itertools
import math

import pandas as pd
import pytest

from analysis.common.tables import save
from analysis.usable_information.usable_leakage import ANALYSIS, transfers
from tests.analysis.pictures import drawn
from tests.analysis.runs import RUN, analysed, named

COLUMNS = (
    "label",
    "block",
    "family",
    "value_bits",
    "standard_error_bits",
    "ceiling_bits",
    "floored",
    "n",
    "groups",
)


@pytest.fixture
def store(monkeypatch):
    """Features hidden from a linear network, which neighbours still read; and a model
    whose z_y shows both the same.
    """
    rows = []
    tables = {}

    def add(cell, values):
        run = f"run-{len(rows)}"
        rows.append(RUN | {"run_id": run} | cell)
        tables[run] = pd.DataFrame(
            [(*key, value, 0.03, 1.0, 0, 100, 100) for key, value in values.items()],
            columns=COLUMNS,
        )

    for seed in (0, 1, 2):
        for against, linear, near in (("linear", 0.0, 0.5), ("nothing", 0.4, 0.6)):
            values = {}
            for label in ("hidden", "kept"):
                values[label, "features", "logistic"] = linear + 0.01 * seed
                values[label, "features", "knn"] = near + 0.01 * seed
            cell = {
                "study": "hiding",
                "against": against,
                "seed": seed,
                "adversary_log_loss_nats": 0.5,
            }
            add(cell | {"reconstruction_mse": 0.4 if linear else 0.6}, values)
        values = {}
        for label, block in itertools.product(("class", "domain"), ("z_y", "z_d")):
            values[label, block, "logistic"] = 0.1 - 0.01 * seed
            values[label, block, "knn"] = 0.1
        cell = {
            "study": "blocks",
            "source": f"key-{seed}",
            "model": "dann",
            "representation": "mean",
            "seed": seed,
        }
        add(cell, values)
    monkeypatch.setattr(
        "infoscope.tracking.table", lambda run, name: tables[run].copy()
    )
    return pd.DataFrame(rows)


def results_of(runs):
    return named(analysed(ANALYSIS, runs))


def test_a_matrix_for_every_label(store, tmp_path):
    results = results_of(store)
    assert set(results) == {
        "hiding-hidden",
        "hiding-kept",
        "blocks-class",
        "blocks-domain",
    }
    assert results["hiding-hidden"].text["error of reconstruction"].tolist() == [
        "0.400",
        "0.600",
    ]
    assert "too weak" in results["hiding-hidden"].caption
    assert "too weak" not in results["blocks-class"].caption
    row = (
        results["hiding-hidden"]
        .figures.set_index(["of", "family"])
        .loc["linear", "knn"]
    )
    assert row["value_bits"] == pytest.approx(0.51)
    assert row["seeds"] == 3
    assert row["value_bits_error"] == pytest.approx(
        math.hypot(0.03, 0.01 / math.sqrt(3))
    )
    assert drawn(save(results["hiding-hidden"], tmp_path / "hidden"))


def test_hiding_works_against_one_family_and_not_against_another(store, verdicts):
    claims = verdicts(results_of(store).values())
    assert claims.of("hidden from linear", "hide nothing") == {"confirmed"}
    assert claims.of("hidden from linear", "still show") == {"confirmed"}
    assert claims.of("domain in z_y", "more than logistic") == {"undecided"}


@pytest.mark.parametrize(
    "remaining, verdict",
    [(0.0, "confirmed"), (0.03, "confirmed"), (0.06, "not tested")],
)
def test_another_family_is_tested_only_where_features_hide(remaining, verdict):
    """Of 0.5 bits less than a tenth has to remain."""
    rows = []
    for seed in range(3):
        off = seed / 1000
        for of, logistic in (("nothing", 0.5), ("linear", remaining)):
            rows.append((of, seed, "logistic", logistic + off))
            rows.append((of, seed, "knn", 0.4 - off))
    columns = ["of", "seed", "family", "value_bits"]
    *_, claim = transfers(pd.DataFrame(rows, columns=columns))
    assert "still show knn more than logistic" in claim.statement
    assert claim.verdict == verdict
    assert ("0.061 bits" in claim.evidence) == (verdict == "not tested")


def test_features_that_hide_nothing_are_called_so(store):
    finding = results_of(store)["hiding-hidden"].finding
    assert "in features that hide nothing (knn)" in finding
