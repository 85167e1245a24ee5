"""Guesses about a column without a given type.

Are its whole numbers labels? Are its texts numbers or dates? Does it have a period?
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from infoscope.errors import WrongType
from infoscope.estimators.variables import MIN_REPEATS

Counts = Any  # a pandas Series: pandas does not type its items and indices

# values of texts of whole numbers, and of small codes with rare ones beyond them
_MAX_LABEL_VALUES = 20
MIN_LABEL_ROWS = 3  # rows per label
# the largest code of a few classes; the largest answer on a short scale
_MAX_CODE, _MAX_RATING = 10, 7
_TAIL = 0.02  # share of the rows at each end whose values do not decide on a type
PERIODS = {
    "axes in degrees": 180.0, "angles in degrees": 360.0, "angles in radians": 2 * math.pi, "hours": 24.0,
    "minutes of the day": 1440.0, "seconds of the day": 86_400.0,
}  # fmt: skip
MAX_SHOWN = 3  # columns or texts named in a message
HOW_DATES_BECOME_NUMBERS = (
    "such as (t - t.min()) / np.timedelta64(1, 'D') for days since the first, or "
    "angles: Angle(t.dt.hour, 24) in the "
    "day, Angle(t.dt.dayofyear, 365.25) in the year"
)
AS_NUMBERS = "type it as Continuous (CONTINUOUS= of a command)"
AS_CATEGORIES = "type it as Discrete (DISCRETE= of a command)"
# as pandas calls types
TIMES = ("date", "datetime", "datetime64", "time", "timedelta", "timedelta64", "period")
_PLAIN = str.maketrans({"\N{MINUS SIGN}": "-", "\N{NO-BREAK SPACE}": " ", "\N{NARROW NO-BREAK SPACE}": " ",
                        "\N{LESS-THAN OR EQUAL TO}": "<", "\N{GREATER-THAN OR EQUAL TO}": ">"})  # fmt: skip
_NUMBER = re.compile(
    r"([<>]=?|~)? ?[-+]?(\d+([.,]\d*)?|\d{1,3}([.,' "
    r"_]\d{3})+([.,]\d+)?|[.,]\d+)(e[-+]?\d+)? ?%?",
    re.IGNORECASE,
)
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DAY = (
    r"\d{4}[-/.](0?\d|1[0-2])([-/.]\d\d?)?|\d\d?[-/.]\d\d?[-/.](\d\d){1,2}"
    rf"|\d\d?\.?[ -]{_MONTH}[ -](\d\d){{1,2}}|{_MONTH} \d\d?,? \d\d\d\d"
)
_TIME = r"\d\d?:\d\d(:\d\d([.,]\d+)?)?( ?[ap]m)?"
_DATE = re.compile(
    rf"({_DAY})([T ]{_TIME} ?(Z|[-+]\d\d:?\d\d)?)?|{_TIME}", re.IGNORECASE
)


def are_codes_of_classes(numbers: np.ndarray) -> bool:
    """Whether whole numbers [n] are codes of classes (rules: `column_types.as_variable`)."""
    values, rows = np.unique(numbers, return_counts=True)
    if len(values) <= 2:
        return True
    if len(values) == len(numbers):
        return False
    return _are_small_codes(values, rows) or _are_even_codes(values, rows)


def _are_small_codes(values: np.ndarray, rows: np.ndarray) -> bool:
    """Whether most rows have codes from 0 or 1 to at most 10.

    `rows` are the numbers of rows of the sorted values; the tails play no part.
    """
    if len(values) > _MAX_LABEL_VALUES:
        return False
    share_up_to = np.cumsum(rows) / rows.sum()
    share_from = 1 - share_up_to + rows / rows.sum()
    common = values[(share_up_to > _TAIL) & (share_from > _TAIL)]
    lowest = common[0]
    highest = common[-1]
    has_few_gaps = len(common) >= 2 / 3 * (highest - lowest + 1)
    if highest <= _MAX_RATING:
        lowest = values[0]  # the lowest answer may be rare
    return lowest in (0, 1) and highest <= _MAX_CODE and has_few_gaps


def _are_even_codes(values: np.ndarray, rows: np.ndarray) -> bool:
    """Whether nearly all whole numbers from 0 or 1 on occur, about equally often.

    The first and the last tenth of the codes must occur about as often as the others.
    """
    low, high = values[0], values[-1]
    span = int(high - low) + 1
    is_complete = low in (0, 1) and len(values) >= 0.9 * span
    if not is_complete or rows.sum() < MIN_LABEL_ROWS * len(values):
        return False
    tenth = max(1, span // 10)
    first_rows = rows[values < low + tenth].sum()
    last_rows = rows[values > high - tenth].sum()
    return min(first_rows, last_rows) >= rows.sum() * tenth / span / 3


def period_name(column: np.ndarray) -> str | None:
    """The unit in which the values of a column [n] fill a period to both ends; else None.

    The period starts at 0, or is centred on 0.
    """
    low, high = float(column.min()), float(column.max())
    for name, period in PERIODS.items():
        for start in (0.0, -period / 2):
            if start <= low and high <= start + period:
                turns = (column - start) / period
                share_at_start = np.mean(turns < 0.05)
                share_at_end = np.mean(turns > 0.95)
                # 0.01 is a fifth of the share if values are uniform
                if min(share_at_start, share_at_end) >= 0.01:
                    return name
    return None


def require_names(name: str, column: ArrayLike, place: str) -> None:
    """ValueError for texts [n] that are numbers or dates.

    Texts of at most 20 different whole numbers are labels.
    """
    counts = _counts(np.asarray(column))
    for what, form, how in (
        (
            "numbers",
            _NUMBER,
            "write them as plain numbers, with a point, and leave out rows without one",
        ),
        (
            "dates or times",
            _DATE,
            "read them with pandas.to_datetime and turn them into numbers, "
            f"{HOW_DATES_BECOME_NUMBERS}",
        ),
    ):
        texts = [text.strip().translate(_PLAIN) for text in counts.index]
        is_read = np.array([bool(form.fullmatch(text)) for text in texts], bool)
        if counts[is_read].sum() <= 0.9 * counts.sum():  # share of the texts that parse
            continue
        if what == "numbers":
            are_whole = all(text.isdecimal() for text in counts.index)
            if are_whole and len(counts) <= _MAX_LABEL_VALUES:
                return
            is_plain = is_read & _are_numbers(counts.index)
            if is_plain.any():
                is_read = is_plain
        example = counts.index[is_read][0]
        others = counts[~is_read]
        also = f", and also {quoted(others)}" if len(others) else ""
        raise WrongType(
            f"{name} must be numbers or names of categories, but column {place} holds "
            f"{what} as texts, such as "
            f"{example!r}{also}: {how}; if they are names, {AS_CATEGORIES}."
        )


def _are_numbers(texts: pd.Index) -> np.ndarray:
    """Which texts pandas reads as numbers."""
    numbers = pd.to_numeric(texts, errors="coerce")
    return ~np.isnan(np.asarray(numbers, dtype=np.float64))


def _counts(texts: np.ndarray) -> Counts:
    """How often every text [n] occurs, the most frequent first, without missing texts."""
    counts = pd.Series(texts, dtype=object).value_counts()
    names = []
    for text in counts.index:
        is_bytes = isinstance(text, bytes)
        names.append(text.decode(errors="replace") if is_bytes else str(text))
    return counts.set_axis(names)


def quoted(counts: Counts) -> str:
    """Texts with their counts: 'a' (12), 'b' (3); of many texts, the first ones."""
    items = counts[:MAX_SHOWN].items()
    shown = ", ".join(f"{text!r} ({count:,})" for text, count in items)
    more = len(counts) - MAX_SHOWN
    return f"{shown} and {more:,} more" if more > 0 else shown


def require_no_dates(name: str, column: ArrayLike, place: str) -> None:
    """ValueError for dates, times and spans of time.

    The user must choose their unit and origin and turn them into numbers.
    """
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind in TIMES:
        raise WrongType(
            f"{name} must be numbers or names of categories, but column {place} holds "
            f"{kind} values: turn them into "
            f"numbers, {HOW_DATES_BECOME_NUMBERS}; if they are names, {AS_CATEGORIES}."
        )


def unreadable_texts(values: np.ndarray) -> str:
    """The end of a sentence on texts among values [n]."""
    counts = _counts(values)
    unreadable = counts[~_are_numbers(counts.index)]
    if len(unreadable) == 0:
        return ": make them numbers"
    return f", with {quoted(unreadable)}: make them numbers or leave their rows out"


def has_few_repeated_values(numbers: np.ndarray) -> bool:
    """Whether a continuous column [n] holds few distinct values that repeat."""
    if len(np.unique(numbers[:100])) > _MAX_LABEL_VALUES:  # the first few mostly decide
        return False
    distinct = len(np.unique(numbers))
    return 1 < distinct <= _MAX_LABEL_VALUES and len(numbers) >= MIN_REPEATS * distinct
