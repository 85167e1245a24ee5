"""What the options of the command line mean for a user's own data; their results,
printed, saved and recorded.
"""

import csv
import hashlib
import json
import math
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import numpy as np
import pandas as pd

from analysis.common.own_columns import Conventions
from analysis.common.own_files import LENIENT, FileTable, ReadOptions, read_file
from analysis.common.tables import FOLDER, Page, Result, file_name, present, printable
from infoscope.checks import nearest, require_int
from infoscope.command_line import option
from infoscope.errors import (
    Conflict,
    InvalidInput,
    MissingValues,
    OutOfRange,
    StoreUnreachable,
    TooFew,
    UnknownName,
    WrongType,
)
from infoscope.estimators import Angle, Continuous, Discrete
from infoscope.estimators.arrays import Pairs
from infoscope.estimators.classifier.inputs import as_blocks
from infoscope.estimators.column_types import as_variable
from infoscope.estimators.columns import as_floats, bare_columns, columns
from infoscope.estimators.diagnosis import diagnose
from infoscope.tracking.checks import (
    NAME_LENGTH,
    PARAM_LENGTH,
    clipped,
    safe_metric_names,
    storable_text,
)
from infoscope.tracking.datasets import DIGEST_LENGTH

TYPES = ("continuous", "discrete", "angles")  # options that say what columns hold
QUERY = (  # options that lead to other tables of one file
    "x", "y", "target", "targets", "domain", "groups", *TYPES, "shuffle", "label", "each", "level",
    "strict", "missing", "header", "decimal", "dates", "marks",
)  # fmt: skip
QUERY_OF_SOME = (
    "factors",
    "probabilities",
    "model",
    "without",
    "given",
    "time",
    "series",
    "lags",
)  # the same of single tasks; other tables keep their names
REFUSE = "refuse"
ROW = "row"
MAX_NAME = 40  # characters of the name of an item
MAX_NAMED = 3  # columns in the name of a run; of more their number
MAX_DISTINCT_TEXTS = 0.5  # per row; a column with more holds names or free text
Wrapper = Callable[[Any], Continuous | Discrete | Angle]


@dataclass(frozen=True, eq=False)
class OwnFile:
    """What all readers of a file give.

    groups      [n]; None without the option
    digest      SHA-256 of the file
    understood  how the file was read, in one line
    variables   names of x, and of y
    """

    groups: np.ndarray | None
    digest: str
    understood: str
    variables: tuple[Sequence[str], Sequence[str]]


@dataclass(frozen=True, eq=False)
class OwnData(OwnFile):
    """x, y and the conditions, if any, as `infoscope.estimators.estimate` takes them;
    names of the conditions.

    time   [n], of series: the column with the times, or the number of the row
    """

    x: Any
    y: Any
    given: Any = None
    conditions: Sequence[str] = ()
    time: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class OwnRepresentation(OwnFile):
    """Blocks (name -> [n, d]) and targets as `infoscope.metrics.representation.report`
    takes them.
    """

    blocks: dict[str, np.ndarray]
    targets: dict[str, Any]
    domain: Any


@dataclass(frozen=True, eq=False)
class OwnTable(OwnFile):
    """Columns by name, with their missing values, as `infoscope.metrics.screen` takes
    them; names of the conditions.

    time   [n], of series: the column with the times, or the number of the row
    """

    columns: dict[str, Any]
    conditions: Sequence[str] = ()
    time: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class OwnLabels(OwnFile):
    """Labels [n] and a data frame of columns x [n, columns] or None, as
    `metrics.labels.report` takes them.

    rows            places of the items in the file
    n               number of rows in the file
    heading, names  the first column that is not used and has another value in each row, which names the items; else
                    "row" and the number of the row, from 1
    """

    labels: np.ndarray
    x: pd.DataFrame | None
    rows: np.ndarray
    n: int
    heading: str
    names: np.ndarray

    @property
    def texts(self) -> list[str]:
        """Text shown for each item: its texts, or else its row."""
        words = (
            None if self.x is None else self.x.select_dtypes(exclude=["number", "bool"])
        )
        if words is None or words.empty:
            return [f"row {row + 1}" for row in self.rows]
        return words.agg(" | ".join, axis=1).tolist()


