"""The place where runs are recorded: the MLflow tracking store, and how the runs of an experiment are read back."""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import logging
import os
import sqlite3
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from filelock import FileLock
from mlflow.entities import DatasetInput, Metric, Run
from mlflow.environment_variables import MLFLOW_HTTP_REQUEST_TIMEOUT
from mlflow.exceptions import MlflowException

from infoscope.errors import StoreUnreachable
from infoscope.tracking.checks import COLUMNS
from infoscope.tracking.record import COMPLETE, STOPPED, SYSTEM, home, made_home
from infoscope.tracking.store.client import CONTACT_SECONDS, TIMEOUT, Client, connect, environment, without_password
from infoscope.tracking.tags import (  # noqa: F401  # looked for here
    ALIVE,
    CELL,
    CELLS,
    CONSTANTS,
    DRIVER,
    ERROR,
    KEY,
    LOADED_FROM,
    OUTCOME,
    PARENT,
    PROFILE,
    VERSION,
)

log = logging.getLogger(__name__)

CURVES = "Curves/"  # before the name of what `report.curve` was told: the UI shows a section of this name first
NO_FIGURES = (CURVES, SYSTEM, "progress/")  # before the names of metrics that say nothing of the cell as a whole

Content = TypeVar("Content")

# the UI's page for trained models, not for language-model applications
_EXPERIMENT_TAGS = {"mlflow.experimentKind": "custom_model_development"}


def tracking_uri() -> str:
    """MLFLOW_TRACKING_URI, or an SQLite store in the working tree; always absolute, because workers run elsewhere."""
    uri = os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{home() / 'mlflow.db'}"
    if uri.startswith("sqlite:///") and not uri.startswith("sqlite:////"):
        uri = f"sqlite:///{Path(uri.removeprefix('sqlite:///')).resolve()}"
    return uri


def first_line(error: BaseException) -> str:
    """The message of an exception, in one line, without the password of an address."""
    return without_password((str(error).strip() or repr(error)).splitlines()[0])[:300]


@contextlib.contextmanager
def reached() -> Iterator[None]:
    """Raises StoreUnreachable where MLflow has got no answer."""
    try:
        yield
    except MlflowException as error:
        raise StoreUnreachable(f"the MLflow tracking store does not answer ({first_line(error)})") from error


