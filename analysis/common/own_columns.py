"""Columns of texts, as people write them, become numbers, days, hours or categories.

A column holds numbers or dates only if all of its known texts do. Where nearly all do,
or where they can mean two numbers or two days, the column has a problem: the end of a
sentence, with the option that decides.
"""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from infoscope.estimators.guesses import quoted

# missing in every column
MARKS = frozenset(["", "?", "nan", "null", "n/a", "#n/a", "<na>", r"\n"])
# missing among numbers and dates, categories among other texts
WORDS = frozenset(["na", "none", "-", "--", "."])
# of the rows, from which other texts among numbers or dates are a problem
MIN_SHARE = 0.9
MAX_SAMPLE = 1_000  # rows in which decimal signs are looked for
HOUR, DAY = pd.Timedelta(hours=1), pd.Timedelta(days=1)
TYPOGRAPHY = {
    "\N{MINUS SIGN}": "-",
    "[\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}]": " ",
}
# of units and currencies
SYMBOLS = "%\N{DEGREE SIGN}$\N{EURO SIGN}\N{POUND SIGN}\N{YEN SIGN}"
NUMBER = r"(?:\d{1,3}(?:[.,' ]\d{2,3})*[.,' ]\d{3}|\d*)(?:[.,]\d*)?(?:[eE][-+]?\d+)?"
QUANTITY = (
    rf"(?P<bound>[<>~\u2264\u2265]?=?) ?(?P<sign>[-+]?)(?P<currency>[{SYMBOLS}]?) "
    rf"?(?=[.,]?\d)(?P<number>{NUMBER}) ?"
    rf"(?P<unit>(?:(?:[^\W\d_]|[{SYMBOLS}])\S{{0,11}})?)"
)
SHOWS = {  # numbers in which a sign can only be the decimal one
    ".": r"\D*(?:\d{0,3}\.(?:\d{1,2}|\d{4,})|(?:0|\d{4,})\.\d+|\d{1,3}(?:,\d{3})+\.\d*|\d{1,3}(?:,\d{3}){2,})\D*",
    ",": r"\D*(?:\d{0,3},(?:\d{1,2}|\d{4,})|(?:0|\d{4,}),\d+|\d{1,3}(?:\.\d{3})+,\d*|\d{1,3}(?:\.\d{3}){2,})\D*",
}
THOUSANDS = {".": "[,' ]", ",": "[.' ]"}  # separators by decimal sign
MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
CLOCK = r"\d\d?:\d\d(?::\d\d(?:\.\d+)?)? ?(?:[ap]m)?"
NUMERIC_DATE = r"(\d\d?)([-/.])(\d\d?)[-/.](?:\d\d){1,2}"
DATE = (
    rf"(?i)(?:\d{{4}}[-/.](?:0?[1-9]|1[0-2])(?:[-/.]\d\d?)?|{NUMERIC_DATE}|\d\d?\.?[ "
    rf"-]{MONTH}[ -](?:\d\d){{1,2}}"
    rf"|{MONTH} \d\d?,? \d{{4}})(?:[T ]{CLOCK} ?(?:Z|UTC|[-+]\d\d:?\d\d)?)?"
)


@dataclass(frozen=True)
class Conventions:
    """How the texts of a file are written; empty: found from the texts.

    decimal  "." or ","
    dates    "day" or "month": what comes first in 3/4/2020
    marks    texts that are missing values, in lower case, instead of the usual ones
    """

    decimal: str = ""
    dates: str = ""
    marks: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class Column:
    """A typed column.

    values      Series [n]; None or NaN where missing
    missing     number of rows by mark of a missing value
    understood  what was assumed, such as "without 'kg'"
    problem     why it holds neither numbers nor categories; "" if it does
    """

    values: pd.Series
    missing: pd.Series
    understood: str = ""
    problem: str = ""


