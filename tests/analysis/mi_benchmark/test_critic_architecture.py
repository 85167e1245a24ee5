"""Figures 3 and 9 on made-up runs: tables, curves, and the verdicts in both directions."""

import pytest
from pytest import approx

from analysis.common.tables import save
from analysis.mi_benchmark.critic_architecture import ANALYSIS
from tests.analysis.mi_benchmark.grids import crossed
from tests.analysis.pictures import drawn

BITS = [[6.0, 10.0]]
CRITICS = ["inner", "bilinear", "separable", "joint"]


def cells(*domains, bounds=("dv", "smile-5")):
    combinations = []
    for domain in domains:
        common = dict(domain=domain, schedule_bits=BITS)
        trained = dict(bound=[*bounds], critic=CRITICS, seed=[0, 1, 2])
        if domain == "gaussian":
            combinations += crossed(**common, **trained, sources=[10, 20])
        else:
            combinations += crossed(**common, **trained)
            combinations += crossed(**common, kind="decoding")
    return combinations


def as_in_the_paper(cell, bits):
    """The joint critic is right, the bilinear one biased and steady, the separable one
    unsteady for Gaussian pairs.
    """
    gaussian = cell["domain"] == "gaussian"
    part = {"joint": 0.97, "separable": 0.95, "bilinear": 0.5, "inner": 0.1}
    variance = {
        "joint": 0.2,
        "separable": 2.0 if gaussian else 0.1,
        "bilinear": 0.02,
        "inner": 0.2,
    }
    unsteady = 10 if cell["bound"] == "dv" and gaussian else 1
    return part[cell["critic"]] * bits, variance[cell["critic"]] * unsteady


def the_other_way(cell, bits):
    gaussian = cell["domain"] == "gaussian"
    part = {
        "joint": 0.5 if gaussian else 0.8,
        "separable": 0.6,
        "bilinear": 0.95,
        "inner": 0.1,
    }
    variance = {
        "joint": 0.2,
        "separable": 0.1,
        "bilinear": 0.4 if gaussian else 0.02,
        "inner": 0.2,
    }
    worse = cell["bound"] == "dv" and not gaussian
    mean = part[cell["critic"]] * bits
    return mean * (0.8 if worse else 1), variance[cell["critic"]] * (3 if worse else 1)


@pytest.mark.parametrize(
    "estimates, expected",
    [(as_in_the_paper, "confirmed"), (the_other_way, "contradicted")],
)
def test_every_sentence_of_section_5_1(judge, estimates, expected):
    _, verdicts = judge(ANALYSIS, cells("gaussian", "images", "text"), estimates)
    # for each of two Gaussian settings, and for images and text
    assert len(verdicts) == 2 * 4 + 2 * 6
    assert set(verdicts.values()) == {expected}


def test_figures_have_the_oracle_and_both_truths(judge):
    (overview, *_, text, _), _ = judge(
        ANALYSIS, cells("gaussian", "text"), as_in_the_paper
    )
    oracle = overview.text["critic"] == "oracle"
    assert set(overview.text.loc[oracle, "dv"]) == {"0.080 ± 0.003"}
    row = text.figures.set_index(["critic", "bound", "true_bits"]).loc[
        "bilinear", "dv", 6
    ]
    assert row["bias_bits"] == approx(-3.0, abs=0.05)
    assert row["runs"] == 3
    assert row["decodable_bits_error"] == 0.01
    assert row["decodable_bits"] == approx(5.4)
    assert row["decodable_mse_bits2"] == approx(0.02 + 2.4**2, rel=0.02)


def test_curves_of_one_seed(judge, trace_of, tmp_path):
    results, _ = judge(ANALYSIS, cells("images", bounds=("dv",)))
    assert drawn(save(results[1], tmp_path / "curves"))
    assert len({run for run, _ in trace_of}) == len(trace_of) == len(CRITICS)
