"""Claims: the interval of what was measured decides, and stands in the evidence."""

import math

import pytest

from analysis.common.claims import decided, verdict_of_all, with_interval
from infoscope.estimators.result import Estimate
from infoscope.metrics import replicated

INF = math.inf
NAN = math.nan


@pytest.mark.parametrize(
    "interval, limits, verdict",
    [
        ((-2.0, -1.0), {"below": 0.0}, "confirmed"),
        ((1.0, 2.0), {"below": 0.0}, "contradicted"),
        ((-1.0, 1.0), {"below": 0.0}, "undecided"),
        ((0.0, 0.0), {"below": 0.0}, "undecided"),  # equal is not less
        ((-INF, -1.0), {"below": 0.0}, "confirmed"),
        ((1.0, INF), {"below": 0.0}, "contradicted"),
        ((NAN, NAN), {"below": 0.0}, "undecided"),
        ((0.6, 0.9), {"above": 0.5}, "confirmed"),
        ((0.1, 0.4), {"above": 0.5}, "contradicted"),
        ((-0.1, 0.1), {"above": -0.2, "below": 0.2}, "confirmed"),
        ((-0.3, 0.1), {"above": -0.2, "below": 0.2}, "undecided"),
        ((-0.9, -0.3), {"above": -0.2, "below": 0.2}, "contradicted"),
    ],
)
def test_an_interval_on_one_side_of_the_limits_decides(interval, limits, verdict):
    measured = Estimate(sum(interval) / 2, n=3, interval=interval)
    claim = decided("It falls.", measured, "change", "of 1", **limits)
    assert claim.verdict == verdict
    assert (claim.measured.n, claim.measured.unit) == (3, "of 1")
    assert claim.measured.interval == interval


@pytest.mark.parametrize(
    "measured, evidence",
    [
        (replicated([-0.1, -0.2, -0.3]), "-0.200 bits (95 %: -0.448 to +0.048, 3 runs"),
        (replicated([-0.1]), "-0.100 bits (one run, no interval"),
        (
            Estimate(INF, n=2, interval=(0.5, INF)),
            "diverged or not run",
        ),
    ],
)
def test_the_evidence_is_what_was_measured(measured, evidence):
    claim = decided(
        "It falls.", measured, "change", "bits", below=0.0, more="; limit 0"
    )
    assert claim.evidence.startswith(f"change: {evidence}")
    assert claim.evidence.endswith("; limit 0.")
    assert str(claim).startswith(f"Claim: It falls: {claim.verdict} (change: ")


@pytest.mark.parametrize(
    "verdicts, verdict",
    [
        (["confirmed", "confirmed"], "confirmed"),
        (["confirmed", "not tested"], "not tested"),
        (["undecided", "not tested"], "undecided"),
        (["undecided", "contradicted"], "contradicted"),
    ],
)
def test_a_sentence_holds_where_all_of_its_parts_do(verdicts, verdict):
    assert verdict_of_all(verdicts) == verdict


ONE = replicated([0.1])
THREE = replicated([0.1, 0.2, 0.3])


@pytest.mark.parametrize(
    "mean, text",
    [
        (THREE, "+0.200 bits (95 %: -0.048 to +0.448, 3 runs)"),
        (ONE, "+0.100 bits (one run, no interval)"),
    ],
)
def test_means_have_their_interval_or_the_reason_why_there_is_none(mean, text):
    assert with_interval(mean, "bits") == text


def test_one_training_tests_nothing():
    claim = decided("It falls.", ONE, "change", below=0.0, over="trainings")
    assert claim.verdict == "not tested"
    assert claim.evidence == "change: +0.100 (n = 1, no interval)."
