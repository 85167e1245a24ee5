"""What the options of the command line mean for a user's own data; their results, printed, saved and recorded."""

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
from infoscope.tracking.checks import NAME_LENGTH, PARAM_LENGTH, clipped, safe_metric_names, storable_text
from infoscope.tracking.datasets import DIGEST_LENGTH

TYPES = ("continuous", "discrete", "angles")  # options that say what columns hold
QUERY = (  # options that lead to other tables of one file
    "x", "y", "target", "targets", "domain", "groups", "items", *TYPES, "shuffle", "label", "each", "level",
    "strict", "missing", "header", "decimal", "dates", "marks",
)  # fmt: skip
QUERY_OF_SOME = (
    "factors",
    "probabilities",
    "model",
    "without",
)  # the same of single tasks; other tables keep their names
REFUSE = "refuse"
MAX_NAMED = 3  # columns in the name of a run; of more their number
MAX_DISTINCT_TEXTS = 0.5  # per row; a column with more holds names or free text
Wrapper = Callable[[Any], Continuous | Discrete | Angle]


@dataclass(frozen=True, eq=False)
class OwnData:
    """x, y and groups as `infoscope.estimators.estimate` takes them.

    columns     names
    digest      SHA-256 of the file
    understood  how the file was read, in one line
    """

    x: Any
    y: Any
    groups: np.ndarray | None
    columns: tuple[tuple[str, ...], tuple[str, ...]]
    n: int
    digest: str
    understood: str

    @property
    def variables(self) -> tuple[Sequence[str], Sequence[str]]:
        """The names of x and y."""
        return self.columns


ASKED = {  # in each experiment
    "disentangle": "Own data: in which column of a code is each factor?",
    "labels": "Own data: which labels are wrong, and how much of them can be used?",
    "measure": "Own data: how much information do two variables share?",
    "represent": "Own data: which block of a representation carries what, and what leaks?",
    "screen": "Own data: which columns of a table depend on a target, or on each other?",
}
GRADES = "Grade A: narrow, B: wide, C: the data differ from everything simulated."
SIDES = {"x": "PREFIX*: all that begin so; default: array x, or all other columns", "y": "default: y"}


