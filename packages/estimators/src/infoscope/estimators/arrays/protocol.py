"""What an estimator of mutual information between two arrays is, and the checked sample that it is given.

A method is any object with a `name` and `estimate(pairs, generator)`; nothing is to be inherited. Those of infoscope
also say what they take, what they are in the limit, what they cost and where they come from (`Described`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from infoscope.checks import require_int
from infoscope.errors import NoVariation, TooFew, UnknownName, WrongType
from infoscope.estimators.resampling import group_codes
from infoscope.estimators.result import Estimate
from infoscope.estimators.serial import SerialDependence, serial_dependence
from infoscope.estimators.variables import (
    Variable,
    as_clear_variable,
    far_values,
    require_same_order,
    same_length,
)

NUMBERS = "numbers"  # on both sides
CATEGORIES = "categories"  # on both sides
LABELS = "labels"  # one side of categories alone, anything on the other
NUMBERS_OR_LABELS = "numbers or labels"  # numbers against numbers, or against categories alone
ANY = "anything"
TAKES = {
    NUMBERS: "numbers on both sides",
    NUMBERS_OR_LABELS: "numbers on both sides, or categories on one of them",
    CATEGORIES: "categories on both sides",
    LABELS: "categories on one side",
    ANY: "numbers, categories or both on either side",
}
_FEWEST = 20  # rows of a fold
_FEW_COLUMNS = 8
_FEW_COPIES, _RARE_SHARE = 10, 0.02  # as often as this, or in this share of the rows, a number may be copied
_NEARLY_ALL = 0.9  # of the rows
_SURELY = 5.0  # events that are expected where none is seen: by chance once in 150
_FEWER = 0.25  # of the pairs with differing labels that are expected where rows are drawn anew
_NEAR = 0.1  # of the distance of the quartiles
_FEW_BITS = 16  # significant
_STEPS = tuple(digit * 10.0**power for power in range(12, -18, -1) for digit in (5, 1))  # to which people round
_DIGITS = 9  # to which they may; beyond it nearly any number is a multiple
_ROUNDING = 8 * np.finfo(float).eps
_OF_TEN = range(1, len(_STEPS), 2)  # their places among the steps
_NO_ROUNDER = 0.8  # of their multiples are none of five times it
_BEYOND_CHANCE = 2.0  # times as many equal rows as when the sides are paired at random


@dataclass(frozen=True, eq=False)
class Pairs:
    """A checked sample of pairs.

    x, y    what was given, typed column by column
    groups  codes 0, 1, ... int64 [n] of rows that depend on one another; None: every row is on its own
    serial  that rows which follow one another are alike, where nobody named groups; None: that is not seen
    notes   what the reader of an estimate must know of the sample, one sentence each
    """

    x: Variable
    y: Variable
    groups: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    serial: SerialDependence | None = None

    @property
    def n(self) -> int:
        return self.x.n

    @cached_property
    def units(self) -> np.ndarray:
        """Codes int64 [n] of what must not be parted: the groups, or the rows."""
        return np.arange(self.n) if self.groups is None else self.groups

    def folds(self, count: int, generator: np.random.Generator) -> np.ndarray:
        """A fold 0..count-1 for every row, int [n]: whole units, of sizes as equal as those allow.

        ValueError: fewer than `count` units, or fewer than 20 rows a fold.
        """
        sizes = np.bincount(self.units)
        if len(sizes) < require_int("folds", count, 2) or self.n < _FEWEST * count:
            asked, got = ("", "") if self.groups is None else (f" in {count} groups", f" in {len(sizes)}")
            raise TooFew(
                f"x and y must have at least {_FEWEST * count} rows{asked} for {count} folds, got {self.n} rows{got}."
            )
        order = generator.permutation(len(sizes))
        order = order[np.argsort(-sizes[order], kind="stable")]
        of_unit, filled = np.empty(len(sizes), np.intp), np.zeros(count)
        if sizes.max() == 1:
            of_unit[order] = np.arange(len(sizes)) % count
        else:
            for unit in order:  # the largest first, each to the fold that has least
                of_unit[unit] = filled.argmin()
                filled[of_unit[unit]] += sizes[unit]
        return of_unit[self.units]


def as_pairs(x: Any, y: Any, groups: ArrayLike | None = None) -> Pairs:
    """x and y as a checked sample; see `estimate` for what is taken and what is refused."""
    require_same_order(x=x, y=y, groups=groups)
    left, right = as_clear_variable("x", x), as_clear_variable("y", y)
    n = same_length(x=left, y=right)
    for name, side in (("x", left), ("y", right)):
        if not side.dim and side.categories == 1:
            raise NoVariation(f"{name} must have more than one category, got one in all {n} rows.")
    notes = left.notes + right.notes + _far_values("x", left) + _far_values("y", right)
    if groups is not None:
        codes = group_codes(n, groups)[1]
        if codes.max() + 1 < n:
            return Pairs(left, right, codes, notes)
        notes += (f"Each of the {n:,} groups is one row, so groups say nothing here.",)
    serial = serial_dependence(left, right)
    notes += () if serial is None else (f"{serial}.",)
    repeated, codes, certain = _copies(left, right)
    if not repeated:
        return Pairs(left, right, None, notes, serial)
    there = f"{repeated:,} of {n:,} rows equal an earlier one in every column"
    if not certain:
        note = f"{there}. If they are copies, they look like information: name them as groups, or drop them."
        return Pairs(left, right, None, (*notes, note), serial)
    note = f"{there}: copies of a row are kept together, as one group."
    return Pairs(left, right, codes, (*notes, note), serial)


def _far_values(name: str, side: Variable) -> tuple[str, ...]:
    """A sentence where values may stand for what is missing."""
    if not side.dim or not (found := far_values(side.continuous)):
        return ()
    place, value, rows = found[0]
    more = f" (and {len(found) - 1} more such values)" if len(found) > 1 else ""
    of = f"Column {place + 1} of the numbers of {name}" if side.dim > 1 else name
    return (
        f"{of} is {value:g} in {rows:,} of {side.n:,} rows, far from all others{more}: if that stands for a missing "
        "value, leave these rows out; here it counts as a value.",
    )


def _copies(x: Variable, y: Variable) -> tuple[int, np.ndarray, bool]:
    """How many rows equal an earlier one, 0 where coarse values do so by chance, codes [n] of equal rows, and whether
    they are surely copies.
    """
    codes = _codes_of_rows(x, y)
    repeated = x.n - (int(codes.max()) + 1)
    if not repeated or not (x.dim or y.dim):  # categories alone repeat
        return 0, codes, False
    if x.dim and y.dim:
        if (apart := _at_common_values(x, y)).any():
            x, y, codes = x.take(~apart), y.take(~apart), codes.copy()
            codes[apart] = codes.max() + 1 + np.arange(apart.sum())
            repeated = x.n - len(np.unique(codes[~apart]))
        mixed = _codes_of_rows(x, y.take(np.random.default_rng(0).permutation(y.n)))
        return (repeated if repeated > _BEYOND_CHANCE * (x.n - int(mixed.max()) - 1) else 0), codes, True
    numbers, labels = (x, y.codes) if x.dim else (y, x.codes)
    beyond, surely = _beside_labels(numbers, labels, codes)
    return (repeated if beyond else 0), codes, surely


def _at_common_values(x: Variable, y: Variable) -> np.ndarray:
    """Which rows [n] have a value on either side that many rows have, such as 0 beside 0, and are no copies for that;
    none where nearly all rows are such.
    """
    common = np.ones(x.n, bool)
    for side in (x, y):
        codes = _codes_of_rows(side)
        common &= np.bincount(codes)[codes] > max(_FEW_COPIES, _RARE_SHARE * x.n)
    return common if common.mean() < _NEARLY_ALL else np.zeros(x.n, bool)


def _beside_labels(numbers: Variable, labels: np.ndarray, codes: np.ndarray) -> tuple[bool, bool]:
    """Whether rows of equal numbers [n] beside labels [n] look like copies, and whether they surely are; codes [n] of
    equal rows.

    They hardly differ in their labels, surely never, as some would if those were drawn anew; and there are more than
    the resolution of the numbers explains: of all columns as if they did not depend on one another, surely of the
    finest alone.
    A number that many rows have, such as 0 or a limit, is no copy and left out.
    """
    of_numbers = _codes_of_rows(numbers)
    sizes = np.bincount(of_numbers)
    frequent = sizes > max(_FEW_COPIES, _RARE_SHARE * numbers.n)
    sizes = np.where(frequent, 1, sizes)
    equal = np.where(sizes[of_numbers[np.unique(codes, return_index=True)[1]]] > 1, np.bincount(codes), 1)
    alike = sizes @ (sizes - 1) / 2
    differing = 1 - np.sum((np.bincount(labels) / numbers.n) ** 2)  # the share of pairs of rows whose labels differ
    apart = alike - equal @ (equal - 1) / 2
    if apart > _FEWER * differing * alike or differing * np.sum(sizes - 1) <= _SURELY:
        return False, False
    rows = numbers.continuous[~frequent[of_numbers]]
    pairs = len(rows) * (len(rows) - 1) / 2
    shares = np.array([_equal_by_chance(column) / pairs for column in rows.T])
    by_chance, of_finest = _BEYOND_CHANCE * pairs * np.array([shares.prod(), shares.min()]) + _SURELY
    return bool(alike > by_chance), bool(alike > of_finest and not apart)


def _equal_by_chance(column: np.ndarray) -> float:
    """How many pairs of equal numbers a smooth law would have at the resolution of a column [n]. The resolution may
    differ within it: people round to tens here and to hundredths there, and 3 significant digits are coarser in large
    numbers. So numbers as round as one another are asked together. All pairs where numbers have few bits.
    """
    mantissas = np.frexp(column)[0] * 2.0**_FEW_BITS
    if (mantissas == np.rint(mantissas)).all():
        return len(column) * (len(column) - 1) / 2
    values = np.sort(column)
    found, roundness = 0.0, _roundness(values)
    for place in np.unique(roundness):
        chance = _equal_among(values[roundness == place])
        found += chance / _NO_ROUNDER if place in _OF_TEN else chance
    return found


def _equal_among(values: np.ndarray) -> float:
    """The same for sorted numbers, of which the least difference is the resolution: of the pairs that are near, within
    so many steps of it, as large a share as one place is of those within reach.
    """
    gaps = np.diff(values)
    if not gaps.any():
        return len(values) * (len(values) - 1) / 2
    step = gaps[gaps > 0].min()
    near = _NEAR * float(values[3 * len(values) // 4] - values[len(values) // 4])
    steps = max(1, math.floor(near / step))
    within = np.searchsorted(values, values + (steps + 0.5) * step, side="right")  # other units are not quite even
    return float(np.sum(within - np.arange(len(values)) - 1)) / (2 * steps + 1)


def _roundness(values: np.ndarray) -> np.ndarray:
    """The place in `_STEPS` of the largest of which each number is a multiple; how many they are, where of none."""
    found = np.full(len(values), len(_STEPS))
    for place, step in enumerate(_STEPS):
        multiples = values / step
        whole = np.abs(multiples - np.rint(multiples)) <= _ROUNDING * np.abs(multiples)
        found[whole & (np.abs(multiples) < 10.0**_DIGITS) & (found == len(_STEPS))] = place
    return found


def _codes_of_rows(*sides: Variable) -> np.ndarray:
    """One code for each row that occurs, [n]."""
    numbers = [side.continuous for side in sides]
    categories = [side.codes[:, None] for side in sides if side.codes is not None]
    rows = np.hstack([*numbers, *categories]) + 0.0  # -0 is 0
    if rows.shape[1] <= _FEW_COLUMNS:
        return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    seen: dict[bytes, int] = {}  # sorting wide rows takes ten times as long
    return np.array([seen.setdefault(row.tobytes(), len(seen)) for row in rows])


@runtime_checkable
class Method(Protocol):
    """An estimator of the mutual information of pairs."""

    @property
    def name(self) -> str:
        """What results call it."""
        ...

    def estimate(self, pairs: Pairs, generator: np.random.Generator) -> Estimate:
        """I(x; y), nats, with its error. ValueError in one sentence where it cannot be used on these pairs."""
        ...


def takes_kinds(takes: str, x: str, y: str) -> bool:
    """Whether what a method takes, one of `TAKES`, holds sides of these kinds (`Variable.kind`)."""
    kinds = [x, y]
    return {
        NUMBERS: kinds == ["continuous"] * 2,
        CATEGORIES: kinds == ["discrete"] * 2,
        NUMBERS_OR_LABELS: "continuous" in kinds and "mixed" not in kinds,
        LABELS: "discrete" in kinds,
        ANY: True,
    }[takes]


@dataclass(frozen=True)
class Described:
    """Base of infoscope's methods: frozen settings, and what the list of methods says of each.

    takes   one of TAKES
    limit   what it gives with endless rows: "I" (consistent), "lower bound", "upper bound" or a condition, in words
    cost    how time grows, and about how many seconds it needs at n = 5,000 with 20 columns on each side
    source  author, year, equation
    """

    name: ClassVar[str]
    takes: ClassVar[str]
    limit: ClassVar[str]
    cost: ClassVar[str]
    source: ClassVar[str]

    def with_settings(self, settings: Mapping[str, Any]) -> Described:
        """The same with some settings changed. ValueError for a setting that it does not have."""
        own = [field.name for field in fields(self)]
        for name in settings:
            if name not in own:
                raise UnknownName(f"{self.name} must be given settings among {', '.join(own) or 'none'}, got {name!r}.")
        return replace(self, **settings)

    def require(self, pairs: Pairs) -> None:
        """ValueError where it does not take pairs of these types."""
        kinds = pairs.x.kind, pairs.y.kind
        if not takes_kinds(self.takes, *kinds):
            raise WrongType(
                f"method must fit the types of x and y: {self.name} takes {TAKES[self.takes]}, "
                f"got a {kinds[0]} x and a {kinds[1]} y; methods() lists what each takes."
            )
