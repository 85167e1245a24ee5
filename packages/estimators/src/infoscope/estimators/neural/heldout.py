"""Held-out estimates: reports of bounds on fresh pairs, by a critic that is trained.

With a fixed critic, the expectations of nwj, js and infonce are at most the mutual
information. Those of dv, mine and smile can be larger: the logarithm of a batch mean is
low by half its relative variance (Poole et al. 2019, section 2). The report by the exact
critic is no limit: a biased bound can have a smaller error with a wrong critic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Generator, Tensor

from infoscope.checks import require_int
from infoscope.errors import Conflict, InvalidInput, OutOfRange, WrongType
from infoscope.estimators.neural.bounds import (
    BOUNDS,
    FREE,
    OBJECTIVES,
    Bound,
    as_bound,
    split,
)
from infoscope.estimators.neural.critics import Critic
from infoscope.estimators.neural.training import check_critic, check_source, draw
from infoscope.estimators.result import Estimate, mean_of
from infoscope.notes import Note
from infoscope.sources import ExactPairSource, PairSource


def held_out(
    source: PairSource,
    critic: Critic,
    bounds: str | Bound | Sequence[str | Bound],
    batch: int,
    batches: int,
    generator: Generator,
) -> dict[str, Estimate]:
    """Estimates by bound name on fresh batches, nats; all bounds use the same scores.

    A training objective determines the critic up to 1 (nwj), a constant (dv) or a
    function of x (infonce). A report that depends on this is refused; if the objective
    is unknown, a note says so. Sources with a finite pool of items draw pairs from the
    items of the training.

    Parameters
    ----------
    source : PairSource
    critic : Critic
        One trained member (of several: critic.share(k)); unchanged.
    bounds : str, Bound, or a sequence of them
    batch : int
        Pairs of a batch, at least 2; the scores of all batch^2 pairs are in memory.
    batches : int
        At least 2, for the standard error over batches for this critic.
    generator : torch.Generator
        Draws the pairs; a different one from the training's.

    Returns
    -------
    dict of str to Estimate
        By the name of the bound, nats.

    Raises
    ------
    ValueError
        Several members, other dimensions, no bound or one twice, an unknown or refused
        bound, a number out of range.
    """
    check_critic(critic)
    check_source(source, critic)
    if critic.members != 1:
        raise OutOfRange(
            f"critic must have one member (see share), got {critic.members}."
        )
    if isinstance(bounds, (str, Bound)):
        bounds = [bounds]
    bounds = [as_bound(bound) for bound in bounds]
    names = [bound.name for bound in bounds]
    if not names or len(set(names)) != len(names):
        raise Conflict(
            f"bounds must be one bound or several different ones, got {names}."
        )
    offsets = []
    notes = []
    for bound in bounds:
        offset, of_bound = reading(critic, bound)
        offsets.append(offset)
        notes.append(of_bound)
    if not isinstance(generator, Generator):
        raise WrongType(
            f"generator must be a torch.Generator, got {type(generator).__name__}."
        )
    n = require_int("batch", batch, 2)
    count = require_int("batches", batches, 2)
    estimates = torch.empty(count, len(bounds), dtype=torch.float64)
    with torch.no_grad():
        for i in range(count):
            x, y = draw(source, n, generator, critic, critic.device)
            scores = critic(x, y).double()  # exp of a float32 overflows at 88 nats
            second = critic.second_scores(x, y)
            if second is not None:
                second = second.reshape(n).double()
            pieces = {offset: split(scores + offset, second) for offset in set(offsets)}
            for k, bound in enumerate(bounds):
                estimates[i, k] = bound.estimate(pieces[offsets[k]])
    results = {}
    for k, name in enumerate(names):
        results[name] = summary(name, estimates[:, k], n, notes[k])
    return results


def reading(critic: Critic, bound: Bound) -> tuple[float, tuple[str, ...]]:
    """Offset that turns scores into the log density ratios of a bound, nats; and notes.

    ValueError: the report depends on what the training leaves open.
    """
    if not list(critic.parameters()):
        return 0.0, ()
    name = critic.objectives[0] if critic.objectives else None
    if name == bound.objective.name:
        return 0.0, ()
    if name not in OBJECTIVES:
        training = "not known to be trained under any objective"
        if name:
            training = f"trained under {name!r}, which is not known"
        need = (
            f"{bound.name}'s report needs the log density ratio up to "
            f"{FREE[bound.blind]}"
        )
        return 0.0, (f"The critic is {training}; {need}.",)
    trained = OBJECTIVES[name]
    if bound.objective.second and not trained.second:
        raise InvalidInput(
            f"bounds must be of one score a pair for a critic trained under {name}, "
            f"got {bound.name}."
        )
    if trained.free > bound.blind:
        fitting = []
        for other in BOUNDS.values():
            if other.blind >= trained.free and not other.objective.second:
                fitting.append(other.name)
        raise InvalidInput(
            f"bounds must be of {', '.join(fitting)} for a critic trained under "
            f"{name}, which is the log density ratio "
            f"up to {FREE[trained.free]} only; {bound.name} needs it up to "
            f"{FREE[bound.blind]}."
        )
    if bound.blind:
        return 0.0, ()
    return bound.objective.offset - trained.offset, ()


def summary(
    name: str, estimates: Tensor, batch: int, notes: tuple[str, ...] = ()
) -> Estimate:
    """The mean of a bound's estimates [batches]; not finite if any estimate is not."""
    count = len(estimates)
    nonfinite = int((~estimates.isfinite()).sum())
    if nonfinite:
        text = f"The estimates of {nonfinite} of {count} batches are not finite."
        notes += (Note(text, "not finite"),)
    settings = f"{count} batches of {batch} unseen pairs"
    mean = mean_of(estimates.numpy(), method=name, notes=notes, settings=settings)
    return replace(mean, n=count * batch)