def options(sides: Mapping[str, str] = SIDES) -> list[click.Option]:
    """The options that say where the data are and what they hold."""
    told = "columns that return to their start after a period: orientation:180, phase:2pi, hour:24 (or PREFIX*:PERIOD)"
    names = {
        **{side: f"columns, with commas between ({which})" for side, which in sides.items()},
        "continuous": "columns that are numbers (or PREFIX*)",
        "discrete": "columns that are categories (or PREFIX*)",
    }
    found = [
        option("data", default="", help="a .csv, .xlsx, .parquet or .npz, or examples/NAME: genes, spikes, survey"),
        *(option(name, default="", metavar="NAMES", help=text) for name, text in names.items()),
        option("groups", default="", metavar="NAME", help="column: rows of equal value depend on another"),
        option("angles", default="", metavar="NAME:PERIOD", help=told),
    ]
    if "items" not in sides:  # which may be called by the number of their row
        found.append(option("shuffle", is_flag=True, help="row order is arbitrary; skip the time-series check"))
    return [
        *found,
        option("missing", type=click.Choice(["drop", REFUSE]), default="drop", help="what to do with incomplete rows"),
        option("header", type=click.IntRange(0), metavar="LINE", help="number of the line with the names; 0: none"),
        option("decimal", type=click.Choice([".", ","]), help="sign before decimals"),
        option("dates", type=click.Choice(["day", "month"]), help="what comes first in 3/4/2020"),
        option("marks", default="", metavar="TEXTS", help="the texts that are missing values, such as '?,NA'"),
        option("strict", is_flag=True, help="UTF-8, commas, names in the first line, no missing values"),
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
    print(f"{Path(given.data).name}: {printable(understood)}", file=sys.stderr, flush=True)


def given_data(given: SimpleNamespace) -> tuple[OwnData, Pairs, bool]:
    """The data that the command line names, as `diagnose` checks them, whether rows are a series; errors alike."""
    require_int("--seed", given.seed, 0)
    names = {option: listed(getattr(given, option)) for option in ("x", "y", *TYPES)}
    data = read(Path(given.data), **names, groups=given.groups, shuffle=given.shuffle, options=read_options(given))
    announce(given, data.understood)
    found = diagnose(data.x, data.y, groups=data.groups)
    if found.serial is not None:
        print("warning: rows follow one another like a series: GROUPS= names groups; ARGS=--shuffle says that the file "
              "was only sorted", file=sys.stderr)  # fmt: skip
    return data, found.pairs, found.serial is not None


def progress() -> Callable[[float, str], None]:
    """Prints the share that is done, at the beginning and after each tenth."""
    tenths: set[int] = set()

    def say(share: float, what: str) -> None:
        if int(10 * share) not in tenths:
            tenths.add(int(10 * share))
            print(f"{share:.0%}  {printable(what)}", file=sys.stderr, flush=True)

    return say


def stem_of(task: str, given: SimpleNamespace) -> Path:
    """The path of a task's files without suffix: it ends in a hash of the data's path and of the query."""
    path = Path(given.data)
    asked = [str(path.resolve()), *(f"{name}={getattr(given, name, '')}" for name in QUERY)]
    asked += [f"{name}={getattr(given, name)}" for name in QUERY_OF_SOME if getattr(given, name, "")]
    digest = hashlib.sha256("\n".join(asked).encode()).hexdigest()[:8]
    return FOLDER / file_name(f"{task}-{path.stem}-{digest}")


def conclude(
    experiment: str, given: SimpleNamespace, page: Page, results: Sequence[Result], data: Any,
    params: Mapping[str, object], metrics: Mapping[tuple[str, ...], float], tags: Mapping[str, str] | None = None,
) -> None:  # fmt: skip
    """Prints and saves the results with a page to send, and records one run in MLflow, which begins with the answers.

    data: an OwnData, OwnLabels, OwnRepresentation or OwnTable. Later results have files that end in their name.
    params: `n`, the number of rows, and others; empty ones are left out. metrics: by the parts of their names
    (`safe_metric_names`). tags: results in words.
    """
    from infoscope.tracking.results import record_run  # MLflow takes two seconds to import
    from infoscope.tracking.ui import shown_at

    stem = stem_of(experiment, given)
    page = replace(page, details={**page.details, "How the file was read": [data.understood]})
    paths = present(
        results, lambda one: stem if one is results[0] else stem.with_name(f"{stem.name}-{one.name}"), stem, page
    )
    answers = page.title, ["answer"], [[line] for line in page.answers], ""
    options = {name: getattr(given, name) for name in ("seed", "groups", *TYPES)}
    params = {name: value for name, value in (params | options).items() if value not in ("", None, False)}
    names = safe_metric_names(metrics)
    recorded = {names[parts]: value for parts, value in metrics.items()}
    tables = [answers, *(result.words for result in results)]
    file = file_entry(Path(given.data).name, data, params["n"])
    try:
        run = record_run(experiment, run_name(file["name"], *data.variables), params, recorded, tables, paths,
                         ASKED[experiment], file, tags or {})  # fmt: skip
    except (StoreUnreachable, OSError) as error:
        print(f"not recorded in MLflow: {printable(error).splitlines()[0]}", file=sys.stderr)
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
    """The file as a data set of a run, as in `infoscope.tracking.datasets.DataSet.entry`; without its folder."""
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
    **types: Sequence[str],
) -> OwnData:
    """x and y in a file, by columns of a table or arrays of a .npz; PREFIX*: all that begin so and that nothing else
    names. Rows with missing values are left out. shuffle: in random order, the same every time. types: columns by type,
    as in `TYPES`.

    Raises InfoscopeError: an unreadable file, an unknown name, a column in two options, free text.
    """
    table = read_file(path, options)
    arrays = table.columns
    y = list(y) or ["y"] * ("y" in arrays)
    if not y:
        raise UnknownName(f"Y must name what x is measured against, among {_some(arrays)}, got nothing.")
    y = [name for word in y for name in _named(word, arrays, {groups, *x})]
    taken = {*y, groups}
    if not x:
        x = ["x"] if "x" in arrays else [name for name in arrays if name not in taken and table.is_table]
    x = [name for word in x for name in _named(word, arrays, taken)]
    group_names = [groups] if groups else []
    _require(table, arrays, X=x, Y=y, GROUPS=group_names)
    if not x or taken & {*x}:
        got = ", ".join(name for name in x if name in taken) or "nothing"
        raise UnknownName(f"X must name columns that are not in Y or GROUPS, got {got}.")
    wrappers = _wrappers((*x, *y), "X or Y", **types)
    _require_typed(table, (*x, *y), wrappers)
    complete, understood = _complete(table, (*x, *y, *group_names), options, shuffle)
    sides = []
    for names in (x, y):
        blocks = [_block(name, complete[name], wrappers.get(name)) for name in names]
        typed = [block for name, block in zip(names, blocks) if name in wrappers]
        sides.append(blocks[0] if len(blocks) == 1 else blocks if typed else pd.concat(blocks, axis=1))
    names = tuple(x), tuple(y)
    return OwnData(*sides, _groups(complete, groups), names, len(complete[y[0]]), table.digest, understood)


