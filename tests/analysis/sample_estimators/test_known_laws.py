"""Tables of estimators on known distributions, from made-up runs."""

import argparse
import math

import numpy as np
import pandas as pd
from pytest import approx

from analysis.common.tables import save
from analysis.sample_estimators.known_laws import analyse, pooled
from tests.analysis.pictures import drawn
from tests.analysis.runs import RUN

NOBODY = argparse.Namespace()


def run(
    law="a",
    method="ksg",
    collection="everyday",
    n=500,
    block=0,
    sets=4,
    bias=0.1,
    **figures,
):
    return RUN | {
        "collection": collection, "law": law, "n": n, "method": method, "block": block, "sets": sets, "true_nats": 1.0,
        "true_nats_error": 0.0, "answered": sets, "intervals": sets, "covering_intervals": sets - 1, "bias_nats": bias,
        "mse_nats2": bias**2 + 0.01, "mean_absolute_error_nats": abs(bias), "mean_width_nats": 0.4,
        "estimate_seconds": 0.5, "memory_mib": 3.0,
    } | figures  # fmt: skip


def test_blocks_are_pooled_as_one_sample():
    row = pooled(pd.DataFrame([run(bias=0.1), run(bias=0.3, block=1, sets=12)])).iloc[0]
    assert row["asked"] == 16
    assert row["answered"] == 16
    assert row["covered"] == 14
    assert row["intervals"] == 16
    assert row["bias"] * math.log(2) == approx(0.25)
    squared = (4 * 0.02 + 12 * 0.10) / 16
    assert row["squared_error"] * math.log(2) ** 2 == approx(squared)
    assert row["bias_error"] * math.log(2) == approx(
        math.sqrt((squared - 0.0625) * 16 / 15 / 16)
    )


def test_refusals_and_missing_intervals_are_reported(tmp_path):
    refused = run(method="lmi", answered=0, intervals=0, covering_intervals=0, bias=np.nan, mse_nats2=np.nan,
                  mean_absolute_error_nats=np.nan, mean_width_nats=np.nan)  # fmt: skip
    bare = run(method="micd", intervals=0, covering_intervals=0, mean_width_nats=np.nan)
    board, laws = analyse(pd.DataFrame([run(), refused, bare]), NOBODY)
    text = board.text.set_index("method")
    assert "lmi (0)" in board.caption
    assert text.loc["micd", "coverage"] == "no interval"
    assert laws.text["1."].item() == "ksg +0.144 ± 0.083 (75 %)"
    assert laws.text["cover"].item() == "0 of 1"
    assert drawn(save(laws, tmp_path / "table"))


def test_items_of_archived_runs_are_pooled_over_levels():
    levels = []
    for bits in (0.0, 0.5, 1.0):
        errors = {
            "mean_absolute_error_nats": bits / 100,
            "labels_error": 0.004,
            "covering_intervals": 1,
        }
        levels.append(
            run(
                f"mnist-at-{bits:.3f}",
                "reduced-ksg",
                "reduction",
                5000,
                sets=1,
                bias=bits / 100,
                **errors,
            )
        )
    (result,) = analyse(pd.DataFrame(levels), NOBODY)
    (row,) = result.text.to_dict("records")
    bits = 0.005 / math.log(2)
    assert row["mean |error| (bits)"] == f"{bits:.3f} ± {bits / math.sqrt(3):.3f}"
    assert row["of the labels"] == f"{0.004 / math.log(2):.3f}"
    assert row["items"] == "mnist"
