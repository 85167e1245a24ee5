"""The pages of docs/results on made-up runs: what is there is shown, what is not is said, what comes from a store is no
markup.
"""

import csv
import itertools
import json
import math
import re

import pandas as pd
import pytest

from analysis import docs_results, report
from analysis.sample_estimators import known_laws

LAW = {
    "collection": "everyday", "n": 500, "block": 0, "truth": 1.0, "truth_error": 0.0, "bias": 0.1,
    "squared_error": 0.02, "absolute_error": 0.1, "width": 0.4, "estimate_seconds": 0.5, "memory_mib": 3.0,
    "labels_error": math.nan, "version": "1", "tags": {"infoscope.code": "abc"}, "start": pd.Timestamp("2026-01-01"),
}  # fmt: skip


def asked(law, method, sets, profile="laptop"):
    """A run of the exam of which all but one interval hold the truth."""
    counts = {"sets": sets, "answered": sets, "intervals": sets, "covered": sets - 1}
    return LAW | counts | {"law": law, "method": method, "profile": profile}


@pytest.fixture
def store(made_up, monkeypatch, tmp_path):
    """Runs of table 3 under two profiles, and of the exam, of which one was asked again with more data sets."""
    monkeypatch.chdir(tmp_path)
    bounds_and_seeds = itertools.product(("dv", "js"), (0, 1))
    cells = [dict(domain="text", bound=bound, seed=seed, schedule_bits=[2.0]) for bound, seed in bounds_and_seeds]
    laws = [asked("a<b>|c", "ksg", 4), asked("a<b>|c", "ksg", 1, "laptop sets=1"), asked("b", "gcmi", 4)]
    known = {
        "estimator-choice": made_up(cells).assign(profile="laptop; smoke"),
        "known-laws": pd.DataFrame(laws),
        "nuisance": made_up([dict(domain="text", bound="dv", seed=0)]).assign(profile="smoke"),
    }

    def runs(experiment, profile=None):
        found = known.get(experiment, pd.DataFrame({"profile": []}))
        if profile is not None:
            found = found[[profile in labels.split("; ") for labels in found["profile"]]]
        if found.empty:
            raise LookupError(f"no finished runs of {experiment!r}")
        return found

    for module in (report, docs_results):
        monkeypatch.setattr(module, "runs", runs)
    return tmp_path / "docs" / "results"


def test_what_was_run_has_a_page_and_what_was_not_is_said(store, capsys):
    assert docs_results.main([]) == 0
    written = {path.name for path in store.glob("*.md")}
    assert written == {"index.md", "estimator-choice.md", "known-laws.md", "leaderboard.md"}  # smoke only tries things
    page = (store / "estimator-choice.md").read_text()
    assert "**Not run** in full, which is: `make sweep-estimator-choice PROFILE=paper`" in page
    assert "## Profile laptop" in page and "## Profile smoke" not in page and "published" in page
    pictures = re.findall(r"!\[(.+)\]\((.+)\)", page)
    assert pictures and all(len(text) > 10 and (store / name).stat().st_size > 1000 for text, name in pictures)
    index = (store / "index.md").read_text()
    assert "[estimator-choice](estimator-choice.md)" in index
    assert re.search(r"\| nuisance \|.*not run: `make sweep-nuisance PROFILE=paper`", index)
    assert set(capsys.readouterr().out.split()) >= {f"docs/results/{name}" for name in written}


def test_every_row_of_the_leaderboard_names_its_command_and_counts_a_data_set_once(store):
    docs_results.main(["known-laws"])
    rows = list(csv.DictReader((store / "leaderboard.csv").open()))
    assert [(row["law"], row["method"], row["answered"]) for row in rows] == [
        ("a<b>|c", "ksg", "4"),
        ("b", "gcmi", "4"),
    ]
    assert rows[1]["command"] == (
        "make sweep-known-laws PROFILE=paper SET='collections=everyday laws=b methods=gcmi sizes=500 sets=4 blocks=0'"
    )
    told = json.loads((store / "leaderboard.json").read_text())
    assert [float(row["rmse"]) for row in rows] == pytest.approx([row["rmse"] for row in told["rows"]])
    assert told["rows"][0]["rmse"] == pytest.approx(math.sqrt(0.02)) and told["units"]["rmse"] == "nats"
    shown = (store / "leaderboard.md").read_text()
    assert "75 % (19 to 99)" in shown and "0.100 ± 0.058" in shown


def test_the_command_of_a_row_names_a_cell_of_the_sweep():
    """What `make` is given plans exactly the cell that it is the row of."""
    from sweeps.sample_estimators.known_laws import SWEEP

    for key in (("everyday", "sparse-table", 500, "shrinkage"), ("cost", "normal-2-of-20", 5000, "ksg")):
        text = docs_results.reproduced(*key, sets=[1], blocks=[0])
        settings = dict(word.split("=") for word in re.search(r"SET='(.*)'", text)[1].split())
        _, profile = SWEEP.profile(docs_results.FULL, settings)
        (cell,) = SWEEP.cells(profile)
        assert tuple(cell[name] for name in known_laws.GROUP) == key and cell["sets"] == 1


def test_pages_of_other_stores_stay(store):
    store.mkdir(parents=True)
    (store / "toy-model.md").write_text("# toy-model\n\n## Profile paper\n")
    docs_results.main(["known-laws"])
    assert re.search(r"\[toy-model\]\(toy-model.md\) \|.*\| run \| - \|", (store / "index.md").read_text())


def test_an_unknown_name_is_one_sentence_and_writes_nothing(store, capsys):
    assert docs_results.main(["known-lows"]) == 2
    assert "error: an analysis must be one of critic-architecture" in capsys.readouterr().err and not store.exists()


def test_text_of_a_store_is_no_markup(store):
    assert docs_results.escaped("a|b <script> [x](y) `c_d` e_f") == "a\\|b &lt;script&gt; \\[x](y) `c_d` e\\_f"
    docs_results.main(["known-laws"])
    assert "a&lt;b&gt;\\|c" in (store / "leaderboard.md").read_text()
