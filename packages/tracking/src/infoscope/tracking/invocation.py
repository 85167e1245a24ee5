"""One run of what a sweep is missing: scheduled on Ray Tune, and in MLflow the parent of the runs of its cells."""

from __future__ import annotations

import contextlib
import inspect
import platform
import shutil
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlflow.entities import Metric
from mlflow.exceptions import MlflowException
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NAME, MLFLOW_RUN_NOTE

from infoscope.tracking import cluster, placement
from infoscope.tracking.environment import code_tags
from infoscope.tracking.flush import close_all
from infoscope.tracking.progress import Progress
from infoscope.tracking.record import records
from infoscope.tracking.store import CELLS, DRIVER, PARENT, PROFILE, VERSION, Store, home
from infoscope.tracking.sweep import Cell, Pack, Sweep, names, title
from infoscope.tracking.watch import Summary, Watch
from infoscope.tracking.worker import Assignment, work

if TYPE_CHECKING:
    from infoscope.tracking.search import Exploration


def driver() -> str:
    """This machine and working tree, as a tag of the runs made from here."""
    return f"{platform.node()}:{home()}".replace("'", "")


@dataclass
class Invocation:
    """missing: the cells to run, by key; a search adds its own. run_ids: by key, the runs of earlier attempts."""

    sweep: Sweep
    label: str
    store: Store
    folder: Path
    summary: Summary
    missing: dict[str, Cell]
    run_ids: Mapping[str, str]
    search: Exploration | None
    gpus_per_pack: float | None
    assignments: list[Assignment] = field(default_factory=list)
    cpus: int = 0
    gpus: int = 0
    parent: str = ""

    def __post_init__(self) -> None:
        self.tags = code_tags() | {PROFILE: self.label, DRIVER: driver(), VERSION: str(self.sweep.version)}

    def run(self) -> None:
        """Runs everything, and leaves no run open; what happened is in the summary.

        Raises ValueError when the cluster cannot reach the store.
        """
        try:
            with cluster.running(), cluster.terminate_as_interrupt():
                self.cpus, self.gpus = cluster.resources()
                self._check_reachable()
                self._begin()
                to_run = self._suggestions(self.search) if self.search else self._packs()
                cost = sum(part.cost for part in self.assignments) or self.summary.unfinished
                with Progress(self.summary.unfinished, cost, self.sweep.best) as progress:
                    watch = Watch(self.assignments, progress, self.summary)
                    self._fit(*to_run, watch)
                    watch.finish()
                self.summary.tracking_share = watch.tracking_share()
                if self.search and self.search.exhausted:
                    self.summary.cells -= self.summary.unfinished
        finally:  # Ray's processes are gone now: nobody else writes the records
            if self.parent:
                with contextlib.suppress(MlflowException):  # the store is down: the next invocation closes what is left
                    self._close_unfinished()
                    self._end()

    def _check_reachable(self) -> None:
        nodes = cluster.nodes()
        if nodes > 1 and self.store.uri.startswith("sqlite:"):
            raise ValueError(
                f"the Ray cluster has {nodes} nodes, which cannot share the SQLite store {self.store.uri}; "
                "set MLFLOW_TRACKING_URI to a tracking server that they all reach"
            )

    def _begin(self) -> None:
        about = {
            CELLS: str(self.summary.unfinished),
            MLFLOW_RUN_NOTE: inspect.getdoc(sys.modules[self.sweep.cells.__module__]) or "",  # sweeps may share a trial
        }
        name, tags = f"{self.sweep.name} {self.label}", self.tags | about
        self.parent = self.store.client.create_run(self.store.experiment_id, run_name=name, tags=tags).info.run_id

    def _end(self) -> None:
        summary = self.summary
        numbers = {
            "cells_completed": summary.completed,
            "cells_stopped": summary.stopped,
            "cells_failed": len(summary.failures),
            "tracking_share": summary.tracking_share,
        }
        metrics = [Metric(name, value, 0, 0) for name, value in numbers.items() if value is not None]
        self.store.client.log_batch(self.parent, metrics=metrics)
        self.store.client.set_terminated(self.parent, summary.status)

    def _close_unfinished(self) -> None:
        """What was begun and not ended is closed as KILLED; its checkpoint stays for the next invocation."""
        mine = [record for record in records(self.folder) if record.key in self.missing]
        failed = {record.key for record, _ in close_all(mine, self.store, otherwise="KILLED")}
        self.summary.unsent = (self.summary.unsent - {record.key for record in mine}) | failed
        for run in list(self.store.cells(f"tags.`{PARENT}` = '{self.parent}' and attributes.status = 'RUNNING'")):
            self.store.client.set_terminated(run.info.run_id, "KILLED")

    def _assignment(self, cells: Mapping[str, Cell], titles: Mapping[str, str], cost: float) -> Assignment:
        tags = self.tags | {PARENT: self.parent}
        return Assignment(
            cells=cells,
            run_ids={key: self.run_ids[key] for key in cells if key in self.run_ids},
            tags={key: tags | {MLFLOW_RUN_NAME: titles[key], **self.sweep.tags(cell)} for key, cell in cells.items()},
            store=self.store,
            records=self.folder,
            device="cuda" if self.gpus else "cpu",
            host=platform.node(),
            cost=cost,
        )

    def _packs(self) -> tuple[Any, dict[str, Any], dict[str, Any]]:
        """For a fixed list of cells: what a trial asks of Ray, the parameter space, and settings of Tune."""
        from ray import tune

        packs, titles = self.sweep.packs(self.missing, "gpu" if self.gpus else "cpu"), names(self.missing)
        self.assignments += [self._assignment(pack, titles, self.sweep.pack_cost(pack)) for pack in packs]
        shares = self._shares(packs)
        space = {"pack": tune.grid_search(list(range(len(packs))))}
        return lambda config: self._asks(shares[config["pack"]]), space, {}

    def _suggestions(self, search: Exploration) -> tuple[Any, dict[str, Any], dict[str, Any]]:
        """The same for a search, whose trials come one at a time, each with its assignment. What a trial will need is
        not known beforehand: on a GPU each gets a whole one, unless the sweep or the command says otherwise.
        """

        def pack(key: str, cell: Cell) -> dict[str, Any]:
            self.missing[key] = cell
            self.assignments.append(self._assignment({key: cell}, {key: title(cell, search.space)}, 1.0))
            return {"pack": len(self.assignments) - 1, "assignment": self.assignments[-1]}

        share = (self._declared_share() or 1.0) if self.gpus else 0.0
        slots = [int(self.cpus / self._cpus_per_pack)] + ([int(self.gpus / share)] if self.gpus else [])
        settings = {
            "search_alg": search.searcher(pack),
            "num_samples": self.summary.unfinished,
            "max_concurrent_trials": max(1, min(slots)),
        }
        return self._asks(share), {}, settings

    def _asks(self, share: float) -> Any:
        from ray import tune

        return tune.PlacementGroupFactory([{"CPU": self._cpus_per_pack} | ({"GPU": share} if share else {})])

    @property
    def _cpus_per_pack(self) -> float:
        return self.sweep.resources.get("cpu", 1)

    def _declared_share(self) -> float | None:
        return self.gpus_per_pack or self.sweep.resources.get("gpu")

    def _shares(self, packs: list[dict[str, Cell]]) -> list[float]:
        """The part of a GPU that each pack asks for: as told, as declared, or as measured; 0 where there is none."""
        if not self.gpus:
            return [0.0] * len(packs)
        if share := self._declared_share():
            return [share] * len(packs)

        def probe(examples: list[Pack]) -> list[placement.Memory | str]:
            return placement.probe_on_gpus(
                self.sweep.trial, examples, placement.Reader(), workers=self.gpus, cpus=self._cpus_per_pack
            )

        return placement.shares(packs, self.gpus, probe)

    def _fit(self, resources: Any, space: dict[str, Any], settings: dict[str, Any], watch: Watch) -> None:
        from ray import tune

        trial, search = self.sweep.trial, self.sweep.search
        metric = search.metric if search else None

        def trainable(config: dict[str, Any], assignments: list[Assignment]) -> None:
            work(trial, config.get("assignment") or assignments[config["pack"]], tune.report, metric)

        name, folder = f"{self.sweep.name}-{int(time.time())}", home() / "ray" / self.sweep.name
        tuner = tune.Tuner(
            tune.with_resources(tune.with_parameters(trainable, assignments=list(self.assignments)), resources),
            param_space=space,
            tune_config=tune.TuneConfig(
                reuse_actors=True,
                metric=metric,
                mode=search.mode if search else None,
                scheduler=search.scheduler() if search else None,
                trial_dirname_creator=lambda trial: trial.trial_id,
                **settings,
            ),
            run_config=tune.RunConfig(
                name=name,
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
