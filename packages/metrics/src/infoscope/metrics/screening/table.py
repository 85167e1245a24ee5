"""`screen`: dependence of the columns of a table on a target, or on each other, in bits, and redundant columns."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from scipy.stats import false_discovery_control

from infoscope.checks import require_int, require_number
from infoscope.errors import Conflict, OutOfRange, TooFew, UnknownName
from infoscope.estimators.alignment import aligned, group_codes
from infoscope.estimators.arrays.registry import estimate
from infoscope.estimators.columns import bare_columns
from infoscope.estimators.independence.association import independence
from infoscope.estimators.independence.beyond import at_most_entropy, beyond, choose
from infoscope.estimators.independence.columns import Column, as_columns
from infoscope.estimators.independence.functions import CATEGORY, WHOLE
from infoscope.estimators.reading.given import as_triples, read_given
from infoscope.estimators.reading.sentences import SERIES_CODE, in_series
from infoscope.estimators.result import Estimate, undefined
from infoscope.estimators.threads import threads_for
from infoscope.estimators.variables import of_kept
from infoscope.metrics.screening.result import Screen, listed, ordered
from infoscope.notes import Note

MIN_ROWS = 20
MAX_MISSING = 0.2  # share of missing values of a candidate for selection, which uses complete rows
MAX_PAIRS = 100_000
MAX_SELECTED_ROWS = 4_000  # of the choice of columns
MIN_READ, MAX_READ, TOTAL_READ = 500, 5_000, 500_000  # rows used for the reading of a pair, and for all pairs together
SHARE_READ = 0.7  # of the work, where columns are chosen after the readings
MAX_NOTES = 6  # of readings
ADVICE_ON_SERIES = "Rows follow one another: give their groups, or shuffle the rows if their order has no meaning."
PARALLEL_ROWS = 20_000  # total rows from which several processes are used
Progress = Callable[[float, str], None]
Pair = tuple[str, str]


def screen(
    table: Any,
    target: str | None = None,
    groups: ArrayLike | None = None,
    *,
    given: str | Sequence[str] = (),
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
    given       names of columns: every pair is tested and read given these, which are no candidates themselves
    continuous, discrete, angles  columns that are numbers, categories, and angles with their period; the others are
                typed as by `estimate`, but whole numbers are ordered in tests of independence
    level       false discovery rate
    rows        maximum number of rows, drawn once, for the reading of a pair; None: up to 5,000, fewer in large tables
    generator   of these rows and of the readings; None: as in `estimate`
    processes   number of processes for readings; -1: one for each core
    progress    called with the share done and a description

    Every pair has a p-value from all its rows (`independence.association`), its q-value, and the reading of its
    information. Nothing is called dependent where rows follow one another. With a target, dependent columns are
    selected step by step, on at most 4,000 rows; what a column adds to the others is the
    information of the residuals of both given these, as for normal variables (`independence.beyond`). Rows in which a
    value of the pair or of a condition is missing are left out. Tests given conditions use at most 4,000 rows; where
    one is not decided (`independence_test`) there is no p-value, and nothing is called dependent. InfoscopeError: an
    unknown name, a condition that is the target, dates, infinite values, fewer than 20 rows.

    >>> screen(examples.genes(), "phenotype", given="snp2").given  # doctest: +SKIP
    ('snp2',)
    """
    require_number("level", level, 0, 1, ends=False)
    require_int("rows", MIN_ROWS if rows is None else rows, MIN_ROWS)
    if target is not None and np.ndim(groups) == 0 and target == groups:
        raise Conflict(f"groups must name another column than target, got {groups!r} for both.")
    named, groups = _named(table, groups)
    periods = {str(name): period for name, period in (angles or {}).items()}
    columns, left_out = as_columns(named, list(map(str, continuous)), list(map(str, discrete)), periods)
    question = _question(columns, left_out, target, given)
    n = _rows_of(columns)
    codes = _codes_of(n, groups)
    pairs, notes = _pairs_of(question, n)
    notes = [Note(f"{why} It is left out.", "column left out", name) for name, why in left_out.items()] + notes
    progress(0.0, f"{len(pairs):,} pairs of columns in {n:,} rows")
    with threads_for(0):  # one thread for each process
        tests, more_notes = _tested(question, pairs, codes, level)
        notes += more_notes
        chooses = question.target is not None and bool(tests.dependent.any())
        share = SHARE_READ if chooses else 1.0
        reader = _Reader(question, codes, rows, generator, processes, progress, len(pairs), share)
        readings: dict[Pair, Estimate] = {}
        for some in (tests.dependent, ~tests.dependent):
            readings |= reader.read([pairs[place] for place in np.flatnonzero(some)])
        series = np.array([in_series(readings[pair]) for pair in pairs])
        tests = tests.without(series)
        results = [_row(question, pair, readings[pair]) | tests.row(place) for place, pair in enumerate(pairs)]
        notes += _notes_of_readings(readings.values())
        if question.target is not None and tests.dependent.any():
            names = [pairs[place][0] for place in np.argsort(-tests.strength) if tests.dependent[place]]
            added, more_notes = _select(question, names, codes, level, reader)
            notes += more_notes
            results = [row | added.get(str(row["column"]), {}) for row in results]
    progress(1.0, "done")
    of_groups = 0 if codes is None else int(codes.max()) + 1
    name = question.target or ""
    in_order = ordered(results)
    return Screen(in_order, name, level, n, of_groups, tuple(notes), int(series.sum()), question.conditions)


