"""Trains one critic, or many members of one, on a stream of fresh pairs and records what they report.

As the benchmark (section 4 and its code): at every step a new batch, its estimate, and one step of Adam. A schedule of
sources runs through one critic whose weights and optimiser carry over.
"""

from __future__ import annotations

import copy
import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from torch import Tensor

from infoscope.checks import require_int
from infoscope.errors import Conflict, MissingValues, OutOfRange, UnknownName, WrongLength, WrongShape, WrongType
from infoscope.estimators.neural.bounds import Bound, as_bound
from infoscope.estimators.neural.critics import Critic, generator_per_member
from infoscope.estimators.neural.member_groups import MemberGroup
from infoscope.sources import KnownPairSource, PairSource

BoundOfMember = str | Bound | Sequence[str | Bound]


@dataclass(frozen=True, eq=False)
class Trace:
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


def fit_critic(
    source: PairSource | Sequence[PairSource],
    critic: Critic,
    bound: str | Bound | Sequence[BoundOfMember],
    steps: int | Sequence[int],
    *,
    progress: Callable[[Training], None] | None = None,
    **settings: Any,
) -> Trace:
    """Trains `critic` in place and returns every step's estimates; arguments as in `Training`.

    `progress` is called with the running Training after every hundredth of the steps.
    """
    training = Training(source, critic, bound, steps, **settings)
    while training.done < training.total:
        training.advance(math.ceil(training.total / 100))
        if progress is not None:
            progress(training)
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
    packed         True: all members in one batched computation; False: one by one; None: packed on CUDA only

    Non-finite estimates are recorded and non-finite gradients applied. ValueError: unknown bound, bounds that do not
    share an objective, sequences of unequal length, dimensions other than the critic's, a number out of range.
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
        packed: bool | None = None,
    ) -> None:
        check_critic(critic)
        if not (isinstance(learning_rate, (int, float)) and 0 < learning_rate < math.inf):
            raise OutOfRange(f"learning_rate must be a positive number, got {learning_rate!r}.")
        self._sources, lengths = schedule(source, steps, critic)
        self._ends = list(accumulate(lengths))
        self._batch = require_int("batch", batch, 2)
        bounds = _bounds_per_member(bound, critic.members)
        self._objectives = [group[0].objective.name for group in bounds]
        if critic.second is None and any(group[0].objective.second for group in bounds):
            raise WrongType("critic must be made with second=True for flo, got one without.")
        generators = generator_per_member(generator, critic.members)

        self.critic = critic if device is None else critic.to(device)
        self.device = critic.device if device is None else torch.device(device)
        if self.device.type == "cpu":
            _keep_freed_memory()
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
        self._truth = np.repeat([truth_of(source) for source in self._sources], lengths)
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
            self._values[step] = torch.cat([group.step(*self._pairs_of(group, batches)) for group in self._groups])
            self._done = step + 1
        self._record_objectives()

    def state_dict(self) -> dict:
        """A snapshot in tensors and plain values (torch.load(weights_only=True) reads it back)."""
        return copy.deepcopy(
            {
                "reports": [list(report) for report in self._reports],
                "packed": self.packed,
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
            "total": self.total,
            "streams": len(self._streams),
        }
        given = {**{name: state[name] for name in ("reports", "packed", "total")}, "streams": len(state["generators"])}
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
        """Notes with the critic under which objective it was trained; a critic without parameters is not trained."""
        if self._done and any(True for _ in self.critic.parameters()):
            self.critic.trained_under(self._objectives)

    def _pairs_of(self, group: MemberGroup, batches: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
        streams = [self._stream_of[k] for k in group.members]
        if len(set(streams)) == 1:
            return batches[streams[0]]
        x, y = zip(*(batches[stream] for stream in streams))
        return torch.stack(x), torch.stack(y)


def _keep_freed_memory() -> None:
    """Lets glibc keep up to 62 MiB of freed memory for the next step (saves up to 3 ms a step)."""
    torch.empty(31 << 20, dtype=torch.uint8)


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


def truth_of(source: PairSource) -> float:
    """The mutual information of a pair, nats; nan where it is not known."""
    return float(source.mutual_information) if isinstance(source, KnownPairSource) else math.nan


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
