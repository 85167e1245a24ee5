"""`screen`: dependence of the columns of a table on a target, or on each other, in
bits, and redundant columns.
"""

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

Values = NDArray[np.float64]
Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]

MIN_ROWS = 20
# share of missing values of a candidate for selection, which uses complete rows
MAX_MISSING = 0.2
MAX_PAIRS = 100_000
MAX_SELECTED_ROWS = 4_000  # of the choice of columns
MIN_READ = 500  # rows used for the reading of a pair
MAX_READ = 5_000
TOTAL_READ = 500_000  # rows used for the readings of all pairs together
SHARE_READ = 0.7  # of the work, where columns are chosen after the readings
MAX_NOTES = 6  # of readings
ADVICE_ON_SERIES = (
    "Rows follow one another: give their groups, or shuffle the rows if their order "
    "has no meaning."
)
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

    Parameters
    ----------
    table
        A data frame of pandas, polars or pyarrow, a mapping of columns [n] or an array
        [n, d]; a column of a mapping may be wrapped (Continuous, Discrete, Angle).
    target
        Name of a column; None: every pair.
    groups
        Labels [n] of dependent rows, or the name of the column that has them.
    given
        Names of columns: every pair is tested and read given these, which are no
        candidates themselves.
    continuous, discrete, angles
        Columns that are numbers, categories, and angles with their period; the others
        are typed as by `estimate`, but whole numbers are ordered in tests of
        independence.
    level
        False discovery rate.
    rows
        Maximum number of rows, drawn once, for the reading of a pair; None: up to
        5,000, fewer in large tables.
    generator
        Of these rows and of the readings; None: as in `estimate`.
    processes
        Number of processes for readings; -1: one for each core.
    progress
        Called with the share done and a description.

    Returns
    -------
    Screen
        For every pair a p-value from all its rows (`independence.association`), its
        q-value, and the reading of its information. Nothing is called dependent where
        rows follow one another. With a target, dependent columns are selected step by
        step, on at most 4,000 rows; what a column adds to the others is the information
        of the residuals of both given these, as for normal variables
        (`independence.beyond`). Rows in which a value of the pair or of a condition is
        missing are left out. Tests given conditions use at most 4,000 rows; where a
        test is undecided (`independence_test`) the p-value is missing and nothing is
        called dependent.

    Raises
    ------
    InfoscopeError
        An unknown name, a condition that is the target, dates, infinite values, fewer
        than 20 rows.

    Examples
    --------
    >>> screen(examples.genes(), "phenotype", given="snp2").given  # doctest: +SKIP
    ('snp2',)
    """
    require_number("level", level, 0, 1, ends=False)
    require_int("rows", MIN_ROWS if rows is None else rows, MIN_ROWS)
    if target is not None and np.ndim(groups) == 0 and target == groups:
        raise Conflict(
            f"groups must name another column than target, got {groups!r} for both."
        )
    named, groups = _named(table, groups)
    periods = {str(name): period for name, period in (angles or {}).items()}
    columns, left_out = as_columns(
        named, list(map(str, continuous)), list(map(str, discrete)), periods
    )
    question = _question(columns, left_out, target, given)
    n = _rows_of(columns)
    codes = _codes_of(n, groups)
    pairs, pair_notes = _pairs_of(question, n)
    notes = [
        Note(f"{reason} It is left out.", "column left out", name)
        for name, reason in left_out.items()
    ]
    notes += pair_notes
    progress(0.0, f"{len(pairs):,} pairs of columns in {n:,} rows")
    with threads_for(0):  # one thread for each process
        tests, test_notes = _tested(question, pairs, codes, level)
        notes += test_notes
        selects = question.target is not None and bool(tests.dependent.any())
        share = SHARE_READ if selects else 1.0
        reader = _Reader(
            question, codes, rows, generator, processes, progress, len(pairs), share
        )
        dependent_pairs = []
        other_pairs = []
        for pair, dependent in zip(pairs, tests.dependent):
            (dependent_pairs if dependent else other_pairs).append(pair)
        readings = reader.read(dependent_pairs) | reader.read(other_pairs)
        series = np.array([in_series(readings[pair]) for pair in pairs])
        tests = tests.without(series)
        lines = []
        for place, pair in enumerate(pairs):
            lines.append(_row(question, pair, readings[pair]) | tests.row(place))
        notes += _notes_of_readings(readings.values())
        if question.target is not None and tests.dependent.any():
            strongest_first = np.argsort(-tests.strength)
            names = []
            for place in strongest_first:
                if tests.dependent[place]:
                    names.append(pairs[place][0])
            additions, selection_notes = _select(question, names, codes, level, reader)
            notes += selection_notes
            for line in lines:
                line |= additions.get(str(line["column"]), {})
    progress(1.0, "done")
    return Screen(
        ordered(lines),
        question.target or "",
        level,
        n,
        0 if codes is None else int(codes.max()) + 1,
        tuple(notes),
        int(series.sum()),
        question.conditions,
    )


@dataclass(frozen=True)
class _Question:
    """The columns of a table by name, the target (None: every pair), and the
    conditions.
    """

    columns: Mapping[str, Column]
    target: str | None
    conditions: tuple[str, ...]

    def complete_rows(self, names: Sequence[str]) -> Mask:
        """The rows [n] without a missing value in these columns and the conditions."""
        used = (*names, *self.conditions)
        return np.all([self.columns[name].known for name in used], axis=0)


@dataclass(frozen=True, eq=False)
class _Tests:
    """Of each pair the p-value and q-value (nan: not decided), the strength, and
    whether it is called dependent.
    """

    p: Values
    q: Values
    strength: Values
    dependent: Mask

    def without(self, series: Mask) -> _Tests:
        """Without the answers for pairs whose rows follow one another."""
        p = np.where(series, np.nan, self.p)
        q = np.where(series, np.nan, self.q)
        return replace(self, p=p, q=q, dependent=self.dependent & ~series)

    def row(self, place: int) -> dict[str, object]:
        """Columns of the table for one pair."""
        return {
            "p": self.p[place],
            "q": self.q[place],
            "dependent": bool(self.dependent[place]),
        }


def _question(
    columns: Mapping[str, Column],
    left_out: Mapping[str, str],
    target: str | None,
    given: str | Sequence[str],
) -> _Question:
    """The checked target and conditions. UnknownName: absent columns; Conflict: a
    condition named twice.
    """
    conditions = (str(given),) if isinstance(given, str) else tuple(map(str, given))
    if target is not None:
        target = str(target)
        if target not in columns:
            reason = left_out.get(target, f"got {target!r}.")
            raise UnknownName(
                f"target must name a column of the table that varies: {reason}"
            )
    for name in conditions:
        if name not in columns:
            reason = left_out.get(name, f"got {name!r}.")
            raise UnknownName(
                f"given must name columns of the table that vary: {reason}"
            )
        if name == target:
            raise Conflict(
                f"given must name other columns than target, got {name!r} for both."
            )
        if conditions.count(name) > 1:
            raise Conflict(f"given must name each column once, got {name!r} twice.")
    return _Question(columns, target, conditions)


def _rows_of(columns: Mapping[str, Column]) -> int:
    """The number of rows; TooFew: fewer than two columns, columns of different lengths,
    too few rows.
    """
    lengths = {len(column.known) for column in columns.values()}
    if len(columns) < 2 or len(lengths) != 1 or min(lengths) < MIN_ROWS:
        raise TooFew(
            "table must have two columns or more that vary, of one length and at "
            f"least {MIN_ROWS} rows, got "
            f"{len(columns)} of lengths {sorted(lengths)}."
        )
    return lengths.pop()


def _codes_of(n: int, groups: Any) -> Codes | None:
    """The number [n] of each row's group; None where each row is its own."""
    if groups is None:
        return None
    count, codes = group_codes(n, groups)
    return None if count == n else codes


