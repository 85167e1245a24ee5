"""Runs a sweep: finds what is missing, schedules it on Ray Tune, and closes every run with its true status."""

from __future__ import annotations

import contextlib
import inspect
import logging
import os
import platform
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from mlflow.entities import Metric, Run
from mlflow.exceptions import MlflowException
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NAME

from infoscope.tracking.environment import code_tags
from infoscope.tracking.flush import STATUS, close_all
from infoscope.tracking.progress import Progress
from infoscope.tracking.record import FAILED, STOPPED, Record, records
from infoscope.tracking.store import DRIVER, KEY, OUTCOME, PARENT, PROFILE, VERSION, Store, first_line, home, labels
from infoscope.tracking.sweep import Cell, Sweep, names
from infoscope.tracking.worker import Assignment, work

log = logging.getLogger(__name__)

DATA = "INFOSCOPE_DATA"
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_DEDUP_LOGS": "0",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_RESULT_BUFFER_LENGTH": "0",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}


@dataclass
class Summary:
    """How an invocation went. Cells are counted; `failures` holds each failed cell with the last line of its error,
    `unsent` the keys of cells that are recorded but that MLflow does not hold yet."""

    sweep: str
    profile: str
    cells: int
    skipped: int
    completed: int = 0
    stopped: int = 0
    failures: list[tuple[Cell, str]] = field(default_factory=list)
    unsent: set[str] = field(default_factory=set)
    seconds: float = 0.0
    tracking_share: float | None = None

    @property
    def unfinished(self) -> int:
        return self.cells - self.skipped - self.completed - self.stopped - len(self.failures)

    @property
    def status(self) -> str:
        return "KILLED" if self.unfinished else "FAILED" if self.failures else "FINISHED"


class SweepBusy(RuntimeError):
    """Another process runs the same sweep in this working tree."""


def run(sweep: Sweep, profile: str = "laptop", overrides: Mapping[str, str] | None = None) -> Summary:
    """Runs the cells of a profile that MLflow does not hold yet.

    Raises ValueError on a bad profile, setting or cell before anything is recorded, SweepBusy when the sweep already
    runs here, StoreUnreachable when the tracking store does not answer. A failed cell does not raise: it is in the
    summary.
    """
    label, settings = sweep.profile(profile, overrides)
    plan = sweep.plan(settings)
    began = time.perf_counter()
    folder = home() / "records" / sweep.name
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder.with_suffix(".lock"), timeout=0):
            store = Store.open(sweep.name, create=True)
            left = _close_leftovers(store, folder)
            known = {run.data.tags[KEY]: run for run in store.cells()}
            done = {key for key, run in known.items() if run.info.status == "FINISHED"}
            missing = {key: cell for key, cell in plan.items() if key not in done}
            summary = Summary(sweep.name, label, len(plan), len(plan) - len(missing), unsent=left)
            for key in plan:
                if key in done:
                    _belongs_to(known[key], label, store)
            if missing:
                run_ids = {key: known[key].info.run_id for key in missing if key in known}
                _run_missing(sweep, label, missing, run_ids, store, folder, summary)
    except Timeout:
        raise SweepBusy(
            f"sweep {sweep.name} is already running in this working tree; wait for it or stop it first"
        ) from None
    summary.seconds = time.perf_counter() - began
    return summary


def _close_leftovers(store: Store, folder: Path) -> set[str]:
    """What a dead process left behind here: its records are sent, its runs closed. The lock says that no such process
    lives. Returns the keys of records that could not be sent.
    """
    left = close_all(records(folder), store, otherwise="KILLED")
    for run in list(store.search(f"attributes.status = 'RUNNING' and tags.`{DRIVER}` = '{_driver()}'")):
        store.client.set_terminated(run.info.run_id, "KILLED")
    for record, error in left:
        log.warning("not sent: the record of cell %s (%s)", record.key, first_line(error))
    return {record.key for record, _ in left}


def _driver() -> str:
    return f"{platform.node()}:{home()}".replace("'", "")


def _belongs_to(run: Run, label: str, store: Store) -> None:
    """Notes that a finished cell is part of another profile, too."""
    known = labels(run.data.tags.get(PROFILE, ""))
    if label not in known:
        store.client.set_tag(run.info.run_id, PROFILE, "; ".join([*known, label]))


