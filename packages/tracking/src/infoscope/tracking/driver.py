"""Runs a sweep: reads from MLflow which cells are finished, and gives the others to Ray
Tune in trials.
"""

from __future__ import annotations

import contextlib
import logging
import os
import platform
import shlex
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout
from mlflow.entities import Metric, RunTag
from mlflow.exceptions import MlflowException
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NOTE

from infoscope.errors import OutOfRange, Unavailable
from infoscope.tracking import cluster, notes
from infoscope.tracking.cell_folder import (
    FAILED,
    CellFolder,
    cell_folders,
    milliseconds,
)
from infoscope.tracking.checkpoint import require_storage
from infoscope.tracking.checks import NAME_LENGTH, clipped, first_line, without_password
from infoscope.tracking.environment import code_tags, variables
from infoscope.tracking.home import home, made_home, outbox
from infoscope.tracking.publishing import STATUS, parameters, publish_all
from infoscope.tracking.report import JUDGED
from infoscope.tracking.screen import Screen
from infoscope.tracking.store import (
    Store,
    by_key,
    describe,
    gather_statistics,
    is_finished,
)
from infoscope.tracking.sweep import AnyCell, Profile, Sweep, names
from infoscope.tracking.tags import (
    CELLS,
    DRIVER,
    ERROR,
    OUTCOME,
    PARENT,
    PROFILE,
    RUN_NAME,
    VERSION,
)
from infoscope.tracking.trial import MAX_ATTEMPTS, Bundle, Ended, Job, run_bundle
from infoscope.tracking.ui import LOCAL, address
from infoscope.tracking.watch import Summary, Watch

if TYPE_CHECKING:
    from infoscope.tracking.search import CellSearch

log = logging.getLogger(__name__)

# a trial of Tune costs about 0.1 s; where there are more packs, several share one
TRIALS_PER_SLOT = 50


class SweepBusy(Unavailable):
    """Another process runs the same sweep in this working folder."""


def run(
    sweep: Sweep,
    profile: str = "laptop",
    overrides: Mapping[str, str] | None = None,
    gpus_per_pack: float | None = None,
) -> Summary:
    """The summary of one invocation, which runs the missing cells of a profile.

    A search runs as many cells as are missing to its number of trials.

    Parameters
    ----------
    sweep
        The declaration of the sweep.
    profile
        A name of its profiles.
    overrides
        Settings that replace the profile's, as texts by name.
    gpus_per_pack
        GPUs of a trial (None: the number in `sweep.resources`, by default one).

    Returns
    -------
    Summary
        Numbers of cells, and the failed cells with their errors.

    Raises
    ------
    ValueError
        For an invalid profile, setting, cell or place of checkpoints, before anything
        is recorded.
    SweepBusy
        When the sweep already runs in this working folder.
    StoreUnreachable
        When the tracking store does not answer.
    """
    if gpus_per_pack is not None:
        is_fraction = 0 < gpus_per_pack < 1
        if not is_fraction and gpus_per_pack not in range(1, 1024):
            raise OutOfRange(
                "gpus_per_pack must be a fraction above 0 or a whole number of GPUs, "
                f"got {gpus_per_pack}"
            )
    require_storage()
    cluster.use_token()
    label, settings = sweep.profile(profile, overrides)
    began = time.perf_counter()
    with Screen() as screen:
        with screen.stage(f"{sweep.name} ({label}): planning"):
            search = _search(sweep, settings)
            cells = {} if search else sweep.plan(settings)
        with locked(sweep.name) as folder:
            with screen.stage(f"{sweep.name} ({label}): reading the recorded cells"):
                store = Store.open(sweep.name, create=True)
                close_leftovers(store, folder)
                missing, summary = _missing(sweep, label, cells, search, store, folder)
            if summary.unfinished:
                recorded = (
                    f", {summary.skipped} of them already recorded"
                    if summary.skipped
                    else ""
                )
                screen.say(
                    f"{sweep.name} ({label}): {summary.cells} cells{recorded}; "
                    f"{where(store)}"
                )
                plan = _Plan(sweep, settings, missing, search, summary)
                with cluster.terminate_as_interrupt():
                    _Run(plan, store, folder, screen).run(gpus_per_pack)
                gather_statistics(store.uri)
    summary.seconds = time.perf_counter() - began
    return summary