def _pairs_of(question: _Question, n: int) -> tuple[list[Pair], list[Note]]:
    """The pairs with enough rows, and a note of the others. OutOfRange: too many;
    TooFew: none has enough rows.
    """
    candidates = [name for name in question.columns if name not in question.conditions]
    if question.target is None:
        count = math.comb(len(candidates), 2)
    else:
        count = len(candidates) - 1
    if count > MAX_PAIRS:
        raise OutOfRange(
            f"table must have at most {MAX_PAIRS:,} pairs of columns, got {count:,} "
            f"of {len(question.columns):,} "
            "columns: give a target, or fewer columns."
        )
    if question.target is None:
        pairs = list(combinations(candidates, 2))
    else:
        pairs = [
            (name, question.target) for name in candidates if name != question.target
        ]
    enough = []
    too_few = []
    for pair in pairs:
        if question.complete_rows(pair).sum() >= MIN_ROWS:
            enough.append(pair)
        else:
            too_few.append(pair)
    if not too_few:
        return pairs, []
    names = listed([" and ".join(pair) for pair in too_few])
    sentence = (
        f"Left out, with fewer than {MIN_ROWS} rows without missing values: {names}."
    )
    if not enough:
        raise TooFew(
            f"table must have {MIN_ROWS} rows or more without missing values in some "
            f"pair, got none. {sentence}"
        )
    return enough, [Note(sentence, "pairs left out")]


