"""The main job on a real local Ray and MLflow, run twice."""

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from infoscope.tracking import load_model, main, runs, table
from sweeps.mi_benchmark._pairs import pairs
from sweeps.mi_benchmark.critic_capacity import SWEEP

pytestmark = pytest.mark.system
REPOSITORY = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The smoke profile on the embedded data, run twice in an empty folder; the second
    time in this process.
    """
    folder = tmp_path_factory.mktemp("main-job")
    hidden = ("INFOSCOPE_DATA", "MLFLOW_TRACKING_URI", "RAY_ADDRESS")
    environment = {}
    for name, value in os.environ.items():
        if name not in hidden:
            environment[name] = value
    environment["PYTHONPATH"] = str(REPOSITORY)
    for name in ("sweeps", "analysis"):
        (folder / name).symlink_to(REPOSITORY / name)

    def run(task):
        command = [
            sys.executable,
            "-m",
            "infoscope",
            task,
            "critic-capacity",
            "--profile",
            "smoke",
        ]
        return subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=900,
        )

    first = run("sweep")
    with pytest.MonkeyPatch.context() as patch:
        for name in hidden:
            patch.delenv(name, raising=False)
        patch.setattr("infoscope.tracking.driver._Run", None)  # what would start a Ray
        patch.chdir(folder)
        with (
            contextlib.redirect_stderr(io.StringIO()) as errors,
            pytest.raises(SystemExit) as ended,
        ):
            main(SWEEP, ["--profile", "smoke"])
    return folder, first, (ended.value.code, errors.getvalue()), run("table")


def test_smoke_runs_and_the_second_time_nothing(finished):
    _, first, second, _ = finished
    assert first.returncode == 0, first.stderr
    assert "36 completed of" in first.stderr
    assert second[0] == 0
    assert "nothing to run" in second[1]


def test_every_cell_is_one_finished_run_with_its_trace_and_critic(finished):
    folder, *_ = finished
    with contextlib.chdir(folder):
        frame = runs("critic-capacity", "smoke")
        assert len(frame) == 36
        assert frame["key"].is_unique
        assert (frame["status"] == "FINISHED").all()
        row = frame.set_index(["domain", "bound", "depth", "seed"]).loc[
            "text", "smile-inf", 2, 1
        ]
        assert row["tags"]["infoscope.data"] == "generated-sentences (synthetic)"
        assert row["tags"]["mlflow.runName"].endswith("depth=2 smile-inf seed=1")
        assert {
            "mlflow.parentRunId",
            "infoscope.code",
            "infoscope.device",
            "version.torch",
        } <= set(row["tags"])
        row = frame[
            (frame["domain"] == "images") & (frame["bound"] == "smile-inf")
        ].iloc[0]
        trace = table(row["run_id"], "trace")
        assert len(trace) == row["steps"]
        assert ((trace["estimate_bits"] - 2) ** 2).mean() == pytest.approx(
            row["mse_bits2 at 2 bits"]
        )
        critic = load_model(row["run_id"])
        source = pairs("images", row["pool"], 2.0, row["sources"], row["size"])
        x, y = source.sample(6, torch.Generator().manual_seed(0))
        assert critic(x, y).shape == (6, 6)


def test_the_table_says_what_it_is_made_of(finished):
    folder, _, _, shown = finished
    assert shown.returncode == 0, shown.stderr
    for words in (
        "digits (embedded",
        "text is synthetic",
        "smoke: 500 steps",
        "± is one",
        "Claim: ",
    ):
        assert words in shown.stdout
    for name in ("smile-inf-2bits", "all-2bits"):
        for suffix in ("csv", "tex", "png"):
            assert (
                folder / "runs" / "tables" / f"critic-capacity-smoke-{name}.{suffix}"
            ).stat().st_size > 500
