"""Runs a sweep: finds the missing cells and runs them."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from filelock import FileLock, Timeout
from mlflow.exceptions import MlflowException

from infoscope.errors import OutOfRange
from infoscope.tracking.notes import VIEW
from infoscope.tracking.record import FAILED, records
from infoscope.tracking.scheduling import cluster
from infoscope.tracking.scheduling.invocation import Invocation, tags
from infoscope.tracking.scheduling.monitor import Summary
from infoscope.tracking.scheduling.progress import Screen
from infoscope.tracking.sending.heartbeat import SweepBusy
from infoscope.tracking.sending.publish import unique_runs
from infoscope.tracking.sending.summaries import add_data_sets, summarise
from infoscope.tracking.sending.sync import close_leftovers
from infoscope.tracking.store.client import without_password
from infoscope.tracking.store.store import (
    Store,
    gather_statistics,
    home,
    is_finished,
    made_home,
)
from infoscope.tracking.store.ui import LOCAL, address
from infoscope.tracking.sweep import AnyCell, Profile, Sweep

if TYPE_CHECKING:
    from infoscope.tracking.scheduling.search import SearchState

log = logging.getLogger(__name__)


def run(
    sweep: Sweep,
    profile: str = "laptop",
    overrides: Mapping[str, str] | None = None,
    gpus_per_pack: float | None = None,
) -> Summary:
    """Runs the cells of a profile that are not in MLflow yet; of a search, as many as are missing.

    gpus_per_pack: GPUs of one trial (None: as declared or measured). Failed cells are in the summary. Raises ValueError
    for an invalid profile, setting or cell before anything is recorded, SweepBusy when the sweep already runs in this
    working folder, StoreUnreachable when the tracking store does not answer.
    """
    if gpus_per_pack is not None and not (0 < gpus_per_pack < 1 or gpus_per_pack in range(1, 1024)):
        raise OutOfRange(f"gpus_per_pack must be a fraction above 0 or a whole number of GPUs, got {gpus_per_pack}")
    cluster.use_token()
    label, settings = sweep.profile(profile, overrides)
    began = time.perf_counter()
    with Screen() as screen:
        with screen.stage(f"{sweep.name} ({label}): planning"):
            search = _search(sweep, settings)
            plan = {} if search else sweep.plan(settings)
        folder = made_home() / "records" / sweep.name
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(f"{folder}.lock", timeout=0):
                with screen.stage(f"{sweep.name} ({label}): reading the recorded cells"):
                    store = Store.open(sweep.name, create=True)
                    unsent = _send_leftovers(store, folder)
                    work = _remaining_work(sweep, label, plan, search, store, folder, unsent)
                if work.summary.unfinished:
                    cells, already = work.summary.cells, work.summary.skipped
                    recorded = f", {already} of them already recorded" if already else ""
                    screen.say(f"{sweep.name} ({label}): {cells} cells{recorded}; {where(store)}")
                    with cluster.terminate_as_interrupt():
                        common = tags(sweep, label)
                        Invocation(sweep, common, settings, store, folder, *work, search, gpus_per_pack, screen).run()
                with (
                    screen.stage(f"{sweep.name} ({label}): means over {' and '.join(sweep.replicates)}"),
                    contextlib.suppress(MlflowException),  # the store is down: left to the next invocation
                ):
                    known = unique_runs(store).values()
                    add_data_sets(store, known)
                    summarise(store, sweep, known)
                    gather_statistics(store.uri)
                summary = work.summary
        except Timeout:
            raise SweepBusy(
                f"sweep {sweep.name} is already running in this working folder; wait for it or stop it first"
            ) from None
    summary.seconds = time.perf_counter() - began
    return summary


def where(store: Store) -> str:
    """Where a sweep is recorded and how to see it, in words."""
    if address() != LOCAL:
        page = f"{address()}/#/experiments/{store.experiment_id}/runs?{VIEW}"
        return f"recorded on the MLflow server, {page}"
    place = f"under {home()}" if store.has_one_driver else f"in {without_password(store.uri)}"
    return f"recorded in MLflow {place} (`make ui` shows it)"


def _search(sweep: Sweep, settings: Profile) -> SearchState | None:
    if sweep.search is None or sweep.search.space is None:
        return None
    # imports Optuna, which workers and other sweeps do not need
    from infoscope.tracking.scheduling.search import SearchState

    return SearchState(sweep, settings)


class _Work(NamedTuple):
    """The work of an invocation. missing: cells by key; begun: keys of cells that were attempted before."""

    summary: Summary
    missing: dict[str, AnyCell]
    begun: set[str]


def _remaining_work(
    sweep: Sweep,
    label: str,
    plan: Mapping[str, AnyCell],
    search: SearchState | None,
    store: Store,
    folder: Path,
    unsent: set[str],
) -> _Work:
    """The missing cells of a plan or search; finished cells get its label. unsent: keys of records."""
    known = unique_runs(store)
    if search:
        plan = search.recall(known.values(), label)
    done = {key: run for key, run in known.items() if is_finished(run)}
    for key in plan.keys() & done.keys():
        store.add_labels(done[key], [label])
    endings = {record.key: record.ending() for record in records(folder)}  # of records that are not published yet
    kept = {key for key, ending in endings.items() if ending and ending["outcome"] != FAILED}
    missing = {key: cell for key, cell in plan.items() if key not in done and key not in kept}
    total = search.trials if search else len(plan)
    summary = Summary(sweep.name, label, total, len(plan) - len(missing), unsent=set(unsent))
    return _Work(summary, missing, known.keys() - done.keys())


def _send_leftovers(store: Store, folder: Path) -> set[str]:
    """Sends the records of ended processes; returns the keys of those that could not be sent."""
    left = close_leftovers(store, folder).left
    for key, reason in left.items():
        log.warning("not sent: the record of cell %s (%s)", key, reason)
    return set(left)
