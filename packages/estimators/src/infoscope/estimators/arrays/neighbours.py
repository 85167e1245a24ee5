"""Nearest neighbours on pairs: the estimators of `knn`, and two that reduce their bias.

Intervals are of sampling error only, by half-samples. `estimate(x, y)` without a method gives one for the true value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from math import sqrt
from typing import ClassVar

import numpy as np
from scipy.special import digamma, gammaln

from infoscope.checks import require_int
from infoscope.errors import InvalidInput, OutOfRange
from infoscope.estimators import uncertainty
from infoscope.estimators.arrays.protocol import ANY, NUMBERS, Described
from infoscope.estimators.knn import estimators as knn
from infoscope.estimators.knn.search import nearest
from infoscope.estimators.pairs import Pairs
from infoscope.estimators.result import Estimate, mean_influence, mean_of, root_sum_squares
from infoscope.estimators.scales import prepared, with_repeated_values, within_steps
from infoscope.estimators.variables import Variable, join, of_kept


@dataclass(frozen=True)
class Ksg(Described):
    """KSG 1 of numbers, Ross' estimator with one discrete variable, stratified where mixed (`knn`)."""

    k: int = 5
    margins: str = "auto"

    name: ClassVar[str] = "ksg"
    takes: ClassVar[str] = ANY
    limit: ClassVar[str] = "I"
    cost: ClassVar[str] = "n log n in few columns, n² in many; 0.5 s"
    source: ClassVar[str] = "Kraskov et al. 2004, eq. 8; Ross 2014; Mesner & Shalizi 2019 for ties"
    form: ClassVar[str] = "ksg1"

    def estimate(self, pairs: Pairs, generator: np.random.Generator) -> Estimate:
        self.require(pairs)
        if pairs.x.dim and pairs.y.dim and self.form == "ksg1":
            pairs = replace(pairs, x=with_repeated_values(pairs.x), y=with_repeated_values(pairs.y))
        draws, notes = _with_noise_in_steps(pairs, generator)
        each = [
            knn.mutual_information(
                one.x, one.y, self.k, method=self.form, margins=self.margins, groups=one.groups, local=True
            )
            for one in draws
        ]
        found = each[0] if len(each) == 1 else _mean_of_draws(each, notes)
        return with_half_samples(found, draws[0], generator, self.k, self.margins)


def _with_noise_in_steps(
    pairs: Pairs, generator: np.random.Generator, count: int = 5
) -> tuple[list[Pairs], tuple[str, ...]]:
    """The pairs; where only one variable is rounded, several draws with noise within its steps, and a note."""
    if not (pairs.x.dim and pairs.y.dim):
        return [pairs], ()
    coarse = knn.rounded_variables({"x": pairs.x, "y": pairs.y})
    draws = [
        replace(pairs, **{name: within_steps(getattr(pairs, name), generator) for name in coarse})
        for _ in range(count if coarse else 1)
    ]
    if not coarse or knn.rounded_variables({"x": draws[0].x, "y": draws[0].y}):  # ties that are no rounding
        return [pairs], ()
    return draws, (
        f"Values of {coarse[0]} are rounded, those of the other variable are not: ties are broken by uniform noise "
        f"within a step (the mean of {count} draws), which changes no information.",
    )


def _mean_of_draws(each: list[Estimate], notes: tuple[str, ...]) -> Estimate:
    """The mean of estimates with different noise; its error is that of one, which includes the noise."""
    local = np.mean([one.local for one in each], axis=0)
    found = max(each, key=lambda one: one.standard_error)
    shared = dict.fromkeys(note for one in each for note in one.notes)
    return replace(found, value=float(np.mean(each)), local=local, notes=(*shared, *notes))


@dataclass(frozen=True)
class Ksg2(Ksg):
    """KSG 2: rectangles instead of squares. Settings as those of `Ksg`."""

    name: ClassVar[str] = "ksg-2"
    takes: ClassVar[str] = NUMBERS
    source: ClassVar[str] = "Kraskov et al. 2004, eq. 9"
    form: ClassVar[str] = "ksg2"


@dataclass(frozen=True)
class _Corrected(Described):
    """Base of methods whose half-samples are measured one by one."""

    def measure(self, pairs: Pairs) -> Estimate:
        raise NotImplementedError

    def estimate(self, pairs: Pairs, generator: np.random.Generator) -> Estimate:
        self.require(pairs)
        return with_half_samples(self.measure(pairs), pairs, generator, self.k, measure=self.measure)


