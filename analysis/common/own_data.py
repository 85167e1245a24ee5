"""The user's own data, read from a .npz, .csv or .parquet file; their results, printed, saved and recorded."""

import hashlib
import math
import re
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

from analysis.common.tables import FOLDER, Page, Result, file_name, present, printable
from infoscope import examples
from infoscope.checks import require_int
from infoscope.command_line import nearest, option
from infoscope.errors import (
    Conflict,
    InvalidInput,
    MissingValues,
    OutOfRange,
    StoreUnreachable,
    TooFew,
    UnknownName,
    UnreadableFile,
)
from infoscope.estimators import Angle, Continuous, Discrete
from infoscope.estimators.arrays import Pairs
from infoscope.estimators.arrays.registry import diagnose
from infoscope.estimators.classifier.inputs import as_blocks
from infoscope.estimators.variables import as_floats, as_variable, bare_columns, columns, quoted
from infoscope.files import check_csv, read_arrays, read_parquet, reading
from infoscope.tracking.checks import safe_metric_names

READERS = {".npz": "numpy arrays", ".csv": "a header and columns", ".parquet": "columns"}
EXAMPLES = Path("examples")  # before the name of a table of `infoscope.examples`, in the place of a file
SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}  # of files that are called .csv and have no commas
TYPES = ("continuous", "discrete", "angles")  # options that say what columns hold
QUERY = (  # options that lead to other tables of one file
    "x", "y", "target", "targets", "domain", "groups", "items", *TYPES, "shuffle", "label", "each", "level",
)  # fmt: skip
MAX_DISTINCT_TEXTS = 0.5  # per row; a column with more holds names or free text
Wrapper = Callable[[Any], Continuous | Discrete | Angle]


@dataclass(frozen=True, eq=False)
class OwnData:
    """x, y and groups as `infoscope.estimators.estimate` takes them; columns: names; digest: SHA-256 of the file."""

    x: Any
    y: Any
    groups: np.ndarray | None
    columns: tuple[tuple[str, ...], tuple[str, ...]]
    n: int
    digest: str


ASKED = {  # in each experiment
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
        option("data", default="", help="a .npz, .csv or .parquet file, or examples/NAME: genes, spikes, survey"),
        *(option(name, default="", metavar="NAMES", help=text) for name, text in names.items()),
        option("groups", default="", metavar="NAME", help="column: rows of equal value depend on another"),
        option("angles", default="", metavar="NAME:PERIOD", help=told),
    ]
    if sides is SIDES:  # items of a representation may be called by the number of their row
        found.append(option("shuffle", is_flag=True, help="the order of rows means nothing: they were sorted"))
    return found


def listed(words: str) -> list[str]:
    """Words between commas."""
    return [one.strip() for one in words.split(",") if one.strip()]


def given_data(given: SimpleNamespace) -> tuple[OwnData, Pairs, bool]:
    """The data that the command line names, as `diagnose` checks them, whether rows are a series; errors alike."""
    require_int("--seed", given.seed, 0)
    names = {option: listed(getattr(given, option)) for option in ("x", "y", *TYPES)}
    data = read(Path(given.data), **names, groups=given.groups, shuffle=given.shuffle)
    found = diagnose(data.x, data.y, groups=data.groups)
    if found.serial is not None:
        print("warning: rows follow one another like a series: GROUPS= names groups; ARGS=--shuffle says that the file "
              "was only sorted", file=sys.stderr)  # fmt: skip
    return data, replace(found.pairs, notes=tuple(map(as_options, found.pairs.notes))), found.serial is not None


def progress() -> Callable[[float, str], None]:
    """Prints the share that is done, at the beginning and after each tenth."""
    tenths: set[int] = set()

    def say(share: float, what: str) -> None:
        if int(10 * share) not in tenths:
            tenths.add(int(10 * share))
            print(f"{share:.0%}  {printable(what)}", file=sys.stderr, flush=True)

    return say


def as_options(text: object) -> str:
    """A message with the options of the command line in the place of Python's wrappers, except where it quotes."""
    name = re.sub(r"(?<!')\bwrap\b", "name", str(text))
    angle = re.sub(r"(?<!['\w])Angle\(values, ([^)]+)\)", r"ANGLES=NAME:\1", name)
    return re.sub(r"(?<!['\w])(Continuous|Discrete)(?!['\w])", lambda one: f"{one[0].upper()}=", angle)


