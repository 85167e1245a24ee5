"""Trains one critic, or many members of one, on a stream of fresh pairs, and records
their estimates.

As in the benchmark (section 4 and its code), each step has a new batch, its estimate,
and one step of Adam. In a schedule of sources the critic and its optimiser continue from
one source to the next.
"""

from __future__ import annotations

import copy
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Generator, Tensor

from infoscope.checks import require_int, require_number
from infoscope.errors import (
    Conflict,
    MissingValues,
    UnknownName,
    WrongLength,
    WrongShape,
    WrongType,
)
from infoscope.estimators.neural.bounds import Bound, Objective, as_bound, split
from infoscope.estimators.neural.critics import Critic, generator_per_member
from infoscope.estimators.neural.precision import (
    PRECISIONS,
    check_precision,
    products_in,
)
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.notebook import InNotebook, axes
from infoscope.sources import KnownPairSource, PairSource

BoundOfMember = str | Bound | Sequence[str | Bound]


@dataclass
class ObjectiveGroup:
    """Members of a group with the same objective, and the bounds that they report."""

    objective: Objective
    members: Tensor | None  # positions in the group; None when they are all of it
    # with the positions in `members` that report it, None when all do
    reports: list[tuple[Bound, Tensor | None]]
    memory: Tensor | None = None  # the objective's state; None before the first batch

    def step(
        self, scores: Tensor, second: Tensor | None
    ) -> tuple[Tensor, list[Tensor]]:
        """The objective and reports of scores [members, n, n], [members, n]."""
        if self.objective.second is None:
            second = None
        if self.members is not None:
            scores = scores[self.members]
            if second is not None:
                second = second[self.members]
        pieces = split(scores, second)
        if self.memory is None:
            self.memory = self.objective.start(pieces.matrix)
        value, self.memory = self.objective(pieces, self.memory)
        reported = []
        with torch.no_grad():
            for bound, positions in self.reports:
                estimate = bound.estimate(pieces)
                if positions is not None:
                    estimate = estimate[positions]
                reported.append(estimate)
        return value, reported


class MemberGroup:
    """One critic, its optimiser, and the bounds of its members.

    Member k of the critic reports under the number `members[k]`.
    """

    def __init__(
        self,
        critic: Critic,
        bounds: Sequence[tuple[Bound, ...]],
        members: Sequence[int],
        learning_rate: float,
    ) -> None:
        self.critic = critic
        self.members = tuple(members)
        parameters = list(critic.parameters())
        self.optimiser = (
            torch.optim.Adam(parameters, lr=learning_rate, fused=True)
            if parameters
            else None
        )
        self.objectives: list[ObjectiveGroup] = []
        # in the order in which `step` returns them
        self.reports: list[tuple[int, str]] = []
        objectives = dict.fromkeys(of_member[0].objective for of_member in bounds)
        for objective in objectives:
            self._add(objective, bounds)
        self.needs_second = any(objective.second for objective in objectives)

    def _add(self, objective: Objective, bounds: Sequence[tuple[Bound, ...]]) -> None:
        """Adds the members with an objective, and the bounds that they report."""
        members: list[int] = []
        reporting: dict[Bound, list[int]] = {}  # positions in `members`
        for k, of_member in enumerate(bounds):
            if of_member[0].objective != objective:
                continue
            for bound in of_member:
                reporting.setdefault(bound, []).append(len(members))
            members.append(k)
        reports = []
        for bound, positions in reporting.items():
            reports.append((bound, self._positions(positions, len(members))))
            for position in positions:
                self.reports.append((self.members[members[position]], bound.name))
        selected = self._positions(members, len(bounds))
        self.objectives.append(ObjectiveGroup(objective, selected, reports))

    def _positions(self, positions: list[int], count: int) -> Tensor | None:
        """The positions as a tensor; None when they are all of `count`."""
        if len(positions) == count:
            return None
        return torch.tensor(positions, device=self.critic.device)

    def step(self, x: Tensor, y: Tensor) -> Tensor:
        """Reports [reports] on pairs x, y, nats; then the critic makes a step of Adam.

        x and y are [n, d] or [members, n, d].
        """
        scores = self.critic(x, y)
        second = self.critic.second_scores(x, y) if self.needs_second else None
        if scores.dim() == 2:
            scores = scores.unsqueeze(0)
            if second is not None:
                second = second.reshape(1, -1)
        values = []
        reported = []
        for group in self.objectives:
            value, estimates = group.step(scores, second)
            values.append(value.sum())
            reported += estimates
        if self.optimiser is not None:
            # Members share no parameter: the gradient of the sum is the gradient of each
            # member, finite or not.
            (-torch.stack(values).sum()).backward()
            self.optimiser.step()
            self.optimiser.zero_grad(set_to_none=True)
        # a report that is a part of the objective has a gradient
        return torch.cat(reported).detach()

    def state_dict(self) -> dict:
        """State of the optimiser and of the objectives, in tensors and plain values."""
        optimiser = None
        if self.optimiser is not None:
            optimiser = self.optimiser.state_dict()
        memory = [group.memory for group in self.objectives]
        return {"optimiser": optimiser, "memory": memory}

    def load_state_dict(self, state: dict) -> None:
        if self.optimiser is not None:
            self.optimiser.load_state_dict(state["optimiser"])
        for group, memory in zip(self.objectives, state["memory"], strict=True):
            if memory is not None:
                memory = memory.to(self.critic.device, copy=True)
            group.memory = memory


