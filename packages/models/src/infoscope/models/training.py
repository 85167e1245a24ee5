"""Trainings that can be interrupted, saved and continued to bit-identical weights on
the same machine.
"""

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
    """A training of `total` steps, `per_epoch` in each pass over the items; `done` so
    far.

    trace     loss -> its means (nats per item) over the steps of each `advance`; "step" -> the last step of each
    settings  identify the training of a saved state
    parts     name -> object with a state: modules, optimisers
    """

    def __init__(
        self,
        total: int,
        per_epoch: int,
        generator: torch.Generator,
        settings: dict[str, Any],
        parts: dict[str, Any],
    ) -> None:
        self.total = total
        self.per_epoch = per_epoch
        self.done = 0
        self.trace: dict[str, list[float]] = {}
        self._generator = generator
        self._settings = settings
        self._parts = parts
        self._seed = 0  # of the order of this epoch
        self._batches: Sequence[Tensor] = []

    def advance(self, steps: int) -> dict[str, float]:
        """Trains for at most `steps` more steps; their mean losses by name. ValueError
        when none are left.
        """
        steps = min(require_int("steps", steps), self.total - self.done)
        if steps == 0:
            raise OutOfRange(
                f"steps must be more than the {self.done} already done, got "
                f"{self.total}."
            )
        sums: dict[str, Any] = {}
        for _ in range(steps):
            if self.done % self.per_epoch == 0:
                self._seed = int(torch.randint(2**62, (), generator=self._generator))
                self._batches = self._epoch()
            rows = self._batches[self.done % self.per_epoch]
            losses = self._step(rows)
            self.done += 1
            for name, loss in losses.items():
                sums[name] = sums.get(name, 0.0) + loss.detach()
        means = {name: total.item() / steps for name, total in sums.items()}
        self.trace.setdefault("step", []).append(self.done)
        for name, mean in means.items():
            self.trace.setdefault(name, []).append(mean)
        return means

    def check(self) -> None:
        """Raises FloatingPointError when a last mean loss is not finite."""
        last_losses = {
            name: values[-1] for name, values in self.trace.items() if name != "step"
        }
        if not all(map(math.isfinite, last_losses.values())):
            losses = ", ".join(f"{name} {loss:g}" for name, loss in last_losses.items())
            raise FloatingPointError(
                f"the training diverged by step {self.done}: {losses} (nats per item)."
            )

    def state_dict(self) -> dict[str, Any]:
        """A copy of the state for continuing the training: tensors and plain values,
        for `torch.save`.
        """
        state = {
            "settings": self._settings,
            "done": self.done,
            "trace": self.trace,
            "order": self._seed,
        }
        for name, part in self._parts.items():
            state[name] = part.state_dict()
        state["generator"] = self._generator.get_state()
        return copy.deepcopy(state)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues from a state with at most `total` steps done. ValueError for other
        settings.
        """
        saved_settings = state["settings"]
        for name in self._settings | saved_settings:
            present = self._settings.get(name)
            saved = saved_settings.get(name)
            if saved != present:
                raise Conflict(
                    f"state must be of a training with {name} {present!r}, got "
                    f"{saved!r}."
                )
        if state["done"] > self.total:
            raise OutOfRange(
                f"steps must be at least the {state['done']} already done, got "
                f"{self.total}."
            )
        self.done = state["done"]
        self._seed = state["order"]
        self.trace = copy.deepcopy(state["trace"])
        for name, part in self._parts.items():
            part.load_state_dict(state[name])
        self._generator.set_state(state["generator"].cpu())
        self._batches = self._epoch()

    def _epoch(self) -> Sequence[Tensor]:
        """The items of every step of this epoch, determined by `_seed`, so that a state
        does not contain them.
        """
        raise NotImplementedError

    def _step(self, rows: Tensor) -> dict[str, Tensor]:
        """Trains on these items in step `done`, counted from 0; its losses, scalars."""
        raise NotImplementedError
