"""Adds what an analysis has found to the invocation whose cells it is about: files, and tables in its description."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd
from mlflow.entities import Run
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NOTE
from PIL import Image

from infoscope.tracking import notes
from infoscope.tracking.store.client import Client, connect
from infoscope.tracking.store.store import PARENT, Store, files, parents, tracking_uri

FOLDER = "analysis"
_SMALL = 520, 1560  # pixels, at most, of a picture in a description
Table = tuple[str, Sequence[str], Sequence[Sequence[str]], str]


def publish(experiment: str, profile: str, cells: pd.DataFrame, tables: Sequence[Table], paths: Iterable[Path]) -> str:
    """Adds files, tables and pictures to the newest invocation under a profile's label; returns its page's address.

    cells: the analysed rows of `runs`; the newest of their invocations is taken where none has the label. Earlier
    additions are replaced. Raises ValueError for a path that is not a file, LookupError when there is no such
    invocation.
    """
    paths = files(paths)
    run = _invocation(experiment, profile, cells)
    client = connect(tracking_uri())
    pictures = add_files(client, run.info.run_id, paths)
    note = notes.with_tables(run.data.tags.get(MLFLOW_RUN_NOTE, ""), tables, pictures)
    client.set_tag(run.info.run_id, MLFLOW_RUN_NOTE, note)
    return notes.run_page(run.info.experiment_id, run.info.run_id)


def add_files(client: Client, run_id: str, paths: Iterable[Path]) -> dict[str, str]:
    """Adds files as artifacts, and small copies of pictures; returns the addresses of the latter by name."""
    shown = {}
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            client.log_artifact(run_id, str(path), FOLDER)
            if path.suffix == ".png":
                small = Path(folder) / path.name
                with Image.open(path) as picture:
                    picture.thumbnail(_SMALL)
                    picture.save(small)
                client.log_artifact(run_id, str(small), f"{FOLDER}/small")
                shown[path.stem] = notes.picture(run_id, f"{FOLDER}/small/{path.name}")
    return shown


def _invocation(experiment: str, profile: str, cells: pd.DataFrame) -> Run:
    """The newest of a label that has finished, or else ended with failures; or else the newest that made the cells."""
    known = parents(experiment, profile)
    for status in ("FINISHED", "FAILED"):
        for run in known:
            if run.info.status == status:
                return run
    store = Store.open(experiment)
    makers = {tags.get(PARENT) for tags in cells["tags"]}
    found = [run for run in map(store.run, sorted(filter(None, makers))) if run is not None]
    if not found:
        raise LookupError(f"no invocation of {experiment!r} under profile {profile!r} has ended")
    return max(found, key=lambda run: run.info.start_time)
