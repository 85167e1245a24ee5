"""The contents of the tracking store after a round, and what is wrong with them."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from mlflow.entities import Run
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from infoscope.tracking import runs
from infoscope.tracking.store.client import environment
from infoscope.tracking.store.store import KEY, pages
from infra.drill import sweep
from infra.drill.poison import POISONED

LOSSES = (
    *("lost", "twice"),  # cells without a run, with several
    "miscounted",  # cells that are not exactly once in `runs`
    *("running", "failed", "incomplete"),  # runs that are open, are not finished, lack curve, table or model
    *("duplicates", "wrong"),  # steps that are repeated, or differ from an uninterrupted training
    *("unready", "unsent"),  # partial models, and records left after `sweep-sync`
)


@cache
def expected(bits: float, bound: str, steps: int) -> tuple[float, ...]:
    """The curve of a cell whose training nobody interrupts, nats."""
    running = sweep.training(bits, sweep.BOUNDS, steps)
    running.advance(steps)
    return tuple(running.trace.of(bound))


def read(uri: str, experiment: str, plan: Mapping[str, Mapping], trees: Sequence[Path]) -> dict[str, int]:
    """The number of cells of a plan, and of each kind of loss in the store and in working trees; runs that the drill
    added are excluded.
    """
    client, found, models = MlflowClient(uri), [], []
    if known := client.get_experiment_by_name(experiment):
        ids = [known.experiment_id]
        found = list(pages(lambda token: client.search_runs(ids, max_results=1000, page_token=token)))
        models = pages(lambda token: client.search_logged_models(ids, max_results=100, page_token=token))
    of = {key: [run for run in found if run.data.tags.get(KEY) == key] for key in plan}
    last = {key: several[-1] for key, several in of.items() if several}
    curves = {key: client.get_metric_history(run.info.run_id, sweep.CURVE) for key, run in last.items()}
    points = {key: [(point.step, point.value) for point in curve] for key, curve in curves.items()}
    truth = {key: expected(cell["bits"], cell["bound"], cell["steps"]) for key, cell in plan.items()}
    return dict(
        cells=len(plan),
        lost=len(plan) - len(last),
        twice=sum(len(several) > 1 for several in of.values()),
        miscounted=_miscounted(uri, experiment, plan),
        running=sum(run.info.status == "RUNNING" for run in found if POISONED not in run.data.tags),
        failed=sum(run.info.status != "FINISHED" for run in last.values()),
        incomplete=sum(not _whole(client, last[key], points[key], truth[key]) for key in last),
        duplicates=sum(len(curve) - len(dict(curve)) for curve in points.values()),
        wrong=sum(len(set(points[key]) - set(enumerate(truth[key]))) for key in last),
        unready=sum(str(model.status) != "READY" for model in models),
        unsent=sum(len(list(tree.glob("runs/records/*/*/record.jsonl"))) for tree in trees),
    )


def _miscounted(uri: str, experiment: str, plan: Mapping[str, Mapping]) -> int:
    try:
        with environment({"MLFLOW_TRACKING_URI": uri}):
            counts = Counter(runs(experiment)["key"])
    except Exception:  # whatever it is, none of the cells can be read
        return len(plan)
    return sum(counts.pop(key, 0) != 1 for key in plan) + counts.total()


def _whole(client: MlflowClient, run: Run, curve: Sequence[tuple[int, float]], truth: Sequence[float]) -> bool:
    if {step for step, _ in curve} != set(range(len(truth))):
        return False
    outputs = client.get_run(run.info.run_id).outputs
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = client.download_artifacts(run.info.run_id, f"{sweep.TABLE}.parquet", folder)
            table = pd.read_parquet(path)[sweep.CURVE]
    except (MlflowException, OSError):
        return False
    return bool(outputs and outputs.model_outputs) and np.array_equal(table, truth)
