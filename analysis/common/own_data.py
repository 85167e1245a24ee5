"""A person's own arrays: read from a .npz, .csv or .parquet file, typed as the person says; and the one run in MLflow
that holds what was found.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
import zipfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from analysis.common.tables import FOLDER, Result, file_name, printable
from infoscope.estimators.arrays import Pairs, as_pairs
from infoscope.estimators.checks import require_int
from infoscope.estimators.classifier.inputs import as_blocks
from infoscope.estimators.variables import (
    Continuous,
    Discrete,
    as_clear_variable,
    as_floats,
    bare_columns,
    quoted,
    require_names,
    require_no_dates,
)
from infoscope.tracking import StoreUnreachable
from infoscope.tracking.store.single import record_run

READERS = {".npz": "numpy arrays", ".csv": "a header and columns", ".parquet": "columns"}
SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}  # of files that are called .csv and have no commas
ORIGIN = (  # of what is asked: options that make other tables of one file
    "x", "y", "targets", "domain", "groups", "items", "continuous", "discrete", "shuffle", "label", "each",
)  # fmt: skip
MANY_TEXTS = 0.5  # distinct texts a row: beyond it they are names or free text, and no categories


@dataclass(frozen=True, eq=False)
class OwnData:
    """Two sides and groups as `infoscope.estimators.estimate` takes them, and where they come from.

    columns  names of the columns of x and of y
    digest   SHA-256 of the file
    """

    x: Any
    y: Any
    groups: np.ndarray | None
    columns: tuple[tuple[str, ...], tuple[str, ...]]
    n: int
    digest: str


ASKED = {  # in each experiment
    "measure": "Own data: how much do two sides share, by several estimators?",
    "advise": "Own data: which estimator is to be believed, and how much is there?",
    "represent": "Own data: what does a representation hold, where, and for whom?",
}
SIDES = {"x": "PREFIX*: all that begin so; default: array x, or all other columns", "y": "default: y"}


class Parser(argparse.ArgumentParser):
    """Says what is wrong with an option in one sentence."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message}; ARGS=--help lists the options\n")


def add_arguments(parser: argparse.ArgumentParser, sides: Mapping[str, str] = SIDES) -> None:
    """The options that say where the data are and what they hold."""
    parser.add_argument("--data", default="", help="a .npz, .csv or .parquet file")
    for side, told in sides.items():
        parser.add_argument(f"--{side}", default="", metavar="NAMES", help=f"columns, with commas between ({told})")
    parser.add_argument("--groups", default="", metavar="NAME", help="column: rows of equal value depend on another")
    parser.add_argument("--continuous", default="", metavar="NAMES", help="columns that are numbers")
    parser.add_argument("--discrete", default="", metavar="NAMES", help="columns that are categories")
    if sides is SIDES:  # items of a representation may be called by the number of their row
        parser.add_argument("--shuffle", action="store_true", help="the order of rows means nothing: they were sorted")


def listed(words: str) -> list[str]:
    """Words between commas."""
    return [one.strip() for one in words.split(",") if one.strip()]


def given_data(given: argparse.Namespace) -> tuple[OwnData, Pairs]:
    """The data that the command line names, and the same as a checked sample. ValueError as of `read` and
    `estimate`, in the words of the command line."""
    require_int("--seed", given.seed, 0)
    names = [listed(getattr(given, option)) for option in ("x", "y")]
    types = [listed(getattr(given, option)) for option in ("continuous", "discrete")]
    data = read(Path(given.data), *names, given.groups, *types, shuffle=given.shuffle)
    pairs = as_pairs(data.x, data.y, data.groups)
    pairs = replace(pairs, notes=tuple(map(as_options, pairs.notes)))
    if pairs.serial is not None:
        print("warning: rows follow one another like a series: GROUPS= names groups; ARGS=--shuffle says that the file "
              "was only sorted", file=sys.stderr)  # fmt: skip
    return data, pairs


def as_options(text: object) -> str:
    """What is said of wrappers in Python as a person at a command line would do it, but for what is quoted."""
    name = re.sub(r"(?<!')\bwrap\b", "name", str(text))
    return re.sub(r"(?<!['\w])(Continuous|Discrete)(?!['\w])", lambda one: f"{one[0].upper()}=", name)


def stem_of(task: str, given: argparse.Namespace) -> Path:
    """What the files of a task are called: by its data, and by a digest of the place of the file and of what is asked
    of it, so that two questions have tables of their own."""
    path = Path(given.data)
    asked = [str(path.resolve()), *(f"{name}={getattr(given, name, '')}" for name in ORIGIN)]
    digest = hashlib.sha256("\n".join(asked).encode()).hexdigest()[:8]
    return FOLDER / file_name(f"{task}-{path.stem}-{digest}")


