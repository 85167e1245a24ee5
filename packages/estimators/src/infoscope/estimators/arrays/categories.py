"""Two categorical variables: H(x) + H(y) - H(x, y) from counts.

With few rows per cell the plug-in estimate is too high by more than (cells - 1) / (2
n). The standard error includes the method's estimate for permuted categories and its
distance from a method that allows for unseen cells. It is at least that of independent
variables (2 n times the estimate is chi-squared).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import hypot, nan, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from infoscope.checks import require_int
from infoscope.errors import OutOfRange, WrongType
from infoscope.estimators import discrete
from infoscope.estimators.arrays.protocol import CATEGORIES, Described
from infoscope.estimators.knn import estimators as knn
from infoscope.estimators.pairs import Pairs
from infoscope.estimators.result import Estimate, mean_influence, root_sum_squares
from infoscope.estimators.variables import factorise, joint_codes
from infoscope.notes import Note

Codes = NDArray[np.intp]
Values = NDArray[np.float64]
Groups = NDArray | None

PERMUTATIONS = 16  # of categories, for the bias of an estimate
MIN_BIAS = 0.02  # nats; a smaller mean for permuted categories is ignored


@dataclass(frozen=True, eq=False)
class Table:
    """Categories x and y [n], and their cells."""

    x: Codes
    y: Codes

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.x)

    @cached_property
    def cells(self) -> Codes:
        """The code [n] of each row's cell, among the cells that occur."""
        codes, _ = factorise(self.x * (int(self.y.max()) + 1) + self.y)
        return codes

    @cached_property
    def counts(self) -> tuple[Values, Values, Values]:
        """Numbers of rows of the categories of x, of y and of cells that occur."""
        x = np.bincount(self.x).astype(float)
        y = np.bincount(self.y).astype(float)
        return x, y, np.bincount(self.cells).astype(float)

    @cached_property
    def ratios(self) -> Values:
        """p(x, y) / (p(x) p(y)) at each row [n]."""
        x, y, cells = self.counts
        return cells[self.cells] * self.n / (x[self.x] * y[self.y])

    def scaled_to(self, rows: float) -> tuple[Values, Values, Values]:
        """The counts scaled to a total of `rows`."""
        x, y, cells = self.counts
        scale = rows / self.n
        return x * scale, y * scale, cells * scale

    def rows_of(self, x: Values, y: Values, cells: Values) -> Values:
        """H(x) + H(y) - H(x, y) at every row [n], from values of categories and cells."""
        return x[self.x] + y[self.y] - cells[self.cells]

    def independent_rows(self, groups: Groups) -> float:
        """Number of independent rows: rows / design effect of groups (Rao & Scott 1981)."""
        if groups is None:
            return self.n
        x, y, _ = self.counts
        share_x = x[self.x] / self.n
        share_y = y[self.y] / self.n
        excess = self.ratios - 1
        square = self.ratios.mean() - 1
        odds = (1 / share_x - 1) * (1 / share_y - 1)
        single = (odds - 2 * excess + square).sum()
        of_cells = self._squares(groups, self.cells, share_x * share_y)
        of_x = self._squares(groups, self.x, share_x)
        of_y = self._squares(groups, self.y, share_y)
        together = of_cells - of_x - of_y
        sizes = np.bincount(groups).astype(float)
        excess_of_groups = np.bincount(groups, weights=excess)
        of_squares = (1 + square) * (sizes**2).sum()
        of_excess = 2 * (sizes * excess_of_groups).sum()
        together += of_squares - of_excess
        return float(self.n * single / together)

    def _squares(self, groups: NDArray, codes: Codes, shares: Values) -> float:
        """Sum over groups and categories of squared numbers of rows / share [n]."""
        both, _ = joint_codes((groups, codes))
        rows = np.bincount(both)[both]
        return float((rows / shares).sum())


@dataclass(frozen=True, eq=False)
class Measured:
    """An estimate, nats.

    influence  [n], first-order, of rows, up to a constant
    local      [n], local values; None: the estimate has no such values
    """

    value: float
    influence: Values
    local: Values | None = None


