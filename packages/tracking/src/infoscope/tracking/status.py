"""How far the sweeps of a tracking store are, under a profile."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from mlflow.entities import Run

from infoscope.command_line import module_of
from infoscope.tracking.checks import plain_name
from infoscope.tracking.record import home, records, sweeps_in
from infoscope.tracking.store.store import Store, by_key, first_line, is_finished, labels_of
from infoscope.tracking.sweep import Sweep

_COUNTED = {"FINISHED": "done", "RUNNING": "running", "FAILED": "failed", "KILLED": "killed"}  # by MLflow's words


@dataclass(frozen=True)
class Status:
    """counts: of the profile's cells, by state. cells: their number, None with a note where unknown. others: recorded
    cells of other profiles. unsent: local records that MLflow does not hold.
    """

    sweep: str
    counts: Mapping[str, int]
    cells: int | None
    others: int
    unsent: int
    note: str = ""

    @property
    def missing(self) -> int | None:
        """The cells that were never begun."""
        return None if self.cells is None else max(0, self.cells - sum(self.counts.values()))


def status(
    sweeps: Sequence[str] = (), profile: str = "laptop", overrides: Mapping[str, str] | None = None
) -> list[Status]:
    """How far sweeps are: those named, or all that have runs or records. One request for a thousand cells.

    Raises ValueError for a name that is none, LookupError for one of which there is neither a module nor a run or
    record, StoreUnreachable when the store does not answer.
    """
    names = sweeps or sweeps_in(home() / "records", Store.names())
    found = [_status(plain_name("the name of a sweep", name), profile, overrides or {}) for name in names]
    for one in found:
        if sweeps and not (module_of(one.sweep) or one.counts or one.others or one.unsent):
            raise LookupError(f"there is no sweep {one.sweep} here, nor anything that it has recorded")
    return [one for one in found if sweeps or one.counts or one.others or one.unsent]


def _status(name: str, profile: str, overrides: Mapping[str, str]) -> Status:
    unsent = sum(record.ending() is not None for record in records(home() / "records" / name))
    try:
        runs, _ = by_key(Store.open(name).cells())
    except LookupError:
        runs = {}
    except ValueError as error:
        return Status(name, {}, None, 0, unsent, first_line(error))
    try:
        label, keys, cells = _planned(name, profile, overrides)
        note = ""
    except Exception as error:  # a sweep may ask its data or the store for its cells
        label = " ".join([profile, *(f"{setting}={text}" for setting, text in sorted(overrides.items()))])
        keys, cells, note = None, None, first_line(error)
    if keys is None:  # a search chooses its cells as it goes
        keys = {key for key, run in runs.items() if label in labels_of(run)}
    counts = Counter(_counted(runs[key]) for key in runs.keys() & keys)
    return Status(name, counts, cells, len(runs) - counts.total(), unsent, note)


def _counted(run: Run) -> str:
    if run.info.status == "FINISHED" and not is_finished(run):  # closed by somebody who had not made it
        return _COUNTED["KILLED"]
    return _COUNTED.get(run.info.status, _COUNTED["RUNNING"])


def _planned(name: str, profile: str, overrides: Mapping[str, str]) -> tuple[str, set[str] | None, int]:
    sweep = declared(name)
    label, settings = sweep.profile(profile, overrides)
    if sweep.search and sweep.search.space:
        from infoscope.tracking.scheduling.search import SearchState  # with Optuna, which other sweeps do without

        return label, None, SearchState(sweep, settings).trials
    keys = set(sweep.plan(settings))
    return label, keys, len(keys)


def declared(name: str) -> Sweep:
    """The sweep of a name from its module, which is executed. Raises LookupError when there is none."""
    path = module_of(name)
    sweep = getattr(importlib.import_module(path), "SWEEP", None) if path else None
    if not isinstance(sweep, Sweep):
        raise LookupError(f"there is no sweep {name} here")
    return sweep


def lines(found: Sequence[Status]) -> list[str]:
    """An aligned table, a line for each sweep; the notes below."""
    names = pd.Index(["cells", *_COUNTED.values(), "missing", "others", "unsent"], name="sweep")
    counts = [[one.counts.get(name, 0) for name in _COUNTED.values()] for one in found]
    rows = [[one.cells, *known, one.missing, one.others, one.unsent] for one, known in zip(found, counts, strict=True)]
    table = pd.DataFrame(rows, [one.sweep for one in found], names, object).fillna("?").to_string()
    return [*table.splitlines(), *(f"{one.sweep}: {one.note}" for one in found if one.note)]