@dataclass(frozen=True)
class KsgLnc(_Corrected):
    """KSG 2, corrected for local non-uniformity: the principal-axes box of the k neighbours replaces their rectangle
    where it is smaller by a factor below `alpha`.

    In many columns it always is, and the estimate is then far above 0 for independent rows, too.

    k      neighbours; at least the columns of x and y together
    alpha  None: the share that falls below it in 1 of 200 boxes of evenly spread neighbours (the paper's rule)
    """

    k: int = 10
    alpha: float | None = None
    margins: str = "auto"

    name: ClassVar[str] = "ksg-lnc"
    takes: ClassVar[str] = NUMBERS
    limit: ClassVar[str] = "I"
    cost: ClassVar[str] = "as ksg, and n (k + d) d²; k at least d; 7 s"
    source: ClassVar[str] = "Gao, Ver Steeg & Galstyan 2015, section 4"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.alpha is not None and not 0 < self.alpha <= 1:
            raise OutOfRange(f"alpha must be a share above 0 and at most 1, or None to find it, got {self.alpha!r}.")

    def measure(self, pairs: Pairs) -> Estimate:
        dims = (pairs.x.dim, pairs.y.dim)
        if require_int("k", self.k, 1) < sum(dims):
            raise OutOfRange(
                f"k must be at least {sum(dims)}, the columns of x and y, got {self.k}; reduce the columns or give k."
            )
        plain = knn.mutual_information(
            pairs.x, pairs.y, self.k, method="ksg2", margins=self.margins, groups=pairs.groups, local=True
        )
        kept = np.isfinite(plain.local)
        variables = (prepared(variable, self.margins).continuous[kept] for variable in (pairs.x, pairs.y))
        points = np.hstack(list(variables))
        groups = of_kept(pairs.groups, kept)
        ids = nearest(points, self.k, groups=groups).ids
        parts = -(-points.shape[1] * ids.size // 2_000_000)  # in memory at once
        shares = np.concatenate([
            _log_volume_ratios(points[ids[rows]] - points[rows, None], dims)
            for rows in np.array_split(np.arange(len(points)), parts)
        ])  # fmt: skip
        whole = (ids >= 0).all(axis=1)
        if groups is not None:  # neighbours of one group lie together and fill no box
            whole &= (np.diff(np.sort(groups[ids], axis=1), axis=1) > 0).all(axis=1)
        alpha = _alpha_of_even_density(self.k, dims) if self.alpha is None else self.alpha
        smaller = whole & (shares < np.log(alpha))
        local = plain.local.copy()
        local[kept] -= np.where(smaller, shares, 0.0)
        influence = mean_influence(local[kept], groups)
        return replace(
            plain,
            value=float(local[kept].mean()),
            standard_error=root_sum_squares(influence),
            method=f"{plain.method} with local non-uniformity correction",
            settings=f"{plain.settings}, alpha = {alpha:.3g}, {100 * smaller.mean():.0f} % of the rows corrected",
            local=local,
            influence=influence,
        )


@dataclass(frozen=True)
class KlWeighted(_Corrected):
    """H(x) + H(y) - H(x, y) of nearest neighbours, weighted over their number so that leading biases cancel.

    Weights on up to k neighbours cancel d / 4 powers of the radius, or as many as their norm `largest` allows.
    """

    k: int = 20
    largest: float = 15.0
    margins: str = "auto"

    name: ClassVar[str] = "kl-weighted"
    takes: ClassVar[str] = NUMBERS
    limit: ClassVar[str] = "I"
    cost: ClassVar[str] = "n log n in few columns, n² in many; 1 s"
    source: ClassVar[str] = "Berrett, Samworth & Yuan 2019, section 2; of pairs: Berrett & Samworth 2019"

    def measure(self, pairs: Pairs) -> Estimate:
        if not self.largest >= 1:
            raise OutOfRange(f"largest must be at least 1, got {self.largest!r}.")
        knn.checked(self.k, pairs.n, self.margins, pairs.groups)
        variables = [prepared(variable, self.margins, name) for name, variable in (("x", pairs.x), ("y", pairs.y))]
        joint = join(*variables)
        if _weights(self.k, joint.dim, self.largest)[2] == 0 < joint.dim // 4:
            raise OutOfRange(f"x and y must have fewer columns for {self.name} with k = {self.k}, got {joint.dim}.")
        local = -self._local_entropy(joint, pairs.groups)
        for variable in variables:
            local += self._local_entropy(variable, pairs.groups)
        method = "weighted Kozachenko-Leonenko" + (", rank-normal margins" if joint.ranked else "")
        return mean_of(local, pairs.groups, method=method, notes=joint.notes, settings=f"k = {self.k}")

    def _local_entropy(self, variable: Variable, groups: np.ndarray | None) -> np.ndarray:
        """H row by row [n], nats, in the unit of the scaled columns, which cancels."""
        numbers, weights, _ = _weights(self.k, variable.dim, self.largest)
        found = nearest(variable.continuous, self.k, groups=groups).distances[:, numbers - 1]
        if not (found > 0).all() or not np.isfinite(found).all():
            short = np.sum(~((found > 0) & np.isfinite(found)).all(axis=1))
            raise InvalidInput(
                f"x and y must have k = {self.k} neighbours of every row, in other groups and not at distance 0, got "
                f'{short} rows without; break ties with variables.jitter, or use method="ksg".'
            )
        others = knn.others_and_self(variable.n, groups) - 1
        logs = (
            variable.dim * np.log(2 * found) + np.log(np.broadcast_to(others, variable.n))[:, None] - digamma(numbers)
        )
        return logs @ weights


def _log_volume_ratios(away: np.ndarray, dims: tuple[int, int]) -> np.ndarray:
    """Log volume [n] of the principal-axes box of differences away [n, k, d] less that of their rectangle; 0: none."""
    extent = np.abs(away)
    with np.errstate(divide="ignore"):
        rectangle = dims[0] * np.log(extent[:, :, : dims[0]].max(axis=(1, 2)))
        rectangle += dims[1] * np.log(extent[:, :, dims[0] :].max(axis=(1, 2)))
        axes = np.linalg.eigh(np.swapaxes(away, 1, 2) @ away)[1]
        box = np.log(np.abs(away @ axes).max(axis=1)).sum(axis=1)
    filled = np.isfinite(rectangle) & np.isfinite(box)
    return np.where(filled, box, 0.0) - np.where(filled, rectangle, 0.0)


@cache
def _alpha_of_even_density(k: int, dims: tuple[int, int], boxes: int = 20_000) -> float:
    """The share of its rectangle that the box of k neighbours falls below once in 200 times where density is even."""
    generator, found, left = np.random.default_rng(0), [], boxes
    while left > 0:
        some = min(left, max(1, 2_000_000 // (k * sum(dims))))
        found.append(_log_volume_ratios(generator.uniform(-1, 1, (some, k, sum(dims))), dims))
        left -= some
    return float(np.exp(np.quantile(np.concatenate(found), 1 / 200)))


@cache
def _weights(k: int, dim: int, largest: float) -> tuple[np.ndarray, np.ndarray, int]:
    """Numbers of neighbours [m], their weights [m] of sum 1, and how many powers of the radius they free of bias."""
    numbers = np.unique(np.arange(1, dim + 1) * k // dim)
    numbers = numbers[numbers > 0]
    best = np.full(len(numbers), 1 / len(numbers)), 0
    for cancelled in range(1, min(dim // 4, len(numbers) - 1) + 1):
        powers = np.arange(cancelled + 1)[:, None] * 2 / dim
        target = np.zeros(cancelled + 1)
        target[0] = 1.0
        weights = np.linalg.lstsq(np.exp(gammaln(numbers + powers) - gammaln(numbers)), target, rcond=None)[0]
        if root_sum_squares(weights) > largest:
            break
        best = weights, cancelled
    return numbers, *best


_TOO_FEW = (
    "Too few rows, groups, or rows of a class for half-samples: the standard error takes the neighbours as fixed and "
    "may be a quarter too small."
)


def with_half_samples(
    found: Estimate, pairs: Pairs, generator: np.random.Generator, k: int, margins: str = "auto",
    measure: Callable[[Pairs], Estimate] | None = None, count: int = 40, most: int = 1_000,
) -> Estimate:  # fmt: skip
    """The estimate with the larger of its standard error and that from `count` half-samples of at most `most` rows.

    Groups stay whole. `measure` estimates each (None: KSG with k and margins, all at once). Not for categories alone.
    """
    if not (pairs.x.dim or pairs.y.dim):
        return found
    some = pairs
    if pairs.n > most:
        order = generator.permutation(int(pairs.units.max()) + 1)[pairs.units]
        some = pairs.take(np.sort(np.argsort(order, kind="stable")[:most]))
    try:
        if measure is None:
            drawn = uncertainty.subsample(some.x, some.y, None, k, count, some.groups, generator, margins)
            error, degrees = drawn.standard_error, drawn.degrees
        else:
            plan = uncertainty.half_samples(some.n, count, generator, some.groups)
            values = [measure(some.take(np.flatnonzero(half))).value for half in plan.weights.T]
            half = plan.units // 2
            error, degrees = np.std(values, ddof=1) * sqrt(half / (plan.units - half)), min(plan.count, plan.units) - 1
    except ValueError:
        return replace(found, notes=(*found.notes, _TOO_FEW))
    own = found.standard_error * sqrt(pairs.n / some.n)  # of so many rows
    if not own > 0:
        return found
    ratio = max(1.0, float(error) / own)
    influence = None if found.influence is None else ratio * found.influence
    degrees = min(found.degrees, degrees)
    return replace(found, standard_error=ratio * found.standard_error, degrees=degrees, influence=influence)


METHODS: tuple[Described, ...] = (Ksg(), Ksg2(), KsgLnc(), KlWeighted())
