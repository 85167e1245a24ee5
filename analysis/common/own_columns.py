"""Columns of texts, as people write them, become numbers, days, hours or categories.

A column holds numbers or dates only if all of its known texts do. Where nearly all do, or where they can mean two
numbers or two days, the column has a problem: the end of a sentence, with the option that decides.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from infoscope.estimators.variables import quoted

MARKS = frozenset(["", "?", "nan", "null", "n/a", "#n/a", "<na>", r"\n"])  # missing in every column
WORDS = frozenset(["na", "none", "-", "--", "."])  # missing among numbers and dates, categories among other texts
MIN_SHARE = 0.9  # of the rows, from which other texts among numbers or dates are a problem
MAX_LENGTH = 60  # of a text that is a number or a date
MAX_UNITS, MAX_LABELS = 3, 20  # more units, or fewer distinct texts, are categories, such as 1st and 2nd
MAX_SAMPLE = 1_000  # distinct texts of a column in which decimal signs are looked for
HOUR, DAY = pd.Timedelta(hours=1), pd.Timedelta(days=1)
SPACES = str.maketrans("\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}\N{MINUS SIGN}", "   -")
CURRENCY = "$\N{EURO SIGN}\N{POUND SIGN}\N{YEN SIGN}"
NOT_LETTERS = "%\N{DEGREE SIGN}" + CURRENCY  # with which units begin
QUANTITY = re.compile(
    rf"(?P<bound>[<>~\u2264\u2265]=?)? ?(?P<sign>[-+]?)(?P<currency>[{CURRENCY}]?) ?"
    r"(?=[.,]?\d)(?P<number>(\d{1,3}([.,' ]\d{2,3})*[.,' ]\d{3}|\d*)([.,]\d*)?(e[-+]?\d+)?) ?"
    rf"(?P<unit>([^\W\d_]|[{NOT_LETTERS}])\S{{0,11}})?",
    re.IGNORECASE,
)
OTHER_SIGN = {".": ",", ",": "."}
CLOCK = r"(?P<clock>\d\d?[:.]\d\d([:.]\d\d(\.\d+)?)?) ?([ap]m)?"
MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
DATE_FORMS = (
    r"(\d{4}[-/.](0?[1-9]|1[0-2])([-/.]\d\d?)?|(?P<first>\d\d?)(?P<between>[-/.])(?P<second>\d\d?)[-/.](\d\d){1,2}"
    rf"|\d\d?\.?[ -]{MONTH}[ -](\d\d){{1,2}}|{MONTH} \d\d?,? \d{{4}})"
)
DATE = re.compile(rf"{DATE_FORMS}([T ]{CLOCK} ?(Z|UTC|[-+]\d\d:?\d\d)?)?", re.IGNORECASE)
TIME = re.compile(CLOCK, re.IGNORECASE)


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
    """The texts of a kind, such as numbers, and the values, by text, of those that could be parsed."""

    alike: pd.Index = field(default_factory=lambda: pd.Index([]))
    values: pd.Series = field(default_factory=lambda: pd.Series(dtype=float))
    understood: str = ""
    problem: str = ""


def typed(texts: pd.Series, conventions: Conventions) -> Column:
    """A column of stripped texts [n] as numbers, days, hours, booleans, or texts.

    Whole numbers and booleans with missing values are objects: they stay what they are when rows are left out.
    """
    counts = texts.value_counts()
    lower = counts.index.str.casefold()
    is_missing = lower.isin(conventions.marks or MARKS)
    is_word = lower.isin([] if conventions.marks else WORDS) & ~is_missing
    names = counts[~is_missing & ~is_word]
    missing, words = counts[is_missing], counts[is_word]
    problem = ""
    for what, parse in (("numbers", _numbers), ("dates", _dates), ("booleans", _booleans)):
        parsed = parse(names.index, conventions)
        if names[parsed.alike].sum() < max(MIN_SHARE * names.sum(), 1):
            continue
        others = names.drop(parsed.values.index)
        problem = parsed.problem
        if len(others) and not problem:
            problem = f"{what}, and also {quoted(others)}: ARGS=\"--marks TEXT,TEXT\" names those that mean missing"
        if not problem:
            return Column(_spread(parsed.values, texts), pd.concat([missing, words]), parsed.understood)
        break
    values = texts.astype(object).mask(texts.isin(missing.index), None)
    understood = f"with {quoted(words)} as a category, not as missing" if len(words) else ""
    return Column(values, missing, understood, problem)


def _spread(values: pd.Series, texts: pd.Series) -> pd.Series:
    """Values by text as values of all rows."""
    if not texts.isin(values.index).all() and values.dtype.kind != "f":
        values = values.astype(object)
    return values.reindex(texts).set_axis(texts.index)


def decimal_signs(texts: pd.Series) -> set[str]:
    """The decimal signs that a column [n] shows: "1,5" shows a comma, "1,234.5" and "1,234,567" a point, "1,234" none.

    Empty for a column of other texts than numbers.
    """
    distinct = texts.drop_duplicates()[:MAX_SAMPLE]
    names = distinct[~distinct.str.casefold().isin(MARKS | WORDS)]
    quantities = _matches(QUANTITY, names)
    if len(quantities) < MIN_SHARE * len(names):
        return set()
    return {_decimal_sign(match["number"]) for match in quantities.values()} - {""}


def _decimal_sign(number: str) -> str:
    """The decimal sign of a number, "" if it has none or if its only sign may separate thousands."""
    mantissa = re.split("e", number.strip(), flags=re.IGNORECASE)[0]
    whole, *groups = re.split("[.,]", mantissa)
    if not groups:
        return ""
    signs = re.findall("[.,]", mantissa)
    if len(set(signs)) == 2:
        return signs[-1]
    if len(signs) > 1:
        in_thousands = all(len(group) == 3 for group in groups)
        return OTHER_SIGN[signs[0]] if in_thousands else ""
    may_be_thousands = len(groups[0]) == 3 and re.fullmatch("[1-9][0-9]{0,2}", whole)
    return "" if may_be_thousands else signs[0]


def _matches(pattern: re.Pattern[str], texts: Iterable[str]) -> dict[str, re.Match[str]]:
    """The match of every text that is one as a whole."""
    matches = {}
    for text in texts:
        match = pattern.fullmatch(text.translate(SPACES)) if len(text) <= MAX_LENGTH else None
        if match:
            matches[text] = match
    return matches


def _numbers(texts: pd.Index, conventions: Conventions) -> _Parsed:
    """Numbers with or without a unit, separators of thousands and decimal commas."""
    plain = pd.Series(pd.to_numeric(texts, errors="coerce"), texts)
    if conventions.decimal != "," and not plain.isna().any():
        return _Parsed(texts, plain)
    quantities = _matches(QUANTITY, texts)
    if not quantities:
        return _Parsed()
    parts = pd.DataFrame([match.groupdict("") for match in quantities.values()], pd.Index([*quantities]))
    units = (parts["currency"] + parts["unit"]).value_counts()
    if len(units) > MAX_UNITS or (len(units) > 1 and len(texts) <= MAX_LABELS):
        return _Parsed()
    if len(units) > 1:
        return _Parsed(parts.index, problem=f"numbers in different units, {quoted(units)}: write them in one")
    has_comma = parts["number"].str.contains(",")
    if has_comma.any() and not conventions.decimal:
        how = "ARGS='--decimal ,' reads it as a decimal, ARGS='--decimal .' as thousands"
        return _Parsed(parts.index, problem=f"numbers such as {parts.index[has_comma][0]!r}: {how}")
    decimal = conventions.decimal or "."
    group = rf"[{OTHER_SIGN[decimal]}' ]"
    numbers = parts["number"].str.strip()
    form = rf"(?i)(\d*|\d{{1,3}}({group}\d{{2,3}})*{group}\d{{3}})([{decimal}]\d*)?(e[-+]?\d+)?"
    is_number = numbers.str.fullmatch(form) & (parts["bound"] == "")
    if not is_number.any():  # such as <=50K and >50K
        return _Parsed()
    figures = (parts["sign"] + numbers)[is_number].str.replace(group, "", regex=True)
    values = pd.to_numeric(figures.str.replace(",", "."))
    assumptions = {
        f"without {units.index[0]!r}": bool(units.index[0]),
        "with decimal commas": decimal == "," and has_comma.any(),
        "with separators of thousands": numbers[is_number].str.contains(group).any(),
    }
    made = [assumption for assumption, is_made in assumptions.items() if is_made]
    return _Parsed(parts.index, values, " and ".join(made))


def _booleans(texts: pd.Index, conventions: Conventions) -> _Parsed:
    lower = texts.str.casefold()
    alike = texts[lower.isin(["true", "false"])]
    return _Parsed(alike, pd.Series(alike.str.casefold() == "true", alike))


def _dates(texts: pd.Index, conventions: Conventions) -> _Parsed:
    """Times of day in hours, or dates in days or hours since the first."""
    times = _matches(TIME, texts)
    if times and len(times) == len(texts):
        clocks = pd.Series({text: _with_colons(match) for text, match in times.items()})
        moments = pd.to_datetime("2000-01-01 " + clocks, format="mixed", errors="coerce").dropna()
        values = (moments - pd.Timestamp("2000-01-01")) / HOUR
        return _Parsed(texts, values, "as hours of the day (ANGLES=NAME:24 for a circle)")
    matches = _matches(DATE, texts)
    alike = pd.Index([*matches])
    written = pd.Series({text: _with_colons(match) for text, match in matches.items()}, dtype=object)
    numeric = pd.DataFrame([match.group("first", "second", "between") for match in matches.values()], alike).dropna()
    orders = {conventions.dates} - {""}
    if len(numeric) and not orders:
        if (numeric[0].astype(int) > 12).any() or (numeric[2] == ".").any():
            orders.add("day")
        if (numeric[1].astype(int) > 12).any():
            orders.add("month")
        if not orders:
            how = "ARGS='--dates day' or ARGS='--dates month' names what comes first"
            return _Parsed(alike, problem=f"dates such as {numeric.index[0]!r}: {how}")
    if not matches or len(orders) == 2:
        return _Parsed()
    is_numeric = written.index.isin(numeric.index)
    iso = _moments(written[~is_numeric], False)
    values, unit = _elapsed(pd.concat([iso, _moments(written[is_numeric], "day" in orders)]).dropna())
    return _Parsed(alike, values, unit)


def _with_colons(match: re.Match[str]) -> str:
    """A date or time with colons in its time of day."""
    clock = match["clock"] or ""
    return match.string if ":" in clock else match.string.replace(clock, clock.replace(".", ":"))


def _moments(dates: pd.Series, day_first: bool) -> pd.Series:
    return pd.to_datetime(dates, format="mixed", dayfirst=day_first, utc=True, errors="coerce")


def measurable(values: Any) -> tuple[Any, str]:
    """Dates and times [n] as numbers, and their unit; whole numbers with gaps as objects; others as they are."""
    kind = pd.api.types.infer_dtype(values, skipna=True)
    if kind in ("date", "datetime", "datetime64"):
        return _elapsed(pd.Series(pd.to_datetime(values, utc=True)))
    if kind in ("time", "timedelta", "timedelta64"):
        spans = values if kind.startswith("timedelta") else pd.Series(values).astype(str)
        return pd.Series(pd.to_timedelta(spans)) / HOUR, "in hours"
    if isinstance(values, pd.Series) and values.dtype.kind in "iu" and values.hasnans:
        return values.astype(object), ""
    return values, ""


def _elapsed(moments: pd.Series) -> tuple[pd.Series, str]:
    """Days since the first moment, or hours if there are times of day; and the unit in words."""
    first = moments.min()
    known = moments.dropna()
    if (known == known.dt.normalize()).all():
        return (moments - first) / DAY, f"as days since {first:%Y-%m-%d} (ANGLES=NAME:365.25 for the time of year)"
    unit = f"as hours since {first:%Y-%m-%d %H:%M} (ANGLES=NAME:24 for the time of day, NAME:8766 of year)"
    return (moments - first) / HOUR, unit