ASKED = {  # in each experiment
    "disentangle": "Own data: in which column of a code is each factor?",
    "labels": "Own data: which labels are wrong, and how much of them can be used?",
    "measure": "Own data: how much information do two variables share?",
    "represent": "Own data: which block of a representation carries what, and what leaks?",
    "screen": "Own data: which columns of a table depend on a target, or on each other?",
}
GRADES = "Grade A: narrow, B: wide, C: the data differ from everything simulated."
CONDITIONS = (
    "conditions: what is shared beyond them; PREFIX*: all columns whose names start "
    "with PREFIX"
)
SIDES = {
    "x": "PREFIX*: all columns whose names start with PREFIX; default: array x, or all other columns",
    "y": "default: y",
    "given": CONDITIONS,
}


def options(sides: Mapping[str, str] = SIDES) -> list[click.Option]:
    """The options that say where the data are and what they hold."""
    angles = (
        "columns that return to their start after a period: orientation:180, "
        "phase:2pi, hour:24 (or PREFIX*:PERIOD)"
    )
    names = {
        **{
            side: f"columns, with commas between ({which})"
            for side, which in sides.items()
        },
        "continuous": "columns that are numbers (or PREFIX*)",
        "discrete": "columns that are categories (or PREFIX*)",
    }
    data_options = [
        option(
            "data",
            default="",
            help=(
                "a .csv, .xlsx, .parquet or .npz, or examples/NAME: genes, spikes, "
                "survey"
            ),
        ),
        *(
            option(name, default="", metavar="NAMES", help=text)
            for name, text in names.items()
        ),
        option(
            "groups",
            default="",
            metavar="NAME",
            help="column: rows of equal value depend on another",
        ),
        option("angles", default="", metavar="NAME:PERIOD", help=angles),
    ]
    if "targets" not in sides:  # represent reads no order of rows
        data_options.append(
            option(
                "shuffle",
                is_flag=True,
                help="row order is arbitrary; skip the time-series check",
            )
        )
    return [
        *data_options,
        option(
            "missing",
            type=click.Choice(["drop", REFUSE]),
            default="drop",
            help="what to do with incomplete rows",
        ),
        option(
            "header",
            type=click.IntRange(0),
            metavar="LINE",
            help="number of the line with the names; 0: none",
        ),
        option("decimal", type=click.Choice([".", ","]), help="sign before decimals"),
        option(
            "dates",
            type=click.Choice(["day", "month"]),
            help="what comes first in 3/4/2020",
        ),
        option(
            "marks",
            default="",
            metavar="TEXTS",
            help="the texts that are missing values, such as '?,NA'",
        ),
        option(
            "strict",
            is_flag=True,
            help="UTF-8, commas, names in the first line, no missing values",
        ),
    ]


def listed(words: str) -> list[str]:
    """Words between commas; a word with commas of its own is quoted: a,"b, c"."""
    rows = csv.reader([words], skipinitialspace=True)
    return [word.strip() for row in rows for word in row if word.strip()]


def read_options(given: SimpleNamespace) -> ReadOptions:
    """How the options say that a file is read."""
    marks = frozenset(mark.casefold() for mark in listed(given.marks))
    if marks:
        marks |= {""}
    conventions = Conventions(given.decimal or "", given.dates or "", marks)
    return ReadOptions(given.strict, given.header, given.missing == REFUSE, conventions)


def announce(given: SimpleNamespace, understood: str) -> None:
    """Prints how the file was read."""
    print(
        f"{Path(given.data).name}: {printable(understood)}", file=sys.stderr, flush=True
    )


def given_data(given: SimpleNamespace) -> tuple[OwnData, Pairs, bool]:
    """The data that the command line names, as `diagnose` checks them, whether rows are
    a series; errors alike.
    """
    require_int("--seed", given.seed, 0)
    names = {
        option: listed(getattr(given, option)) for option in ("x", "y", "given", *TYPES)
    }
    data = read(
        Path(given.data),
        **names,
        groups=given.groups,
        shuffle=given.shuffle,
        options=read_options(given),
    )
    announce(given, data.understood)
    diagnosis = diagnose(data.x, data.y, groups=data.groups)
    if diagnosis.serial is not None:
        print("warning: rows follow one another like a series: TIME=t or SERIES=yes reads them as series; GROUPS= "
              "names groups; ARGS=--shuffle says that the file was only sorted", file=sys.stderr)  # fmt: skip
    return data, diagnosis.pairs, diagnosis.serial is not None


