"""Checks the guarantees of the record, from what trials reported and what the tracking store held.

LOSSES lists the guarantees of README.md, docs/running.md, docs/clusters.md and docs/mlflow.md by the word under which
breaches are counted. Nothing here depends on how the recording works.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from infra.drill.sweep import ATTEMPT, CURVE

LOSSES = {
    "lost": "every cell of the plan is counted by `runs(...)`",
    "doubled": "every cell is counted once, nothing else is counted, and one run in the store holds it",
    "unreported": "each number of a cell is what one attempt reported at this step, to the last digit",
    "mixed": "its numbers are those of one attempt, and before it those of the attempt whose checkpoint it continued",
    "missing": "no step is missing",
    "duplicated": "no step is stored twice",
    "wrong": "the estimates are those of an uninterrupted training",
    "disappeared": "a cell that was observed complete stays complete",
    "changed": "its numbers stay the same: of two attempts the first complete one is counted",
    "open": "no run of the sweep is left open",
    "incomplete": "tables and models are complete, and every model in the store is READY",
    "unsent": "no record is left behind after `make sweep-sync`",
}
Numbers = Mapping[str, Sequence[Sequence[float]]]  # by metric, step and value of every stored point, in order


@dataclass
class History:
    """What is known of a round.

    truth    the estimates of an uninterrupted training, by key of the plan
    ledger   what the trials have noted
    seen     observations in order: the numbers of the counted runs by key; the last one after the round
    counted  keys of the counted runs after the round; stored: of all runs in the store
    open, incomplete, unsent  names of such runs and files after the round
    """

    truth: Mapping[str, Sequence[float]]
    ledger: Sequence[Mapping[str, Any]]
    seen: Sequence[Mapping[str, Numbers]]
    counted: Sequence[str]
    stored: Sequence[str]
    open: Sequence[str] = ()
    incomplete: Sequence[str] = ()
    unsent: Sequence[str] = ()
    _reported: dict[tuple[str, int], set[tuple[int, float]]] = field(init=False)
    _begun: dict[tuple[str, int], tuple[int | None, int]] = field(init=False)

    def __post_init__(self) -> None:
        self._reported, self._begun = defaultdict(set), {}
        for entry in self.ledger:
            if entry["op"] == "begin":
                self._begun[entry["key"], entry["attempt"]] = entry["origin"], entry["step"]
            else:
                self._reported[entry["key"], entry["step"]].add((entry["attempt"], entry["value"]))

    def breaches(self) -> dict[str, dict[str, str]]:
        """For each guarantee of LOSSES, the cells, runs or files that break it, and why."""
        found: dict[str, dict[str, str]] = {name: {} for name in LOSSES}
        found["lost"] = {key: "not counted" for key in self.truth if key not in self.counted}
        for keys, where in ((self.counted, "counted"), (self.stored, "in the store")):
            for key, count in Counter(keys).items():
                if count > 1 or key not in self.truth:
                    found["doubled"][key] = f"{where} {count} times, {int(key in self.truth)} expected"
        for name in ("open", "incomplete", "unsent"):
            found[name] = {one: "at the end" for one in getattr(self, name)}
        before: dict[str, Numbers] = {}
        for number, now in enumerate(self.seen):
            for key in before.keys() - now.keys():
                found["disappeared"].setdefault(key, f"in observation {number}")
            for key, numbers in now.items():
                if key in before and before[key] != numbers:
                    found["changed"].setdefault(key, f"in observation {number}")
                if key in self.truth and before.get(key) != numbers:
                    for name, why in self._wrong_numbers(key, numbers):
                        found[name].setdefault(key, f"{why}, in observation {number}")
            before |= now
        return found

    def _wrong_numbers(self, key: str, numbers: Numbers) -> Iterator[tuple[str, str]]:
        truth = self.truth[key]
        for name in (CURVE, ATTEMPT):
            steps = [step for step, _ in numbers.get(name, ())]
            if absent := set(range(len(truth))) - set(steps):
                yield "missing", f"{len(absent)} steps of {name}, {min(absent)} the first"
            if again := [step for step, count in Counter(steps).items() if count > 1]:
                yield "duplicated", f"{len(again)} steps of {name}, {again[0]} the first"
        for name in numbers.keys() - {CURVE, ATTEMPT}:
            yield "unreported", f"the metric {name}"
        attempts = {int(step): int(value) for step, value in numbers.get(ATTEMPT, ())}
        for step, value in numbers.get(CURVE, ()):
            if (attempts.get(step), value) not in self._reported[key, step]:
                yield "unreported", f"{value} at step {step} by attempt {attempts.get(step)}"
            if step >= len(truth) or value != truth[step]:
                yield "wrong", f"{value} at step {step}"
        if attempts and attempts != self._lineage(key, attempts[max(attempts)]):
            yield "mixed", f"attempts {list(dict.fromkeys(attempts.values()))}"

    def _lineage(self, key: str, attempt: int | None) -> dict[int, int]:
        """The attempt that reported each step: this one, or before its first step the one that it continued."""
        if (key, attempt) not in self._begun:
            return {}
        origin, first = self._begun[key, attempt]
        earlier = {step: one for step, one in self._lineage(key, origin).items() if step < first}
        steps = {step for (cell, step), values in self._reported.items() if cell == key and attempt in dict(values)}
        return earlier | dict.fromkeys(sorted(steps), attempt)
