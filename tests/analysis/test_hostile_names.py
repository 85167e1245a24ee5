"""Every command on a person's own file with hostile names of columns: figure, page,
table and run are all there.
"""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis import measure, represent, screen
from infoscope.command_line import run_command
from tests.analysis.commands import recorded

NAMES = (
    "a//b",
    "/x",
    "..",
    "n" * 240,
    "$\\frac{$",
    "=HYPERLINK(0)",
    "item #3",
    "bell\x07\x1b[2Jred",
    "<script>alert(1)</script>",
    "\\input{/etc/passwd}",
    "two\nlines",
)
N = 120


@pytest.fixture
def table(empty_folder):
    """A file whose columns have all of these names, and a site, in the working folder."""
    generator = np.random.default_rng(0)
    common = generator.normal(size=N)
    columns = {name: common + generator.normal(size=N) for name in NAMES}
    columns["$y_"] = np.where(common > 0, "high", "low")
    columns["/site//"] = generator.choice(["p", "q"], N)
    pd.DataFrame(columns).to_parquet("own.parquet")
    return "own.parquet"


COMMANDS = {
    "measure": (
        measure.COMMAND,
        ["--y", "$y_", "--groups", "/site//", "--methods", "ksg"],
    ),
    "screen": (screen.COMMAND, ["--target", "$y_"]),
    "represent": (
        represent.COMMAND,
        [
            "--x",
            "$*,a//b,/x,..,item #3",
            "--each",
            "--targets",
            "$y_",
            "--domain",
            "/site//",
            "--rows",
            "100",
        ],
    ),
}


@pytest.mark.parametrize("task", COMMANDS)
def test_a_command_ends_with_figure_page_table_and_run(table, capsys, task):
    command, words = COMMANDS[task]
    status = run_command(command, ["--data", table, *words])
    printed = "".join(capsys.readouterr())
    assert status == 0, printed[-500:]
    assert "not recorded" not in printed
    for sign in printed:
        assert sign.isprintable() or sign in "\n\r"
    tables = Path("runs/tables")
    assert {path.suffix for path in tables.iterdir()} == {
        ".csv",
        ".tex",
        ".png",
        ".pdf",
        ".html",
    }
    assert recorded(task).data.metrics
    for path in tables.glob("*.html"):
        assert "<script>alert" not in path.read_text()
    for path in tables.glob("*.tex"):
        assert "\\input{" not in path.read_text()
    for path in tables.glob("*.csv"):
        with path.open(newline="") as file:
            cells = []
            for row in csv.reader(file):
                for cell in row:
                    cells.append(cell)
        for cell in cells:
            assert cell.lstrip()[:1] not in ("=", "@")