def series_options() -> list[click.Option]:
    """The options of two or more series."""
    return [
        option(
            "time",
            default="",
            metavar="NAME",
            help="column with the times of series (GROUPS: one series each)",
        ),
        option(
            "series",
            type=click.Choice(["yes"]),
            help="rows are series in the order of time",
        ),
        option(
            "lags",
            type=click.IntRange(1),
            help="past values of each series (default: as many as help to predict)",
        ),
    ]


def progress() -> Callable[[float, str], None]:
    """Prints the share that is done, at the beginning and after each tenth."""
    tenths: set[int] = set()

    def say(share: float, what: str) -> None:
        if int(10 * share) not in tenths:
            tenths.add(int(10 * share))
            print(f"{share:.0%}  {printable(what)}", file=sys.stderr, flush=True)

    return say


def stem_of(task: str, given: SimpleNamespace) -> Path:
    """The path of a task's files without suffix: it ends in a hash of the data's path
    and of the query.
    """
    path = Path(given.data)
    query = [
        str(path.resolve()),
        *(f"{name}={getattr(given, name, '')}" for name in QUERY),
    ]
    query += [
        f"{name}={getattr(given, name)}"
        for name in QUERY_OF_SOME
        if getattr(given, name, "")
    ]
    digest = hashlib.sha256("\n".join(query).encode()).hexdigest()[:8]
    return FOLDER / file_name(f"{task}-{path.stem}-{digest}")


def conclude(
    experiment: str, given: SimpleNamespace, page: Page, results: Sequence[Result], data: Any,
    params: Mapping[str, object], metrics: Mapping[tuple[str, ...], float], tags: Mapping[str, str] | None = None,
) -> None:  # fmt: skip
    """Prints and saves the results with a page to send, and records one run in MLflow,
    which begins with the answers.

    data: an OwnData, OwnLabels, OwnRepresentation or OwnTable. Later results have files
    that end in their name. params: `n`, the number of rows, and others; empty ones are
    left out. metrics: by the parts of their names (`safe_metric_names`). tags: results
    in words.
    """
    # MLflow takes two seconds to import
    from infoscope.tracking.results import record_run
    from infoscope.tracking.ui import shown_at

    stem = stem_of(experiment, given)
    page = replace(
        page, details={**page.details, "How the file was read": [data.understood]}
    )
    paths = present(
        results,
        lambda one: (
            stem if one is results[0] else stem.with_name(f"{stem.name}-{one.name}")
        ),
        stem,
        page,
    )
    answers = page.title, ["answer"], [[line] for line in page.answers], ""
    options = {name: getattr(given, name) for name in ("seed", "groups", *TYPES)}
    params = {
        name: value
        for name, value in (params | options).items()
        if value not in ("", None, False)
    }
    names = safe_metric_names(metrics)
    recorded = {names[parts]: value for parts, value in metrics.items()}
    tables = [answers, *(result.words for result in results)]
    file = file_entry(Path(given.data).name, data, params["n"])
    try:
        run = record_run(experiment, run_name(file["name"], *data.variables), params, recorded, tables, paths,
                         ASKED[experiment], file, tags or {})  # fmt: skip
    except (StoreUnreachable, OSError) as error:
        print(
            f"not recorded in MLflow: {printable(error).splitlines()[0]}",
            file=sys.stderr,
        )
        return
    print(f"recorded in MLflow: {shown_at(run)}")


def limit_of_rows(most: int, n: int) -> int | None:
    """The limit of rows as a parameter of a run; None where there are no more rows."""
    return most if most < n else None


def run_name(file: str, x: Sequence[str], y: Sequence[str]) -> str:
    """The name of a run in MLflow.

    >>> run_name("genes.csv", ["g03"], ["phenotype"]), run_name("z.csv", list("abcd"), [])
    ('genes.csv: g03 -> phenotype', 'z.csv: 4 columns')
    """
    sides = []
    for names in (x, y):
        if len(names) > MAX_NAMED:
            sides.append(f"{len(names)} columns")
        elif names:
            sides.append(", ".join(names))
    return f"{file}: {' -> '.join(sides)}"


