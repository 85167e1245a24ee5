"""Typed variables: which columns of a sample are numbers and which are categories.

Types are given by wrapping (`Continuous`, `Discrete`, `Angle`) or inferred: floats are continuous; booleans, strings
and pandas categories discrete; integers discrete where they look like class labels, else numbers with ties (noted).
`as_variables` aligns pandas objects, types columns, leaves out constant ones and checks the rest. Tables and columns of
polars, pyarrow and other libraries become those of pandas; they have no index, so their rows are paired by position.
"""

from __future__ import annotations

import inspect
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import ndtri

from infoscope.checks import one_of, require_number
from infoscope.errors import (
    Conflict,
    InvalidInput,
    MissingValues,
    NoVariation,
    OutOfRange,
    TooFew,
    WrongLength,
    WrongOrder,
    WrongShape,
    WrongType,
)
from infoscope.notes import Note

_MAX_LABEL_VALUES = 20  # values of texts of whole numbers, and of small codes with rare ones beyond them
_MIN_LABEL_ROWS = 3  # rows per label
_MAX_CODE, _MAX_RATING = 10, 7  # the largest code of a few classes; the largest answer on a short scale
_TAIL = 0.02  # share of the rows at each end whose values do not decide on a type
_MIN_REPEATS = 2  # rows per value, on average, from which a column is rounded; whole numbers look like labels
_LARGEST = 1e150  # numbers beyond it, and spans below its inverse, have no square in float64
_PERIODS = {
    "axes in degrees": 180.0, "angles in degrees": 360.0, "angles in radians": 2 * math.pi, "hours": 24.0,
    "minutes of the day": 1440.0, "seconds of the day": 86_400.0,
}  # fmt: skip
_STEP_TOLERANCE = 1e-4  # share of a step, for decimals in float32
_RADIUS_TOLERANCE = 1e-5  # of cosines and sines in float32, share of the radius
_POINT_MASS = 0.1  # share of the rows at one value from which it is a point mass
_MIN_TAIL_ROWS = 20  # below which no tail is heavy
_MAX_DENSE = 50_000_000  # numbers of a sparse matrix that is made dense
_MAX_SHOWN = 3  # columns or texts named in a message
MARGINS = ("auto", "scaled", "rank", "given")
_DAYS = (
    "such as (t - t.min()) / np.timedelta64(1, 'D') for days since the first, or angles: Angle(t.dt.hour, 24) in the "
    "day, Angle(t.dt.dayofyear, 365.25) in the year"
)
_TIMES = ("date", "datetime", "datetime64", "time", "timedelta", "timedelta64", "period")  # as pandas calls types
_PLAIN = str.maketrans({"\N{MINUS SIGN}": "-", "\N{NO-BREAK SPACE}": " ", "\N{NARROW NO-BREAK SPACE}": " ",
                        "\N{LESS-THAN OR EQUAL TO}": "<", "\N{GREATER-THAN OR EQUAL TO}": ">"})  # fmt: skip
_NUMBER = re.compile(
    r"([<>]=?|~)? ?[-+]?(\d+([.,]\d*)?|\d{1,3}([.,' _]\d{3})+([.,]\d+)?|[.,]\d+)(e[-+]?\d+)? ?%?", re.IGNORECASE
)
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DAY = (
    r"\d{4}[-/.](0?\d|1[0-2])([-/.]\d\d?)?|\d\d?[-/.]\d\d?[-/.](\d\d){1,2}"
    rf"|\d\d?\.?[ -]{_MONTH}[ -](\d\d){{1,2}}|{_MONTH} \d\d?,? \d\d\d\d"
)
_TIME = r"\d\d?:\d\d(:\d\d([.,]\d+)?)?( ?[ap]m)?"
_DATE = re.compile(rf"({_DAY})([T ]{_TIME} ?(Z|[-+]\d\d:?\d\d)?)?|{_TIME}", re.IGNORECASE)


_NUMPY_LABELS = (np.str_, np.bytes_, np.bool_, np.integer, np.floating)  # the same labels as Python's own types
_PLAIN_ITEMS = (str, bytes, int, float, bool, np.generic)  # of a list of values, which has no index
_Column = np.ndarray | pd.Categorical


@dataclass(frozen=True, eq=False)
class Continuous:
    """Every column of `values` [n] or [n, d] is a number; ties are allowed."""

    values: Any


@dataclass(frozen=True, eq=False)
class Discrete:
    """Every column of `values` [n] or [n, d] is a category, without order or distance."""

    values: Any


@dataclass(frozen=True, eq=False)
class Angle:
    """`values` [n] of a period (360 for degrees, 24 for hours), as cosine and sine. OutOfRange: period not above 0."""

    values: Any
    period: float

    def __post_init__(self) -> None:
        require_number("period", self.period, ends=False)

    def on_circle(self, name: str) -> list[np.ndarray]:
        """Cosine and sine [n] of every column."""
        parts = []
        for column in bare_columns(name, self.values):
            present = ~pd.isna(column)
            turn = np.full(len(column), np.nan)
            turn[present] = 2 * np.pi / self.period * as_numbers(name, column[present])
            parts += [np.cos(turn), np.sin(turn)]
        return parts