@dataclass(frozen=True, eq=False)
class OwnRepresentation:
    """Blocks (name -> [n, d]) and targets as `infoscope.metrics.representation.report` takes them; else as OwnData."""

    blocks: dict[str, np.ndarray]
    targets: dict[str, Any]
    domain: Any
    groups: np.ndarray | None
    items: np.ndarray | None
    digest: str
    understood: str

    @property
    def variables(self) -> tuple[Sequence[str], Sequence[str]]:
        """The names of blocks and of targets."""
        return list(self.blocks), list(self.targets)


def read_representation(
    path: Path,
    x: Sequence[str],
    targets: Sequence[str],
    domain: str = "",
    groups: str = "",
    items: str = "",
    each: bool = False,
    named: str = "TARGETS",
    options: ReadOptions = LENIENT,
    **types: Sequence[str],
) -> OwnRepresentation:
    """A representation in a file. x: columns of the block x, or arrays of a .npz, each a block of its own; PREFIX*: the
    block of the columns or arrays that begin so; default: all that nothing else names. Categories in x become a 0 or 1
    for each. each: every column is a block. named: the option that names the targets. Rows with missing values are
    left out.

    Raises InfoscopeError as `read`, and for columns of x that are no numbers.
    """
    table = read_file(path, options)
    arrays = table.columns
    if not targets:
        raise UnknownName(f"{named} must name the variables that blocks may carry, among {_some(arrays)}, got nothing.")
    labels = [name for name in (domain, groups, items) if name]
    _require(table, arrays, **{named: targets}, DOMAIN=[domain] * bool(domain), GROUPS=[groups] * bool(groups),
             ITEMS=[items] * bool(items))  # fmt: skip
    taken = {*targets, *labels}
    parts: dict[str, list[str]] = {}
    for word in x or [name for name in arrays if name not in taken]:
        prefix = word[:-1] if word.endswith("*") else None
        names = _named(word, arrays, taken)
        _require(table, arrays, X=names)
        is_column = table.is_table and np.ndim(arrays[names[0]]) == 1
        block = "x" if prefix is None and is_column else (prefix or word).rstrip("_.-") or "x"
        for name in names:
            parts.setdefault(name if each else block, []).append(name)
    chosen = [name for names in parts.values() for name in names]
    if taken & {*chosen} or not parts:
        got = ", ".join(sorted(taken & {*chosen})) or "nothing"
        raise UnknownName(f"X must name columns that nothing else names, got {got}.")
    wrappers = _wrappers((*targets, *chosen), f"{named} or X", **types)
    _require_typed(table, (*targets, *chosen), wrappers)
    arrays, understood = _complete(table, (*targets, *chosen, *labels), options)
    numbers = {name: arrays[name] for name in chosen}
    for name, values in numbers.items():
        if name in wrappers:
            numbers[name] = as_variable(f"column {name!r}", wrappers[name](values)).as_numbers()
        elif not pd.api.types.is_numeric_dtype(values.dtype):
            first = np.asarray(values)[0]
            how = "leave it out, or name it in DISCRETE="
            raise UnknownName(f"X must name columns of numbers, got {name!r}, whose first row is {first}: {how}.")
    blocks = as_blocks({block: np.column_stack([numbers[name] for name in names]) for block, names in parts.items()})
    if each and not table.is_table:
        blocks = {column: values[:, None] for name, block in blocks.items() for column, values in _split(name, block)}
    aims = {name: _block(name, arrays[name], wrappers.get(name)) for name in targets}
    domain, items = (np.asarray(arrays[name]) if name else None for name in (domain, items))
    return OwnRepresentation(blocks, aims, domain, _groups(arrays, groups), items, table.digest, understood)