def file_entry(name: str, data: Any, rows: int) -> dict[str, str]:
    """The file as a data set of a run, as in
    `infoscope.tracking.datasets.DataSet.entry`; without its folder.
    """
    profile = {"num_rows": rows, "read": data.understood}
    return {
        "name": clipped(storable_text(name), NAME_LENGTH),
        "digest": data.digest[:DIGEST_LENGTH],
        "source_type": "data",
        "source": json.dumps({"url": storable_text(name)}),
        "schema": "{}",
        "profile": clipped(json.dumps(profile), PARAM_LENGTH),
        "context": "measured",
    }


def read(
    path: Path,
    x: Sequence[str] = (),
    y: Sequence[str] = (),
    groups: str = "",
    shuffle: bool = False,
    options: ReadOptions = LENIENT,
    given: Sequence[str] = (),
    time: str = "",
    gaps: bool = False,
    **types: Sequence[str],
) -> OwnData:
    """x and y in a file, by columns of a table or arrays of a .npz; PREFIX*: all
    columns whose names start with PREFIX and that no other option names. Rows with
    missing values are left out. shuffle: in random order, the same every time. given:
    conditions. time: of series. gaps: whether missing values are kept, as gaps of
    series. types: columns by type, as in `TYPES`.

    Raises InfoscopeError: an unreadable file, an unknown name, a column in two options,
    free text.
    """
    table = read_file(path, options)
    arrays = table.columns
    y = list(y) or ["y"] * ("y" in arrays)
    if not y:
        raise UnknownName(
            f"Y must name what x is measured against, among {_some(arrays)}, got "
            "nothing."
        )
    y = _named(y, arrays, {groups, time, *x, *given})
    conditions = _named(given, arrays, {groups, time, *x, *y})
    others = [name for name in arrays if name not in {groups, time, *y, *conditions}]
    if not x and "x" in arrays:
        x = ["x"]
    elif not x and table.is_table:
        x = others
    x = _x_names(table, x, Y=y, GIVEN=conditions, GROUPS=groups, TIME=time)
    _require_apart(conditions, Y=y, GROUPS=groups)
    names = (*x, *y, *conditions)
    wrappers = _wrappers(table, names, names, "X, Y or GIVEN", **types)
    if gaps:
        complete, rows, understood = _with_gaps(
            table, names, [name for name in (groups, time) if name], options
        )
    else:
        complete, rows, understood = _complete(
            table, (*names, groups, time), options, shuffle
        )
    sides = [_side(part, complete, wrappers) for part in (x, y)]
    if conditions:
        sides.append(_side(conditions, complete, wrappers))
    variables = (tuple(x), tuple(y))
    data = OwnData(
        _groups(complete, groups), table.digest, understood, variables, *sides
    )
    moments = np.asarray(complete[time]) if time else rows
    return replace(data, conditions=tuple(conditions), time=moments)


def _side(
    names: Sequence[str], complete: Mapping[str, Any], wrappers: Mapping[str, Wrapper]
) -> Any:
    """The columns of a variable: one block, blocks with wrappers, or a data frame."""
    blocks = [_block(name, complete[name], wrappers.get(name)) for name in names]
    if len(blocks) == 1:
        return blocks[0]
    if wrappers.keys() & {*names}:
        return blocks
    return pd.concat(blocks, axis=1)


def _require_apart(conditions: Sequence[str], **others: str | Sequence[str]) -> None:
    """Conflict unless GIVEN names each column once, and none that another option names."""
    for option_name, names in others.items():
        for name in _as_list(names):
            if name in conditions:
                raise Conflict(
                    f"GIVEN must name columns that {option_name} does not name, got "
                    f"{name!r}."
                )
    repeated = [name for name in conditions if conditions.count(name) > 1]
    if repeated:
        raise Conflict(f"GIVEN must name each column once, got {repeated[0]!r} twice.")


