"""What a tracking store holds: seen again and again by an observer during a round, and in full when it is over."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from infoscope.errors import StoreUnreachable
from infoscope.estimators import Training
from infoscope.tracking import load_model, runs, table
from infoscope.tracking.tags import KEY
from infra.drill import sweep
from infra.drill.history import History, Numbers
from infra.drill.places import START_SECONDS, wait_until
from infra.drill.poison import POISONED

OBSERVE_SECONDS = 1.0  # between two observations
MACHINE = "system/"  # before the names of metrics of the worker's machine (docs/mlflow.md)


@cache
def uninterrupted(bits: float, steps: int) -> Training:
    """The training of a pack that nobody interrupts."""
    running = sweep.training(bits, steps)
    running.advance(steps)
    return running


class Observer(threading.Thread):
    """Looks at an experiment until it is closed, and writes what it sees to a file, a JSON line each time. It alone
    sets MLFLOW_TRACKING_URI in this process.
    """

    def __init__(self, uri: str, experiment: str, file: Path):
        super().__init__(daemon=True)
        os.environ["MLFLOW_TRACKING_URI"] = uri
        self.client, self._experiment, self._file = MlflowClient(uri), experiment, file
        self.seen: list[Mapping[str, Numbers]] = []
        self._over = threading.Event()
        self.start()

    def run(self) -> None:
        while not self._over.wait(OBSERVE_SECONDS):
            self.look()

    def close(self) -> None:
        self._over.set()
        self.join()

    def look(self) -> list[tuple[str, str]] | None:
        """Adds an observation; key and run id of what counts, None where the store does not answer."""
        try:
            frame = runs(self._experiment)
            counted = list(zip(frame["key"], frame["run_id"]))
        except LookupError:  # no experiment yet, or nothing finished in it
            counted = []
        except (StoreUnreachable, MlflowException):
            return None
        try:
            now = {key: self._numbers(run_id) for key, run_id in counted}
        except MlflowException:
            return None
        self.seen.append(now)
        with open(self._file, "a") as file:
            file.write(json.dumps(now) + "\n")
        return counted

    def _numbers(self, run_id: str) -> Numbers:
        names = [name for name in self.client.get_run(run_id).data.metrics if not name.startswith(MACHINE)]
        history = {name: self.client.get_metric_history(run_id, name) for name in sorted(names)}
        return {name: sorted([point.step, point.value] for point in points) for name, points in history.items()}

    def history(self, plan: Mapping[str, Mapping[str, Any]], ledger: Path, trees: Sequence[Path]) -> History:
        """The history of the round, with what the store and the working trees hold now. Raises DrillError when the
        store does not answer.
        """
        last: list[list[tuple[str, str]]] = []
        wait_until(lambda: last.append(self.look()) or last[-1] is not None, "the store", START_SECONDS)
        experiment = self.client.get_experiment_by_name(self._experiment)
        found, models = [], []
        if experiment:
            found = _pages(self.client.search_runs, [experiment.experiment_id])
            models = _pages(self.client.search_logged_models, [experiment.experiment_id])
        found = [run for run in found if POISONED not in run.data.tags]
        incomplete = [f"model {model.model_id}" for model in models if str(model.status) != "READY"]
        incomplete += [key for key, run_id in last[-1] if key in plan and not _is_whole(run_id, plan[key])]
        return History(
            {key: _truth(cell).tolist() for key, cell in plan.items()},
            [json.loads(line) for line in ledger.read_text().splitlines()],
            self.seen,
            counted=[key for key, _ in last[-1]],
            stored=[run.data.tags[KEY] for run in found if KEY in run.data.tags],
            open=[run.info.run_id for run in found if run.info.status not in ("FINISHED", "FAILED", "KILLED")],
            incomplete=incomplete,
            unsent=[str(path) for tree in trees for path in tree.glob("runs/records/*/*/record.jsonl")],
        )


def _pages(search: Callable[..., Any], ids: Sequence[str]) -> list[Any]:
    found, token = [], None
    while token != "":
        page = search(ids, max_results=100, page_token=token)
        found, token = found + list(page), page.token or ""
    return found


def _truth(cell: Mapping[str, Any]) -> np.ndarray:
    return np.asarray(uninterrupted(cell["bits"], cell["steps"]).trace.of(cell["bound"]))


def _is_whole(run_id: str, cell: Mapping[str, Any]) -> bool:
    """Whether a run has the table of an uninterrupted training, with its attempts, and the model."""
    try:
        kept, weights = table(run_id, sweep.TABLE), load_model(run_id, sweep.MODEL).state_dict()
    except Exception:  # whatever it is, they cannot be read
        return False
    expected = uninterrupted(cell["bits"], cell["steps"]).critic.state_dict()
    same = np.array_equal(kept[sweep.CURVE], _truth(cell)) and len(kept[sweep.ATTEMPT]) == cell["steps"]
    return (
        same
        and weights.keys() == expected.keys()
        and all(torch.equal(weights[name], expected[name]) for name in weights)
    )
