"""One run of the missing cells of a sweep: scheduled on Ray Tune, and in MLflow the parent of their runs."""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlflow.entities import Metric, RunTag
from mlflow.exceptions import MlflowException
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NAME, MLFLOW_RUN_NOTE

from infoscope.tracking import notes
from infoscope.tracking.checks import NAME_LENGTH, clipped
from infoscope.tracking.environment import code_tags
from infoscope.tracking.record import home, milliseconds, records
from infoscope.tracking.scheduling import cluster, gpu_memory
from infoscope.tracking.scheduling.dispatch import Dispatch, PackedAssignments, run_packs, searcher
from infoscope.tracking.scheduling.monitor import Monitor, Summary
from infoscope.tracking.scheduling.progress import Progress, Screen
from infoscope.tracking.scheduling.worker import INVOCATION, JUDGED, Assignment, work
from infoscope.tracking.sending.heartbeat import heartbeat, own_tags
from infoscope.tracking.sending.publish import parameters, publish_all
from infoscope.tracking.store import ui
from infoscope.tracking.store.store import CURVES, Store, first_line
from infoscope.tracking.sweep import AnyCell, Pack, Profile, Sweep, names, plain, short_name, title, varying
from infoscope.tracking.tags import ALIVE, CELLS, PARENT, PROFILE, VERSION

if TYPE_CHECKING:
    from infoscope.tracking.scheduling.search import SearchState

_END_SECONDS = 60.0  # for which the end of a sweep is sent again to a store that fails


def tags(sweep: Sweep, label: str) -> dict[str, str]:
    """The common tags of an invocation's run and of the runs of its cells."""
    return code_tags() | {PROFILE: label, VERSION: str(sweep.version)}


def _starting() -> str:
    address = os.environ.get("RAY_ADDRESS")
    return f"joining the Ray cluster at {address}" if address else "starting Ray on this machine"