SCORES_AT_ONCE = 1 << 20  # bounds the memory: 8 MiB for each float64 array of scores


@dataclass(frozen=True)
class OracleErrors:
    """Errors of estimates of batches by the exact critic (benchmark, section 5).

    Attributes
    ----------
    mean, bias : float
        nats; bias is the mean less the true information.
    variance, mse, mse_standard_error : float
        nats squared.
    batches : int
    nonfinite : int
        Number of batches with an infinite or nan estimate; if any, the summary is not
        finite.
    """

    mean: float
    bias: float
    variance: float
    mse: float
    mse_standard_error: float
    batches: int
    nonfinite: int


def oracle_errors(
    source: ExactPairSource,
    bound: str | Bound,
    batch: int,
    batches: int,
    generator: Generator,
) -> OracleErrors:
    """Errors of a bound's reports by the optimal critic of its objective.

    js reports nwj's formula at the log ratio, which is low by 1/e nats.

    Parameters
    ----------
    source : ExactPairSource
        With its log density ratio.
    bound : str or Bound
    batch : int
        Pairs of a batch, at least 2.
    batches : int
        At least 2.
    generator : torch.Generator

    Returns
    -------
    OracleErrors
        nats and nats squared.

    Raises
    ------
    ValueError
        A source without log_ratio, batch < 2, batches < 2, unknown bound.
    """
    bound = as_bound(bound)
    if not isinstance(source, ExactPairSource):
        raise WrongType(
            "source must have a log_ratio and be a pair source, got "
            f"{type(source).__name__}."
        )
    require_int("batch", batch, 2)
    at_once = max(1, SCORES_AT_ONCE // batch**2)
    batches = require_int("batches", batches, 2)
    remaining = batches
    parts = []
    while remaining:
        count = min(remaining, at_once)
        parts.append(_oracle_estimates(source, bound, batch, count, generator))
        remaining -= count
    estimates = torch.cat(parts)
    truth = source.mutual_information
    mean = estimates.mean().item()
    squares = (estimates - truth).square()
    return OracleErrors(
        mean=mean,
        bias=mean - truth,
        variance=estimates.var(correction=0).item(),
        mse=squares.mean().item(),
        mse_standard_error=squares.std().item() / math.sqrt(batches),
        batches=batches,
        nonfinite=int((~estimates.isfinite()).sum()),
    )


def _oracle_estimates(
    source: ExactPairSource,
    bound: Bound,
    batch: int,
    batches: int,
    generator: Generator,
) -> Tensor:
    """A bound's reports [batches] by the optimal critic, float64, nats."""
    x, y = source.sample(batch * batches, generator)
    x = x.double().unflatten(0, (batches, batch))
    y = y.double().unflatten(0, (batches, batch))
    ratio = source.log_ratio(x, y)
    second = None
    if bound.objective.second is not None:
        second = bound.objective.second(ratio.diagonal(dim1=-2, dim2=-1))
    return bound.estimate(split(ratio + bound.objective.offset, second))
