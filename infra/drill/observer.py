"""Reads a tracking store repeatedly during a round, and completely at its end."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import torch
from mlflow.exceptions import MlflowException

from infoscope.errors import StoreUnreachable
from infoscope.estimators import Training
from infoscope.tracking import load_model, runs, table
from infoscope.tracking.tags import KEY
from infra.drill import sweep
from infra.drill.history import History, Numbers
from infra.drill.processes import START_SECONDS, wait_until

OBSERVE_SECONDS = 1.0  # between two observations
MACHINE = "system/"  # prefix of the metrics of the worker's machine (docs/mlflow.md)
RECORDS = "runs/records/*/*/record.jsonl"  # in a working tree: records that are not in MLflow yet


@cache
def uninterrupted(bits: float, steps: int) -> Training:
    """The training of a pack without interruption."""
    running = sweep.training(bits, steps)
    running.advance(steps)
    return running


class Observer(threading.Thread):
    """Reads an experiment every second until it is closed, and writes each observation to a file as a JSON line.

    It sets MLFLOW_TRACKING_URI of this process.
    """

    def __init__(self, uri: str, experiment: str, file: Path):
        super().__init__(daemon=True)
        os.environ["MLFLOW_TRACKING_URI"] = uri
        self._client, self._experiment, self._file = mlflow.MlflowClient(uri), experiment, file
        self.seen: list[Mapping[str, Numbers]] = []
        self._counted: list[tuple[str, str]] = []  # key and run id in the last observation
        self._over = threading.Event()
        self.start()

    def run(self) -> None:
        while not self._over.wait(OBSERVE_SECONDS):
            self._observe()

    def close(self) -> None:
        self._over.set()
        self.join()

    def _observe(self) -> bool:
        """Adds an observation; returns whether the store has answered."""
        try:
            try:
                frame = runs(self._experiment)
                self._counted = list(zip(frame["key"], frame["run_id"]))
            except LookupError:  # no experiment yet, or no finished run
                self._counted = []
            now = {key: self._numbers(run_id) for key, run_id in self._counted}
        except (StoreUnreachable, MlflowException):
            return False
        self.seen.append(now)
        with open(self._file, "a") as file:
            file.write(json.dumps(now) + "\n")
        return True

    def _numbers(self, run_id: str) -> Numbers:
        names = [name for name in self._client.get_run(run_id).data.metrics if not name.startswith(MACHINE)]
        history = {name: self._client.get_metric_history(run_id, name) for name in sorted(names)}
        return {name: sorted([point.step, point.value] for point in points) for name, points in history.items()}

    def history(self, plan: Mapping[str, Mapping[str, Any]], ledger: Path, trees: Sequence[Path]) -> History:
        """The history of the round, with the present content of the store and the working trees.

        Raises DrillError when the store does not answer.
        """
        wait_until(self._observe, "the store does not answer", START_SECONDS)
        mlflow.set_tracking_uri(os.environ["MLFLOW_TRACKING_URI"])
        found = mlflow.search_runs(experiment_names=[self._experiment], output_format="list")
        ids = list({run.info.experiment_id for run in found})
        models = mlflow.search_logged_models(ids, output_format="list") if ids else []
        incomplete = [f"model {model.model_id}" for model in models if str(model.status) != "READY"]
        counted = [(key, run_id) for key, run_id in self._counted if key in plan]
        incomplete += [key for key, run_id in counted if not _is_whole(run_id, plan[key], self.seen[-1][key])]
        return History(
            {key: _truth(cell).tolist() for key, cell in plan.items()},
            [json.loads(line) for line in ledger.read_text().splitlines()],
            self.seen,
            counted=[key for key, _ in self._counted],
            stored=[run.data.tags[KEY] for run in found if KEY in run.data.tags],
            open=[run.info.run_id for run in found if run.info.status in ("RUNNING", "SCHEDULED")],
            incomplete=incomplete,
            unsent=[str(path) for tree in trees for path in tree.glob(RECORDS)],
        )


def _truth(cell: Mapping[str, Any]) -> np.ndarray:
    return np.asarray(uninterrupted(cell["bits"], cell["steps"]).trace.of(cell["bound"]))


def _is_whole(run_id: str, cell: Mapping[str, Any], numbers: Numbers) -> bool:
    """Whether a run has the model and the table of an uninterrupted training, from the same attempts as its curve."""
    try:
        kept, weights = table(run_id, sweep.TABLE), load_model(run_id, sweep.MODEL).state_dict()
    except Exception:  # any exception means that they cannot be read
        return False
    truth = uninterrupted(cell["bits"], cell["steps"]).critic.state_dict()
    equal = weights.keys() == truth.keys() and all(torch.equal(weights[name], truth[name]) for name in truth)
    attempts = [value for _, value in numbers.get(sweep.ATTEMPT, ())]
    return equal and np.array_equal(kept[sweep.CURVE], _truth(cell)) and np.array_equal(kept[sweep.ATTEMPT], attempts)
