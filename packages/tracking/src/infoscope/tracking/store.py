"""The MLflow tracking store: how it is opened, and how the runs of an experiment are
read.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import logging
import os
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock
from mlflow.entities import DatasetInput, Run
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient
from mlflow.utils import get_results_from_paginated_fn
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NOTE

from infoscope.errors import InvalidInput, StoreUnreachable
from infoscope.tracking.cell_folder import COMPLETE, STOPPED
from infoscope.tracking.checks import first_line
from infoscope.tracking.environment import variables
from infoscope.tracking.home import home, made_home
from infoscope.tracking.tags import CELL, DRIVER, KEY, OUTCOME, PROFILE

log = logging.getLogger(__name__)

# time limit of the first request of a command, and of updates of running cells
CONTACT_SECONDS = 15
PAGE = 1000  # results of a request
# MLflow tries a request again for about a minute while a server is away
_REQUESTS = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "5",
}
_IMPATIENT = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": str(CONTACT_SECONDS),
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
}

# the UI shows its page for trained models, not the one for language-model applications
_EXPERIMENT_TAGS = {"mlflow.experimentKind": "custom_model_development"}


def tracking_uri() -> str:
    """MLFLOW_TRACKING_URI, or an SQLite store in the working folder; absolute, because
    workers run elsewhere.
    """
    uri = os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{home() / 'mlflow.db'}"
    if uri.startswith("sqlite:///") and not uri.startswith("sqlite:////"):
        uri = f"sqlite:///{Path(uri.removeprefix('sqlite:///')).resolve()}"
    return uri


@functools.cache
def connect(uri: str) -> MlflowClient:
    """The client of a store, one per process: creating one for an SQLite store takes
    longer than a request.
    """
    for name, value in _REQUESTS.items():
        os.environ.setdefault(name, value)
    # it raises every error of a database, such as a full disk, and would also print its
    # traceback
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)
    return MlflowClient(uri)


def impatient() -> contextlib.AbstractContextManager[None]:
    """While inside, a server that does not answer fails at once."""
    return variables(_IMPATIENT)


@contextlib.contextmanager
def reached() -> Iterator[None]:
    """Converts MLflow's exceptions into StoreUnreachable."""
    try:
        yield
    except MlflowException as error:
        raise StoreUnreachable(
            f"the MLflow tracking store does not answer ({first_line(error)})"
        ) from error