def _run_missing(
    sweep: Sweep,
    label: str,
    missing: dict[str, Cell],
    run_ids: dict[str, str],
    store: Store,
    folder: Path,
    summary: Summary,
) -> None:
    parent = None
    try:
        with _ray(), _terminate_as_interrupt():
            device = _device()
            _check_reachable(store)
            shared = code_tags() | {PROFILE: label, DRIVER: _driver(), VERSION: str(sweep.version)}
            parent = _begin(sweep, label, len(missing), shared, store)
            packs, title = sweep.packs(missing, device), names(missing)
            assignments = [
                Assignment(
                    cells=pack,
                    run_ids={key: run_ids[key] for key in pack if key in run_ids},
                    tags={
                        key: shared | {PARENT: parent, MLFLOW_RUN_NAME: title[key], **sweep.tags(cell)}
                        for key, cell in pack.items()
                    },
                    store=store,
                    records=folder,
                    device="cuda" if device == "gpu" else device,
                    host=platform.node(),
                )
                for pack in packs
            ]
            costs = [sweep.pack_cost(pack) for pack in packs]
            with Progress(len(missing), sum(costs), sweep.best) as progress:
                watch = _Watch(assignments, costs, progress, summary)
                _fit(sweep, assignments, device, watch)
                watch.finish()
            summary.tracking_share = watch.tracking_share()
    finally:  # Ray's processes are gone now: nobody else writes the records
        if parent:
            with contextlib.suppress(MlflowException):  # the store is down: the next invocation closes what is left
                _close_unfinished(missing, parent, store, folder, summary)
                _end(parent, store, summary)


def _begin(sweep: Sweep, label: str, cells: int, tags: Mapping[str, str], store: Store) -> str:
    """Makes the run of this invocation, the parent of its cells."""
    about = {
        "infoscope.cells": str(cells),
        "mlflow.note.content": inspect.getdoc(sys.modules[sweep.trial.__module__]) or "",
    }
    run = store.client.create_run(store.experiment_id, run_name=f"{sweep.name} {label}", tags={**tags, **about})
    return run.info.run_id


def _end(parent: str, store: Store, summary: Summary) -> None:
    numbers = {
        "cells_completed": summary.completed,
        "cells_failed": len(summary.failures),
        "tracking_share": summary.tracking_share,
    }
    metrics = [Metric(name, value, 0, 0) for name, value in numbers.items() if value is not None]
    store.client.log_batch(parent, metrics=metrics)
    store.client.set_terminated(parent, summary.status)


def _check_reachable(store: Store) -> None:
    import ray

    nodes = sum(node["Alive"] for node in ray.nodes())
    if nodes > 1 and store.uri.startswith("sqlite:"):
        raise ValueError(
            f"the Ray cluster has {nodes} nodes, which cannot share the SQLite store {store.uri}; "
            "set MLFLOW_TRACKING_URI to a tracking server that they all reach"
        )


def _fit(sweep: Sweep, assignments: list[Assignment], device: str, watch: Any) -> None:
    from ray import tune

    trial, every_report = sweep.trial, sweep.search is not None

    def trainable(config: dict[str, Any], assignments: list[Assignment]) -> None:
        work(trial, assignments[config["pack"]], tune.report, every_report)

    search, folder = sweep.search, home() / "ray" / sweep.name
    resources = {"cpu": sweep.resources.get("cpu", 1)} | (
        {"gpu": sweep.resources.get("gpu", 1)} if device == "gpu" else {}
    )
    tuner = tune.Tuner(
        tune.with_resources(tune.with_parameters(trainable, assignments=assignments), resources),
        param_space={"pack": tune.grid_search(list(range(len(assignments))))},
        tune_config=tune.TuneConfig(
            reuse_actors=True,
            metric=search.metric if search else None,
            mode=search.mode if search else None,
            scheduler=search.scheduler() if search else None,
            trial_dirname_creator=lambda trial: trial.trial_id,
        ),
        run_config=tune.RunConfig(
            name=f"{sweep.name}-{int(time.time())}",
            storage_path=str(folder),
            callbacks=[watch.callback()],
            failure_config=tune.FailureConfig(max_failures=1),
            verbose=0,
        ),
    )
    try:
        tuner.fit()
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # records and checkpoints are ours; Tune's own files have served


