"""Users' files become columns, with a few words on what was understood.

A text takes five steps: bytes, text (its encoding), layout (comment lines, separator),
cells and names, typed columns (`own_columns`). A workbook becomes text first. Columns
of .parquet and .npz files are typed already, but for their texts and dates.
"""

import codecs
import csv
import hashlib
import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mode
from typing import Any

import numpy as np
import pandas as pd

from analysis.common.own_columns import (
    MAX_SAMPLE,
    Conventions,
    decimal_signs,
    measurable,
    typed,
)
from infoscope import examples
from infoscope.errors import Conflict, InfoscopeError, InvalidInput, UnreadableFile
from infoscope.files import (
    read_arrays,
    read_content,
    read_parquet,
    reading,
    require_size,
    require_table_size,
)

ARRAYS, PARQUET, WORKBOOK = ".npz", ".parquet", ".xlsx"
TEXTS = (".csv", ".tsv", ".txt", ".dat", ".data")  # also with .gz
# before the name of a table of `infoscope.examples`, in the place of a file
EXAMPLES = Path("examples")
# of columns, by preference: commas may be decimal, and blanks part of a text
SEPARATORS = (";", "|", "\t", ",", " ")
MAX_LINES = 200  # of a text, from which its separator is found
MIN_ALIKE = 0.9  # of these lines, with as many fields as most
MIN_SEQUENCE = 3  # equally spaced numbers that are names of columns, such as years
MAX_NAMED = 3  # columns in a sentence
COMMENTS = re.compile(r"([ \t]*(#.*)?\n)*")


@dataclass(frozen=True)
class ReadOptions:
    """How a file is read.

    strict          UTF-8, commas, names in the first line, and no missing values;
                    pandas types the columns
    header          number of the line with the names; 0: no line; None: found
    refuse_missing  whether missing values are refused
    conventions     how its texts are written
    """

    strict: bool = False
    header: int | None = None
    refuse_missing: bool = False
    conventions: Conventions = Conventions()

    @property
    def refuses_missing(self) -> bool:
        """Whether missing values are an error."""
        return self.strict or self.refuse_missing


LENIENT = ReadOptions()


@dataclass(frozen=True, eq=False)
class FileTable:
    """The columns of a table, Series [n] or arrays [n, d], or the arrays of a .npz, by
    name.

    digest      SHA-256 of the file
    understood  what was assumed, in a few words each
    problems    by name, why a column of texts holds neither numbers nor categories
    """

    columns: dict[str, Any]
    is_table: bool
    digest: str
    understood: Sequence[str] = ()
    problems: Mapping[str, str] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """Its size and what was assumed, in one line."""
        size = f"{len(self.columns):,} arrays"
        if self.is_table:
            rows = len(next(iter(self.columns.values())))
            size = f"{rows:,} rows, {len(self.columns):,} columns"
        return "; ".join([size, *self.understood])

    def problem(self, name: str) -> str:
        """A sentence on a column with a problem."""
        return (
            f"column {name!r} must hold numbers or categories, got "
            f"{self.problems[name]}"
        )


def read_file(path: Path, options: ReadOptions = LENIENT) -> FileTable:
    """The columns of a file or an example. InfoscopeError: a damaged, ambiguous, empty
    or too large file.
    """
    if path.parent == EXAMPLES and not path.suffix:
        frame = examples.load(path.name)
        text = frame.to_csv(index=False)
        digest = hashlib.sha256(text.encode()).hexdigest()
        return FileTable(dict(frame.items()), True, digest)
    kind = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    if kind not in (ARRAYS, PARQUET, WORKBOOK, *TEXTS):
        value = "nothing" if path == Path() else repr(str(path))
        tables = ", ".join(f"{EXAMPLES}/{name}" for name in examples.TABLES)
        endings = ", ".join([ARRAYS, *TEXTS, WORKBOOK, PARQUET])
        raise UnreadableFile(
            f"DATA must be a file ending in {endings}, or one of {tables}, got {value}."
        )
    content = "numpy arrays" if kind == ARRAYS else "columns"
    start = f"DATA must hold {content}, got {str(path)!r}"
    understood: list[str] = []
    decimal = "."
    try:
        with reading(path, "", start):
            if kind == ARRAYS:
                columns = read_arrays(path, start=start)
            elif kind == PARQUET:
                columns, understood = _parquet_columns(path)
            else:
                columns, understood, decimal = _text_columns(path, kind, options)
        digest = digest_of(path)
    except OSError as error:
        raise UnreadableFile(
            f"DATA must be a file that can be read, got {str(path)!r}: "
            f"{error.strerror}."
        ) from None
    first_column = next(iter(columns.values()), [])
    if kind != ARRAYS and len(first_column) == 0:
        raise InvalidInput(
            f"DATA must have rows, got none in {str(path)!r}, only {len(columns)} "
            "names of columns."
        )
    problems: dict[str, str] = {}
    if not options.strict:
        columns, assumed, problems = _typed_columns(
            columns, options.conventions, decimal
        )
        understood += assumed
    return FileTable(columns, kind != ARRAYS, digest, understood, problems)


