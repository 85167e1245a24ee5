"""The command line: what it answers before it loads anything, and what it runs."""

import importlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from infoscope.__main__ import _read, main, words_of_make
from infoscope._modules import module_of, names, options_of, sweeps_in_order

REPOSITORY = Path(__file__).parents[2]
HEAVY = ("torch", "mlflow", "ray", "pandas", "numpy", "numba", "sklearn", "matplotlib", "infoscope.tracking")
CHECK = f"""import sys
from infoscope.__main__ import main
try:
    code = main(sys.argv[1:])
except SystemExit as ended:
    code = ended.code or 0
print("loaded:", *sorted(set(sys.modules) & set({HEAVY!r})))
sys.exit(code)
"""


ANSWERS = {  # words -> exit status, a part of the answer
    "--help": (0, "sweep-all"),
    "sweep --help": (0, "critic-capacity"),
    "": (2, "required: TASK"),
    "swep toy-model": (2, "task must be"),
    "sweep nothing": (2, "sweep must be"),
    "sweep toy-model --profil": (2, "argument --profile"),
    "sweep toy-model --bits 4": (2, "--bits 4"),
    "sweep toy-model --set seeds": (2, "name=value"),
    "sweep toy-model --gpus-per-pack all": (2, "'all'"),
    "sweep-all nothing": (2, "`infoscope sweep-all"),
    "table nothing": (2, "table must be"),
    "table tables": (2, "table must be"),
    "table toy-model --bits 4": (2, "no option --bits"),
    "report --bits 4": (2, "no option --bits"),
    "audit --sets 4": (2, "no option --sets"),
    "drill --steady": (2, "no option --steady"),
    "advise --data no.csv --y c": (2, "'no.csv'"),
    "status --set seeds": (2, "name=value"),
    "sync --record": (2, "argument --records"),
    "export": (2, "required: RUN"),
    "runs-save": (2, "required: EXPERIMENT"),
    "runs-load --tables x": (2, "`infoscope runs-load"),
    "ui --port 0": (2, "argument --port"),
}


@pytest.mark.parametrize("words", ANSWERS)
def test_nothing_is_loaded_before_the_words_are_checked(words):
    command = [sys.executable, "-c", CHECK, *words.split()]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60)
    code, told = ANSWERS[words]
    assert done.returncode == code and told in done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "loaded:"
    assert code == 0 or len(done.stderr.splitlines()) == 1


def test_outside_a_working_tree_it_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    answers = {"sweep one": "sweeps", "sweep-all": "sweeps", "table one": "tables", "report": "analysis.report"}
    for words, missing in answers.items():
        assert main(words.split()) == 2
        told = capsys.readouterr().err
        assert missing in told and str(tmp_path) in told and "Makefile" in told


def test_sweeps_and_tables_are_found_by_their_files_and_none_of_their_options_is_refused():
    """Those that load logged models come last of the sweeps."""
    assert {"critic-capacity", "usable-leakage"} <= set(names("sweeps")) and "streams" not in names("sweeps")
    assert {"partition", "audit"} <= set(names("analysis")) and "figures" not in names("analysis")
    assert sorted(sweeps_in_order()) == sorted(names("sweeps"))
    assert sweeps_in_order()[-2:] == ["entanglement-attacks", "usable-leakage"]
    assert module_of("critic-capacity") == "sweeps.mi_benchmark.critic_capacity"
    assert module_of("no-such-sweep") is None and module_of("critic-capacity", "no_such_package") is None
    assert {"--models", "--model", "--again"} < set(options_of("analysis.partition.partition"))
    for name in names("analysis"):
        module = importlib.import_module(module_of(name, "analysis"))
        if hasattr(module, "ANALYSIS"):
            declared = ["--help", "--profile", *(f"--{option}" for option in module.ANALYSIS.options)]
            assert options_of(module.__name__) == declared


@pytest.mark.parametrize("task", ["measure", "advise", "represent", "table-partition", "table-representations"])
def test_what_a_person_gives_to_make_is_known_to_the_task(task, monkeypatch):
    """All of it at once: what the task has no use for is not handed over."""
    monkeypatch.chdir(REPOSITORY)
    given = dict.fromkeys(
        ("DATA", "X", "Y", "GROUPS", "CONTINUOUS", "DISCRETE", "ANGLES", "METHODS", "TARGETS", "DOMAIN", "ITEMS",
         "MODEL"), "one",
    )  # fmt: skip
    words = words_of_make(given | {"TASK": task, "PROFILE": "smoke"})
    assert words[words.index("--data") + 1] == "one" and callable(_read(words).call)


STAND_IN = """import os, sys
SWEEP = 1
if __name__ == "__main__":
    print("ran", __spec__.name, *sys.argv[1:], file=sys.stderr)
    print(os.environ.get("PRINTED", "label"))
    os.kill(os.getpid(), 9) if os.environ.get("STATUS") == "killed" else sys.exit(int(os.environ.get("STATUS", 0)))
"""


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A folder with a sweep `one` that has a table and a sweep `two` that has none."""
    for name in ("sweeps/work/one", "sweeps/work/two", "analysis/work/one"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{name}.py").write_text(STAND_IN)
    (tmp_path / "analysis" / "work" / "one.py").write_text(STAND_IN.replace('"STATUS"', '"STATUS_OF_TABLE"'))
    monkeypatch.chdir(tmp_path)
    for name in ("MLFLOW_DISABLE_TELEMETRY", "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "RAY_USAGE_STATS_ENABLED"):
        monkeypatch.setenv(name, os.environ.get(name, "0"))


SWEEP, TABLE = "ran sweeps.work.one --profile smoke --set a=1 b=2", "ran analysis.work.one --profile label"


@pytest.mark.parametrize(
    ("environment", "status", "ran"),
    [
        ({}, 0, [SWEEP, TABLE]),
        ({"STATUS": "1"}, 1, [SWEEP, TABLE]),
        ({"STATUS": "2"}, 2, [SWEEP]),
        ({"STATUS": "killed"}, 137, [SWEEP]),
        ({"PRINTED": ""}, 0, [SWEEP]),
        ({"PRINTED": "a warning\nlabel"}, 0, [SWEEP, TABLE]),
        ({"STATUS_OF_TABLE": "2"}, 1, [SWEEP, TABLE]),
    ],
)
def test_a_sweep_then_its_table(tree, capfd, monkeypatch, environment, status, ran):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert main(["sweep", "one", "--profile", "smoke", "--set", "a=1 b=2"]) == status
    assert [line for line in capfd.readouterr().err.splitlines() if line.startswith("ran ")] == ran


WAITS = 'import time; open("begun", "w").write(str(os.getpid())); time.sleep(600)'


@pytest.mark.system
def test_a_sweep_ends_with_the_command_that_was_told_to_end(tree, tmp_path):
    """SIGTERM reaches the command alone; the sweep is told as well, and no table is begun."""
    (tmp_path / "sweeps" / "work" / "one.py").write_text(STAND_IN.replace("print(os", f"{WAITS}; print(os"))
    process = subprocess.Popen([sys.executable, "-m", "infoscope", "sweep", "one"], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (tmp_path / "begun").exists() or not (tmp_path / "begun").read_text():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    process.terminate()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 143 and "analysis" not in errors
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "begun").read_text()), 0)
