"""What the targets of the Makefile run, and that nothing which a person gives is run."""

import functools
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
# in the place of Python: says the words that it is given, one a line
PYTHON = """#!/bin/sh
for word; do printf '%s\\n' "$word"; done
"""

pytestmark = pytest.mark.skipif(
    shutil.which("make") is None, reason="make is not installed"
)


def made(folder, *arguments):
    """The exit status and the output of make in a folder."""
    command = ["make", "--no-print-directory", *arguments]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def make(tmp_path):
    """(arguments) -> exit status and output of make in a folder with two sweeps, where
    Python only says its words.
    """
    shutil.copy(REPOSITORY / "Makefile", tmp_path)
    (tmp_path / "sweeps").mkdir()
    lines = [
        f'    "{name}": "sweeps.work.{name}",\n' for name in ("first-one", "second")
    ]
    (tmp_path / "sweeps" / "__init__.py").write_text(
        "SWEEPS = {\n" + "".join(lines) + "}\n"
    )
    stand_in = tmp_path / "python"
    stand_in.write_text(PYTHON)
    stand_in.chmod(0o755)
    before = set(tmp_path.iterdir())

    def run(*arguments):
        result = made(tmp_path, *arguments, "READY=", f"PYTHON={stand_in}")
        assert set(tmp_path.iterdir()) == before, "something was executed"
        return result

    return run


def words_of(output, words=""):
    """What the program `infoscope` gets; `words` are those of ARGS."""
    start = f"-m\ninfoscope\n--words\n{words}\n"
    assert output.startswith(start)
    return output.removeprefix(start).removesuffix("\n").split("\n")


SMOKE = ["--profile", "smoke"]
FILE = ["--data", "a b.csv", "--y", "$(y)", "--methods", "ksg,gcmi"]
PAIRS = ["DATA=a b.csv", "Y=$(y)", "METHODS=ksg,gcmi"]
TASKS = {
    "sweep-first-one": (["PROFILE=smoke", "SET=a=1 b=2"], ["sweep", "first-one", *SMOKE, "--set", "a=1 b=2"]),
    "sweep-all": (["PROFILE=smoke"], ["sweep-all", *SMOKE]),
    "sweep-status": (["SET=a=1"], ["status", "--profile", "laptop", "--set", "a=1"]),
            "table-partition": (["MODEL=a@b", "DATA=z.npz"],
                        ["table", "partition", "--profile", "laptop", "--model", "a@b", "--data", "z.npz"]),
        "runs-save": (["PROFILE=paper"], ["runs-save", "--profile", "paper"]),
        "labels": (["PROBABILITIES=p.npz", "MODEL=a b", "TARGET=$(z)", "DATA=a.csv"],
               ["labels", "--data", "a.csv", "--target", "$(z)", "--model", "a b", "--probabilities", "p.npz"]),
    "measure": (PAIRS, ["measure", *FILE]),
    "represent": (["DATA=a.csv", "TARGETS=y,$(z)"], ["represent", "--data", "a.csv", "--targets", "y,$(z)"]),
    "screen": (["DATA=a.csv", "TARGET=$(z)", "GROUPS=g"],
               ["screen", "--data", "a.csv", "--groups", "g", "--target", "$(z)"]),
    "ui": (["PORT=5001"], ["ui", "--port", "5001"]),
    "promote": ([], ["promote"]),
    }  # fmt: skip


@pytest.mark.parametrize("task", TASKS)
def test_what_a_task_runs(make, task):
    variables, words = TASKS[task]
    code, output = make(task, *variables, "ARGS=--more 'b c'")
    assert code == 0
    assert words_of(output, "--more 'b c'") == words


@pytest.mark.parametrize("word", ["GROUP=g", "x=a"])
def test_a_mistyped_variable_is_refused(make, word):
    code, output = make("measure", word)
    assert code == 2
    assert f"no variable {word.partition('=')[0]};" in output
    assert "infoscope" not in output


def test_a_variable_of_another_task_is_handed_on_and_refused_there(make):
    assert words_of(make("represent", "DATA=a.csv", "Y=y")[1]) == [
        "represent",
        "--data",
        "a.csv",
        "--y",
        "y",
    ]
    assert words_of(make("table-measures", "SET=a=1")[1])[-2:] == ["--set", "a=1"]


