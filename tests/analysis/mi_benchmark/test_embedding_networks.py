"""Figure 8 on made-up runs: networks against both truths, in both directions."""

import pytest

from analysis.common.tables import save
from analysis.mi_benchmark.embedding_networks import ANALYSIS
from tests.analysis.mi_benchmark.grids import crossed
from tests.analysis.pictures import drawn

BITS = [[2.0, 6.0]]
# of the nominal MI, after embedding
LEFT = {"imdb-bert": 0.95, "imdb-roberta": 0.94, "small-bert": 0.6}
PUBLISHED = "imdb-bert", "imdb-roberta"


def trained(*pools):
    pairs = dict(bound=["dv", "smile-5"], critic=["bilinear", "joint"], seed=[0, 1, 2])
    return crossed(domain="text", pool=[*pools], **pairs, schedule_bits=BITS)


def cells(*pools):
    return trained(*pools) + crossed(
        domain="text", pool=[*pools], kind="decoding", schedule_bits=BITS
    )


def left(cell):
    return LEFT[cell["pool"]]


def what_is_left(cell, bits):
    return left(cell) * bits, 0.1


def test_holds_where_both_networks_keep_the_labels(judge):
    _, verdicts = judge(ANALYSIS, cells(*PUBLISHED), what_is_left, decodes=left)
    assert len(verdicts) == 2 * (2 + 1)
    assert set(verdicts.values()) == {"confirmed"}


def test_a_network_that_loses_the_labels_is_right_against_the_decodable_truth_only(
    judge,
):
    _, verdicts = judge(
        ANALYSIS, cells("imdb-bert", "small-bert"), what_is_left, decodes=left
    )
    assert verdicts.of("small-bert", "decodable") == {"confirmed"}
    assert verdicts.of("small-bert", "nominal") == {"contradicted"}


def test_one_network_is_not_compared(judge):
    (result, _), _ = judge(ANALYSIS, cells("imdb-roberta"), what_is_left)
    assert result.finding.startswith("One network (RoBERTa) was run")


def test_the_finding_compares_both_networks_with_both_truths(judge):
    (result, _), _ = judge(ANALYSIS, cells(*PUBLISHED), what_is_left, decodes=left)
    finding = result.finding
    assert finding.startswith("From BERT to RoBERTa estimate / nominal MI changes by 1")
    assert "estimate / decodable MI changes by 0." in finding


def test_networks_without_a_judged_estimate_are_not_compared(judge):
    pairs = dict(bound="js", critic="joint", seed=[0, 1], schedule_bits=BITS)
    runs = crossed(domain="text", pool=[*PUBLISHED], **pairs)
    (result, _), _ = judge(ANALYSIS, runs, what_is_left)
    assert result.finding.startswith("No estimate of two networks can be judged")


def test_figures(judge, tmp_path):
    (result, unseen), _ = judge(ANALYSIS, cells(*PUBLISHED), what_is_left)
    row = result.figures.set_index(["pool", "critic", "bound", "true_bits"]).loc[
        "imdb-roberta", "joint", "dv", 6
    ]
    assert row["second_half_mean_bits"] == pytest.approx(5.64, rel=0.01)
    assert row["decodable_bits"] == pytest.approx(5.4)
    assert drawn(save(result, tmp_path / "a"))
    assert unseen.draw is None
