"""Publishes unsent cells, such as those of an offline invocation, and closes the runs
of drivers that have ended.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mlflow.entities import RunTag
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NOTE

from infoscope.errors import InvalidInput, UnreadableFile
from infoscope.tracking import notes
from infoscope.tracking.cell_folder import CellFolder, cell_folders
from infoscope.tracking.checks import NAME_LENGTH, clipped, first_line, plain_name
from infoscope.tracking.driver import (
    SweepBusy,
    close_leftovers,
    locked,
    own_tag,
    publish_ended,
)
from infoscope.tracking.home import outbox, sweeps_in
from infoscope.tracking.status import question_of
from infoscope.tracking.store import Store, describe
from infoscope.tracking.tags import CELLS, PARENT, PROFILE, RUN_NAME


@dataclass
class Synced:
    """The number of published cells of a sweep. unsent: reasons by key of a cell. busy:
    skipped, because the sweep runs.
    """

    sweep: str
    published: int = 0
    unsent: dict[str, str] = field(default_factory=dict)
    busy: bool = False

    def __str__(self) -> str:
        if self.busy:
            return f"{self.sweep}: skipped, it is running"
        lines = [f"{self.sweep}: {self.published} cells sent to MLflow"]
        lines += [
            f"  not sent: cell {key}: {reason}" for key, reason in self.unsent.items()
        ]
        return "\n".join(lines)


def sync(sweeps: Sequence[str] = (), folder: Path | None = None) -> list[Synced]:
    """Publishes the unsent cells of all sweeps, or of the named ones, except sweeps
    that run now.

    folder: contains a folder for every sweep, from an offline invocation or a worker's
    own disk. None: this working folder; open runs of its ended drivers are closed, too.
    Raises ValueError for an invalid name, UnreadableFile for a folder without
    sweeps, StoreUnreachable when the store does not answer.
    """
    place = folder or outbox()
    if folder and not sweeps_in(folder, ()):
        raise UnreadableFile(
            f"{folder} must be a folder that contains a folder of cells for every sweep"
        )
    names = sorted(set(sweeps))
    if not names:
        running = () if folder else Store.names(running=True)
        names = sweeps_in(place, running)
    return [
        _sync(plain_name("the name of a sweep", name), place / name, folder is None)
        for name in names
    ]


def _sync(name: str, folder: Path, is_own: bool) -> Synced:
    try:
        with locked(name):
            store = Store.open(name, create=bool(cell_folders(folder)))
            if is_own:
                published, unsent = close_leftovers(store, folder)
            else:
                published, unsent = _publish_offline(store, folder)
            reasons = {cell.key: first_line(error) for cell, error in unsent.items()}
            return Synced(name, len(published), reasons)
    except SweepBusy:
        return Synced(name, busy=True)
    except LookupError:  # there is no such experiment, and nothing to send
        return Synced(name)
    except InvalidInput as error:  # the experiment is deleted; the other sweeps go on
        reasons = {
            cell.key: str(error) for cell in cell_folders(folder) if cell.ending()
        }
        return Synced(name, unsent=reasons)


def _publish_offline(
    store: Store, folder: Path
) -> tuple[list[CellFolder], dict[CellFolder, Exception]]:
    """Publishes the cells of a folder from elsewhere. Cells without a parent run get
    one for each label.
    """
    by_profile: dict[str, list[CellFolder]] = defaultdict(list)
    published: list[CellFolder] = []
    unsent: dict[CellFolder, Exception] = {}
    for cell in cell_folders(folder):
        if not cell.ending():
            continue
        if cell.path.is_symlink() or any(
            path.is_symlink() for path in cell.path.rglob("*")
        ):
            unsent[cell] = ValueError(
                "its folder has a symbolic link, which could point to any file"
            )
            continue
        tags = cell.header().get("tags")
        if not isinstance(tags, dict):
            unsent[cell] = ValueError("its cell.json cannot be read")
        elif PARENT in tags:
            by_profile[""].append(cell)
        elif tags.get(PROFILE):
            by_profile[tags[PROFILE]].append(cell)
        else:
            unsent[cell] = ValueError(f"its cell.json has no tag {PROFILE}")
    for profile, cells in by_profile.items():
        parent = (
            open_parent(store, profile, len(cells), "an offline run", {})
            if profile
            else ""
        )
        sent, failed = publish_ended(store, cells, parent)
        published += sent
        unsent |= failed
        if parent:
            store.end(parent, "FAILED" if failed else "FINISHED")
    return published, unsent


def open_parent(
    store: Store, profile: str, cells: int, origin: str, tags: Mapping[str, str]
) -> str:
    """Opens the parent run of cells that were computed elsewhere; returns its id.

    origin: a file, or "an offline run". tags: further ones.
    """
    name = store.experiment
    question = question_of(name)
    describe(store, question)
    title = clipped(f"{profile}, from {origin}", NAME_LENGTH)
    about = {**own_tag(), PROFILE: profile, RUN_NAME: title, CELLS: str(cells), **tags}
    parent = store.client.create_run(store.experiment_id, tags=about).info.run_id
    note = notes.loaded_note(question, origin, cells, store.experiment_id, parent)
    store.client.log_batch(parent, tags=[RunTag(MLFLOW_RUN_NOTE, note)])
    return parent
