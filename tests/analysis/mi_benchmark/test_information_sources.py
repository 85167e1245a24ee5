"""Figure 4 on made-up runs: which runs are in which panel, and the thresholds in both
directions.
"""

import math

import pandas as pd
import pytest

from analysis.common.tables import save
from analysis.mi_benchmark.information_sources import (
    ANALYSIS,
    AS_PUBLISHED,
    reliable_up_to,
)
from tests.analysis.mi_benchmark.grids import crossed
from tests.analysis.pictures import drawn

NUMBERS = 1, 4, 16, 100
ALL = "gaussian", "images", "text"
BECOME = "Estimates become"
IN_ALL = "1 bit in all"
PER_SOURCE = "1 bit per source"


def truths_of(number):
    return sorted({1.0, number / 2, float(number)})


def cells(*domains, bounds=("dv", "smile-inf")):
    combinations = []
    for domain in domains:
        for number in NUMBERS:
            in_nats = [number / math.log(2)] if domain == "gaussian" else []
            schedules = [[bits] for bits in truths_of(number) + in_nats]
            common = dict(domain=domain, sources=number, size=60, steps=20_000)
            combinations += crossed(
                **common, bound=[*bounds], seed=[0, 1, 2], schedule_bits=schedules
            )
    return combinations


def decoding(*domains):
    """What decodes the labels of the same data, at every true MI of a number of
    sources.
    """
    combinations = []
    for domain in domains:
        for number in NUMBERS:
            rows = {"rows": math.isqrt(number)} if domain == "images" else {}
            common = dict(domain=domain, sources=number, size=60, kind="decoding")
            combinations += crossed(**common, **rows, schedule_bits=[truths_of(number)])
    return combinations


def up_to(**limits):
    """Estimates that are right up to a domain's number of sources and half of the truth
    beyond it.
    """
    return lambda cell, bits: (
        (0.97 if cell["sources"] <= limits[cell["domain"]] else 0.5) * bits,
        0.1,
    )


AS_THE_PAPER_SAYS = up_to(gaussian=4, images=36, text=64)
EVERY = cells(*ALL) + decoding("images", "text")


def test_panels_have_the_same_claims_for_every_domain_but_the_published_one(judge):
    (result, *_), _ = judge(ANALYSIS, cells(*ALL))
    for panel, rows in result.figures.groupby("panel"):
        truths = rows.groupby("domain").apply(
            lambda part: tuple(zip(part["sources"], part["true_bits"].round(6)))
        )
        assert (truths.nunique() == 1) == (panel != AS_PUBLISHED)
    published = result.figures.query("panel == @AS_PUBLISHED and sources == 16")
    truth = published.groupby("domain")["true_bits"].first()
    assert truth.to_dict() == {
        "gaussian": pytest.approx(23.0831, abs=1e-4),
        "images": 1.0,
        "text": 16.0,
    }


def test_published_thresholds_hold_for_figures_that_agree(judge):
    _, verdicts = judge(ANALYSIS, EVERY, AS_THE_PAPER_SAYS, decodes=0.99)
    for panel in (AS_PUBLISHED, IN_ALL, PER_SOURCE):
        assert verdicts.of(BECOME, f" 4 sources: gaussian, {panel}") == {"confirmed"}
        # from 72 and 128 sources on: text cannot be judged by 100
        for truth in ("nominal", "decodable"):
            assert verdicts.of(BECOME, f" 36 sources: images, {panel}", truth) == {
                "confirmed"
            }
            assert verdicts.of(BECOME, f" 64 sources: text, {panel}", truth) == {
                "not tested"
            }
    assert verdicts.of("allow more sources") == {"confirmed"}


def test_the_finding_says_up_to_how_many_sources(judge):
    (result, *_), _ = judge(ANALYSIS, EVERY, up_to(gaussian=100, images=4, text=1))
    places = ("at least 100", "between 4 and 16", "between 1 and 4")
    for domain, place in zip(ALL, places):
        assert f"{place} sources for {domain} (3 runs)" in result.finding


def test_what_is_reliable_at_every_number_is_not_compared(judge):
    estimates = up_to(gaussian=100, images=100)
    _, verdicts = judge(ANALYSIS, cells("gaussian", "images"), estimates)
    assert verdicts.of("allow more sources", "nominal") == {"not tested"}


def test_thresholds_that_are_elsewhere_do_not_hold(judge):
    _, verdicts = judge(
        ANALYSIS, EVERY, up_to(gaussian=100, images=1, text=1), decodes=0.99
    )
    assert verdicts.of(BECOME) == {"contradicted"} == verdicts.of("allow more sources")


def test_the_number_of_sources_allowed_is_where_the_error_crosses_the_limit():
    rows = [
        [0.1, 0.15, 0.35],
        [0.1, 0.2, math.inf],
        [0.1, 0.1, 0.2],
        [0.3, 0.1, 0.1],
        [math.nan] * 3,
    ]
    errors = pd.DataFrame(rows, columns=[1, 4, 16])
    expected = pytest.approx([3.0, 2.0, 4.0, 0.0, math.nan], nan_ok=True)
    assert errors.apply(reliable_up_to, axis=1).tolist() == expected


def test_a_seed_that_was_not_run_is_not_taken_for_diverged(judge):
    def is_run(cell):
        return cell["seed"] == 0 or cell["sources"] != NUMBERS[-1]

    some = [cell for cell in cells("gaussian") if is_run(cell)]
    (result, *_), _ = judge(ANALYSIS, some)
    assert "diverged" not in result.caption.splitlines()[0]


def test_diverged_estimates_are_unreliable(judge, tmp_path):
    def diverging(cell, bits):
        if cell["sources"] > 4:
            return (math.nan, math.nan)
        return (0.97 * bits, 0.1)

    results, verdicts = judge(ANALYSIS, cells("gaussian"), diverging)
    assert verdicts.of(BECOME) == {"confirmed"}
    assert len(verdicts) == 4
    assert drawn(save(results[0], tmp_path / "sources"))
    assert results[1].draw is None


def test_estimates_of_what_can_be_decoded_are_reliable_against_that_truth_only(judge):
    """Beyond 4 sources half of the nominal MI can be decoded, and that half is
    estimated.
    """
    trained_cells = cells("images") + decoding("images")
    (result, *_), _ = judge(
        ANALYSIS,
        trained_cells,
        up_to(images=4),
        decodes=lambda cell: 0.97 if cell["sources"] <= 4 else 0.5,
    )
    decodable = next(
        one
        for one in result.claims
        if IN_ALL in one.statement and "decodable" in one.statement
    )
    assert decodable.verdict == "contradicted"
    assert "100 reliable" in decodable.evidence
    row = result.figures.set_index(["sources", "panel", "bound"]).loc[16, IN_ALL, "dv"]
    assert row["decodable_bits"] == pytest.approx(0.5)
    assert row["decodable_mse_bits2"] == pytest.approx(0.1, rel=0.02)