@dataclass(frozen=True)
class Store:
    """One experiment of a tracking store. A plain value: it travels to the workers, where each makes its own client."""

    uri: str
    experiment: str
    experiment_id: str

    @property
    def client(self) -> Client:
        return connect(self.uri)

    @property
    def has_one_driver(self) -> bool:
        """Whether a sweep has one driver at a time: the store is this working tree's own, where a lock sees to it."""
        return self.uri == f"sqlite:///{home() / 'mlflow.db'}"

    @classmethod
    def open(cls, experiment: str, create: bool = False) -> Store:
        """Connects; creates and upgrades an SQLite store first (concurrent first use of a fresh one would break it).

        Raises StoreUnreachable when the server does not answer, LookupError for an experiment that does not exist.
        """
        uri = tracking_uri()
        with reached():
            client = _prepared(uri, create)
            found = client and client.get_experiment_by_name(experiment)
            if found and found.lifecycle_stage == "deleted":
                raise ValueError(f"the MLflow experiment {experiment!r} is deleted; restore it, or delete it for good")
            if found:
                return cls(uri, experiment, found.experiment_id)
            if not create:
                raise LookupError(
                    f"no runs of {experiment!r} in the tracking store; run `make sweep-{experiment}` first"
                )
            location = (home() / "artifacts" / experiment).as_uri() if uri.startswith("sqlite:") else None
            return cls(uri, experiment, _made(client, experiment, location))

    @classmethod
    def names(cls, running: bool = False) -> list[str]:
        """The names of experiments; running: only those with an open run. Raises StoreUnreachable."""
        with reached():
            client = _prepared(tracking_uri(), create=False)
            found = pages(lambda token: client.search_experiments(page_token=token)) if client else ()
            names = {experiment.experiment_id: experiment.name for experiment in found}
            if running and names:
                ids, query = list(names), f"attributes.status = 'RUNNING' and tags.`{DRIVER}` != ''"
                runs = pages(lambda token: client.search_runs(ids, query, max_results=1000, page_token=token))
                names = {run.info.experiment_id: names[run.info.experiment_id] for run in runs}
            return list(names.values())

    def answers(self) -> bool:
        """Whether the store can be reached now."""
        try:
            self.client.get_experiment(self.experiment_id)
        except MlflowException:
            return False
        return True

    def cells(self, extra: str = "") -> Iterator[Run]:
        """The runs of cells, without invocations; unreadable ones are skipped with a warning. extra: MLflow filter."""
        for run in self.search(f"tags.`{KEY}` != ''" + (f" and {extra}" if extra else "")):
            try:
                values(run)
            except ValueError as error:
                skipped(run, str(error))
            else:
                yield run

    def search(self, query: str) -> Iterator[Run]:
        """The runs that match an MLflow filter, a thousand a request."""

        def page(token: str | None) -> Any:
            collecting = gc.isenabled()
            gc.disable()  # it takes two thirds of the time of reading a page
            try:
                return self.client.search_runs([self.experiment_id], query, max_results=1000, page_token=token)
            finally:
                if collecting:
                    gc.enable()

        return pages(page)

    def run(self, run_id: str | None) -> Run | None:
        """A run by its id; None when there is none, or it was deleted."""
        try:
            run = self.client.get_run(run_id) if run_id else None
        except MlflowException as error:
            if error.error_code == "RESOURCE_DOES_NOT_EXIST":
                return None
            raise
        return run if run and run.info.lifecycle_stage == "active" else None

    def end(self, run_id: str, status: str) -> None:
        """Closes a run; nothing happens to one that somebody has deleted meanwhile."""
        try:
            self.client.set_terminated(run_id, status)
        except MlflowException:
            if self.run(run_id):
                raise

    def run_of(self, key: str) -> Run | None:
        """The run of a cell, or None; of several as `by_key` says."""
        return by_key(self.cells(f"tags.`{KEY}` = '{key}'"))[0].get(key)

    def add_inputs(self, run_id: str, given: Sequence[DatasetInput]) -> None:
        """Adds data sets to a run, each once."""
        retry_if_refused(lambda: self.client.log_inputs(run_id, datasets=given))

    def add_labels(self, run: Run, more: Iterable[str]) -> None:
        """Notes that a finished cell is part of other profiles, too."""
        known = labels_of(run)
        both = labels("; ".join([*known, *more]))
        if both == known:
            return
        try:
            self.client.set_tag(run.info.run_id, PROFILE, "; ".join(both))
        except MlflowException:  # somebody may have deleted it meanwhile
            if self.run(run.info.run_id):
                raise


def retry_if_refused(request: Callable[[], object]) -> None:
    """Sends a request, and once more if the store refuses it: another process may just have written the same row."""
    try:
        request()
    except MlflowException as error:
        if not refused(error):
            raise
        request()


def refused(error: MlflowException) -> bool:
    """Whether the store has refused a request for what it is, and would again."""
    return error.error_code in ("INVALID_PARAMETER_VALUE", "BAD_REQUEST")


def pages(request: Callable[[str | None], Any]) -> Iterator[Any]:
    """The contents of all the pages of a search; `request` gives the page of a token."""
    token = None
    while True:
        page = request(token)
        yield from page
        token = page.token
        if not token:
            return


def by_key(runs: Iterable[Run]) -> tuple[dict[str, Run], list[Run]]:
    """The run of every cell by key; and the other runs of cells that have several.

    The first complete one is chosen (by end, then id), else one stopped early, else the one with most in it. Its
    profile tag holds, here and not in the store, the labels of all.
    """
    known: dict[str, Run] = {}
    others = []
    for run in runs:
        key = run.data.tags[KEY]
        pair = sorted([known[key], run] if key in known else [run], key=_rank)
        known[key] = pair[0]
        for other in pair[1:]:
            others.append(other)
            merged = dict.fromkeys(label for run in pair for label in labels_of(run))
            pair[0].data.tags[PROFILE] = "; ".join(merged)
    return known, others


