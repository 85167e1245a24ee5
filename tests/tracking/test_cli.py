"""The command line: what it answers before it loads anything, and what it runs."""

import importlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from infoscope import command_line
from infoscope.__main__ import PROGRAMS, command_of, main
from infoscope.errors import Unavailable
from infoscope.tracking import cli
from infoscope.tracking.registry import module_of, registered

REPOSITORY = Path(__file__).parents[2]
HEAVY = (
    "torch",
    "mlflow",
    "ray",
    "pandas",
    "numpy",
    "numba",
    "sklearn",
    "matplotlib",
    "infoscope.tracking.cli",
)
CHECK = f"""import sys
from infoscope.__main__ import main
code = main(sys.argv[1:])
print("loaded:", *sorted(set(sys.modules) & set({HEAVY!r})))
sys.exit(code)
"""


ANSWERS = {  # words -> exit status, a part of the answer
    "--help": (0, "sweep-all"),
    "sweep --help": (0, "--gpus-per-pack"),
    "swep toy-model": (2, "Did you mean"),
    "sweep toymodel": (2, "did you mean toy-model?"),
    "sweep toy-model --bits 4": (2, "'--bits'"),
    "sweep toy-model --set seeds": (2, "name=value"),
    "table nothing": (2, "table must be"),
    "runs-save": (2, "'EXPERIMENTS"),
    "ui --port 0": (2, "'--port'"),
}


