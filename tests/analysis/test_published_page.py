"""The page of published figures: what was run is counted, hours overlap, claims add up."""

import json
import math

import pandas as pd
import pytest

from analysis import published_page
from analysis.common.claims import Claim, decided
from analysis.common.published import published_figures
from analysis.common.tables import Picture, Result
from analysis.mi_benchmark import critic_capacity, estimator_choice
from analysis.report import Section
from infoscope.estimators.result import Estimate
from infoscope.tracking.status import Status

MODULES = {"critic-capacity": critic_capacity, "estimator-choice": estimator_choice}
FIGURES = [
    {"place": "a", "quantity": "MSE", "published": 1.0, "ours": 1.1, "ours_error": 0.2},
    {"place": "b", "quantity": "MSE", "published": 1.0, "ours": 3.0, "ours_error": 0.1},
    {"place": "c", "quantity": "MSE", "published": 1.0, "ours": 5.0, "unlike": "data"},
    {"place": "d", "quantity": "MSE", "published": 1.0},
]


FALL = Estimate(-1.0, 0.1, n=3)


@pytest.fixture
def setting():
    return "published"


@pytest.fixture
def contents(tmp_path, monkeypatch, setting):
    """The page of one analysis with four published figures, of which three were run;
    another has claims and no page.
    """
    planned = Status("critic-capacity", {}, 40, 0, 0)
    monkeypatch.setattr(published_page, "status", lambda names, profile: [planned])
    work = {"laptop": 2.0, "paper": 5.0}
    monkeypatch.setattr(published_page, "mean_work", lambda name, label: work[label])
    rows = [row | {"runs": 3 if "ours" in row else math.nan} for row in FIGURES]
    claims = [
        decided("It falls.", FALL, "change", "bits", below=0.0),
        decided("It falls fast.", FALL, "change", below=-2.0),
        decided("It falls a bit.", Estimate(-1.0, 1.0, n=3), "change", below=0.0),
        Claim("It falls below.", "not tested", "not run."),
        decided("It rises.", FALL, "change", above=0.0)._replace(is_ours=True),
    ]
    result = Result(
        "t",
        pd.DataFrame(),
        pd.DataFrame(),
        "",
        claims=claims,
        against=published_figures("t 2", rows),
    )
    section = Section("critic-capacity", "", [Picture(result)])
    small = [decided("It rises.", FALL, "change", above=0.0)]
    small = Result("t", pd.DataFrame(), pd.DataFrame(), "", claims=small)
    small = Section("critic-capacity", "", [Picture(small)])
    sections = {"paper": small, "laptop": section}
    published_page.save(tmp_path, "critic-capacity", sections)
    published_page.save(tmp_path, "estimator-choice", {"laptop": small})
    facts = {
        "profile": "laptop",
        "setting": setting,
        "cells": 10,
        "seeds": 3,
        "hours": 5.0,
    }
    page = tmp_path / "critic-capacity.md"
    page.write_text(f"<!-- facts: {json.dumps(facts)} -->\n")
    return published_page.contents(tmp_path, MODULES)


def test_the_finding_counts_what_was_run_compared_and_decided(contents):
    """Of the figures in the published setting one differs by more than chance."""
    finding = contents["finding"]
    assert finding.startswith("2 published figures were run again in their published")
    assert "in 1 of 2 figures with several runs (0 by chance alone)" in finding
    assert "1 more stand beside runs in another setting; 1 were not run" in finding
    assert "Of 3 claims of papers that were tested 1 are confirmed (1 in" in finding
    assert finding.endswith("1 undecided (1); 1 were not tested.")


def test_claims_are_counted_and_those_that_fail_are_named(contents):
    """The page counts verdicts by analysis and shows what is contradicted."""
    (row,) = contents["claims"]
    assert row[0] == "Lee & Rhee 2024, section 5.2"
    confirmed, contradicted, undecided, not_tested, runs = row[3:]
    assert (confirmed, contradicted, undecided, not_tested, runs) == (1, 1, 1, 1, 3)
    ((link, claim, evidence),) = contents["contradicted"]
    assert link == "[critic-capacity](critic-capacity.md)"
    assert claim == "It falls fast."
    assert evidence.startswith("change: -1.000 (95 %: -1.196 to -0.804")