@dataclass(frozen=True)
class _CountMethod(Described):
    """Base: an estimate from a table of counts."""

    takes: ClassVar[str] = CATEGORIES
    cost: ClassVar[str] = "n log n; 0.01 s for 100 x 100 cells"
    title: ClassVar[str]
    cross_check: ClassVar[str] = ""  # another method that allows for unseen cells

    def measure(self, table: Table, rows: float) -> Measured:
        """The estimate from a table that has the information of `rows` independent rows."""
        raise NotImplementedError

    def described(self, table: Table, rows: float) -> str:
        """The settings, in words."""
        return ""

    def estimate(self, pairs: Pairs, generator: np.random.Generator) -> Estimate:
        """I(x; y), nats, with the error."""
        self.require(pairs)
        knn.require_repeats(x=pairs.x, y=pairs.y)
        table = Table(pairs.x.strata, pairs.y.strata)
        rows = table.independent_rows(pairs.groups)
        measured = self.measure(table, rows)
        influence = mean_influence(measured.influence, pairs.groups)
        bias = self._bias_when_permuted(table, generator)
        distance = self._distance_to_cross_check(table, rows, measured.value)
        notes: tuple[str, ...] = ()
        if rows < table.n:
            sentence = (
                "Rows of a group depend on one another: the counts vary like those "
                f"of {rows:,.0f} independent rows."
            )
            notes = (Note(sentence, "dependent rows", "groups"),)
        freedom = (pairs.x.categories - 1) * (pairs.y.categories - 1)
        error_at_independence = sqrt(freedom / 2) / rows
        error = max(root_sum_squares(influence), error_at_independence)
        return Estimate(
            measured.value,
            hypot(error, bias, distance),
            n=table.n,
            method=self.title,
            notes=notes,
            settings=self.described(table, rows),
            units=len(influence),
            degrees=len(influence) - 1 if len(influence) > 1 else nan,
            local=measured.local,
            influence=influence,
        )

    def _bias_when_permuted(
        self,
        table: Table,
        generator: np.random.Generator,
    ) -> float:
        """The mean estimate for permuted categories, nats.

        0 unless it is above MIN_BIAS and above 3 standard errors.
        """
        x, y, _ = table.counts
        freedom = (len(x) - 1) * (len(y) - 1)
        # the bias of the plug-in estimate, which is larger, is at most MIN_BIAS
        if freedom <= 2 * table.n * MIN_BIAS:
            return 0.0
        values = []
        for _ in range(PERMUTATIONS):
            permuted = Table(table.x, generator.permutation(table.y))
            values.append(self.measure(permuted, table.n).value)
        bias = float(np.mean(values))
        error = float(np.std(values)) / sqrt(PERMUTATIONS)
        return bias if abs(bias) > max(MIN_BIAS, 3.0 * error) else 0.0

    def _distance_to_cross_check(
        self, table: Table, rows: float, value: float
    ) -> float:
        """The distance to a method that allows for unseen cells, nats.

        0 unless more than 5 % of the rows are alone in their cells.
        """
        _, _, cells = table.scaled_to(rows)
        is_alone = np.rint(cells)[table.cells] <= 1
        if not self.cross_check or is_alone.mean() <= 0.05:
            return 0.0
        other: Any = next(
            method for method in METHODS if method.name == self.cross_check
        )
        return abs(other.measure(table, rows).value - value)


@dataclass(frozen=True)
class PlugIn(_CountMethod):
    """The information of the observed frequencies: too high with few rows a cell."""

    name: ClassVar[str] = "plug-in"
    use: ClassVar[str] = "counts of few categories, hundreds of rows a cell"
    source: ClassVar[str] = "Roulston 1999, for bias and error"
    title: ClassVar[str] = "plug-in"

    def measure(self, table: Table, rows: float) -> Measured:
        local = np.log(table.ratios)
        return Measured(float(local.mean()), local, local)


@dataclass(frozen=True)
class MillerMadow(_CountMethod):
    """The plug-in estimate less its bias.

    The bias is (cells - categories of x - categories of y + 1) / (2 n), of cells and
    categories that occur.
    """

    name: ClassVar[str] = "miller-madow"
    use: ClassVar[str] = "counts of few categories, tens of rows a cell"
    source: ClassVar[str] = "Miller 1955"
    title: ClassVar[str] = "Miller-Madow"

    def measure(self, table: Table, rows: float) -> Measured:
        x, y, cells = map(len, table.counts)
        bias = (cells - x - y + 1) / (2 * rows)
        local = np.log(table.ratios) - bias
        return Measured(float(local.mean()), local, local)


@dataclass(frozen=True)
class Grassberger(Described):
    """Digamma of counts instead of logarithms: the estimate of `knn` for categories."""

    name: ClassVar[str] = "grassberger"
    takes: ClassVar[str] = CATEGORIES
    use: ClassVar[str] = "counts of some categories, several rows a cell"
    cost: ClassVar[str] = "n log n; 0.01 s for 100 x 100 cells"
    source: ClassVar[str] = "Grassberger 1988, without its alternating term"

    def estimate(self, pairs: Pairs, generator: np.random.Generator) -> Estimate:
        """I(x; y), nats."""
        self.require(pairs)
        k = min(5, pairs.n - 1)
        return knn.mutual_information(
            pairs.x, pairs.y, k, groups=pairs.groups, local=True
        )


@dataclass(frozen=True)
class ChaoShen(_CountMethod):
    """Entropies that allow for unseen categories, with errors by the jackknife.

    The share of rows that are alone in their categories shows how many are unseen.
    """

    name: ClassVar[str] = "chao-shen"
    use: ClassVar[str] = (
        "labels of many classes with few rows each, some classes never seen"
    )
    cost: ClassVar[str] = "n log n; 0.1 s for 100 x 100 cells"
    source: ClassVar[str] = "Chao & Shen 2003, eqs. 5 and 7"
    title: ClassVar[str] = "Chao-Shen"
    cross_check: ClassVar[str] = "nsb"

    def measure(self, table: Table, rows: float) -> Measured:
        entropies, values = [], []
        for scaled in table.scaled_to(rows):
            counts = np.maximum(1.0, np.rint(scaled))
            entropies.append(discrete.chao_shen(counts))
            values.append(_jackknife_values(counts))
        x, y, cells = entropies
        return Measured(x + y - cells, table.rows_of(*values))