@dataclass(frozen=True)
class _Question:
    """What is asked of a table: its columns by name, the target (None: every pair), and the conditions."""

    columns: Mapping[str, Column]
    target: str | None
    conditions: tuple[str, ...]

    def known(self, pair: Pair) -> NDArray[np.bool_]:
        """The rows [n] without a missing value in a pair and the conditions."""
        return _known(self.columns, (*pair, *self.conditions))


@dataclass(frozen=True, eq=False)
class _Tests:
    """Of each pair the p-value and q-value (nan: not decided), the strength, and whether it is called dependent."""

    p: NDArray[np.float64]
    q: NDArray[np.float64]
    strength: NDArray[np.float64]
    dependent: NDArray[np.bool_]

    def without(self, series: NDArray[np.bool_]) -> _Tests:
        """Without the answers for pairs whose rows follow one another."""
        p, q = (np.where(series, np.nan, values) for values in (self.p, self.q))
        return replace(self, p=p, q=q, dependent=self.dependent & ~series)

    def row(self, place: int) -> dict[str, object]:
        """Columns of the table for one pair."""
        return {"p": self.p[place], "q": self.q[place], "dependent": bool(self.dependent[place])}


def _question(
    columns: Mapping[str, Column], left_out: Mapping[str, str], target: str | None, given: str | Sequence[str]
) -> _Question:
    """What is asked of the columns; UnknownName, Conflict: of columns that are not there, or asked of themselves."""
    conditions = (str(given),) if isinstance(given, str) else tuple(map(str, given))
    if target is not None:
        target = str(target)
        if target not in columns:
            why = left_out.get(target, f"got {target!r}.")
            raise UnknownName(f"target must name a column of the table that varies: {why}")
    _require_conditions(conditions, columns, left_out, target)
    return _Question(columns, target, conditions)


def _rows_of(columns: Mapping[str, Column]) -> int:
    """The number of rows; TooFew: fewer than two columns, columns of different lengths, too few rows."""
    lengths = {len(column.known) for column in columns.values()}
    if len(columns) < 2 or len(lengths) != 1 or min(lengths) < MIN_ROWS:
        raise TooFew(
            f"table must have two columns or more that vary, of one length and at least {MIN_ROWS} rows, got "
            f"{len(columns)} of lengths {sorted(lengths)}."
        )
    return lengths.pop()


def _codes_of(n: int, groups: Any) -> NDArray[np.int64] | None:
    """The number [n] of each row's group; None where each row is its own."""
    if groups is None:
        return None
    count, codes = group_codes(n, groups)
    return None if count == n else codes


def _pairs_of(question: _Question, n: int) -> tuple[list[Pair], list[Note]]:
    """The pairs with enough rows, and a note of the others. OutOfRange: too many; TooFew: none has enough rows."""
    candidates = [name for name in question.columns if name not in question.conditions]
    count = math.comb(len(candidates), 2)
    if question.target is not None:
        count = len(candidates) - 1
    if count > MAX_PAIRS:
        raise OutOfRange(
            f"table must have at most {MAX_PAIRS:,} pairs of columns, got {count:,} of {len(question.columns):,} "
            "columns: give a target, or fewer columns."
        )
    pairs = list(combinations(candidates, 2))
    if question.target is not None:
        pairs = [(name, question.target) for name in candidates if name != question.target]
    few = [pair for pair in pairs if question.known(pair).sum() < MIN_ROWS]
    if not few:
        return pairs, []
    listed_pairs = listed(map(" and ".join, few))
    sentence = f"Left out, with fewer than {MIN_ROWS} rows without missing values: {listed_pairs}."
    if len(few) == len(pairs):
        raise TooFew(
            f"table must have {MIN_ROWS} rows or more without missing values in some pair, got none. {sentence}"
        )
    left_out = set(few)
    return [pair for pair in pairs if pair not in left_out], [Note(sentence, "pairs left out")]