@dataclass(frozen=True, eq=False)
class Variable:
    """A checked sample of one (possibly multivariate, possibly mixed) variable.

    continuous  float64 [n, c], the numeric columns, finite; c may be 0
    codes       intp [n] in 0..categories-1, the joint category of all discrete columns; None if there are none
    ranked      how many of the continuous columns hold normal scores
    notes       what was done to the values, one sentence each
    """

    continuous: np.ndarray
    codes: np.ndarray | None
    categories: int
    ranked: int = 0
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        return len(self.continuous)

    @property
    def dim(self) -> int:
        """Number of continuous columns."""
        return self.continuous.shape[1]

    @property
    def kind(self) -> str:
        """continuous, discrete or mixed."""
        if self.codes is None:
            return "continuous"
        return "mixed" if self.dim else "discrete"

    @property
    def on_circles(self) -> bool:
        """Whether it holds angles alone: pairs of columns, cosine and sine, of a constant sum of squares."""
        if self.codes is not None or not self.dim or self.dim % 2:
            return False
        radius = np.hypot(self.continuous[:, ::2], self.continuous[:, 1::2])
        return bool((np.ptp(radius, axis=0) <= _RADIUS_TOLERANCE * radius.max(axis=0)).all())

    def scales(self) -> np.ndarray:
        """Standard deviation of every continuous column [c], in the column's unit."""
        centred = self.continuous - self.continuous.mean(axis=0)
        largest = np.abs(centred).max(axis=0)  # divided out, so that squares neither overflow nor underflow
        return largest * np.sqrt(np.mean((centred / largest) ** 2, axis=0))

    def standardised(self) -> Variable:
        """The variable with continuous columns of standard deviation 1 and mean near 0; ties stay ties."""
        moved = (self.continuous - self.continuous.mean(axis=0)) / self.scales()
        for place, column in enumerate(self.continuous.T):
            steps = _in_steps(column)
            if steps is not None:
                moved[:, place] = (steps - np.round(steps.mean())) * short(1 / steps.std())
        return replace(self, continuous=moved)

    def rank_normal(self, columns: np.ndarray | None = None) -> Variable:
        """Normal scores, quantiles of (mean rank / (n + 1)), in the place of columns [c] (a mask; None: all)."""
        columns = np.ones(self.dim, bool) if columns is None else columns
        if not columns.any():
            return self
        from scipy.stats import rankdata  # takes two seconds to import

        ranks = rankdata(self.continuous[:, columns], axis=0)
        mirrored = self.n + 1 - ranks
        scores = -np.sign(mirrored - ranks) * np.abs(ndtri(np.minimum(ranks, mirrored) / (self.n + 1)))
        moved = self.continuous.copy()
        moved[:, columns] = scores / np.sort(scores, axis=0).std(axis=0)  # sorted: rounds alike in any order of rows
        return replace(self, continuous=moved, ranked=int(columns.sum()))

    def as_numbers(self) -> np.ndarray:
        """The numbers as they are, and a column of 0 and 1 for each joint category [n, d]."""
        return (
            self.continuous if self.codes is None else np.hstack([self.continuous, np.eye(self.categories)[self.codes]])
        )

    def take(self, rows: np.ndarray) -> Variable:
        """The sample at `rows` (indices or a mask)."""
        codes, categories = (None, 1) if self.codes is None else factorise(self.codes[rows])
        return replace(self, continuous=self.continuous[rows], codes=codes, categories=categories)


def as_variables(
    groups: Any = None, drop_missing: bool = False, /, **given: Any
) -> tuple[dict[str, Variable], np.ndarray | None]:
    """Variables of the same rows by the names of `given`, and the codes 0, 1, ... int64 [n] of their groups or None.

    Arguments as in `as_variable`; pandas objects are put in the order of the first (`aligned`); rows with missing
    values are refused, or left out (`complete_rows`). InfoscopeError as `as_variable` and `aligned`; WrongLength:
    different numbers of rows, or groups of another length.
    """
    given, notes = aligned(**given, groups=groups)
    groups = given.pop("groups")
    if drop_missing:
        given, groups, missing = complete_rows(given, groups)
        notes = [*notes, *missing]
    typed = {name: one if isinstance(one, Variable) else _Columns.of(name, one) for name, one in given.items()}
    cells = math.prod(one.categories for one in typed.values())
    found = {name: one if isinstance(one, Variable) else one.variable(cells) for name, one in typed.items()}
    for note in notes:
        if note.argument in found:
            variable = found[note.argument]
            found[note.argument] = replace(variable, notes=(*variable.notes, note))
    lengths = {name: one.n for name, one in found.items()}
    if len(set(lengths.values())) != 1:
        raise WrongLength(f"{' and '.join(lengths)} must have the same number of rows, got {lengths}.")
    return found, None if groups is None else group_codes(next(iter(lengths.values())), groups)[1]


def complete_rows(values: dict[str, Any], groups: Any = None) -> tuple[dict[str, Any], Any, list[Note]]:
    """Aligned values in the rows where none is missing, their groups, and a note on each value that has missing ones.

    MissingValues: in every row.
    """
    missing, notes = {}, []
    for name, value in values.items():
        if isinstance(value, Variable):
            continue
        masks = [pd.isna(column) for _, column, _ in columns(name, value)]
        missing[name] = np.any(masks, axis=0)
        if missing[name].any():
            places = [place for place, mask in zip(_places(value, len(masks)), masks) if mask.any()]
            sentence = (
                f"{name}: {missing[name].sum():,} of {len(masks[0]):,} rows have missing values and are left out "
                f"({_named(places)} some)."
            )
            notes.append(Note(sentence, "missing values", name))
    if not notes or len({len(rows) for rows in missing.values()}) > 1:
        return values, groups, []
    complete = np.flatnonzero(~np.any(list(missing.values()), axis=0))
    if not len(complete):
        raise MissingValues(f"{' and '.join(missing)} must have rows without missing values, got none. {notes[0]}")
    codes = None if groups is None else of_kept(group_codes(len(missing[name]), groups)[1], complete)
    return {name: _take(value, complete) for name, value in values.items()}, codes, notes


def _take(value: Any, rows: np.ndarray) -> Any:
    """The rows (indices) of a value; whole numbers beside missing ones become integers again."""
    if isinstance(value, (Continuous, Discrete, Angle)):
        return replace(value, values=_take(value.values, rows))
    if isinstance(value, Variable):
        return value.take(rows)
    if isinstance(value, pd.DataFrame):
        return value.apply(_take, rows=rows)
    if isinstance(value, pd.Series):
        whole = value.dtype.kind == "f" and value.hasnans
        return pd.to_numeric(value.iloc[rows], downcast="integer") if whole else value.iloc[rows]
    if isinstance(value, (list, tuple)):
        wrapped = any(isinstance(block, (Continuous, Discrete, Angle)) for block in value)
        return [_take(block, rows) for block in value] if wrapped else [value[row] for row in rows]
    return (value.tocsr() if sparse.issparse(value) else value)[rows]


