"""What runs say of themselves in MLflow, whatever their names and settings hold."""

import re

import pytest

from infoscope.tracking import notes
from infoscope.tracking.checks import TAG_LENGTH


def links(note):
    return dict(re.findall(r"(?<!\\)\[((?:[^\]\\]|\\.)*)\]\(([^)]*)\)", note))


def test_the_page_of_a_sweep_links_to_its_cells_and_tables():
    note = notes.parent_note("Which one?", "make sweep-demo", 3, 1, "7", "parent")
    assert "Which one?" in note
    assert "`make sweep-demo`" in note
    assert "1 were already recorded" in note
    run = "#/experiments/7/runs/parent"
    kind = "?workflowType=machine_learning"
    assert links(note)["Tables and figures"] == f"{run}/artifacts/analysis{kind}"
    assert links(note)["3 cells"].startswith(
        f"#/experiments/7/runs{kind}&searchFilter=tags.%60mlflow.parentRunId"
    )


@pytest.mark.parametrize("count", [0, 40, 500])
def test_a_note_is_never_longer_than_mlflow_takes(count):
    table = ("t", ["a", "b"], [["v" * 30, "w"]] * count, "caption")
    with_tables = notes.add_tables("q" * 9000, [table] * 3)
    assert len(with_tables) <= TAG_LENGTH
    of_parent = notes.parent_note("q" * 9000, "c" * 9000, 3, 1, "7", "p")
    assert len(of_parent) <= TAG_LENGTH


def test_the_tables_of_a_second_analysis_replace_the_first():
    earlier = ("mse", ["x"], [["1"]], "Of a.")
    later = ("mse", ["x"], [["3"]], "Of b.")
    first = notes.add_tables("About.", [earlier, ("other", ["y"], [["2"]], "")])
    second = notes.add_tables(first, [later])
    assert second.startswith("**mse**")
    assert second.endswith("About.")
    assert "| 3 |" in second
    assert "| 1 |" not in second
    assert "other" not in second
    assert notes.add_tables(second, [later]) == second


HOSTILE = "[x](http://e) ![p](http://e) <script> `a` | b\n# c"


def test_names_and_settings_are_no_markup():
    hostile = HOSTILE
    note = notes.loaded_note(hostile, hostile, 3, "7", "p")
    note += notes.add_tables("", [(hostile, [hostile], [[hostile]], hostile)])
    outside = re.sub(r"`[^`]*`", "", note.replace("\\`", ""))
    assert "http://e" not in links(outside).values()
    assert "<script>" not in outside
    assert not re.search(r"(?<!\\)!\[", outside)
    (row,) = [
        line for line in note.splitlines() if line.startswith("| ") and "script" in line
    ][1:]
    assert len(re.findall(r"(?<!\\)\|", row)) == 2
