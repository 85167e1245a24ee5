"""Figure 5 on made-up runs: both truths, accuracy, and the verdicts in both directions."""

import itertools

import pandas as pd
import pytest

from analysis.common.tables import save
from analysis.mi_benchmark.nuisance import ANALYSIS
from tests.analysis.pictures import drawn

ARGUMENTS = ANALYSIS.arguments([])
ETAS = (0.0, 0.2, 0.4, 0.7, 1.0)


def cells(bounds=("mine", "smile-inf", "dv"), seeds=(0, 1, 2), decode=True, etas=ETAS):
    added = dict(domain="images", backgrounds="cifar10", schedule_bits=[2.0, 6.0])
    for eta, bound, seed in itertools.product(etas, bounds, seeds):
        yield added | dict(nuisance=eta, bound=bound, seed=seed)
    for eta in etas if decode else ():
        yield added | dict(nuisance=eta, kind="decoding")


def falling(cell, bits):
    """Right up to eta 0.4, less beyond it, MINE the least so."""
    lost = 0.03 if cell["nuisance"] <= 0.4 else 0.1 if cell["bound"] == "mine" else 0.2
    return bits * (1 - lost), 0.01


def test_section_5_6_holds(made_up, verdicts):
    results = ANALYSIS.analyse(made_up(cells(), falling, decodes=0.995), ARGUMENTS)
    found = verdicts(results)
    assert set(found.values()) == {"confirmed"}, found
    assert len(found) == 2 + 1 + 2 + 2 * 2


def test_section_5_6_does_not_hold(made_up, verdicts):
    """Better with nuisance, MINE the worst, and labels that cannot be decoded any more."""

    def rising(cell, bits):
        lost = 0.6 if cell["nuisance"] <= 0.4 else 0.3 if cell["bound"] == "mine" else 0.1
        return bits * (1 - lost), 0.01

    runs = made_up(cells(), rising, decodes=lambda cell: 0.99 if cell["nuisance"] < 0.5 else 0.85)
    results = ANALYSIS.analyse(runs, ARGUMENTS)
    found = verdicts(results)
    nominal = {text: verdict for text, verdict in found.items() if "is larger" not in text}
    assert set(nominal.values()) == {"contradicted"}, found
    unchanged = next(claim for claim in results[0].claims if "the true MI" in claim.statement)
    assert "eta 0.7 on" in unchanged.evidence
    unreliable = next(claim for claim in results[0].claims if claim.statement.startswith("mine is reliable"))
    assert "6 bits (60%)" in unreliable.evidence


def test_against_what_can_be_decoded_the_verdict_may_turn(made_up, verdicts):
    """Estimates fall with what there is to find: wrong against the nominal MI, right against the decodable one."""
    left = {0.0: 0.99, 0.2: 0.99, 0.4: 0.99, 0.7: 0.6, 1.0: 0.3}
    runs = made_up(
        cells(),
        lambda cell, bits: ((left[cell["nuisance"]] - (cell["nuisance"] <= 0.4) * 0.1) * bits, 0.001),
        decodes=lambda cell: left[cell["nuisance"]],
    )
    found = verdicts(ANALYSIS.analyse(runs, ARGUMENTS))
    assert found.of("falls", "nominal") == {"confirmed"} and found.of("falls", "decodable") == {"contradicted"}


def test_figures_and_accuracy(made_up, tmp_path):
    result, unseen = ANALYSIS.analyse(made_up(cells(), falling, decodes=0.95, accuracy=0.987), ARGUMENTS)
    row = result.figures.set_index(["nuisance", "bound", "true_bits"]).loc[0.7, "mine", 6]
    assert (row["decodable_bits"], row["accuracy"], row["runs"]) == (pytest.approx(5.7), 0.987, 3)
    assert "Backgrounds cifar10." in result.caption
    assert "0.987 ± 0.001" in set(result.text["decoding accuracy"])
    assert drawn(save(result, tmp_path / "strength")) and unseen.draw is None


def test_accuracy_and_decodable_mi_are_of_the_latest_decoding(made_up, verdicts):
    """An older decoding with fewer steps, which lost the labels at every eta but 0."""
    older = made_up(
        [cell | {"decoder_steps": 30} for cell in cells() if cell.get("kind") == "decoding"],
        decodes=lambda cell: 0.99 if cell["nuisance"] == 0 else 0.2,
        accuracy=0.5,
    ).assign(start=pd.Timestamp("2025-01-01"))
    newer = made_up([cell | {"decoder_steps": 2000} for cell in cells()], falling, decodes=0.995)
    newer.loc[newer["bound"] != "posterior", "decoder_steps"] = None
    result = ANALYSIS.analyse(pd.concat([older, newer], ignore_index=True), ARGUMENTS)[0]
    assert set(result.text["decoding accuracy"]) == {"0.990 ± 0.001"} and set(result.figures["runs"]) == {3}
    assert verdicts([result]).of("the true MI") == {"confirmed"}


def test_the_published_backgrounds_are_photographs(made_up):
    whole = [cell | {"schedule_bits": [2.0, 4.0]} for cell in cells()]
    assert "not comparable" not in ANALYSIS.analyse(made_up(whole), ARGUMENTS)[0].caption
    runs = made_up([cell | {"backgrounds": "generated-textures"} for cell in whole])
    assert "(paper: cifar10)" in ANALYSIS.analyse(runs, ARGUMENTS)[0].caption