def digest_of(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _text_columns(
    path: Path, kind: str, options: ReadOptions
) -> tuple[dict[str, Any], list[str], str]:
    """The columns of a text or a workbook, of texts if not strict; what was assumed;
    and the usual decimal sign.
    """
    if kind == WORKBOOK:
        text, understood = _workbook_text(path)
    else:
        text, understood = _decoded(read_content(path), options.strict)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if options.strict:
        return _strict_columns(path, text), understood, "."
    comments = COMMENTS.match(text).group()
    body = text.removeprefix(comments)
    if options.header:
        body = text.split("\n", options.header - 1)[-1]
    first_lines = body.split("\n")[:MAX_LINES]
    separator = _separator([line for line in first_lines if line.strip()])
    cells, widths = _cells(path, body, separator)
    has_header = _is_header(cells) if options.header is None else options.header > 0
    if has_header:
        names = cells.iloc[0].tolist()[: widths[0]]
        rows = cells.iloc[1:]
    else:
        last_comment = comments.strip().rpartition("\n")[-1].strip("# ")
        names = next(_fields(last_comment, separator), [])
        rows = cells
        width = mode(widths)
        if len(names) != width or width == 1:
            names = [f"c{place}" for place in range(1, width + 1)]
        understood.append(f"no header: columns are {names[0]} to {names[-1]}")
    is_empty = (rows == "").all(axis=1)
    if is_empty.any():
        understood.append(f"{is_empty.sum():,} empty rows are left out")
    rows = rows[~is_empty].reset_index(drop=True)
    columns, assumed = _named(names, rows)
    return columns, understood + assumed, "." if separator == "," else ""


def _decoded(content: bytes, strict: bool) -> tuple[str, list[str]]:
    """A text in UTF-8, UTF-16 with a mark, or else in the encoding of Windows; and
    which, if it is the last.
    """
    has_mark = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return content.decode("utf-16" if has_mark else "utf-8-sig"), []
    except UnicodeDecodeError:
        if strict:
            raise
        return content.decode("cp1252", errors="replace"), [
            "read as cp1252, since it is not UTF-8"
        ]


def _workbook_text(path: Path) -> tuple[str, list[str]]:
    """The first sheet of a workbook as text with commas."""
    try:
        import openpyxl
    except ImportError:
        how = "python -m pip install openpyxl, or save it as .csv"
        raise UnreadableFile(f"reading .xlsx needs openpyxl: {how}") from None
    with zipfile.ZipFile(path) as archive:
        require_size(path, sum(member.file_size for member in archive.infolist()))
    text = io.StringIO()
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        sheet = book.worksheets[0]
        sheet.reset_dimensions()
        writer = csv.writer(text, lineterminator="\n")
        for row in sheet.iter_rows(values_only=True):
            writer.writerow(row)
            require_size(path, text.tell())
    except InfoscopeError:
        raise
    except Exception as error:  # of the many kinds that damaged files raise
        raise UnreadableFile(f"it is no workbook: {error}") from error
    sheets = f"sheet {sheet.title!r} of {len(book.worksheets)}"
    return text.getvalue(), [sheets] if len(book.worksheets) > 1 else []


def _strict_columns(path: Path, text: str) -> dict[str, Any]:
    """Columns between commas, as pandas types them."""
    _widths(path, text, ",")
    names = [name for name in next(_fields(text, ",")) if name]
    if len(set(names)) < len(names):
        raise Conflict(
            f"columns must have different names, but {mode(names)!r} is there more "
            "than once"
        )
    return dict(pd.read_csv(io.StringIO(text)).items())


def _separator(lines: Sequence[str]) -> str:
    """What is between the columns of lines, the first of which may have names; a comma
    if nothing is.
    """
    text = "\n".join(lines)
    fields: dict[str, int] = {}
    same_as_first: dict[str, int] = {}
    for separator in SEPARATORS:
        widths = [len(row) for row in _fields(text, separator)] or [0]
        first, *others = widths
        usual = mode(others or widths)
        if usual > 1 and others.count(usual) >= MIN_ALIKE * len(others):
            fields[separator] = usual
            if first == usual:
                same_as_first[separator] = usual
    candidates = same_as_first or fields
    separator = next(iter(candidates), ",")
    # a tab before the last of many numbers
    if separator == "\t" and candidates.get(" ", 0) > candidates["\t"]:
        return " "
    return separator


def _fields(text: str, separator: str) -> Iterator[list[str]]:
    """The fields of every line that is not blank."""
    lines = io.StringIO(text)
    if separator == " ":
        lines = (" ".join(line.split()) for line in lines)
    return filter(None, csv.reader(lines, delimiter=separator, skipinitialspace=True))


def _widths(path: Path, text: str, separator: str) -> list[int]:
    """The number of fields of every line that is not blank. UnreadableFile: none.
    OutOfRange: too large a table.
    """
    widths = [len(row) for row in _fields(text, separator)]
    if not widths:
        raise UnreadableFile("it has no rows")
    require_table_size(path, len(widths), max(widths))
    return widths


def _cells(path: Path, text: str, separator: str) -> tuple[pd.DataFrame, list[int]]:
    """Stripped texts [rows, columns], "" where a row is short, and the number of fields
    of every row.
    """
    widths = _widths(path, text, separator)
    if separator == " ":
        lines = [" ".join(line.split()) for line in text.split("\n")]
        text = "\n".join(lines)
    cells = pd.read_csv(
        io.StringIO(text),
        sep=separator,
        header=None,
        names=range(max(widths)),
        index_col=False,
        dtype=str,
        na_filter=False,
        skipinitialspace=True,
    )
    return cells.apply(lambda texts: texts.str.strip()), widths


def _is_header(cells: pd.DataFrame) -> bool:
    """Whether the first row names the columns rather than being one like those below.

    UnreadableFile: one or two numbers above numbers, beside texts that never recur.
    """
    numbers = []
    texts = 0
    recurring = 0
    for _, column in cells[: MAX_SAMPLE + 1].items():
        name = column.iloc[0]
        below = column[1:]
        if not name:
            continue
        if _is_text(typed(below, Conventions(".")).values):
            texts += 1
            recurring += name in set(below)
        elif _is_text(typed(column[:1], Conventions(".")).values):
            return True
        else:
            numbers.append(name)
    values = pd.to_numeric(pd.Series(numbers), errors="coerce")
    steps = np.diff(values)
    are_many = len(numbers) >= MIN_SEQUENCE
    if not numbers or (are_many and np.allclose(steps, steps[0])):
        return recurring <= texts / 2
    if texts and not recurring and not are_many:
        how = "ARGS='--header 1' or ARGS='--header 0'"
        raise UnreadableFile(
            f"its first line, with {numbers[0]}, may hold names or be a row: {how} "
            "decides"
        )
    return False


def _named(
    names: list[str], rows: pd.DataFrame
) -> tuple[dict[str, pd.Series], list[str]]:
    """Columns by name, where names and rows may differ by separators at the end or a
    column of row numbers.
    """
    assumed = []
    beyond = rows.iloc[:, len(names) :]
    is_longer = (beyond != "").any(axis=1)
    first = pd.to_numeric(rows[0], errors="coerce")
    names_rows = rows[0].is_unique and (
        first.isna().all() or _is_empty_or_numbering(rows[0])
    )
    if beyond.shape[1] == 1 and is_longer.all() and names_rows:
        names = ["", *names]
        assumed.append("the first column, without a name, names rows")
    elif is_longer.any():
        example = is_longer.idxmax() + 1
        raise UnreadableFile(f"{is_longer.sum():,} rows, such as row {example}, have more fields than the {len(names)} "
                             "names of columns: a text with separators needs quotes")  # fmt: skip
    elif beyond.shape[1]:
        assumed.append("separators at the ends of rows are ignored")
    unnamed = 0
    columns: dict[str, pd.Series] = {}
    for place, name in enumerate(names):
        texts = rows[place]
        if not name and _is_empty_or_numbering(texts):
            unnamed += 1
            continue
        unique = name or f"Unnamed: {place}"
        while unique in columns:
            unique += ".1"
            assumed.append(f"another {name!r} is called {unique!r}")
        columns[unique] = texts
    if unnamed:
        assumed.append(
            f"{unnamed} columns without a name, empty or row numbers, are left out"
        )
    return columns, assumed


def _is_empty_or_numbering(texts: pd.Series) -> bool:
    """Whether a column is empty, or numbers the rows from 0 or from 1."""
    offsets = set(pd.to_numeric(texts, errors="coerce") - texts.index)
    return (texts == "").all() or offsets in ({0}, {1})


def _parquet_columns(path: Path) -> tuple[dict[str, Any], list[str]]:
    """The columns and the named index of a .parquet file; lists of one length as arrays
    [n, d].
    """
    frame = read_parquet(path).to_pandas(integer_object_nulls=True)
    if frame.index.names != [None]:
        frame = frame.reset_index()
    names = frame.columns.map(str)
    if not names.is_unique:
        repeated = names[names.duplicated()][0]
        raise Conflict(f"its columns must have different names, got {repeated!r} twice")
    columns: dict[str, Any] = {}
    left_out = []
    for name, (_, values) in zip(names, frame.items()):
        has_lists = values.map(type).eq(np.ndarray).any()
        if not has_lists:
            columns[name] = values
        elif values.map(np.size).nunique() == 1:
            columns[name] = np.stack(values)
        else:
            left_out.append(name)
    if not left_out:
        return columns, []
    return columns, [f"{_listed(left_out)} with lists of several lengths left out"]


def _typed_columns(
    columns: Mapping[str, Any], conventions: Conventions, decimal: str
) -> tuple[dict[str, Any], list[str], dict[str, str]]:
    """Columns of texts and dates with types, what was assumed, and their problems;
    other columns as they are.

    decimal: the sign of columns that can be read in two ways, where no other column
    decides; "": it is not known.
    """
    texts = {}
    for name, values in columns.items():
        if _is_text(values):
            texts[name] = pd.Series(values).fillna("").str.strip().astype(object)
    signs = {name: decimal_signs(values) for name, values in texts.items()}
    all_signs = set().union(*signs.values())
    if len(all_signs) == 1:
        (decimal,) = all_signs
    elif all_signs:
        decimal = ""
    marks: Counter[str] = Counter()
    names_by_assumption: dict[str, list[str]] = {}
    problems = {}
    converted = dict(columns)
    for name, values in columns.items():
        assumption = ""
        if name in texts:
            sign = decimal
            if len(signs[name]) == 1:
                (sign,) = signs[name]
            column = typed(
                texts[name], replace(conventions, decimal=conventions.decimal or sign)
            )
            converted[name] = column.values.rename(name)
            assumption = column.understood
            marks.update(column.missing.to_dict())
            if column.problem:
                problems[name] = column.problem
        elif np.ndim(values) == 1:
            converted[name], assumption = measurable(values)
        if assumption:
            names_by_assumption.setdefault(assumption, []).append(name)
    assumed = []
    for mark, count in marks.most_common():
        name = repr(mark) if mark else "blank"
        assumed.append(f"{name} taken as missing ({count:,})")
    for assumption, names in names_by_assumption.items():
        assumed.append(f"{_listed(names)} {assumption}")
    return converted, assumed, problems


def _is_text(values: Any) -> bool:
    """Whether a column has texts and nothing else but missing values."""
    return (
        np.ndim(values) == 1
        and pd.api.types.infer_dtype(values, skipna=True) == "string"
    )


def _listed(names: Sequence[str]) -> str:
    """The first names between commas, and how many more there are."""
    text = ", ".join(f"`{name}`" for name in names[:MAX_NAMED])
    left = len(names) - MAX_NAMED
    return f"{text} and {left} more" if left > 0 else text
