"""Members of a critic that are computed and updated together: all on a GPU, one by one on a CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from infoscope.estimators.neural.bounds import Bound, Objective, split
from infoscope.estimators.neural.critics import Critic


@dataclass
class ObjectiveGroup:
    """Members of a group that climb the same objective, and the bounds they report."""

    objective: Objective
    members: Tensor | None  # positions in the group; None when they are all of it
    reports: list[tuple[Bound, Tensor | None]]  # with the positions in `members` that report it, None when all do
    memory: Tensor | None = None  # the objective's state, known from the first batch on

    def step(self, scores: Tensor, second: Tensor | None) -> tuple[Tensor, list[Tensor]]:
        """The objective and reports of scores [members, n, n] and second scores [members, n]."""
        if self.objective.second is None:
            second = None
        own = (scores, second)
        if self.members is not None:
            own = (scores[self.members], None if second is None else second[self.members])
        pieces = split(*own)
        if self.memory is None:
            self.memory = self.objective.start(pieces.matrix)
        value, self.memory = self.objective(pieces, self.memory)
        with torch.no_grad():
            reported = [
                estimate if own is None else estimate[own]
                for estimate, own in ((bound.estimate(pieces), own) for bound, own in self.reports)
            ]
        return value, reported


class MemberGroup:
    """One critic, its optimiser, and the `bounds` of its members; `members[k]` is the number member k reports under."""

    def __init__(
        self, critic: Critic, bounds: Sequence[tuple[Bound, ...]], members: Sequence[int], learning_rate: float
    ) -> None:
        self.critic = critic
        self.members = tuple(members)
        parameters = list(critic.parameters())
        self.optimiser = torch.optim.Adam(parameters, lr=learning_rate, fused=True) if parameters else None
        self.objectives: list[ObjectiveGroup] = []
        self.reports: list[tuple[int, str]] = []  # in the order in which `step` returns them
        for objective in dict.fromkeys(own[0].objective for own in bounds):
            self._add(objective, bounds)
        self.needs_second = any(group.objective.second for group in self.objectives)

    def _add(self, objective: Objective, bounds: Sequence[tuple[Bound, ...]]) -> None:
        own = [k for k, group in enumerate(bounds) if group[0].objective == objective]
        reports = []
        for bound in dict.fromkeys(bound for k in own for bound in bounds[k]):
            positions = [i for i, k in enumerate(own) if bound in bounds[k]]
            reports.append((bound, self._positions(positions, len(own))))
            self.reports += [(self.members[own[i]], bound.name) for i in positions]
        self.objectives.append(ObjectiveGroup(objective, self._positions(own, len(bounds)), reports))

    def _positions(self, chosen: list[int], of: int) -> Tensor | None:
        return None if len(chosen) == of else torch.tensor(chosen, device=self.critic.device)

    def step(self, x: Tensor, y: Tensor) -> Tensor:
        """Reports on the pairs x, y [n, d] or [members, n, d], then one step of Adam: nats [reports]."""
        scores = self.critic(x, y)
        second = self.critic.second_scores(x, y) if self.needs_second else None
        if scores.dim() == 2:
            scores, second = scores.unsqueeze(0), None if second is None else second.reshape(1, -1)
        values, reported = [], []
        for group in self.objectives:
            value, estimates = group.step(scores, second)
            values.append(value.sum())
            reported += estimates
        if self.optimiser is not None:
            # Members share no parameter, so the gradient of the sum is each one's own, finite or not.
            (-torch.stack(values).sum()).backward()
            self.optimiser.step()
            self.optimiser.zero_grad(set_to_none=True)
        return torch.cat(reported).detach()  # a report that is a piece of the objective has its gradient

    def state_dict(self) -> dict:
        """Everything but the weights, as tensors and plain values."""
        return {
            "optimiser": None if self.optimiser is None else self.optimiser.state_dict(),
            "memory": [group.memory for group in self.objectives],
        }

    def load_state_dict(self, state: dict) -> None:
        if self.optimiser is not None:
            self.optimiser.load_state_dict(state["optimiser"])
        for group, memory in zip(self.objectives, state["memory"], strict=True):
            group.memory = None if memory is None else memory.to(self.critic.device, copy=True)