@pytest.mark.parametrize("words", ANSWERS)
def test_nothing_is_loaded_before_the_words_are_checked(words):
    command = [sys.executable, "-c", CHECK, *words.split()]
    done = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60
    )
    code, part = ANSWERS[words]
    assert done.returncode == code
    assert part in done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "loaded:"
    assert code == 0 or len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "words", [["table", "toy-model"], *([name] for name in PROGRAMS)]
)
def test_an_option_that_a_program_has_not_is_refused(words, capsys, monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    assert main([*words, "--no-such-option"]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert "'--no-such-option'" in said
    assert f"`infoscope {' '.join(words)} --help`" in said


def test_further_words_are_split_as_a_shell_does(capsys):
    assert main(["--words", "nothing 'a b'", "sweep"]) == 2
    assert "(a b)" in capsys.readouterr().err
    assert main(["--words", "'a", "sweep"]) == 2
    assert "no closing quotation" in capsys.readouterr().err


def test_a_port_in_use_is_refused(capsys):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        assert main(["ui", "--port", port]) == 2
    assert port in capsys.readouterr().err


def test_outside_a_working_tree_a_message_is_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    answers = {"sweep one": "sweeps", "sweep-all": "sweeps", "table one": "tables"}
    for words, missing in answers.items():
        assert main(words.split()) == 2
        printed = capsys.readouterr().err
        assert missing in printed
        assert str(tmp_path) in printed
        assert "Makefile" in printed


@pytest.mark.parametrize(
    "error, status, said",
    [
        (Unavailable("away"), 2, "away"),
        (KeyError("no runs yet"), 2, "no runs yet"),
        (
            PermissionError(13, "Permission denied", "runs"),
            2,
            "runs cannot be used: Permission denied",
        ),
        (ConnectionError("http://me:secret@there is\nnot"), 2, "http://there is"),
        (ValueError("a\x1b[31mb"), 2, "a\N{REPLACEMENT CHARACTER}[31mb"),
        (KeyboardInterrupt(), 130, None),
    ],
)
def test_expected_errors_are_one_sentence(capsys, error, status, said):
    def call(given):
        raise error

    assert (
        command_line.run_command(command_line.command("one", call, [], ""), [])
        == status
    )
    printed = capsys.readouterr().err.splitlines()
    assert printed == ([f"error: {said}"] if said else printed)
    assert said or not any(map(str.strip, printed))


def declared(package, pattern):
    """The modules of a package in which a line begins so."""
    modules = set()
    for file in Path(package).glob("*/*.py"):
        if re.search(pattern, file.read_text(), re.MULTILINE):
            modules.add(".".join(file.with_suffix("").parts))
    return modules


def test_every_sweep_and_table_is_registered():
    """By the name of its file. Those that load logged models come last of the sweeps.
    Every table has a command.
    """
    sweeps = registered("SWEEPS")
    tables = registered("TABLES")
    assert set(sweeps.values()) == declared("sweeps", "^SWEEP = ")
    assert set(tables.values()) == declared("analysis", "^(ANALYSIS|COMMAND) = ")
    for name, module in (sweeps | tables).items():
        assert module.endswith("." + name.replace("-", "_"))
    assert list(sweeps)[-2:] == ["entanglement-attacks", "usable-leakage"]
    assert module_of("critic_capacity") == "sweeps.mi_benchmark.critic_capacity"
    assert module_of("no-such") is None
    for module in map(importlib.import_module, tables.values()):
        assert command_of(module.__name__).help
        if hasattr(module, "ANALYSIS"):
            options = {option.name for option in command_of(module.__name__).params}
            assert options == {
                "profile",
                "set",
                *(option.name for option in module.ANALYSIS.options),
            }


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A folder with a sweep `one` that has a table and a sweep `two` that has none:
    what is run, with its words.
    """
    sweeps = {"one": "sweeps.work.one", "two": "sweeps.work.two"}
    listed = {"SWEEPS": sweeps, "TABLES": {"one": "analysis.work.one"}}
    monkeypatch.setattr("infoscope.tracking.registry.registered", listed.__getitem__)
    monkeypatch.setattr("infoscope.__main__.registered", listed.__getitem__)
    monkeypatch.chdir(tmp_path)
    ran = []

    def table(module):
        def call(given):
            ran.append((module, given.profile, given.set))
            raise LookupError("no table")

        return command_line.command(
            "one",
            call,
            [command_line.profile_option(), command_line.set_option("")],
            "",
        )

    def sweep(status):
        monkeypatch.setattr(
            cli, "run_sweep", lambda *words: ran.append(words) or (status, "label")
        )
        return ran

    monkeypatch.setattr("infoscope.__main__.command_of", table)
    return sweep


@pytest.mark.parametrize("of_sweep, status", [(0, 1), (1, 1), (2, 2), (130, 130)])
def test_a_sweep_then_its_table(tree, capsys, of_sweep, status):
    """The table fails here; it is not asked for where the sweep could not be run."""
    ran = tree(of_sweep)
    assert (
        main(
            [
                "sweep",
                "one",
                "--profile",
                "smoke",
                "--set",
                "a=1 b=2",
                "--gpus-per-pack",
                "0.5",
            ]
        )
        == status
    )
    assert ran[0] == ("sweeps.work.one", "smoke", {"a": "1", "b": "2"}, 0.5)
    assert ran[1:] == (
        [("analysis.work.one", "smoke", {"a": "1", "b": "2"})] if of_sweep < 2 else []
    )


def test_a_trial_names_the_command_for_missing_data(tree, capsys):
    """Of a sweep that did not fail; a table is named where there is one."""
    tree(0)
    for words, count in (
        (["two", "--profile", "smoke"], 1),
        (["two"], 0),
        (["one", "--profile", "smoke"], 0),
    ):
        main(["sweep", *words])
        said = capsys.readouterr().err
        assert said.count(f"`make sweep-{words[0]}`") == count
        assert "`make table-" not in said


def test_every_sweep_runs_though_some_fail(tree, monkeypatch, capfd):
    monkeypatch.setattr(
        "infoscope.__main__._run",
        lambda words: asked.append(words) or int(words[1] == "one"),
    )
    asked = []
    assert main(["sweep-all", "--profile", "smoke", "--set", "a=1"]) == 1
    assert asked == [
        ["sweep", name, "--profile", "smoke", "--set", "a=1"] for name in ("one", "two")
    ]
    last = [
        line.split(",")[0].split() for line in capfd.readouterr().out.splitlines()[-2:]
    ]
    assert last == [["FAILED", "one"], ["done", "two"]]


WAITS = """import os, time
SWEEP = 1
open("begun", "w").write(str(os.getpid()))
time.sleep(600)
"""


@pytest.mark.system
@pytest.mark.parametrize(
    "ending, status", [(signal.SIGTERM, 143), (signal.SIGINT, 130)]
)
def test_all_sweeps_end_with_the_command_that_was_told_to_end(tmp_path, ending, status):
    """SIGTERM reaches the command alone, and Ctrl-C all of it; no other sweep is begun."""
    sweeps = tmp_path / "sweeps"
    sweeps.mkdir()
    (sweeps / "__init__.py").write_text(
        'SWEEPS = {"one": "sweeps.one", "two": "sweeps.two"}'
    )
    (sweeps / "one.py").write_text(WAITS)
    words = [sys.executable, "-m", "infoscope", "sweep-all"]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True, start_new_session=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # fmt: skip
    deadline = time.monotonic() + 60
    while not (tmp_path / "begun").exists() or not (tmp_path / "begun").read_text():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.terminate() if ending == signal.SIGTERM else os.killpg(process.pid, ending)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == status
    assert "two" not in output
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "begun").read_text()), 0)
