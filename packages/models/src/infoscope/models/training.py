"""Trainings that are advanced in pieces, saved, and continued to bit-identical weights on the same machine."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from infoscope.checks import require_int
from infoscope.errors import Conflict, OutOfRange


class Training:
    """`total` steps, `per_epoch` of them in each pass over the items; `done` of them so far.

    trace     name of a loss -> its means (nats per item) over the steps of each `advance`, which are named by "step"
    settings  by which a state is told from those of other trainings
    parts     name -> what has a state: modules, optimisers
    """

    def __init__(
        self, total: int, per_epoch: int, generator: torch.Generator, settings: dict[str, Any], parts: dict[str, Any]
    ) -> None:
        self.total, self.per_epoch, self.done = total, per_epoch, 0
        self.trace: dict[str, list[float]] = {}
        self._generator, self._settings, self._parts = generator, settings, parts
        self._seed, self._batches = 0, []

    def advance(self, steps: int) -> dict[str, float]:
        """Trains for at most `steps` more: their mean losses by name. ValueError when none are left."""
        steps = min(require_int("steps", steps), self.total - self.done)
        if steps == 0:
            raise OutOfRange(f"steps must be more than the {self.done} done, got {self.total}.")
        sums: dict[str, Any] = {}
        for _ in range(steps):
            if self.done % self.per_epoch == 0:
                self._seed = int(torch.randint(2**62, (), generator=self._generator))
                self._batches = self._epoch()
            losses = self._step(self._batches[self.done % self.per_epoch])
            self.done += 1
            sums = {name: sums.get(name, 0.0) + loss.detach() for name, loss in losses.items()}
        means = {name: value.item() / steps for name, value in sums.items()}
        for name, value in {"step": self.done, **means}.items():
            self.trace.setdefault(name, []).append(value)
        return means

    def check(self) -> None:
        """Raises FloatingPointError when the last mean losses are not finite, and says which."""
        last = {name: values[-1] for name, values in self.trace.items()}
        if not all(map(math.isfinite, last.values())):
            told = ", ".join(f"{name} {value:g}" for name, value in last.items() if name != "step")
            raise FloatingPointError(f"the training diverged by step {self.done}: {told} (nats per item).")

    def state_dict(self) -> dict[str, Any]:
        """All that a training needs to go on, copied: tensors and plain values, for `torch.save`."""
        state = {"settings": self._settings, "done": self.done, "trace": self.trace, "order": self._seed}
        parts = {name: part.state_dict() for name, part in self._parts.items()}
        return copy.deepcopy(state | parts | {"generator": self._generator.get_state()})

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues from a state of a training of as many steps or fewer. ValueError for other settings."""
        other = state["settings"]
        for name in self._settings | other:
            if self._settings.get(name) != other.get(name):
                raise Conflict(
                    f"state must be of a training with {name} {self._settings.get(name)!r}, got {other.get(name)!r}."
                )
        if state["done"] > self.total:
            raise OutOfRange(f"steps must be at least the {state['done']} done, got {self.total}.")
        self.done, self._seed, self.trace = state["done"], state["order"], copy.deepcopy(state["trace"])
        for name, part in self._parts.items():
            part.load_state_dict(state[name])
        self._generator.set_state(state["generator"].cpu())
        self._batches = self._epoch()

    def _epoch(self) -> Sequence[Tensor]:
        """The items of every step of this epoch. They follow from `_seed`, so that a state need not hold them."""
        raise NotImplementedError

    def _step(self, rows: Tensor) -> dict[str, Tensor]:
        """Trains on these items, as step `done` counted from 0: losses, scalars."""
        raise NotImplementedError