def group_codes(n: int, groups: ArrayLike) -> tuple[int, np.ndarray]:
    """The number of groups, and the group's code of each row, int64 [n], by first appearance, whatever its name.

    WrongLength; MissingValues: missing names; TooFew: one group.
    """
    codes = pd.factorize(as_codes("groups", groups))[0]
    if codes.shape != (n,):
        raise WrongLength(f"groups must have one entry for each of the {n} rows, got shape {codes.shape}.")
    count = int(codes.max()) + 1
    if count == 1:
        raise TooFew(f"groups must be at least two, as rows of one group are dependent, got one for all {n} rows.")
    return count, codes.astype(np.int64)


def as_variable(name: str, value: Any) -> Variable:
    """`value` as a Variable; `name` is what errors call it.

    Taken: an array, tensor, list or Series of [n] or [n, d]; a DataFrame, of polars or pyarrow, too; a `Continuous`,
    `Discrete` or `Angle` around one of these; a list or tuple of blocks with at least one wrapped; a Variable.

    Integers are discrete if they look like codes of classes: two values; the middle 96 % of the rows from 0 or 1 to at
    most 10 with few gaps; or all codes from 0 or 1 on with 3 rows each, the first and last about as frequent as others.
    Other integers are ordered numbers: sums of scores, ages, years, doses. Several columns of codes are discrete if
    every possible combination has 3 rows. Constant columns are left out (noted).

    InfoscopeError: fewer than two rows, more than two axes, missing, masked or infinite values, nothing that varies,
    types that are neither numbers nor categories (complex, dates), numbers beyond 1e150, texts that are numbers or
    dates.
    """
    return as_variables(**{name: value})[0][name]


@dataclass(frozen=True, eq=False)
class _Integers:
    """A column of integers without a given type: its name, numbers float64 [n], codes [n] and number of values."""

    place: str
    numbers: np.ndarray
    codes: np.ndarray
    count: int

    @property
    def look_numeric(self) -> bool:
        """Whether these are numbers rather than codes of classes: see `as_variable`."""
        if self.count <= 2:
            return False
        if self.count == len(self.numbers):
            return True
        values, rows = np.unique(self.numbers, return_counts=True)
        return not (_are_small_codes(values, rows) or _are_even_codes(values, rows))


def _are_small_codes(values: np.ndarray, rows: np.ndarray) -> bool:
    """Whether sorted whole numbers, with their rows, mostly run from 0 or 1 to at most 10, whatever their tails."""
    if len(values) > _MAX_LABEL_VALUES:
        return False
    up_to = np.cumsum(rows) / rows.sum()
    from_here = 1 - up_to + rows / rows.sum()
    common = values[(up_to > _TAIL) & (from_here > _TAIL)]
    first, last = common[0], common[-1]
    if last <= _MAX_RATING:
        first = values[0]  # the lowest answer may be rare
    return first in (0, 1) and last <= _MAX_CODE and len(common) >= 2 / 3 * (last - common[0] + 1)


def _are_even_codes(values: np.ndarray, rows: np.ndarray) -> bool:
    """Whether nearly all whole numbers from 0 or 1 on occur, the first and last tenth about as often as the others."""
    span = int(values[-1] - values[0]) + 1
    complete = values[0] in (0, 1) and len(values) >= 0.9 * span
    if not complete or rows.sum() < _MIN_LABEL_ROWS * len(values):
        return False
    end = max(1, span // 10)
    first = rows[values < values[0] + end].sum()
    last = rows[values > values[-1] - end].sum()
    return min(first, last) >= rows.sum() * end / span / 3


@dataclass(frozen=True, eq=False)
class _Columns:
    """The typed columns of a variable, before its integers are taken as numbers or categories."""

    name: str
    rows: int
    numbers: list[np.ndarray]
    labels: list[np.ndarray]
    integers: list[_Integers]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, name: str, value: Any) -> _Columns:
        found = columns(name, value)
        lengths = {len(column) for _, column, _ in found}
        if len(lengths) != 1 or 0 in lengths:
            raise WrongLength(f"{name} must have rows, and columns of one length, got lengths {sorted(lengths)}.")
        if lengths == {1}:
            raise TooFew(f"{name} must have at least two rows, got 1.")
        numbers, labels, integers, constant, whole, circles = [], [], [], [], [], []
        for place, (typed, column, wrapped) in zip(_places(value, len(found)), found):
            require_present(name, column, place)
            if typed is Discrete:
                labels.append(factorise(categorical(name, column))[0])
                continue
            values = as_numbers(name, categorical(name, column) if typed is int else column)
            if values.min() == values.max() and not (typed is int and len(found) == 1):
                constant.append(place)
            elif typed is int:
                integers.append(_Integers(place, values, *factorise(column)))
            else:
                numbers.append(values)
            if not wrapped and (circle := _period_name(values)):
                circles.append((place, circle))
            if not wrapped and typed is Continuous and _look_like_labels(values):
                whole.append(place)
        alike = f"column {constant[0]} is" if len(constant) == 1 else f"{len(constant)} columns are"
        if not (numbers or labels or integers):
            raise NoVariation(f"{name} must vary, got {alike} constant in all {lengths.pop()} rows.")
        notes = (Note(f"{name}: {alike} constant and left out.", "constant column", name),) if constant else ()
        notes += _number_notes(name, whole)
        if circles:
            place, circle = circles[0]
            period = _PERIODS[circle]
            sentence = (
                f"{name}: column {place} fills a range of {period:g}; for {circle} give Angle(values, {period:g})."
            )
            notes += (Note(sentence, "angle", name),)
        return cls(name, lengths.pop(), numbers, labels, integers, notes)

    @property
    def categories(self) -> int:
        """How many combinations its categories could form if all of its integers are labels."""
        return joint_codes(self.labels)[1] * math.prod(column.count for column in self.integers)

    def variable(self, cells: int) -> Variable:
        """The variable, where the table of all categories of all variables has so many cells."""
        alone = len(self.integers) == 1 and not self.labels
        crowded = not alone and self.rows < _MIN_LABEL_ROWS * cells
        numeric = [column for column in self.integers if crowded or column.look_numeric]
        different = [column.place for column in numeric if column.count == self.rows]
        repeated = [column.place for column in numeric if column.count < self.rows]
        notes = self.notes + _number_notes(self.name, repeated) + _row_number_notes(self.name, different)
        labels = [column.codes for column in self.integers if column not in numeric]
        codes, categories = joint_codes(self.labels + labels)
        numbers = self.numbers + [column.numbers for column in numeric]
        stacked = np.column_stack(numbers) if numbers else np.empty((self.rows, 0))
        return Variable(np.ascontiguousarray(stacked), codes, categories, notes=notes)