@dataclass(frozen=True, eq=False)
class Trace(InNotebook):
    """The reports of every member at every step, on the batch and before the update.

    Attributes
    ----------
    reports : tuple of (int, str)
        Member and name of the bound, one per row of `values`.
    values : float64 array of shape [reports, steps]
        nats.
    truth : float64 array of shape [steps]
        True mutual information of the pairs, nats; nan where it is unknown.
    """

    reports: tuple[tuple[int, str], ...]
    values: np.ndarray
    truth: np.ndarray

    def of(self, bound: str | Bound, member: int = 0) -> np.ndarray:
        """The estimates [steps] of a member by a bound, nats.

        ValueError: the member does not report this bound.
        """
        report = (member, as_bound(bound).name)
        if report not in self.reports:
            raise UnknownName(
                f"(member, bound) must be one of {list(self.reports)}, got {report}."
            )
        return self.values[self.reports.index(report)]

    @property
    def nonfinite(self) -> np.ndarray:
        """Number of steps whose estimate is infinite or nan, int64 [reports]."""
        return (~np.isfinite(self.values)).sum(axis=1)

    @property
    def table(self) -> pd.DataFrame:
        """A row for each report, with its mean over the last tenth of steps, bits."""
        table = pd.DataFrame(self.reports, columns=["member", "bound"])
        last_tenth = self.values[:, -self._span :]
        table["last tenth (bits)"] = last_tenth.mean(axis=1) / NATS_PER_BIT
        table["steps not finite"] = self.nonfinite
        return table

    @property
    def _span(self) -> int:
        """A tenth of the steps, over which reports are averaged."""
        return math.ceil(0.1 * self.values.shape[1])

    def __str__(self) -> str:
        return f"Estimates of each batch in {self.values.shape[1]:,} steps"

    def plot(self, ax: Any = None) -> Any:
        """The matplotlib axes with every report, its moving mean, and the truth."""
        ax = axes(ax)
        steps = np.arange(1, self.values.shape[1] + 1)
        members = {member for member, _ in self.reports}
        for place, (member, bound) in enumerate(self.reports):
            values = self.values[place] / NATS_PER_BIT
            windows = pd.Series(values).rolling(self._span, 1, center=True)
            color = f"C{place}"
            name = bound if len(members) == 1 else f"{bound}, member {member}"
            ax.plot(steps, values, color=color, alpha=0.3, lw=0.5)
            ax.plot(steps, windows.mean(), color, label=name)
        truth = self.truth / NATS_PER_BIT
        ax.plot(steps, truth, color="black", lw=1, label="true information")
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
    generator: Generator | Sequence[Generator] | None = None,
    device: torch.device | str | None = None,
    precision: str = "float32",
    packed: bool | None = None,
) -> Trace:
    """The estimates of every step of a training, which changes `critic` in place.

    `Training` describes the parameters.

    Examples
    --------
    >>> from infoscope.data import GaussianPairs
    >>> from infoscope.estimators import fit_critic, make_critic
    >>> trace = fit_critic(GaussianPairs(1, mutual_information=1.0), make_critic("separable", 1, 1), "infonce", 100)
    >>> trace.values.shape
    (1, 100)
    """
    training = Training(
        source, critic, bound, steps, batch=batch, learning_rate=learning_rate, generator=generator, device=device,
        precision=precision, packed=packed,
    )  # fmt: skip
    training.advance(training.total)
    return training.trace