def described(data: OwnData, pairs: Pairs, name: str) -> str:
    """What x and y are, for a caption."""
    groups = "" if pairs.groups is None else f" in {pairs.groups.max() + 1:,} groups"
    return (
        f"x ({_few(data.columns[0])}) and y ({_few(data.columns[1])}) of {name}, n = {pairs.n:,} rows{groups}; "
        f"x is {pairs.x.kind}, y is {pairs.y.kind}."
    )


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def record(
    experiment: str, data: OwnData, pairs: Pairs, given: argparse.Namespace, more: Mapping[str, object],
    metrics: Mapping[str, float], results: Sequence[Result], paths: Sequence[Path],
) -> None:  # fmt: skip
    """One run in MLflow, with the digest of the data; says where, or why not."""
    params = {
        "data": Path(given.data).name, "sha256": data.digest, "n": pairs.n, "seed": given.seed,
        "x": ",".join(data.columns[0]), "y": ",".join(data.columns[1]), "groups": given.groups,
        "x_kind": pairs.x.kind, "y_kind": pairs.y.kind, **more,
    }  # fmt: skip
    record_results(experiment, Path(given.data).name, params, metrics, results, paths)


def record_results(
    experiment: str, name: str, params: Mapping[str, object], metrics: Mapping[str, float], results: Sequence[Result],
    paths: Sequence[Path],
) -> None:  # fmt: skip
    """One run in MLflow with its tables and files; says where, or why not."""
    tables = [
        (result.name, list(map(str, result.text.columns)), result.text.astype(str).values.tolist(), result.caption)
        for result in results
    ]
    try:
        page = record_run(experiment, name, params, metrics, tables, paths, ASKED.get(experiment, ""))
    except (StoreUnreachable, OSError) as error:
        print(f"not recorded in MLflow: {printable(error).splitlines()[0]}", file=sys.stderr)
        return
    print(f"recorded in MLflow, {page} (make ui)")


def read(
    path: Path,
    x: Sequence[str] = (),
    y: Sequence[str] = (),
    groups: str = "",
    continuous: Sequence[str] = (),
    discrete: Sequence[str] = (),
    shuffle: bool = False,
) -> OwnData:
    """The data in a file.

    x, y        names of columns, or of arrays of a .npz, PREFIX* all that begin so and that nothing else names; without
                them "y" and "x", and x of a table is what is left
    groups      name of the column whose equal values depend on one another; empty: every row is on its own
    continuous, discrete  names of columns that are numbers, or categories, whatever they look like
    shuffle     rows are put into random order, always the same: theirs means nothing

    Raises ValueError in one sentence: no such file, another suffix, a file that cannot be read, one without rows, two
    columns of one name, a name that is not there, columns on both sides, missing values, texts that are no categories.
    """
    frame, arrays, digest = _opened(path)
    y = list(y) or (["y"] if "y" in arrays else [])
    if not y:
        raise ValueError(f"Y must name what x is measured against, among {_some(arrays)}, got nothing.")
    y = [name for word in y for name in _named(word, arrays, {groups, *x})]
    taken = {*y, groups}
    x = list(x) or (["x"] if "x" in arrays else [] if frame is None else [name for name in arrays if name not in taken])
    x = [name for word in x for name in _named(word, arrays, taken)]
    _require(arrays, X=x, Y=y, GROUPS=[groups] if groups else [])
    if not x or taken & {*x}:
        got = ", ".join(name for name in x if name in taken) or "nothing"
        raise ValueError(f"X must name columns that are not in Y or GROUPS, got {got}.")
    for option, names in (("CONTINUOUS", continuous), ("DISCRETE", discrete)):
        for name in names:
            if name not in (*x, *y):
                raise ValueError(f"{option} must name columns of X or Y, got {name!r}.")
    rows = {len(arrays[name]) for name in (*x, *y)}
    if len(rows) != 1:
        raise ValueError(f"X and Y must have one number of rows, got {sorted(rows)}.")
    if shuffle:
        order = np.random.default_rng(0).permutation(*rows)
        taken = {name: arrays[name] for name in {*x, *y, *([groups] if groups else [])}}
        arrays = {name: one.iloc[order] if frame is not None else one[order] for name, one in taken.items()}
    sides = [_typed(names, arrays, set(continuous), set(discrete), path) for names in (x, y)]
    return OwnData(
        *sides,
        np.asarray(arrays[groups]) if groups else None,
        (tuple(x), tuple(y)),
        rows.pop(),
        digest,
    )


