"""Figure 5 on made-up runs: both truths, accuracy, and the verdicts in both directions."""

import pytest

from analysis.common.tables import save
from analysis.mi_benchmark.nuisance import ANALYSIS
from tests.analysis.mi_benchmark.grids import crossed
from tests.analysis.pictures import drawn

ADDED = dict(
    domain="images",
    backgrounds="cifar10",
    nuisance=[0.0, 0.2, 0.4, 0.7, 1.0],
    schedule_bits=[[2.0, 6.0]],
)
DECODING = crossed(**ADDED, kind="decoding")
TRAINING = crossed(**ADDED, bound=["mine", "smile-inf", "dv"], seed=[0, 1, 2])
CELLS = TRAINING + DECODING


def falling(cell, bits):
    """Right up to eta 0.4, less beyond it, MINE the least so."""
    lost = 0.03 if cell["nuisance"] <= 0.4 else 0.1 if cell["bound"] == "mine" else 0.2
    return bits * (1 - lost), 0.01


def test_section_5_6_holds(judge):
    _, verdicts = judge(ANALYSIS, CELLS, falling, decodes=0.995)
    assert set(verdicts.values()) == {"confirmed"}
    assert len(verdicts) == 2 + 1 + 2 + 2 * 2


def test_section_5_6_does_not_hold(judge):
    """Better with nuisance, MINE the worst, and labels that cannot be decoded any more."""

    def rising(cell, bits):
        lost = (
            0.6 if cell["nuisance"] <= 0.4 else 0.3 if cell["bound"] == "mine" else 0.1
        )
        return bits * (1 - lost), 0.01

    results, verdicts = judge(
        ANALYSIS,
        CELLS,
        rising,
        decodes=lambda cell: 0.99 if cell["nuisance"] < 0.5 else 0.85,
    )
    nominal = set()
    for text, verdict in verdicts.items():
        if "is larger" not in text:
            nominal.add(verdict)
    assert nominal == {"contradicted"}
    (unchanged,) = [
        claim for claim in results[0].claims if "the true MI" in claim.statement
    ]
    assert "eta 0.7 on" in unchanged.evidence


def test_mine_is_judged_as_released(judge):
    """Averaged, it is worse than both others; as its released code computes it, better."""

    def lost(cell, bits):
        share = {"mine": 0.3, "mine-one-step": 0.1}.get(cell["bound"], 0.2)
        return bits * (1 - share), 0.01

    bounds = ["mine", "mine-one-step", "smile-inf"]
    trained = crossed(**ADDED, bound=bounds, seed=[0, 1, 2])
    _, verdicts = judge(ANALYSIS, trained + DECODING, lost, decodes=0.995)
    robust = [text for text in verdicts if "more robust" in text]
    assert len(robust) == 2
    assert {verdicts[text] for text in robust} == {"confirmed"}


def test_the_finding_is_what_is_found_and_decoded(judge):
    (result, _), _ = judge(ANALYSIS, CELLS, falling, decodes=0.95)
    assert "no estimator finds more than mine: 5.4" in result.finding
    assert "decodes 5.700 ± 0.010 bits" in result.finding


def test_figures_and_accuracy(judge, tmp_path):
    (result, unseen), _ = judge(ANALYSIS, CELLS, falling, decodes=0.95, accuracy=0.987)
    row = result.figures.set_index(["nuisance", "bound", "true_bits"]).loc[
        0.7, "mine", 6
    ]
    assert row["decodable_bits"] == pytest.approx(5.7)
    assert row["accuracy"] == 0.987
    assert row["runs"] == 3
    assert "0.987 ± 0.001" in set(result.text["decoding accuracy"])
    assert drawn(save(result, tmp_path / "strength"))
    assert unseen.draw is None
