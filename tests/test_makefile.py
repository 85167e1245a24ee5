"""What `make` does with many sweeps, with stand-ins for sweeps and analyses that only say how they were run."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tracking.processes import hear_interrupts, wait_for

REPOSITORY = Path(__file__).parents[1]
STAND_IN = """import sys
SWEEP = 1
if __name__ == "__main__":
    print("ran -m", __spec__.name.removesuffix(".__main__"), *sys.argv[1:], file=sys.stderr)
    {then}
"""
SWEEPS = {"first_one": "print('label')", "second": "sys.exit(1)", "third": "print('label')", "fourth": "print('label')"}
ANALYSES = {"first_one": "", "measures": "", "third": "sys.exit(2)"}

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.fixture
def make(tmp_path):
    """(arguments) -> exit status and output of make in a folder with four sweeps and three tables."""
    shutil.copy(REPOSITORY / "Makefile", tmp_path)
    for folder, modules in {"sweeps": SWEEPS, "analysis": ANALYSES}.items():
        (tmp_path / folder / "work").mkdir(parents=True)
        for name, then in modules.items():
            (tmp_path / folder / "work" / f"{name}.py").write_text(STAND_IN.format(then=then))
    (tmp_path / "sweeps" / "work" / "_pairs.py").write_text("not_a_sweep = 1\n")
    of_analysis = ("report", "measure", "represent", "sample_estimators/audit")
    for name in (*(f"analysis/{name}" for name in of_analysis), "infra/drill/__main__", "infra/scale/__main__"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{name}.py").write_text(STAND_IN.format(then=""))

    for data in ("a.csv", "a b.csv"):  # what is not there is answered before a stand-in is asked
        (tmp_path / data).touch()

    def run(*arguments):
        command = ["make", *arguments, "READY=", f"PYTHON={sys.executable}"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    return run


def ran(output):
    """The words of every program that was run: its module and its arguments."""
    return [line.split()[2:] for line in output.splitlines() if line.startswith("ran ")]


def test_every_sweep_runs_though_some_fail(make):
    """One sweep fails, one table does, and one sweep has no table."""
    code, output = make("sweep-all", "PROFILE=smoke")
    assert [words[0].removesuffix("_one") for words in ran(output)] == [
        "sweeps.work.first", "analysis.work.first", "sweeps.work.fourth", "sweeps.work.second", "sweeps.work.third",
        "analysis.work.third",
    ]  # fmt: skip
    assert ran(output)[:2] == [["sweeps.work.first_one", *SMOKE, "--set"], ["analysis.work.first_one", *LABEL]]
    last = [line.split(",")[0].split() for line in output.splitlines() if line.startswith(("done ", "FAILED "))]
    assert last == [["done", "first-one"], ["done", "fourth"], ["FAILED", "second"], ["FAILED", "third"]]
    assert code != 0 and "small trial" not in output


def test_a_trial_says_how_to_get_the_rest(make):
    """Of a sweep that is asked for by itself and did not fail; a table is named where there is one."""
    for name, profile, sweeps, tables in (
        ("first-one", "smoke", 1, 1),
        ("first-one", "laptop", 0, 0),
        ("second", "smoke", 0, 0),
        ("fourth", "smoke", 1, 0),
    ):
        _, output = make(f"sweep-{name}", f"PROFILE={profile}")
        assert (output.count(f"`make sweep-{name}`"), output.count(f"`make table-{name}`")) == (sweeps, tables)


PAIRS, SMOKE, LABEL = ["DATA=a b.csv", "Y=$(y)", "METHODS=ksg,gcmi"], ["--profile", "smoke"], ["--profile", "label"]
ON_PAIRS = ["--data", "a", "b.csv", "--y", "$(y)", "--methods", "ksg,gcmi"]
TASKS = {
    "table-measures": (["PROFILE=smoke", "ARGS=--bits 4"], ["analysis.work.measures", *SMOKE, "--bits", "4"]),
    "report": (["PROFILE=smoke"], ["analysis.report", *SMOKE]),
    "measure": (PAIRS, ["analysis.measure", *ON_PAIRS]),
    "advise": (PAIRS, ["analysis.measure", *ON_PAIRS]),
    "represent": (["DATA=a.csv", "TARGETS=y,$(z)"], ["analysis.represent", "--data", "a.csv", "--targets", "y,$(z)"]),
    "audit": ([], ["analysis.sample_estimators.audit"]),
    "drill": ([], ["infra.drill"]),
    "scale": ([], ["infra.scale"]),
}


@pytest.mark.parametrize("task", TASKS)
def test_what_a_task_runs(make, task):
    given, words = TASKS[task]
    code, output = make(task, *given)
    assert code == 0 and ran(output) == [words]


@pytest.mark.parametrize(
    ("task", "word", "said"),
    [
        ("measure", "GROUP=g", "mean GROUPS=?"),
        ("measure", "x=a", "mean X=?"),
        ("advise", "GROUPS_=a", "mean GROUPS=?"),
        ("advise", "WITHIN=60", "got WITHIN="),
        ("represent", "Y=y", "got Y="),
        ("represent", "COLOUR=red", "got COLOUR="),
        ("table-measures", "SET=a=1", "got SET="),
        ("sweep-measures", "PROFIL=smoke", "mean PROFILE=?"),
        ("runs-save", "SET=a=1", "got SET="),
        ("audit", "PROFILE=smoke", "got PROFILE="),
        ("ui", "PROFILE=smoke", "got PROFILE="),
    ],
)
def test_a_mistyped_variable_is_refused(make, task, word, said):
    """And so is one that the task would not have heard."""
    code, output = make(task, word)
    assert code == 2 and f"make {task} takes" in output and said in output and not ran(output)


def test_the_environment_names_no_columns(make, monkeypatch):
    """It may hold a Y of anybody's; settings of Ray and MLflow may be written behind make, too."""
    monkeypatch.setenv("Y", "yes")
    monkeypatch.setenv("GROUPS", "wheel")
    code, output = make("measure", "DATA=a.csv", "X=b", "RAY_ADDRESS=auto", "INFOSCOPE_DATA=/data")
    assert code == 0 and ran(output) == [["analysis.measure", "--data", "a.csv", "--x", "b"]]


