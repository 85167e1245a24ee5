"""Trains one critic, or many members of one, on a stream of fresh pairs and records what they report.

As the benchmark (section 4 and its code): at every step a new batch, its estimate, and one step of Adam. A schedule of
sources runs through one critic whose weights and optimiser carry over.
"""

from __future__ import annotations

import copy
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from infoscope.checks import require_int, require_number
from infoscope.errors import Conflict, MissingValues, UnknownName, WrongLength, WrongShape, WrongType
from infoscope.estimators.neural.bounds import Bound, Objective, as_bound, split
from infoscope.estimators.neural.critics import Critic, generator_per_member
from infoscope.estimators.neural.precision import PRECISIONS, check_precision, products_in
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.notebook import InNotebook, axes
from infoscope.sources import KnownPairSource, PairSource

BoundOfMember = str | Bound | Sequence[str | Bound]


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


@dataclass(frozen=True, eq=False)
class Trace(InNotebook):
    """The reports of every member at every step, before that step's update, on that step's batch.

    reports  (member, bound name), one per row of `values`
    values   float64 [reports, steps], nats
    truth    float64 [steps], true mutual information of the pairs, nats; nan where it is not known
    """

    reports: tuple[tuple[int, str], ...]
    values: np.ndarray
    truth: np.ndarray

    def of(self, bound: str | Bound, member: int = 0) -> np.ndarray:
        """One report's estimates [steps], nats. ValueError if that member did not report that bound."""
        report = (member, as_bound(bound).name)
        if report not in self.reports:
            raise UnknownName(f"(member, bound) must be one of {list(self.reports)}, got {report}.")
        return self.values[self.reports.index(report)]

    @property
    def nonfinite(self) -> np.ndarray:
        """Number of steps whose estimate is infinite or nan, int64 [reports]."""
        return (~np.isfinite(self.values)).sum(axis=1)

    @property
    def table(self) -> pd.DataFrame:
        """A row for each report: its member, bound, mean over the last tenth of the steps, bits, and `nonfinite`."""
        found = pd.DataFrame(self.reports, columns=["member", "bound"])
        last = self.values[:, -self._span :].mean(axis=1) / NATS_PER_BIT
        return found.assign(**{"last tenth (bits)": last, "steps not finite": self.nonfinite})

    @property
    def _span(self) -> int:
        return math.ceil(0.1 * self.values.shape[1])  # share of the steps over which reports are averaged in plots

    def __str__(self) -> str:
        return f"Estimates of each batch in {self.values.shape[1]:,} steps"

    def plot(self, ax: Any = None) -> Any:
        """Draws every report by step, faint, its mean over a tenth of the steps, and the truth; the matplotlib axes."""
        ax, steps = axes(ax), np.arange(1, self.values.shape[1] + 1)
        for place, ((member, bound), values) in enumerate(zip(self.reports, self.values / NATS_PER_BIT)):
            name = bound if {one for one, _ in self.reports} == {member} else f"{bound}, member {member}"
            ax.plot(steps, values, color=f"C{place}", alpha=0.3, lw=0.5)
            ax.plot(steps, pd.Series(values).rolling(self._span, 1, center=True).mean(), f"C{place}", label=name)
        ax.plot(steps, self.truth / NATS_PER_BIT, color="black", lw=1, label="true information")
        ax.set(xlabel="step", ylabel="estimate of each batch (bits)")
        ax.legend()
        return ax


def fit_critic(
    source: PairSource | Sequence[PairSource],
    critic: Critic,
    bound: str | Bound | Sequence[BoundOfMember],
    steps: int | Sequence[int],
    *,
    batch: int = 64,
    learning_rate: float = 5e-4,
    generator: torch.Generator | Sequence[torch.Generator] | None = None,
    device: torch.device | str | None = None,
    precision: str = "float32",
    packed: bool | None = None,
) -> Trace:
    """Trains `critic` in place and returns every step's estimates; arguments as in `Training`."""
    training = Training(
        source, critic, bound, steps, batch=batch, learning_rate=learning_rate, generator=generator, device=device,
        precision=precision, packed=packed,
    )  # fmt: skip
    training.advance(training.total)
    return training.trace


