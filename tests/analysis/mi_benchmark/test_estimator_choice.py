"""Table 3 on made-up runs: our choice, the oracle's and the paper's, both truths, and claims in both directions."""

import itertools
import math

import pytest

from analysis.common.tables import published, save
from analysis.mi_benchmark.estimator_choice import ANALYSIS
from tests.analysis.pictures import drawn

ARGUMENTS = ANALYSIS.arguments([])
BOUNDS = ("smile-1", "smile-inf", "dv", "nwj", "mine")
WINNER = "No estimator is the most accurate in every domain."


def cells(bounds=BOUNDS, seeds=(0, 1, 2), schedule=(2.0, 10.0)):
    for domain, bound, seed in itertools.product(("text", "gaussian", "images"), bounds, seeds):
        yield dict(domain=domain, bound=bound, seed=seed, schedule_bits=list(schedule))
    for domain in ("images", "text"):
        yield dict(domain=domain, kind="decoding", schedule_bits=list(schedule))


def test_the_table_has_our_choice_the_oracle_and_the_paper(made_up):
    table, *_ = ANALYSIS.analyse(made_up(cells(schedule=(2.0, 4.0, 6.0, 8.0, 10.0))), ARGUMENTS)
    assert list(table.text.columns[4:]) == ["nwj", "dv", "mine", "smile-1", "smile-inf"]  # as in the paper
    assert list(dict.fromkeys(table.text["domain"])) == ["gaussian", "images", "text"]
    of_paper = table.text[table.text[""] == "paper"].set_index(["domain", "true MI (bits)"])
    theirs = published("table3").set_index(["domain", "true_bits", "bound"])["mse_bits2"]
    assert float(of_paper.loc[("images", 2.0), "nwj"]) == theirs["images", 2, "nwj"] == 0.288
    row = table.figures.set_index(["domain", "true_bits", "bound"]).loc["images", 10.0, "dv"]
    assert row["mse_bits2"] == pytest.approx(0.1 + 0.2**2, rel=0.1) and row["runs"] == 3


def test_an_upward_bias_helps_against_the_nominal_truth_only(made_up, verdicts):
    """SMILE-1 reports the nominal 10 bits, DV the 8.9 that can be decoded."""

    def estimates(cell, bits):
        return (bits if cell["bound"] == "smile-1" else 0.89 * bits), 0.1

    found = verdicts(ANALYSIS.analyse(made_up(cells(), estimates, decodes=0.89), ARGUMENTS))
    assert found.of("smile-1 is", "nominal") == {"confirmed"}
    assert found.of("smile-1 is", "decodable") == {"contradicted"}


@pytest.mark.parametrize(
    ("best", "verdict"),
    [
        ({"gaussian": "smile-inf", "images": "nwj", "text": "smile-1"}, "confirmed"),
        ({"gaussian": "dv", "images": "dv", "text": "dv"}, "contradicted"),
    ],
)
def test_whether_there_is_a_universal_winner(best, verdict, made_up, verdicts):
    def estimates(cell, bits):
        return bits * (0.99 if best[cell["domain"]] == cell["bound"] else 0.8), 0.05

    found = verdicts(ANALYSIS.analyse(made_up(cells(), estimates), ARGUMENTS))
    assert found[WINNER] == verdict


def test_diverged_runs_are_shown_without_a_verdict(made_up, tmp_path):
    def estimates(cell, bits):
        return (math.nan if (cell["domain"], cell["bound"], bits) == ("images", "dv", 10.0) else 0.9 * bits), 0.1

    results = ANALYSIS.analyse(made_up(cells(), estimates), ARGUMENTS)
    shown = results[0].text.set_index(["domain", "true MI (bits)", ""])["dv"]
    assert shown["images", 10.0, "ours"] == "diverged" and shown["images", 2.0, "ours"] != "diverged"
    assert drawn(save(results[0], tmp_path / "table"))


def test_one_domain_has_no_other_to_differ_from(made_up):
    runs = made_up(cells(), lambda cell, bits: (bits * (0.99 if cell["bound"] == "dv" else 0.8), 0.05))
    results = ANALYSIS.analyse(runs[runs["domain"] == "gaussian"], ARGUMENTS)
    claim = next(claim for claim in results[0].claims if claim.statement == WINNER)
    assert claim.verdict == "undecided" and "two domains" in claim.evidence


def test_domains_with_different_estimators_cannot_be_compared(made_up):
    """Of each domain, the best estimator was not run in the other."""
    runs = made_up(cells(), lambda cell, bits: (bits * (0.99 if cell["bound"] in ("dv", "nwj") else 0.8), 0.05))
    runs = runs[((runs["domain"] == "gaussian") & (runs["bound"] != "nwj")) | (
        (runs["domain"] == "images") & (runs["bound"] != "dv")
    )]  # fmt: skip
    claim = next(claim for claim in ANALYSIS.analyse(runs, ARGUMENTS)[0].claims if claim.statement == WINNER)
    assert claim.verdict == "undecided" and "in gaussian, dv" in claim.evidence