def _period_name(column: np.ndarray) -> str | None:
    """The unit in which the values of a column [n] fill a period from 0 on or around 0, to both ends; else None."""
    low, high = float(column.min()), float(column.max())
    for name, period in _PERIODS.items():
        for start in (0.0, -period / 2):
            if start <= low and high <= start + period:
                places = (column - start) / period
                if min(np.mean(places < 0.05), np.mean(places > 0.95)) >= 0.01:  # a fifth of what even values have
                    return name
    return None


def _number_notes(name: str, places: Sequence[str]) -> tuple[Note, ...]:
    if not places:
        return ()
    sentence = f"{name}: {_named(places)} repeated values, treated as numbers (for categories, wrap it in Discrete)."
    return (Note(sentence, "repeated values", name),)


def _row_number_notes(name: str, places: Sequence[str]) -> tuple[Note, ...]:
    if not places:
        return ()
    sentence = (
        f"{name}: {_named(places)} whole numbers that are all different (ranks or row numbers?), taken as numbers."
    )
    return (Note(sentence, "different whole numbers", name),)


def _named(places: Sequence[str]) -> str:
    """The columns at these places as the subject of a sentence, with its verb."""
    if len(places) == 1:
        return f"column {places[0]} has"
    more = ", ..." if len(places) > _MAX_SHOWN else ""
    return f"{len(places)} columns ({', '.join(places[:_MAX_SHOWN])}{more}) have"


def as_codes(name: str, value: Any) -> np.ndarray:
    """Codes 0..m-1 [n] of one column of categories, [n] or [n, 1]. ValueError: several columns, or missing values."""
    found = bare_columns(name, value)
    if len(found) != 1:
        raise InvalidInput(f"{name} must be one column of categories, got {len(found)} columns.")
    return factorise(categorical(name, found[0]))[0]


def single_columns(name: str, value: Any) -> list[Any]:
    """Every column of `value`, in its wrapper if it had one."""
    return [typed(column) if wrapped else column for typed, column, wrapped in columns(name, value)]


def join(*variables: Variable) -> Variable:
    """One variable of all columns: numeric columns stacked, categories joined."""
    codes, categories = joint_codes([variable.codes for variable in variables if variable.codes is not None])
    return Variable(
        np.hstack([variable.continuous for variable in variables]),
        codes,
        categories,
        sum(variable.ranked for variable in variables),
        tuple(dict.fromkeys(note for variable in variables for note in variable.notes)),
    )


def prepared(variable: Variable, margins: str = "auto", name: str = "x") -> Variable:
    """The variable on the scale in which neighbours are searched.

    margins  scaled: standard deviation 1; rank: normal scores; auto: normal scores where tails are heavy (noted), else
             scaled; given: as it is
    name     what its note calls it

    ValueError: another word.
    """
    one_of("margins", margins, MARGINS)
    if margins == "given" or not variable.dim:
        return variable
    if margins == "rank":
        return variable.rank_normal()
    heavy = heavy_tails(variable.continuous) if margins == "auto" else np.zeros(variable.dim, bool)
    if not heavy.any():
        return variable.standardised()
    ranked, rest = variable.rank_normal(heavy), replace(variable, continuous=variable.continuous[:, ~heavy])
    if rest.dim:
        ranked.continuous[:, ~heavy] = rest.standardised().continuous
    which = f"{heavy.sum()} of {len(heavy)} continuous columns of {name}" if len(heavy) > 1 else f"Values of {name}"
    sentence = f"{which} with heavy tails or outliers, which would dominate the scale: normal scores are used."
    note = Note(sentence, "heavy tails", name)
    return replace(ranked, notes=(*variable.notes, note))


def heavy_tails(columns: np.ndarray) -> np.ndarray:
    """Which columns [c] of [n, c] have tails so heavy that a few values set the standard deviation.

    L-kurtosis (Hosking 1990) above 0.2 + 1.4 / sqrt(n) (normal .12, Laplace .24), without point masses.
    """
    n = len(columns)
    if n < _MIN_TAIL_ROWS:
        return np.zeros(columns.shape[1], bool)
    ordered = np.sort(columns, axis=0)
    repeated = np.mean(ordered[1:] == ordered[:-1], axis=0) >= _POINT_MASS
    kurtosis = l_kurtosis(ordered)
    rows = np.full(columns.shape[1], n)
    for place in np.flatnonzero(repeated):
        values, counts = np.unique(ordered[:, place], return_counts=True)
        if counts.max() > _POINT_MASS * n:
            others = ordered[ordered[:, place] != values[counts.argmax()], place]
            few = len(others) < _MIN_TAIL_ROWS or others[0] == others[-1]
            rows[place] = max(len(others), 1)
            kurtosis[place] = 0 if few else l_kurtosis(others[:, None])[0]
    return kurtosis > 0.2 + 1.4 / np.sqrt(rows)


def l_kurtosis(ordered: np.ndarray) -> np.ndarray:
    """Unbiased sample L-kurtosis [c] of sorted columns [n, c], n > 3 (Hosking 1990)."""
    n = len(ordered)
    place = np.arange(n, dtype=float)
    one = place / (n - 1)
    two = one * (place - 1) / (n - 2)
    three = two * (place - 2) / (n - 3)
    weights = np.stack([2 * one - 1, 20 * three - 30 * two + 12 * one - 1])
    span = np.abs(ordered).max(axis=0)  # divided out first, so that sums do not overflow
    second, fourth = weights @ (ordered / span - np.median(ordered, axis=0) / span)
    return fourth / second