class _Watch:
    """Follows the trials: shows progress, and closes the runs of a trial that has ended, on a thread of its own."""

    def __init__(self, assignments: list[Assignment], costs: list[float], progress: Progress, summary: Summary):
        self.assignments, self.costs, self.progress, self.summary = assignments, costs, progress, summary
        self.closer = ThreadPoolExecutor(1, "infoscope-close")
        self.final: dict[str, dict[str, Any]] = {}
        self.ended: set[str] = set()
        self.tracking_seconds = self.total_seconds = 0.0

    def callback(self) -> Any:
        from ray import tune

        watch = self

        class Callback(tune.Callback):
            def __reduce__(self) -> tuple:  # Tune writes its callbacks down for a restore, which is not how we resume
                return tune.Callback, ()

            def on_trial_result(self, iteration: int, trials: list, trial: Any, result: dict, **info: Any) -> None:
                watch.result(trial, result)

            def on_trial_complete(self, iteration: int, trials: list, trial: Any, **info: Any) -> None:
                watch.end(trial, STOPPED)

            def on_trial_error(self, iteration: int, trials: list, trial: Any, **info: Any) -> None:
                watch.end(trial, FAILED)

        return Callback()

    def result(self, trial: Any, result: dict[str, Any]) -> None:
        index = trial.config["pack"]
        if "final" in result:
            self.final[trial.trial_id] = result
        self.progress.advance(trial.trial_id, result.get("fraction", 0.0), self.costs[index])

    def end(self, trial: Any, without_result: str) -> None:
        """A trial is over: by its own account, or stopped by the scheduler, or dead with its worker."""
        if trial.trial_id in self.ended:
            return
        self.ended.add(trial.trial_id)
        assignment = self.assignments[trial.config["pack"]]
        result = self.final.get(trial.trial_id, {})
        error = result.get("error")
        if not result and without_result == FAILED:
            error = (trial.error_msg or "the worker died").strip().splitlines()[-1]
        if error:
            self.summary.failures += [(cell, error) for cell in assignment.cells.values()]
        elif result:
            self.summary.completed += len(assignment.cells)
        else:
            self.summary.stopped += len(assignment.cells)
        self.tracking_seconds += result.get("tracking_seconds", 0.0)
        self.total_seconds += result.get("trial_seconds", 0.0)
        self.progress.ended(assignment.cells, result.get("final", {}), bool(error))
        self.closer.submit(self._close, assignment, FAILED if error else STOPPED, error, result.get("run_ids", {}))

    def _close(self, assignment: Assignment, outcome: str, error: str | None, run_ids: Mapping[str, str]) -> None:
        """`outcome` is for a record that has none, because its worker could not write one."""
        began = time.thread_time()
        here = [Record(assignment.records / key) for key in assignment.cells]
        here = [record for record in here if record.exists()]
        for record in here:
            if record.ending() is None:
                record.end(outcome, error)
        self.summary.unsent |= {record.key for record, _ in close_all(here, assignment.store, otherwise="FAILED")}
        for key in set(assignment.cells) - {record.key for record in here}:
            if not self._close_remote(run_ids.get(key), assignment.store):
                self.summary.unsent.add(key)
        self.tracking_seconds += time.thread_time() - began
        self.total_seconds += time.thread_time() - began

    def _close_remote(self, run_id: str | None, store: Store) -> bool:
        """Ends the run of a cell that was recorded on another machine's disk; False if it was not sent from there."""
        try:
            run = store.run(run_id)
            if run is None or not run.data.tags.get(OUTCOME):
                return False
            store.client.set_terminated(run.info.run_id, STATUS[run.data.tags[OUTCOME]])
        except MlflowException:
            return False
        return True

    def finish(self) -> None:
        self.closer.shutdown(wait=True)

    def tracking_share(self) -> float | None:
        """Time spent on recording, on workers and driver, as a share of the time of all trials and of closing them."""
        return self.tracking_seconds / self.total_seconds if self.total_seconds else None


def _close_unfinished(missing: Mapping[str, Cell], parent: str, store: Store, folder: Path, summary: Summary) -> None:
    """What was begun and not ended is closed as KILLED; its checkpoint stays for the next invocation."""
    mine = [record for record in records(folder) if record.key in missing]
    failed = {record.key for record, _ in close_all(mine, store, otherwise="KILLED")}
    summary.unsent = (summary.unsent - {record.key for record in mine}) | failed
    for run in list(store.cells(f"tags.`{PARENT}` = '{parent}' and attributes.status = 'RUNNING'")):
        store.client.set_terminated(run.info.run_id, "KILLED")


@contextlib.contextmanager
def _ray() -> Iterator[None]:
    """A local Ray, or the cluster of RAY_ADDRESS with the working tree sent along."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    if os.environ.get(DATA):
        os.environ[DATA] = str(Path(os.environ[DATA]).expanduser().resolve())  # workers may be in another folder
    import ray

    quiet: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    if os.environ.get("RAY_ADDRESS"):
        ray.init(runtime_env=_cluster_environment(), **quiet)
    else:
        path = os.pathsep.join(filter(None, [str(Path.cwd()), os.environ.get("PYTHONPATH")]))
        ray.init(
            address="local",  # not a cluster that happens to run on this machine
            num_cpus=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            include_dashboard=False,
            object_store_memory=200 * 2**20,
            runtime_env={"env_vars": {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}},
            **quiet,
        )
    try:
        yield
    finally:
        ray.shutdown()


def _cluster_environment() -> dict[str, Any]:
    root = "${RAY_RUNTIME_ENV_CREATE_WORKING_DIR}"
    folders = [root, *(f"{root}/{path.relative_to(Path.cwd())}" for path in sorted(Path.cwd().glob("packages/*/src")))]
    names = (DATA, "MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD")
    variables = {name: os.environ[name] for name in names if name in os.environ}
    return {
        "working_dir": str(Path.cwd()),
        "excludes": ["/runs/", "/.venv/", "/.git/"],
        "env_vars": variables | {"PYTHONPATH": ":".join(folders), "OMP_NUM_THREADS": "1"},
    }


def _device() -> str:
    import ray

    return "gpu" if ray.cluster_resources().get("GPU", 0) > 0 else "cpu"


@contextlib.contextmanager
def _terminate_as_interrupt() -> Iterator[None]:
    """SIGTERM, which schedulers send before they kill, ends a sweep as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
