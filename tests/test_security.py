"""What comes from users or from a store stays data: it reaches no shell, no pickle and
no path of its own choosing.
"""

import ast
import contextlib
import os
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis import report as page
from analysis.common.claims import Claim
from analysis.common.tables import (
    LONGEST_NAME,
    Analysis,
    Result,
    file_name,
    printable,
    save,
    show,
)
from infoscope.errors import StoreUnreachable
from infoscope.tracking import Sweep, arrays, log_results
from infoscope.tracking import cli as commands
from infoscope.tracking.checkpoint import Checkpoint
from infoscope.tracking.report import RecordedReport
from infoscope.tracking.store import Store
from tests.refusals import refused
from tests.test_makefile import INJECTIONS
from tests.tracking.cells import begun

REPOSITORY = Path(__file__).parents[1]
FOLDERS = ("packages", "sweeps", "analysis", "infra")
SOURCES = sorted(
    path for folder in FOLDERS for path in (REPOSITORY / folder).rglob("*.py")
)
HOSTILE = (
    "../outside",
    "a/b",
    "..",
    ".hidden",
    "",
    "a\nb",
    "a\0b",
    "a" * 101,
    None,
)

# What executes code that it is given, or may; and where that is the point.
NEVER = {
    "eval", "__import__", "os.system", "os.popen", "marshal.loads", "runpy.run_path",
    "pickle.load", "cloudpickle.load", "cloudpickle.loads", "dill.load", "dill.loads", "joblib.load",
    "pd.read_pickle", "pandas.read_pickle", "yaml.load", "yaml.full_load", "yaml.unsafe_load", "torch.hub.load",
    "torch.jit.load", "shutil.unpack_archive", "extractall",
}  # fmt: skip
ONLY_WITH = {
    "torch.load": ("weights_only", True),
    "np.load": ("allow_pickle", False),
    "numpy.load": ("allow_pickle", False),
}
ONLY_IN = {
    # of what the driver itself pickled, which Ray carries in a pickle of its own
    "pickle.loads": "dispatch.py",
    "exec": "documents.py",  # the code of our own pages, which draws their figures
    "compile": "documents.py",
    "torch.export.load": None,
    "mlflow.pytorch.load_model": None,
    "mlflow.pyfunc.load_model": None,
}