@dataclass
class Invocation:
    """tags: of its run and its cells. settings: of the profile. missing: cells to run, by key. begun: keys of cells
    that were attempted before.
    """

    sweep: Sweep
    tags: Mapping[str, str]
    settings: Profile
    store: Store
    folder: Path
    summary: Summary
    missing: dict[str, AnyCell]
    begun: Set[str]
    search: SearchState | None
    gpus_per_pack: float | None
    screen: Screen = field(default_factory=Screen)
    cpus: int = 0
    gpus: int = 0
    parent: str = ""
    _began: int = field(default_factory=milliseconds)

    def __post_init__(self) -> None:
        for cell in self.missing.values():
            self.sweep.tags_of(cell)  # raises ValueError before anything starts

    def run(self) -> None:
        """Runs the missing cells and leaves no run open. Raises ValueError when the cluster cannot reach the store."""
        try:
            with contextlib.ExitStack() as stack:
                with self.screen.stage(_starting()):
                    stack.enter_context(cluster.running())
                    stack.enter_context(cluster.terminate_as_interrupt())
                    self.cpus, self.gpus = cluster.resources(self._cpus_per_pack, self._declared_share())
                    self._require_reachable_store()
                self._begin()
                stack.enter_context(heartbeat(self.store, self.parent, self._beat))
                progress = stack.enter_context(self._progress())
                monitor = Monitor(progress, self.summary)
                try:
                    self._fit(self._suggestions(self.search, monitor) if self.search else self._packs(monitor), monitor)
                finally:  # also when interrupted, so that nothing else closes the same records
                    monitor.finish()
                if self.search and self.search.exhausted:  # interrupted cells are still to be run
                    self.summary.cells -= self.summary.unfinished - len(monitor.open)
        finally:  # Ray's processes have ended: nothing else writes the records
            if self.parent:
                ended = sys.exc_info()[0] is None  # an interrupted command does not wait
                error = retry(self._conclude, _END_SECONDS if ended else 0.0)
                if error is not None:
                    self.screen.say(
                        f"the end of this run is not recorded ({first_line(error)}); run `make sweep-sync` to close it"
                    )

    def _progress(self) -> Progress:
        fields = list(self.search.space) if self.search else varying(self.missing.values())
        return Progress(
            self.summary.unfinished, self.sweep.best, screen=self.screen, title=lambda cell: short_name(cell, fields)
        )

    def _announce(self, packs: int, slots: int) -> None:
        kind = f"{self.gpus} GPU{'s' if self.gpus > 1 else ''}" if self.gpus else "no GPU"
        cells = f"{self.summary.unfinished} cells"
        if packs < self.summary.unfinished:
            cells += f" in {packs} trials"
        self.screen.say(
            f"Ray runs on {self.cpus} cores and {kind}: {cells}, {min(slots, packs)} at a time; the workers start"
        )

    def _require_reachable_store(self) -> None:
        nodes = cluster.nodes()
        if nodes > 1 and self.store.uri.startswith("sqlite:"):
            raise ValueError(
                f"the Ray cluster has {nodes} nodes, which cannot share the SQLite store {self.store.uri}; "
                "set MLFLOW_TRACKING_URI to a tracking server that all nodes can reach"
            )

    def _begin(self) -> None:
        fields = self.search.space if self.search else varying(self.missing.values())
        ui.describe(self.store, self.sweep.about.split("\n\n")[0], ui.settings(self.sweep.best, fields))
        summary, experiment, client = self.summary, self.store.experiment_id, self.store.client
        about = {CELLS: str(summary.unfinished), ALIVE: str(milliseconds())}
        title = clipped(f"{self.sweep.name} {summary.profile}", NAME_LENGTH)
        made = client.create_run(experiment, run_name=title, tags={**self.tags, **own_tags(), **about})
        self.parent = made.info.run_id
        (self.folder / INVOCATION).write_text(self.parent)
        command = shlex.join(["python", *sys.orig_argv[1:]])
        note = notes.invocation_note(
            self.sweep.about, command, summary.unfinished, summary.skipped, experiment, self.parent
        )
        client.log_batch(self.parent, params=parameters(dict(self.settings)), tags=[RunTag(MLFLOW_RUN_NOTE, note)])

    def _beat(self) -> None:
        self.store.client.log_batch(self.parent, metrics=[self._done()])

    def _done(self) -> Metric:
        now, done = milliseconds(), self.summary.cells - self.summary.skipped - self.summary.unfinished
        return Metric(f"{CURVES}cells_ended", done, now, max(1, (now - self._began) // 1000))

    def _conclude(self) -> None:
        self._close_unfinished()
        self._end()
        (self.folder / INVOCATION).unlink(missing_ok=True)

    def _end(self) -> None:
        summary = self.summary
        numbers = {
            "cells_completed": summary.completed,
            "cells_stopped": summary.stopped,
            "cells_failed": len(summary.failures),
        }
        metrics = [Metric(name, value, 0, 0) for name, value in numbers.items()]
        self.store.client.log_batch(self.parent, metrics=[*metrics, self._done()])
        self.store.client.set_terminated(self.parent, summary.status)

    def _close_unfinished(self) -> None:
        """Closes unfinished runs as KILLED; their checkpoints are kept for the next invocation."""
        mine = [record for record in records(self.folder) if record.key in self.missing]
        sent, left = publish_all(mine, self.store)
        self.summary.unsent = self.summary.unsent - sent.keys() | left.keys()
        for run in list(self.store.cells("attributes.status = 'RUNNING'")):
            if run.data.tags.get(PARENT) == self.parent:
                self.store.end(run.info.run_id, "KILLED")

    def _assignment(
        self, cells: Mapping[str, AnyCell], titles: Mapping[str, str], cost: float, again: bool = False
    ) -> Assignment:
        tags = {**self.tags, **own_tags(), PARENT: self.parent}
        question, experiment = self.sweep.about.split("\n\n")[0], self.store.experiment_id

        def note(cell: AnyCell) -> str:
            values = plain(cell)
            return notes.cell_note(question, self.sweep.name, self.summary.profile, values, experiment, self.parent)

        return Assignment(
            cells=cells,
            tags={
                key: tags
                | {MLFLOW_RUN_NAME: clipped(titles[key], NAME_LENGTH), MLFLOW_RUN_NOTE: note(cell)}
                | self.sweep.tags_of(cell)
                for key, cell in cells.items()
            },
            store=self.store,
            records=self.folder,
            device="cuda" if self.gpus else "cpu",
            cost=cost,
            again=again or not self.begun.isdisjoint(cells),
            invocation=self.parent,
        )

    def _packs(self, monitor: Monitor) -> dict[str, Any]:
        packs = self.sweep.packs(self.missing, "gpu" if self.gpus else "cpu")
        titles, search = names(self.missing), self.sweep.search
        with self.screen.stage("measuring the GPU memory of each training" if self.gpus else "packing"):
            shares = self._shares(packs)
        slots = self._slots(min(shares))
        dispatch = Dispatch(shares, slots, alone=search is not None)
        for number, pack in enumerate(packs):
            monitor.progress.add(number, len(pack), self.sweep.pack_cost(pack))
        self._announce(len(packs), slots)
        if search is None:  # otherwise Tune itself repeats a trial, so that its scheduler knows
            monitor.dispatch = dispatch

        def config(numbers: list[int]) -> dict[str, Any]:
            cost = self.sweep.pack_cost
            given = {
                number: self._assignment(packs[number], titles, cost(packs[number]), number in dispatch.returned)
                for number in numbers
            }
            return self._trial(given, shares[numbers[0]], monitor)

        return {"search_alg": searcher(lambda trial_id: dispatch.suggest(config)), "num_samples": -1}

    def _suggestions(self, search: SearchState, monitor: Monitor) -> dict[str, Any]:
        """The settings of Tune for a search; each trial gets a whole GPU unless declared otherwise."""
        share = (self._declared_share() or 1.0) if self.gpus else 0.0
        numbers, slots = itertools.count(), self._slots(share)
        self._announce(self.summary.unfinished, slots)

        def config(key: str, cell: AnyCell) -> dict[str, Any]:
            self.missing[key] = cell
            return self._trial(
                {next(numbers): self._assignment({key: cell}, {key: title(cell, search.space)}, 1.0)}, share, monitor
            )

        return {
            "search_alg": search.searcher(config),
            "num_samples": self.summary.unfinished,
            "max_concurrent_trials": slots,
        }

    def _trial(self, assignments: dict[int, Assignment], share: float, monitor: Monitor) -> dict[str, Any]:
        monitor.begin(assignments)
        return {"packs": list(assignments), "handout": PackedAssignments(assignments), "share": share}

    def _slots(self, share: float) -> int:
        slots = [int(self.cpus / self._cpus_per_pack)] + ([int(self.gpus / share)] if self.gpus else [])
        return max(1, min(slots))

    @property
    def _cpus_per_pack(self) -> float:
        return self.sweep.resources.get("cpu", 1)

    def _declared_share(self) -> float | None:
        return self.gpus_per_pack or self.sweep.resources.get("gpu")

    def _shares(self, packs: list[dict[str, AnyCell]]) -> list[float]:
        """The share of a GPU of each pack: as given, as declared, or as measured; 0 without GPUs."""
        if not self.gpus:
            return [0.0] * len(packs)
        if share := self._declared_share():
            return [share] * len(packs)

        def probe(examples: list[Pack]) -> list[gpu_memory.Memory | str]:
            return gpu_memory.probe_on_gpus(self.sweep.trial, examples, cpus=self._cpus_per_pack)

        return gpu_memory.shares(packs, self.gpus, probe)

    def _fit(self, source: Mapping[str, Any], monitor: Monitor) -> None:
        from ray import tune

        trial, data, search, cpus = self.sweep.trial, self.sweep.data, self.sweep.search, self._cpus_per_pack
        metric = search.metric if search else None

        def trainable(config: dict[str, Any]) -> None:
            run_packs(
                config["handout"], lambda assignment, send: work(trial, assignment, send, metric, data), tune.report
            )

        def resources(config: dict[str, Any]) -> Any:
            share = {"GPU": config["share"]} if config["share"] else {}
            return tune.PlacementGroupFactory([{"CPU": cpus} | share])

        # it would print a traceback for each snapshot that does not fit on a full disk
        logging.getLogger("ray.tune.execution.experiment_state").setLevel(logging.CRITICAL)
        name, folder = f"{self.sweep.name}-{int(time.time())}", home() / "ray" / self.sweep.name
        tuner = tune.Tuner(
            tune.with_resources(trainable, resources),
            tune_config=tune.TuneConfig(
                reuse_actors=True,
                metric=JUDGED if search else None,
                mode=search.mode if search else None,
                scheduler=search.scheduler() if search else None,
                trial_dirname_creator=lambda trial: trial.trial_id,
                **source,
            ),
            run_config=tune.RunConfig(
                name=name,
                storage_path=str(folder),
                callbacks=[monitor.callback()],
                stop=monitor.stopper(),
                failure_config=tune.FailureConfig(max_failures=0 if monitor.dispatch else 1),
                verbose=0,
            ),
        )
        variables = {"TUNE_MAX_PENDING_TRIALS_PG": str(cluster.lookahead(self.cpus))}
        if monitor.dispatch:
            variables["RAY_TRAIN_COUNT_PREEMPTION_AS_FAILURE"] = "1"  # `Dispatch` decides about it
        try:
            with cluster.environment(variables):
                tuner.fit()
        finally:
            shutil.rmtree(folder, ignore_errors=True)  # Tune's own files are not needed any more


def retry(action: Callable[[], None], seconds: float, pause: float = 1.0) -> MlflowException | None:
    """Repeats an idempotent action for some seconds while the store fails; returns the last error, None for success."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return action()
        except MlflowException as error:
            if time.monotonic() + pause > deadline:
                return error
        time.sleep(pause)
