"""Variational bounds of mutual information on a matrix of critic scores, in nats.

scores [..., n, n]: S[i, j] = f(x_i, y_j) for n pairs. The diagonal d holds pairs of the
joint distribution, the n (n - 1) other entries o stand for the product of the marginals.
The gradient of the objective trains the critic; the reported estimate may differ
(benchmark, section 2 and its code).

    name            gradient of                                  reported        source
    nwj             mean d - mean exp(o - 1)                     the same        Nguyen, Wainwright and Jordan 2010
    js              mean log sig(d) + mean log sig(-o)           nwj's formula   Nowozin et al. 2016, Poole et al. 2019
    infonce         log n + mean_i [S_ii - log sum_j exp S_ij]   the same        van den Oord et al. 2018, eq. 4
    dv              mean d - log mean exp(o)                     the same        Donsker and Varadhan 1983
    mine            mean d - mean exp(o) / m, m a constant       dv's formula    Belghazi et al. 2018, section 3.2
    smile-<c>       js's                                         smile's         Song and Ermon 2020
    mine-one-step   mine's, m as the benchmark's code has it     dv's formula    benchmark's released code
    infonce-anchor  log share of the pair, or of none, below     mean d          Ryu et al. 2026 (2510.25983)
    flo             1 - mean [u + exp(-u) mean_j exp(o - d)]     the same        Guo et al. 2022 (2107.01131)
    dime-kl         mean d - mean exp(o) + 1                     mean d          Letizia et al. 2024 (2305.20025)
    dime-gan        js's                                         mean d          the same
    dime-hellinger  2 - mean exp(-d / 2) - mean exp(o / 2)       mean d          the same

smile reports mean d - log mean exp(clip(o, -c, c)). infonce-anchor compares exp(f) of x
and n - 1 values of y (derangements, as in f-DIME) with the anchor n - 1. flo's u is a
second score of pairs (critic made with `second`).

mine's m is the exponential moving average of mean exp(o), rate 0.1, corrected for its
start from zero. The published m is max(0.9 previous + 0.1 current, 1e-4) of the last
two batches' means; the previous mean of the first batch is 1. Nothing is clamped: where
a formula overflows, the value is inf or nan.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from infoscope.errors import InvalidInput, UnknownName, WrongShape

# weight of the current batch in mine's denominators (Belghazi et al. 2018; benchmark
# code)
_AVERAGE_RATE = 0.1

# what may be added to a critic; each includes those before it
FREE = ("nothing", "a constant", "a function of x")


class Scores(NamedTuple):
    """A score matrix and its pieces, computed once for objectives and reports."""

    matrix: Tensor  # [..., n, n]
    joint: Tensor  # [...], mean of the diagonal
    product: Tensor  # [..., n - 1, n], the off-diagonal entries in row-major order
    second: Tensor | None = None  # [..., n], of the pairs by a critic's second network

    @property
    def pairs(self) -> Tensor:
        """The diagonal [..., n]."""
        return self.matrix.diagonal(dim1=-2, dim2=-1)


def split(scores: Tensor, second: Tensor | None = None) -> Scores:
    """The pieces of scores [..., n, n]. ValueError: no square matrix with n >= 2."""
    shape = list(scores.shape)
    n = shape[-1] if shape else 0
    if n < 2 or shape[-2:] != [n, n]:
        raise WrongShape(
            f"scores must have shape [..., n, n] with n at least 2, got {shape}."
        )
    joint = scores.diagonal(dim1=-2, dim2=-1).mean(-1)
    # After the first entry, every (n + 1)-th is on the diagonal. The rest is a view of
    # the scores, without arithmetic.
    after_first = scores.flatten(-2)[..., 1:]
    product = after_first.unflatten(-1, (n - 1, n + 1))
    product = product[..., :-1]
    return Scores(scores, joint, product, second)


def _log_mean_exp(product: Tensor) -> Tensor:
    """log of the mean exponential over the last two dimensions, without overflow."""
    log_sum = torch.logsumexp(product, dim=(-2, -1))
    entries = math.prod(product.shape[-2:])
    return log_sum - math.log(entries)


def nwj(scores: Scores) -> Tensor:
    """The bound of Nguyen, Wainwright & Jordan, tight at f = 1 + log ratio."""
    exponentials = (scores.product - 1).exp()
    return scores.joint - exponentials.mean((-2, -1))


def _donsker_varadhan(scores: Scores) -> Tensor:
    """The Donsker-Varadhan bound, tight at f = log ratio + any constant."""
    return scores.joint - _log_mean_exp(scores.product)


def infonce(scores: Scores) -> Tensor:
    """InfoNCE: the log share of each pair among all y of the batch; at most log n."""
    n = scores.matrix.shape[-1]
    log_sums = torch.logsumexp(scores.matrix, -1)
    return math.log(n) + scores.joint - log_sums.mean(-1)


def smile(scores: Scores, clip: float) -> Tensor:
    """Donsker-Varadhan with product scores clipped to [-clip, clip]."""
    product = scores.product
    if math.isfinite(clip):
        product = product.clamp(-clip, clip)
    return scores.joint - _log_mean_exp(product)


def _jensen_shannon(scores: Scores) -> Tensor:
    """The Jensen-Shannon f-GAN objective less a constant; optimum f = log ratio."""
    joint = functional.logsigmoid(scores.pairs)
    product = functional.logsigmoid(-scores.product)
    product_mean = product.mean((-2, -1))
    return joint.mean(-1) + product_mean


def _plug_in(scores: Scores) -> Tensor:
    """The mean score of the pairs: I if f is the log ratio, no bound otherwise."""
    return scores.joint


def _kullback_leibler(scores: Scores) -> Tensor:
    """The Kullback-Leibler f-GAN objective; optimum f = log ratio."""
    exponentials = scores.product.exp()
    return scores.joint - exponentials.mean((-2, -1)) + 1


def _hellinger(scores: Scores) -> Tensor:
    """The Hellinger f-GAN objective; optimum f = log ratio."""
    joint = (-scores.pairs / 2).exp()
    product = (scores.product / 2).exp()
    product_mean = product.mean((-2, -1))
    return 2 - joint.mean(-1) - product_mean


def _anchor(scores: Scores) -> Tensor:
    """The InfoNCE-anchor objective; optimum f = log ratio.

    It is the mean over rows with the pair and n - 2 other values of y, and over rows
    with n - 1 other values.
    """
    matrix = scores.matrix
    pairs = scores.pairs
    n = matrix.shape[-1]
    # f(x_i, y_(i + 1)), which replaces the pair in rows without it
    rolled = matrix.roll(-1, -1)
    following = rolled.diagonal(dim1=-2, dim2=-1)
    log_sum_of_others = torch.full_like(pairs, -math.inf)
    if n > 2:
        diagonal = _diagonal_mask(matrix)
        left_out = diagonal | diagonal.roll(1, -1)
        others = matrix.masked_fill(left_out, -math.inf)
        log_sum_of_others = torch.logsumexp(others, -1)
    anchor = torch.full_like(pairs, math.log(n - 1))
    sum_with_pair = torch.logaddexp(log_sum_of_others, pairs)
    sum_without = torch.logaddexp(log_sum_of_others, following)
    with_pair = pairs - torch.logaddexp(anchor, sum_with_pair)
    without = anchor - torch.logaddexp(anchor, sum_without)
    return (with_pair + without).mean(-1) / 2


def _diagonal_mask(matrix: Tensor) -> Tensor:
    """Mask [n, n] of the diagonal."""
    return torch.eye(matrix.shape[-1], dtype=torch.bool, device=matrix.device)


def _flo(scores: Scores) -> Tensor:
    """The Fenchel-Legendre bound for scores f and second scores u of the pairs."""
    if scores.second is None:
        raise InvalidInput(
            "scores must be of a critic made with second=True for flo, got one score "
            "a pair."
        )
    matrix = scores.matrix
    n = matrix.shape[-1]
    others = matrix.masked_fill(_diagonal_mask(matrix), -math.inf)
    # over the other values of y
    log_mean = torch.logsumexp(others, -1) - math.log(n - 1)
    ratio = (log_mean - scores.pairs - scores.second).exp()
    return 1 - (scores.second + ratio).mean(-1)


def _without_memory(
    value: Callable[[Scores], Tensor], scores: Scores, state: Tensor
) -> tuple[Tensor, Tensor]:
    """A memoryless objective in the form of one with memory."""
    return value(scores), state


def _moving_average(scores: Scores, state: Tensor) -> tuple[Tensor, Tensor]:
    """The objective of mine, and its state.

    state [..., 2]: logs of the decayed sum of the batch means and of its weight.
    """
    log_mean = _log_mean_exp(scores.product)
    constant = log_mean.detach()
    log_weight = torch.zeros_like(constant)
    current = torch.stack([constant, log_weight], dim=-1)
    decayed = state + math.log1p(-_AVERAGE_RATE)
    state = torch.logaddexp(decayed, current + math.log(_AVERAGE_RATE))
    log_average = state[..., 0] - state[..., 1]
    return scores.joint - (log_mean - log_average).exp(), state


def _one_step(scores: Scores, state: Tensor) -> tuple[Tensor, Tensor]:
    """The objective of the published mine, and its state.

    state [..., 1]: the mean exponential of the previous batch, which may overflow.
    """
    exponentials = scores.product.exp()
    mean = exponentials.mean((-2, -1))
    current = mean.detach()
    previous = state[..., 0]
    mixed = (1 - _AVERAGE_RATE) * previous + _AVERAGE_RATE * current
    value = scores.joint - mean / mixed.clamp(min=1e-4)
    return value, current.unsqueeze(-1)


def _as_scores(scores: Tensor | Scores) -> Scores:
    """The scores in pieces."""
    return scores if isinstance(scores, Scores) else split(scores)


@dataclass(frozen=True)
class Objective:
    """The objective that a critic's parameters climb. Two objectives are equal when
    their names are.

    Parameters
    ----------
    name : str
    value : function
        Of scores and the state, returns the objective [...], nats, and the next state.
    offset : float
        nats: the optimal critic is the log density ratio plus this.
    free : int
        What else the objective leaves open, a place in `FREE`.
    memory : tuple of float
        One member's initial state.
    second : function, optional
        Of the exact log ratio of pairs, returns the optimum of a second score.
    criterion : function, optional
        Of scores, returns the early-stopping criterion, where the objective has a
        memory.
    """

    name: str
    value: Callable[[Scores, Tensor], tuple[Tensor, Tensor]] = field(
        compare=False, repr=False
    )
    offset: float = field(default=0.0, compare=False)
    free: int = field(default=0, compare=False)
    memory: tuple[float, ...] = field(default=(), compare=False)
    second: Callable[[Tensor], Tensor] | None = field(
        default=None, compare=False, repr=False
    )
    criterion: Callable[[Scores], Tensor] | None = field(
        default=None, compare=False, repr=False
    )

    def start(self, like: Tensor) -> Tensor:
        """The state [..., len(memory)] before the first batch of scores [..., n, n]."""
        initial = like.new_tensor(self.memory)
        states = initial.expand(*like.shape[:-2], len(self.memory))
        return states.clone()

    def __call__(self, scores: Tensor | Scores, state: Tensor) -> tuple[Tensor, Tensor]:
        """The objective [...] of scores [..., n, n], nats, and the state after them."""
        return self.value(_as_scores(scores), state)

    def judge(self, scores: Scores) -> Tensor:
        """The quality of the critic on these scores [...]; greater is better."""
        if self.criterion is not None:
            return self.criterion(scores)
        value, _ = self.value(scores, self.start(scores.matrix))
        return value


@dataclass(frozen=True)
class Bound:
    """An estimator: the objective of its training, and its report.

    Parameters
    ----------
    name : str
    objective : Objective
    reported : function
        Of scores, returns the estimate [...], nats.
    blind : int
        A place in `FREE`: adding this to a critic leaves the report unchanged.
    """

    name: str
    objective: Objective
    reported: Callable[[Scores], Tensor] = field(compare=False, repr=False)
    blind: int = field(default=0, compare=False)

    def estimate(self, scores: Tensor | Scores) -> Tensor:
        """The reported value [...] of scores [..., n, n], nats.

        ValueError: another shape.
        """
        return self.reported(_as_scores(scores))


class UnknownBound(UnknownName, KeyError):
    """Unknown bound name."""

    def __str__(self) -> str:
        return str(self.args[0])  # a KeyError prints the repr of its message


class Bounds(dict[str, Bound]):
    """Bounds by name; `smile-<clip>` is SMILE with a positive clip, nats, or inf."""

    def __missing__(self, name: str) -> Bound:
        clip = _smile_clip(name)
        if clip is None:
            names = ", ".join(self)
            raise UnknownBound(
                f"bound must be one of {names}, or smile-<clip> with a positive clip, "
                f"got {name!r}."
            )
        canonical = f"smile-{clip!r}".removesuffix(".0")
        if canonical in self:
            return self[canonical]
        return Bound(canonical, JS, partial(smile, clip=clip))


def is_bound(name: object) -> bool:
    """Whether it is the name of a bound."""
    return name in BOUNDS or _smile_clip(name) is not None


def _smile_clip(name: object) -> float | None:
    """The clip of a name `smile-<clip>`, None if it is not one."""
    if not isinstance(name, str) or not name.startswith("smile-"):
        return None
    try:
        clip = float(name.removeprefix("smile-"))
    except ValueError:
        return None
    return clip if clip > 0 else None


NWJ = Objective("nwj", partial(_without_memory, nwj), offset=1.0)
JS = Objective("js", partial(_without_memory, _jensen_shannon))
INFONCE = Objective("infonce", partial(_without_memory, infonce), free=2)
DV = Objective("dv", partial(_without_memory, _donsker_varadhan), free=1)
MINE = Objective(
    "mine",
    _moving_average,
    free=1,
    memory=(-math.inf, -math.inf),
    criterion=_donsker_varadhan,
)
MINE_ONE_STEP = Objective(
    "mine-one-step", _one_step, free=1, memory=(1.0,), criterion=_donsker_varadhan
)
ANCHOR = Objective("infonce-anchor", partial(_without_memory, _anchor))
FLO = Objective("flo", partial(_without_memory, _flo), free=2, second=torch.neg)
KL = Objective("dime-kl", partial(_without_memory, _kullback_leibler))
HELLINGER = Objective("dime-hellinger", partial(_without_memory, _hellinger))

_ALL_BOUNDS = (
    Bound("nwj", NWJ, nwj),
    Bound("js", JS, nwj),
    Bound("infonce", INFONCE, infonce, 2),
    Bound("dv", DV, _donsker_varadhan, 1),
    Bound("mine", MINE, _donsker_varadhan, 1),
    Bound("smile-1", JS, partial(smile, clip=1.0)),
    Bound("smile-5", JS, partial(smile, clip=5.0)),
    Bound("smile-inf", JS, partial(smile, clip=math.inf), 1),
    Bound("mine-one-step", MINE_ONE_STEP, _donsker_varadhan, 1),
    Bound("infonce-anchor", ANCHOR, _plug_in),
    Bound("flo", FLO, _flo, 2),
    Bound("dime-kl", KL, _plug_in),
    Bound("dime-gan", JS, _plug_in),
    Bound("dime-hellinger", HELLINGER, _plug_in),
)
BOUNDS = Bounds((bound.name, bound) for bound in _ALL_BOUNDS)
OBJECTIVES = {bound.objective.name: bound.objective for bound in _ALL_BOUNDS}


def as_bound(bound: str | Bound) -> Bound:
    """The bound of a name, or the bound itself. UnknownBound: an unknown name."""
    return bound if isinstance(bound, Bound) else BOUNDS[bound]


def share_training(bounds: Iterable[str | Bound]) -> list[tuple[Bound, ...]]:
    """Groups of bounds that train the same objective, in order of appearance.

    One training serves each group: js and every smile are in one group.
    """
    groups: dict[Objective, list[Bound]] = {}
    for bound in map(as_bound, bounds):
        group = groups.setdefault(bound.objective, [])
        group.append(bound)
    return [tuple(group) for group in groups.values()]
