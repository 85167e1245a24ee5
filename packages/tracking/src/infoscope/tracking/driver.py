"""Runs a sweep: finds what is missing, and has it run."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout
from mlflow.entities import Run

from infoscope.tracking.invocation import Invocation
from infoscope.tracking.store import PROFILE, Store, by_key, home, labels
from infoscope.tracking.sweep import Profile, Sweep
from infoscope.tracking.sync import close_leftovers
from infoscope.tracking.watch import Summary

if TYPE_CHECKING:
    from infoscope.tracking.search import Exploration

log = logging.getLogger(__name__)


class SweepBusy(RuntimeError):
    """Another process runs the same sweep in this working tree."""


def run(
    sweep: Sweep,
    profile: str = "laptop",
    overrides: Mapping[str, str] | None = None,
    gpus_per_pack: float | None = None,
) -> Summary:
    """Runs the cells of a profile that MLflow does not hold yet; of a search, as many as are missing.

    gpus_per_pack: of one trial on a GPU, instead of what the sweep declares or a probe measures.

    Raises ValueError on a bad profile, setting or cell before anything is recorded, SweepBusy when the sweep already
    runs here, StoreUnreachable when the tracking store does not answer. A failed cell does not raise: it is in the
    summary.
    """
    if gpus_per_pack is not None and not (0 < gpus_per_pack < 1 or gpus_per_pack in range(1, 1024)):
        raise ValueError(f"gpus_per_pack is {gpus_per_pack}; it must be a fraction above 0 or a whole number of GPUs")
    label, settings = sweep.profile(profile, overrides)
    search = _search(sweep, settings)
    plan = {} if search else sweep.plan(settings)
    began = time.perf_counter()
    folder = home() / "records" / sweep.name
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder.with_suffix(".lock"), timeout=0):
            store = Store.open(sweep.name, create=True)
            left = _leftovers(store, folder)
            known = _cells(store)
            if search:
                plan = search.recall(known.values(), label)
            done = {key: run for key, run in known.items() if run.info.status == "FINISHED"}
            run_ids = {key: run.info.run_id for key, run in known.items() if key not in done}
            total = search.trials if search else len(plan)
            missing = {key: cell for key, cell in plan.items() if key not in done}
            summary = Summary(sweep.name, label, total, len(plan) - len(missing), unsent=left)
            for key in plan.keys() & done.keys():
                _belongs_to(done[key], label, store)
            del known, done  # of thousands of cells they are too much to hold while it runs
            if summary.unfinished:
                Invocation(sweep, label, store, folder, summary, missing, run_ids, search, gpus_per_pack).run()
    except Timeout:
        raise SweepBusy(
            f"sweep {sweep.name} is already running in this working tree; wait for it or stop it first"
        ) from None
    summary.seconds = time.perf_counter() - began
    return summary


def _search(sweep: Sweep, settings: Profile) -> Exploration | None:
    if sweep.search is None or sweep.search.space is None:
        return None
    from infoscope.tracking.search import Exploration  # with Optuna, which workers and other sweeps do without

    return Exploration(sweep, settings)


def _cells(store: Store) -> dict[str, Run]:
    """By key, the run of every cell. A second run of a cell is deleted unless it is finished, too."""
    known, others = by_key(store.cells())
    for run in others:
        if run.info.status != "FINISHED":
            store.client.delete_run(run.info.run_id)
    return known


def _leftovers(store: Store, folder: Path) -> set[str]:
    """Closes what a dead process left behind here; returns the keys of records that could not be sent."""
    left = close_leftovers(store, folder).left
    for key, reason in left.items():
        log.warning("not sent: the record of cell %s (%s)", key, reason)
    return set(left)


def _belongs_to(run: Run, label: str, store: Store) -> None:
    """Notes that a finished cell is part of another profile, too."""
    known = labels(run.data.tags.get(PROFILE, ""))
    if label not in known:
        store.client.set_tag(run.info.run_id, PROFILE, "; ".join([*known, label]))
