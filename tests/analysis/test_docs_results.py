"""The pages of docs/results on made-up runs: what is there is shown, what is not is
said, what comes from a store is no markup.
"""

import dataclasses
import math
import re

import pandas as pd
import pytest

from analysis import docs_results, published_page, report
from infoscope.command_line import run_command
from infoscope.tracking.status import Status
from tests.analysis.mi_benchmark.grids import crossed
from tests.analysis.pictures import numbers
from tests.analysis.runs import RUN

SWEEP = "make sweep-estimator-choice"
LAW = RUN | {
    "collection": "everyday", "n": 500, "block": 0, "true_nats": 1.0, "true_nats_error": 0.0, "bias_nats": 0.1,
    "mse_nats2": 0.02, "mean_absolute_error_nats": 0.1, "mean_width_nats": 0.4, "estimate_seconds": 0.5,
    "memory_mib": 3.0, "labels_error": math.nan,
}  # fmt: skip


def asked(law, method, sets, profile="laptop"):
    """A run of the exam of which all but one interval hold the truth."""
    counts = {
        "sets": sets,
        "answered": sets,
        "intervals": sets,
        "covering_intervals": sets - 1,
    }
    return LAW | counts | {"law": law, "method": method, "profile": profile}


@pytest.fixture
def store(made_up, monkeypatch, tmp_path, sketched):
    """Runs of table 3 under two profiles, and of the exam, of which one was asked again
    with more data sets.
    """
    monkeypatch.chdir(tmp_path)
    cells = crossed(domain="text", bound=["dv", "js"], seed=[0, 1])
    laws = [
        asked("a<b>|c", "ksg", 4),
        asked("a<b>|c", "ksg", 1, "laptop sets=1"),
        asked("b", "gcmi", 4),
    ]
    laws.append(asked("c", "mine:half", 4))
    runs_of_sweep = {
        "estimator-choice": made_up(cells).assign(profile="laptop; smoke"),
        "known-laws": pd.DataFrame(laws),
        "nuisance": made_up([dict(domain="text", bound="dv", seed=0)]).assign(
            profile="smoke"
        ),
    }

    def runs(experiment, profile=None):
        selected = runs_of_sweep.get(experiment, pd.DataFrame({"profile": []}))
        if profile is not None:
            selected = selected[
                [profile in labels.split("; ") for labels in selected["profile"]]
            ]
        if selected.empty:
            raise LookupError(f"no finished runs of {experiment!r}")
        return selected

    for module in (report, docs_results):
        monkeypatch.setattr(module, "runs", runs)
    return tmp_path / "docs" / "results"


def test_what_was_run_has_a_page_and_what_was_not_is_said(store):
    assert run_command(docs_results.COMMAND, []) == 0
    written = {path.name for path in store.glob("*.md")}
    # smoke only tries things
    assert written == {
        "index.md",
        "published.md",
        "estimator-choice.md",
        "known-laws.md",
    }
    page = (store / "estimator-choice.md").read_text()
    title, finding, *_ = page.split("\n\n")
    assert title.startswith("# Table 3")
    assert finding.startswith(
        "**Against the nominal MI js and dv have the least MSE for "
    )
    assert "## Profile laptop" in page
    assert "## Profile smoke" not in page
    assert f"`{SWEEP} PROFILE=paper`" in page
    pictures = re.findall(r"!\[(.+)\]\((.+)\)", page)
    assert pictures
    assert all((store / name).exists() for _, name in pictures)
    index = (store / "index.md").read_text()
    assert "](estimator-choice.md)" in index
    assert "`make sweep-nuisance PROFILE=paper`" in index


def row_of(store):
    """The cells of an analysis' row in the list of all pages."""
    row = next(
        line
        for line in (store / "index.md").read_text().splitlines()
        if "](estimator-choice.md) |" in line
    )
    return row.strip("| ").split(" | ")


@pytest.mark.parametrize(
    "done, cells, told", [(2, 5, [2, 5]), (5, 5, []), (2, None, [2])]
)
def test_a_full_setting_of_which_cells_are_missing_is_not_said_to_be_run(
    store, monkeypatch, done, cells, told
):
    """Nor is a folder of this machine, which the note may name."""
    runs = report.runs
    state = Status(
        "estimator-choice", {"done": done}, cells, 0, 0, "/home/me/data is gone"
    )
    for module in (report, docs_results):
        monkeypatch.setattr(
            module, "runs", lambda *words: runs(words[0]).assign(profile="paper")
        )
    monkeypatch.setattr(docs_results, "status", lambda names, profile: [state])
    run_command(docs_results.COMMAND, ["estimator-choice"])
    page = (store / "estimator-choice.md").read_text()
    assert "## Profile paper" in page
    assert "/home/me" not in page
    said = re.findall(rf"\*\*{docs_results.IN_PART}(.*?)\*\*", page)
    assert [numbers(one) for one in said] == ([told] if told else [])
    # the list is written of the pages that are there
    run_command(docs_results.COMMAND, ["nuisance"])
    assert row_of(store)[2] == (f"paper, {said[0]}" if told else "paper")