@dataclass(frozen=True, eq=False)
class OwnTable:
    """Columns by name, and groups, as `infoscope.metrics.screen` takes them; else as OwnData."""

    columns: dict[str, Any]
    groups: Any
    digest: str
    understood: str
    target: str = ""

    @property
    def variables(self) -> tuple[Sequence[str], Sequence[str]]:
        """The names of the columns that are compared with the target, and its name if there is one."""
        return [name for name in self.columns if name != self.target], [self.target] * bool(self.target)


def read_table(
    path: Path,
    x: Sequence[str] = (),
    target: str = "",
    groups: str = "",
    shuffle: bool = False,
    options: ReadOptions = LENIENT,
    **types: Sequence[str],
) -> OwnTable:
    """The columns of a table, or of the arrays of a .npz, with their missing values. x: names or PREFIX*; default: all
    that hold numbers or categories. shuffle: as in `read`.

    Raises InfoscopeError: an unreadable file, an unknown name, a column in two options.
    """
    table = read_file(path, options)
    arrays: dict[str, Any] = {}
    for name, values in table.columns.items():
        arrays |= dict(_split(name, values))
    chosen = [name for word in x for name in _named(word, arrays, {target, groups})]
    required = [*chosen, *[target] * bool(target)]
    others = [] if chosen else [name for name in arrays if name != groups]
    names = list(dict.fromkeys([*others, *required]))
    _require(table, arrays, TARGET=[target] * bool(target), GROUPS=[groups] * bool(groups), X=names)
    if groups in names:
        raise UnknownName(f"X and TARGET must name columns that are not in GROUPS, got {groups}.")
    wrappers = _wrappers(names, "X or TARGET", **types)
    _require_typed(table, required, wrappers)
    unclear = [name for name in names if name in table.problems and wrappers.get(name) is not Discrete]
    names = [name for name in names if name not in unclear]
    understood = [table.summary, *(f"left out: {table.problem(name)}" for name in unclear)]
    group_names = [groups] if groups else []
    gaps = _gaps(arrays, [*names, *group_names], options.refuse_missing)
    if gaps.size:
        counts = ", ".join(f"`{name}` ({count:,})" for name, count in gaps.sum().items())
        understood.append(f"rows with missing values are left out of the pairs of {counts}")
    has_group = ~gaps.get(groups, pd.Series(False, gaps.index))
    rows = _order(np.flatnonzero(has_group), shuffle)
    arrays = {name: _taken(arrays[name], rows) for name in (*names, *group_names)}
    found = {name: wrappers[name](arrays[name]) if name in wrappers else arrays[name] for name in names}
    return OwnTable(found, _groups(arrays, groups), table.digest, "; ".join(understood), target)


@dataclass(frozen=True, eq=False)
class OwnLabels:
    """Labels [n], a data frame of columns x [n, columns] or None, and groups as `metrics.labels.report` takes them.

    rows  places of the items in the file
    n     number of rows in the file
    else as OwnData
    """

    labels: np.ndarray
    x: pd.DataFrame | None
    groups: np.ndarray | None
    rows: np.ndarray
    n: int
    digest: str
    understood: str
    target: str = "label"

    @property
    def variables(self) -> tuple[Sequence[str], Sequence[str]]:
        """The names of the columns that predict the labels, and that of the labels."""
        return ([] if self.x is None else list(self.x)), [self.target]

    @property
    def texts(self) -> list[str]:
        """What is shown of each item: its texts, or else its row."""
        words = None if self.x is None else self.x.select_dtypes(exclude=["number", "bool"])
        if words is None or words.empty:
            return [f"row {row + 1}" for row in self.rows]
        return words.agg(" | ".join, axis=1).tolist()