def read_representation(
    path: Path,
    x: Sequence[str],
    targets: Sequence[str],
    domain: str = "",
    groups: str = "",
    each: bool = False,
    named: str = "TARGETS",
    options: ReadOptions = LENIENT,
    **types: Sequence[str],
) -> OwnRepresentation:
    """A representation in a file. x: columns of the block x, or arrays of a .npz, each
    a block of its own; PREFIX*: the block of the columns or arrays that begin so;
    default: all that nothing else names. Categories in x become a 0 or 1 for each.
    each: every column is a block. named: the option that names the targets. Rows with
    missing values are left out.

    Raises InfoscopeError as `read`, and for columns of x that are no numbers.
    """
    table = read_file(path, options)
    arrays = table.columns
    if not targets:
        raise UnknownName(
            f"{named} must name the variables that blocks may carry, among "
            f"{_some(arrays)}, got nothing."
        )
    other_names = {*targets, domain, groups}
    words = x or [name for name in arrays if name not in other_names]
    chosen = _x_names(table, words, **{named: targets}, DOMAIN=domain, GROUPS=groups)
    wrappers = _wrappers(
        table, (*targets, *chosen), (*targets, *chosen), f"{named} or X", **types
    )
    arrays, _, understood = _complete(
        table, (*targets, *chosen, domain, groups), options
    )
    numbers = {
        name: _numbers(name, arrays[name], wrappers.get(name)) for name in chosen
    }
    parts: dict[str, list[np.ndarray]] = {}
    for word in words:
        for name in _named([word], table.columns, other_names):
            is_column = (
                table.is_table and np.ndim(arrays[name]) == 1 and not word.endswith("*")
            )
            block = "x" if is_column else word.removesuffix("*").rstrip("_.-")
            parts.setdefault(name if each else block or "x", []).append(numbers[name])
    blocks = as_blocks(
        {block: np.column_stack(columns) for block, columns in parts.items()}
    )
    if each and not table.is_table:
        blocks = {
            column: values[:, None]
            for name, block in blocks.items()
            for column, values in _split(name, block)
        }
    aims = {name: _block(name, arrays[name], wrappers.get(name)) for name in targets}
    site = np.asarray(arrays[domain]) if domain else None
    variables = list(blocks), list(aims)
    return OwnRepresentation(
        _groups(arrays, groups), table.digest, understood, variables, blocks, aims, site
    )


def _numbers(name: str, values: Any, wrapper: Wrapper | None) -> Any:
    """A column as numbers [n] or [n, d]: a 0 or 1 for each category, cosine and sine of
    an angle. UnknownName: texts without a wrapper.
    """
    if wrapper is not None:
        return as_variable(f"column {name!r}", wrapper(values)).as_numbers()
    if not pd.api.types.is_numeric_dtype(values.dtype):
        first = np.asarray(values)[0]
        how = "leave it out, or name it in DISCRETE="
        raise UnknownName(
            f"X must name columns of numbers, got {name!r}, whose first row is "
            f"{first}: {how}."
        )
    return values


def read_table(
    path: Path,
    x: Sequence[str] = (),
    target: str = "",
    groups: str = "",
    shuffle: bool = False,
    options: ReadOptions = LENIENT,
    given: Sequence[str] = (),
    time: str = "",
    **types: Sequence[str],
) -> OwnTable:
    """The columns of a table, or of the arrays of a .npz, with their missing values. x:
    names or PREFIX*; default: all that hold numbers or categories. shuffle, given,
    time: as in `read`.

    Raises InfoscopeError: an unreadable file, an unknown name, a column in two options.
    """
    table = read_file(path, options)
    understood = [table.summary]
    columns: dict[str, Any] = {}
    for name, values in table.columns.items():
        columns |= dict(_split(name, values))
    table = replace(table, columns=columns)
    targets = [target] * bool(target)
    conditions = _named(given, columns, {target, groups, *x})
    chosen = _named(x, columns, {target, groups, *conditions})
    names = chosen or [name for name in columns if name not in (groups, time)]
    names = list(dict.fromkeys([*names, *targets, *conditions]))
    _require(table, TARGET=target, GROUPS=groups, GIVEN=conditions, X=names, TIME=time)
    _require_apart(conditions, X=chosen, TARGET=target, GROUPS=groups)
    if groups in names:
        raise UnknownName(
            f"X and TARGET must name columns that are not in GROUPS, got {groups}."
        )
    wrappers = _wrappers(
        table, names, [*chosen, *targets, *conditions], "X, TARGET or GIVEN", **types
    )
    unclear = [
        name
        for name in names
        if name in table.problems and wrappers.get(name) is not Discrete
    ]
    names = [name for name in names if name not in unclear]
    understood += [f"left out: {table.problem(name)}" for name in unclear]
    used = [*names, *filter(None, (groups, time))]
    gaps = _gaps(columns, used, options.refuses_missing)
    if gaps.size:
        counts = ", ".join(
            f"`{name}` ({count:,})" for name, count in gaps.sum().items()
        )
        understood.append(
            f"rows with missing values are left out of the pairs of {counts}"
        )
    nowhere = pd.Series(False, gaps.index)
    has_place = ~gaps.get(groups, nowhere) & ~gaps.get(time, nowhere)
    rows = np.flatnonzero(has_place)
    columns = _rows_of(columns, used, rows, shuffle)
    typed = {
        name: wrappers[name](columns[name]) if name in wrappers else columns[name]
        for name in names
    }
    variables = [name for name in typed if name not in (target, *conditions)], targets
    groups_of_rows = _groups(columns, groups)
    moments = np.asarray(columns[time]) if time else rows
    return OwnTable(
        groups_of_rows,
        table.digest,
        "; ".join(understood),
        variables,
        typed,
        tuple(conditions),
        moments,
    )