def _rank(run: Run) -> tuple:
    """The rank of a run among those of one cell, of which the lowest is the cell's."""
    if not is_finished(run):
        return 2, -len(run.data.metrics), run.info.start_time or 0, run.info.run_id
    return int(run.data.tags[OUTCOME] != COMPLETE), run.info.end_time or 0, run.info.run_id


def is_finished(run: Run) -> bool:
    """Whether a run holds its whole cell; MLflow's status alone is not sufficient."""
    return run.info.status == "FINISHED" and run.data.tags.get(OUTCOME) in (COMPLETE, STOPPED)


@functools.cache
def _skipped(run_id: str, reason: str) -> None:
    log.warning("passed over: run %s (%s)", run_id, reason)


def skipped(run: Run, reason: str) -> None:
    """Says, once in a process, why a run is left out."""
    _skipped(run.info.run_id, reason)


def _made(client: Client, experiment: str, location: str | None) -> str:
    try:
        return client.create_experiment(experiment, location, _EXPERIMENT_TAGS)
    except MlflowException as error:
        found = error.error_code == "RESOURCE_ALREADY_EXISTS" and client.get_experiment_by_name(experiment)
        if not found:
            raise
        return found.experiment_id


def _prepared(uri: str, create: bool) -> Client | None:
    logging.getLogger("alembic").setLevel(logging.WARNING)
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.WARNING)
    if not uri.startswith("sqlite:///"):
        return _reached(uri)
    path = Path(uri.removeprefix("sqlite:///"))
    if not path.exists() and not create:
        return None
    if path.parent == home():
        made_home()
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):
        try:
            return _reached(uri)
        except MlflowException as error:
            if "out-of-date" not in str(error):
                raise
            words = [sys.executable, "-m", "mlflow", "db", "upgrade", uri]
            done = subprocess.run(words, capture_output=True, text=True)
            if done.returncode:  # e.g. a store written by a newer MLflow
                why = (done.stderr.strip() or "no reason given").splitlines()[-1]
                raise StoreUnreachable(f"{path} cannot be upgraded to this version of MLflow ({why})") from None
            return _reached(uri)


def _reached(uri: str) -> Client:
    """A client whose server has answered, which it must do sooner than to later requests: somebody waits for it."""
    client = connect(uri)
    with environment({TIMEOUT: str(min(CONTACT_SECONDS, MLFLOW_HTTP_REQUEST_TIMEOUT.get()))}):
        client.search_experiments(max_results=1)
    return client


def gather_statistics(uri: str) -> None:
    """Updates an SQLite store's statistics, without which sorting takes quadratic time; skipped when busy."""
    if not uri.startswith("sqlite:///"):
        return
    with (
        contextlib.suppress(sqlite3.OperationalError),
        contextlib.closing(sqlite3.connect(uri.removeprefix("sqlite:///"), timeout=5)) as base,
    ):
        base.execute("PRAGMA analysis_limit = 1000")  # rows of an index, of which more are not looked at
        base.execute("ANALYZE")


def labels(profile: str) -> list[str]:
    """The labels of a profile tag, each once: a cell may belong to several profiles."""
    return list(dict.fromkeys(label for label in profile.split("; ") if label))


def runs(experiment: str, profile: str | None = None, finished: bool = True) -> pd.DataFrame:
    """The cells of an experiment, one row each (see `by_key`): fields, metrics and what is known of the run.

    Columns: run_id, key, profile (all, joined by "; "), version, outcome, status, start (UTC), seconds (first start to
    end), tags (a dict), then fields and metrics (None where missing). Repeated names become cell.NAME and metric.NAME.

    finished: only completed cells. Raises LookupError when the experiment does not exist or the profile has no such
    runs.
    """
    everything = list(by_key(Store.open(experiment).cells())[0].values())
    ended = [run for run in everything if not finished or is_finished(run) and run.data.tags[OUTCOME] == COMPLETE]
    if under(everything, profile) and not under(ended, profile):
        raise LookupError(
            f"none of the runs of {experiment!r} under {profile or 'any profile'} has finished; MLflow holds why"
        )
    return frame_of(require_under(ended, experiment, profile))


