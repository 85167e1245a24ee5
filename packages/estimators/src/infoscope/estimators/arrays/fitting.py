"""How the methods' networks are trained: AdamW, and the weights of the epoch that did best on the rows that stop it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from infoscope.checks import require_int
from infoscope.errors import OutOfRange
from infoscope.estimators.threads import threads_for


@dataclass(frozen=True)
class Schedule:
    """Settings of a training; patience is how many epochs without progress on the rows set aside end it."""

    learning_rate: float = 5e-3
    batch: int = 256
    epochs: int = 60
    patience: int = 6
    weight_decay: float = 1e-2

    def __post_init__(self) -> None:
        for setting in ("batch", "epochs", "patience"):
            require_int(setting, getattr(self, setting), 1)
        if not self.learning_rate > 0.0:
            raise OutOfRange(f"learning_rate must be positive, got {self.learning_rate!r}.")
        if not self.weight_decay >= 0.0:
            raise OutOfRange(f"weight_decay must be at least 0, got {self.weight_decay!r}.")

    def fit(
        self,
        network: nn.Module,
        loss: Callable[[Tensor], Tensor],
        training: Tensor,
        stopping: Tensor,
        generator: torch.Generator,
        check: Callable[[Tensor], Tensor] | None = None,
    ) -> float:
        """Trains in place, keeps the weights that did best on `stopping` (start included) and returns the least mean
        there.

        `loss` maps rows (indices) to losses [m]; `check` is what is averaged over `stopping`, None: the loss.
        ValueError where none was finite.
        """
        check = loss if check is None else check
        trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
        optimiser = torch.optim.AdamW(trained, lr=self.learning_rate, weight_decay=self.weight_decay, fused=True)
        with threads_for(self.batch * sum(parameter.numel() for parameter in trained)):
            best, since = averaged(check, stopping), 0
            best = best if np.isfinite(best) else float("inf")
            kept = copy.deepcopy(network.state_dict())
            for _ in range(self.epochs):
                for rows in training[torch.randperm(len(training), generator=generator)].split(self.batch):
                    optimiser.zero_grad()
                    loss(rows).mean().backward()
                    optimiser.step()
                value, since = averaged(check, stopping), since + 1
                if value < best:
                    best, kept, since = value, copy.deepcopy(network.state_dict()), 0
                if since >= self.patience:
                    break
        if not np.isfinite(best):
            raise OutOfRange("learning_rate must be low enough for a finite loss, got one that never was.")
        network.load_state_dict(kept)
        return best


def averaged(loss: Callable[[Tensor], Tensor], rows: Tensor) -> float:
    """The mean loss over rows, without gradients."""
    return float(evaluated(loss, rows).mean())


def evaluated(values: Callable[[Tensor], Tensor], rows: Tensor, at_once: int = 4096) -> Tensor:
    """values(rows) float64 [m] of many rows, some at a time, without gradients."""
    with torch.no_grad():
        return torch.cat([values(some).double() for some in rows.split(at_once)])