def read_labels(
    path: Path,
    x: Sequence[str],
    target: str,
    groups: str = "",
    discrete: Sequence[str] = (),
    has_model: bool = False,
    options: ReadOptions = LENIENT,
) -> OwnLabels:
    """Labels and columns of texts and numbers in a file, whose rows with missing values
    are left out. x: names or PREFIX*; default: all others, or none with a model of the
    user's own. discrete: numbers that are categories.

    Raises InfoscopeError: an unreadable file, an unknown name, the same column twice.
    """
    table = read_file(path, options)
    arrays = table.columns
    if not target:
        raise UnknownName(
            f"TARGET must name the column of labels, among {_some(arrays)}, got "
            "nothing."
        )
    names: list[str] = []
    if x or not has_model:
        words = x or [name for name in arrays if name not in {target, groups}]
        names = _x_names(table, words, TARGET=target, GROUPS=groups)
    _require(table, TARGET=target, GROUPS=groups)
    complete, rows, understood = _complete(table, [target, *names, groups], options)
    frame = {}
    for name in names:
        for part, values in _split(name, np.asarray(complete[name])):
            is_number = values.dtype.kind in "biuf" and name not in discrete
            frame[part] = values if is_number else values.astype(str)
    heading, of_items = _names_of_items(arrays, {target, groups, *names}, rows)
    return OwnLabels(
        _groups(complete, groups), table.digest, understood, (list(frame), [target]), np.asarray(complete[target]),
        pd.DataFrame(frame) if names else None, rows, len(arrays[target]), heading, of_items,
    )  # fmt: skip


def _names_of_items(
    arrays: Mapping[str, Any], used: set[str], rows: np.ndarray
) -> tuple[str, np.ndarray]:
    """The heading and the names [n] of items: a column of texts or whole numbers
    without repeats, or the rows.
    """
    for name in arrays:
        values = pd.Series(list(arrays[name]))
        is_name = pd.api.types.is_string_dtype(values) or pd.api.types.is_integer_dtype(
            values
        )
        if name in used or not is_name or not values.is_unique:
            continue
        if values.astype(str).str.len().max() <= MAX_NAME:
            return name, values.to_numpy()[rows]
    return ROW, rows + 1


def _groups(arrays: Mapping[str, Any], name: str) -> np.ndarray | None:
    """The groups of rows; None without a name. TooFew: a single group."""
    if not name:
        return None
    groups = np.asarray(arrays[name])
    if groups.ndim == 1 and len(pd.unique(groups)) < 2:
        raise TooFew(f"GROUPS must name a column of two groups or more, got {name!r}, which is {groups[0]} in all "
                     f"{len(groups):,} rows: without GROUPS= every row counts as independent.")  # fmt: skip
    return groups


