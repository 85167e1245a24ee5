"""Sends local records to MLflow in batches, idempotently, from where the last attempt stopped.

A run holds one attempt at its cell; a fresh attempt gets a new run and retires the one before (`Store.retire`). An
attempt that continues from a checkpoint keeps the run: repeated steps with the same value are left out, others get a
later time stamp. If the run ends with points that are not this attempt's, the cell gets a clean run.

Time stamps are the run's start plus the step, so repeated batches change nothing. Entries that MLflow rejects for
good are set aside in an artifact with a tag; temporary refusals end the round.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from mlflow.entities import LoggedModelOutput, Metric, Param, Run, RunTag
from mlflow.exceptions import MlflowException

from infoscope.tracking import models
from infoscope.tracking.checks import (
    PARAM_LENGTH,
    TAG_LENGTH,
    clipped,
    entity_name,
    metric_name,
    metric_step,
    metric_value,
    shown,
    storable_text,
    stored_tags,
    stored_text,
)
from infoscope.tracking.datasets import inputs
from infoscope.tracking.record import ASIDE, COMPLETE, FAILED, STOPPED, Record, milliseconds, storable
from infoscope.tracking.sending.checkpoint import TAG, Checkpoint, forget
from infoscope.tracking.sending.claims import may_live
from infoscope.tracking.sending.machine import Machine
from infoscope.tracking.store.outputs import newest_model, ready_models
from infoscope.tracking.store.store import (
    ATTEMPT,
    CELL,
    ERROR,
    KEY,
    OUTCOME,
    PARENT,
    SET_ASIDE,
    SUPERSEDED,
    SUPERSEDES,
    Store,
    first_line,
    is_finished,
    newest,
    of_cell,
    refused,
    without_password,
)
from infoscope.tracking.sweep import text

log = logging.getLogger(__name__)

LATEST = 10**12  # ms that a time stamp may be after its run's start: browsers know no dates that are much later
RARER = 0.02  # of the time so far, that is to pass between two samples of the machine
PAUSE_SECONDS = 0.5  # before a pack's first round: one that ends sooner is sent at once, by `drain`
STATUS = {COMPLETE: "FINISHED", STOPPED: "FINISHED", FAILED: "FAILED"}


def send(record: Record, store: Store) -> str:
    """Sends everything new in a record to its run, which is created when the cell has none; returns the run's id.

    Raises MLflow's exceptions when the store does not answer, LookupError when a model that the cell shares is not
    there yet, OSError when what was sent cannot be noted; nothing is lost then, a later call goes on. Of a cell that
    another living invocation has taken over nothing is sent, and the id is empty.
    """
    with record.lock():
        carrier = _Carrier(record, store)
        if carrier.carry():
            carrier.note()
        return carrier.run.info.run_id if carrier.run and not carrier.sent.taken else ""


def _send_files(record: Record, run_id: str, store: Store) -> None:
    if record.files.is_dir() and any(record.files.iterdir()):
        store.client.log_artifacts(run_id, str(record.files))


def told_aside(keys: Collection[str]) -> str:
    """What a person is told of cells of which MLflow has refused something."""
    named = ", ".join(sorted(keys)[:3]) + (", ..." if len(keys) > 3 else "")
    return f"MLflow refused some of what {len(keys)} cells reported ({named}): see {ASIDE} among their runs' artifacts"


def close(record: Record, store: Store, otherwise: str) -> int:
    """Sends the rest of a record, ends its run (`otherwise` if it has no outcome) and removes the record.

    Returns how many entries are set aside. A run finished or taken over by others keeps its status.
    """
    with record.lock():
        carrier, ending = _Carrier(record, store), record.ending()
        carrier.carry()
        run = None if carrier.sent.taken else carrier.run
        if ending and run and not carrier.sent.whole:
            store.client.set_terminated(run.info.run_id, STATUS[ending["outcome"]], ending["time"])
        elif run and not is_finished(run):
            _send_files(record, run.info.run_id, store)  # what goes on from a checkpoint does not write them again
            store.client.set_terminated(run.info.run_id, otherwise)
        if run and not carrier.sent.whole and record.has_models():
            models.discard(models.of_run(run.info.run_id, store), store)  # of which only a part was sent
        if run and TAG in run.data.tags and ending and ending["outcome"] != FAILED:
            forget(run.info.run_id, store)
        aside = record.aside()
        record.remove()  # before the lock is free: a worker's late round would open the run again
        return aside


def close_all(
    records: Iterable[Record], store: Store, otherwise: str, aside: set[str] | None = None
) -> list[tuple[Record, Exception]]:
    """Closes records, models' owners first; returns those that could not be closed. aside: gets keys with refused
    entries.
    """
    left = list(records)
    while True:
        failed: list[tuple[Record, Exception]] = []
        for position, record in enumerate(left):
            try:
                if close(record, store, otherwise) and aside is not None:
                    aside.add(record.key)
            except Exception as error:  # one bad record must not keep the others
                failed.append((record, error))
                if isinstance(error, MlflowException) and not store.answers():
                    return failed + [(other, error) for other in left[position + 1 :]]
        if not failed or len(failed) == len(left):
            return failed
        left = [record for record, _ in failed]


@dataclass
class _Sent:
    """How far a record has been sent. start: of the run, ms. earlier: metrics of earlier attempts; last: by metric,
    the last step of this one. whole, taken: others have finished the run or taken it over, so nothing is sent.
    """

    store: str
    offset: int = 0
    run_id: str = ""
    start: int = 0
    earlier: list[str] = field(default_factory=list)
    last: dict[str, int] = field(default_factory=dict)
    whole: bool = False
    taken: bool = False
    parent: str = ""


class _Carrier:
    """Sends one record, from its beginning when the store is another or has lost the run."""

    def __init__(self, record: Record, store: Store):
        self.record, self.store = record, store
        note, name = record.sent(), f"{without_password(store.uri)} {store.experiment_id}"
        self.run: Run | None = store.run(note["run_id"]) if note.get("store") == name else None
        self.sent = _Sent(**note) if self.run else _Sent(name)
        self.sent.whole |= self.run is not None and is_finished(self.run)
        self.sent.taken = self._is_taken(self.run, self.sent.parent)
        self._points: list[Metric] = []
        self._samples: list[Metric] = []
        self._params: list[Param] = []  # these and the tags go with the points, in one request
        self._tags: dict[str, str] = {}
        self._unfit: list[tuple[dict[str, Any], str]] = []  # of a header: what is not to be sent, and why

    def carry(self) -> bool:
        """Sends what is new and returns whether there was anything; nothing of replaced or undecided attempts."""
        before = self.sent.offset
        entries = list(self.record.entries(before))
        after = [entry for entry, _ in entries[1:]] + [None]
        afresh = [at for at, (entry, _) in enumerate(entries) if "cell" in entry and _afresh(entry, after[at])]
        first = max(afresh, default=0)
        for at, (entry, offset) in enumerate(entries):
            if "cell" in entry and at >= first:
                self._send_batch()
                if not self._open_run(entry, after[at]):
                    return self.sent.offset > before
            elif self.run and not self.sent.whole and not self.sent.taken and at >= first:
                self._take(entry, offset)
            self.sent.offset = offset
        self._send_batch()
        return self.sent.offset > before

    def note(self) -> None:
        self.record.note_sent(asdict(self.sent))

    def _take(self, entry: Mapping[str, Any], offset: int) -> None:
        if "metrics" in entry:
            self._take_metrics(entry)
        elif "model" in entry:
            self._send_batch()
            self._send_model(entry)
            self.sent.offset = offset
            self.note()  # it takes long to send again
        elif "system" in entry:
            self._take_system(entry)
        elif "datasets" in entry:
            self._send_datasets(entry)
        elif "tags" in entry:
            self._tags |= entry["tags"]
        elif "outcome" in entry:
            self._send_batch()
            if entry["outcome"] != FAILED:
                self._clean()
            _send_files(self.record, self.sent.run_id, self.store)
            self._tags |= {OUTCOME: entry["outcome"]} | ({ERROR: entry["error"][:4000]} if entry["error"] else {})

    def _take_metrics(self, entry: Mapping[str, Any]) -> None:
        for name, value in entry["metrics"].items():
            try:
                step, number = _checked(name, value, entry.get("step"))
            except ValueError as error:  # of an earlier version, which did not ask when it was reported
                self._set_aside({"metric": name, "value": value, "step": entry.get("step")}, str(error))
            else:
                self._points.append(Metric(name, number, self._dated(step), step))

    def _take_system(self, entry: Mapping[str, Any]) -> None:
        """Samples of the machine are dated as they were taken; they belong to no attempt."""
        for name, value in entry["system"].items():
            try:
                at, number = metric_step(entry.get("time")), metric_value(metric_name(name), value)
            except ValueError as error:
                self._set_aside(dict(entry), str(error))
            else:
                step = max(0, (at - self.sent.start) // 1000)
                self._samples.append(Metric(name, storable(number), at, step))

    def _send_model(self, entry: Mapping[str, Any]) -> None:
        try:
            here = (self.record.model_folder(entry["model"]) / "model.json").exists()
        except ValueError as error:  # a name that is none
            return self._set_aside(entry, str(error))
        if not here and entry.get("owner") == self.record.key:
            return self._set_aside(entry, "the files of the model are missing")
        try:
            _send_model(self.record, entry, self.sent.run_id, self.store)
        except MlflowException as error:
            if not refused(error):
                raise
            self._set_aside(entry, first_line(error))

    def _send_datasets(self, entry: Mapping[str, Any]) -> None:
        try:
            self.store.add_inputs(self.sent.run_id, inputs(entry["datasets"]))
        except ValueError as error:
            self._set_aside(entry, str(error))
        except MlflowException as error:
            if not refused(error):
                raise
            self._set_aside(entry, first_line(error))

    def _send_batch(self) -> None:
        again = {point.key for point in self._points if point.key in self.sent.earlier}
        for point in self._points:
            last = self.sent.last.get(point.key)
            if last is not None and point.step <= last:
                again.add(point.key)
            self.sent.last[point.key] = point.step if last is None else max(last, point.step)
        for name in sorted(again):
            self._compare(name)
        if self._points or self._samples or self._params or self._tags:
            tags = [RunTag(*tag) for tag in self._tags.items()]
            self._log([*self._params, *tags, *self._points, *self._samples])
        self._points, self._samples, self._params, self._tags = [], [], [], {}

    def _log(self, items: Sequence[Metric | Param | RunTag]) -> None:
        """Logs a batch without those that the store refuses for what they are, which are set aside."""
        kinds = [[item for item in items if isinstance(item, kind)] for kind in (Metric, Param, RunTag)]
        try:
            self.store.client.log_batch(self.sent.run_id, *kinds)
        except MlflowException as error:
            if not refused(error) or self.store.run(self.sent.run_id) is None:
                raise
            if len(items) == 1:
                self._set_aside(dict(items[0]), first_line(error))
            for half in (items[: len(items) // 2], items[len(items) // 2 :]) if len(items) > 1 else ():
                self._log(half)

    def _set_aside(self, what: Mapping[str, Any], why: str) -> None:
        path, why = self.record.files / ASIDE, storable_text(why)
        line = json.dumps({"refused": dict(what), "why": why}, default=shown)
        lines = path.read_text().splitlines() if path.exists() else []
        count = len(lines) + (line not in lines)
        told = clipped(f"{count} of what was reported, such as {shown(dict(what))}: {why}; see {ASIDE}", 4000)
        self.store.client.set_tag(self.sent.run_id, SET_ASIDE, told)
        if line not in lines:
            log.warning("MLflow refused some of what cell %s reported (%s)", self.record.key, why)
            self.record.files.mkdir(exist_ok=True)
            with open(path, "a") as file:
                file.write(line + "\n")

    def _compare(self, name: str) -> None:
        """Leaves out the points of a metric that the run has, and dates those that differ after what the run has."""
        history = self.store.client.get_metric_history(self.sent.run_id, name)
        held = newest(history)
        new = [point for point in self._points if point.key == name]
        if name in self.sent.earlier and min(point.step for point in new) > max(held, default=-math.inf):
            self.sent.earlier.remove(name)  # the curve has got beyond where the earlier attempt was
        kept = [point for point in self._points if point.key != name]
        for point in new:
            before = held.get(point.step)
            if before is None or not _same(before.value, point.value):
                at = point.timestamp if before is None else before.timestamp + 1
                held[point.step] = Metric(name, point.value, at, point.step)
                kept.append(held[point.step])
        self._points = kept

    def _open_run(self, entry: Mapping[str, Any], following: Mapping[str, Any] | None) -> bool:
        """Finds or creates the run of an attempt; False while it is unknown whether it continues from a checkpoint."""
        client, key, attempt = self.store.client, entry["tags"].get(KEY), entry.get("attempt", "")
        last = self.store.run(self.sent.run_id or entry["run_id"])
        known = last if last and last.data.tags.get(KEY) == key else self.store.run_of(key)
        begun = known.data.tags.get(ATTEMPT, "") if known else ""
        run, whole, taken, earlier, parent = known, False, False, [], entry["tags"].get(PARENT, "")
        if known is None:
            replaced = last if last and last.data.tags.get(SUPERSEDED) == key else None  # its process died in between
            run = self._create(entry, replaced)
        elif is_finished(known):
            whole = True
        elif taken := self._is_taken(known, parent):
            pass
        elif begun > attempt > "" and not self._ended_well():
            run = None  # a later attempt has taken the cell over, and this one came to nothing
        elif attempt in ("", begun) or _goes_on(entry, following, known) or following and self._empty(known):
            client.update_run(known.info.run_id, status="RUNNING")
            if ERROR in known.data.tags:
                client.delete_tag(known.info.run_id, ERROR)
            self._describe(entry, params=not known.data.params)  # whoever created it died before it could say more
            earlier = sorted(known.data.metrics)
        elif following is None:
            return False
        else:
            self._retire(known)
            run = self._create(entry, known)
        self.run, before = run, self.sent
        self.sent = _Sent(before.store, before.offset, earlier=earlier, whole=whole, taken=taken, parent=parent)
        if run:
            self.sent.run_id, self.sent.start = run.info.run_id, run.info.start_time
        while run and self._unfit:
            self._set_aside(*self._unfit.pop())
        return True

    def _is_taken(self, run: Run | None, parent: str) -> bool:
        if run is None or run.info.status != "RUNNING" or not parent:
            return False
        other = run.data.tags.get(PARENT, parent)
        return other != parent and may_live(self.store.run(other))

    def _ended_well(self) -> bool:
        ending = self.record.ending()
        return ending is not None and ending["outcome"] != FAILED

    def _empty(self, run: Run) -> bool:
        outputs = run.outputs.model_outputs if run.outputs else ()
        return not (any(of_cell(run.data.metrics)) or outputs or self.store.client.list_artifacts(run.info.run_id))

    def _retire(self, run: Run, by: str = "") -> None:
        if TAG in run.data.tags:
            forget(run.info.run_id, self.store)
        self.store.retire(run, by)

    def _create(self, entry: Mapping[str, Any], replaced: Run | None) -> Run:
        self._describe(entry, params=True)
        tags, self._tags = self._tags, {}
        if replaced:
            tags |= {SUPERSEDES: replaced.info.run_id}
        client, created = self.store.client, self.store.experiment_id
        try:
            run = client.create_run(created, start_time=entry["time"], tags=tags)
        except MlflowException as error:
            if not refused(error):
                raise
            self._tags, tags = tags, {name: tags[name] for name in (KEY, ATTEMPT) if name in tags}
            run = client.create_run(created, start_time=entry["time"], tags=tags)
        if replaced:
            self.store.retire(replaced, by=run.info.run_id)
        return run

    def _describe(self, entry: Mapping[str, Any], params: bool) -> None:
        self._tags, self._params, self._unfit = {}, [], []
        attempt = {ATTEMPT: entry["attempt"]} if "attempt" in entry else {}
        for name, value in (entry["tags"] | attempt).items():
            try:
                self._tags |= stored_tags({name: value})
            except ValueError as error:
                self._unfit.append(({"tag": name, "value": value}, str(error)))
        for name, value in entry["cell"].items() if params else ():
            try:
                entity_name("the name of a cell's field", name)
                told = stored_text(f"cell value {name}", text(value), PARAM_LENGTH)
                self._params.append(Param(name, told))
            except ValueError as error:
                self._unfit.append(({"field": name, "value": value}, str(error)))

    def _clean(self) -> None:
        state, entries = self.record.since_resumed()
        if state is None:
            return
        client, run = self.store.client, self.store.client.get_run(self.sent.run_id)
        histories = {name: client.get_metric_history(run.info.run_id, name) for name in run.data.metrics}
        held = of_cell(histories)
        points = {name: _kept(history, state["steps"].get(name)) for name, history in held.items()}
        names = set(state["models"]) | {entry["model"] for entry in entries if "model" in entry}
        for entry in entries:
            for name, value in entry.get("metrics", {}).items():
                with contextlib.suppress(ValueError):  # it is set aside
                    step, number = _checked(name, value, entry.get("step"))
                    points.setdefault(name, {})[step] = number
        files = {*state["files"], *(path.name for path in self.record.files.iterdir())}
        found = {file.path for file in client.list_artifacts(run.info.run_id) if not file.is_dir}
        logged = {model.name: model for model in sorted(ready_models(run, client), key=_age)}
        own = all(_same(points[name].get(p.step, None), p.value) for name, history in held.items() for p in history)
        if own and found <= files and set(logged) <= names:
            return
        kept = [Metric(name, value, self._dated(step), step) for name, steps in points.items()
                for step, value in steps.items()]  # fmt: skip
        kept += [point for name in histories.keys() - held.keys() for point in histories[name]]
        clean = self._copy(run, kept, found & files, [logged[name].model_id for name in names & logged.keys()])
        for other in list(self.store.cells(f"tags.`{KEY}` = '{run.data.tags[KEY]}'")):
            if other.info.run_id != clean:
                self._retire(other, by=clean)
        self.run, self.sent.run_id, self.sent.earlier = self.store.run(clean), clean, []
        self.note()

    def _copy(self, run: Run, points: Sequence[Metric], files: Iterable[str], logged: Iterable[str]) -> str:
        client, tags = self.store.client, run.data.tags
        kept = {name: value for name, value in tags.items() if name not in (KEY, TAG)} | {SUPERSEDES: run.info.run_id}
        made = client.create_run(self.store.experiment_id, start_time=run.info.start_time, tags=kept).info.run_id
        client.log_batch(made, points, [Param(*param) for param in run.data.params.items()])
        with tempfile.TemporaryDirectory() as folder:
            for name in files:
                client.log_artifact(made, client.download_artifacts(run.info.run_id, name, folder))
        if run.inputs and run.inputs.dataset_inputs:
            client.log_inputs(made, datasets=run.inputs.dataset_inputs)
        for model in logged:
            client.log_outputs(made, models=[LoggedModelOutput(model, step=0)])
        client.set_tag(made, KEY, tags[KEY])
        return made

    def _dated(self, step: int) -> int:
        """The time stamp of a metric at a step (ms)."""
        return self.sent.start + min(max(step, 0), LATEST)


def _checked(name: str, value: Any, step: Any) -> tuple[int, float]:
    metric_name(name)
    return metric_step(step), storable(metric_value(name, value))


def _afresh(entry: Mapping[str, Any], following: Mapping[str, Any] | None) -> bool:
    return "attempt" in entry and not entry.get("joins") and following is not None and "resumed" not in following


def _goes_on(entry: Mapping[str, Any], following: Mapping[str, Any] | None, known: Run) -> bool:
    """Whether an attempt goes on in the run of the one before, because of a checkpoint or as a part of it."""
    joins = entry.get("joins") and known.data.tags.get(PARENT) == entry["tags"].get(PARENT)
    return bool(joins or following is not None and "resumed" in following)


def _kept(history: Iterable[Metric], last: Sequence[Any] | None) -> dict[int, float]:
    """By step, what a metric was up to a checkpoint; last: the step and value that it had then, None if it had none."""
    if last is None:
        return {}
    step, value = last
    return {at: point.value for at, point in newest(history).items() if at < step} | {step: storable(value)}


def _age(model: Any) -> int:
    return model.creation_timestamp


def _same(a: float | None, b: float) -> bool:
    return a is not None and (a == b or math.isnan(a) and math.isnan(b))


def header_tags(key: str, cell: Mapping[str, Any], tags: Mapping[str, str]) -> dict[str, str]:
    """The tags of a cell's run: its identity, its values exactly, and what the caller adds."""
    told = {name: clipped(storable_text(value), TAG_LENGTH) for name, value in tags.items()}
    return {KEY: key, CELL: json.dumps(cell, sort_keys=True), OUTCOME: "", **told}