@dataclass(frozen=True, eq=False)
class OwnRepresentation:
    """Blocks of numbers and targets as `infoscope.metrics.representation.report` takes them.

    blocks   name -> [n, d]; digest: SHA-256 of the file
    """

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
    continuous: Sequence[str] = (),
    discrete: Sequence[str] = (),
    each: bool = False,
) -> OwnRepresentation:
    """A representation in a file.

    x           columns of the block x, or arrays of a .npz, each of which is a block; PREFIX*, the block of the columns
                that begin so, or of the arrays; none: all that nothing else names
    targets, domain, groups, items   columns; continuous, discrete: targets that are numbers, or categories
    each        every column is a block of its own

    Raises ValueError as `read`; for a prefix that no column has, a target that x holds, or whole numbers that may be
    either numbers or categories.
    """
    frame, arrays, digest = _opened(path)
    others = [name for name in (domain, groups, items) if name]
    if not targets:
        raise ValueError(f"TARGETS must name what is asked of the representation, among {_some(arrays)}, got nothing.")
    _require(arrays, TARGETS=targets, DOMAIN=[domain] * bool(domain), GROUPS=[groups] * bool(groups),
             ITEMS=[items] * bool(items))  # fmt: skip
    taken = {*targets, *others}
    parts: dict[str, list[str]] = {}
    for word in x or [name for name in arrays if name not in taken]:
        prefix = word[:-1] if word.endswith("*") else None
        names = _named(word, arrays, taken)
        _require(arrays, X=names)
        block = "x" if prefix is None and frame is not None else (prefix or word).rstrip("_.-") or "x"
        for name in names:
            parts.setdefault(name if each else block, []).append(name)
    clash = taken & {name for names in parts.values() for name in names}
    if clash or not parts:
        raise ValueError(f"X must name columns that nothing else names, got {', '.join(sorted(clash)) or 'nothing'}.")
    for name in (one for names in parts.values() for one in names):
        if not pd.api.types.is_numeric_dtype(arrays[name].dtype):
            first = np.asarray(arrays[name])[0]
            raise ValueError(f"X must name columns of numbers, got {name!r}, whose first row is {first}.")
    blocks = as_blocks({name: np.column_stack([arrays[one] for one in names]) for name, names in parts.items()})
    if each and frame is None:
        blocks = {
            f"{name} {place}": column[:, None] for name, block in blocks.items() for place, column in enumerate(block.T)
        }
    aims = {name: _block(name, arrays[name], set(continuous), set(discrete), path) for name in targets}
    for name, values in aims.items():
        as_clear_variable(f"target {name!r}", values)
    named = [np.asarray(arrays[name]) if name else None for name in (domain, groups, items)]
    return OwnRepresentation(blocks, aims, *named, digest)


def _named(word: str, arrays: Mapping[str, Any], taken: Collection[str]) -> list[str]:
    """The columns that a word names: PREFIX* those that begin so and that nothing else names, else the word itself."""
    if word in arrays or not word.endswith("*"):
        return [word]
    return [name for name in arrays if name.startswith(word[:-1]) and name not in taken] or [word]


def _require(arrays: Mapping[str, Any], **given: Sequence[str]) -> None:
    """ValueError for a name that is not there, or that is of no rows."""
    for option, names in given.items():
        for name in names:
            if name not in arrays:
                raise ValueError(f"{option} must name columns among {_some(arrays)}, got {name!r}.")
            if arrays[name].ndim == 0:
                raise ValueError(f"{option} must name arrays with rows, got {name!r}, which is a single value.")


def _opened(path: Path) -> tuple[pd.DataFrame | None, dict[str, Any], str]:
    """`_table_of` a file, and the SHA-256 of it."""
    if path.suffix not in READERS:
        got = "nothing" if path == Path() else repr(str(path))
        raise ValueError(f"DATA must be a file ending in {', '.join(READERS)}, got {got}.")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ValueError(f"DATA must be a file that can be read, got {str(path)!r}: {error.strerror}.") from None
    return *_table_of(path), hashlib.sha256(content).hexdigest()


def _table_of(path: Path) -> tuple[pd.DataFrame | None, dict[str, Any]]:
    """The table in a file, None of a .npz, and its columns or arrays by name."""
    try:
        if path.suffix == ".npz":
            return None, _arrays_of(path)
        frame = _read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    except (ValueError, OSError, zipfile.BadZipFile) as error:  # pyarrow's and pandas' errors are ValueErrors
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"DATA must hold {READERS[path.suffix]}, got {str(path)!r}: {said.rstrip('.')}.") from None
    frame.columns = frame.columns.map(str)
    if not frame.columns.is_unique:
        repeated = frame.columns[frame.columns.duplicated()][0]
        raise ValueError(f"DATA must have columns of different names, got {repeated!r} twice.")
    if not len(frame):
        raise ValueError(f"DATA must have rows, got none in {str(path)!r}, only {len(frame.columns)} names of columns.")
    return frame, dict(frame.items())