@dataclass(frozen=True, eq=False)
class _Parsed:
    """The texts of one kind, and the values, by text, of those that can be read."""

    texts: pd.Index
    values: pd.Series
    understood: str = ""
    problem: str = ""


NOTHING = _Parsed(pd.Index([]), pd.Series(dtype=float))


def typed(texts: pd.Series, conventions: Conventions) -> Column:
    """A column of stripped texts [n] as numbers, days, hours, booleans, or texts.

    Whole numbers and booleans with missing values are objects: they stay what they are
    when rows are left out.
    """
    numbers = pd.to_numeric(texts, errors="coerce")
    if conventions.decimal != "," and len(texts) and not numbers.isna().any():
        return Column(numbers, pd.Series(dtype=int))
    counts = texts.astype(object).value_counts()
    lower = counts.index.str.casefold()
    is_missing = lower.isin(conventions.marks or MARKS)
    other_marks = frozenset() if conventions.marks else WORDS
    is_word = lower.isin(other_marks) & ~is_missing
    missing = counts[is_missing]
    words = counts[is_word]
    names = counts[~is_missing & ~is_word]
    least = max(MIN_SHARE * names.sum(), 1)
    problem = ""
    for kind, parse in KINDS.items():
        parsed = parse(pd.Series(names.index, names.index), conventions)
        if names[parsed.texts].sum() < least:
            continue
        others = names.drop(parsed.values.index)
        problem = parsed.problem
        if len(others) and not problem:
            problem = f'{kind}, and also {quoted(others)}: ARGS="--marks TEXT,TEXT" names those that mean missing'
        if not problem:
            values = parsed.values
            if len(missing) + len(words) and values.dtype.kind != "f":
                values = values.astype(object)
            column = values.reindex(texts).set_axis(texts.index)
            return Column(column, pd.concat([missing, words]), parsed.understood)
        break
    values = texts.astype(object).mask(texts.isin(missing.index), None)
    understood = (
        f"with {quoted(words)} as a category, not as missing" if len(words) else ""
    )
    return Column(values, missing, understood, problem)


