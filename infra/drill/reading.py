"""What the tracking store holds of a round in the end, and what is wrong with it."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from mlflow.entities import Run
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from infoscope.tracking.store import KEY
from infra.drill import sweep


@dataclasses.dataclass(frozen=True)
class Reading:
    """How many cells there should be, and how many things are wrong; all but `cells` are 0 when nothing is.

    lost: cells without a run; twice: with more than one; running: runs of cells or invocations that are still RUNNING;
    failed: cells whose run is not FINISHED; incomplete: cells whose curve, table or model is missing or has gaps;
    duplicates: points of a curve at a step that it has already; wrong: values that an uninterrupted training does not
    give; unsent: records left behind on the disk.
    """

    cells: int
    lost: int
    twice: int
    running: int
    failed: int
    incomplete: int
    duplicates: int
    wrong: int
    unsent: int


@cache
def expected(bits: float, bound: str, steps: int) -> tuple[float, ...]:
    """The curve of a cell whose training nobody interrupts, nats."""
    running = sweep.training(bits, sweep.BOUNDS, steps)
    running.advance(steps)
    return tuple(running.trace.of(bound))


def read(uri: str, experiment: str, plan: Mapping[str, Mapping], records: Path) -> Reading:
    """What a store holds of an experiment, compared with its plan (cells by key)."""
    client = MlflowClient(uri)
    found = list(_runs(client, experiment))
    of = {key: [run for run in found if run.data.tags.get(KEY) == key] for key in plan}
    last = {key: runs[-1] for key, runs in of.items() if runs}
    curves = {key: client.get_metric_history(run.info.run_id, sweep.CURVE) for key, run in last.items()}
    points = {key: [(point.step, point.value) for point in curve] for key, curve in curves.items()}
    truth = {key: expected(cell["bits"], cell["bound"], cell["steps"]) for key, cell in plan.items()}
    whole = {key: _whole(client, last[key], points[key], truth[key]) for key in last}
    return Reading(
        cells=len(plan),
        lost=len(plan) - len(last),
        twice=sum(len(runs) > 1 for runs in of.values()),
        running=sum(run.info.status == "RUNNING" for run in found),
        failed=sum(run.info.status != "FINISHED" for run in last.values()),
        incomplete=sum(not complete for complete in whole.values()),
        duplicates=sum(len(curve) - len(dict(curve)) for curve in points.values()),
        wrong=sum(_wrong(points[key], truth[key]) for key in last),
        unsent=len(list(records.glob("*/*/record.jsonl"))),
    )


def _runs(client: MlflowClient, experiment: str) -> Iterator[Run]:
    known = client.get_experiment_by_name(experiment)
    token = None
    while known:
        page = client.search_runs([known.experiment_id], max_results=1000, page_token=token)
        yield from page
        token = page.token
        if not token:
            return


def _wrong(curve: Sequence[tuple[int, float]], truth: Sequence[float]) -> int:
    return sum(not 0 <= step < len(truth) or value != truth[step] for step, value in curve)


def _whole(client: MlflowClient, run: Run, curve: Sequence[tuple[int, float]], truth: Sequence[float]) -> bool:
    """Whether a run has every step, the table with the same values, and a model."""
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
