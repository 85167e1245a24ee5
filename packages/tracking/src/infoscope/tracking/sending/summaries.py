"""Summary runs: for each configuration the mean and standard error over its seeds, with links to the runs.

A summary has no key, so it is no cell; its parent is the newest invocation that made some of its runs. It is written
when a sweep ends, if anything has changed.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from mlflow.entities import Metric, Run, RunTag
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NAME, MLFLOW_RUN_NOTE

from infoscope.tracking import notes
from infoscope.tracking.checks import NAME_LENGTH, clipped
from infoscope.tracking.record import COMPLETE, milliseconds
from infoscope.tracking.sending.heartbeat import own_tags
from infoscope.tracking.sending.publish import parameters
from infoscope.tracking.store.store import NOT_RESULTS, OUTCOME, PROFILE, VERSION, Store, labels, values
from infoscope.tracking.sweep import Sweep, canonical, names
from infoscope.tracking.tags import CELLS, PARENT, SUMMARY, SUMMARY_OF

MEAN, ERROR, COUNT = "mean/{}", "standard_error/{}", "runs"


def summarise(store: Store, sweep: Sweep, known: Iterable[Run]) -> int:
    """Writes summaries of configurations with several complete cells of this version; returns their number."""
    members: dict[str, list[Run]] = defaultdict(list)
    configurations: dict[str, dict[str, Any]] = {}
    for run in known:
        if run.data.tags.get(OUTCOME) == COMPLETE and run.data.tags.get(VERSION) == str(sweep.version):
            cell = {name: value for name, value in values(run).items() if name not in sweep.replicates}
            digest = hashlib.sha256(f"{sweep.version}|{canonical(cell)}".encode()).hexdigest()[:16]
            configurations[digest] = cell
            members[digest].append(run)
    several = {digest: configurations[digest] for digest, runs in members.items() if len(runs) > 1}
    held = _held(store) if several else {}
    titles, written = names(several), 0
    for digest, cell in several.items():
        runs = sorted(members[digest], key=lambda run: (run.info.start_time, run.info.run_id))
        state = _state(runs)
        first, *others = held.get(digest, [None])
        for second in others:  # made by two processes that ended at the same time
            store.client.delete_run(second.info.run_id)
        if first is None or first.data.tags.get(SUMMARY_OF) != state:
            _write(store, sweep, cell, titles[digest], runs, {SUMMARY: digest, SUMMARY_OF: state}, first)
            written += 1
    return written


def add_data_sets(store: Store, known: Iterable[Run]) -> None:
    """Adds the data sets of its cells to every invocation that has none. known: the runs of cells."""
    members = defaultdict(list)
    for run in known:
        members[run.data.tags.get(PARENT)].append(run)
    for parent in store.search(f"tags.`{CELLS}` != ''") if members else ():
        if not (parent.inputs and parent.inputs.dataset_inputs):
            _log_data(store, parent.info.run_id, members[parent.info.run_id])


def _log_data(store: Store, run_id: str, runs: Iterable[Run]) -> None:
    read = {one.dataset.digest: one for run in runs if run.inputs for one in run.inputs.dataset_inputs}
    if read:
        store.add_inputs(run_id, list(read.values()))


def _held(store: Store) -> dict[str, list[Run]]:
    found = defaultdict(list)
    for run in sorted(store.search(f"tags.`{SUMMARY}` != ''"), key=lambda run: (run.info.start_time, run.info.run_id)):
        found[run.data.tags[SUMMARY]].append(run)
    return found


def _state(runs: Sequence[Run]) -> str:
    plain = json.dumps([[run.info.run_id, sorted(_single(run).items())] for run in runs])
    return hashlib.sha256(plain.encode()).hexdigest()[:16]


def _single(run: Run) -> dict[str, float]:
    found = {name: value for name, value in run.data.metrics.items() if not name.startswith(NOT_RESULTS)}
    return {name: value for name, value in found.items() if name.removesuffix("_error") not in found.keys() - {name}}


def over_runs(runs: Sequence[Mapping[str, float]]) -> Iterator[tuple[str, float, float, int]]:
    """Name, mean, standard error and n of every metric that all runs have; NaN if a value is NaN."""
    for name in runs[0]:
        if all(name in run for run in runs):
            found = np.array([run[name] for run in runs])
            yield name, float(found.mean()), float(found.std(ddof=1) / math.sqrt(len(found))), len(found)


def _write(
    store: Store,
    sweep: Sweep,
    cell: Mapping[str, Any],
    title: str,
    runs: Sequence[Run],
    own: Mapping[str, str],
    known: Run | None,
) -> None:
    """Writes a summary; the tag with the digest of its runs is set last, when everything else is there."""
    client, now = store.client, milliseconds()
    found = list(over_runs([_single(run) for run in runs]))
    shown = list(dict.fromkeys(label for run in runs for label in labels(run.data.tags.get(PROFILE, ""))))
    about = own_tags() | {
        MLFLOW_RUN_NAME: clipped(f"mean of {len(runs)}: {title}", NAME_LENGTH),
        MLFLOW_RUN_NOTE: notes.summary_note(sweep.name, cell, sweep.replicates, runs, found, sweep.best),
        PROFILE: "; ".join(shown),
        VERSION: str(sweep.version),
        SUMMARY: own[SUMMARY],
    }
    if parents := [run.data.tags[PARENT] for run in runs if PARENT in run.data.tags]:
        about[PARENT] = parents[-1]
    run_id = known.info.run_id if known else client.create_run(store.experiment_id, tags=about).info.run_id
    metrics = [Metric(COUNT, len(runs), now, 0)]
    for name, mean, error, _ in found:
        given = {MEAN: mean, ERROR: error}
        metrics += [Metric(pattern.format(name)[:NAME_LENGTH], value, now, 0) for pattern, value in given.items()]
    client.log_batch(run_id, metrics, parameters(cell), [RunTag(*tag) for tag in about.items()])
    _log_data(store, run_id, runs)
    client.set_terminated(run_id, "FINISHED")
    client.set_tag(run_id, SUMMARY_OF, own[SUMMARY_OF])
