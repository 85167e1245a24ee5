"""What a person sees in a browser after a sweep: the MLflow UI on its runs, and the
report.
"""

import json
import urllib.parse

import pandas as pd
import psutil
import pytest

from analysis import report
from analysis.common.claims import Claim
from analysis.common.tables import Page, Picture, Result, readable
from infoscope.tracking import parents, runs

pytestmark = pytest.mark.system

REPORT = "report-smoke.html"
QUESTION = "Which estimator is the most accurate?"
RESOURCES = (
    "performance.getEntriesByType('resource').filter(r => "
    "!r.name.startsWith('data:')).length"
)
NOTE = "what is said of this row and of no other, at some length. " * 12


@pytest.fixture(scope="module")
def recorded(finished):
    """The run of the sweep, and its cells."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(finished)
        return parents("estimator-choice")[0], runs("estimator-choice", "smoke")


def listed(names):
    return urllib.parse.quote(json.dumps(list(names)))


def test_the_page_of_a_sweep_leads_to_its_cells(browser, ui, recorded):
    """By the link in its description; they are named by what differs, with their fields
    and metrics.
    """
    parent, cells = recorded
    browser.open(
        f"{ui}/#/experiments/{parent.info.experiment_id}/runs/{parent.info.run_id}?workflowType=machine_learning"
    )
    browser.until_shown(QUESTION, "4 cells")
    link = (
        "[...document.links].filter(link => link.innerText.trim() === '4 "
        "cells')[0].href"
    )
    names = [tags["mlflow.runName"] for tags in cells["tags"]]
    assert len(set(names)) == 4
    browser.open(browser.value(link))
    browser.until_shown("4 matching runs", *names)


def test_the_ui_listens_on_this_machine_only(ui_server):
    address, server = ui_server
    process = psutil.Process(server.pid)
    everyone = [process, *process.children(recursive=True)]
    addresses = []
    for each in everyone:
        for one in each.net_connections(kind="inet"):
            if one.status == "LISTEN":
                addresses.append(one.laddr)
    assert {place.ip for place in addresses} == {"127.0.0.1"}
    assert urllib.parse.urlsplit(address).port in {place.port for place in addresses}


def test_a_sweep_opens_on_its_result_with_its_picture(browser, ui, recorded):
    """Table, decoded picture, and no tag that only programs read; a cell's page says
    the same of its tags.
    """
    parent, cells = recorded
    address = f"{ui}/#/experiments/{parent.info.experiment_id}/runs"
    for run_id in (parent.info.run_id, cells["run_id"].iloc[0]):
        browser.open(f"{address}/{run_id}?workflowType=machine_learning")
        browser.until_shown("infoscope.profile", "Description")
        shown = browser.text()
        for name in ("identity", "alive", "claim", "attempt", "cell:"):
            assert f"infoscope.{name}" not in shown
        if run_id == parent.info.run_id:
            browser.until(
                "[...document.images].filter(i => i.src.includes('get-artifact'))"
                ".some(i => i.naturalWidth > 100 && i.naturalWidth <= 520)"
            )


def test_the_report_is_an_artifact_of_the_sweep(browser, ui, recorded):
    parent, _ = recorded
    page = f"{ui}/#/experiments/{parent.info.experiment_id}/runs/{parent.info.run_id}/artifacts/analysis"
    browser.open(f"{page}?workflowType=machine_learning")
    browser.until_shown("estimator-choice", REPORT)
    name = (
        "[...document.querySelectorAll('div, span, a')].filter(e => "
        f"e.innerText.trim() === '{REPORT}').pop()"
    )
    browser.value(f"{name}.click()")
    browser.until("document.querySelector('iframe') !== null")
    shown = browser.value("document.querySelector('iframe').outerHTML")
    # what a store holds runs no script with the rights of the UI
    assert "sandbox" in shown


def test_the_report_has_its_pictures(browser, finished):
    """Every picture is decoded, and the page asks for nothing from elsewhere."""
    page = finished / "runs" / REPORT
    browser.open(page.as_uri())
    browser.until("document.readyState === 'complete'")
    browser.value("Promise.all([...document.images].map(image => image.decode()))")
    pictures = browser.value(
        "[...document.images].map(image => [image.naturalWidth, image.naturalHeight, "
        "image.alt])"
    )
    assert len(pictures) == page.read_text(encoding="utf-8").count("<img ") > 0
    for width, height, alt in pictures:
        assert width > 300
        assert height > 200
        assert alt.startswith("estimator-choice")
    assert browser.value(RESOURCES) == 0
    browser.until_shown("Infoscope", "claims of papers")


@pytest.fixture
def page(browser, finished):
    """The report in the browser, which is as wide and as bright as it was afterwards."""
    browser.open((finished / "runs" / REPORT).as_uri())
    browser.until(
        "document.readyState === 'complete' && "
        "document.querySelectorAll('th[tabindex]').length > 0"
    )
    yield browser
    browser.ask("Emulation.clearDeviceMetricsOverride")
    browser.ask("Emulation.setEmulatedMedia", features=[])


def test_claims_are_filtered_by_their_verdict(browser, tmp_path):
    claims = [
        Claim(f"sentence {number}", verdict, "")
        for number, verdict in enumerate(("undecided", "confirmed") * 2)
    ]
    result = Result(
        "made-up", pd.DataFrame(), pd.DataFrame({"a": ["1"]}), "", claims=claims
    )
    section = report.Section("made-up", "", [Picture(result)], name="made-up")
    (tmp_path / "page.html").write_text(
        report.render([section], "smoke"), encoding="utf-8"
    )
    browser.open((tmp_path / "page.html").as_uri())
    browser.until("document.querySelectorAll('select').length === 1")
    choice = "document.querySelector('select')"
    rows = "[...document.querySelector('.claims').tBodies[0].rows]"
    verdicts = ["all", "confirmed", "undecided"]
    assert (
        browser.value(f"[...{choice}.options].map(option => option.text)") == verdicts
    )
    for place, verdict in enumerate(verdicts):
        browser.value(
            f"{choice}.selectedIndex = {place}, {choice}.dispatchEvent(new "
            "Event('change'))"
        )
        shown = browser.value(
            f"{rows}.filter(row => row.checkVisibility()).map(row => "
            "row.cells[1].textContent)"
        )
        assert shown == [
            claim.statement for claim in claims if verdict in (claim.verdict, "all")
        ]


@pytest.mark.parametrize("scheme, dark", [("light", False), ("dark", True)])
def test_the_report_is_light_or_dark_and_fits_a_phone(page, scheme, dark):
    page.ask(
        "Emulation.setEmulatedMedia",
        features=[{"name": "prefers-color-scheme", "value": scheme}],
    )
    page.ask(
        "Emulation.setDeviceMetricsOverride",
        width=390,
        height=800,
        deviceScaleFactor=2,
        mobile=True,
    )
    colour = (
        "getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).slice(0, "
        "3).map(Number)"
    )
    page.until(f"({colour}.reduce((a, b) => a + b) < 384) === {str(dark).lower()}")
    page.until("document.documentElement.scrollWidth <= 391")


@pytest.mark.parametrize("scheme, dark", [("light", False), ("dark", True)])
def test_a_page_to_send_is_light_or_dark_and_fits_a_phone(
    browser, tmp_path, scheme, dark
):
    """Long notes beside figures do not squeeze a table to a column of words, and a long
    table is folded.
    """
    short = pd.DataFrame(
        {f"figure {place}": ["1.234 ± 0.010"] * 3 for place in range(12)}
    ).assign(note=NOTE)
    results = [
        Result(name, text, text, "A caption.")
        for name, text in (("a", short), ("b", pd.concat([short] * 50)))
    ]
    path = readable(
        [Picture(result) for result in results],
        tmp_path / "own",
        Page("Own", ["An answer.", "A sentence."]),
    )
    browser.ask(
        "Emulation.setEmulatedMedia",
        features=[{"name": "prefers-color-scheme", "value": scheme}],
    )
    browser.ask(
        "Emulation.setDeviceMetricsOverride",
        width=390,
        height=800,
        deviceScaleFactor=2,
        mobile=True,
    )
    browser.open(path.as_uri())
    browser.until_shown("An answer.", "table, 150 rows")
    browser.until("document.documentElement.scrollWidth <= 391")
    assert browser.value("matchMedia('(prefers-color-scheme: dark)').matches") is dark
    ink = (
        "getComputedStyle(document.body).color.match(/[0-9]+/g).slice(0, "
        "3).map(Number).reduce((a, b) => a + b)"
    )
    assert (browser.value(ink) > 384) is dark
    assert browser.value("document.documentElement.scrollHeight") < 2500
    browser.ask("Emulation.clearDeviceMetricsOverride")
    browser.ask("Emulation.setEmulatedMedia", features=[])


@pytest.mark.parametrize("width", [390, 1200])
def test_no_column_of_a_page_to_send_is_cut(browser, tmp_path, width):
    """Neither of a table with sentences nor of one with nine intervals; a phone has a
    line for each cell.
    """
    words = pd.DataFrame(
        {
            "score": ["MIG"],
            "value (95 %)": ["0.96 (0.95 to 0.97)"],
            "unit": [NOTE],
            "says": [NOTE],
        }
    )
    numbers = pd.DataFrame({f"z{place}": ["0.96 (0.95 to 0.97)"] for place in range(7)})
    content = Page("Own", ["An answer."], further={"Scores": words.assign(n="1,000")})
    path = readable(
        [Picture(Result("own", numbers, numbers, ""))], tmp_path / "own", content
    )
    browser.ask(
        "Emulation.setDeviceMetricsOverride",
        width=width,
        height=800,
        deviceScaleFactor=1,
        mobile=width < 500,
    )
    browser.open(path.as_uri())
    browser.until_shown("An answer.", "Scores", "1,000")
    cut = (
        "[...document.querySelectorAll('.wide')].filter(part => part.scrollWidth > "
        "part.clientWidth).length"
    )
    assert (
        browser.value(f"{cut} + +(document.documentElement.scrollWidth > {width + 1})")
        == 0
    )
    browser.ask("Emulation.clearDeviceMetricsOverride")
