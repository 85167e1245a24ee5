"""What every table of the benchmark is made of: runs and rows, a caption, published figures beside ours."""

import math

import pandas as pd
import pytest

from analysis.common.tables import Analysis, published
from analysis.mi_benchmark._benchmark import Benchmark, beside_published, by_bound, figure_text

PLACE = ["domain", "pool", "true_bits", "bound"]


@pytest.fixture
def evidence_of(made_up):
    """A function: fields of a benchmark -> its evidence from two seeds of two estimators, and one decoding."""

    def build(**declared):
        cells = [dict(domain="text", bound=bound, seed=seed, schedule_bits=[4.0, 2.0])
                 for bound in ("nwj", "dv") for seed in (0, 1)]  # fmt: skip
        runs = made_up([*cells, dict(domain="text", kind="decoding", schedule_bits=[2.0, 4.0])])
        found = []
        analysis = Analysis("made-up", Benchmark(lambda evidence: found.append(evidence) or [], **declared))
        assert analysis.analyse(runs, analysis.arguments([])) == []
        return found[0]

    return build


def test_rows_are_runs_by_true_mi_in_the_order_that_was_asked_for(evidence_of):
    evidence = evidence_of(order=["true_bits", "bound", "seed"])
    assert (len(evidence.trained), len(evidence.decoded)) == (4, 1)
    rows = evidence.rows[["true_bits", "bound", "seed"]]
    expected = [(bits, bound, seed) for bits in (2.0, 4.0) for bound in ("dv", "nwj") for seed in (0, 1)]
    assert list(rows.itertuples(index=False, name=None)) == expected
    assert evidence.rows["decodable_bits"].tolist() == pytest.approx([1.8] * 4 + [3.6] * 4)


def test_the_published_figures_stand_beside_ours():
    ours = pd.DataFrame({"domain": ["images", "text"], "depth": [2, 99], "mse_bits2": [0.2, 0.3]})
    table = beside_published(ours, "table2", ["domain", "depth"])
    theirs = published("table2").set_index(["domain", "depth"]).loc[("images", 2)]
    assert table["published_mse_bits2"].iloc[0] == theirs["mse_bits2"] and math.isnan(table["published_mse_bits2"][1])
    assert table["published_bias_bits"].iloc[0] == -theirs["bias_bits"]  # the paper's is truth - mean


def test_missing_figures_say_why():
    nothing = pd.DataFrame({name: [math.nan] for name in ("mse_bits2", "floor_mse_bits2", "decodable_bits", "accuracy",
                                                          "published_mean_bits")})  # fmt: skip
    assert [figure_text(nothing, name)[0] for name in nothing] == [
        "diverged", "infinite", "not decoded", "not decoded", "-"
    ]  # fmt: skip


def test_estimators_stand_side_by_side_in_the_order_of_the_rows():
    long = pd.DataFrame(
        [("b", 4.0, "dv", "1"), ("b", 2.0, "dv", "2"), ("a", 2.0, "nwj", "3"), ("a", 2.0, "dv", "4")],
        columns=["place", "true_bits", "bound", "said"],
    ).assign(of="ours")
    table = by_bound(long, ["place", "true_bits", "of"], "-")
    assert list(table) == ["place", "true_bits", "of", "dv", "nwj"]
    assert table["place"].tolist() == ["b", "b", "a"] and table["true_bits"].tolist() == [2.0, 4.0, 2.0]
    assert table["dv"].tolist() == ["2", "1", "4"] and table["nwj"].tolist() == ["-", "-", "3"]