def _send_model(record: Record, entry: Mapping[str, Any], run_id: str, store: Store) -> None:
    owner, name = entry["owner"], entry["model"]
    if owner == record.key:
        models.log_model(record.model_folder(name), name, run_id, store)
        return
    run = store.run_of(owner)
    model = newest_model(run, store.client, name) if run else None
    if model is None:
        raise LookupError(f"the model {name} that cell {record.key} shares with cell {owner} is not logged yet")
    models.link(model.model_id, run_id, store)


class Flusher:
    """A thread that sends the records of a pack, its checkpoint and the machine's load at intervals; failures are
    retried.

    seconds: processor time spent sending.
    """

    def __init__(self, store: Store, every: float = 15.0):
        self.store, self.every, self.seconds, self._machine = store, every, 0.0, Machine()
        self._began = self._sampled = 0.0
        self._begun: Callable[[], bool] = lambda: False
        self._records: list[Record] = []
        self._checkpoint: Checkpoint | None = None
        self._wake, self._lock = threading.Event(), threading.Lock()
        self._thread = threading.Thread(target=self._loop, daemon=True, name="infoscope-flush")
        self._thread.start()

    def follow(
        self,
        records: list[Record],
        checkpoint: Checkpoint | None = None,
        begun: Callable[[], bool] = lambda: False,
    ) -> None:
        """Replaces the records that are sent. begun: whether it is settled from what the attempt continues."""
        with self._lock:
            self._records, self._checkpoint, self._begun = records, checkpoint, begun
            self._began, self._sampled = time.monotonic(), -math.inf
        self._wake.set()  # so that they are soon seen to be running

    def drain(self, patience: float) -> dict[str, str]:
        """Sends everything now and forgets the records; key -> run id of those sent within `patience` seconds."""
        sent, deadline = {}, time.monotonic() + patience
        with self._lock:
            waiting, self._records, self._checkpoint = self._records, [], None
        while waiting:
            sent |= self._send(waiting, deadline)
            waiting = [record for record in waiting if record.key not in sent]
            if time.monotonic() > deadline:
                break
            if waiting:
                time.sleep(1.0)
        return sent

    def _loop(self) -> None:
        while True:
            if self._wake.wait(self.every):
                time.sleep(PAUSE_SECONDS)
            self._wake.clear()
            with self._lock:
                records, checkpoint = self._records, self._checkpoint
            try:
                self._sample(records)
                self._round(records, checkpoint)
            except Exception as error:  # a full disk, a server that is down: a later round tries again
                log.warning("no copy of the checkpoint in the store yet (%s)", first_line(error))

    def _sample(self, records: list[Record]) -> None:
        now, began = time.monotonic(), time.thread_time()
        if not (records and self._begun()) or now - self._sampled < RARER * (now - self._began):
            return
        self._sampled = now
        entry = {"system": self._machine.sample(), "time": milliseconds()}
        for record in records:
            with contextlib.suppress(OSError):  # its folder may be gone: it is sent and closed
                record.append(entry)
        with self._lock:
            self.seconds += time.thread_time() - began

    def _round(self, records: list[Record], checkpoint: Checkpoint | None) -> None:
        if checkpoint is None:
            self._send(records)
            return
        with checkpoint.due() as copy:
            sent = self._send(records)
            if copy and len(sent) == len(records) and all(sent.values()):  # the store has what was reported before it
                began = time.thread_time()
                for record in records:
                    _send_files(record, sent[record.key], self.store)
                checkpoint.put(copy, sent[checkpoint.record.key])
                with self._lock:
                    self.seconds += time.thread_time() - began

    def _send(self, records: list[Record], deadline: float = math.inf) -> dict[str, str]:
        """Key -> run id of those that were sent. After the deadline (s, monotonic) the first failure ends it."""
        sent, began = {}, time.thread_time()
        for record in records:
            try:
                if record.exists():
                    sent[record.key] = send(record, self.store)
            except Exception as error:  # the store may be down for a while; the record keeps everything
                log.warning("not sent yet: cell %s (%s)", record.key, first_line(error))
                if time.monotonic() > deadline and isinstance(error, MlflowException):
                    break
        with self._lock:
            self.seconds += time.thread_time() - began
        return sent