def _arrays_of(path: Path) -> dict[str, np.ndarray]:
    """The arrays in a .npz by name. ValueError, which never advises to load it unsafely."""
    if not zipfile.is_zipfile(path):
        raise ValueError("it is no archive that numpy.savez has written")
    with np.load(path, allow_pickle=False) as file:
        arrays = {}
        for name in file.files:
            try:
                arrays[name] = file[name]
            except ValueError as error:
                objects = "Object arrays" in str(error)
                said = "an array of objects: save numbers or texts" if objects else f"no array ({error})"
                raise ValueError(f"{name!r} is {said}") from None
        return arrays


def _read_csv(path: Path) -> pd.DataFrame:
    """The table in a .csv. ValueError for a header without commas, or with a name twice, which pandas would change."""
    header = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False).iloc[0]
    for sign, called in SEPARATORS.items():
        if len(header) == 1 and sign in header[0]:
            raise ValueError(f"commas must be between columns, but {called} are: pandas.read_csv(..., sep={sign!r}, "
                             "decimal=',' where needed).to_csv(..., index=False) rewrites it")  # fmt: skip
    repeated = header[(header != "") & header.duplicated()]
    if len(repeated):
        raise ValueError(f"columns must have different names, but {repeated.iloc[0]!r} is there more than once")
    return pd.read_csv(path)


def _typed(names: Sequence[str], arrays: dict[str, Any], continuous: set[str], discrete: set[str], path: Path) -> Any:
    """One side: blocks, wrapped where the person says what they are."""
    blocks = [_block(name, arrays[name], continuous, discrete, path) for name in names]
    if len(blocks) == 1:
        return blocks[0]
    if any(isinstance(block, (Continuous, Discrete)) for block in blocks):
        return blocks
    return pd.concat(blocks, axis=1) if isinstance(blocks[0], pd.Series) else np.column_stack(blocks)


def _block(name: str, values: Any, continuous: set[str], discrete: set[str], path: Path) -> Any:
    """A column or array of a file, wrapped where the person says what it is. ValueError: missing values, both types,
    numbers that are not, dates and numbers as texts, texts that are no categories."""
    if name in continuous and name in discrete:
        raise ValueError(f"CONTINUOUS and DISCRETE must name different columns, got {name!r} in both.")
    missing = int(np.sum(pd.isna(values)))
    if missing:
        raise ValueError(f"column {name!r} must have no missing values, got {missing:,} of {np.size(values):,}"
                         f"{_words_for_missing(name, path)}.")  # fmt: skip
    if name in continuous:
        for column in bare_columns(f"column {name!r}", values):
            as_floats(f"column {name!r}", column)
        return Continuous(values)
    if name in discrete:
        return Discrete(values)
    if not pd.api.types.is_numeric_dtype(values.dtype) and not isinstance(values.dtype, pd.CategoricalDtype):
        for column in bare_columns(f"column {name!r}", values):
            require_no_dates("DATA", column, repr(name))
            require_names("DATA", column, repr(name))
        distinct = len(np.unique(np.asarray(values, dtype=str)))
        if distinct > MANY_TEXTS * len(values):
            raise ValueError(
                f"column {name!r} must hold numbers or categories, got {distinct:,} different texts in "
                f"{len(values):,} rows: embed them first, or leave the column out."
            )
    return values


def _words_for_missing(name: str, path: Path) -> str:
    """Which words of a column of a .csv were read as missing values, as the end of a sentence."""
    if path.suffix != ".csv":
        return ""
    words = pd.read_csv(path, dtype=str, keep_default_na=False)[name].fillna("")
    counts = words[pd.read_csv(path)[name].isna()].str.strip().value_counts()
    empty = f"empty cells ({counts.pop(''):,})" if "" in counts else ""
    said = " and ".join(part for part in (quoted(counts) if len(counts) else "", empty) if part)
    other = "; where a word is a category, give it another name" if len(counts) else ""
    return f": {said} count as missing{other}"


def _some(names: dict[str, Any]) -> str:
    shown = list(names)[:12]
    return ", ".join(shown) + (f" and {len(names) - len(shown)} more" if len(names) > len(shown) else "")