def decimal_signs(texts: pd.Series) -> set[str]:
    """The decimal signs that a column of numbers shows: "1,5" shows a comma, "1,234.5"
    a point, "1,234" none.
    """
    sample = texts[:: 1 + len(texts) // MAX_SAMPLE]
    names = sample[~sample.str.casefold().isin(MARKS | WORDS)]
    if names.str.fullmatch(QUANTITY).mean() < MIN_SHARE:
        return set()
    return {sign for sign, form in SHOWS.items() if names.str.fullmatch(form).any()}


def _numbers(texts: pd.Series, conventions: Conventions) -> _Parsed:
    """Numbers with or without one unit, separators of thousands and decimal commas."""
    plain = pd.to_numeric(texts, errors="coerce")
    if conventions.decimal != "," and not plain.isna().any():
        return _Parsed(texts.index, plain)
    parts = texts.replace(TYPOGRAPHY, regex=True).str.extract(f"^{QUANTITY}$").dropna()
    units = (parts["currency"] + parts["unit"]).unique()
    if len(units) != 1:
        return NOTHING
    numbers = parts["number"].str.strip()
    has_comma = numbers.str.contains(",")
    if has_comma.any() and not conventions.decimal:
        how = "ARGS='--decimal ,' reads a decimal, ARGS='--decimal .' thousands"
        return _Parsed(
            parts.index,
            numbers,
            problem=f"numbers such as {parts.index[has_comma][0]!r}: {how}",
        )
    decimal = conventions.decimal or "."
    between = THOUSANDS[decimal]
    form = rf"(?:\d*|\d{{1,3}}(?:{between}\d{{2,3}})*{between}\d{{3}})(?:[{decimal}]\d*)?(?:[eE].*)?"
    numbers = numbers[numbers.str.fullmatch(form) & (parts["bound"] == "")]
    if numbers.empty:  # such as <=50K and >50K
        return NOTHING
    figures = (
        (parts["sign"] + numbers)
        .dropna()
        .str.replace(between, "", regex=True)
        .str.replace(",", ".")
    )
    assumed = [f"without {units[0]!r}"] if units[0] else []
    if decimal == "," and has_comma.any():
        assumed.append("with decimal commas")
    if numbers.str.contains(between).any():
        assumed.append("with separators of thousands")
    return _Parsed(parts.index, pd.to_numeric(figures), " and ".join(assumed))


def _booleans(texts: pd.Series, conventions: Conventions) -> _Parsed:
    lower = texts.str.casefold()
    values = (lower == "true")[lower.isin(["true", "false"])]
    return _Parsed(values.index, values)


def _dates(texts: pd.Series, conventions: Conventions) -> _Parsed:
    """Times of day in hours, or dates in days or hours since the first."""
    times = texts.str.replace(r"^(\d\d?)\.(\d\d)\.(\d\d)$", r"\1:\2:\3", regex=True)
    if len(times) and times.str.fullmatch(rf"(?i){CLOCK}").all():
        moments = pd.to_datetime(
            "2000-01-01 " + times, format="mixed", errors="coerce"
        ).dropna()
        hours = (moments - pd.Timestamp("2000-01-01")) / HOUR
        return _Parsed(
            texts.index, hours, "as hours of the day (ANGLES=NAME:24 for a circle)"
        )
    dates = texts[texts.str.fullmatch(DATE)]
    numeric = dates.str.extract(f"^{NUMERIC_DATE}").dropna()
    first, sign, second = numeric[0].astype(int), numeric[1], numeric[2].astype(int)
    is_day_first = (
        conventions.dates == "day" or (first > 12).any() or (sign == ".").any()
    )
    is_month_first = conventions.dates == "month" or (second > 12).any()
    are_mixed = 0 < len(numeric) < len(dates)
    if dates.empty or are_mixed or (is_day_first and is_month_first):
        return NOTHING
    if len(numeric) and not (is_day_first or is_month_first):
        how = "ARGS='--dates day' or ARGS='--dates month' names what comes first"
        return _Parsed(
            dates.index, numeric, problem=f"dates such as {numeric.index[0]!r}: {how}"
        )
    try:
        moments = pd.to_datetime(dates, dayfirst=is_day_first, utc=True)
    except ValueError:  # in several formats
        moments = pd.to_datetime(
            dates, format="mixed", dayfirst=is_day_first, utc=True, errors="coerce"
        )
    return _Parsed(dates.index, *_elapsed(moments.dropna()))


KINDS = {"numbers": _numbers, "dates": _dates, "booleans": _booleans}


def measurable(values: Any) -> tuple[Any, str]:
    """Dates [n] as numbers, and their unit; whole numbers with gaps as objects; others
    unchanged.
    """
    kind = pd.api.types.infer_dtype(values, skipna=True)
    if kind in ("date", "datetime", "datetime64"):
        return _elapsed(pd.Series(pd.to_datetime(values, utc=True)))
    has_gaps = (
        isinstance(values, pd.Series) and values.dtype.kind in "iu" and values.hasnans
    )
    return values.astype(object) if has_gaps else values, ""


def _elapsed(moments: pd.Series) -> tuple[pd.Series, str]:
    """Days since the first moment, or hours if there are times of day; and the unit in
    words.
    """
    first = moments.min()
    dated = moments.dropna()
    if (dated.dt.normalize() == dated).all():
        unit = (
            f"as days since {first:%Y-%m-%d} (ANGLES=NAME:365.25 for the time of year)"
        )
        return (moments - first) / DAY, unit
    unit = (
        f"as hours since {first:%Y-%m-%d %H:%M} (ANGLES=NAME:24 for the time of day, "
        "NAME:8766 of year)"
    )
    return (moments - first) / HOUR, unit