def _tested(
    question: _Question, pairs: Sequence[Pair], codes: Codes | None, level: float
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
    arguments, _ = aligned(table=table, groups=None if is_name else groups)
    table = arguments["table"]
    if isinstance(table, pd.DataFrame):
        names = [str(name) for name in table.columns]
        named = {name: table.iloc[:, place] for place, name in enumerate(names)}
        if len(named) < len(names):
            raise Conflict(f"table must have columns of different names, got {names}.")
    elif isinstance(table, Mapping):
        named = {str(name): column for name, column in table.items()}
    else:
        named = {
            str(place): column
            for place, column in enumerate(bare_columns("table", table))
        }
    if not is_name:
        return named, arguments["groups"]
    if str(groups) not in named:
        raise UnknownName(
            f"groups must be [n] or name a column of the table, got {groups!r}."
        )
    return named, named.pop(str(groups))


def _tests_given(
    question: _Question, pairs: Sequence[Pair], groups: Codes | None, level: float
) -> tuple[Values, Values, list[Note]]:
    """p-values given the conditions [pairs], nan where not decided; information, nats,
    for their order; and notes.
    """
    p = np.ones(len(pairs))
    strength = np.zeros(len(pairs))
    columns = question.columns
    n = len(columns[pairs[0][0]].known)
    order = np.random.default_rng(0).permutation(n)
    notes = []
    for place, pair in enumerate(pairs):
        rows = question.complete_rows(pair)
        if rows.sum() > MAX_SELECTED_ROWS:
            rows = _first_rows(rows, order)
            sentence = (
                f"Tests given conditions use {MAX_SELECTED_ROWS:,} rows, drawn at "
                "random."
            )
            notes = [Note(sentence, "rows drawn")]
        x, y, *conditions = [
            columns[name].smooth(rows) for name in (*pair, *question.conditions)
        ]
        test = beyond(x, y, conditions, level, of_kept(groups, rows))
        p[place] = test.p
        strength[place] = test.information.value
    undecided = int(np.isnan(p).sum())
    if undecided:
        sentence = (
            f"Not decided for {undecided:,} of {len(pairs):,} pairs: all they share "
            "may be due to the conditions."
        )
        notes.append(Note(sentence, "not decided"))
    return p, strength, notes


def _first_rows(rows: Mask, order: Codes) -> Mask:
    """The first `MAX_SELECTED_ROWS` of these rows [n] in a random order [n] of all
    rows.
    """
    drawn = order[rows[order]][:MAX_SELECTED_ROWS]
    return np.isin(np.arange(len(rows)), drawn)


def _tests(
    columns: Mapping[str, Column], pairs: Sequence[Pair], groups: Codes | None
) -> tuple[Values, Values]:
    """p-values and strengths [pairs]; pairs of columns without missing values are
    tested together.
    """
    n = len(next(iter(columns.values())).known)
    all_rows = np.ones(n, bool)
    complete = {}  # the columns that are tested together
    if groups is None:
        for name, column in columns.items():
            if column.known.all():
                complete[name] = column.smooth(all_rows)
    distinct = dict.fromkeys(second for _, second in pairs)
    seconds = [name for name in distinct if name in complete]
    together = None
    if seconds:
        smooth = [complete[name] for name in seconds]
        together = independence(list(complete.values()), smooth)
    place_x = {name: place for place, name in enumerate(complete)}
    place_y = {name: place for place, name in enumerate(seconds)}
    p = np.ones(len(pairs))
    strength = np.zeros(len(pairs))
    for number, (x, y) in enumerate(pairs):
        if x in complete and y in complete:
            test = together
            assert test is not None
            place = place_x[x], place_y[y]
        else:
            rows = columns[x].known & columns[y].known
            test = independence(
                [columns[x].smooth(rows)],
                [columns[y].smooth(rows)],
                of_kept(groups, rows),
            )
            place = 0, 0
        p[number] = test.p[place]
        strength[number] = test.strength[place]
    return p, strength


class _Reader:
    """Readings of pairs of columns, in one process or in several, with progress."""

    def __init__(
        self,
        question: _Question,
        groups: Codes | None,
        rows: int | None,
        generator: np.random.Generator | None,
        processes: int,
        progress: Progress,
        total: int,
        share: float,
    ) -> None:
        self.question = question
        self.groups = groups
        self.rows = rows
        self.generator = generator
        self.processes = processes
        self.progress = progress
        self.done = 0
        self.total = total
        self.share = share  # of the work
        n = len(next(iter(question.columns.values())).known)
        group_of_row = np.arange(n) if groups is None else groups
        draws = np.random.default_rng(0) if generator is None else generator
        place_of_group = draws.permutation(int(group_of_row.max()) + 1)
        # whole groups
        self.order = np.argsort(place_of_group[group_of_row], kind="stable")

    def read(self, pairs: Sequence[Pair]) -> dict[Pair, Estimate]:
        """The reading of each pair of columns."""
        most_rows = self.rows
        if most_rows is None:
            equal_share = TOTAL_READ // max(len(pairs), 1)
            most_rows = int(np.clip(equal_share, MIN_READ, MAX_READ))
        workers = self.processes if most_rows * len(pairs) > PARALLEL_ROWS else 1
        # a few of them at a time
        tasks = (self._task(pair, most_rows) for pair in pairs)
        results = Parallel(workers, return_as="generator")(tasks)
        readings = {}
        for pair, reading in zip(pairs, results):
            readings[pair] = reading
            self.done += 1
            self.progress(
                self.share * self.done / self.total,
                f"{self.done:,} of {self.total:,} read",
            )
        return readings

    def _task(self, pair: Pair, most_rows: int) -> Any:
        """The call of `_reading` for a pair, delayed."""
        complete = self.question.complete_rows(pair)
        rows = np.sort(self.order[complete[self.order]][:most_rows])
        seed = 0 if self.generator is None else int(self.generator.integers(1 << 32))
        columns = [
            self.question.columns[name].typed(rows)
            for name in (*pair, *self.question.conditions)
        ]
        return delayed(_reading)(columns, of_kept(self.groups, rows), seed)


def _reading(columns: Sequence[Any], groups: Codes | None, seed: int) -> Estimate:
    x, y, *conditions = columns
    generator = np.random.default_rng(seed)
    try:
        if conditions:
            return read_given(
                as_triples(x, y, _together(conditions), groups), generator
            )
        return estimate(x, y, groups=groups, generator=generator)
    except ValueError as error:  # such as a constant column in these rows
        n = 0 if groups is None else len(groups)
        return undefined(str(error), n=n)


def _together(blocks: Sequence[Any]) -> Any:
    """Conditions as one value: a list where some have a wrapper, else a data frame."""
    if all(isinstance(block, pd.Series) for block in blocks):
        return pd.concat(blocks, axis=1)
    return list(blocks)


def _row(question: _Question, pair: Pair, reading: Estimate) -> dict[str, object]:
    """The line of a pair in the table, without its test."""
    x, y = [question.columns[name] for name in pair]
    information = reading.bits
    return {
        "column": x.name,
        "with": y.name,
        "kind": x.kind,
        "bits": information.value,
        "low_bits": information.low,
        "high_bits": information.high,
        "grade": getattr(reading, "grade", ""),
        "n": int(question.complete_rows(pair).sum()),
        "rows_read": reading.n,
    }


def _notes_of_readings(readings: Iterable[Estimate]) -> list[Note]:
    """Notes of readings, each once, with its number of pairs; except notes on grade-C
    readings.
    """
    counts: Counter[str] = Counter()
    for reading in readings:
        counts.update(dict.fromkeys(reading.notes, 1))
    of_pairs = []
    of_columns = {}
    for note, count in counts.most_common():
        code = getattr(note, "code", "")
        argument = getattr(note, "argument", "")
        if code == SERIES_CODE:
            of_pairs.append(
                Note(f"{ADVICE_ON_SERIES} (In {count:,} of the pairs.)", code)
            )
        elif code in ("unusual data", "rows in sequence"):
            continue
        elif argument in ("x", "y"):
            sentence = note.removeprefix(f"{argument}: ")
            of_columns[sentence] = Note(sentence, code)
        else:
            of_pairs.append(
                Note(f"{note} (In {count:,} of the pairs.)", code, argument)
            )
    return [*of_pairs, *of_columns.values()][:MAX_NOTES]


def _select(
    question: _Question,
    names: Sequence[str],
    groups: Codes | None,
    level: float,
    reader: _Reader,
) -> tuple[dict[str, dict[str, object]], list[Note]]:
    """What dependent columns, the strongest first, add to the selected ones; and notes."""
    names, rows, notes = _candidates(question, names, reader.order)
    if not names:
        return {}, notes
    columns = question.columns
    target = columns[str(question.target)]
    smooth = {name: columns[name].smooth(rows) for name in names}
    conditions = [columns[name].smooth(rows) for name in question.conditions]
    groups_of_rows = of_kept(groups, rows)

    def progress(share: float, what: str) -> None:
        reader.progress(reader.share + (1 - reader.share) * share, what)

    choice = choose(
        smooth, target.smooth(rows), level, groups_of_rows, progress, conditions
    )
    chosen = [smooth[name] for name in choice.chosen]
    additions: dict[str, dict[str, object]] = {}
    for name in names:
        labels = []
        for column in (columns[name], target):
            if column.kind in (WHOLE, CATEGORY):
                labels.append(column.labels(rows))
        beyond_others = choice.beyond[name]
        adds = at_most_entropy(beyond_others.information, labels, groups_of_rows).bits
        addition: dict[str, object] = {
            "adds_bits": adds.value,
            "adds_low_bits": adds.low,
            "adds_high_bits": adds.high,
            "p_beyond": beyond_others.p,
        }
        if name in choice.chosen:
            addition["chosen"] = choice.chosen.index(name) + 1
        else:
            strength = independence([smooth[name]], chosen, groups_of_rows).strength[0]
            addition["like"] = choice.chosen[int(strength.argmax())]
        additions[name] = addition
    return additions, notes


def _candidates(
    question: _Question, names: Sequence[str], order: Codes
) -> tuple[list[str], Mask, list[Note]]:
    """The columns that may be selected, none where too few rows are complete; the rows
    on which they are compared; and notes on what is left out.
    """
    notes = []
    gaps = []
    candidates = []
    for name in names:
        missing = 1 - question.columns[name].known.mean()
        if missing > MAX_MISSING:
            gaps.append(name)
        else:
            candidates.append(name)
    if gaps:
        sentence = (
            f"Not candidates for selection, with more than {MAX_MISSING:.0%} missing "
            f"values: {listed(gaps)}."
        )
        notes.append(Note(sentence, "not candidates"))
    rows = question.complete_rows((*candidates, str(question.target)))
    complete = int(rows.sum())
    if not candidates or complete < MIN_ROWS:
        sentence = (
            f"No column is selected: only {complete:,} rows have no missing value in "
            "the candidates."
        )
        return [], rows, [*notes, Note(sentence, "no selection")]
    if complete < len(rows):
        sentence = (
            f"Columns are selected on the {complete:,} rows without missing values."
        )
        notes.append(Note(sentence, "complete rows"))
    if complete > MAX_SELECTED_ROWS:
        rows = _first_rows(rows, order)
        sentence = (
            f"Columns are selected on {MAX_SELECTED_ROWS:,} of these rows, drawn at "
            "random."
        )
        notes.append(Note(sentence, "rows drawn"))
    return candidates, rows, notes