def test_the_environment_names_no_columns(make, monkeypatch):
    """It may hold a Y of anybody's; settings of Ray and MLflow may be written behind
    make, too.
    """
    monkeypatch.setenv("Y", "yes")
    monkeypatch.setenv("GROUPS", "wheel")
    code, output = make(
        "measure", "DATA=a.csv", "X=b", "RAY_ADDRESS=auto", "INFOSCOPE_DATA=/data"
    )
    assert code == 0
    assert words_of(output) == ["measure", "--data", "a.csv", "--x", "b"]


INJECTIONS = (
    "$(touch made)", "$(shell touch made)", "`touch made`", '"; touch made; "', "'; touch made; '", "a; touch made",
    "a > made", "$$(touch made)", "*",
)  # fmt: skip


@pytest.mark.parametrize("text", INJECTIONS)
def test_what_is_given_is_no_program(make, text):
    """Neither make nor a shell reads it."""
    _, output = make(
        "sweep-first-one", f"PROFILE={text}", f"SET={text}", f"ARGS={text}"
    )
    assert words_of(output, text) == [
        "sweep",
        "first-one",
        "--profile",
        text,
        "--set",
        text,
    ]
    on_file = [
        "DATA",
        "X",
        "Y",
        "GROUPS",
        "CONTINUOUS",
        "DISCRETE",
        "ANGLES",
        "METHODS",
        "TARGET",
        "TARGETS",
        "DOMAIN",
    ]
    for task in ("disentangle", "labels", "measure", "represent", "screen"):
        words = words_of(make(task, *(f"{name}={text}" for name in on_file))[1])
        assert words[0] == task
        assert words.count(text) == len(on_file)
        assert len(words) == 1 + 2 * len(on_file)
    assert (
        words_of(make(f"table-{text}")[1])[:2] == ["table", text]
        or "*" in text
        or "=" in text
    )


def test_make_help_lists_tasks_and_sweeps(make):
    code, output = make("help")
    assert code == 0
    assert ["sweeps:", "first-one", "second"] in [
        line.split() for line in output.splitlines()
    ]
    tasks = set()
    for line in output.splitlines():
        if line.startswith("  make "):
            tasks.add(line.split()[1])
    assert {
        "sweep-%",
        "sweep-all",
        "sweep-status",
        "table-%",
        "report",
        "test",
        "test-system",
        "promote",
    } <= tasks


@pytest.fixture
def cleaning(tmp_path):
    """(arguments) -> exit status and output of make in a folder with the Makefile
    alone.
    """
    shutil.copy(REPOSITORY / "Makefile", tmp_path)
    (tmp_path / "sweeps" / "work").mkdir(parents=True)
    (tmp_path / "sweeps" / "work" / "one.py").touch()
    return functools.partial(made, tmp_path)


@pytest.mark.parametrize("arguments", [["VENV={}"], ["-e"], ["VENV={}", "-e"]])
def test_clean_deletes_no_folder_that_it_is_given(
    cleaning, tmp_path, monkeypatch, arguments
):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "pyvenv.cfg").touch()
    monkeypatch.setenv("VENV", str(elsewhere))
    code, output = cleaning("clean", *(word.format(elsewhere) for word in arguments))
    assert (elsewhere / "pyvenv.cfg").exists()
    assert code == 0 or "VENV cannot" in output


def test_clean_removes_a_virtual_environment_and_nothing_else(cleaning, tmp_path):
    assert cleaning("clean") == (0, "")
    place = tmp_path / ".venv"
    place.mkdir()
    (place / "precious").touch()
    code, output = cleaning("clean")
    assert code
    assert "error:" in output
    assert (place / "precious").exists()
    (place / "pyvenv.cfg").touch()
    assert cleaning("clean") == (0, "")
    assert not place.exists()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "pyvenv.cfg").touch()
    place.symlink_to(tmp_path / "other")
    code, output = cleaning("clean")
    assert code
    assert "error:" in output
    assert (tmp_path / "other" / "pyvenv.cfg").exists()
