"""How a sweep finds its Ray and what it sends there, without a cluster; tests/infra has one of two nodes."""

import os
import signal
import subprocess
import zipfile
from pathlib import Path

import psutil
import pytest
import ray.cloudpickle
from ray._private.runtime_env.packaging import create_package

from infoscope.tracking.scheduling import cluster

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture
def settings(monkeypatch):
    """(name=value ...) -> None: these variables and no others of a cluster; what a sweep sets is undone afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "environ", os.environ.copy())
        for name in list(os.environ):
            if name.startswith(("RAY_", "MLFLOW_", "INFOSCOPE_")):
                del os.environ[name]
        yield os.environ.update


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"RAY_ADDRESS": "ray://head:10001"}, "a sweep runs on a machine of the cluster"),
        ({"RAY_ADDRESS": "head"}, "RAY_ADDRESS must be auto or HOST:PORT, such as 10.0.0.1:6379, got 'head'"),
        ({"RAY_ADDRESS": "head:70000"}, "RAY_ADDRESS must be auto or HOST:PORT"),
        ({"RAY_ADDRESS": "127.0.0.1:9"}, "no Ray cluster answers at RAY_ADDRESS=127.0.0.1:9 "),
        (
            {"RAY_ADDRESS": "127.0.0.1:1", "INFOSCOPE_CODE": "git"},
            "INFOSCOPE_CODE must be upload or image, got 'git'",
        ),
    ],
)
def test_a_cluster_that_cannot_be_used_is_one_sentence(settings, variables, words):
    settings(variables)
    with pytest.raises(ValueError, match="RAY_ADDRESS|INFOSCOPE_CODE") as raised, cluster.running():
        pass
    assert words in str(raised.value) and len(str(raised.value).splitlines()) == 1


def test_workers_take_over_settings_that_their_machine_does_not_have(settings):
    settings({"INFOSCOPE_DATA": "/of/the/driver", "INFOSCOPE_CHECKPOINT_SECONDS": "5"})
    settings({"MLFLOW_TRACKING_PASSWORD": "pw", "MLFLOW_TRACKING_URI": "http://tracking"})
    settings({"MLFLOW_TRACKING_INSECURE_TLS": "true"})  # or a certificate of one's own, without which no request works
    hook = ray.cloudpickle.dumps(cluster._cluster_environment()["worker_process_setup_hook"])
    for name in ("INFOSCOPE_CHECKPOINT_SECONDS", "MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_INSECURE_TLS"):
        del os.environ[name]
    settings({"INFOSCOPE_DATA": "/of/the/worker", "MLFLOW_TRACKING_URI": "http://another"})
    ray.cloudpickle.loads(hook)()
    assert os.environ["MLFLOW_TRACKING_URI"] == "http://tracking"  # one sweep, one store
    assert os.environ["INFOSCOPE_DATA"] == "/of/the/worker"
    assert os.environ["INFOSCOPE_CHECKPOINT_SECONDS"] == "5" and os.environ["MLFLOW_TRACKING_PASSWORD"] == "pw"
    assert os.environ["MLFLOW_TRACKING_INSECURE_TLS"] == "true"


def test_passwords_are_not_in_what_ray_shows(settings):
    """Ray writes a runtime environment, except for what is pickled, to its logs and on its dashboard."""
    settings({"MLFLOW_TRACKING_USERNAME": "ann", "MLFLOW_TRACKING_PASSWORD": "hush", "MLFLOW_TRACKING_TOKEN": "tok"})
    settings({"MLFLOW_TRACKING_URI": "http://ann:hush@tracking"})
    shown = repr(cluster._cluster_environment())
    assert not any(secret in shown for secret in ("hush", "tok", "ann:"))


def packed(folder, described, tmp_path):
    """The names in the archive that Ray would send, and its bytes."""
    target = tmp_path / "package.zip"
    create_package(str(folder), target, include_gitignore=False, excludes=list(described["excludes"]))
    with zipfile.ZipFile(target) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}, target.stat().st_size


def test_the_working_tree_goes_along_without_runs_data_and_secrets(settings, tmp_path, monkeypatch):
    tree = tmp_path / "tree"
    wanted = {"packages/data/src/infoscope/data/a.py", "sweeps/b.py", "mine.py", "analysis/runs/c.py"}
    left = {"runs/mlflow.db", ".venv/bin/python", ".git/HEAD", "tests/t.py", "infra/mlflow/.env", "real/mnist.gz"}
    left |= {"sweeps/__pycache__/b.pyc", "packages/data/src/x.egg-info/PKG-INFO", ".ruff_cache/x"}
    for name in wanted | left:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("x")
    monkeypatch.chdir(tree)
    settings({"INFOSCOPE_DATA": str(tree / "real")})
    described = cluster._cluster_environment()
    assert packed(tree, described, tmp_path)[0] == wanted
    root = "${RAY_RUNTIME_ENV_CREATE_WORKING_DIR}"
    assert described["env_vars"]["PYTHONPATH"] == f"{root}:{root}/packages/data/src"


def test_this_working_tree_is_small(settings, tmp_path, monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    names, size = packed(REPOSITORY, cluster._cluster_environment(), tmp_path)
    assert "sweeps/mi_benchmark/critic_capacity.py" in names and size < 8 * 2**20


def test_nothing_is_sent_where_the_machines_have_the_code(settings):
    settings({"INFOSCOPE_CODE": "image"})
    described = cluster._cluster_environment()
    assert "working_dir" not in described and described["env_vars"] == {"OMP_NUM_THREADS": "1"}


def node(**resources):
    return {"Alive": True, "Resources": resources}


@pytest.fixture
def ray_with(monkeypatch):
    """(nodes) -> None: a Ray that consists of these nodes."""
    import ray

    def set_nodes(*nodes):
        monkeypatch.setattr(ray, "nodes", lambda: list(nodes))
        total = {name: sum(node["Resources"].get(name, 0) for node in nodes) for name in ("CPU", "GPU")}
        monkeypatch.setattr(ray, "cluster_resources", lambda: total)

    return set_nodes


def test_a_trial_that_fits_on_no_machine_is_refused(settings, ray_with):
    """Four cores on two machines are not four on one."""
    ray_with(node(CPU=2.0), node(CPU=2.0, GPU=1.0))
    assert cluster.resources(2) == (4, 1) and cluster.resources(2, 0.5) == (4, 1)
    with pytest.raises(ValueError, match=r"a trial needs 4 CPUs on one machine, .* \(the largest has 2 CPUs\)"):
        cluster.resources(4)
    with pytest.raises(ValueError, match="a trial needs 2 CPUs and 2 GPUs on one machine"):
        cluster.resources(2, 2)
    ray_with(node(CPU=2.0))
    assert cluster.resources(1, 2) == (2, 0)  # what a trial takes of a GPU where there are none does not matter


def test_terminate_interrupts_also_where_interrupts_are_ignored():
    """As they are for what a script starts in the background."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with pytest.raises(KeyboardInterrupt), cluster.terminate_as_interrupt():
            os.kill(os.getpid(), signal.SIGTERM)
            signal.sigtimedwait([], 5)  # the handlers run before this returns
    finally:
        signal.signal(signal.SIGINT, before)