@dataclass(frozen=True)
class Store:
    """An experiment of a tracking store. It is sent to the workers, where each makes
    its own client.
    """

    uri: str
    experiment: str
    experiment_id: str

    @property
    def client(self) -> MlflowClient:
        return connect(self.uri)

    @classmethod
    def open(cls, experiment: str, create: bool = False) -> Store:
        """Opens an experiment; creates or upgrades an SQLite store first.

        Raises StoreUnreachable when the server does not answer, LookupError for an
        experiment that does not exist.
        """
        uri = tracking_uri()
        with reached():
            client = _prepared(uri, create)
            existing = client and client.get_experiment_by_name(experiment)
            if existing and existing.lifecycle_stage == "deleted":
                raise InvalidInput(
                    f"the MLflow experiment {experiment!r} is deleted; restore it or "
                    "remove it entirely"
                )
            if existing:
                return cls(uri, experiment, existing.experiment_id)
            if client is None or not create:
                raise LookupError(
                    f"the tracking store has no runs of {experiment!r}; run `make "
                    f"sweep-{experiment}` first"
                )
            location = None
            if uri.startswith("sqlite:"):
                location = (home() / "artifacts" / experiment).as_uri()
            return cls(uri, experiment, _created(client, experiment, location))

    @classmethod
    def names(cls, running: bool = False) -> list[str]:
        """The names of experiments; running: only those with open runs. Raises
        StoreUnreachable.
        """
        with reached():
            client = _prepared(tracking_uri(), create=False)
            if client is None:
                return []
            experiments = all_pages(
                lambda most, token: client.search_experiments(
                    max_results=most, page_token=token
                )
            )
            names = {
                experiment.experiment_id: experiment.name for experiment in experiments
            }
            if running and names:
                ids = list(names)
                query = f"attributes.status = 'RUNNING' and tags.`{DRIVER}` != ''"
                runs = all_pages(
                    lambda most, token: client.search_runs(
                        ids, query, max_results=most, page_token=token
                    )
                )
                names = {
                    run.info.experiment_id: names[run.info.experiment_id]
                    for run in runs
                }
            return list(names.values())

    def answers(self) -> bool:
        """Whether the store can be reached now."""
        try:
            with impatient():
                self.client.get_experiment(self.experiment_id)
        except MlflowException:
            return False
        return True

    def cells(self, extra: str = "") -> Iterator[Run]:
        """The runs of cells, without invocations. extra: MLflow filter. Unreadable runs
        are skipped with a warning.
        """
        query = f"tags.`{KEY}` != ''"
        if extra:
            query += f" and {extra}"
        for run in self.search(query):
            try:
                values(run)
            except ValueError as error:
                warn_skipped(run.info.run_id, str(error))
            else:
                yield run

    def search(self, query: str) -> list[Run]:
        """The runs that match an MLflow filter."""

        def page(most: int, token: str | None) -> Any:
            return self.client.search_runs(
                [self.experiment_id], query, max_results=most, page_token=token
            )

        collecting = gc.isenabled()
        gc.disable()  # garbage collection would take two thirds of the time
        try:
            return all_pages(page)
        finally:
            if collecting:
                gc.enable()

    def run(self, run_id: str | None) -> Run | None:
        """A run by its id; None if there is none or it is deleted."""
        if not run_id:
            return None
        try:
            run = self.client.get_run(run_id)
        except MlflowException as error:
            if error.error_code == "RESOURCE_DOES_NOT_EXIST":
                return None
            raise
        return run if run.info.lifecycle_stage == "active" else None

    def end(self, run_id: str, status: str) -> None:
        """Closes a run, unless it has been deleted."""
        try:
            self.client.set_terminated(run_id, status)
        except MlflowException:
            if self.run(run_id):
                raise

    def run_of(self, key: str) -> Run | None:
        """The run of a cell, or None; of several runs the one that `by_key` chooses."""
        return by_key(self.cells(f"tags.`{KEY}` = '{key}'")).get(key)

    def add_inputs(self, run_id: str, datasets: Sequence[DatasetInput]) -> None:
        """Adds data sets to a run, each once."""
        retry_if_refused(lambda: self.client.log_inputs(run_id, datasets=datasets))

    def add_labels(self, run: Run, more: Iterable[str]) -> None:
        """Notes that a finished cell belongs to further profiles."""
        present = labels_of(run)
        joined = labels("; ".join([*present, *more]))
        if joined == present:
            return
        try:
            self.client.set_tag(run.info.run_id, PROFILE, "; ".join(joined))
        except MlflowException:  # it may have been deleted
            if self.run(run.info.run_id):
                raise


def describe(store: Store, question: str) -> None:
    """Sets the description of an experiment, unless it has one."""
    experiment = store.experiment_id
    client = store.client
    if MLFLOW_RUN_NOTE not in client.get_experiment(experiment).tags:
        retry_if_refused(
            lambda: client.set_experiment_tag(experiment, MLFLOW_RUN_NOTE, question)
        )


def retry_if_refused(request: Callable[[], object]) -> None:
    """Sends a request, and once more if the store rejects it: another process may have
    written the same row.
    """
    try:
        request()
    except MlflowException as error:
        if not refused(error):
            raise
        request()


def refused(error: MlflowException) -> bool:
    """Whether the store has rejected the content of a request, and would again."""
    return error.error_code in ("INVALID_PARAMETER_VALUE", "BAD_REQUEST")


def all_pages(request: Callable[[int, str | None], Any]) -> list[Any]:
    """The contents of all pages of a search; `request` returns the page of a size and a
    token.
    """
    return get_results_from_paginated_fn(request, PAGE)


def by_key(runs: Iterable[Run]) -> dict[str, Run]:
    """The run of every cell by key.

    The first complete run is chosen (by end, then id), otherwise one that was stopped
    early, otherwise the one with most metrics. Its profile tag is given the labels of
    all, here but not in the store.
    """
    chosen: dict[str, Run] = {}
    for run in runs:
        key = run.data.tags[KEY]
        if key not in chosen:
            chosen[key] = run
            continue
        first, second = sorted([chosen[key], run], key=_rank)
        both = dict.fromkeys([*labels_of(first), *labels_of(second)])
        first.data.tags[PROFILE] = "; ".join(both)
        chosen[key] = first
    return chosen


def _rank(run: Run) -> tuple:
    """The sort key of runs of the same cell; the lowest is the cell's run."""
    if not is_finished(run):
        return 2, -len(run.data.metrics), run.info.start_time or 0, run.info.run_id
    return (
        int(run.data.tags[OUTCOME] != COMPLETE),
        run.info.end_time or 0,
        run.info.run_id,
    )