class Training:
    """A training that can be advanced in pieces, saved, and continued.

    It continues to bit-identical numbers on the same machine. Estimates that are not
    finite are recorded, gradients that are not finite are applied.

    Parameters
    ----------
    source : PairSource or sequence of them
        Pairs to measure: one source, or a schedule of sources that run in order.
    critic : Critic
        Trained in place.
    bound : str, Bound, or a sequence with one entry for each member
        An entry may be a tuple of bounds that share one objective.
    steps : int, or one for each source of a schedule
    batch : int
        Pairs per step, at least 2.
    learning_rate : float
        Of Adam.
    generator : torch.Generator or one per member, optional
        None: a fresh one with seed 0. Members with the same generator share batches.
    device : torch.device or str, optional
        Where to compute; the critic is moved there. None: where the critic is.
    precision : str
        float32, or bf16: products of numbers rounded to bfloat16 (`neural.precision`).
    packed : bool, optional
        True: all members in one batched computation; False: one by one; None: packed on
        CUDA only.

    Raises
    ------
    ValueError
        Unknown bound, bounds that do not share an objective, sequences of unequal
        length, dimensions other than the critic's, a number out of range, bf16 on a
        device without such products.
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
        generator: Generator | Sequence[Generator] | None = None,
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
        objectives = [of_member[0].objective for of_member in bounds]
        self._objectives = [objective.name for objective in objectives]
        if critic.second is None and any(objective.second for objective in objectives):
            raise WrongType(
                "critic must be made with second=True for flo, got one without."
            )
        generators = generator_per_member(generator, critic.members)

        self.device = critic.device if device is None else torch.device(device)
        self._precision = check_precision(precision, self.device, critic.dtype)
        self.critic = critic.to(self.device)
        if self.device.type == "cpu":
            # glibc then keeps 62 MiB of freed memory: saves 3 ms a step
            torch.empty(31 << 20, dtype=torch.uint8)
        self.packed = self.device.type == "cuda" if packed is None else packed
        self._streams = list(dict.fromkeys(generators))  # equal only to themselves
        self._stream_of = [self._streams.index(g) for g in generators]
        members = range(critic.members)
        self._groups = []
        if self.packed:
            self._groups.append(MemberGroup(critic, bounds, members, learning_rate))
        else:
            for k in members:
                group = MemberGroup(critic.share(k), [bounds[k]], [k], learning_rate)
                self._groups.append(group)
        recorded = []
        for group in self._groups:
            recorded += group.reports
        self._reports = []
        for k in members:
            self._reports += [(k, reported.name) for reported in bounds[k]]
        self._columns = [recorded.index(report) for report in self._reports]
        # on the device: no step waits for the host
        shape = (self.total, len(recorded))
        self._values = torch.full(
            shape, math.nan, dtype=torch.float64, device=self.device
        )
        truths = np.full(len(lengths), math.nan)
        for place, pairs in enumerate(self._sources):
            if isinstance(pairs, KnownPairSource):
                truths[place] = pairs.mutual_information
        self._truth = np.repeat(truths, lengths)
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
        values = self._values[: self._done, self._columns].T.contiguous()
        values = values.cpu().numpy().copy()
        return Trace(tuple(self._reports), values, self._truth[: self._done].copy())

    def advance(self, steps: int) -> None:
        """Makes up to `steps` further steps, at least 1, within the schedule."""
        end = min(self.total, self._done + require_int("steps", steps, 1))
        for step in range(self._done, end):
            source = self._sources[bisect_right(self._ends, step)]
            batches = []
            for stream in self._streams:
                pairs = draw(source, self._batch, stream, self.critic, self.device)
                batches.append(pairs)
            estimates = []
            with products_in(self._precision):
                for group in self._groups:
                    x, y = self._pairs_of(group, batches)
                    estimates.append(group.step(x, y))
            self._values[step] = torch.cat(estimates)
            self._done = step + 1
        self._record_objectives()

    def state_dict(self) -> dict:
        """A snapshot in tensors and plain values.

        torch.load(weights_only=True) reads it back.
        """
        values = self._values[: self._done].cpu()
        state = {
            **self._settings(),
            "done": self._done,
            "values": values.clone(),  # not the storage of the whole schedule
            "critic": dict(self.critic.state_dict()),
            "lanes": [group.state_dict() for group in self._groups],
            "generators": [stream.get_state() for stream in self._streams],
        }
        return copy.deepcopy(state)

    def _settings(self) -> dict[str, Any]:
        """The settings that a snapshot and its Training share."""
        return {
            "reports": [list(report) for report in self._reports],
            "packed": self.packed,
            "precision": self._precision,
            "total": self.total,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues from a snapshot of a Training with the same arguments.

        ValueError: a snapshot of another training.
        """
        expected = self._settings()
        settings = {name: state[name] for name in expected if name in state}
        settings.setdefault("precision", PRECISIONS[0])
        expected["streams"] = len(self._streams)
        settings["streams"] = len(state["generators"])
        if settings != expected:
            raise Conflict(
                f"state must be of a training with {expected}, got one with {settings}."
            )
        self.critic.load_state_dict(state["critic"])
        for group, group_state in zip(self._groups, state["lanes"], strict=True):
            group.load_state_dict(group_state)
        for stream, generator_state in zip(self._streams, state["generators"]):
            stream.set_state(generator_state.cpu())
        self._done = state["done"]
        self._values[: self._done] = state["values"].to(self.device)
        self._record_objectives()

    def _record_objectives(self) -> None:
        """Records the objectives of the training in the critic if it has parameters."""
        if self._done and self.critic.dtype is not None:
            self.critic.trained_under(self._objectives)

    def _pairs_of(
        self, group: MemberGroup, batches: list[tuple[Tensor, Tensor]]
    ) -> tuple[Tensor, Tensor]:
        """The pairs x, y of a group: one batch for all members, or one for each."""
        streams = [self._stream_of[k] for k in group.members]
        if len(set(streams)) == 1:
            return batches[streams[0]]
        x, y = zip(*(batches[stream] for stream in streams))
        return torch.stack(x), torch.stack(y)