def stem_of(task: str, given: SimpleNamespace) -> Path:
    """The path of a task's files without suffix: it ends in a hash of the data's path and of the query."""
    path = Path(given.data)
    asked = [str(path.resolve()), *(f"{name}={getattr(given, name, '')}" for name in QUERY)]
    digest = hashlib.sha256("\n".join(asked).encode()).hexdigest()[:8]
    return FOLDER / file_name(f"{task}-{path.stem}-{digest}")


def conclude(
    experiment: str, given: SimpleNamespace, page: Page, results: Sequence[Result], digest: str,
    params: Mapping[str, object], metrics: Mapping[tuple[str, ...], float],
) -> None:  # fmt: skip
    """Prints and saves the results with a page to send, and records one run in MLflow, which begins with the answers.

    Files of results beyond the first end in the result's name. metrics: by the parts of their names (`safe_metric_names`).
    """
    from infoscope.tracking.store.results import record_run  # MLflow takes two seconds to import
    from infoscope.tracking.store.ui import shown_at

    stem, name = stem_of(experiment, given), Path(given.data).name
    paths = present(
        results, lambda one: stem if one is results[0] else stem.with_name(f"{stem.name}-{one.name}"), stem, page
    )
    answers = page.title, ["answer"], [[line] for line in page.answers], ""
    of_all = {"data": name, "sha256": digest, "seed": given.seed, "groups": given.groups}
    params = {**of_all, **{each: getattr(given, each) for each in TYPES}, **params}
    names = safe_metric_names(metrics)
    recorded = {names[parts]: value for parts, value in metrics.items()}
    tables = [answers, *(result.words for result in results)]
    try:
        run = record_run(experiment, name, params, recorded, tables, paths, ASKED[experiment])
    except (StoreUnreachable, OSError) as error:
        print(f"not recorded in MLflow: {printable(error).splitlines()[0]}", file=sys.stderr)
        return
    print(f"recorded in MLflow: {shown_at(run)}")


def read(
    path: Path,
    x: Sequence[str] = (),
    y: Sequence[str] = (),
    groups: str = "",
    shuffle: bool = False,
    **types: Sequence[str],
) -> OwnData:
    """x and y in a file, by columns of a table or arrays of a .npz; PREFIX*: all that begin so and that nothing else
    names. shuffle: in random order, the same every time. types: columns by type, as in `TYPES`.

    Raises InfoscopeError: an unreadable file, an unknown name, a column in two options, missing values, free text.
    """
    arrays, is_table, digest = _opened(path)
    y = list(y) or ["y"] * ("y" in arrays)
    if not y:
        raise UnknownName(f"Y must name what x is measured against, among {_some(arrays)}, got nothing.")
    y = [name for word in y for name in _named(word, arrays, {groups, *x})]
    taken = {*y, groups}
    x = list(x) or (["x"] if "x" in arrays else [name for name in arrays if name not in taken] if is_table else [])
    x = [name for word in x for name in _named(word, arrays, taken)]
    _require(arrays, X=x, Y=y, GROUPS=[groups] if groups else [])
    if not x or taken & {*x}:
        got = ", ".join(name for name in x if name in taken) or "nothing"
        raise UnknownName(f"X must name columns that are not in Y or GROUPS, got {got}.")
    rows = {len(arrays[name]) for name in (*x, *y, *([groups] if groups else []))}
    if len(rows) != 1:
        raise InvalidInput(f"X, Y and GROUPS must have one number of rows, got {sorted(rows)}.")
    wrappers = _wrappers((*x, *y), "X or Y", **types)
    order = np.random.default_rng(0).permutation(*rows) if shuffle else np.arange(*rows)
    sides = []
    for names in (x, y):
        blocks = [_block(name, arrays[name], wrappers.get(name), path, order) for name in names]
        typed = [block for name, block in zip(names, blocks) if name in wrappers]
        sides.append(blocks[0] if len(blocks) == 1 else blocks if typed else pd.concat(blocks, axis=1))
    groups = _groups(arrays, groups)
    groups = None if groups is None else groups[order]
    return OwnData(*sides, groups, (tuple(x), tuple(y)), rows.pop(), digest)


@dataclass(frozen=True, eq=False)
class OwnRepresentation:
    """Blocks (name -> [n, d]) and targets as `infoscope.metrics.representation.report` takes them; digest: SHA-256."""

    blocks: dict[str, np.ndarray]
    targets: dict[str, Any]
    domain: Any
    groups: np.ndarray | None
    items: np.ndarray | None
    digest: str