def under(runs: Iterable[Run], profile: str | None) -> list[Run]:
    """Those of some runs that have this label; None: all."""
    return [run for run in runs if profile is None or profile in labels_of(run)]


def require_under(runs: Sequence[Run], experiment: str, profile: str | None) -> list[Run]:
    """The same; raises LookupError where there are none, with the labels that there are."""
    chosen = under(runs, profile)
    if not chosen:
        known = ", ".join(sorted({label for run in runs for label in labels_of(run)}))
        where = f" under profile {profile!r}" if profile else ""
        instead = f"there are some under {known}" if known else f"run `make sweep-{experiment}` first"
        raise LookupError(f"no finished runs of {experiment!r}{where}; {instead}")
    return chosen


def labels_of(run: Run) -> list[str]:
    """The labels of the profiles that a run's cell belongs to."""
    return labels(run.data.tags.get(PROFILE, ""))


def values(run: Run) -> dict[str, Any]:
    """The values of a run's cell, with their types (tuples as lists). Raises ValueError when its tag holds no cell."""
    told = run.data.tags.get(CELL)
    if told is None:
        raise ValueError(f"it has a tag {KEY}, and none of {CELL}")
    return plain_cell(told)


def plain_cell(told: str) -> dict[str, Any]:
    """A cell of the JSON in its run's tag. Raises ValueError when it holds none."""
    try:
        cell = json.loads(told)
    except (ValueError, RecursionError):
        cell = None
    if not (isinstance(cell, dict) and all(map(_plain, cell.values()))):
        raise ValueError(f"its tag {CELL} is {told[:60]!r}, which is no cell")
    return cell


def _plain(value: Any) -> bool:
    parts = value if isinstance(value, list) else [value]
    return all(isinstance(part, bool | int | float | str | None) for part in parts)


def frame_of(chosen: Sequence[Run]) -> pd.DataFrame:
    """A row of each run; the names of fields and metrics are made unlike any other column's."""
    cells = [values(run) for run in chosen]
    taken = set(COLUMNS)
    measured = [constants(run) | _metrics(run) for run in chosen]
    fields = _columns("cell", dict.fromkeys(name for cell in cells for name in cell), taken)
    metrics = _columns("metric", dict.fromkeys(name for told in measured for name in told), taken)
    rows = [
        _row(run)
        | {fields[name]: value for name, value in cell.items()}
        | {metrics[name]: value for name, value in told.items()}
        for run, cell, told in zip(chosen, cells, measured, strict=True)
    ]
    frame = pd.DataFrame(rows)
    for column in fields.values():
        if frame[column].isna().any():  # a field that only some cells have: their own values, not floats
            frame[column] = pd.Series([row.get(column) for row in rows], dtype=object)
    return frame


def _columns(kind: str, names: Iterable[str], taken: set[str]) -> dict[str, str]:
    """A column of its own for each name: with `kind` before it where another has the name. It is `taken` then."""
    columns = {}
    for name in names:
        columns[name] = name
        while columns[name] in taken:
            columns[name] = f"{kind}.{columns[name]}"
        taken.add(columns[name])
    return columns


def _row(run: Run) -> dict[str, Any]:
    tags, info = run.data.tags, run.info
    start = info.start_time or 0
    return {
        "run_id": info.run_id,
        "key": tags[KEY],
        "profile": tags.get(PROFILE, ""),
        "version": tags.get(VERSION, ""),
        "outcome": tags.get(OUTCOME, ""),
        "status": info.status,
        "start": pd.Timestamp(start, unit="ms", tz="UTC"),
        "seconds": ((info.end_time or start) - start) / 1000,
        "tags": dict(tags),
    }


