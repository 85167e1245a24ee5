"""A lower limit on mutual information that holds at every number of rows and for every distribution."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import brentq

from infoscope.checks import require_number
from infoscope.errors import TooFew
from infoscope.estimators.arrays.critics import CriticMethod, Rows, scores_of
from infoscope.estimators.arrays.fitting import prepared_tensor
from infoscope.estimators.arrays.protocol import ANY, Described
from infoscope.estimators.neural.bounds import BOUNDS, infonce, split
from infoscope.estimators.pairs import Pairs
from infoscope.estimators.result import Estimate
from infoscope.estimators.threads import threads_for


@dataclass(frozen=True)
class Certified(Described):
    """A lower limit L of I(x; y) with P(L > I) <= alpha at every n, for independent rows of any distribution.

    A critic is trained on half of the units and clipped to [-c, c]. InfoNCE values of batches of K unseen rows are
    bounded with expectation at most I (Poole et al. 2019, eq. 12); `limit_of_mean` gives the limit. K and c are chosen
    on other rows than the limit; one row per group is used. No such limit can exceed O(log n) (McAllester &
    Stratos 2020).

    batches, clips  K and c (nats) to choose from
    """

    alpha: float = 0.05
    critic: str = "separable"
    width: int = 128
    steps: int = 2000
    batches: tuple[int, ...] = (4, 8, 16, 32, 64)
    clips: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)

    name: ClassVar[str] = "certified"
    takes: ClassVar[str] = ANY
    limit: ClassVar[str] = "lower limit at every n, at most log K"
    cost: ClassVar[str] = "steps; 3 s"
    source: ClassVar[str] = "Poole et al. 2019, eq. 12; Waudby-Smith & Ramdas 2024, theorem 3"

    def estimate(self, pairs: Pairs, generator: np.random.Generator) -> Estimate:
        require_number("alpha", self.alpha, most=1, ends=False)
        order = generator.permutation(pairs.n)
        rows = order[np.unique(pairs.units[order], return_index=True)[1]]  # one of each unit, any of them
        rows = generator.permutation(rows)
        least = 8 * self.batches[0]
        if len(rows) < 2 * least:
            raise TooFew(f"x and y must have at least {2 * least} independent rows, got {len(rows)}.")
        unseen, rest = np.split(rows, [round(0.5 * len(rows))])  # half of the rows give the limit
        # the pilot stops the training, and chooses batch and clip
        pilot, training = np.split(rest, [round(0.3 * len(rest))])
        x, y = (prepared_tensor(variable, rest) for variable in (pairs.x, pairs.y))
        method = CriticMethod("infonce", self.critic, width=self.width, steps=self.steps)
        stopping = [(x[pilot], y[pilot], pilot)]
        with threads_for(method.work(x.shape[1] + y.shape[1])):
            fit = method.fit(BOUNDS["infonce"], Rows(x[training], y[training], training), stopping, generator)
            tests, certain = (
                [
                    scores_of(fit.critic, x[rows], y[rows]).matrix.numpy().astype(np.float32)
                    for rows in np.array_split(some, math.ceil(len(some) / 512))  # scores in memory at once
                ]
                for some in (pilot, unseen)
            )
        tried = {
            (size, clip): _limit(tests, size, clip, self.alpha, generator)
            for size in self.batches if min(map(len, tests)) >= 4 * size
            for clip in self.clips
        }  # fmt: skip
        size, clip = max(tried, key=tried.get) if tried else (self.batches[0], self.clips[0])
        limit = _limit(certain, size, clip, self.alpha, generator)
        used = sum(len(matrix) // size * size for matrix in certain)
        return Estimate(
            limit,
            n=used,
            method="certified lower limit",
            settings=f"K = {size}, scores within {clip:g} nats",
            interval=(limit, math.inf),
            notes=(
                f"I is at least this with a probability of {1 - self.alpha:.0%}, whatever their distribution; the "
                f"limit cannot exceed log2 {size} = {math.log2(size):.2f} bits.",
            ),
        )


def _limit(
    matrices: list[NDArray[np.float32]], size: int, clip: float, alpha: float, generator: np.random.Generator,
    orders: int = 16,
) -> float:  # fmt: skip
    """The limit, nats, from scores in batches of `size`, divided at random in so many ways."""
    values = []
    for _ in range(orders):
        found = [_values(matrix, size, clip, generator) for matrix in matrices]
        values.append(generator.permutation(np.concatenate(found)))
    low, high = math.log(size) - math.log1p((size - 1) * math.exp(2 * clip)), math.log(size)
    return low + (high - low) * limit_of_mean((np.array(values) - low) / (high - low), alpha)


def _values(matrix: NDArray[np.float32], size: int, clip: float, generator: np.random.Generator) -> NDArray[np.float64]:
    """The InfoNCE value of each of the batches into which the rows are divided at random; rows beyond them are left."""
    rows = generator.permutation(len(matrix))[: len(matrix) // size * size].reshape(-1, size)
    scores = torch.from_numpy(matrix[rows[:, :, None], rows[:, None, :]]).double()
    # a function of x and the unordered batch changes nothing in the shares, and takes room between the clips
    return infonce(split((scores - scores.mean(-1, keepdim=True)).clamp(-clip, clip))).numpy()


def limit_of_mean(values: NDArray[np.float64], alpha: float) -> float:
    """The lower limit of the mean of independent values in [0, 1], [m] or [orders, m]; it fails at most at rate alpha.

    The least mean at which the betting martingale of Waudby-Smith & Ramdas 2024 (2010.09686, theorem 3, eqs. 24 to 26),
    averaged over orders, has capital below 1 / alpha; 0 where there is none.
    """
    values = np.atleast_2d(values)
    m = values.shape[1]
    count = np.arange(1, m + 1)
    means = (0.5 + np.cumsum(values, axis=1)) / (count + 1)
    spread = (0.25 + np.cumsum((values - means) ** 2, axis=1)) / (count + 1)
    before = np.hstack([np.full((len(values), 1), 0.25), spread[:, :-1]])
    stakes = np.sqrt(2 * math.log(1 / alpha) / (m * before))

    def log_gain(mean: float) -> float:
        """Log of the capital over that which rejects the mean; at most half is staked at a time."""
        staked = np.minimum(stakes, 0.5 / mean)
        each = np.log1p(staked * (values - mean)).sum(axis=1)
        return float(np.logaddexp.reduce(each)) - math.log(len(each) / alpha)

    least = np.finfo(float).tiny
    return float(brentq(log_gain, least, 1.0)) if log_gain(least) > 0 else 0.0


METHODS: tuple[Described, ...] = (Certified(),)