def read_labels(
    path: Path,
    x: Sequence[str],
    target: str,
    groups: str = "",
    discrete: Sequence[str] = (),
    has_model: bool = False,
    options: ReadOptions = LENIENT,
) -> OwnLabels:
    """Labels and columns of texts and numbers in a file, whose rows with missing values are left out. x: names or
    PREFIX*; default: all others, or none with a model of the user's own. discrete: numbers that are categories.

    Raises InfoscopeError: an unreadable file, an unknown name, the same column twice.
    """
    table = read_file(path, options)
    arrays = table.columns
    taken = {target, groups}
    names = [name for word in x for name in _named(word, arrays, taken)]
    if not x and not has_model:
        names = [name for name in arrays if name not in taken]
    others = [groups] * bool(groups)
    if not target:
        raise UnknownName(f"TARGET must name the column of labels, among {_some(arrays)}, got nothing.")
    _require(table, arrays, X=names, TARGET=[target], GROUPS=others)
    if taken & {*names}:
        raise UnknownName(f"X must name columns that are not TARGET or GROUPS, got {', '.join(taken & {*names})}.")
    columns = [target, *names, *others]
    complete, understood = _complete(table, columns, options)
    gaps = _gaps(arrays, columns, False)
    frame = {}
    for name in names:
        for part, values in _split(name, np.asarray(complete[name])):
            is_number = values.dtype.kind in "biuf" and name not in discrete
            frame[part] = values if is_number else values.astype(str)
    rows = np.flatnonzero(~gaps.any(axis=1))
    labels = np.asarray(complete[target])
    shown = pd.DataFrame(frame) if names else None
    return OwnLabels(labels, shown, _groups(complete, groups), rows, len(gaps), table.digest, understood, target)


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
    """The columns of an array [n, d], by its name and their number; any other array under its name."""
    if values.ndim != 2:
        return [(name, values)]
    return [(f"{name} {place}", column) for place, column in enumerate(values.T)]


def _wrappers(
    names: Sequence[str],
    of: str,
    continuous: Sequence[str] = (),
    discrete: Sequence[str] = (),
    angles: Sequence[str] = (),
) -> dict[str, Wrapper]:
    """The wrapper of every column that CONTINUOUS, DISCRETE or ANGLES names; `of`: the options that hold `names`."""
    given = [("CONTINUOUS", word, Continuous) for word in continuous]
    given += [("DISCRETE", word, Discrete) for word in discrete]
    given += [("ANGLES", *_angle(word)) for word in angles]
    found: dict[str, Wrapper] = {}
    for named, word, wrapper in given:
        for name in _named(word, names, {other for _, other, _ in given}):
            if name not in names:
                raise UnknownName(f"{named} must name columns of {of}, got {name!r}.")
            if name in found:
                raise Conflict(f"ANGLES, CONTINUOUS and DISCRETE must name different columns, got {name!r} twice.")
            found[name] = wrapper
    return found


def _angle(word: str) -> tuple[str, Wrapper]:
    """The name and the wrapper that NAME:PERIOD gives; the period is a number or a multiple of pi, such as 2pi."""
    name, _, period = word.rpartition(":")
    factor, pi, rest = period.partition("pi")
    try:
        value = float(factor or bool(pi)) * (math.pi if pi else 1)
    except ValueError:
        value = math.nan
    if not name or rest or not 0 < value < math.inf:
        raise OutOfRange(f"ANGLES must be NAME:PERIOD, a period above 0, such as axis:180 or phase:2pi, got {word!r}.")
    return name, partial(Angle, period=value)


def _named(word: str, names: Collection[str], taken: Collection[str]) -> list[str]:
    """The columns that a word names: PREFIX* those that begin so and are not `taken`, any other word itself."""
    if word in names or not word.endswith("*"):
        return [word]
    return [name for name in names if name.startswith(word[:-1]) and name not in taken] or [word]


def _require(table: FileTable, arrays: Mapping[str, Any], **given: Sequence[str]) -> None:
    for asked, names in given.items():
        unknown = [name for name in names if name not in arrays]
        if unknown:
            got = ", ".join(map(repr, unknown))
            how = f" ({table.summary})" if table.understood else ""
            meant = nearest(unknown[0], arrays)
            raise UnknownName(f"{asked} must name columns among {_some(arrays)}, got {got}{how}{meant}")
        for name in names:
            shape = np.shape(arrays[name])
            if len(shape) not in (1, 2) or 0 in shape:
                images = f": give features of the images, or {name}.reshape(len({name}), -1)" if len(shape) > 2 else ""
                raise UnknownName(f"{asked} must name arrays with rows, got {name!r}, which has shape {shape} and not "
                                  f"[n] or [n, d]{images}.")  # fmt: skip


