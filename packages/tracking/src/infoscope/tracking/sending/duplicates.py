"""Retires all but one of the runs of a cell; the choice depends on the runs alone (see `store.by_key`)."""

from __future__ import annotations

import logging

from mlflow.entities import Run
from mlflow.exceptions import MlflowException

from infoscope.tracking.sending.claims import is_dead
from infoscope.tracking.sending.identity import own_tags
from infoscope.tracking.store.store import Store, by_key, first_line, is_finished, labels
from infoscope.tracking.tags import CELLS, KEY, PARENT, PROFILE, SECOND

log = logging.getLogger(__name__)


def by_key_once(store: Store) -> dict[str, Run]:
    """By key, the run of every cell; second runs of cells are retired, except those that a living process works on."""
    known, others = by_key(store.cells())
    for run in others:
        try:
            _retire(run, known[run.data.tags[KEY]], store)
        except MlflowException as error:  # another process does the same; what is left the next invocation sees to
            log.info("run %s is not retired (%s)", run.info.run_id, first_line(error))
    return known


def _retire(second: Run, first: Run, store: Store) -> None:
    """Marks a second run, then deletes it unless the other is marked too; safe to repeat and to do concurrently."""
    client, run_id = store.client, second.info.run_id
    now = store.run(run_id)
    if now is None or (now.info.status == "RUNNING" and _has_owner(now, store)):
        return
    client.set_tag(run_id, SECOND, first.info.run_id)
    stands = store.run(first.info.run_id)
    now = store.run(run_id)
    keeps = stands is not None and SECOND not in stands.data.tags
    if now is None or not keeps or is_finished(now) and not is_finished(stands):
        client.delete_tag(run_id, SECOND)
        return
    told = stands.data.tags.get(PROFILE, "")
    both = labels(f"{told}; {now.data.tags.get(PROFILE, '')}")
    if is_finished(now) and both != labels(told):
        client.set_tag(first.info.run_id, PROFILE, "; ".join(both))
    client.delete_run(run_id)


def _has_owner(run: Run, store: Store) -> bool:
    parent = store.run(run.data.tags.get(PARENT))
    if parent is None or CELLS not in parent.data.tags:
        return False
    return parent.info.status == "RUNNING" and not is_dead(parent, own_tags())
