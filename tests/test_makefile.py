"""What `make` does with many sweeps, with stand-ins for sweeps and analyses that only say how they were run."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

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
    for name in (
        "analysis/report",
        "analysis/measure",
        "analysis/advise",
        "analysis/represent",
        "analysis/sample_estimators/audit",
        "infra/drill/__main__",
        "infra/scale/__main__",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{name}.py").write_text(STAND_IN.format(then=""))

    for data in ("a.csv", "a b.csv"):  # what is not there is answered before a stand-in is asked
        (tmp_path / data).touch()

    def run(*arguments):
        command = ["make", *arguments, "READY=", f"PYTHON={sys.executable}"]
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
    assert "small trial" not in make("sweep-all", "PROFILE=smoke")[1]


def test_a_table_needs_no_sweep(make):
    code, output = make("table-measures", "PROFILE=paper", "ARGS=--bits 4")
    assert code == 0 and "ran -m analysis.work.measures --profile paper --bits 4" in output


@pytest.mark.parametrize(
    ("task", "asked"),
    [
        ("report", "-m analysis.report --profile smoke"),
        ("advise", "-m analysis.advise --data a b.csv --y $(y) --methods ksg,gcmi --within 60"),
        ("measure", "-m analysis.measure --data a b.csv --y $(y) --methods ksg,gcmi"),
        ("represent", "-m analysis.represent --data a b.csv --targets y,$(z)"),
        ("audit", "-m analysis.sample_estimators.audit"),
        ("drill", "-m infra.drill"),
        ("scale", "-m infra.scale"),
    ],
)
def test_other_tasks(make, task, asked):
    of_pairs = ["DATA=a b.csv", "Y=$(y)", "METHODS=ksg,gcmi"]
    own = {
        "report": ["PROFILE=smoke"], "represent": ["DATA=a b.csv", "TARGETS=y,$(z)"], "measure": of_pairs,
        "advise": [*of_pairs, "WITHIN=60"],
    }  # fmt: skip
    code, output = make(task, *own.get(task, []))
    assert code == 0 and f"ran {asked}" in output


@pytest.mark.parametrize(
    ("task", "word", "said"),
    [
        ("measure", "GROUP=g", "got GROUP=; did you mean GROUPS=?"),
        ("measure", "x=a", "got x=; did you mean X=?"),
        ("advise", "GROUPS_=a", "got GROUPS_=; did you mean GROUPS=?"),
        ("measure", "WITHIN=60", "make measure takes DATA, X, GROUPS, CONTINUOUS, DISCRETE, Y, METHODS and ARGS"),
        ("represent", "Y=y", "make represent takes DATA, X, GROUPS"),
        ("represent", "COLOUR=red", "got COLOUR="),
        ("measure", "PROFILE=smoke", "got PROFILE="),
        ("table-measures", "SET=a=1", "make table-measures takes PROFILE and ARGS, got SET="),
        ("sweep-measures", "PROFIL=smoke", "got PROFIL=; did you mean PROFILE=?"),
        ("runs-save", "SET=a=1", "make runs-save takes PROFILE and ARGS, got SET="),
        ("audit", "PROFILE=smoke", "make audit takes ARGS alone, got PROFILE="),
        ("ui", "PROFILE=smoke", "make ui takes PORT and ARGS, got PROFILE="),
    ],
)
def test_a_mistyped_variable_is_refused(make, task, word, said):
    """And so is one that the task would not have heard."""
    code, output = make(task, word)
    assert code == 2 and said in output and "ran" not in output.split()


def test_the_environment_names_no_columns(make, monkeypatch):
    """It may hold a Y of anybody's; settings of Ray and MLflow may be written behind make, too."""
    monkeypatch.setenv("Y", "yes")
    monkeypatch.setenv("GROUPS", "wheel")
    code, output = make("measure", "DATA=a.csv", "X=b", "RAY_ADDRESS=auto", "INFOSCOPE_DATA=/data")
    assert code == 0 and "ran -m analysis.measure --data a.csv --x b\n" in output


def test_tasks_of_the_record_are_no_sweeps(make):
    """Each has options of its own, and is answered by them before anything is loaded."""
    for task, named in {"sweep-status": "status", "sweep-sync": "sync", "export-model": "export"}.items():
        code, output = make(task, "ARGS=a --no-option")
        assert code == 2 and "--no-option" in output and f"`infoscope {named} --help`" in output


def test_make_help_lists_tasks_and_sweeps(make):
    code, output = make("help")
    assert code == 0 and "sweeps: first-one fourth second third" in output
    for task in (
        "sweep-%",
        "sweep-all",
        "sweep-status",
        "sweep-sync",
        "table-%",
        "report",
        "audit",
        "ui",
        "drill",
        "export-model",
        "promote",
    ):
        assert f"make {task} " in output


@pytest.mark.parametrize("task", ["sweep-first-one", "sweep-all"])
def test_ctrl_c_ends_all_of_it(make, tmp_path, task):
    """The sweep that runs gets the signal by itself; no table is printed, and no other sweep is begun."""
    wait = "print('label', flush=True); open('begun', 'w').close(); import time; time.sleep(600)"
    (tmp_path / "sweeps" / "work" / "first_one.py").write_text(STAND_IN.format(then=wait))
    command = ["make", task, "READY=", f"PYTHON={sys.executable}"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               start_new_session=True, preexec_fn=heard)  # fmt: skip
    deadline = time.monotonic() + 60
    while not (tmp_path / "begun").exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    ran = [line for line in output.splitlines() if line.startswith("ran ")]
    assert process.returncode != 0 and len(ran) == 1 and "Error 130" in output
    assert not any(line.startswith(("done ", "FAILED ")) for line in output.splitlines())


def heard():
    """SIGINT as at a terminal: tests that run in the background of a shell inherit that it is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


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
