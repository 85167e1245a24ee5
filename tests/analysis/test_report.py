"""The report on made-up runs: everything that is there is on it, what is not is said,
and markup is escaped.
"""

import base64
import math
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest

from analysis import report
from analysis.common.tables import Analysis
from analysis.mi_benchmark import estimator_choice, nuisance, representation_dimension
from infoscope.command_line import run_command
from tests.analysis.mi_benchmark.grids import crossed
from tests.analysis.pictures import numbers
from tests.analysis.runs import analysed


class Tags(HTMLParser):
    """The tags of a page, with the attributes of each."""

    def __init__(self, text):
        super().__init__()
        self.seen = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def of(self, tag, attribute):
        return [
            attributes[attribute]
            for name, attributes in self.seen
            if name == tag and attribute in attributes
        ]


@pytest.fixture
def store(made_up, monkeypatch, tmp_path, sketched):
    """A record with made-up runs of two sweeps, in an empty folder; gives what was
    attached.
    """
    monkeypatch.chdir(tmp_path)
    table_3 = crossed(
        domain=["gaussian", "text"],
        bound=["dv", "smile-inf"],
        seed=[0, 1, 2],
        schedule_bits=[[2.0, 10.0]],
    )
    common = dict(
        domain="images", bound="dv", sources=1, schedule_bits=[[1.0]], steps=20_000
    )
    table_4 = crossed(**common, size=[10, 100], seed=[0, 1, 2])
    known = {
        "estimator-choice": made_up(table_3),
        "representation-dimension": made_up(table_4),
    }

    def runs(experiment, profile=None):
        if experiment not in known or profile not in (None, "laptop"):
            raise LookupError(
                f"no finished runs of {experiment!r} under profile {profile!r}"
            )
        return known[experiment]

    attached = []

    def attach(experiment, profile, paths):
        if experiment == "representation-dimension":
            raise LookupError("no invocation has finished")
        attached.append((experiment, profile, [path.exists() for path in paths]))

    monkeypatch.setattr(report, "runs", runs)
    monkeypatch.setattr(report, "attach", attach)
    return known, attached


def written(capsys, status=0):
    assert run_command(report.COMMAND, ["--profile", "laptop"]) == status
    output = capsys.readouterr()
    with open(output.out.strip(), encoding="utf-8") as file:
        return file.read(), output.err


def test_the_page_has_every_table_picture_claim_and_gap(store, capsys):
    text, warnings = written(capsys)
    tags = Tags(text)
    results = []
    for module in (estimator_choice, representation_dimension):
        runs = report.runs(module.ANALYSIS.experiment, "laptop")
        results += analysed(module.ANALYSIS, runs)
    images = tags.of("img", "src")
    assert len(images) == sum(result.draw is not None for result in results) == 3
    for source in images:
        assert base64.b64decode(
            source.removeprefix("data:image/png;base64,")
        ).startswith(b"\x89PNG")
    assert text.count("<tbody>") == 1 + len(results)
    assert text.count('class="verdict ') == sum(
        len(result.claims) for result in results
    )
    shown = tags.of("section", "id")
    known = {report.name_of(module) for module in report.ORDER}
    assert shown == ["estimator-choice", "representation-dimension"]
    assert {*tags.of("li", "id")} == known - {*shown}
    assert "make sweep-nuisance PROFILE=laptop</code>" in text
    assert not re.search(r'(src|href)="(?!data:|#)', text)
    assert store[1] == [("estimator-choice", "laptop", [True])]
    assert "representation-dimension" in warnings


@pytest.fixture
def invocation(monkeypatch):
    """Every experiment is number 7, its newest invocation all."""
    info = SimpleNamespace(experiment_id="7", run_id="all")
    monkeypatch.setattr(
        report, "parents", lambda experiment, profile=None: [SimpleNamespace(info=info)]
    )


def test_sections_link_to_their_runs(store, invocation, capsys, monkeypatch):
    """At the server where there is one, without a password."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://name:hidden-one@host.example/")
    text, _ = written(capsys)
    address = "https://host.example/#"
    assert text.count(f'<a href="{address}/experiments/7/runs/all?') == 2
    assert "hidden-one" not in text


def test_what_comes_from_the_store_is_escaped(store, capsys):
    runs = store[0]["estimator-choice"]
    store[0]["estimator-choice"] = runs.assign(
        pool="<script>alert(1)</script>",
        tags=[{"infoscope.code": "<img src=x onerror=alert(2)>"}] * len(runs),
    )
    text, _ = written(capsys)
    assert text.count("<script") == 1
    assert "onerror=alert(2)&gt;" in text
    assert "<img src=x" not in text
    assert "&lt;script&gt;alert(1)" in text


@pytest.mark.parametrize("error", [KeyError("mixture"), ValueError("no runs")])
def test_one_broken_analysis_leaves_the_others(store, capsys, monkeypatch, error):
    def broken(runs, arguments):
        raise error

    monkeypatch.setattr(
        representation_dimension,
        "ANALYSIS",
        Analysis("representation-dimension", broken),
    )
    text, errors = written(capsys, status=1)
    assert error.args[0] in text
    assert text.count("<img ") == 2
    assert errors.splitlines()[-1].startswith("error: representation-dimension:")


def test_nothing_to_show(store, capsys, monkeypatch):
    """What was never run is counted beside what was run under another profile; not a
    line for each of all sweeps.
    """
    runs_of_all = report.runs

    def runs(experiment, profile=None):
        if experiment not in store[0]:
            raise LookupError(f"{report.NEVER}{experiment!r}")
        return runs_of_all(experiment, profile)

    monkeypatch.setattr(report, "runs", runs)
    assert run_command(report.COMMAND, ["--profile", "paper"]) == 2
    first, *others, last = capsys.readouterr().err.splitlines()
    assert "`make report PROFILE=laptop`" in first
    assert [line.split(":")[0].strip() for line in others] == [*store[0]]
    assert numbers(last) == [len(report.ORDER) - 2]


def table_of(runs):
    return analysed(estimator_choice.ANALYSIS, runs)[0]


def test_what_diverged_is_counted_apart(made_up):
    result = table_of(
        made_up(
            [dict(domain="gaussian", bound="dv")],
            lambda cell, bits: (math.nan, math.nan),
        )
    )
    ran = result.against[result.against["runs"] > 0]
    assert ran["ours"].isna().sum() == len(ran)
    (only,) = report.differences(result)
    assert numbers(only) == [len(ran)]


def test_no_command_for_a_profile_that_a_sweep_may_not_have(store):
    command = "make sweep-nuisance PROFILE=laptop SET='seeds=1 steps=40'"
    assert report.make_command("nuisance", "laptop seeds=1 steps=40") == command
    part = report.section(nuisance, "paper-4bits")
    assert not part.command
    assert not part.failed
    assert "'paper-4bits'" in part.problem
