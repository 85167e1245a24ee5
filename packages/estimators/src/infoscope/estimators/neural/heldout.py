"""Held-out estimates: what bounds report on fresh pairs with a critic that is no longer trained.

With a fixed critic, nwj, js and infonce are lower than mutual information in expectation. dv, mine and smile need not
be: the logarithm of a batch mean is low by half its relative variance (Poole et al. 2019, section 2). What a bound
reports when the critic is exact is no limit: a biased bound can score better under a wrong critic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from infoscope.checks import require_int
from infoscope.errors import Conflict, InvalidInput, OutOfRange, WrongType
from infoscope.estimators.neural.bounds import BOUNDS, FREE, OBJECTIVES, Bound, as_bound, split
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
    generator: torch.Generator,
) -> dict[str, Estimate]:
    """Estimates (nats) by bound name on `batches` fresh batches of `batch` pairs; all bounds see the same scores.

    critic     one trained member (of several: critic.share(k)), not changed
    batch      at least 2; the scores of all batch^2 pairs are held
    batches    at least 2, for the standard error over batches for this critic
    generator  draws the pairs; not the one that drew the training's

    A report that depends on what the training objective leaves open (nwj's critic is 1 + the log density ratio, dv's
    any constant, infonce's any function of x) is refused, or noted where the training is unknown. Sources with a finite
    pool draw pairs from items of the training. ValueError: several members, other dimensions, no bound or one twice, an
    unknown or refused bound, a number out of range.
    """
    check_critic(critic)
    check_source(source, critic)
    if critic.members != 1:
        raise OutOfRange(f"critic must have one member (see share), got {critic.members}.")
    chosen = [as_bound(b) for b in ([bounds] if isinstance(bounds, (str, Bound)) else bounds)]
    names = [bound.name for bound in chosen]
    if not names or len(set(names)) != len(names):
        raise Conflict(f"bounds must be one bound or several different ones, got {names}.")
    readings = [reading(critic, bound) for bound in chosen]
    if not isinstance(generator, torch.Generator):
        raise WrongType(f"generator must be a torch.Generator, got {type(generator).__name__}.")
    n, count = require_int("batch", batch, 2), require_int("batches", batches, 2)
    estimates = torch.empty(count, len(chosen), dtype=torch.float64)
    with torch.no_grad():
        for i in range(count):
            # In float64 from here on, because exp of a float32 overflows at 88 nats.
            pairs = draw(source, n, generator, critic, critic.device)
            scores, second = critic(*pairs).double(), critic.second_scores(*pairs)
            second = None if second is None else second.reshape(n).double()
            shifts = dict.fromkeys(shift for shift, _ in readings)
            pieces = {shift: split(scores + shift if shift else scores, second) for shift in shifts}
            estimates[i] = torch.stack([bound.estimate(pieces[at]) for bound, (at, _) in zip(chosen, readings)])
    return {name: summary(name, estimates[:, k], n, readings[k][1]) for k, name in enumerate(names)}


def reading(critic: Critic, bound: Bound) -> tuple[float, tuple[str, ...]]:
    """The number added to a one-member critic's scores for this bound's report, and notes. ValueError: `held_out`'s."""
    if not any(True for _ in critic.parameters()):
        return 0.0, ()
    name = critic.objectives[0] if critic.objectives else None
    if name == bound.objective.name:
        return 0.0, ()
    if name not in OBJECTIVES:
        whose = f"trained under {name!r}, which is not known" if name else "not known to be trained under any objective"
        need = f"{bound.name}'s report needs the log density ratio up to {FREE[bound.blind]}"
        return 0.0, (f"The critic is {whose}; {need}.",)
    trained = OBJECTIVES[name]
    if bound.objective.second and not trained.second:
        raise InvalidInput(f"bounds must be of one score a pair for a critic trained under {name}, got {bound.name}.")
    if trained.free > bound.blind:
        fitting = [
            other.name for other in BOUNDS.values() if other.blind >= trained.free and not other.objective.second
        ]
        raise InvalidInput(
            f"bounds must be of {', '.join(fitting)} for a critic trained under {name}, which is the log density ratio "
            f"up to {FREE[trained.free]} only; {bound.name} needs it up to {FREE[bound.blind]}."
        )
    return 0.0 if bound.blind else bound.objective.offset - trained.offset, ()


def summary(name: str, estimates: torch.Tensor, batch: int, notes: tuple[str, ...] = ()) -> Estimate:
    """The mean of a bound's estimates [batches] of batches of `batch` pairs; not finite if that of any batch is not."""
    count, nonfinite = len(estimates), int((~estimates.isfinite()).sum())
    if nonfinite:
        notes += (Note(f"The estimates of {nonfinite} of {count} batches are not finite.", "not finite"),)
    found = mean_of(estimates.numpy(), method=name, notes=notes, settings=f"{count} batches of {batch} unseen pairs")
    return replace(found, n=count * batch)


SCORES_AT_ONCE = 1 << 20  # bounds the memory: 8 MiB for each float64 array of scores


@dataclass(frozen=True)
class OracleErrors:
    """Errors of per-batch estimates under the exact critic, nats or nats squared (benchmark, section 5).

    `nonfinite`: number of batches with an infinite or nan estimate; if any, the summary is not finite.
    """

    mean: float
    bias: float
    variance: float
    mse: float
    mse_standard_error: float
    batches: int
    nonfinite: int


def oracle_errors(
    source: ExactPairSource, bound: str | Bound, batch: int, batches: int, generator: torch.Generator
) -> OracleErrors:
    """Summary of what `bound` reports on `batches` batches of `batch` pairs when the critic is its objective's optimum.

    js reports nwj's formula at the log ratio: low by 1/e nats. ValueError: a source without log_ratio, batch < 2,
    batches < 2, unknown bound.
    """
    bound = as_bound(bound)
    if not isinstance(source, ExactPairSource):
        raise WrongType(f"source must have a log_ratio and be a pair source, got {type(source).__name__}.")
    require_int("batch", batch, 2)
    at_once = max(1, SCORES_AT_ONCE // batch**2)
    left = require_int("batches", batches, 2)
    estimates = []
    while left:
        count = min(left, at_once)
        estimates.append(_oracle_estimates(source, bound, batch, count, generator))
        left -= count
    return oracle_summary(torch.cat(estimates), source.mutual_information)


def _oracle_estimates(
    source: ExactPairSource, bound: Bound, batch: int, batches: int, generator: torch.Generator
) -> Tensor:
    """The estimates [batches], float64, nats."""
    x, y = source.sample(batch * batches, generator)
    x, y = (values.double().unflatten(0, (batches, batch)) for values in (x, y))
    ratio, of_pair = source.log_ratio(x, y), bound.objective.second
    second = None if of_pair is None else of_pair(ratio.diagonal(dim1=-2, dim2=-1))
    return bound.estimate(split(ratio + bound.objective.offset, second))


def oracle_summary(estimates: Tensor, truth: float) -> OracleErrors:
    """The summary of estimates [batches] of `truth`, nats."""
    squares = (estimates - truth).square()
    count = len(estimates)
    return OracleErrors(
        mean=estimates.mean().item(),
        bias=estimates.mean().item() - truth,
        variance=estimates.var(correction=0).item(),
        mse=squares.mean().item(),
        mse_standard_error=squares.std().item() / math.sqrt(count),
        batches=count,
        nonfinite=int((~estimates.isfinite()).sum()),
    )