def _require_typed(table: FileTable, names: Sequence[str], wrappers: Mapping[str, Wrapper]) -> None:
    """WrongType, with all problems, unless columns hold numbers or categories or are named in DISCRETE."""
    problems = [table.problem(name) for name in names if name in table.problems and wrappers.get(name) is not Discrete]
    if problems:
        raise WrongType(f"{'; '.join(problems)}; or DISCRETE= takes texts as categories.")


def _complete(
    table: FileTable, names: Sequence[str], options: ReadOptions, shuffle: bool = False
) -> tuple[dict[str, Any], str]:
    """Columns without the rows in which one is missing, and how the file was read."""
    gaps = _gaps(table.columns, names, options.strict or options.refuse_missing)
    is_complete = ~gaps.any(axis=1)
    if not is_complete.any():
        _gaps(table.columns, names, True)
    understood = table.summary
    if not is_complete.all():
        understood += f"; {(~is_complete).sum():,} rows with missing values left out"
    rows = _order(np.flatnonzero(is_complete), shuffle)
    return {name: _taken(table.columns[name], rows) for name in names}, understood


def _gaps(arrays: Mapping[str, Any], names: Sequence[str], refuse: bool) -> pd.DataFrame:
    """Whether a row has a missing value, of columns that have any [n, columns]. MissingValues: any, if refused."""
    lengths = {len(arrays[name]) for name in names}
    if len(lengths) != 1:
        raise InvalidInput(f"{', '.join(names)} must have one number of rows, got {sorted(lengths)}.")
    gaps = pd.DataFrame(index=range(*lengths))
    for name in names:
        is_missing = np.reshape(pd.isna(arrays[name]), (len(gaps), -1)).any(axis=1)
        if is_missing.any():
            gaps[name] = is_missing
    if refuse and gaps.size:
        counts = [f"column {name!r} must have no missing values, got {count:,} of {len(gaps):,}"
                  for name, count in gaps.sum().items()]  # fmt: skip
        raise MissingValues(f"{'; '.join(counts)}: leave out these rows, or columns that lack many values.")
    return gaps


def _order(rows: np.ndarray, shuffle: bool) -> np.ndarray:
    """The rows, in a random order that is the same every time if they are shuffled."""
    return np.random.default_rng(0).permutation(rows) if shuffle else rows


def _taken(values: Any, rows: np.ndarray) -> Any:
    """Some rows of a column or an array; whole numbers are such again where none is missing."""
    if isinstance(values, np.ndarray):
        return values[rows]
    values = values.iloc[rows].reset_index(drop=True)
    return values if values.hasnans else values.infer_objects()


def _block(name: str, values: Any, wrapper: Wrapper | None) -> Any:
    """A column or an array without missing values in its wrapper, if any. InfoscopeError: dates, or free text."""
    if isinstance(values, np.ndarray):
        values = pd.Series(values, name=name) if values.ndim == 1 else pd.DataFrame(values).add_prefix(f"{name} ")
    for column in bare_columns(f"column {name!r}", values):
        if wrapper not in (None, Discrete):
            as_floats(f"column {name!r}", column)
        elif wrapper is None and not isinstance(column, pd.Categorical) and column.dtype.kind not in "biufc":
            columns("DATA", pd.Series(column, name=name))  # refuses dates, and numbers as texts
            distinct = pd.Series(column).nunique()
            if distinct > MAX_DISTINCT_TEXTS * len(column):
                raise Conflict(f"column {name!r} must hold numbers or categories, got {distinct:,} different texts in "
                               f"{len(column):,} rows: embed them first, or leave the column out.")  # fmt: skip
    return wrapper(values) if wrapper else values


def _some(names: dict[str, Any]) -> str:
    shown = list(names)[:12]
    return ", ".join(shown) + (f" and {len(names) - len(shown)} more" if len(names) > len(shown) else "")