def aligned(**given: Any) -> tuple[dict[str, Any], list[Note]]:
    """The values with the rows of pandas objects in the order of the first index, and a note on each that was moved.

    Tables without an index (`_as_pandas`), and those with the index 0, 1, ..., are paired by position, with a note
    where other labels stand beside it. WrongOrder: other labels, or the same in another order, some of them twice.
    """
    known = [(name, one.index) for name, value in given.items() for one in _tables(value)]
    moved, notes = [], []
    for name, index in known[1:]:
        first, reference = known[0]
        if len(index) != len(reference) or index.equals(reference):
            continue
        if index.value_counts().to_dict() != reference.value_counts().to_dict():
            if not any(labels.equals(pd.RangeIndex(len(labels))) for labels in (index, reference)):
                raise WrongOrder(
                    f"{name} must have the index of {first} or none, got other labels: {name}.loc[{first}.index] pairs "
                    "rows by label, to_numpy() by position."
                )
            sentence = f"The rows of {name} and {first} have different index labels: they are paired by position."
            notes.append(Note(sentence, "paired by position", name))
            continue
        if not reference.is_unique:
            raise WrongOrder(
                f"{name} must have its rows in the order of {first}, got the same index in another order, with "
                "repeated labels: give arrays (to_numpy()) to match rows by position."
            )
        moved.append(name)
        notes.append(Note(f"The rows of {name} are reordered by the index of {first}.", "reordered rows", name))
    reference = known[0][1] if known else None
    found = {name: _mapped(value, partial(_as_pandas, name, index=reference)) for name, value in given.items()}
    return found | {name: _mapped(found[name], partial(_reordered, reference=reference)) for name in moved}, notes


def aligns(*names: str) -> Callable:
    """Decorates a public function: what these arguments hold of pandas is aligned (`aligned`) before it is called."""

    def decorated(function: Callable) -> Callable:
        signature = inspect.signature(function)

        @wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            given = {name: bound.arguments[name] for name in names if name in bound.arguments}
            bound.arguments.update(aligned(**given)[0])
            return function(*bound.args, **bound.kwargs)

        return called

    return decorated


def _tables(value: Any) -> list[pd.DataFrame | pd.Series]:
    """The pandas data frames and Series in a value."""
    found: list[Any] = []
    _mapped(value, found.append)
    return [one for one in found if isinstance(one, (pd.DataFrame, pd.Series))]


def _reordered(one: Any, reference: pd.Index) -> Any:
    """A data frame or Series with its rows in the order of `reference`, where it has its labels."""
    if not isinstance(one, (pd.DataFrame, pd.Series)):
        return one
    places = one.index.get_indexer(reference) if one.index.is_unique else np.array([-1])
    return one.iloc[places] if len(one) == len(reference) and (places >= 0).all() else one


def _as_pandas(name: str, one: Any, index: pd.Index | None = None) -> Any:
    """A table or column of polars, pyarrow or another library as that of pandas, with `index` if it has as many rows;
    anything else as it is. WrongType: a lazy table; Conflict: columns of one name.
    """
    if isinstance(one, (list, tuple, np.ndarray, pd.DataFrame, pd.Series, *_PLAIN_ITEMS)):
        return one
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow and isinstance(one, pyarrow.RecordBatch):
        one = pyarrow.Table.from_batches([one])
    elif pyarrow and isinstance(one, pyarrow.Array):
        one = pyarrow.chunked_array([one])
    try:
        found = nw.from_native(one, pass_through=True, allow_series=True)
    except nw.exceptions.DuplicateError:
        raise Conflict(f"{name} must have columns of different names, got {one.column_names}.") from None
    if isinstance(found, nw.LazyFrame):
        raise WrongType(f"{name} must hold values, got a lazy table: collect it first.")
    if not isinstance(found, (nw.DataFrame, nw.Series)):
        return one
    index = index if index is not None and len(index) == len(found) else pd.RangeIndex(len(found))
    if isinstance(found, nw.Series):
        return _series(found, index).rename(found.name or None)
    columns = {place: _series(column, index) for place, column in enumerate(found.iter_columns())}
    return pd.DataFrame(columns, index).set_axis(found.columns, axis=1)


def _series(column: nw.Series, index: pd.Index) -> pd.Series:
    """The column as a pandas Series: categories stay categories, missing numbers are NaN."""
    if column.dtype in (nw.Categorical, nw.Enum):
        return pd.Series(pd.Categorical(column.to_list()), index)
    plain = column.dtype.is_numeric() and column.dtype not in (nw.Int128, nw.UInt128)
    return pd.Series(column.to_numpy() if plain else column.to_list(), index)


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """`change` applied to the value, or to everything that it wraps or is a list or mapping of."""
    if isinstance(value, (list, tuple)):
        return [_mapped(part, change) for part in value] if _has_parts(value) else change(value)
    if isinstance(value, (Continuous, Discrete, Angle)):
        return replace(value, values=_mapped(value.values, change))
    if isinstance(value, Mapping) and not sparse.issparse(value):  # a sparse matrix of keys is a dict
        return {name: _mapped(part, change) for name, part in value.items()}
    return change(value)


def _has_parts(value: Any) -> bool:
    """Whether a value is a list of blocks, rather than one of numbers or texts."""
    return isinstance(value, (list, tuple)) and len(value) > 0 and not isinstance(value[0], _PLAIN_ITEMS)


def jitter(values: np.ndarray, generator: np.random.Generator, relative: float = 1e-10) -> np.ndarray:
    """`values` [n] or [n, d] plus uniform noise of width `relative` standard deviations of its column: breaks ties.

    ValueError: a width below the resolution of the numbers.
    """
    values = np.asarray(values, dtype=np.float64)
    numbers = np.column_stack([as_numbers("values", column) for column in bare_columns("values", values)])
    spread = Variable(numbers, None, 1).scales().reshape(values.shape[1:])
    width = relative * spread
    if np.any(width < 4 * np.spacing(np.abs(values).max(axis=0))):
        raise OutOfRange(f"relative must exceed the resolution of the numbers, got {relative!r}: centre the values.")
    return values + width * generator.uniform(-0.5, 0.5, values.shape)