def test_items_of_the_data_stay_out_of_pages(store, monkeypatch):
    section = report.section

    def quoting(module, profile):
        original = section(module, profile)
        replace = dataclasses.replace
        pictures = [
            replace(one, result=replace(one.result, quotes=True))
            for one in original.pictures
        ]
        return replace(original, pictures=pictures)

    monkeypatch.setattr(docs_results, "section", quoting)
    run_command(docs_results.COMMAND, ["estimator-choice"])
    page = (store / "estimator-choice.md").read_text()
    assert "Quotes items" in page
    assert "| domain |" not in page
    assert not list(store.glob("*.png"))


def test_a_long_table_is_a_file_beside_the_page(store, monkeypatch):
    monkeypatch.setattr(docs_results, "MAX_PAGE_ROWS", 2)
    run_command(docs_results.COMMAND, ["known-laws"])
    page = (store / "known-laws.md").read_text()
    (name,) = re.findall(r"\[Table of 3 rows, as CSV\]\((.+-laws\.csv)\)", page)
    rows = pd.read_csv(store / name, comment="#")
    assert rows["law"].tolist() == ["a<b>|c", "b", "c"]
    assert rows["answered"].tolist() == [4, 4, 4]
    assert rows["squared_error"].tolist() == pytest.approx(
        [0.02 / math.log(2) ** 2] * 3
    )


def test_files_that_a_page_shows_no_longer_are_removed(store, monkeypatch):
    monkeypatch.setattr(docs_results, "MAX_PAGE_ROWS", 2)
    run_command(docs_results.COMMAND, ["known-laws"])
    (long,) = store.glob("*-laws.csv")
    other = store / "other.csv"
    other.touch()
    monkeypatch.setattr(docs_results, "MAX_PAGE_ROWS", 100)
    run_command(docs_results.COMMAND, ["known-laws"])
    assert not long.exists()
    assert other.exists()


def test_pages_of_other_stores_stay(store):
    store.mkdir(parents=True)
    (store / "toy-model.md").write_text(f"{docs_results.HEADING}paper\n")
    run_command(docs_results.COMMAND, ["known-laws"])
    assert re.search(
        r"\]\(toy-model.md\) \| - \| paper \|", (store / "index.md").read_text()
    )


def test_a_page_of_more_cells_stays(store, monkeypatch, capsys):
    """As after `make sweep-NAME SET=...` in a new working copy: the command that adds
    the published cells is named.
    """
    assert run_command(docs_results.COMMAND, ["estimator-choice"]) == 0
    before = {path: path.read_bytes() for path in store.glob("estimator-choice*")}
    runs = report.runs
    for module in (report, docs_results):
        monkeypatch.setattr(module, "runs", lambda *words: runs(*words).iloc[:2])
    capsys.readouterr()
    assert run_command(docs_results.COMMAND, ["estimator-choice"]) == 1
    assert {path: path.read_bytes() for path in before} == before
    said = capsys.readouterr().err
    assert numbers(said) == [4, 2]
    assert "make runs-load" in said
    assert said.count("\n") == 1


def test_an_unknown_name_writes_nothing(store):
    assert run_command(docs_results.COMMAND, ["known-lows"]) == 2
    assert not store.exists()


def test_text_of_a_store_is_no_markup(store):
    assert (
        docs_results.escaped("a|b <script> [x](y) `c_d` e_f")
        == "a\\|b &lt;script&gt; \\[x](y) `c_d` e\\_f"
    )
    run_command(docs_results.COMMAND, ["known-laws"])
    assert "a&lt;b&gt;\\|c" in (store / "known-laws.md").read_text()


@pytest.mark.parametrize(
    "rows, line, titles",
    [
        (
            [("a", 3, "-"), ("b", 3, "-"), ("c", 3, "-")],
            "runs: 3; paper: none.",
            "| x |",
        ),
        ([("a", 3, None), ("b", 3, "1"), ("c", 3, None)], "runs: 3.", "| x | paper |"),
        ([("a", 3, "-"), ("b", 3, "-")], "", "| x | runs | paper |"),
        ([("a", 1, "-"), ("b", 2, "1"), ("c", 3, "-")], "", "| x | runs | paper |"),
        ([("a", 1, "-")] * 3, "", "| x | runs | paper |"),
    ],
)
def test_what_all_rows_have_in_common_is_said_once(rows, line, titles):
    text = docs_results.short_table(["x", "runs", "paper"], rows)
    beginning = f"In every row: {line}\n\n" if line else ""
    assert text.startswith(f"{beginning}{titles}\n")


def test_a_shortened_table_keeps_its_cells():
    """Numbers and links are shown as they are."""
    link = published_page.Link("[a](a.md)")
    rows = [(link, 1, 0.5, "x"), (link, 2, 0.25, "x"), ("b", 3, 2, "x")]
    text = docs_results.short_table("abcd", rows)
    assert text.splitlines()[4:] == [
        "| [a](a.md) | 1 | 0.5 |",
        "| [a](a.md) | 2 | 0.25 |",
        "| b | 3 | 2 |",
    ]
