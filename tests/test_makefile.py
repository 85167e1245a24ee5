"""What `make` does with many sweeps, with a stand-in for Python that only says what it was asked to run."""

import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
STAND_IN = """#!/bin/sh
echo "ran $*" >&2
case "$2" in
  sweeps.work.second) exit 1;;
  sweeps.work.*) echo label;;
  analysis.work.third) exit 2;;
esac
"""

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.fixture
def make(tmp_path):
    """(arguments) -> exit status and output of make in a folder with four sweeps and three tables."""
    shutil.copy(REPOSITORY / "Makefile", tmp_path)
    for folder, names in {
        "sweeps": ("first_one", "second", "third", "fourth"),
        "analysis": ("first_one", "measures", "third"),
    }.items():
        (tmp_path / folder / "work").mkdir(parents=True)
        for name in names:
            (tmp_path / folder / "work" / f"{name}.py").write_text("SWEEP = 1\n")
    (tmp_path / "sweeps" / "work" / "_pairs.py").write_text("not_a_sweep = 1\n")
    stand_in = tmp_path / "python"
    stand_in.write_text(STAND_IN)
    stand_in.chmod(0o755)

    def run(*arguments):
        command = ["make", *arguments, "READY=", f"PYTHON={stand_in}"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    return run


def test_every_sweep_runs_though_some_fail(make):
    """One sweep fails, one table does, and one sweep has no table."""
    code, output = make("sweep-all", "PROFILE=smoke")
    ran = [line for line in output.splitlines() if line.startswith("ran ")]
    assert [line.split()[2] for line in ran] == [
        "sweeps.work.first_one", "analysis.work.first_one", "sweeps.work.fourth", "sweeps.work.second",
        "sweeps.work.third", "analysis.work.third",
    ]  # fmt: skip
    assert "ran -m sweeps.work.first_one --profile smoke --set " in output
    assert "ran -m analysis.work.first_one --profile label" in output
    last = [line.split(",")[0].split() for line in output.splitlines() if line.startswith(("done ", "FAILED "))]
    assert last == [["done", "first-one"], ["done", "fourth"], ["FAILED", "second"], ["FAILED", "third"]]
    assert code != 0


def test_a_table_needs_no_sweep(make):
    code, output = make("table-measures", "PROFILE=paper", "ARGS=--bits 4")
    assert code == 0 and "ran -m analysis.work.measures --profile paper --bits 4" in output


@pytest.mark.parametrize(
    ("task", "asked"),
    [
        ("report", "-m analysis.report --profile smoke"),
        ("audit", "-m analysis.sample_estimators.audit"),
        ("sweep-status", "-m infoscope.tracking status --profile smoke"),  # no sweep of this name
        ("sweep-sync", "-m infoscope.tracking sync"),
    ],
)
def test_other_tasks(make, task, asked):
    code, output = make(task, "PROFILE=smoke")
    assert code == 0 and f"ran {asked}" in output


@pytest.fixture
def cleaning(tmp_path):
    """(arguments) -> exit status and output of make in a folder with the Makefile alone."""
    shutil.copy(REPOSITORY / "Makefile", tmp_path)
    (tmp_path / "sweeps" / "work").mkdir(parents=True)
    (tmp_path / "sweeps" / "work" / "one.py").touch()

    def run(*arguments):
        done = subprocess.run(
            ["make", "--no-print-directory", *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.mark.parametrize("arguments", [["VENV={}"], ["-e"], ["VENV={}", "-e"]])
def test_clean_deletes_no_folder_that_it_is_given(cleaning, tmp_path, monkeypatch, arguments):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "pyvenv.cfg").touch()
    monkeypatch.setenv("VENV", str(elsewhere))
    code, output = cleaning("clean", *(word.format(elsewhere) for word in arguments))
    assert (elsewhere / "pyvenv.cfg").exists()
    assert code == 0 or "VENV cannot be given" in output


def test_clean_removes_a_virtual_environment_and_nothing_else(cleaning, tmp_path):
    assert cleaning("clean") == (0, "")
    place = tmp_path / ".venv"
    place.mkdir()
    (place / "precious").touch()
    code, output = cleaning("clean")
    assert code and "no virtual environment that was made here" in output and (place / "precious").exists()
    (place / "pyvenv.cfg").touch()
    assert cleaning("clean") == (0, "") and not place.exists()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "pyvenv.cfg").touch()
    place.symlink_to(tmp_path / "other")
    code, output = cleaning("clean")
    assert code and "left alone" in output and (tmp_path / "other" / "pyvenv.cfg").exists()
