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
from tests.refusals import refused

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


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ("--help", 0, "sweep-all"),
        ("sweep --help", 0, "critic-capacity"),
        ("", 2, "error: the following arguments are required: TASK; `infoscope --help`"),
        ("swep toy-model", 2, "error: task must be one of sweep, table, "),
        ("sweep nothing", 2, "error: sweep must be one of "),
        ("sweep toy-model --profil", 2, "error: argument --profile: expected one argument; `infoscope sweep --help`"),
        ("sweep toy-model --bits 4", 2, "error: --bits 4 is not understood; `infoscope sweep --help`"),
        ("sweep toy-model --set seeds", 2, "error: setting 'seeds' is not of the form name=value"),
        ("sweep toy-model --gpus-per-pack all", 2, "error: argument --gpus-per-pack: invalid float value: 'all'"),
        ("sweep-all nothing", 2, "error: nothing is not understood; `infoscope sweep-all --help`"),
        ("table nothing", 2, "error: table must be one of "),
        ("table tables", 2, "error: table must be one of "),
        ("table toy-model --bits 4", 2, "error: table toy-model has no option --bits; it has --help, --profile"),
        ("report --bits 4", 2, "error: report has no option --bits; it has --help, --profile"),
        ("audit --sets 4", 2, "error: audit has no option --sets; it has --help, --n, --repeats"),
        ("drill --steady", 2, "error: drill has no option --steady; it has --help, --rounds"),
        ("advise --data no.csv --y c", 2, "error: DATA must be a file that can be read, got 'no.csv': No such file"),
        ("status --set seeds", 2, "error: setting 'seeds' is not of the form name=value"),
        ("sync --record", 2, "error: argument --records: expected one argument"),
        ("export", 2, "error: the following arguments are required: RUN; `infoscope export --help`"),
        ("runs-save", 2, "error: the following arguments are required: EXPERIMENT; `infoscope runs-save --help`"),
        ("runs-load --tables x", 2, "error: --tables is not understood; `infoscope runs-load --help`"),
        ("ui --port 0", 2, "error: argument --port: port must be a number from 1 to 65535, got '0'"),
    ],
)
def test_nothing_is_loaded_before_the_words_are_checked(words, code, told):
    command = [sys.executable, "-c", CHECK, *words.split()]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60)
    assert done.returncode == code and told in done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "loaded:"
    assert code == 0 or len(done.stderr.splitlines()) == 1


def test_outside_a_working_tree_it_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for words, missing in {
        "sweep one": "sweeps",
        "sweep-all": "sweeps",
        "table one": "tables",
        "report": "analysis.report",
    }.items():
        assert main(words.split()) == 2
        told = capsys.readouterr().err
        assert missing in told and str(tmp_path) in told and "where infoscope's Makefile is" in told


def test_names_and_options_are_read_off_the_files():
    assert {"critic-capacity", "usable-leakage"} <= set(names("sweeps")) and "streams" not in names("sweeps")
    assert {"partition", "audit"} <= set(names("analysis")) and "figures" not in names("analysis")
    assert sorted(sweeps_in_order()) == sorted(names("sweeps"))
    assert sweeps_in_order()[-2:] == ["entanglement-attacks", "usable-leakage"]
    assert options_of("analysis.mi_benchmark.critic_capacity") == ["--help", "--profile", "--bound", "--bits"]
    assert {"--models", "--model", "--again"} < set(options_of("analysis.partition.partition"))


def test_every_option_of_a_table_is_known():
    """As its own parser has them: the command line refuses none of them."""
    for name in names("analysis"):
        module = importlib.import_module(module_of(name, "analysis"))
        if hasattr(module, "ANALYSIS"):
            declared = ["--help", "--profile", *(f"--{option}" for option in module.ANALYSIS.options)]
            assert options_of(module.__name__) == declared


def test_a_module_is_found_in_whatever_folder_it_is():
    assert module_of("critic-capacity") == "sweeps.mi_benchmark.critic_capacity"
    assert module_of("critic_capacity", "analysis") == "analysis.mi_benchmark.critic_capacity"
    assert module_of("no-such-sweep") is None and module_of("critic-capacity", "no_such_package") is None