@dataclass(frozen=True)
class _WithPossibleCategories(_CountMethod):
    """Base: estimates that need the numbers of possible categories of x and of y.

    None: the numbers of categories that occur.
    """

    categories: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.categories is None:
            return
        if not isinstance(self.categories, tuple) or len(self.categories) != 2:
            raise WrongType(
                "categories must be two numbers, of x and of y, got "
                f"{self.categories!r}."
            )
        for count in self.categories:
            require_int("categories", count, 1)

    def possible(self, table: Table) -> tuple[int, int]:
        """Numbers of possible categories of x and of y. OutOfRange: fewer than occur."""
        x, y, _ = table.counts
        occur = (len(x), len(y))
        possible = self.categories or occur
        if possible[0] < occur[0] or possible[1] < occur[1]:
            raise OutOfRange(
                f"categories must be at least those that occur, {occur}, got "
                f"{possible}."
            )
        return possible

    def possible_with_cells(self, table: Table) -> tuple[int, int, int]:
        """Numbers of possible categories of x and of y, and of cells."""
        x, y = self.possible(table)
        return x, y, x * y


@dataclass(frozen=True)
class Shrinkage(_WithPossibleCategories):
    """Information of a table shrunk towards equal cells: low with few rows a cell.

    The error ignores the fit of the shrinkage.

    categories  numbers of possible categories of x and of y; None: of those that occur
    """

    name: ClassVar[str] = "shrinkage"
    use: ClassVar[str] = (
        "labels of many classes with few rows each, about equally frequent"
    )
    cost: ClassVar[str] = "n log n; 0.03 s for 100 x 100 cells"
    source: ClassVar[str] = "Hausser & Strimmer 2009, section 2"
    title: ClassVar[str] = "James-Stein"
    cross_check: ClassVar[str] = "nsb"

    def described(self, table: Table, rows: float) -> str:
        """The settings, in words."""
        return f"{self.weight(table, rows):.2f} of the way to equal cells"

    def weight(self, table: Table, rows: float) -> float:
        """The weight of equal cells."""
        _, _, cells = table.scaled_to(rows)
        _, _, possible = self.possible_with_cells(table)
        return discrete.shrinkage_weight(cells, possible)

    def measure(self, table: Table, rows: float) -> Measured:
        weight = self.weight(table, rows)
        entropies = []
        log_shares = []
        for counts, possible in zip(table.counts, self.possible_with_cells(table)):
            entropies.append(discrete.shrinkage(counts, possible, weight))
            shares = (1 - weight) * counts / table.n + weight / possible
            log_shares.append(-np.log(shares))
        x, y, cells = entropies
        return Measured(x + y - cells, (1 - weight) * table.rows_of(*log_shares))


@dataclass(frozen=True)
class Nsb(_WithPossibleCategories):
    """Three posterior means under a nearly uniform prior of the entropy.

    categories  numbers of possible categories of x and of y; None: of those that occur
    """

    name: ClassVar[str] = "nsb"
    use: ClassVar[str] = (
        "labels of many classes with few rows each, whose number is known"
    )
    cost: ClassVar[str] = (
        "n log n + different counts by 400 steps; 0.4 s for 100 x 100 cells"
    )
    source: ClassVar[str] = "Nemenman, Shafee & Bialek 2002; Wolpert & Wolf 1995"
    title: ClassVar[str] = "NSB"
    cross_check: ClassVar[str] = "chao-shen"

    def described(self, table: Table, rows: float) -> str:
        """The settings, in words."""
        of_x, of_y = self.possible(table)
        return f"K = {of_x:,} x {of_y:,} possible cells"

    def measure(self, table: Table, rows: float) -> Measured:
        counts = table.scaled_to(rows)
        possible = self.possible_with_cells(table)
        (x, y, cells), slopes = zip(*map(discrete.nsb, counts, possible))
        return Measured(x + y - cells, rows * table.rows_of(*slopes))


def _jackknife_values(counts: Values) -> Values:
    """-(n - 1) times Chao & Shen's entropy without one row of each category [m].

    Differences of these values are influences of rows.
    """
    sizes, which = np.unique(counts, return_inverse=True)
    values = np.empty(len(sizes))
    for place, size in enumerate(sizes):
        first = np.flatnonzero(counts == size)[0]
        fewer = counts.copy()
        fewer[first] -= 1
        values[place] = discrete.chao_shen(fewer) if fewer.any() else 0.0
    scale = counts.sum() - 1
    return -scale * values[which.reshape(-1)]


METHODS: tuple[Described, ...] = (
    PlugIn(),
    MillerMadow(),
    Grassberger(),
    ChaoShen(),
    Shrinkage(),
    Nsb(),
)
