"""What runs say of themselves in MLflow, whatever their names and settings hold."""

import re

import pytest

from infoscope.tracking import notes
from infoscope.tracking.checks import TAG_LENGTH

CELL = {"bound": "dv", "schedule_bits": (2.0, 6.0), "seed": 0}


def links(note):
    return dict(re.findall(r"(?<!\\)\[((?:[^\]\\]|\\.)*)\]\(([^)]*)\)", note))


def test_the_page_of_a_cell_names_its_fields_and_links_to_its_sweep():
    note = notes.cell_note("Which one?", "demo", "smoke", CELL, "7", "parent")
    assert "Which one?" in note and "`bound=dv`, `schedule_bits=2.0,6.0`, `seed=0`" in note
    found = links(note)
    run, kind = "#/experiments/7/runs/parent", "?workflowType=machine_learning"
    assert found["demo smoke"] == run + kind
    assert found["tables and figures"] == f"{run}/artifacts/analysis{kind}"
    assert found["all its cells"].startswith(f"#/experiments/7/runs{kind}&searchFilter=tags.%60mlflow.parentRunId")


def test_results_share_a_row_by_their_name_and_have_a_column_for_their_place():
    note = notes.add_results("It.", {"at 2 bits/mse": 0.123456, "at 6 bits/mse": 3.0, "mse": 1.5}, {"n": 800}, None)
    rows = [line.strip("| ").split(" | ") for line in note.splitlines() if line.startswith("|")]
    assert ["mse", "0.1235", "3", "1.5"] in rows and ["n", "800"] in rows
    assert "**Failed**" not in note and "**Failed**: `no`" in notes.add_results("It.", {}, {}, "no")


@pytest.mark.parametrize("count", [0, 1, 40, 500])
def test_a_note_is_never_longer_than_mlflow_takes(count):
    results = {f"at {number} bits/{'x' * 50}{number}": float("nan") for number in range(count)}
    cell = {f"f{number}": "y" * 600 for number in range(count)}
    note = notes.cell_note("q" * 100, "demo", "smoke", cell, "7", "p")
    lengths = [len(notes.add_results(note, results, results, "e" * 9000))]
    told = notes.add_tables(note, [("t", ["a", "b"], [["v" * 30, "w"]] * count, "caption")] * 3)
    lengths += [len(told), len(notes.invocation_note("q" * 9000, "c" * 9000, 3, 1, "7", "p"))]
    assert max(lengths) <= TAG_LENGTH


def test_the_tables_of_a_second_analysis_replace_the_first():
    first = notes.add_tables("About.", [("mse", ["x"], [["1"]], "Of a."), ("other", ["y"], [["2"]], "")])
    second = notes.add_tables(first, [("mse", ["x"], [["3"]], "Of b.")])
    assert second.count("### About") == 1 and second.endswith("About.") and second.startswith("**mse**")
    assert "| 3 |" in second and "| 1 |" not in second and "Of b." in second and "other" not in second
    assert notes.add_tables(second, [("mse", ["x"], [["3"]], "Of b.")]) == second


HOSTILE = "[x](http://e) ![p](http://e) <script> `a` | b\n# c"


def test_names_and_settings_are_no_markup():
    hostile = HOSTILE
    note = notes.cell_note(hostile, "demo", hostile, {"pool": hostile}, "7", "p")
    note += notes.add_tables("", [(hostile, [hostile], [[hostile]], hostile)])
    outside = re.sub(r"`[^`]*`", "", note.replace("\\`", ""))
    assert "http://e" not in links(outside).values() and "<script>" not in outside
    assert not re.search(r"(?<!\\)!\[", outside)
    (row,) = [line for line in note.splitlines() if line.startswith("| ") and "script" in line][1:]
    assert len(re.findall(r"(?<!\\)\|", row)) == 2