def faults(source, name):
    """What a module calls that could execute what it is given, with the line."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.keyword)
            and node.arg in ("shell", "trust_remote_code")
            and not _is_false(node.value)
        ):
            yield f"{node.arg} in line {node.value.lineno}"
        if not isinstance(node, ast.Call):
            continue
        called = _dotted(node.func)
        keywords = {}
        for one in node.keywords:
            if isinstance(one.value, ast.Constant):
                keywords[one.arg] = one.value.value
        never = called in NEVER or called.rpartition(".")[2] == "extractall"
        without = (
            called in ONLY_WITH
            and keywords.get(ONLY_WITH[called][0]) is not ONLY_WITH[called][1]
        )
        if never or without or called in ONLY_IN and name != ONLY_IN[called]:
            yield f"{called} in line {node.lineno}"


def _dotted(node):
    """The name that is called, such as torch.load; of what is no plain name the last
    part.
    """
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    if isinstance(node, ast.Name):
        return node.id
    return ""


def _is_false(node):
    return isinstance(node, ast.Constant) and node.value is False


def test_nothing_executes_what_it_is_given():
    assert len(SOURCES) > 150
    for path in SOURCES:
        source = path.read_text(encoding="utf-8")
        assert not list(faults(source, path.name)), path


@pytest.mark.parametrize(
    "source",
    [
        "torch.load(path)",
        "np.load(p, allow_pickle=flag)",
        "subprocess.run(words, shell=flag)",
        "pickle.loads(data)",
        "archive.extractall(folder)",
        "AutoModel.from_pretrained(name, trust_remote_code=True)",
    ],
)
def test_what_would_be_found(source):
    assert list(faults(source, "any.py"))
    assert not list(
        faults(
            "torch.load(p, weights_only=True); np.load(p, allow_pickle=False); "
            "m.eval()",
            "any.py",
        )
    )


@pytest.fixture
def report(tmp_path):
    cell = {"a": 1}
    folder = begun(tmp_path / "cells", "key", cell)
    checkpoint = Checkpoint(str(tmp_path), "x", ["key"])
    return RecordedReport(
        {"key": cell}, {"key": folder}, checkpoint, lambda told: None
    ), cell


@pytest.mark.parametrize("name", HOSTILE)
def test_names_of_what_a_trial_reports_are_no_paths(report, tmp_path, name):
    report, cell = report
    before = set(tmp_path.rglob("*"))
    for tell in (
        lambda: report.table(cell, name, {"x": [1]}),
        lambda: report.arrays(cell, name, {"x": np.ones(1)}),
        lambda: report.model([cell], name, None, {}),
    ):
        with refused(code="invalid"):
            tell()
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", HOSTILE)
def test_the_name_of_a_sweep_is_no_path(name):
    with refused(code="invalid"):
        Sweep(name, lambda profile: [], lambda pack, report: None, {})


@pytest.mark.parametrize(
    "text",
    [
        "../../etc/passwd",
        "..",
        "/etc/passwd",
        "",
        "a\0b\n",
        "x" * 1000,
        "laptop data=/a/../b",
    ],
)
def test_what_is_saved_stays_in_its_folder(tmp_path, text):
    frame = pd.DataFrame({"a": [1]})
    result = Result(text, frame, frame, "")
    stem = (
        tmp_path
        / "tables"
        / Analysis("demo", lambda runs, options: []).stem(text, result)
    )
    for path in save(result, stem):
        assert path.parent.resolve() == (tmp_path / "tables").resolve()
        assert path.exists()
    assert (tmp_path / file_name(text)).resolve().parent == tmp_path.resolve()


def test_long_names_stay_apart():
    first = file_name("x" * 500 + "a")
    second = file_name("x" * 500 + "b")
    assert first != second
    assert len(first) <= LONGEST_NAME


HOSTILE_TEXT = "\x1b]0;title\x07\x1b[2J[red]a[/b] :smile: \\input{/etc/passwd} $\\write18{id}$ ~^ <script>"


def test_a_table_from_a_store_is_printed_as_it_is(capsys):
    show(pd.DataFrame({HOSTILE_TEXT: [HOSTILE_TEXT]}))
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "\x07" not in shown
    # a title may have a word a line
    title, cell = shown.replace("\n", " ").split("─", 1)
    for words in (" ".join(title.split()), cell):
        assert "[red]a[/b] :smile: \\input{/etc/passwd}" in words
    assert printable("±² [bits²]\n–") == "±² [bits²]\n–"


def test_a_table_in_latex_has_no_commands_from_a_store(tmp_path):
    frame = pd.DataFrame({HOSTILE_TEXT: [HOSTILE_TEXT]})
    written = save(
        Result(
            "demo", frame, frame, HOSTILE_TEXT, claims=[Claim("a", "confirmed", "b")]
        ),
        tmp_path / "t",
    )
    text = written.tex.read_text(encoding="utf-8")
    assert "\\input" not in text
    assert "\\write18" not in text
    assert (
        text.count(
            r"\textbackslash{}input\{/etc/passwd\} \$\textbackslash{}write18\{id\}\$"
        )
        == 4
    )


@pytest.mark.parametrize("text", INJECTIONS)
def test_a_command_that_a_page_shows_can_be_pasted(text):
    shown = page.make_command("nuisance", f"laptop {text} steps=40")
    assert shlex.split(shown) == [
        "make",
        "sweep-nuisance",
        "PROFILE=laptop",
        f"SET={' '.join(text.split())} steps=40",
    ]
    for word in "`$;|&>":
        assert word not in shown.split("'")[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("store")


@pytest.fixture
def store(folder, monkeypatch):
    """One for all, in the working folder: its migrations take seconds."""
    monkeypatch.chdir(folder)
    return Store.open("demo", create=True)


def test_names_of_artifacts_stay_below_their_run(store, folder):
    run_id = store.client.create_run(store.experiment_id).info.run_id
    (folder / "runs" / "secret.npz").write_bytes(b"secret")
    (folder / "file.txt").write_text("text")
    before = set(folder.rglob("*"))
    for place in ("../outside", "../../../outside", "/tmp/outside"):
        with pytest.raises(Exception, match="[Ii]nvalid"):
            log_results(run_id, {}, [folder / "file.txt"], place)
    for name in ("../../../secret", str(folder / "runs" / "secret")):
        with pytest.raises((LookupError, ValueError)):
            arrays(run_id, name)
    added = set(folder.rglob("*")) - before
    for path in added:
        assert not path.is_file()


CLOSING_QUOTE = "b' or tags.`infoscope.key` != '"


def test_a_key_does_not_leave_its_filter(store):
    """Neither another cell nor all of them: a key that closes the quotes is found
    nowhere.
    """
    from mlflow.exceptions import MlflowException

    store.client.create_run(
        store.experiment_id, tags={"infoscope.key": "a", "mlflow.infoscope.cell": "{}"}
    )
    assert store.run_of("a").data.tags["infoscope.key"] == "a"
    with contextlib.suppress(MlflowException):
        assert store.run_of(CLOSING_QUOTE) is None


@pytest.fixture
def served(monkeypatch):
    """(port) -> the command and the environment by which the UI would be started."""

    def start(port):
        begun = []

        class Server(contextlib.AbstractContextManager):
            def __init__(self, words):
                begun.append((words, dict(os.environ)))

            def __exit__(self, *_):
                pass

            poll = terminate = lambda self: None
            wait = lambda self: 0

        with monkeypatch.context() as patch:
            patch.setattr(commands.subprocess, "Popen", Server)
            patch.setattr(commands, "is_taken", lambda port: True)
            patch.setattr(os, "environ", os.environ.copy())
            assert commands.serve_ui(port) == 0
        return begun[0]

    return start


def test_the_ui_listens_to_this_machine_only_and_runs_no_shell(
    store, served, monkeypatch
):
    for name in (
        "MLFLOW_ENABLE_ASSISTANT_SANDBOX",
        "MLFLOW_ENABLE_AI_GATEWAY",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION",
    ):
        monkeypatch.delenv(name, raising=False)
    words, environment = served(5001)
    assert words[words.index("--host") + 1] == "127.0.0.1"
    assert "--app-name" not in words
    assert environment["MLFLOW_BACKEND_STORE_URI"] == store.uri
    assert environment["MLFLOW_ENABLE_ASSISTANT_SANDBOX"] == "true"
    assert (
        environment["MLFLOW_ENABLE_AI_GATEWAY"]
        == environment["MLFLOW_SERVER_ENABLE_JOB_EXECUTION"]
        == "false"
    )


def test_a_password_is_on_no_command_line(served, monkeypatch, capsys):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "postgresql://me:secret@127.0.0.1/runs")
    words, environment = served(5001)
    assert "secret" not in " ".join(words) + capsys.readouterr().out
    assert (
        environment["MLFLOW_BACKEND_STORE_URI"]
        == "postgresql://me:secret@127.0.0.1/runs"
    )


def test_a_password_is_in_no_message(monkeypatch, capsys):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://me:secret@127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    commands.serve_ui(5001)
    with pytest.raises(StoreUnreachable) as raised:
        Store.open("demo")
    printed = capsys.readouterr().out, str(raised.value)
    for text in printed:
        assert "secret" not in text
        assert "//127.0.0.1:9" in text