def late(*outcomes):
    """A `ray.init` that starts a process and then ends as told, one after another."""
    left = list(outcomes)

    def init(**_):
        subprocess.Popen(["sleep", "600"])
        if outcome := left.pop(0):
            raise Exception(outcome)

    return init


LATE = "The current node timed out during startup. This could happen because the GCS has become overloaded."


def test_a_ray_that_has_no_time_to_start_is_started_again(settings, monkeypatch, capsys):
    """As on a machine with much else to do; what the first attempts have left does not stay beside the last."""
    before = set(psutil.Process().children())
    monkeypatch.setattr("ray.init", late(LATE, LATE, None))
    cluster._begin_local()
    (kept,) = set(psutil.Process().children()) - before
    kept.kill()
    kept.wait()
    assert "busy machine; attempt 3 of 6" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("outcomes", "words"),
    [
        ([LATE] * cluster.STARTS, "Ray has not started here, 6 times (The current node timed out"),
        (["no space left in /dev/shm\n at ray.cc"], "Ray cannot be started on this machine: no space left in /dev/shm"),
    ],
)
def test_a_ray_that_does_not_start_is_one_sentence(settings, monkeypatch, outcomes, words):
    before = set(psutil.Process().children())
    monkeypatch.setattr("ray.init", late(*outcomes))
    with pytest.raises(cluster.RayNotStarted) as raised, cluster.running():
        pass
    assert str(raised.value).startswith(words) and len(str(raised.value).splitlines()) == 1
    assert set(psutil.Process().children()) == before
