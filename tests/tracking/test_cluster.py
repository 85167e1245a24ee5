"""How a sweep finds its Ray and what it sends there, without a cluster; tests/infra has
one of two nodes.
"""

import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import psutil
import pytest
import ray
import ray.cloudpickle
from ray._private.runtime_env.packaging import create_package

from infoscope.tracking import cluster


@pytest.fixture
def settings():
    """(name=value ...) -> None: these variables and no others of a cluster; what a
    sweep sets is undone afterwards.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "environ", os.environ.copy())
        for name in list(os.environ):
            if name.startswith(("RAY_", "MLFLOW_", "INFOSCOPE_")):
                del os.environ[name]
        yield os.environ.update


@pytest.mark.parametrize(
    "variables, word",
    [
        ({"RAY_ADDRESS": "ray://head:10001"}, "got ray://head:10001"),
        ({"RAY_ADDRESS": "head:70000"}, "got 'head:70000'"),
        ({"RAY_ADDRESS": "head:0"}, "got 'head:0'"),
        ({"RAY_ADDRESS": "127.0.0.1:9"}, "RAY_ADDRESS=127.0.0.1:9"),
        ({"RAY_ADDRESS": "127.0.0.1:1", "INFOSCOPE_CODE": "git"}, "INFOSCOPE_CODE"),
    ],
)
def test_a_cluster_that_cannot_be_used_is_one_sentence(settings, variables, word):
    settings(variables)
    with pytest.raises(ValueError) as raised, cluster.running():
        pass
    assert word in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


def test_workers_take_over_settings_that_their_machine_does_not_have(settings):
    """One sweep, one store; data where the machine has them; a certificate of one's
    own, or no request works.
    """
    copied = {
        "INFOSCOPE_CHECKPOINT_SECONDS": "5",
        "MLFLOW_TRACKING_PASSWORD": "pw",
        "MLFLOW_TRACKING_INSECURE_TLS": "true",
    }
    settings(
        copied
        | {"INFOSCOPE_DATA": "/of/the/driver", "MLFLOW_TRACKING_URI": "http://tracking"}
    )
    hook = ray.cloudpickle.dumps(
        cluster._cluster_environment()["worker_process_setup_hook"]
    )
    for name in copied:
        del os.environ[name]
    settings(
        {"INFOSCOPE_DATA": "/of/the/worker", "MLFLOW_TRACKING_URI": "http://another"}
    )
    ray.cloudpickle.loads(hook)()
    expected = copied | {
        "INFOSCOPE_DATA": "/of/the/worker",
        "MLFLOW_TRACKING_URI": "http://tracking",
    }
    assert {name: os.environ[name] for name in expected} == expected


def test_passwords_are_not_in_what_ray_shows(settings):
    """Ray writes a runtime environment, except for what is pickled, to its logs and on
    its dashboard.
    """
    settings(
        {
            "MLFLOW_TRACKING_USERNAME": "ann",
            "MLFLOW_TRACKING_PASSWORD": "hush",
            "MLFLOW_TRACKING_TOKEN": "tok",
        }
    )
    settings({"MLFLOW_TRACKING_URI": "http://ann:hush@tracking"})
    shown = repr(cluster._cluster_environment())
    for secret in ("hush", "tok", "ann:"):
        assert secret not in shown


def packed(folder, described, tmp_path):
    """The names in the archive that Ray would send, and its bytes."""
    target = tmp_path / "package.zip"
    create_package(
        str(folder),
        target,
        include_gitignore=False,
        excludes=list(described["excludes"]),
    )
    with zipfile.ZipFile(target) as archive:
        return {
            name for name in archive.namelist() if not name.endswith("/")
        }, target.stat().st_size


def test_the_working_tree_goes_along_without_runs_data_and_secrets(
    settings, tmp_path, monkeypatch
):
    tree = tmp_path / "tree"
    wanted = {
        "packages/data/src/infoscope/data/a.py",
        "sweeps/b.py",
        "mine.py",
        "analysis/runs/c.py",
    }
    left = {
        "runs/mlflow.db",
        ".venv/bin/python",
        ".git/HEAD",
        "tests/t.py",
        "infra/mlflow/.env",
        "real/mnist.gz",
    }
    left |= {
        "sweeps/__pycache__/b.pyc",
        "packages/data/src/x.egg-info/PKG-INFO",
        ".ruff_cache/x",
    }
    for name in wanted | left:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("x")
    monkeypatch.chdir(tree)
    settings({"INFOSCOPE_DATA": str(tree / "real")})
    described = cluster._cluster_environment()
    assert packed(tree, described, tmp_path)[0] == wanted
    root = "${RAY_RUNTIME_ENV_CREATE_WORKING_DIR}"
    assert described["env_vars"]["PYTHONPATH"] == f"{root}:{root}/packages/data/src"
    settings({"INFOSCOPE_CODE": "image"})  # the machines have the code
    described = cluster._cluster_environment()
    assert "working_dir" not in described
    assert described["env_vars"] == {"OMP_NUM_THREADS": "1"}


@pytest.fixture
def ray_with(monkeypatch):
    """(resources of each node) -> None: a Ray that consists of these nodes."""

    def set_nodes(*nodes):
        monkeypatch.setattr(
            ray, "nodes", lambda: [{"Alive": True, "Resources": node} for node in nodes]
        )
        total = {
            name: sum(node.get(name, 0) for node in nodes) for name in ("CPU", "GPU")
        }
        monkeypatch.setattr(ray, "cluster_resources", lambda: total)

    return set_nodes


def test_a_trial_that_fits_on_no_machine_is_refused(settings, ray_with):
    """Four cores on two machines are not four on one."""
    ray_with({"CPU": 2.0}, {"CPU": 2.0, "GPU": 1.0})
    assert cluster.resources(2) == (4, 1)
    assert cluster.resources(2, 0.5) == (4, 1)
    for asked, word in (((4,), "4 CPUs"), ((2, 2), "2 GPUs")):
        with pytest.raises(ValueError, match=word):
            cluster.resources(*asked)
    ray_with({"CPU": 2.0})
    # what a trial takes of a GPU where there are none does not matter
    assert cluster.resources(1, 2) == (2, 0)


def test_terminate_interrupts_also_where_interrupts_are_ignored():
    """As they are for what a script starts in the background."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with pytest.raises(KeyboardInterrupt), cluster.terminate_as_interrupt():
            os.kill(os.getpid(), signal.SIGTERM)
            signal.sigtimedwait([], 5)  # the handlers run before this returns
    finally:
        signal.signal(signal.SIGINT, before)