@pytest.mark.parametrize(
    "setting, count", [("published", 1), ("published, in part", 1), ("other", 0)]
)
def test_other_settings_contradict_no_paper(contents, count):
    """Neither do checks of our own, which are listed."""
    assert len(contents["contradicted"]) == count
    (rows,) = contents["every_claim"].values()
    assert [row[1] for row in rows if row[3] == "It rises."] == ["ours"]


def test_figures_without_claims_have_a_page(tmp_path, contents):
    (tmp_path / "claims" / "critic-capacity.csv").unlink()
    assert published_page.contents(tmp_path, MODULES)["claims"] == []


def test_claims_are_saved_with_the_interval_that_decides(contents, tmp_path):
    """A claim without a single deciding quantity has no interval."""
    claims = pd.read_csv(tmp_path / "claims" / "critic-capacity.csv")
    claims = claims[claims["profile"] == "laptop"].reset_index(drop=True)
    assert claims.loc[1, ["high", "below"]].tolist() == pytest.approx(
        [-0.804, -2.0], abs=1e-3
    )
    assert claims.loc[3, ["value", "low", "n"]].isna().all()


def test_every_figure_has_a_line(contents):
    (lines,) = contents["figures"].values()
    lines = list(lines)
    assert [line[0] for line in lines] == ["a: MSE", "b: MSE", "c: MSE", "d: MSE"]
    assert [line[5] for line in lines] == ["+0.3", "+10.0", "-", "-"]
    assert lines[3][3] == "not run"


def test_what_is_missing_costs_the_measured_pace_or_more_by_its_work(contents):
    first, second = contents["missing"]
    assert first[1:] == ["0 of 40", "20.0 (laptop)", "50.0"]
    assert second[2:] == ["unknown", "unknown"]


def test_the_most_that_a_search_costs_is_unknown():
    on_page = [{"profile": "laptop", "cells": 10, "hours": 5.0}]
    costs = published_page._hours_of("tune-critic", 40, on_page)
    assert costs == ["20.0 (laptop)", "unknown"]


def test_a_cost_without_data_says_why_it_is_unknown(monkeypatch):
    without_data = Status("critic-capacity", {}, None, 0, 0, note="file is not there")
    monkeypatch.setattr(published_page, "status", lambda names, profile: [without_data])
    ((_, done, cost, _),) = published_page._missing_rows({"critic-capacity": []})
    assert done == "0"
    assert cost == "unknown: its data or models are not here"


def test_nothing_published_makes_no_page(tmp_path):
    assert published_page.contents(tmp_path, MODULES) == {}


@pytest.mark.parametrize(
    "begins, seconds, expected",
    [
        ([0, 0], [3600, 3600], 1.0),
        ([0, 1800], [3600, 3600], 1.5),
        ([0, 600], [7200, 600], 2.0),
        ([7200, 0], [3600, 3600], 2.0),
    ],
)
def test_hours_in_which_runs_overlap_count_once(monkeypatch, begins, seconds, expected):
    monkeypatch.setattr(published_page, "sample_times", lambda run: [])
    start = pd.Timestamp(0, tz="UTC") + pd.to_timedelta(begins, unit="s")
    runs = pd.DataFrame({"run_id": ["a", "b"], "start": start, "seconds": seconds})
    assert published_page.hours(runs) == pytest.approx(expected)


def test_hours_leave_out_the_pause_of_an_interrupted_run(monkeypatch):
    """It worked for 20 minutes, and after five hours for another 40."""
    start = pd.Timestamp(0, tz="UTC")
    minutes = [10, 20, 320, 340]
    sampled = [start + pd.Timedelta(minutes=minute) for minute in minutes]
    monkeypatch.setattr(published_page, "sample_times", lambda run: sampled)
    runs = pd.DataFrame({"run_id": ["a"], "start": [start], "seconds": [6 * 3600]})
    assert published_page.hours(runs) == pytest.approx(1.0)