class Training:
    """A training that can be advanced in pieces, saved, and continued to bit-identical numbers on the same machine.

    source         pairs to measure: one, or a schedule of them, run in order
    critic         trained in place
    bound          a name or Bound for all members, or one entry each; a tuple of bounds shares one objective
    steps          a whole number, or one for each source of a schedule
    batch          pairs per step, at least 2
    generator      one torch.Generator (None: seed 0), or one per member; members given the same object share batches
    device         where to compute; None: where the critic is. The critic is moved there
    precision      float32, or bf16: products of numbers rounded to bfloat16 (`neural.precision`)
    packed         True: all members in one batched computation; False: one by one; None: packed on CUDA only

    Non-finite estimates are recorded and non-finite gradients applied. ValueError: unknown bound, bounds that do not
    share an objective, sequences of unequal length, dimensions other than the critic's, a number out of range, bf16 on
    a device without such products.
    """

    def __init__(
        self,
        source: PairSource | Sequence[PairSource],
        critic: Critic,
        bound: str | Bound | Sequence[BoundOfMember],
        steps: int | Sequence[int],
        *,
        batch: int = 64,
        learning_rate: float = 5e-4,
        generator: torch.Generator | Sequence[torch.Generator] | None = None,
        device: torch.device | str | None = None,
        precision: str = "float32",
        packed: bool | None = None,
    ) -> None:
        check_critic(critic)
        require_number("learning_rate", learning_rate, ends=False)
        self._sources, lengths = schedule(source, steps, critic)
        self._ends = list(accumulate(lengths))
        self._batch = require_int("batch", batch, 2)
        bounds = _bounds_per_member(bound, critic.members)
        self._objectives = [group[0].objective.name for group in bounds]
        if critic.second is None and any(group[0].objective.second for group in bounds):
            raise WrongType("critic must be made with second=True for flo, got one without.")
        generators = generator_per_member(generator, critic.members)

        self.device = critic.device if device is None else torch.device(device)
        self._precision = check_precision(precision, self.device, critic.dtype)
        self.critic = critic.to(self.device)
        if self.device.type == "cpu":
            torch.empty(31 << 20, dtype=torch.uint8)  # glibc then keeps 62 MiB of freed memory: saves 3 ms a step
        self.packed = self.device.type == "cuda" if packed is None else packed
        self._streams = list(dict.fromkeys(generators))  # equal only to themselves
        self._stream_of = [self._streams.index(g) for g in generators]
        members = range(critic.members)
        groups = [members] if self.packed else [[k] for k in members]
        self._groups = [
            MemberGroup(
                critic if self.packed else critic.share(group[0]), [bounds[k] for k in group], group, learning_rate
            )
            for group in groups
        ]
        recorded = [report for group in self._groups for report in group.reports]
        self._reports = [(k, b.name) for k in members for b in bounds[k]]
        self._columns = [recorded.index(report) for report in self._reports]
        # On the device, so that no step waits for the host.
        shape = (self.total, len(recorded))
        self._values = torch.full(shape, math.nan, dtype=torch.float64, device=self.device)
        known = (one.mutual_information if isinstance(one, KnownPairSource) else math.nan for one in self._sources)
        self._truth = np.repeat(np.array([*known], np.float64), lengths)
        self._done = 0

    @property
    def done(self) -> int:
        """Steps made so far."""
        return self._done

    @property
    def total(self) -> int:
        """Steps of the whole schedule."""
        return self._ends[-1]

    @property
    def trace(self) -> Trace:
        """The record of the steps made so far."""
        values = self._values[: self._done, self._columns].T.contiguous().cpu().numpy().copy()
        return Trace(tuple(self._reports), values, self._truth[: self._done].copy())

    def advance(self, steps: int) -> None:
        """Makes up to `steps` further steps, at least 1, and stops at the end of the schedule."""
        for step in range(self._done, min(self.total, self._done + require_int("steps", steps, 1))):
            source = self._sources[bisect_right(self._ends, step)]
            batches = [draw(source, self._batch, stream, self.critic, self.device) for stream in self._streams]
            with products_in(self._precision):
                found = [group.step(*self._pairs_of(group, batches)) for group in self._groups]
            self._values[step] = torch.cat(found)
            self._done = step + 1
        self._record_objectives()

    def state_dict(self) -> dict:
        """A snapshot in tensors and plain values (torch.load(weights_only=True) reads it back)."""
        return copy.deepcopy(
            {
                "reports": [list(report) for report in self._reports],
                "packed": self.packed,
                "precision": self._precision,
                "total": self.total,
                "done": self._done,
                "values": self._values[: self._done].cpu().clone(),  # not the storage of the whole schedule
                "critic": dict(self.critic.state_dict()),
                "lanes": [group.state_dict() for group in self._groups],
                "generators": [stream.get_state() for stream in self._streams],
            }
        )

    def load_state_dict(self, state: dict) -> None:
        """Continues from a snapshot of a Training with the same arguments. ValueError if it is of another."""
        own = {
            "reports": [list(report) for report in self._reports],
            "packed": self.packed,
            "precision": self._precision,
            "total": self.total,
            "streams": len(self._streams),
        }
        given = {"precision": PRECISIONS[0]} | {name: state[name] for name in own.keys() & state.keys()}
        given["streams"] = len(state["generators"])
        if given != own:
            raise Conflict(f"state must be of a training with {own}, got one with {given}.")
        self.critic.load_state_dict(state["critic"])
        for group, group_state in zip(self._groups, state["lanes"], strict=True):
            group.load_state_dict(group_state)
        for stream, generator_state in zip(self._streams, state["generators"]):
            stream.set_state(generator_state.cpu())
        self._done = state["done"]
        self._values[: self._done] = state["values"].to(self.device)
        self._record_objectives()

    def _record_objectives(self) -> None:
        """Records in the critic the objectives it was trained under; a critic without parameters is not trained."""
        if self._done and any(True for _ in self.critic.parameters()):
            self.critic.trained_under(self._objectives)

    def _pairs_of(self, group: MemberGroup, batches: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
        streams = [self._stream_of[k] for k in group.members]
        if len(set(streams)) == 1:
            return batches[streams[0]]
        x, y = zip(*(batches[stream] for stream in streams))
        return torch.stack(x), torch.stack(y)


def draw(
    source: PairSource, n: int, generator: torch.Generator, critic: Critic, device: torch.device
) -> tuple[Tensor, Tensor]:
    """n pairs of the source, in the critic's type."""
    x, y = source.sample(n, generator, device=device)
    dtype = critic.dtype or x.dtype
    return x.to(dtype), y.to(dtype)


def check_source(source: PairSource, critic: Critic) -> None:
    """ValueError unless the source is one whose pairs the critic can score."""
    if not isinstance(source, PairSource):
        raise WrongType(f"source must have sample, dim_x and dim_y, got {type(source).__name__}.")
    dims, expected = (source.dim_x, source.dim_y), (critic.config["dim_x"], critic.config["dim_y"])
    if dims != expected:
        raise WrongShape(f"source must have dimensions (dim_x, dim_y) = {expected} for this critic, got {dims}.")


def check_critic(critic: Critic) -> None:
    """ValueError unless it is a Critic."""
    if not isinstance(critic, Critic):
        raise WrongType(f"critic must be a Critic (see make_critic), got {type(critic).__name__}.")


def schedule(
    source: PairSource | Sequence[PairSource], steps: int | Sequence[int], critic: Critic
) -> tuple[list[PairSource], list[int]]:
    """The sources and their numbers of steps, checked against each other and against the critic."""
    if isinstance(source, Sequence) != isinstance(steps, Sequence):
        raise WrongLength("source and steps must be one source and a number, or two sequences of equal length.")
    sources = list(source) if isinstance(source, Sequence) else [source]
    lengths = [require_int("steps", n, 1) for n in (steps if isinstance(steps, Sequence) else [steps])]
    if len(sources) != len(lengths) or not sources:
        raise WrongLength(f"steps must have one entry for each of {len(sources)} sources, got {len(lengths)}.")
    for one in sources:
        check_source(one, critic)
        if isinstance(one, KnownPairSource) and not math.isfinite(one.mutual_information):
            raise MissingValues(f"source must have a finite mutual_information, got {one.mutual_information}.")
    return sources, lengths


def _bounds_per_member(bound: str | Bound | Sequence[BoundOfMember], members: int) -> list[tuple[Bound, ...]]:
    """The bounds of every member, each group sharing one objective."""
    if isinstance(bound, (str, Bound)):
        return [(as_bound(bound),)] * members
    groups = [(g,) if isinstance(g, (str, Bound)) else tuple(g) for g in bound]
    if len(groups) != members:
        raise WrongLength(f"bound must be one bound or one entry for each of {members} members, got {len(groups)}.")
    result = []
    for group in groups:
        bounds = tuple(as_bound(b) for b in group)
        names = [b.name for b in bounds]
        if len({b.objective for b in bounds}) != 1 or len(set(names)) != len(names):
            raise Conflict(f"bound must group different bounds of one objective (see share_training), got {names}.")
        result.append(bounds)
    return result
