"""What a bound reports when the critic is exact. Not a limit: a biased bound can score better under a wrong critic."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from infoscope.checks import require_int
from infoscope.errors import WrongType
from infoscope.estimators.neural.bounds import Bound, as_bound, split
from infoscope.sources import ExactPairSource

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
    return summary(torch.cat(estimates), source.mutual_information)


def _oracle_estimates(
    source: ExactPairSource, bound: Bound, batch: int, batches: int, generator: torch.Generator
) -> Tensor:
    """The estimates [batches], float64, nats."""
    x, y = source.sample(batch * batches, generator)
    x, y = (side.double().unflatten(0, (batches, batch)) for side in (x, y))
    ratio, of_pair = source.log_ratio(x, y), bound.objective.second
    second = None if of_pair is None else of_pair(ratio.diagonal(dim1=-2, dim2=-1))
    return bound.estimate(split(ratio + bound.objective.offset, second))


def summary(estimates: Tensor, truth: float) -> OracleErrors:
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