@pytest.mark.parametrize(("source", "options"), [
    ("OPTIONS = dict(a=1)\nA = Analysis('a', b, OPTIONS)\n", None), ("x = 1\n", None),
    ("parser.add_argument(name)\n", None), ("A = Analysis('a', b)\n", ["--help", "--profile"]),
    ("A = Analysis('a', b, {'c': {}})\n", ["--help", "--profile", "--c"]),
    ("A = Analysis('a', b, options={'c': {}})\n", None),
    ("parser.add_argument('-n', '--number')\n", ["--help", "-n", "--number"]),
    ("add_more(parser)\nparser.add_argument('--number')\n", None),
])  # fmt: skip
def test_options_that_cannot_be_read_off_are_left_to_the_module(tmp_path, monkeypatch, source, options):
    (tmp_path / "one.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    assert options_of("one") == options


def test_what_make_hands_over():
    given = {"PROFILE": "smoke", "SET": "a=1 b=2", "PORT": "5001", "ARGS": "--bits 4 'two words' \"metrics.`a` > 1\""}
    rest = ["--bits", "4", "two words", "metrics.`a` > 1"]
    under, settings = ["--profile", "smoke"], ["--set", "a=1 b=2"]
    assert {task: words_of_make(given | {"TASK": task}) for task in (
        "sweep-toy-model", "table-toy-model", "sweep-all", "sweep-status", "sweep-sync", "report", "export-model",
        "promote", "runs-save", "runs-load", "ui",
    )} == {
        "sweep-toy-model": ["sweep", "toy-model", *under, *settings, *rest],
        "table-toy-model": ["table", "toy-model", *under, *rest],
        "sweep-all": ["sweep-all", *under, *settings, *rest],
        "sweep-status": ["status", *under, *settings, *rest],
        "sweep-sync": ["sync", *rest],
        "report": ["report", *under, *rest],
        "export-model": ["export", *rest],
        "promote": ["promote", *rest],
        "runs-save": ["runs-save", *rest],
        "runs-load": ["runs-load", *rest],
        "ui": ["ui", "--port", "5001", *rest],
    }  # fmt: skip
    saved = words_of_make(given | {"TASK": "runs-save", "GIVEN": "ARGS PROFILE"})  # written, not the default
    assert saved == ["runs-save", *under, *rest]
    with refused("ARGS", "range"):
        words_of_make({"TASK": "sweep-sync", "ARGS": "'a"})


@pytest.mark.parametrize("task", ["measure", "advise", "represent", "table-partition", "table-representations"])
def test_what_a_person_gives_to_make_is_known_to_the_task(task, monkeypatch):
    """All of it at once: what the task has no use for is not handed over."""
    monkeypatch.chdir(REPOSITORY)
    given = dict.fromkeys(
        ("DATA", "X", "Y", "GROUPS", "CONTINUOUS", "DISCRETE", "METHODS", "WITHIN", "TARGETS", "DOMAIN", "ITEMS",
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
        ({"STATUS": "130"}, 130, [SWEEP]),
        ({"STATUS": "killed"}, 137, [SWEEP]),
        ({"PRINTED": ""}, 0, [SWEEP]),
        ({"PRINTED": "a warning\nlabel"}, 0, [SWEEP, TABLE]),
        ({"STATUS_OF_TABLE": "2"}, 1, [SWEEP, TABLE]),
        ({"STATUS": "1", "STATUS_OF_TABLE": "2"}, 1, [SWEEP, TABLE]),
    ],
)
def test_a_sweep_then_its_table(tree, capfd, monkeypatch, environment, status, ran):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert main(["sweep", "one", "--profile", "smoke", "--set", "a=1 b=2"]) == status
    assert [line for line in capfd.readouterr().err.splitlines() if line.startswith("ran ")] == ran


def test_a_sweep_without_a_table(tree, capfd):
    assert main(["sweep", "two", "--gpus-per-pack", "0.5"]) == 0
    assert capfd.readouterr().err.splitlines() == ["ran sweeps.work.two --profile laptop --set  --gpus-per-pack 0.5"]


def test_a_sweep_ends_with_the_command_that_was_told_to_end(tree, tmp_path):
    """SIGTERM reaches the command alone; the sweep is told as well, and no table is begun."""
    wait = 'import time; open("begun", "w").write(str(os.getpid())); time.sleep(600)'
    (tmp_path / "sweeps" / "work" / "one.py").write_text(STAND_IN.replace("print(os", f"{wait}; print(os"))
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
