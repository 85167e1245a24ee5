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


@pytest.mark.parametrize("count", [0, 1, 40, 500])
def test_a_note_is_never_longer_than_mlflow_takes(count):
    note = notes.add_tables(
        "q" * 9000, [("t", ["a", "b"], [["v" * 30, "w"]] * count, "caption")] * 3
    )
    lengths = [
        len(note),
        len(notes.parent_note("q" * 9000, "c" * 9000, 3, 1, "7", "p")),
    ]
    assert max(lengths) <= TAG_LENGTH


def test_the_tables_of_a_second_analysis_replace_the_first():
    first = notes.add_tables(
        "About.", [("mse", ["x"], [["1"]], "Of a."), ("other", ["y"], [["2"]], "")]
    )
    second = notes.add_tables(first, [("mse", ["x"], [["3"]], "Of b.")])
    assert second.count("### About") == 1
    assert second.endswith("About.")
    assert second.startswith("**mse**")
    assert "| 3 |" in second
    assert "| 1 |" not in second
    assert "Of b." in second
    assert "other" not in second
    assert notes.add_tables(second, [("mse", ["x"], [["3"]], "Of b.")]) == second


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