def read_representation(
    path: Path,
    x: Sequence[str],
    targets: Sequence[str],
    domain: str = "",
    groups: str = "",
    items: str = "",
    each: bool = False,
    **types: Sequence[str],
) -> OwnRepresentation:
    """A representation in a file. x: columns of the block x, or arrays of a .npz, each a block of its own; PREFIX*: the
    block of the columns or arrays that begin so; default: all that nothing else names. Categories in x become a 0 or 1
    for each. each: every column is a block.

    Raises InfoscopeError as `read`, and for columns of x that are no numbers.
    """
    arrays, is_table, digest = _opened(path)
    if not targets:
        raise UnknownName(f"TARGETS must name the variables that blocks may carry, among {_some(arrays)}, got nothing.")
    _require(arrays, TARGETS=targets, DOMAIN=[domain] * bool(domain), GROUPS=[groups] * bool(groups),
             ITEMS=[items] * bool(items))  # fmt: skip
    taken = {*targets, domain, groups, items}
    parts: dict[str, list[str]] = {}
    for word in x or [name for name in arrays if name not in taken]:
        prefix = word[:-1] if word.endswith("*") else None
        names = _named(word, arrays, taken)
        _require(arrays, X=names)
        block = "x" if prefix is None and is_table else (prefix or word).rstrip("_.-") or "x"
        for name in names:
            parts.setdefault(name if each else block, []).append(name)
    named = [name for names in parts.values() for name in names]
    if taken & {*named} or not parts:
        got = ", ".join(sorted(taken & {*named})) or "nothing"
        raise UnknownName(f"X must name columns that nothing else names, got {got}.")
    wrappers = _wrappers((*targets, *named), "TARGETS or X", **types)
    numbers = {name: arrays[name] for name in named}
    for name, values in numbers.items():
        if name in wrappers:
            numbers[name] = as_variable(f"column {name!r}", wrappers[name](values)).as_numbers()
        elif not pd.api.types.is_numeric_dtype(values.dtype):
            first = np.asarray(values)[0]
            how = "leave it out, or name it in DISCRETE="
            raise UnknownName(f"X must name columns of numbers, got {name!r}, whose first row is {first}: {how}.")
    blocks = as_blocks({block: np.column_stack([numbers[name] for name in names]) for block, names in parts.items()})
    if each and not is_table:
        blocks = {column: values[:, None] for name, block in blocks.items() for column, values in _split(name, block)}
    aims = {name: _block(name, arrays[name], wrappers.get(name), path) for name in targets}
    domain, items = (np.asarray(arrays[name]) if name else None for name in (domain, items))
    return OwnRepresentation(blocks, aims, domain, _groups(arrays, groups), items, digest)


@dataclass(frozen=True, eq=False)
class OwnTable:
    """Columns by name, and groups, as `infoscope.metrics.screen` takes them; digest: SHA-256 of the file."""

    columns: dict[str, Any]
    groups: Any
    digest: str


def read_table(
    path: Path, x: Sequence[str] = (), target: str = "", groups: str = "", **types: Sequence[str]
) -> OwnTable:
    """The columns of a table, or of the arrays of a .npz, with their missing values. x: names or PREFIX*; default: all.

    Raises InfoscopeError: an unreadable file, an unknown name, a column in two options.
    """
    arrays, is_table, digest = _opened(path)
    if not is_table:
        arrays = {column: values for name, array in arrays.items() for column, values in _split(name, array)}
    given = [name for word in x for name in _named(word, arrays, {target, groups})]
    names = list(dict.fromkeys([*(given or (name for name in arrays if name != groups)), *[target] * bool(target)]))
    _require(arrays, TARGET=[target] * bool(target), GROUPS=[groups] * bool(groups), X=names)
    if groups in names:
        raise UnknownName(f"X and TARGET must name columns that are not in GROUPS, got {groups}.")
    wrappers = _wrappers(names, "X or TARGET", **types)
    found = {name: wrappers[name](arrays[name]) if name in wrappers else arrays[name] for name in names}
    return OwnTable(found, _groups(arrays, groups), digest)


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


def _require(arrays: Mapping[str, Any], **given: Sequence[str]) -> None:
    for asked, names in given.items():
        for name in names:
            if name not in arrays:
                meant = nearest(name, arrays)
                raise UnknownName(f"{asked} must name columns among {_some(arrays)}, got {name!r}{meant}")
            shape = arrays[name].shape
            if len(shape) not in (1, 2) or 0 in shape:
                raise UnknownName(f"{asked} must name arrays with rows, got {name!r}, which has shape {shape} and not "
                                  "[n] or [n, d].")  # fmt: skip