def _tested(
    question: _Question, pairs: Sequence[Pair], codes: NDArray[np.int64] | None, level: float
) -> tuple[_Tests, list[Note]]:
    """Tests of the pairs, given the conditions, at a false discovery rate; and notes."""
    notes: list[Note] = []
    if question.conditions:
        p, strength, notes = _tests_given(question, pairs, codes, level)
    else:
        p, strength = _tests(question.columns, pairs, codes)
    q = false_discovery_control(np.nan_to_num(p, nan=1.0))
    q[np.isnan(p)] = np.nan
    return _Tests(p, q, strength, q <= level), notes


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


def _require_conditions(
    conditions: Sequence[str], columns: Mapping[str, Column], left_out: Mapping[str, str], target: str | None
) -> None:
    """UnknownName unless every condition is a column that varies; Conflict: the target, or one named twice."""
    for name in conditions:
        if name not in columns:
            why = left_out.get(name, f"got {name!r}.")
            raise UnknownName(f"given must name columns of the table that vary: {why}")
        if name == target:
            raise Conflict(f"given must name other columns than target, got {name!r} for both.")
        if conditions.count(name) > 1:
            raise Conflict(f"given must name each column once, got {name!r} twice.")


def _known(columns: Mapping[str, Column], names: Sequence[str]) -> NDArray[np.bool_]:
    """The rows [n] without a missing value in these columns."""
    return np.all([columns[name].known for name in names], axis=0)


def _tests_given(
    question: _Question, pairs: Sequence[Pair], groups: NDArray[np.int64] | None, level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], list[Note]]:
    """p-values given the conditions [pairs], nan where not decided; information, nats, for their order; and notes."""
    p, strength = np.ones(len(pairs)), np.zeros(len(pairs))
    columns = question.columns
    order = np.random.default_rng(0).permutation(len(columns[pairs[0][0]].known))
    notes = []
    for place, pair in enumerate(pairs):
        names = (*pair, *question.conditions)
        rows = question.known(pair)
        if rows.sum() > MAX_SELECTED_ROWS:
            drawn = order[rows[order]][:MAX_SELECTED_ROWS]
            rows = np.isin(np.arange(len(rows)), drawn)
            sentence = f"Tests given conditions use {MAX_SELECTED_ROWS:,} rows, drawn at random."
            notes = [Note(sentence, "rows drawn")]
        x, y, *given = (columns[name].smooth(rows) for name in names)
        test = beyond(x, y, given, level, of_kept(groups, rows))
        p[place], strength[place] = test.p, test.information.value
    undecided = int(np.isnan(p).sum())
    if undecided:
        sentence = (
            f"Not decided for {undecided:,} of {len(pairs):,} pairs: all they share may be due to the conditions."
        )
        notes.append(Note(sentence, "not decided"))
    return p, strength, notes


