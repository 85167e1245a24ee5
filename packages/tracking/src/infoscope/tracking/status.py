"""The numbers of done and missing cells of sweeps under a profile."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from mlflow.entities import Run

from infoscope.tracking.cell_folder import cell_folders
from infoscope.tracking.checks import first_line, plain_name
from infoscope.tracking.home import outbox, sweeps_in
from infoscope.tracking.registry import module_of
from infoscope.tracking.store import Store, by_key, is_finished, labels_of
from infoscope.tracking.sweep import Sweep

# by MLflow's status
_STATES = {
    "FINISHED": "done",
    "RUNNING": "running",
    "FAILED": "failed",
    "KILLED": "killed",
}


@dataclass(frozen=True)
class Status:
    """The numbers of cells of a sweep under a profile.

    counts: the profile's cells by state. cells: their number; None with a note if it is
    unknown. others: recorded cells of other profiles. unsent: ended cells that are not
    in MLflow.
    """

    sweep: str
    counts: Mapping[str, int]
    cells: int | None
    others: int
    unsent: int
    note: str = ""

    @property
    def missing(self) -> int | None:
        """The number of cells that were never begun."""
        if self.cells is None:
            return None
        return max(0, self.cells - sum(self.counts.values()))

    @property
    def is_empty(self) -> bool:
        """Whether the sweep has neither runs nor cells here."""
        return not (self.counts or self.others or self.unsent)


def status(
    sweeps: Sequence[str] = (),
    profile: str = "laptop",
    overrides: Mapping[str, str] | None = None,
) -> list[Status]:
    """The status of the named sweeps, or of all that have runs or cells here.

    Raises ValueError for an invalid name, LookupError for a sweep without a module,
    runs and cells, StoreUnreachable when the store does not answer.
    """
    names = sweeps or sweeps_in(outbox(), Store.names())
    table = [
        _status(plain_name("the name of a sweep", name), profile, overrides or {})
        for name in names
    ]
    if not sweeps:
        return [row for row in table if not row.is_empty]
    for row in table:
        if row.is_empty and not module_of(row.sweep):
            raise LookupError(
                f"there is no sweep {row.sweep} here, and it has no runs and cells"
            )
    return table


def _status(name: str, profile: str, overrides: Mapping[str, str]) -> Status:
    folders = cell_folders(outbox() / name)
    unsent = sum(bool(folder.ending()) for folder in folders)
    try:
        runs = by_key(Store.open(name).cells())
    except LookupError:
        runs = {}
    except ValueError as error:
        return Status(name, {}, None, 0, unsent, first_line(error))
    try:
        label, keys, cells = planned(name, profile, overrides)
        note = ""
    except Exception as error:  # its cells may need data or the store
        label = " ".join(
            [
                profile,
                *(f"{setting}={text}" for setting, text in sorted(overrides.items())),
            ]
        )
        keys = None
        cells = None
        note = first_line(error)
    if keys is None:  # a search chooses its cells while it runs
        keys = {key for key, run in runs.items() if label in labels_of(run)}
    counts = Counter(_state(runs[key]) for key in runs.keys() & keys)
    return Status(name, counts, cells, len(runs) - counts.total(), unsent, note)


def _state(run: Run) -> str:
    # closed by another process
    if run.info.status == "FINISHED" and not is_finished(run):
        return _STATES["KILLED"]
    return _STATES.get(run.info.status, _STATES["RUNNING"])


def planned(
    name: str, profile: str, overrides: Mapping[str, str]
) -> tuple[str, set[str] | None, int]:
    """The label of a profile's cells, their keys (None: a search chooses them while it
    runs) and their number.
    """
    sweep = sweep_named(name)
    label, settings = sweep.profile(profile, overrides)
    if sweep.search and sweep.search.space:
        # imports Optuna, which other sweeps do not need
        from infoscope.tracking.search import CellSearch

        return label, None, CellSearch(sweep, settings).trials
    keys = set(sweep.plan(settings))
    return label, keys, len(keys)


def mean_work(name: str, label: str) -> float:
    """The mean relative work of a sweep's cells under a label: the name of a profile
    and replaced settings. Raises LookupError for a search, which chooses its cells.
    """
    profile, *replaced = label.split()
    overrides = dict(setting.split("=", 1) for setting in replaced)
    sweep = sweep_named(name)
    if sweep.search and sweep.search.space:
        raise LookupError(f"the search of sweep {name} chooses its cells")
    _, settings = sweep.profile(profile, overrides)
    plan = sweep.plan(settings)
    return sweep.pack_cost(plan) / len(plan)


def sweep_named(name: str) -> Sweep:
    """Imports the sweep with this name. Raises LookupError if there is none."""
    path = module_of(name)
    sweep = getattr(importlib.import_module(path), "SWEEP", None) if path else None
    if not isinstance(sweep, Sweep):
        raise LookupError(f"there is no sweep {name} here")
    return sweep


def question_of(name: str) -> str:
    """The question of the sweep with this name; empty if it cannot be imported here."""
    try:
        return sweep_named(name).question
    except Exception:  # it may need data or a library
        return ""


def lines(statuses: Sequence[Status]) -> list[str]:
    """An aligned table with a line for each sweep, and notes below."""
    columns = pd.Index(
        ["cells", *_STATES.values(), "missing", "others", "unsent"], name="sweep"
    )
    rows = []
    notes = []
    for status in statuses:
        counts = [status.counts.get(state, 0) for state in _STATES.values()]
        rows.append(
            [status.cells, *counts, status.missing, status.others, status.unsent]
        )
        if status.note:
            notes.append(f"{status.sweep}: {status.note}")
    names = [status.sweep for status in statuses]
    table = pd.DataFrame(rows, names, columns, object)
    return [*table.fillna("?").to_string().splitlines(), *notes]
