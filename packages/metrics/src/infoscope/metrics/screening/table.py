"""`screen`: dependence of the columns of a table on a target, or on each other, in bits, and redundant columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from scipy.stats import false_discovery_control

from infoscope.checks import require_int, require_number
from infoscope.errors import Conflict, TooFew, UnknownName
from infoscope.estimators.arrays.registry import estimate
from infoscope.estimators.independence.association import independence
from infoscope.estimators.independence.beyond import choose
from infoscope.estimators.independence.columns import Column, as_columns
from infoscope.estimators.reading.result import SERIES
from infoscope.estimators.result import Estimate, undefined
from infoscope.estimators.variables import aligned, bare_columns, group_codes, of_kept
from infoscope.metrics.screening.result import Screen, listed, ordered

MIN_ROWS = 20
MAX_MISSING = 0.2  # share of missing values of a candidate for selection, which uses complete rows
MIN_READ, MAX_READ, TOTAL_READ = 500, 5_000, 500_000  # rows used for the reading of a pair, and for all pairs together
PARALLEL_ROWS = 20_000  # total rows from which several processes are used
Progress = Callable[[float, str], None]


def screen(
    table: Any,
    target: str | None = None,
    groups: ArrayLike | None = None,
    *,
    continuous: Collection[str] = (),
    discrete: Collection[str] = (),
    angles: Mapping[str, float] | None = None,
    level: float = 0.05,
    rows: int | None = None,
    generator: np.random.Generator | None = None,
    processes: int = -1,
    progress: Progress = lambda share, what: None,
) -> Screen:
    """Dependence of every column of a table on a target, or of every pair.

    table       a data frame of pandas, polars or pyarrow, a mapping of columns [n] or an array [n, d]; a column of a
                mapping may be wrapped (Continuous, Discrete, Angle)
    target      name of a column; None: every pair
    groups      [n] of dependent rows, or the name of the column that has them
    continuous, discrete, angles  columns that are numbers, categories, and angles with their period; the others are
                typed as by `estimate`, but whole numbers are ordered in tests of independence
    level       false discovery rate
    rows        maximum number of rows, drawn once, for the reading of a pair; None: up to 5,000, fewer in large tables
    generator   of these rows and of the readings; None: as in `estimate`
    processes   number of processes for readings; -1: one for each core
    progress    called with the share done and a description

    Every pair has a p-value from all its rows (`independence.association`), its q-value, and the reading of its
    information. With a target, dependent columns are selected step by step; what a column adds to the others is the
    information of the residuals of both given these, as for normal variables (`independence.beyond`). Rows in which a
    value of the pair is missing are left out. InfoscopeError: an unknown name, dates, infinite values, fewer than 20
    rows.
    """
    require_number("level", level, 0, 1, ends=False)
    require_int("rows", MIN_ROWS if rows is None else rows, MIN_ROWS)
    if target is not None and np.ndim(groups) == 0 and target == groups:
        raise Conflict(f"groups must name another column than target, got {groups!r} for both.")
    target = None if target is None else str(target)
    named, groups = _named(table, groups)
    periods = {str(name): period for name, period in (angles or {}).items()}
    columns, left_out = as_columns(named, list(map(str, continuous)), list(map(str, discrete)), periods)
    if target is not None and target not in columns:
        why = left_out.get(target, f"got {target!r}.")
        raise UnknownName(f"target must name a column of the table that varies: {why}")
    notes = [f"{why} It is left out." for why in left_out.values()]
    lengths = {len(column.known) for column in columns.values()}
    if len(columns) < 2 or len(lengths) != 1 or min(lengths) < MIN_ROWS:
        raise TooFew(
            f"table must have two columns or more that vary, of one length and at least {MIN_ROWS} rows, got "
            f"{len(columns)} of lengths {sorted(lengths)}."
        )
    n, codes = lengths.pop(), None
    if groups is not None:
        count, codes = group_codes(n, groups)
        codes = None if count == n else codes
    pairs = list(combinations(columns, 2)) if target is None else [(name, target) for name in columns if name != target]
    few = dict.fromkeys(pair for pair in pairs if np.sum(columns[pair[0]].known & columns[pair[1]].known) < MIN_ROWS)
    if few:
        named = listed(map(" and ".join, few))
        notes.append(f"Left out, with fewer than {MIN_ROWS} rows without missing values: {named}.")
        pairs = [pair for pair in pairs if pair not in few]
    if not pairs:
        raise TooFew(
            f"table must have {MIN_ROWS} rows or more without missing values in some pair, got none. {notes[-1]}"
        )
    p, strength = _tests(columns, pairs, codes)
    q = false_discovery_control(p)
    dependent = q <= level
    reader = _Reader(columns, codes, rows, generator, processes, progress, len(pairs))
    readings: dict[tuple[str, str], Estimate] = {}
    for some in (dependent, ~dependent):
        readings |= reader.read([pair for pair, one in zip(pairs, some) if one])
    found = [
        _row(columns, pair, readings[pair]) | {"p": p[place], "q": q[place], "dependent": bool(dependent[place])}
        for place, pair in enumerate(pairs)
    ]
    notes += _notes_of_readings(readings.values())
    if target is not None and dependent.any():
        names = [pairs[place][0] for place in np.argsort(-strength) if dependent[place]]
        added, more_notes = _select(columns, names, target, codes, level)
        notes += more_notes
        found = [row | added.get(str(row["column"]), {}) for row in found]
    return Screen(ordered(found), target or "", level, n, 0 if codes is None else int(codes.max()) + 1, tuple(notes))


def _named(table: Any, groups: Any) -> tuple[dict[str, Any], Any]:
    """Columns by name, aligned by index, and the groups, given by values or by name."""
    is_name = groups is not None and np.ndim(groups) == 0
    given, _ = aligned(table=table, groups=None if is_name else groups)
    table = given["table"]
    if isinstance(table, pd.DataFrame):
        named = {str(name): table.iloc[:, place] for place, name in enumerate(table.columns)}
        if len(named) < table.shape[1]:
            raise Conflict(f"table must have columns of different names, got {list(map(str, table.columns))}.")
    elif isinstance(table, Mapping):
        named = {str(name): column for name, column in table.items()}
    else:
        named = {str(place): column for place, column in enumerate(bare_columns("table", table))}
    if not is_name:
        return named, given["groups"]
    if str(groups) not in named:
        raise UnknownName(f"groups must be [n] or name a column of the table, got {groups!r}.")
    return named, named.pop(str(groups))


def _tests(
    columns: Mapping[str, Column], pairs: Sequence[tuple[str, str]], groups: NDArray[np.int64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """p-values and strengths [pairs]; pairs of columns without missing values are tested together."""
    all_rows = np.ones(len(next(iter(columns.values())).known), bool)
    whole = [name for name, column in columns.items() if groups is None and column.known.all()]
    smooth = {name: columns[name].smooth(all_rows) for name in whole}
    second = [name for name in dict.fromkeys(pair[1] for pair in pairs) if name in smooth]
    together = independence(list(smooth.values()), [smooth[name] for name in second]) if second else None
    places = [{name: place for place, name in enumerate(names)} for names in (whole, second)]
    p, strength = np.ones(len(pairs)), np.zeros(len(pairs))
    for number, (x, y) in enumerate(pairs):
        if x in places[0] and y in places[1] and together is not None:
            tested, place = together, (places[0][x], places[1][y])
        else:
            rows = columns[x].known & columns[y].known
            tested = independence([columns[x].smooth(rows)], [columns[y].smooth(rows)], of_kept(groups, rows))
            place = (0, 0)
        p[number], strength[number] = tested.p[place], tested.strength[place]
    return p, strength


class _Reader:
    """Readings of pairs of columns, in one process or in several, with progress."""

    def __init__(
        self, columns: Mapping[str, Column], groups: NDArray[np.int64] | None, rows: int | None,
        generator: np.random.Generator | None, processes: int, progress: Progress, total: int,
    ) -> None:  # fmt: skip
        self.columns, self.groups, self.rows, self.generator = columns, groups, rows, generator
        self.processes, self.progress, self.done, self.total = processes, progress, 0, total
        n = len(next(iter(columns.values())).known)
        units = np.arange(n) if groups is None else groups
        draws = np.random.default_rng(0) if generator is None else generator
        self.order = np.argsort(draws.permutation(int(units.max()) + 1)[units], kind="stable")  # whole groups

    def read(self, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Estimate]:
        """The reading of each pair of columns."""
        most = self.rows or int(np.clip(TOTAL_READ // max(len(pairs), 1), MIN_READ, MAX_READ))
        tasks, total = [], 0
        for pair in pairs:
            x, y = (self.columns[name] for name in pair)
            known = x.known & y.known
            rows = np.sort(self.order[known[self.order]][:most])
            seed = 0 if self.generator is None else int(self.generator.integers(1 << 32))
            tasks.append((x.typed(rows), y.typed(rows), of_kept(self.groups, rows), seed))
            total += len(rows)
        workers = self.processes if total > PARALLEL_ROWS else 1
        found = {}
        reading = Parallel(workers, return_as="generator")(delayed(_reading)(*task) for task in tasks)
        for pair, one in zip(pairs, reading):
            found[pair] = one
            self.done += 1
            self.progress(self.done / self.total, f"{self.done:,} of {self.total:,} read")
        return found


def _reading(x: Any, y: Any, groups: NDArray[np.int64] | None, seed: int) -> Estimate:
    try:
        return estimate(x, y, groups=groups, generator=np.random.default_rng(seed))
    except ValueError as error:  # such as a constant column in these rows
        return undefined(str(error), n=len(groups) if groups is not None else 0)


def _row(columns: Mapping[str, Column], pair: tuple[str, str], found: Estimate) -> dict[str, object]:
    x, y = (columns[name] for name in pair)
    return {
        "column": x.name, "with": y.name, "kind": x.kind, "bits": found.bits.value, "low_bits": found.bits.low,
        "high_bits": found.bits.high, "grade": getattr(found, "grade", ""), "n": int((x.known & y.known).sum()),
        "rows_read": found.n,
    }  # fmt: skip


def _notes_of_readings(readings: Iterable[Estimate]) -> list[str]:
    """Notes of readings, each once, with its number of pairs; not those on unusual data, which are grade C."""
    notes = Counter(note for one in readings for note in dict.fromkeys(one.notes))
    counted = [(note, count) for note, count in notes.most_common() if not note.startswith("These data are unlike")]
    of_columns = dict.fromkeys(note[3:] for note, _ in counted if note.startswith(("x: ", "y: ")))
    of_pairs = [
        f"{note} (In {count:,} of the pairs.)" for note, count in counted if not note.startswith(("x: ", "y: "))
    ]
    lines = [*of_pairs, *of_columns][:6]
    if notes[SERIES]:
        lines.append("p- and q-values assume independent rows, which a time series does not have: give groups of rows.")
    return lines


def _select(
    columns: Mapping[str, Column], names: Sequence[str], target: str, groups: NDArray[np.int64] | None, level: float
) -> tuple[dict[str, dict[str, object]], list[str]]:
    """What dependent columns, the strongest first, add to the selected ones; and notes."""
    gaps = [name for name in names if 1 - columns[name].known.mean() > MAX_MISSING]
    notes = (
        [f"Not candidates for selection, with more than {MAX_MISSING:.0%} missing values: {listed(gaps)}."]
        if gaps
        else []
    )
    names = [name for name in names if name not in gaps]
    rows = np.all([columns[name].known for name in (*names, target)], axis=0)
    if not names or rows.sum() < MIN_ROWS:
        return {}, [*notes, f"No column is selected: only {rows.sum():,} rows have no missing value in the candidates."]
    if not rows.all():
        notes.append(f"Columns are selected on the {rows.sum():,} rows without missing values.")
    smooth, kept = {name: columns[name].smooth(rows) for name in names}, of_kept(groups, rows)
    choice = choose(smooth, columns[target].smooth(rows), level, kept)
    found: dict[str, dict[str, object]] = {}
    for name in names:
        adds = choice.beyond[name].information.bits
        found[name] = {"adds_bits": adds.value, "adds_low_bits": adds.low, "adds_high_bits": adds.high}
        found[name]["p_beyond"] = choice.beyond[name].p
        if name in choice.chosen:
            found[name]["chosen"] = choice.chosen.index(name) + 1
        else:
            strength = independence([smooth[name]], [smooth[one] for one in choice.chosen], kept).strength[0]
            found[name]["like"] = choice.chosen[int(strength.argmax())]
    return found, notes