@contextlib.contextmanager
def locked(sweep: str, timeout: float = 0) -> Iterator[Path]:
    """The folder of a sweep's cells; while inside, no other process of this working
    folder runs the sweep.

    Raises SweepBusy if one still does after the timeout in seconds (-1: waits until it
    has ended).
    """
    made_home()
    folder = outbox() / sweep
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(f"{folder}.lock", timeout=timeout):
            yield folder
    except Timeout:
        raise SweepBusy(
            f"sweep {sweep} is already running in this working folder; wait for it or "
            "stop it first"
        ) from None


def where(store: Store) -> str:
    """Where a sweep is recorded and how to see it, in words."""
    if address() != LOCAL:
        return (
            "recorded on the MLflow server, "
            f"{address()}/{notes.runs_page(store.experiment_id)}"
        )
    place = f"in {without_password(store.uri)}"
    if store.uri == f"sqlite:///{home() / 'mlflow.db'}":
        place = f"under {home()}"
    return f"recorded in MLflow {place} (`make ui` shows it)"


def own_tag() -> dict[str, str]:
    """The tag of runs that are made from here: machine and folder."""
    return {DRIVER: f"{platform.node()}:{home()}".replace("'", "")}


def close_leftovers(
    store: Store, folder: Path
) -> tuple[list[CellFolder], dict[CellFolder, Exception]]:
    """Publishes cells that have ended and closes open runs of ended drivers; the caller
    holds the lock of the sweep.

    Returns the published cells, and the unsent ones with their errors.
    """
    published, unsent = publish_ended(store, cell_folders(folder))
    driver = own_tag()[DRIVER]
    for run in store.search(
        f"attributes.status = 'RUNNING' and tags.`{DRIVER}` = '{driver}'"
    ):
        store.end(run.info.run_id, "KILLED")
    for cell, error in unsent.items():
        log.warning("not in MLflow yet: cell %s (%s)", cell.key, first_line(error))
    return published, unsent


def publish_ended(
    store: Store, folders: Sequence[CellFolder], parent: str = ""
) -> tuple[list[CellFolder], dict[CellFolder, Exception]]:
    """Publishes the cells that have ended and removes their folders; see
    `close_leftovers`.
    """
    ended = [folder for folder in folders if folder.ending()]
    published, unsent = publish_all(ended, store, parent)
    for folder in published:
        folder.remove()
    return list(published), unsent


def _search(sweep: Sweep, settings: Profile) -> CellSearch | None:
    if sweep.search is None or sweep.search.space is None:
        return None
    # imports Optuna, which other sweeps do not need
    from infoscope.tracking.search import CellSearch

    return CellSearch(sweep, settings)


def _missing(
    sweep: Sweep,
    label: str,
    cells: Mapping[str, AnyCell],
    search: CellSearch | None,
    store: Store,
    folder: Path,
) -> tuple[dict[str, AnyCell], Summary]:
    """The cells without a finished run, by key, and the summary so far. Finished runs
    get the label.
    """
    runs = by_key(store.cells())
    if search:
        cells = search.recall(runs.values(), label)
    finished = {key for key, run in runs.items() if is_finished(run)}
    for key in cells.keys() & finished:
        store.add_labels(runs[key], [label])
    unsent = set()
    for cell_folder in cell_folders(folder):
        if cell_folder.ending().get("outcome", FAILED) != FAILED:
            unsent.add(cell_folder.key)
    missing = {key: cell for key, cell in cells.items() if key not in finished | unsent}
    total = search.trials if search else len(cells)
    return missing, Summary(
        sweep.name, label, total, len(cells) - len(missing), unsent=unsent
    )


@dataclass(frozen=True)
class _Plan:
    """The plan of an invocation. missing: the cells without a finished run, by key; in
    a search, Optuna suggests cells instead.
    """

    sweep: Sweep
    settings: Profile
    missing: Mapping[str, AnyCell]
    search: CellSearch | None
    summary: Summary