def _split(name: str, values: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """The columns of an array [n, d], by its name and their number; any other array
    under its name.
    """
    if values.ndim != 2:
        return [(name, values)]
    return [(f"{name} {place}", column) for place, column in enumerate(values.T)]


def _wrappers(
    table: FileTable,
    names: Sequence[str],
    required: Sequence[str],
    of: str,
    continuous: Sequence[str] = (),
    discrete: Sequence[str] = (),
    angles: Sequence[str] = (),
) -> dict[str, Wrapper]:
    """The wrapper of every column that CONTINUOUS, DISCRETE or ANGLES names; `of`: the
    options that hold `names`. WrongType, with all problems, unless required columns
    hold numbers or categories or are named in DISCRETE.
    """
    typed = [("CONTINUOUS", word, Continuous) for word in continuous]
    typed += [("DISCRETE", word, Discrete) for word in discrete]
    typed += [("ANGLES", *_angle(word)) for word in angles]
    words = {word for _, word, _ in typed}
    wrappers: dict[str, Wrapper] = {}
    for option_name, word, wrapper in typed:
        for name in _named([word], names, words):
            if name not in names:
                raise UnknownName(
                    f"{option_name} must name columns of {of}, got {name!r}."
                )
            if name in wrappers:
                raise Conflict(
                    "ANGLES, CONTINUOUS and DISCRETE must name different columns, "
                    f"got {name!r} twice."
                )
            wrappers[name] = wrapper
    unclear = [
        name
        for name in required
        if name in table.problems and wrappers.get(name) is not Discrete
    ]
    if unclear:
        problems = "; ".join(map(table.problem, unclear))
        raise WrongType(f"{problems}; or DISCRETE= takes texts as categories.")
    return wrappers


def _angle(word: str) -> tuple[str, Wrapper]:
    """The name and the wrapper that NAME:PERIOD gives; the period is a number or a
    multiple of pi, such as 2pi.
    """
    name, _, period = word.rpartition(":")
    factor, pi, after_pi = period.partition("pi")
    try:
        value = float(factor or bool(pi)) * (math.pi if pi else 1)
    except ValueError:
        value = math.nan
    if not name or after_pi or not 0 < value < math.inf:
        raise OutOfRange(
            "ANGLES must be NAME:PERIOD, a period above 0, such as axis:180 or "
            f"phase:2pi, got {word!r}."
        )
    return name, partial(Angle, period=value)


def _named(
    words: Sequence[str], names: Collection[str], taken: Collection[str]
) -> list[str]:
    """The columns that words name: PREFIX* those that begin so and are not `taken`, any
    other word itself.
    """
    chosen = []
    for word in words:
        matching = []
        if word.endswith("*") and word not in names:
            matching = [
                name
                for name in names
                if name.startswith(word[:-1]) and name not in taken
            ]
        chosen += matching or [word]
    return chosen


def _x_names(
    table: FileTable, x: Sequence[str], **others: str | Sequence[str]
) -> list[str]:
    """The columns that X names. UnknownName: none, one that is not there, or that
    another option names too.
    """
    other_names = set()
    for option_names in others.values():
        other_names.update(_as_list(option_names))
    names = _named(x, table.columns, other_names)
    _require(table, X=names, **others)
    doubled = ", ".join(name for name in names if name in other_names)
    if doubled or not names:
        raise UnknownName(
            "X must name columns that no other option names, got "
            f"{doubled or 'nothing'}."
        )
    return names


def _as_list(names: str | Sequence[str]) -> Sequence[str]:
    """The names of an option; an empty text is no name."""
    if isinstance(names, str):
        return [names] if names else []
    return names


def _require(table: FileTable, **given: str | Sequence[str]) -> None:
    """UnknownName unless all names of every option are columns with rows."""
    arrays = table.columns
    for option_name, names in given.items():
        unknown = [name for name in _as_list(names) if name not in arrays]
        if unknown:
            got = ", ".join(map(repr, unknown))
            how = f" ({table.summary})" if table.understood else ""
            meant = nearest(unknown[0], arrays)
            raise UnknownName(
                f"{option_name} must name columns among {_some(arrays)}, got "
                f"{got}{how}{meant}"
            )
        for name in _as_list(names):
            shape = np.shape(arrays[name])
            if len(shape) not in (1, 2) or 0 in shape:
                images = (
                    f": give features of the images, or {name}.reshape(len({name}), -1)"
                    if len(shape) > 2
                    else ""
                )
                raise UnknownName(f"{option_name} must name arrays with rows, got {name!r}, which has shape {shape} "
                                  f"and not [n] or [n, d]{images}.")  # fmt: skip


def _complete(
    table: FileTable, names: Sequence[str], options: ReadOptions, shuffle: bool = False
) -> tuple[dict[str, Any], np.ndarray, str]:
    """Columns without the rows in which one is missing, the places of their rows, and
    how the file was read. Empty names are those of options that are not given.
    """
    names = [name for name in names if name]
    gaps = _gaps(table.columns, names, options.refuses_missing)
    is_complete = ~gaps.any(axis=1)
    if not is_complete.any():
        _gaps(table.columns, names, True)
    understood = table.summary
    if not is_complete.all():
        understood += f"; {(~is_complete).sum():,} rows with missing values left out"
    rows = np.flatnonzero(is_complete)
    return _rows_of(table.columns, names, rows, shuffle), rows, understood


def _with_gaps(
    table: FileTable, names: Sequence[str], places: Sequence[str], options: ReadOptions
) -> tuple[dict[str, Any], np.ndarray, str]:
    """As `_complete`, with the missing values of `names`, without rows in which a
    column of `places` is missing.
    """
    gaps = _gaps(table.columns, [*names, *places], options.refuses_missing)
    has_place = ~gaps[gaps.columns.intersection(places)].any(axis=1)
    understood = table.summary
    if not has_place.all():
        left_out = f"{(~has_place).sum():,} rows without {' or '.join(places)} left out"
        understood += f"; {left_out}"
    rows = np.flatnonzero(has_place)
    return _rows_of(table.columns, [*names, *places], rows, False), rows, understood


def _gaps(
    arrays: Mapping[str, Any], names: Sequence[str], refuse: bool
) -> pd.DataFrame:
    """Whether a row has a missing value, of columns that have any [n, columns].
    MissingValues: any, if refused.
    """
    lengths = {len(arrays[name]) for name in names}
    if len(lengths) != 1:
        raise InvalidInput(
            f"{', '.join(names)} must have one number of rows, got {sorted(lengths)}."
        )
    gaps = pd.DataFrame(index=range(*lengths))
    for name in names:
        is_missing = np.reshape(pd.isna(arrays[name]), (len(gaps), -1)).any(axis=1)
        if is_missing.any():
            gaps[name] = is_missing
    if refuse and gaps.size:
        counts = [f"column {name!r} must have no missing values, got {count:,} of {len(gaps):,}"
                  for name, count in gaps.sum().items()]  # fmt: skip
        raise MissingValues(
            f"{'; '.join(counts)}: leave out these rows, or columns that lack many "
            "values."
        )
    return gaps


def _rows_of(
    arrays: Mapping[str, Any], names: Sequence[str], rows: np.ndarray, shuffle: bool
) -> dict[str, Any]:
    """Some rows of columns by name, if shuffled in a random order that is the same
    every time.
    """
    if shuffle:
        rows = np.random.default_rng(0).permutation(rows)
    return {name: _taken(arrays[name], rows) for name in names}


def _taken(values: Any, rows: np.ndarray) -> Any:
    """Some rows of a column or an array; whole numbers are such again where none is
    missing.
    """
    if isinstance(values, np.ndarray):
        return values[rows]
    values = values.iloc[rows].reset_index(drop=True)
    return values if values.hasnans else values.infer_objects()


def _block(name: str, values: Any, wrapper: Wrapper | None) -> Any:
    """A column or an array without missing values in its wrapper, if any.
    InfoscopeError: dates, or free text.
    """
    if isinstance(values, np.ndarray):
        values = (
            pd.Series(values, name=name)
            if values.ndim == 1
            else pd.DataFrame(values).add_prefix(f"{name} ")
        )
    for column in bare_columns(f"column {name!r}", values):
        if wrapper not in (None, Discrete):
            as_floats(f"column {name!r}", column)
        elif (
            wrapper is None
            and not isinstance(column, pd.Categorical)
            and column.dtype.kind not in "biufc"
        ):
            # refuses dates, and numbers as texts
            columns("DATA", pd.Series(column, name=name))
            distinct = pd.Series(column).nunique()
            if distinct > MAX_DISTINCT_TEXTS * len(column):
                raise Conflict(f"column {name!r} must hold numbers or categories, got {distinct:,} different texts in "
                               f"{len(column):,} rows: embed them first, or leave the column out.")  # fmt: skip
    return wrapper(values) if wrapper else values


def _some(names: dict[str, Any]) -> str:
    shown = list(names)[:12]
    return ", ".join(shown) + (
        f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    )