def test_make_help_lists_tasks_and_sweeps(make):
    code, output = make("help")
    assert code == 0 and ["sweeps:", "first-one", "fourth", "second", "third"] in [
        line.split() for line in output.splitlines()
    ]
    tasks = {line.split()[1] for line in output.splitlines() if line.startswith("  make ")}
    assert {"sweep-%", "sweep-all", "sweep-status", "table-%", "report", "test", "test-system", "promote"} <= tasks


WAITS = "print('label', flush=True); open('begun', 'w').close(); import time; time.sleep(600)"


@pytest.mark.system
@pytest.mark.parametrize("task", ["sweep-first-one", "sweep-all"])
def test_ctrl_c_ends_all_of_it(make, tmp_path, task):
    """The sweep that runs gets the signal by itself; no table is printed, and no other sweep is begun."""
    (tmp_path / "sweeps" / "work" / "first_one.py").write_text(STAND_IN.format(then=WAITS))
    command = ["make", task, "READY=", f"PYTHON={sys.executable}"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               start_new_session=True, preexec_fn=hear_interrupts)  # fmt: skip
    wait_for(tmp_path / "begun", process)
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode != 0 and len(ran(output)) == 1 and "Error 130" in output
    assert not any(line.startswith(("done ", "FAILED ")) for line in output.splitlines())


@pytest.fixture
def cleaning(tmp_path):
    """(arguments) -> exit status and output of make in a folder with the Makefile alone."""
    shutil.copy(REPOSITORY / "Makefile", tmp_path)
    (tmp_path / "sweeps" / "work").mkdir(parents=True)
    (tmp_path / "sweeps" / "work" / "one.py").touch()

    def run(*arguments):
        command = ["make", "--no-print-directory", *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
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
    assert code == 0 or "VENV cannot" in output


def test_clean_removes_a_virtual_environment_and_nothing_else(cleaning, tmp_path):
    assert cleaning("clean") == (0, "")
    place = tmp_path / ".venv"
    place.mkdir()
    (place / "precious").touch()
    code, output = cleaning("clean")
    assert code and "error:" in output and (place / "precious").exists()
    (place / "pyvenv.cfg").touch()
    assert cleaning("clean") == (0, "") and not place.exists()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "pyvenv.cfg").touch()
    place.symlink_to(tmp_path / "other")
    code, output = cleaning("clean")
    assert code and "error:" in output and (tmp_path / "other" / "pyvenv.cfg").exists()