def with_repeated_values(variable: Variable) -> Variable:
    """The variable with a category for each value of a tenth of the rows or more; the information is unchanged."""
    codes = [] if variable.codes is None else [variable.codes]
    for column in variable.continuous.T:
        values, which, sizes = np.unique(column, return_inverse=True, return_counts=True)
        common = np.flatnonzero(sizes >= max(_POINT_MASS * len(column), 2))
        others = np.delete(sizes, common)
        if len(common) and len(others) > 0.98 * others.sum():
            codes.append(np.where(np.isin(which, common), which, len(values)))
    if len(codes) == (variable.codes is not None):
        return variable
    joint, categories = joint_codes(codes)
    return replace(variable, codes=joint, categories=categories)


def within_steps(variable: Variable, generator: np.random.Generator) -> Variable:
    """The variable with uniform noise within the step of every rounded column; the information is unchanged."""
    moved = variable.continuous.copy()
    for column in moved.T:
        steps = _in_steps(column)
        if steps is not None:
            column += np.ptp(column) / steps.max() * generator.uniform(-0.5, 0.5, len(column))
    return replace(variable, continuous=moved)


def _in_steps(column: np.ndarray) -> np.ndarray | None:
    """The column [n] in whole steps from its least value, if its values repeat and are equally spaced; else None."""
    first = column[:1000]
    if len(np.unique(first)) == len(first):  # of values that repeat, some would have
        return None
    distinct = np.unique(column)
    return _whole_steps(column, distinct) if len(column) >= _MIN_REPEATS * len(distinct) else None


def _whole_steps(column: np.ndarray, distinct: np.ndarray) -> np.ndarray | None:
    """The column [n] in whole steps from its least value, if its sorted values are equally spaced; else None."""
    step = np.diff(distinct).min()
    step = (distinct[-1] - distinct[0]) / np.round((distinct[-1] - distinct[0]) / step)
    steps = (column - distinct[0]) / step
    whole = np.round(steps)
    return whole if np.abs(steps - whole).max() < _STEP_TOLERANCE and whole.max() < 2**30 else None


def grid_step(column: np.ndarray) -> float:
    """The step of values [n] that are whole multiples of one, at least two of them; 0 for other values."""
    steps = _whole_steps(column, np.unique(column))
    return 0.0 if steps is None else float(np.ptp(column) / steps.max())


def row_codes(*variables: Variable) -> np.ndarray:
    """Codes 0..m-1 [n] of the rows that are equal in every column of all variables."""
    numbers = [variable.continuous for variable in variables]
    labels = [variable.codes[:, None] for variable in variables if variable.codes is not None]
    rows = np.ascontiguousarray(np.hstack([*numbers, *labels]) + 0.0)  # -0 is 0
    if rows.shape[1] == 1:
        return factorise(rows[:, 0])[0]
    return factorise(rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1])))[:, 0])[0]


def copies(*variables: Variable) -> np.ndarray | None:
    """Codes [n] of equal rows if they are copies, as some unrounded column repeats in them only; else None."""
    codes = row_codes(*variables)
    rows, n = int(codes.max()) + 1, len(codes)
    if rows == n:
        return None
    for column in (column for variable in variables for column in variable.continuous.T):
        values, of_value, sizes = np.unique(column, return_inverse=True, return_counts=True)
        common = sizes >= max(_POINT_MASS * n, 2)
        apart = ~common[of_value.reshape(-1)]
        if np.sum(~common) < 2 or len(np.unique(codes[apart])) != np.sum(~common):
            continue
        if not _rounded(values[~common], n):
            codes[~apart] = rows + np.arange(np.sum(~apart))
            return factorise(codes)[0] if np.sum(~common) < apart.sum() else None
    return None


def _rounded(values: np.ndarray, n: int) -> bool:
    """Whether sorted distinct values are rounded, to equal steps or significant (decimal or binary) digits, so coarsely
    that n numbers repeat by chance: to no more levels than there are pairs of rows.
    """
    steps = _whole_steps(values, values)
    if steps is not None and steps.max() <= n**2:
        return True
    sizes = np.abs(values[values != 0])
    for base in (10.0, 2.0):
        kept = base ** (math.floor(2 * math.log(n, base)) - 1)
        mantissas = sizes / base ** np.floor(np.log(sizes) / math.log(base)) * kept
        if np.abs(mantissas - np.round(mantissas)).max() < _STEP_TOLERANCE:
            return True
    return False


def short(value: float) -> float:
    """The value to 20 binary digits, so that whole multiples of it, and their differences, are exact."""
    digits, exponent = np.frexp(value)
    return float(np.ldexp(np.round(np.ldexp(digits, 20)), exponent - 20))


def factorise(labels: np.ndarray) -> tuple[np.ndarray, int]:
    """Codes 0..m-1 [n] of the distinct labels, and m."""
    distinct, codes = np.unique(labels, return_inverse=True)
    return codes.reshape(-1).astype(np.intp), len(distinct)


def of_kept(groups: np.ndarray | None, kept: np.ndarray) -> np.ndarray | None:
    """The groups of the rows that are kept (indices or a mask), as codes 0, 1, ...; None: no groups."""
    return None if groups is None else factorise(groups[kept])[0]


def joint_codes(codes: Sequence[np.ndarray]) -> tuple[np.ndarray | None, int]:
    """One code for each combination that occurs, and how many occur; (None, 1) of nothing."""
    if not codes:
        return None, 1
    joint, count = factorise(codes[0])
    for more in codes[1:]:
        joint, count = factorise(joint * (int(more.max()) + 1) + more)
    return joint, count


