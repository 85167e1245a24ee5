"""Cells as workers leave them: folders, and what their runs hold."""

from dataclasses import dataclass

import numpy as np
from optuna.distributions import IntDistribution

from infoscope.tracking.cell_folder import CellFolder
from infoscope.tracking.publishing import publish
from infoscope.tracking.sweep import Profile, Search, Sweep, canonical
from infoscope.tracking.tags import CELL, KEY, PARENT, PROFILE, RUN_NAME, VERSION
from infoscope.tracking.trial import Bundle, Job, run_bundle

PARENT_RUN = "0" * 32


@dataclass(frozen=True)
class Seeds(Profile):
    seeds: tuple[int, ...] = (0, 1)


def nothing(pack, report):
    """A trial that reports nothing."""


def searched(profiles):
    """A search of one width in four trials."""
    space = {"width": IntDistribution(1, 100)}
    search = Search("loss", "min", lambda: None, lambda profile: space, trials=4)
    return Sweep(
        "searched",
        lambda profile: [{"kind": "searched"}],
        nothing,
        profiles,
        search=search,
    )


def tags_of(key, cell, **tags):
    """The tags of the run of a cell."""
    return {
        KEY: key,
        CELL: canonical(cell),
        PROFILE: "smoke",
        VERSION: "1",
        RUN_NAME: key,
        **tags,
    }


def begun(folder, key="one", cell=None, **tags):
    """The folder of a cell that has begun."""
    cell = {"name": key} if cell is None else cell
    made = CellFolder(folder / key)
    made.begin(cell, tags_of(key, cell, **tags))
    return made


def closed(folder, store, outcome="complete"):
    """The id of the run of a cell that has ended."""
    folder.end(outcome, "RuntimeError: boom" if outcome == "failed" else "")
    return publish(folder, store)


def example(dim_x=2, dim_y=2):
    """A row of each side, for a critic."""
    return {"x": np.ones((1, dim_x), np.float32), "y": np.ones((1, dim_y), np.float32)}


def job(store, folder, trial, metric=None, **settings):
    """What trials of a made-up sweep have in common."""
    search = Search(metric, "min", lambda: None) if metric else None
    name = store.experiment if store else "offline"
    sweep = Sweep(
        name, lambda profile: [], trial, {"smoke": Profile()}, search=search, **settings
    )
    folder.mkdir(parents=True, exist_ok=True)
    return Job(
        sweep,
        folder,
        "cpu",
        {PARENT: PARENT_RUN, PROFILE: "smoke", VERSION: "1"},
        store,
    )


def computed(job, cells):
    """All that a driver hears of a trial whose only pack has these cells."""
    heard = []
    run_bundle(Bundle([cells], {key: key for key in cells}), job, heard.append)
    return heard


def history(store, run_id, name="level"):
    """(step, value) of every point of a metric."""
    return [
        (point.step, point.value)
        for point in store.client.get_metric_history(run_id, name)
    ]