def constants(run: Run) -> dict[str, float]:
    """The constants of a run's cell, known without any training, by name."""
    found = {}
    for tag, told in run.data.tags.items():
        if tag == CONSTANTS or tag.startswith(f"{CONSTANTS} "):
            try:
                found |= constants_of(tag, told)
            except (ValueError, TypeError, AttributeError, RecursionError):
                skipped(run, f"its tag {tag} is {told[:60]!r}, which holds no numbers")
    return found


def constants_of(tag: str, told: str) -> dict[str, float]:
    """The constants of one tag, by name."""
    place = tag.removeprefix(CONSTANTS).strip()
    return {f"{place}/{name}" if place else name: float(value) for name, value in json.loads(told).items()}


def _metrics(run: Run) -> dict[str, float]:
    """The metrics of a run, without those of its machine; curves by the names they were reported under."""
    names = [name for name in run.data.metrics if not name.startswith(SYSTEM)]
    ordered = sorted(names, key=lambda name: name.startswith(CURVES))  # a curve replaces a metric of its name
    return {name.removeprefix(CURVES): run.data.metrics[name] for name in ordered}


def table(run_id: str, name: str) -> pd.DataFrame:
    """A table reported with `report.table`. Raises LookupError if missing, ValueError if damaged."""
    return _artifact(run_id, "table", f"{name}.parquet", pd.read_parquet)


def arrays(run_id: str, name: str) -> dict[str, np.ndarray]:
    """Arrays reported with `report.arrays`; no pickle is read. Raises LookupError if missing, ValueError if damaged."""

    def read(path: str) -> dict[str, np.ndarray]:
        with np.load(path, allow_pickle=False) as file:
            return dict(file)

    return _artifact(run_id, "arrays", f"{name}.npz", read)


def _artifact(run_id: str, kind: str, file: str, read: Callable[[str], Content]) -> Content:
    client, what = connect(tracking_uri()), f"{kind} {file.rpartition('.')[0]!r}"
    with tempfile.TemporaryDirectory() as folder:
        try:
            path = client.download_artifacts(run_id, file, folder)
        except (MlflowException, FileNotFoundError) as error:
            raise LookupError(_absent(run_id, what, error)) from None
        try:
            return read(path)
        except (ValueError, OSError, EOFError, MemoryError, zipfile.BadZipFile, zlib.error) as error:  # pyarrow's, too
            raise ValueError(f"{file} of run {run_id} cannot be read: {first_line(error)}") from None


def newest(history: Iterable[Metric]) -> dict[int, Metric]:
    """The newest point of a metric by step, of which a cell may have told several (see `publish.Points`)."""
    return {point.step: point for point in sorted(history, key=lambda point: (point.step, point.timestamp))}


def curve(run_id: str, name: str) -> pd.Series:
    """A metric that a trial reported at many steps: its values by step, every step once."""
    client = connect(tracking_uri())
    points = newest(client.get_metric_history(run_id, CURVES + name) or client.get_metric_history(run_id, name))
    return pd.Series({step: point.value for step, point in points.items()}, name=name, dtype=float).rename_axis("step")


def _absent(run_id: str, what: str, error: Exception) -> str:
    with contextlib.suppress(MlflowException):
        run = connect(tracking_uri()).get_run(run_id)
        if told := run.data.tags.get(LOADED_FROM):
            file = told.rpartition(" ")[0]
            return f"run {run_id} has no {what}: it was loaded from {file}, saved without it (--tables)"
    return f"run {run_id} has no {what}: {first_line(error)}"


def parents(experiment: str, profile: str | None = None) -> list[Run]:
    """The runs of a sweep's invocations (under a label), newest first. Raises LookupError for an unknown experiment."""
    found = Store.open(experiment).search(f"tags.`{CELLS}` != ''")
    chosen = [run for run in found if profile is None or run.data.tags.get(PROFILE) == profile]
    return sorted(chosen, key=lambda run: run.info.start_time, reverse=True)