def columns(name: str, value: Any) -> list[tuple[type, _Column, bool]]:
    """(Continuous, Discrete or, of untyped whole numbers, int; values [n]; whether it was wrapped) of every column."""
    if isinstance(value, (list, tuple)) and any(isinstance(block, (Continuous, Discrete, Angle)) for block in value):
        return [column for block in value for column in columns(name, block)]
    if isinstance(value, Angle):
        return [(Continuous, column, True) for column in value.on_circle(name)]
    if isinstance(value, (Continuous, Discrete)):
        return [(type(value), column, True) for column in bare_columns(name, value.values)]
    found = bare_columns(name, value)
    places = _places(value, len(found))
    return [(_inferred(name, column, place), column, False) for place, column in zip(places, found)]


def _places(value: Any, count: int) -> list[str]:
    """The quoted names of the columns of a value, or their numbers, for messages."""
    named: list[str] = []
    for block in value if isinstance(value, (list, tuple)) and _has_parts(value) else [value]:
        for one in _tables(block):
            labels = one.columns if isinstance(one, pd.DataFrame) else [one.name] if one.name is not None else []
            named += [repr(label) for label in labels for _ in range(1 + isinstance(block, Angle))]
    return named if len(named) == count else list(map(str, range(count)))


def require_values(name: str, value: Any) -> None:
    """Raises WrongType for a tensor on the meta device, which has a shape only."""
    if getattr(value, "is_meta", False) is True:
        raise WrongType(f"{name} must hold values, got a tensor on the meta device, which has none.")


def bare_columns(name: str, value: Any) -> list[_Column]:
    """Every column [n] of an untyped array-like of one or two axes. ValueError for other shapes, or a mask."""
    value = _as_pandas(name, value)
    if isinstance(value, pd.DataFrame):
        return [column for place in range(value.shape[1]) for column in bare_columns(name, value.iloc[:, place])]
    if isinstance(getattr(value, "dtype", None), pd.CategoricalDtype):
        return [pd.Categorical(value)]
    if sparse.issparse(value):
        if np.prod(value.shape, dtype=float) > _MAX_DENSE:
            raise WrongShape(f"{name} must have at most {_MAX_DENSE:,} numbers if sparse, got shape {value.shape}.")
        value = value.toarray()
    torch = sys.modules.get("torch")  # not loaded for this, which takes seconds: then there is no tensor
    if torch and isinstance(value, torch.Tensor):
        require_values(name, value)
        value = value.detach().cpu()
        value = (value.double() if value.is_floating_point() else value).resolve_conj().resolve_neg().numpy()
    require_unmasked(name, value)
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:  # rows of different lengths
        raise WrongShape(f"{name} must be an array [n] or [n, d], but: {error}.") from None
    if isinstance(value, (list, tuple)) and array.dtype.kind in "US":  # numpy made strings of numbers and NaN too
        array = np.array(value, dtype=object)
    vectors = array.dtype.kind == "O" and array.ndim == 1 and array.size > 0
    if vectors and all(isinstance(row, (list, tuple, np.ndarray)) for row in array):
        lengths = sorted({len(row) for row in array})
        if len(lengths) != 1:
            raise WrongShape(f"{name} must hold vectors of one length, got a column of lists of lengths {lengths[:5]}.")
        array = np.stack(array)
    if array.ndim not in (1, 2):
        way = ": encode the images, or reshape to [n, -1]." if array.ndim > 2 else "."
        raise WrongShape(f"{name} must be [n] or [n, d], got shape {array.shape}{way}")
    if array.ndim == 1:
        return [array]
    if array.shape[1] == 0:
        raise WrongShape(f"{name} must have at least one column, got shape {array.shape}.")
    return list(array.T)


def require_present(name: str, column: _Column, place: str) -> None:
    """MissingValues for a column [n] with missing values; `place` is its name in the message."""
    if missing := int(np.sum(pd.isna(column))):
        raise MissingValues(
            f"{name} must have no missing values, got {missing:,} of {len(column):,} in column {place}: leave these "
            "rows out, for example with dropna()."
        )


def require_unmasked(name: str, value: Any) -> None:
    """ValueError where a masked array, or a list of them, hides values: numpy forgets masks without a word."""
    parts = value if isinstance(value, (list, tuple)) else [value]
    masked = sum(int(np.ma.getmaskarray(part).sum()) for part in parts if isinstance(part, np.ma.MaskedArray))
    if masked:
        raise MissingValues(
            f"{name} must have no missing values, got {masked:,} masked of {sum(map(np.size, parts)):,}."
        )


def _inferred(name: str, column: _Column, place: str) -> type:
    """Continuous, Discrete or int, from the column's type; `place` is its name in errors."""
    if isinstance(column, pd.Categorical):
        return Discrete
    if column.dtype.kind == "f":
        return Continuous
    if column.dtype.kind in "iub":
        return Discrete if column.dtype.kind == "b" else int
    if column.dtype.kind in "US":
        kind = "string"
    else:
        require_no_dates(name, column, place)
        kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind in ("string", "bytes"):
        require_names(name, column, place)
    if kind in ("floating", "mixed-integer-float", "decimal"):
        return Continuous
    if kind in ("string", "boolean", "bytes"):
        return Discrete
    if kind == "integer":
        return int
    _require_real(name, column)
    raise WrongType(
        f"{name} must hold numbers or categories, got a column of {kind}; wrap it in Continuous or Discrete."
    )


def require_names(name: str, column: ArrayLike, place: str) -> None:
    """ValueError for texts [n] that are numbers or dates; whole numbers of at most 20 values are labels."""
    counts = _counts(np.asarray(column))
    for what, form, how in (
        ("numbers", _NUMBER, "write them as plain numbers, with a point, and leave out rows without one"),
        ("dates or times", _DATE, f"read them with pandas.to_datetime and turn them into numbers, {_DAYS}"),
    ):
        reads = counts.index.map(lambda one, form=form: bool(form.fullmatch(one.strip().translate(_PLAIN)))).to_numpy()
        if counts[reads].sum() <= 0.9 * counts.sum():  # share of the texts that parse
            continue
        if what == "numbers" and len(counts) <= _MAX_LABEL_VALUES and all(one.isdecimal() for one in counts.index):
            return
        plain = reads & _are_numbers(counts.index) if what == "numbers" else reads
        example, others = (
            (counts.index[plain][0], counts[~plain]) if plain.any() else (counts.index[reads][0], counts[~reads])
        )
        beside = f", and also {quoted(others)}" if len(others) else ""
        raise WrongType(
            f"{name} must be numbers or names of categories, but column {place} holds {what} as texts, such as "
            f"{example!r}{beside}: {how}; if they are names, wrap it in Discrete."
        )


