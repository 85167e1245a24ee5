"""Figures 3 and 9 on made-up runs: tables, curves, and the verdicts in both directions."""

import itertools
import math

import pytest

from analysis.common.tables import save
from analysis.mi_benchmark.critic_architecture import ANALYSIS
from tests.analysis.pictures import drawn, numbers

ARGUMENTS = ANALYSIS.arguments([])
CRITICS = ("inner", "bilinear", "separable", "joint")


def cells(domains=("gaussian", "images", "text"), bounds=("dv", "smile-5"), seeds=(0, 1, 2), bits=(2.0, 6.0)):
    for domain, bound, critic, seed in itertools.product(domains, bounds, CRITICS, seeds):
        for sources in (10, 20) if domain == "gaussian" else (10,):
            yield dict(domain=domain, bound=bound, critic=critic, seed=seed, sources=sources, schedule_bits=list(bits))
    for domain in set(domains) - {"gaussian"}:
        yield dict(domain=domain, kind="decoding", schedule_bits=list(bits))


def as_in_the_paper(cell, bits):
    """The joint critic is right, the bilinear one biased and steady, the separable one unsteady for Gaussian pairs."""
    gaussian = cell["domain"] == "gaussian"
    mean = {"joint": 0.97, "separable": 0.95, "bilinear": 0.5, "inner": 0.1}[cell["critic"]] * bits
    variance = {"joint": 0.2, "separable": 2.0 if gaussian else 0.1, "bilinear": 0.02, "inner": 0.2}[cell["critic"]]
    return mean, variance * (10 if cell["bound"] == "dv" and gaussian else 1)


def the_other_way(cell, bits):
    gaussian = cell["domain"] == "gaussian"
    mean = {"joint": 0.5 if gaussian else 0.8, "separable": 0.6, "bilinear": 0.95, "inner": 0.1}[cell["critic"]] * bits
    variance = {"joint": 0.2, "separable": 0.1, "bilinear": 0.4 if gaussian else 0.02, "inner": 0.2}[cell["critic"]]
    worse = cell["bound"] == "dv" and not gaussian
    return mean * (0.8 if worse else 1), variance * (3 if worse else 1)


@pytest.mark.parametrize(("estimates", "expected"), [(as_in_the_paper, "confirmed"), (the_other_way, "contradicted")])
def test_every_sentence_of_section_5_1(made_up, verdicts, estimates, expected):
    found = verdicts(ANALYSIS.analyse(made_up(cells(), estimates), ARGUMENTS))
    assert len(found) == 2 * 4 + 2 * 6  # for each of two Gaussian settings, and for images and text
    assert set(found.values()) == {expected}, found


def test_an_estimator_that_clips_upward_wins_against_the_nominal_truth_only(made_up, verdicts):
    """DV finds the 0.9 bits per bit that are there, SMILE the nominal ones: which is better depends on the truth."""
    runs = made_up(cells(("text",)), lambda cell, bits: ((0.9 if cell["bound"] == "dv" else 1.0) * bits, 0.01))
    found = verdicts(ANALYSIS.analyse(runs, ARGUMENTS))
    assert found.of("No adv", "nominal") == {"contradicted"} and found.of("No adv", "decodable") == {"confirmed"}


def test_figures_have_the_oracle_and_both_truths(made_up):
    overview, *domains, unseen = ANALYSIS.analyse(made_up(cells(), as_in_the_paper), ARGUMENTS)
    assert [result.name for result in domains] == ["gaussian-10-sources", "gaussian-20-sources", "images", "text"]
    assert list(overview.text["critic"][:5]) == [*CRITICS, "oracle"]
    assert set(overview.text.loc[overview.text["critic"] == "oracle", "dv"]) == {"0.080 ± 0.003"}
    row = domains[-1].figures.set_index(["critic", "bound", "true_bits"]).loc["bilinear", "dv", 6]
    assert row["bias_bits"] == pytest.approx(-3.0, abs=0.05) and row["runs"] == 3
    assert row["decodable_bits"] == pytest.approx(5.4) and row["decodable_bits_error"] == 0.01
    assert row["decodable_mse_bits2"] == pytest.approx(0.02 + 2.4**2, rel=0.02)
    assert len(unseen.figures) == 4 * 4 * 2 * 2


def test_a_critic_that_diverged_is_shown_and_is_the_less_accurate(made_up, verdicts):
    def broken(cell, bits):
        return (math.nan, math.nan) if cell["critic"] == "bilinear" else as_in_the_paper(cell, bits)

    results = ANALYSIS.analyse(made_up(cells(("images",)), broken), ARGUMENTS)
    shown = results[0].text
    assert set(shown.loc[shown["critic"] == "bilinear", "dv"]) == {"diverged"}
    assert verdicts(results).of("notably inaccurate") == {"confirmed"}
    assert {12, 6} <= set(numbers(results[0].caption))


def test_curves_of_one_seed(made_up, trace_of, tmp_path):
    runs = made_up(cells(("images",), bounds=("dv",)))
    first = set(runs.loc[(runs["seed"] == 0) & (runs["bound"] == "dv"), "run_id"])
    assert drawn(save(ANALYSIS.analyse(runs, ARGUMENTS)[1], tmp_path / "curves"))
    assert {run for run, _ in trace_of} == first and len(trace_of) == len(CRITICS)


def test_runs_from_a_file_without_their_steps_have_no_curves(made_up, monkeypatch):
    def absent(run_id, name):
        raise LookupError(f"run {run_id} has no table {name!r}")

    monkeypatch.setattr("infoscope.tracking.table", absent)
    assert ANALYSIS.analyse(made_up(cells(("images",), bounds=("dv",))), ARGUMENTS)[1].draw is None
