"""Nearest-neighbour estimates of many subsamples at once, each equal to the estimate of
the subsample alone.

Weights [n, B] of 0 or 1 define the subsamples; columns are standardised once, by the
whole sample.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma

from infoscope.checks import require_int
from infoscope.errors import NoVariation, OutOfRange
from infoscope.estimators.column_types import as_variables
from infoscope.estimators.knn import _numba as neighbours
from infoscope.estimators.knn import estimators as knn
from infoscope.estimators.knn.estimators import (
    CONDITIONAL_MARGINS,
    PAIR_MARGINS,
    freedom_of,
    second_order_error,
)
from infoscope.estimators.scales import prepared
from infoscope.estimators.uncertainty import _kernels as kernels
from infoscope.estimators.uncertainty._kernels import sorted_lists
from infoscope.estimators.variables import Variable, join

Weights = NDArray[np.uint8]
BATCH = 192  # subsamples that are counted together: a budget of memory


@dataclass(frozen=True, eq=False)
class Sample:
    """Checked, prepared variables (x, y) or (x, y, z)."""

    variables: tuple[Variable, ...]

    @classmethod
    def of(
        cls,
        x: Any,
        y: Any,
        z: Any = None,
        margins: str = "auto",
        groups: ArrayLike | None = None,
    ) -> tuple[Sample, NDArray[np.int64] | None]:
        """The sample, and the codes of its groups [n] or None. InfoscopeError as
        `knn.mutual_information`.
        """
        named, codes = as_variables(groups, x=x, y=y, **({} if z is None else {"z": z}))
        knn.require_classes(x=named["x"], y=named["y"])
        if np.bincount(codes_of(join(*named.values()))).max() == 1:
            raise NoVariation(
                "x and y must share categories among rows, got rows that are all "
                "different."
            )
        return cls(
            tuple(prepared(v, margins, name) for name, v in named.items())
        ), codes

    @property
    def n(self) -> int:
        return self.variables[0].n

    def without_copies(
        self, codes: NDArray[np.int64] | None
    ) -> tuple[Sample, NDArray[np.int64] | None]:
        """Rows without exact copies within groups [n], and their groups."""
        if codes is None:
            return self, None
        first = knn.first_of_copies(join(*self.variables), codes)
        if first.all():
            return self, codes
        note = knn.copies_note(int(np.sum(~first)))
        kept = [variable.take(first) for variable in self.variables]
        kept[0] = replace(kept[0], notes=(*kept[0].notes, note))
        return Sample(tuple(kept)), codes[first]

    def second_order_error(self, rows: float) -> float:
        """The least standard error of categories with so many independent rows, nats; 0
        with numbers.
        """
        if join(*self.variables).kind != "discrete":
            return 0.0
        margins = PAIR_MARGINS if len(self.variables) == 2 else CONDITIONAL_MARGINS
        return second_order_error(
            freedom_of(dict(zip("xyz", self.variables)), margins), rows
        )

    def alone(self, rows: NDArray[np.bool_], k: int) -> float:
        """The estimate on some of the rows, by itself."""
        measure = (
            knn.mutual_information
            if len(self.variables) == 2
            else knn.conditional_mutual_information
        )
        return float(
            measure(*(v.take(rows) for v in self.variables), k=k, margins="given")
        )


def resampled(sample: Sample, weights: Weights, k: int) -> NDArray[np.float64]:
    """The estimate of every subsample [B], nats, with k neighbours. ValueError: k < 1,
    or too large.
    """
    smallest = int(weights.sum(axis=0, dtype=np.int64).min())
    if require_int("k", k, 1) >= smallest:
        raise OutOfRange(
            f"k must be below the size of the smallest subsample, {smallest}, got {k}."
        )
    if join(*sample.variables).kind == "discrete":
        return np.array([sample.alone(member > 0, k) for member in weights.T])
    sums, sizes, tied = Engine(sample).sums(weights, k)
    values = sums / sizes
    # then `knn` includes the radius in all counts
    for b in np.flatnonzero(tied > knn.MAX_TIED_SHARE * sizes):
        values[b] = sample.alone(weights[:, b] > 0, k)
    return values


class Engine:
    """The formula of `knn`, digamma(neighbours) + sum of factor * digamma(count in the
    margin), for many subsamples.
    """

    def __init__(self, sample: Sample):
        x, y, *z = sample.variables
        self.joint = join(*sample.variables)
        if z:
            margins = [(-1, join(x, *z)), (-1, join(y, *z)), (1, z[0])]
        else:
            margins = [
                (-1, x),
                (-1, y),
                (1, Variable(np.empty((sample.n, 0)), None, 1)),
            ]
        self.margins = [CountedMargin(factor, variable) for factor, variable in margins]
        self.codes = codes_of(self.joint)
        self.table = np.concatenate([[np.nan], digamma(np.arange(1, sample.n + 1))])

    def sums(self, weights: Weights, k: int) -> tuple[NDArray, NDArray, NDArray]:
        """Sum of the local values, number of rows that count (none alone in its class),
        and of tied ones, each [B].
        """
        classes = self.joint.categories
        sizes, counts = (
            np.bincount(self.codes),
            class_counts(self.codes, classes, weights),
        )
        if (counts == 1).any():
            weights = weights * (counts > 1).astype(np.uint8)[self.codes]
            counts = np.where(counts > 1, counts, 0)
        wanted = np.clip(counts - 1, 0, k)
        longest = list_length(wanted, counts, sizes)
        distances, ids, clean = sorted_lists(
            self.joint.continuous, longest, self.joint.codes
        )
        small = np.min_scalar_type(longest)
        sums, tied = np.zeros(weights.shape[1]), np.zeros(weights.shape[1], np.int64)
        # then every subsample is estimated alone
        if clean.mean() < 1 - knn.MAX_TIED_SHARE:
            return sums, counts.sum(axis=0), counts.sum(axis=0)
        for start in range(0, weights.shape[1], BATCH):
            some = slice(start, start + BATCH)
            member, goal = padded(weights[:, some]), padded(wanted[:, some])
            position, own = (
                np.empty(member.shape, small),
                np.empty(member.shape, np.uint8),
            )
            kernels.walk(
                ids, self.codes, member, goal.astype(small), clean, position, own
            )
            radii = Radii(
                distances, position, *kernels.extremes(position, own), own, member
            )
            measured = class_counts(self.codes, classes, own)
            total = (measured * self.table[np.maximum(goal, 1)]).sum(axis=0)
            for margin in self.margins:
                total += margin.factor * margin.sums(radii, self.table)
            sums[some] = total[: sums[some].size]
            for i in np.flatnonzero((member > own).any(axis=1)):
                self.add_from_full_row(
                    i, member, goal, member[i] > own[i], sums[some], tied[some]
                )
        return sums, counts.sum(axis=0), tied

    def add_from_full_row(
        self,
        i: int,
        member: Weights,
        wanted: NDArray,
        affected: NDArray,
        sums: NDArray,
        tied: NDArray,
    ):
        """Adds what row i contributes to the `affected` subsamples, from all its
        distances (short list, or ties).
        """
        within = np.stack([margin.distances(i) for margin in self.margins])
        joint = np.where(
            self.codes == self.codes[i],
            kernels.row_distances(self.joint.continuous, i),
            np.inf,
        )
        joint[i] = np.inf
        order = np.argsort(joint)
        goals = wanted[self.codes[i]]
        for b in np.flatnonzero(affected):
            in_order = joint[order[member[order, b] > 0]]
            radius = in_order[goals[b] - 1]
            beyond = int(
                (in_order == radius).sum() - (in_order[: goals[b]] == radius).sum()
            )
            closed = beyond > 0 or radius == 0
            tied[b] += closed
            sums[b] += self.table[goals[b] + beyond]
            for margin, distances in zip(self.margins, within):
                inside = distances <= radius if closed else distances < radius
                count = int(member[inside, b].sum()) - (closed and margin.columns > 0)
                sums[b] += margin.factor * self.table[count]


@dataclass(frozen=True, eq=False)
class Radii:
    """The radius of each row in each subsample.

    distances [n, K]; position [n, B] of the k-th neighbour; least and greatest [n]
    positions; own [n, B]: whose counts are summed; member [n, B]: counted rows.
    """

    distances: NDArray[np.float64]
    position: NDArray
    least: NDArray[np.int64]
    greatest: NDArray[np.int64]
    own: Weights
    member: Weights


class CountedMargin:
    """A variable in which neighbours are counted, with the factor of its digamma."""

    def __init__(self, factor: int, variable: Variable):
        self.factor, self.variable, self.columns = factor, variable, variable.dim
        self.codes = codes_of(variable)
        if self.columns == 1:
            self.order = np.lexsort((variable.continuous[:, 0], self.codes))
            self.values = variable.continuous[self.order, 0]
            self.bounds = np.concatenate([[0], np.cumsum(np.bincount(self.codes))])
        elif self.columns > 1:
            self.tree = neighbours.build(variable.continuous, variable.codes)
            self.order = self.tree.order

    def sums(self, radii: Radii, table: NDArray) -> NDArray[np.float64]:
        """Sum [B] over the rows of each subsample of digamma(rows strictly within
        radii, the row itself included).
        """
        if self.columns == 0:
            counts = class_counts(self.codes, self.variable.categories, radii.member)
            own = class_counts(self.codes, self.variable.categories, radii.own)
            return (own * table[np.maximum(counts, 1)]).sum(axis=0)
        o = self.order
        own, member, least, greatest = (
            radii.own[o],
            radii.member[o],
            radii.least[o],
            radii.greatest[o],
        )
        if self.columns == 1:
            before = np.zeros((len(o) + 1, own.shape[1]), np.int32)
            np.cumsum(member, axis=0, dtype=np.int32, out=before[1:])
            return kernels.sorted_sums(
                self.values, self.codes[o], self.bounds, o, radii.distances, radii.position, least, greatest, own,
                before, table,
            )  # fmt: skip
        totals = np.add.reduceat(member, self.tree.bounds[:-1], axis=0, dtype=np.uint32)
        if greatest.max() < 0:
            return np.zeros(own.shape[1])
        quanta = kernels.quantised(
            self.tree.exact, np.where(greatest < 0, 0, radii.distances[o, greatest])
        )
        return kernels.tree_sums(
            o,
            *self.tree.arrays,
            *quanta,
            radii.distances,
            radii.position,
            least,
            greatest,
            own,
            member,
            totals,
            table,
        )

    def distances(self, i: int) -> NDArray[np.float64]:
        """Distances of row i to all rows [n]: 0 without columns, infinite in other
        categories.
        """
        return np.where(
            self.codes == self.codes[i],
            kernels.row_distances(self.variable.continuous, i),
            np.inf,
        )


def codes_of(variable: Variable) -> NDArray[np.intp]:
    return np.zeros(variable.n, np.intp) if variable.codes is None else variable.codes


def class_counts(codes: NDArray, classes: int, weights: Weights) -> NDArray[np.int64]:
    """How many rows of each class are in each subsample [classes, B]."""
    if classes == 1:
        return weights.sum(axis=0, dtype=np.int64)[None]
    counts = np.zeros((classes, weights.shape[1]), np.int64)
    kernels.add_by_class(codes, weights, counts)
    return counts


def padded(columns: NDArray) -> NDArray:
    """The columns and as many of zeros as make whole vectors of them."""
    rows, count = columns.shape
    return np.hstack([columns, np.zeros((rows, -count % kernels.LANES), columns.dtype)])


def list_length(k: NDArray, counts: NDArray, sizes: NDArray) -> int:
    """How many neighbours to keep so that nearly every subsample finds its k-th among
    them (5 standard deviations).

    k and counts [classes, B]; sizes [classes]. A multiple of 8, or all.
    """
    share = np.where(counts > 0, counts / sizes[:, None], 1.0)
    wanted = np.ceil((k + (5 * np.sqrt(k) + 3) * np.sqrt(1 - share)) / share).max(
        axis=1
    )
    return int(-(-max(1, np.minimum(wanted, sizes - 1).max()) // 8) * 8)