class _Run:
    """One invocation: runs the missing cells under a parent run in MLflow."""

    def __init__(self, plan: _Plan, store: Store, folder: Path, screen: Screen):
        self.plan = plan
        self.sweep = plan.sweep
        self.search = plan.search
        self.summary = plan.summary
        self.store = store
        self.folder = folder
        self.screen = screen
        self.tags = {
            **code_tags(),
            **own_tag(),
            PROFILE: plan.summary.profile,
            VERSION: str(plan.sweep.version),
        }
        self.watch = Watch(plan.summary, screen, self._settle)
        self.parent = ""

    def run(self, gpus_per_pack: float | None) -> None:
        """Runs the missing cells and leaves no run open. Raises ValueError when the
        cluster cannot reach the store.
        """
        address = os.environ.get("RAY_ADDRESS")
        starting = (
            f"joining the Ray cluster at {address}"
            if address
            else "starting Ray on this machine"
        )
        try:
            with contextlib.ExitStack() as stack:
                with self.screen.stage(starting):
                    stack.enter_context(cluster.running())
                    stack.enter_context(cluster.terminate_as_interrupt())
                    share = gpus_per_pack or self.sweep.resources.get("gpu", 1)
                    cpus, gpus = cluster.resources(
                        self.sweep.resources.get("cpu", 1), share
                    )
                    self._require_reachable_store()
                self._open_parent()
                self._fit(cpus, gpus, share)
                if self.search and self.search.exhausted:
                    self.summary.cells -= self.summary.unfinished
        finally:  # Ray's processes have ended: nothing else writes
            if self.parent:
                self._close_parent()

    def _require_reachable_store(self) -> None:
        nodes = cluster.nodes()
        if nodes > 1 and self.store.uri.startswith("sqlite:"):
            raise ValueError(
                f"the Ray cluster has {nodes} nodes, which cannot share the SQLite "
                f"store {self.store.uri}; "
                "set MLFLOW_TRACKING_URI to a tracking server that all nodes can reach"
            )

    def _open_parent(self) -> None:
        summary = self.summary
        client = self.store.client
        experiment = self.store.experiment_id
        about = self.sweep.about
        describe(self.store, self.sweep.question)
        title = clipped(summary.profile, NAME_LENGTH)
        tags = {**self.tags, RUN_NAME: title, CELLS: str(summary.unfinished)}
        self.parent = client.create_run(experiment, tags=tags).info.run_id
        command = shlex.join(["python", *sys.orig_argv[1:]])
        note = notes.parent_note(
            about, command, summary.unfinished, summary.skipped, experiment, self.parent
        )
        settings = parameters(dict(self.plan.settings))
        client.log_batch(
            self.parent, params=settings, tags=[RunTag(MLFLOW_RUN_NOTE, note)]
        )

    def _fit(self, cpus: int, gpus: int, share: float) -> None:
        """Runs the trials on Ray Tune. share: GPUs of a trial, perhaps 0."""
        from ray import tune

        needed = {"CPU": self.sweep.resources.get("cpu", 1)}
        device = "cpu"
        if gpus and share:
            device = "cuda"
            needed["GPU"] = share
        slots = _trial_slots(cpus, gpus, needed)
        job = self._job(device)

        def trainable(config: dict[str, Any]) -> None:
            run_bundle(config["bundle"], job, tune.report)

        space = {}
        packs = 1
        if self.search is None:
            bundles = self._bundles(device, slots)
            space = {"bundle": tune.grid_search(bundles)}
            packs = max(len(bundle.packs) for bundle in bundles)
        storage = home() / "ray" / self.sweep.name
        tuner = tune.Tuner(
            tune.with_resources(trainable, tune.PlacementGroupFactory([needed])),
            param_space=space,
            tune_config=self._tune_config(slots),
            run_config=self._run_config(storage, packs),
        )
        kind = f"{gpus} GPUs" if gpus else "no GPU"
        self.screen.say(
            f"Ray runs on {cpus} cores and {kind}: {self.summary.unfinished} cells, "
            f"{slots} trials at a time; the "
            "workers start"
        )
        try:
            with variables(
                {"TUNE_MAX_PENDING_TRIALS_PG": str(cluster.lookahead(cpus))}
            ):
                tuner.fit()
        finally:
            # Tune's own files are not needed any more
            shutil.rmtree(storage, ignore_errors=True)

    def _job(self, device: str) -> Job:
        """The settings that all trials of this invocation share."""
        return Job(
            self.sweep,
            self.folder,
            device,
            {**self.tags, PARENT: self.parent},
            self.store,
        )

    def _tune_config(self, slots: int) -> Any:
        """Tune's settings of early stopping and of a search, if the sweep has them."""
        from ray import tune

        settings: dict[str, Any] = {}
        if self.sweep.search:
            settings |= {
                "metric": JUDGED,
                "mode": self.sweep.search.mode,
                "scheduler": self.sweep.search.scheduler(),
            }
        if self.search:
            settings["search_alg"] = self.search
            settings["num_samples"] = self.summary.unfinished
            settings["max_concurrent_trials"] = slots
        return tune.TuneConfig(
            reuse_actors=True,
            trial_dirname_creator=lambda trial: trial.trial_id,
            **settings,
        )

    def _run_config(self, storage: Path, packs: int) -> Any:
        """Tune's settings of files and failures. packs: the largest number in a trial;
        each of them may end its worker `MAX_ATTEMPTS` times.
        """
        from ray import tune

        # it would print a traceback for each snapshot that does not fit on a full disk
        logging.getLogger("ray.tune.execution.experiment_state").setLevel(
            logging.CRITICAL
        )
        return tune.RunConfig(
            name=f"{self.sweep.name}-{int(time.time())}",
            storage_path=str(storage),
            callbacks=[self.watch.callback()],
            failure_config=tune.FailureConfig(max_failures=MAX_ATTEMPTS * packs + 2),
            verbose=0,
        )

    def _bundles(self, device: str, slots: int) -> list[Bundle]:
        """The missing cells as trials. Several packs share a trial where there are more
        than `TRIALS_PER_SLOT` packs for each slot.
        """
        packs = self.sweep.packs(
            self.plan.missing, "gpu" if device == "cuda" else "cpu"
        )
        costs = [self.sweep.pack_cost(pack) for pack in packs]
        most = TRIALS_PER_SLOT * slots
        if self.sweep.search:  # the scheduler stops each pack by itself
            most = len(packs)
        titles = names(self.plan.missing)
        return [Bundle(group, titles) for group in bundled(packs, costs, most)]

    def _close_parent(self) -> None:
        """Publishes unsent cells, and closes the runs of interrupted cells and the
        parent run.
        """
        try:
            for ended in self.watch.unsettled.values():
                self._settle(ended, is_final=True)
            published, unsent = publish_ended(self.store, cell_folders(self.folder))
            self.summary.unsent -= {folder.key for folder in published}
            self.summary.unsent |= {folder.key for folder in unsent}
            for run in list(self.store.cells("attributes.status = 'RUNNING'")):
                if run.data.tags.get(PARENT) == self.parent:
                    self.store.end(run.info.run_id, "KILLED")
            numbers = {
                "cells_completed": self.summary.completed,
                "cells_stopped": self.summary.stopped,
                "cells_failed": len(self.summary.failures),
            }
            metrics = [
                Metric(name, value, milliseconds(), 0)
                for name, value in numbers.items()
            ]
            self.store.client.log_batch(self.parent, metrics=metrics)
            self.store.client.set_terminated(self.parent, self.summary.status)
        except MlflowException as error:
            self.screen.say(
                f"the end of this run is not recorded ({first_line(error)}); run "
                "`make sweep-sync` to close it"
            )

    def _settle(self, ended: Ended, is_final: bool = False) -> bool:
        """Ends and publishes a cell that was stopped early or lost its worker, as soon
        as no process writes into its folder.

        Returns whether this is done. is_final: Ray has ended, so no process writes.
        """
        folder = CellFolder(self.folder / ended.key)
        is_here = bool(folder.header())
        if not is_final and not (is_here and folder.is_left()):
            return False
        if is_here:
            if not folder.ending():  # its worker may have ended it before it died
                folder.end(ended.outcome, ended.error)
            publish_ended(self.store, [folder])
            return True
        run = self.store.run_of(ended.key)  # of a worker on another machine
        if run and not is_finished(run) and run.data.tags.get(PARENT) == self.parent:
            tags = [RunTag(OUTCOME, ended.outcome), RunTag(ERROR, ended.error)]
            self.store.client.log_batch(run.info.run_id, tags=tags)
            self.store.end(run.info.run_id, STATUS[ended.outcome])
        return True


def _trial_slots(cpus: int, gpus: int, needed: Mapping[str, float]) -> int:
    """The number of trials that run at a time. needed: CPUs and GPUs of a trial."""
    slots = cpus / needed["CPU"]
    if "GPU" in needed:
        slots = min(slots, gpus / needed["GPU"])
    return max(1, int(slots))


def bundled(
    packs: Sequence[Mapping[str, AnyCell]], costs: Sequence[float], most: int
) -> list[list[Mapping[str, AnyCell]]]:
    """The packs in order, in about `most` groups of similar cost; at most `most` packs
    have a group each.
    """
    if len(packs) <= most:
        return [[pack] for pack in packs]
    share = sum(costs) / most
    groups: list[list[Mapping[str, AnyCell]]] = []
    group_cost = share
    for pack, cost in zip(packs, costs, strict=True):
        if group_cost >= share:
            groups.append([])
            group_cost = 0.0
        groups[-1].append(pack)
        group_cost += cost
    return groups