def _opened(path: Path) -> tuple[dict[str, Any], bool, str]:
    """Columns or arrays of a file, or of an example, by name, whether it is a table, and its SHA-256."""
    if path.parent == EXAMPLES and not path.suffix:
        frame = examples.load(path.name)
        return dict(frame.items()), True, hashlib.sha256(frame.to_csv(index=False).encode()).hexdigest()
    if path.suffix not in READERS:
        got = "nothing" if path == Path() else repr(str(path))
        made = ", ".join(f"{EXAMPLES}/{name}" for name in examples.TABLES)
        raise UnreadableFile(f"DATA must be a file ending in {', '.join(READERS)}, or one of {made}, got {got}.")
    start = f"DATA must hold {READERS[path.suffix]}, got {str(path)!r}"
    try:
        if path.suffix == ".npz":
            arrays = read_arrays(path, start=start)
        else:
            with reading(path, "", start):
                frame = _read_csv(path) if path.suffix == ".csv" else read_parquet(path).to_pandas()
            arrays = _columns_of(frame, path)
        with path.open("rb") as file:
            return arrays, path.suffix != ".npz", hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UnreadableFile(f"DATA must be a file that can be read, got {str(path)!r}: {error.strerror}.") from None


def _columns_of(frame: pd.DataFrame, path: Path) -> dict[str, pd.Series]:
    frame.columns = frame.columns.map(str)
    if not frame.columns.is_unique:
        repeated = frame.columns[frame.columns.duplicated()][0]
        raise Conflict(f"DATA must have columns of different names, got {repeated!r} twice.")
    if not len(frame):
        raise InvalidInput(f"DATA must have rows, got none in {str(path)!r}, only {frame.shape[1]} names of columns.")
    return dict(frame.items())


def _read_csv(path: Path) -> pd.DataFrame:
    check_csv(path)
    header = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False).iloc[0]
    for sign, called in SEPARATORS.items():
        if len(header) == 1 and sign in header[0]:
            how = f"pandas.read_csv(..., sep={sign!r}, decimal=',' where needed).to_csv(..., index=False) rewrites it"
            raise UnreadableFile(f"commas must be between columns, but {called} are: {how}")
    repeated = header[(header != "") & header.duplicated()]
    if len(repeated):
        raise Conflict(f"columns must have different names, but {repeated.iloc[0]!r} is there more than once")
    return pd.read_csv(path)


def _block(name: str, values: Any, wrapper: Wrapper | None, path: Path, rows: Any = slice(None)) -> Any:
    if isinstance(values, np.ndarray):
        values = pd.Series(values, name=name) if values.ndim == 1 else pd.DataFrame(values).add_prefix(f"{name} ")
    if missing := int(np.sum(pd.isna(values))):
        raise MissingValues(f"column {name!r} must have no missing values, got {missing:,} of {np.size(values):,}"
                         f"{_words_for_missing(name, values, path)}.")  # fmt: skip
    for column in bare_columns(f"column {name!r}", values):
        if wrapper not in (None, Discrete):
            as_floats(f"column {name!r}", column)
        elif wrapper is None and not isinstance(column, pd.Categorical) and column.dtype.kind not in "biufc":
            columns("DATA", pd.Series(column, name=name))  # refuses dates, and numbers as texts
            distinct = len(np.unique(np.asarray(column, dtype=str)))
            if distinct > MAX_DISTINCT_TEXTS * len(column):
                raise Conflict(f"column {name!r} must hold numbers or categories, got {distinct:,} different texts in "
                               f"{len(column):,} rows: embed them first, or leave the column out.")  # fmt: skip
    return wrapper(values.iloc[rows]) if wrapper else values.iloc[rows]


def _words_for_missing(name: str, values: pd.Series, path: Path) -> str:
    if path.suffix != ".csv":
        return ""
    words = pd.read_csv(path, dtype=str, keep_default_na=False)[name].fillna("")
    counts = words[np.asarray(pd.isna(values))].str.strip().value_counts()
    empty = f"empty cells ({counts.pop(''):,})" if "" in counts else ""
    said = " and ".join(part for part in (quoted(counts) if len(counts) else "", empty) if part)
    other = "; where a word is a category, give it another name" if len(counts) else ""
    return f": {said} count as missing{other}"


def _some(names: dict[str, Any]) -> str:
    shown = list(names)[:12]
    return ", ".join(shown) + (f" and {len(names) - len(shown)} more" if len(names) > len(shown) else "")