def is_finished(run: Run) -> bool:
    """Whether a run has all results of its cell; MLflow's status alone is not
    sufficient.
    """
    return run.info.status == "FINISHED" and run.data.tags.get(OUTCOME) in (
        COMPLETE,
        STOPPED,
    )


@functools.cache
def warn_skipped(run_id: str, reason: str) -> None:
    """Warns, once per process, that a run is skipped."""
    log.warning("run %s is skipped: %s", run_id, reason)


def _created(client: MlflowClient, experiment: str, location: str | None) -> str:
    try:
        return client.create_experiment(experiment, location, _EXPERIMENT_TAGS)
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
        existing = client.get_experiment_by_name(experiment)
        if not existing:
            raise
        return existing.experiment_id


def _prepared(uri: str, create: bool) -> MlflowClient | None:
    logging.getLogger("alembic").setLevel(logging.WARNING)
    if not uri.startswith("sqlite:///"):
        return _reached(uri)
    path = Path(uri.removeprefix("sqlite:///"))
    if not path.exists() and not create:
        return None
    if path.parent == home():
        made_home()
    path.parent.mkdir(parents=True, exist_ok=True)
    # concurrent first use would damage a new SQLite store
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
                raise StoreUnreachable(
                    f"{path} cannot be upgraded to this version of MLflow ({why})"
                ) from None
            return _reached(uri)


def _reached(uri: str) -> MlflowClient:
    """A client whose server has answered, within a shorter time limit than later
    requests.
    """
    client = connect(uri)
    with impatient():
        client.search_experiments(max_results=1)
    return client


def gather_statistics(uri: str) -> None:
    """Updates the statistics of an SQLite store, without which sorting takes quadratic
    time; skips a locked store.
    """
    if not uri.startswith("sqlite:///"):
        return
    with (
        contextlib.suppress(sqlite3.OperationalError),
        contextlib.closing(
            sqlite3.connect(uri.removeprefix("sqlite:///"), timeout=5)
        ) as base,
    ):
        # rows of an index that are examined
        base.execute("PRAGMA analysis_limit = 1000")
        base.execute("ANALYZE")


def labels(profile: str) -> list[str]:
    """The labels of a profile tag, each once: a cell may belong to several profiles."""
    return list(dict.fromkeys(label for label in profile.split("; ") if label))


def with_label(runs: Iterable[Run], profile: str | None) -> list[Run]:
    """The runs with this label; None: all."""
    return [run for run in runs if profile is None or profile in labels_of(run)]


def require_under(
    runs: Sequence[Run], experiment: str, profile: str | None
) -> list[Run]:
    """The runs with this label; LookupError if there are none, with the existing
    labels.
    """
    chosen = with_label(runs, profile)
    if chosen:
        return chosen
    existing: set[str] = set()
    for run in runs:
        existing.update(labels_of(run))
    where = f" under profile {profile!r}" if profile else ""
    advice = f"run `make sweep-{experiment}` first"
    if existing:
        others = " or ".join(
            f"PROFILE={shlex.quote(label)}" for label in sorted(existing)
        )
        advice = f"there are some with {others}"
    raise LookupError(f"there are no finished runs of {experiment!r}{where}; {advice}")


def labels_of(run: Run) -> list[str]:
    """The labels of the profiles that a run's cell belongs to."""
    return labels(run.data.tags.get(PROFILE, ""))


def values(run: Run) -> dict[str, Any]:
    """The values of a run's cell with their types (tuples as lists). Raises ValueError
    if its tag is no cell.
    """
    text = run.data.tags.get(CELL)
    if text is None:
        raise ValueError(f"it has a tag {KEY}, but no tag {CELL}")
    return plain_cell(text)


def plain_cell(text: str) -> dict[str, Any]:
    """The cell in the JSON of its run's tag. Raises ValueError if it is none."""
    try:
        cell = json.loads(text)
    except (ValueError, RecursionError):
        cell = None
    if not isinstance(cell, dict) or not all(map(_plain, cell.values())):
        raise ValueError(f"its tag {CELL} is {text[:60]!r}, which is no cell")
    return cell


def _plain(value: Any) -> bool:
    parts = value if isinstance(value, list) else [value]
    return all(isinstance(part, bool | int | float | str | None) for part in parts)