def draw(
    source: PairSource,
    n: int,
    generator: Generator,
    critic: Critic,
    device: torch.device,
) -> tuple[Tensor, Tensor]:
    """n pairs of the source, in the critic's type."""
    x, y = source.sample(n, generator, device=device)
    dtype = critic.dtype or x.dtype
    return x.to(dtype), y.to(dtype)


def check_source(source: PairSource, critic: Critic) -> None:
    """ValueError unless the source is one whose pairs the critic can score."""
    if not isinstance(source, PairSource):
        raise WrongType(
            f"source must have sample, dim_x and dim_y, got {type(source).__name__}."
        )
    dims = (source.dim_x, source.dim_y)
    expected = (critic.config["dim_x"], critic.config["dim_y"])
    if dims != expected:
        raise WrongShape(
            f"source must have dimensions (dim_x, dim_y) = {expected} for this "
            f"critic, got {dims}."
        )


def check_critic(critic: Critic) -> None:
    """ValueError unless it is a Critic."""
    if not isinstance(critic, Critic):
        raise WrongType(
            f"critic must be a Critic (see make_critic), got {type(critic).__name__}."
        )


def schedule(
    source: PairSource | Sequence[PairSource],
    steps: int | Sequence[int],
    critic: Critic,
) -> tuple[list[PairSource], list[int]]:
    """The sources and their numbers of steps, checked for this critic."""
    if isinstance(source, Sequence) != isinstance(steps, Sequence):
        raise WrongLength(
            "source and steps must be one source and a number, or two sequences of "
            "equal length."
        )
    sources = list(source) if isinstance(source, Sequence) else [source]
    counts = steps if isinstance(steps, Sequence) else [steps]
    lengths = [require_int("steps", count, 1) for count in counts]
    if len(sources) != len(lengths) or not sources:
        raise WrongLength(
            f"steps must have one entry for each of {len(sources)} sources, got "
            f"{len(lengths)}."
        )
    for pairs in sources:
        check_source(pairs, critic)
        if not isinstance(pairs, KnownPairSource):
            continue
        information = pairs.mutual_information
        if not math.isfinite(information):
            raise MissingValues(
                f"source must have a finite mutual_information, got {information}."
            )
    return sources, lengths


def _bounds_per_member(
    bound: str | Bound | Sequence[BoundOfMember], members: int
) -> list[tuple[Bound, ...]]:
    """The bounds of every member, each group sharing one objective."""
    if isinstance(bound, (str, Bound)):
        return [(as_bound(bound),)] * members
    if len(bound) != members:
        raise WrongLength(
            f"bound must be one bound or one entry for each of {members} members, got "
            f"{len(bound)}."
        )
    per_member = []
    for entry in bound:
        if isinstance(entry, (str, Bound)):
            entry = (entry,)
        bounds = tuple(map(as_bound, entry))
        names = [reported.name for reported in bounds]
        objectives = {reported.objective for reported in bounds}
        if len(objectives) != 1 or len(set(names)) != len(names):
            raise Conflict(
                "bound must group different bounds of one objective (see "
                f"share_training), got {names}."
            )
        per_member.append(bounds)
    return per_member