LATE = "The current node timed out during startup."


@pytest.mark.parametrize(
    "outcomes, word",
    [
        ([LATE, LATE, None], None),
        ([LATE] * cluster.STARTS, "timed out"),
        (["full\nray.cc"], "full"),
    ],
)
def test_ray_is_started_again_after_a_timeout(
    settings, monkeypatch, tmp_path, outcomes, word
):
    """As on a machine with much else to do; what the failed attempts have left does not
    stay. Else it is a sentence.
    """
    left = list(outcomes)
    before = set(psutil.Process().children())

    def init(**_):
        subprocess.Popen(["sleep", "600"])
        if outcome := left.pop(0):
            raise Exception(outcome)

    monkeypatch.setattr("ray.init", init)
    if word is None:
        cluster._begin_local(tmp_path)
    else:
        with (
            pytest.raises(cluster.RayNotStarted, match=word) as raised,
            cluster.running(),
        ):
            pass
        assert len(str(raised.value).splitlines()) == 1
    remaining = set(psutil.Process().children()) - before
    for process in remaining:
        process.kill()
        process.wait()
    assert not left
    assert len(remaining) == (word is None)


@pytest.mark.parametrize("base", ["", "of/a/very/long/path/for/temporary/files"])
def test_no_other_user_reaches_the_sockets_of_a_local_ray(
    settings, monkeypatch, tmp_path, base
):
    """Ray opens its folders to everyone; a socket's path has at most 107 bytes."""
    monkeypatch.setattr(
        cluster.tempfile, "tempdir", str(tmp_path / base) if base else None
    )
    folders = []

    def init(_temp_dir, **_):
        folders.append(Path(_temp_dir))
        folders[0].mkdir(mode=0o777)

    monkeypatch.setattr("ray.init", init)
    with cluster.running():
        assert folders[0].parent.stat().st_mode & 0o077 == 0
    socket = (
        folders[0]
        / "session_2026-11-27_23-17-00_562575_4194304"
        / "sockets"
        / "plasma_store"
    )
    assert len(str(socket)) < 107
    assert not folders[0].parent.exists()


@pytest.mark.parametrize("folder", ["plain", "my project", "it's $HOME; #1"])
def test_workers_start_in_a_folder_of_any_name(settings, monkeypatch, tmp_path, folder):
    """Ray runs `bash -c "exec PYTHON ..."`, with the interpreter as it is written."""
    (tmp_path / folder).mkdir()
    python = tmp_path / folder / "python"
    python.symlink_to(sys.executable)
    init_arguments = {}
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr(
        "ray.init", lambda **arguments: init_arguments.update(arguments)
    )
    cluster._init_local(tmp_path)
    described = init_arguments["runtime_env"] or {"py_executable": str(python)}
    assert (init_arguments["runtime_env"] is None) == (folder == "plain")
    subprocess.run(["bash", "-c", f"exec {described['py_executable']} -V"], check=True)


@pytest.mark.parametrize(
    "given, mode",
    [({}, "token"), ({"RAY_ADDRESS": "auto"}, None), ({"RAY_AUTH_TOKEN_PATH": "here"}, "token"),
     ({"RAY_AUTH_MODE": "disabled"}, "disabled")],
)  # fmt: skip
def test_ray_on_this_machine_alone_has_a_token_of_its_own(monkeypatch, given, mode):
    """It listens to all networks; a cluster has the token that it was started with."""
    environment = {
        name: text for name, text in os.environ.items() if not name.startswith("RAY_A")
    } | given
    monkeypatch.setattr(os, "environ", environment)
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    cluster.use_token()
    assert environment.get("RAY_AUTH_MODE") == mode
    assert len(environment.get("RAY_AUTH_TOKEN", "")) == (0 if given else 64)


def test_a_process_that_has_loaded_ray_keeps_what_ray_has_read(monkeypatch):
    """Its children would ask for a token that it does not send."""
    monkeypatch.setattr(
        os,
        "environ",
        {
            name: text
            for name, text in os.environ.items()
            if not name.startswith("RAY_A")
        },
    )
    monkeypatch.setitem(sys.modules, "ray", sys)
    cluster.use_token()
    for name in os.environ:
        assert not name.startswith("RAY_A")
