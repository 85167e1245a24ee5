"""Runs a sweep: finds what is missing, and has it run."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout
from mlflow.entities import Run

from infoscope.tracking.flush import close_all
from infoscope.tracking.invocation import Invocation, driver
from infoscope.tracking.record import records
from infoscope.tracking.store import DRIVER, KEY, PROFILE, Store, first_line, home, labels
from infoscope.tracking.sweep import Profile, Sweep
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
            left = _close_leftovers(store, folder)
            known = {run.data.tags[KEY]: run for run in store.cells()}
            done = {key for key, run in known.items() if run.info.status == "FINISHED"}
            if search:
                plan = search.recall(known.values(), label)
            total = search.trials if search else len(plan)
            missing = {key: cell for key, cell in plan.items() if key not in done}
            summary = Summary(sweep.name, label, total, len(plan) - len(missing), unsent=left)
            for key in plan:
                if key in done:
                    _belongs_to(known[key], label, store)
            if summary.unfinished:
                run_ids = {key: run.info.run_id for key, run in known.items() if key not in done}
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


def _close_leftovers(store: Store, folder: Path) -> set[str]:
    """What a dead process left behind here: its records are sent, its runs closed. The lock says that no such process
    lives. Returns the keys of records that could not be sent.
    """
    left = close_all(records(folder), store, otherwise="KILLED")
    for run in list(store.search(f"attributes.status = 'RUNNING' and tags.`{DRIVER}` = '{driver()}'")):
        store.client.set_terminated(run.info.run_id, "KILLED")
    for record, error in left:
        log.warning("not sent: the record of cell %s (%s)", record.key, first_line(error))
    return {record.key for record, _ in left}


def _belongs_to(run: Run, label: str, store: Store) -> None:
    """Notes that a finished cell is part of another profile, too."""
    known = labels(run.data.tags.get(PROFILE, ""))
    if label not in known:
        store.client.set_tag(run.info.run_id, PROFILE, "; ".join([*known, label]))