def _are_numbers(texts: pd.Index) -> np.ndarray:
    return ~np.isnan(np.asarray(pd.to_numeric(texts, errors="coerce"), dtype=np.float64))


def _counts(texts: np.ndarray) -> pd.Series:
    """How often every text [n] occurs, the most frequent first; missing ones are left out."""
    counts = pd.Series(texts, dtype=object).value_counts()
    read = [one.decode(errors="replace") if isinstance(one, bytes) else str(one) for one in counts.index]
    return counts.set_axis(read)


def quoted(counts: pd.Series) -> str:
    """Texts with how often each occurs: 'a' (12), 'b' (3); of many, the first."""
    named = ", ".join(f"{text!r} ({count:,})" for text, count in counts[:_MAX_SHOWN].items())
    return named + (f" and {len(counts) - _MAX_SHOWN:,} more" if len(counts) > _MAX_SHOWN else "")


def require_no_dates(name: str, column: ArrayLike, place: str) -> None:
    """ValueError for dates, times and spans of time, which have a unit and an origin only once they are numbers."""
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind in _TIMES:
        raise WrongType(
            f"{name} must be numbers or names of categories, but column {place} holds {kind} values: turn them into "
            f"numbers, {_DAYS}; if they are names, wrap it in Discrete."
        )


def _require_real(name: str, column: _Column) -> None:
    if np.iscomplexobj(column) or any(isinstance(one, complex) for one in column):
        raise WrongType(f"{name} must be real, got complex numbers: give real and imaginary part as two columns.")


def as_floats(name: str, column: _Column) -> np.ndarray:
    """float64 [n]; ValueError for what is no number, such as strings, even of digits, dates and complex numbers."""
    values = np.asarray(column)
    kind = pd.api.types.infer_dtype(values) if values.dtype.kind in "OUSMm" else ""
    if values.dtype.kind in "US" or kind in _TIMES or (kind and any(isinstance(v, (str, bytes)) for v in values)):
        how = f": turn them into numbers, {_DAYS}" if kind in _TIMES else _unreadable_texts(values)
        raise WrongType(f"{name} must be numbers to be continuous, got a column of {kind}{how}.")
    if values.dtype.kind in "cO":
        _require_real(name, values)
    if values.dtype.kind == "O" and (missing := int(pd.isna(values).sum())):
        raise MissingValues(f"{name} must have no missing values, got {missing:,} of {len(values):,}.")
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise WrongType(f"{name} must be numbers to be continuous, got {values.dtype}: {error}.") from None


def _unreadable_texts(values: np.ndarray) -> str:
    """The end of a sentence on texts among values [n] that are no numbers."""
    counts = _counts(values)
    bad = counts[~_are_numbers(counts.index)]
    return f", with {quoted(bad)}: make them numbers or leave their rows out" if len(bad) else ": make them numbers"


def as_matrix(name: str, value: Any) -> np.ndarray:
    """Numbers [n] or [n, d] as float64 [n, d], checked like a variable, constants kept. Else InfoscopeError."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.ndim == 2 and not np.ma.isMaskedArray(value):
        matrix = value.astype(np.float64, copy=False)
    else:
        found = [as_floats(name, column) for column in bare_columns(name, value)]
        if len({len(column) for column in found}) != 1:
            raise WrongLength(f"{name} must have columns of one length, got {sorted(map(len, found))}.")
        matrix = np.column_stack(found)
    if not matrix.size:
        raise WrongShape(f"{name} must be [n] or [n, d] with at least one row and column, got shape {matrix.shape}.")
    return _require_measurable(name, matrix)


def as_numbers(name: str, column: _Column) -> np.ndarray:
    """The column as numbers float64 [n]: see `_require_measurable`."""
    return _require_measurable(name, as_floats(name, column))


def _require_measurable(name: str, numbers: np.ndarray) -> np.ndarray:
    """The numbers [n] or [n, d]. InfoscopeError unless finite, and constant or of a representable variance."""
    if bad := int((~np.isfinite(numbers)).sum()):
        raise MissingValues(f"{name} must be finite, got {bad:,} NaN or infinite values.")
    largest = np.abs(numbers).max(axis=0, initial=0.0)
    spans = 2 * (numbers.max(axis=0, initial=-_LARGEST) / 2 - numbers.min(axis=0, initial=_LARGEST) / 2)
    if np.any(wrong := (largest > _LARGEST) | ((spans > 0) & (spans < 1 / _LARGEST))):
        place = np.flatnonzero(wrong)[0]
        raise OutOfRange(
            f"{name} must be of a size between {1 / _LARGEST:g} and {_LARGEST:g}, got a column up to "
            f"{np.ravel(largest)[place]:g} with a range of {np.ravel(spans)[place]:g}: choose another unit."
        )
    return numbers


def categorical(name: str, column: _Column) -> np.ndarray:
    """The column with nothing missing; values of mixed types become strings with their type, so that they sort."""
    if pd.isna(column).any():
        raise MissingValues(f"{name} must have no missing categories, got {pd.isna(column).sum()} of {len(column)}.")
    if isinstance(column, pd.Categorical):
        return column.codes
    if column.dtype.kind != "O":
        return column
    labels = [label.item() if isinstance(label, _NUMPY_LABELS) else label for label in column]
    if len({type(label) for label in labels}) > 1:
        return np.array([f"{type(label).__name__}:{label}" for label in labels])
    return column


def _look_like_labels(numbers: np.ndarray) -> bool:
    """Whether a continuous column [n] holds few distinct values that repeat."""
    if len(np.unique(numbers[:100])) > _MAX_LABEL_VALUES:  # the first few mostly decide
        return False
    distinct = len(np.unique(numbers))
    return 1 < distinct <= _MAX_LABEL_VALUES and len(numbers) >= _MIN_REPEATS * distinct
