"""Runs a sweep: finds what is missing, and has it run."""

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
from infoscope.tracking.scheduling.progress import Screen
from infoscope.tracking.scheduling.watch import Summary
from infoscope.tracking.sending.publish import by_key_once
from infoscope.tracking.sending.signs import SweepBusy
from infoscope.tracking.sending.summaries import summarise, tell_data
from infoscope.tracking.sending.sync import close_leftovers
from infoscope.tracking.store.store import (
    Store,
    gather_statistics,
    home,
    is_finished,
    made_home,
)
from infoscope.tracking.store.ui import LOCAL, address
from infoscope.tracking.sweep import Cell, Profile, Sweep

if TYPE_CHECKING:
    from infoscope.tracking.scheduling.search import SearchState

log = logging.getLogger(__name__)


def run(
    sweep: Sweep,
    profile: str = "laptop",
    overrides: Mapping[str, str] | None = None,
    gpus_per_pack: float | None = None,
) -> Summary:
    """Runs the cells of a profile that MLflow does not hold yet; of a search, as many as are missing.

    gpus_per_pack: of one trial on a GPU (None: as declared or measured). Failed cells are in the summary. Raises
    ValueError on a bad profile, setting or cell before anything is recorded, SweepBusy when the sweep already runs in
    this working tree, StoreUnreachable when the tracking store does not answer.
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
                with screen.stage(f"{sweep.name} ({label}): reading what is recorded"):
                    store = Store.open(sweep.name, create=True)
                    left = _leftovers(store, folder)
                    ahead = _ahead(sweep, label, plan, search, store, folder, left)
                if ahead.summary.unfinished:
                    cells, already = ahead.summary.cells, ahead.summary.skipped
                    recorded = f", {already} of them already recorded" if already else ""
                    screen.say(f"{sweep.name} ({label}): {cells} cells{recorded}; {where(store)}")
                    with cluster.terminate_as_interrupt():
                        common = tags(sweep, label)
                        Invocation(sweep, common, settings, store, folder, *ahead, search, gpus_per_pack, screen).run()
                with (
                    screen.stage(f"{sweep.name} ({label}): means over {' and '.join(sweep.replicates)}"),
                    contextlib.suppress(MlflowException),  # the store is down: the next invocation sees to it
                ):
                    known = by_key_once(store).values()
                    tell_data(store, known)
                    summarise(store, sweep, known)
                    gather_statistics(store.uri)
                summary = ahead.summary
        except Timeout:
            raise SweepBusy(
                f"sweep {sweep.name} is already running in this working tree; wait for it or stop it first"
            ) from None
    summary.seconds = time.perf_counter() - began
    return summary


def where(store: Store) -> str:
    """The place of a sweep's records, and how to look at it, in words."""
    if address() != LOCAL:
        page = f"{address()}/#/experiments/{store.experiment_id}/runs?{VIEW}"
        return f"recorded on the MLflow server, {page}"
    return f"recorded in MLflow under {home()} (to look: make ui)"


def _search(sweep: Sweep, settings: Profile) -> SearchState | None:
    if sweep.search is None or sweep.search.space is None:
        return None
    # with Optuna, which workers and other sweeps do without
    from infoscope.tracking.scheduling.search import SearchState

    return SearchState(sweep, settings)


class _Ahead(NamedTuple):
    """The work before an invocation: by key the cells that are missing; those of which there was an attempt."""

    summary: Summary
    missing: dict[str, Cell]
    begun: set[str]


def _ahead(
    sweep: Sweep,
    label: str,
    plan: Mapping[str, Cell],
    search: SearchState | None,
    store: Store,
    folder: Path,
    left: set[str],
) -> _Ahead:
    """The missing part of a plan or search; finished cells get its label. left: keys of unsent records."""
    known = by_key_once(store)
    if search:
        plan = search.recall(known.values(), label)
    done = {key: run for key, run in known.items() if is_finished(run)}
    for key in plan.keys() & done.keys():
        store.add_labels(done[key], [label])
    endings = {record.key: record.ending() for record in records(folder)}  # of records that are not published yet
    kept = {key for key, ending in endings.items() if ending and ending["outcome"] != FAILED}
    missing = {key: cell for key, cell in plan.items() if key not in done and key not in kept}
    total = search.trials if search else len(plan)
    summary = Summary(sweep.name, label, total, len(plan) - len(missing), unsent=set(left))
    return _Ahead(summary, missing, known.keys() - done.keys())


def _leftovers(store: Store, folder: Path) -> set[str]:
    left = close_leftovers(store, folder).left
    for key, reason in left.items():
        log.warning("not sent: the record of cell %s (%s)", key, reason)
    return set(left)
