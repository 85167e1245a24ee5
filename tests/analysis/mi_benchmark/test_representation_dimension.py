"""Table 4 on made-up runs: the published column, and equivalence in both directions."""

import math

import pytest

from analysis.common.published import published
from analysis.common.tables import save
from analysis.mi_benchmark.representation_dimension import ANALYSIS
from tests.analysis.mi_benchmark.grids import crossed
from tests.analysis.pictures import drawn

STUDY = dict(domain="images", size=[10, 20, 100], sources=1, schedule_bits=[[1.0]])
DECODING = crossed(**STUDY, kind="decoding")


def trained(*bounds):
    return crossed(**STUDY, bound=[*bounds], seed=[0, 1, 2], steps=20_000)


TRAINED = trained("dv", "js")


def right(cell, bits):
    return (0.465 if cell["bound"] == "js" else 0.997), 0.05


def test_the_published_table_is_that_of_the_paper():
    table = published("table4").pivot(index="bound", columns="size", values="mean_bits")
    assert table.shape == (8, 4)
    assert table.loc["dv"].tolist() == [0.996, 0.997, 0.997, 0.997]


def test_our_figures_and_the_published_ones(judge, tmp_path):
    (result, unseen), _ = judge(ANALYSIS, TRAINED, right)
    row = result.figures.query("size == 100 and bound == 'js'").iloc[0]
    assert row["published_mean_bits"] == 0.464
    assert row["mean_bits"] == pytest.approx(0.465, abs=0.005)
    assert row["dimension"] == 10_000
    assert "not comparable" not in result.caption
    assert drawn(save(result, tmp_path / "mean"))
    assert unseen.draw is None


def test_equal_errors_at_all_sizes_hold(judge):
    _, verdicts = judge(ANALYSIS, TRAINED + DECODING, right, decodes=0.99)
    assert set(verdicts.values()) == {"confirmed"}


def test_accuracy_is_scored_against_both_truths(judge):
    """At the largest size 0.8 bits can be decoded, and 0.8 bits are estimated."""

    def large(cell):
        if cell["size"] == 100:
            return 0.8
        return 0.99

    results, verdicts = judge(
        ANALYSIS,
        trained("dv") + DECODING,
        lambda cell, bits: (large(cell), 0.05),
        decodes=large,
    )
    assert verdicts.of("accurate", "nominal") == {"contradicted"}
    assert verdicts.of("accurate", "decodable") == {"confirmed"}
    shown = results[0].text.set_index("size")["decodable MI (bits)"]
    assert shown[10] == "0.990 ± 0.010"
    assert shown[100] == "0.800 ± 0.010"


def test_one_estimator_that_depends_on_the_size_is_enough(judge):
    results, verdicts = judge(
        ANALYSIS,
        TRAINED + DECODING,
        lambda cell, bits: (
            0.8 if cell["size"] == 100 and cell["bound"] == "dv" else 0.997,
            0.05,
        ),
        decodes=0.99,
    )
    assert set(verdicts.values()) == {"contradicted"}
    assert "for dv: 0.19" in results[0].claims[0].evidence


SHORT = [
    cell
    for cell in TRAINED
    if (cell["size"], cell["bound"], cell["seed"]) != (20, "dv", 1)
]


@pytest.mark.parametrize(
    "cells, estimates",
    [
        (SHORT, right),
        (TRAINED, lambda cell, bits: (math.nan if cell["size"] == 10 else 0.997, 0.05)),
        (TRAINED, lambda cell, bits: (0.01, 0.05)),
    ],
    ids=["missing size", "diverged", "estimates of zero"],
)
def test_what_is_undecided(judge, cells, estimates):
    _, verdicts = judge(ANALYSIS, cells, estimates)
    assert verdicts.of("every dimension") == {"undecided"}
