"""What a person sees in a browser after a sweep: the MLflow UI on its runs, and the report."""

import json
import re
import urllib.parse

import pytest

from infoscope.tracking import parents, runs

REPORT = "report-smoke.html"


@pytest.fixture(scope="module")
def recorded(finished):
    """The run of the sweep, and its cells."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(finished)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        return parents("estimator-choice")[0], runs("estimator-choice", "smoke")


def listed(names):
    return urllib.parse.quote(json.dumps(list(names)))


def test_the_link_that_is_printed_shows_the_runs(browser, ui, recorded, finished):
    """Best first, with what they were run with, and what the sweep asks above them."""
    (page,) = re.findall(r"estimator-choice +(http://127\.0\.0\.1:\S+)", (finished / "ui.log").read_text())
    assert page.startswith(ui)
    browser.open(page)
    names = [tags["mlflow.runName"] for tags in recorded[1].sort_values("mse_bits2")["tags"]]
    assert len(set(names)) == 4
    browser.until_shown("Which estimator is the most accurate?", "estimator-choice smoke", "mse_bits2", "bound", *names)
    shown = browser.text()
    for value in recorded[1]["mse_bits2"]:
        assert str(value)[:7] in shown
    places = "[...document.querySelectorAll('a')].filter(a => a.href.includes('/runs/')).map(a => a.innerText.trim())"
    assert [name for name in browser.value(places) if name in names] == names


def test_the_list_of_experiments_says_what_each_asks(browser, ui):
    browser.open(f"{ui}/#/experiments?workflowType=machine_learning")
    browser.until_shown("estimator-choice", "Which estimator is the most accurate?")


def test_runs_are_compared(browser, ui, recorded):
    parent, cells = recorded
    experiment = parent.info.experiment_id
    browser.open(f"{ui}/#/compare-runs?runs={listed(cells['run_id'])}&experiments={listed([experiment])}")
    browser.until_shown("Comparing 4 Runs from 1 Experiment", "Metrics")
    browser.until_shown("mse_bits2", "at 2 bits/mse_bits2", *(tags["mlflow.runName"] for tags in cells["tags"]))


def test_a_sweep_opens_on_its_result_with_its_picture(browser, ui, recorded):
    """Table, decoded picture, and no tag that only programs read; a cell's page says the same of its tags."""
    parent, cells = recorded
    address = f"{ui}/#/experiments/{parent.info.experiment_id}/runs"
    for run_id in (parent.info.run_id, cells["run_id"].iloc[0]):
        browser.open(f"{address}/{run_id}?workflowType=machine_learning")
        browser.until_shown("infoscope.profile", "Description")
        shown = browser.text()
        assert not [name for name in ("identity", "alive", "claim", "attempt", "cell:") if f"infoscope.{name}" in shown]
        if run_id == parent.info.run_id:
            browser.until(
                "[...document.images].filter(i => i.src.includes('get-artifact'))"
                ".some(i => i.naturalWidth > 100 && i.naturalWidth <= 520)"
            )


def test_the_report_is_an_artifact_of_the_sweep(browser, ui, recorded):
    parent, _ = recorded
    page = f"{ui}/#/experiments/{parent.info.experiment_id}/runs/{parent.info.run_id}/artifacts/analysis"
    browser.open(f"{page}?workflowType=machine_learning")
    browser.until_shown("estimator-choice smoke", REPORT)
    name = f"[...document.querySelectorAll('div, span, a')].filter(e => e.innerText.trim() === '{REPORT}').pop()"
    browser.value(f"{name}.click()")
    browser.until("document.querySelector('iframe') !== null")
    shown = browser.value("document.querySelector('iframe').outerHTML")
    assert "sandbox" in shown  # what a store holds runs no script with the rights of the UI


def test_the_report_has_its_pictures(browser, finished):
    """Every picture is decoded, and the page asks for nothing from elsewhere."""
    page = finished / "runs" / REPORT
    browser.open(page.as_uri())
    browser.until("document.readyState === 'complete'")
    browser.value("Promise.all([...document.images].map(image => image.decode()))")
    pictures = browser.value("[...document.images].map(image => [image.naturalWidth, image.naturalHeight, image.alt])")
    assert len(pictures) == page.read_text(encoding="utf-8").count("<img ") > 0
    assert all(width > 300 and height > 200 and alt.startswith("estimator-choice") for width, height, alt in pictures)
    assert (
        browser.value("performance.getEntriesByType('resource').filter(r => !r.name.startsWith('data:')).length") == 0
    )
    browser.until_shown("Infoscope", "All claims", "No estimator is the most accurate in every domain.")