def _tests(
    columns: Mapping[str, Column], pairs: Sequence[Pair], groups: NDArray[np.int64] | None
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
        self, question: _Question, groups: NDArray[np.int64] | None, rows: int | None,
        generator: np.random.Generator | None, processes: int, progress: Progress, total: int, share: float,
    ) -> None:  # fmt: skip
        self.question, self.groups, self.rows, self.generator = question, groups, rows, generator
        self.processes, self.progress, self.done, self.total = processes, progress, 0, total
        self.share = share  # of the work
        n = len(next(iter(question.columns.values())).known)
        units = np.arange(n) if groups is None else groups
        draws = np.random.default_rng(0) if generator is None else generator
        self.order = np.argsort(draws.permutation(int(units.max()) + 1)[units], kind="stable")  # whole groups

    def read(self, pairs: Sequence[Pair]) -> dict[Pair, Estimate]:
        """The reading of each pair of columns."""
        most = self.rows or int(np.clip(TOTAL_READ // max(len(pairs), 1), MIN_READ, MAX_READ))
        workers = self.processes if most * len(pairs) > PARALLEL_ROWS else 1
        found = {}
        tasks = (delayed(_reading)(*self._task(pair, most)) for pair in pairs)  # a few of them at a time
        for pair, reading in zip(pairs, Parallel(workers, return_as="generator")(tasks)):
            found[pair] = reading
            self.done += 1
            self.progress(self.share * self.done / self.total, f"{self.done:,} of {self.total:,} read")
        return found

    def _task(self, pair: Pair, most: int) -> tuple[list[Any], NDArray[np.int64] | None, int]:
        columns = [self.question.columns[name] for name in (*pair, *self.question.conditions)]
        known = self.question.known(pair)
        rows = np.sort(self.order[known[self.order]][:most])
        seed = 0 if self.generator is None else int(self.generator.integers(1 << 32))
        return [column.typed(rows) for column in columns], of_kept(self.groups, rows), seed


def _reading(columns: Sequence[Any], groups: NDArray[np.int64] | None, seed: int) -> Estimate:
    x, y, *conditions = columns
    generator = np.random.default_rng(seed)
    try:
        if conditions:
            return read_given(as_triples(x, y, _together(conditions), groups), generator)
        return estimate(x, y, groups=groups, generator=generator)
    except ValueError as error:  # such as a constant column in these rows
        return undefined(str(error), n=len(groups) if groups is not None else 0)


def _together(blocks: Sequence[Any]) -> Any:
    """Conditions as one value: a list where some have a wrapper, else a data frame."""
    if all(isinstance(block, pd.Series) for block in blocks):
        return pd.concat(blocks, axis=1)
    return list(blocks)


def _row(question: _Question, pair: Pair, found: Estimate) -> dict[str, object]:
    x, y = (question.columns[name] for name in pair)
    rows = question.known(pair)
    return {
        "column": x.name, "with": y.name, "kind": x.kind, "bits": found.bits.value, "low_bits": found.bits.low,
        "high_bits": found.bits.high, "grade": getattr(found, "grade", ""), "n": int(rows.sum()),
        "rows_read": found.n,
    }  # fmt: skip


def _notes_of_readings(readings: Iterable[Estimate]) -> list[Note]:
    """Notes of readings, each once, with its number of pairs; not of unusual data, which are grade C."""
    counts = Counter(note for reading in readings for note in dict.fromkeys(reading.notes))
    of_pairs, of_columns = [], {}
    for note, count in counts.most_common():
        code, argument = getattr(note, "code", ""), getattr(note, "argument", "")
        if code == SERIES_CODE:
            of_pairs.append(Note(f"{ADVICE_ON_SERIES} (In {count:,} of the pairs.)", code))
        if code in ("unusual data", SERIES_CODE, "rows in sequence"):
            continue
        if argument in ("x", "y"):
            sentence = note.removeprefix(f"{argument}: ")
            of_columns[sentence] = Note(sentence, code)
        else:
            of_pairs.append(Note(f"{note} (In {count:,} of the pairs.)", code, argument))
    return [*of_pairs, *of_columns.values()][:MAX_NOTES]


def _select(
    question: _Question, names: Sequence[str], groups: NDArray[np.int64] | None, level: float, reader: _Reader
) -> tuple[dict[str, dict[str, object]], list[Note]]:
    """What dependent columns, the strongest first, add to the selected ones; and notes."""
    columns, target, conditions = question.columns, str(question.target), question.conditions
    notes = []
    gaps = [name for name in names if 1 - columns[name].known.mean() > MAX_MISSING]
    if gaps:
        sentence = f"Not candidates for selection, with more than {MAX_MISSING:.0%} missing values: {listed(gaps)}."
        notes.append(Note(sentence, "not candidates"))
    names = [name for name in names if name not in gaps]
    rows = _known(columns, (*names, target, *conditions))
    complete = int(rows.sum())
    if not names or complete < MIN_ROWS:
        sentence = f"No column is selected: only {complete:,} rows have no missing value in the candidates."
        return {}, [*notes, Note(sentence, "no selection")]
    if complete < len(rows):
        notes.append(Note(f"Columns are selected on the {complete:,} rows without missing values.", "complete rows"))
    if complete > MAX_SELECTED_ROWS:
        drawn = reader.order[rows[reader.order]][:MAX_SELECTED_ROWS]
        rows = np.isin(np.arange(len(rows)), drawn)
        notes.append(Note(f"Columns are selected on {len(drawn):,} of these rows, drawn at random.", "rows drawn"))
    smooth = {name: columns[name].smooth(rows) for name in names}
    kept = of_kept(groups, rows)

    def progress(share: float, what: str) -> None:
        reader.progress(reader.share + (1 - reader.share) * share, what)

    given = [columns[name].smooth(rows) for name in conditions]
    choice = choose(smooth, columns[target].smooth(rows), level, kept, progress, given)
    found: dict[str, dict[str, object]] = {}
    for name in names:
        labels = [columns[each].labels(rows) for each in (name, target) if columns[each].kind in (WHOLE, CATEGORY)]
        adds = at_most_entropy(choice.beyond[name].information, labels, kept).bits
        found[name] = {"adds_bits": adds.value, "adds_low_bits": adds.low, "adds_high_bits": adds.high}
        found[name]["p_beyond"] = choice.beyond[name].p
        if name in choice.chosen:
            found[name]["chosen"] = choice.chosen.index(name) + 1
        else:
            strength = independence([smooth[name]], [smooth[one] for one in choice.chosen], kept).strength[0]
            found[name]["like"] = choice.chosen[int(strength.argmax())]
    return found, notes
