"""The columns of any array-like value as numpy arrays, and the wrappers that set types.

The wrappers are `Continuous`, `Discrete` and `Angle`. Tables and columns of polars,
pyarrow and other libraries become pandas objects without an index of their own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from scipy import sparse

from infoscope.checks import require_number
from infoscope.errors import (
    Conflict,
    InvalidInput,
    MissingValues,
    OutOfRange,
    WrongLength,
    WrongShape,
    WrongType,
)
from infoscope.estimators.guesses import (
    AS_CATEGORIES,
    AS_NUMBERS,
    HOW_DATES_BECOME_NUMBERS,
    MAX_SHOWN,
    TIMES,
    require_names,
    require_no_dates,
    unreadable_texts,
)
from infoscope.estimators.variables import factorise

# squares of larger numbers overflow in float64, squares of spans below 1 / _LARGEST
# underflow
_LARGEST = 1e150
_MAX_DENSE = 50_000_000  # numbers of a sparse matrix that is made dense
# equal labels of these types become one label of a Python type
_NUMPY_LABELS = (np.str_, np.bytes_, np.bool_, np.integer, np.floating)
# types of the items of a plain list of values
_PLAIN_ITEMS = (str, bytes, int, float, bool, np.generic)
_Column = np.ndarray | pd.Categorical


@dataclass(frozen=True, eq=False)
class Continuous:
    """Every column of `values` is a number; ties are allowed.

    Parameters
    ----------
    values : array_like [n] or [n, d]
    """

    values: Any


@dataclass(frozen=True, eq=False)
class Discrete:
    """Every column of `values` is a category, without order or distance.

    Parameters
    ----------
    values : array_like [n] or [n, d]
    """

    values: Any


@dataclass(frozen=True, eq=False)
class Angle:
    """Angles, as cosine and sine.

    Parameters
    ----------
    values : array_like [n] or [n, d]
    period : float
        360 for degrees, 24 for hours.

    Raises
    ------
    OutOfRange
        A period that is not above 0.

    Examples
    --------
    >>> cosine, sine = Angle([0, 6, 12], 24).on_circle("hour")
    >>> cosine.round(3).tolist()
    [1.0, 0.0, -1.0]
    """

    values: Any
    period: float

    def __post_init__(self) -> None:
        require_number("period", self.period, ends=False)

    def on_circle(self, name: str) -> list[np.ndarray]:
        """Cosine and sine [n] of every column."""
        parts = []
        for column in bare_columns(name, self.values):
            is_present = ~pd.isna(column)
            radians = np.full(len(column), np.nan)
            angles = as_numbers(name, column[is_present])
            radians[is_present] = 2 * np.pi / self.period * angles
            parts += [np.cos(radians), np.sin(radians)]
        return parts


def columns_in_words(places: Sequence[str]) -> str:
    """The columns at these places as the subject of a sentence, with its verb."""
    if len(places) == 1:
        return f"column {places[0]} has"
    more = ", ..." if len(places) > MAX_SHOWN else ""
    return f"{len(places)} columns ({', '.join(places[:MAX_SHOWN])}{more}) have"


def as_codes(name: str, value: Any) -> np.ndarray:
    """Codes 0..m-1 [n] of one column of categories, [n] or [n, 1].

    ValueError: several columns, or missing values.
    """
    parts = bare_columns(name, value)
    if len(parts) != 1:
        raise InvalidInput(
            f"{name} must be one column of categories, got {len(parts)} columns."
        )
    return factorise(categorical(name, parts[0]))[0]


def single_columns(name: str, value: Any) -> list[Any]:
    """Every column of `value`, in its wrapper if it had one."""
    parts = []
    for wrapper, column, is_wrapped in columns(name, value):
        parts.append(wrapper(column) if is_wrapped else column)
    return parts


def tables(value: Any) -> list[pd.DataFrame | pd.Series]:
    """The pandas data frames and Series in a value."""
    parts: list[Any] = []
    apply_to_values(value, parts.append)
    return [part for part in parts if isinstance(part, (pd.DataFrame, pd.Series))]


def as_pandas(name: str, value: Any, index: pd.Index | None = None) -> Any:
    """A table or column of polars, pyarrow or another library as a pandas object.

    It gets `index` if the lengths agree. Other values are unchanged. WrongType: a lazy
    table; Conflict: columns of one name.
    """
    if isinstance(
        value, (list, tuple, np.ndarray, pd.DataFrame, pd.Series, *_PLAIN_ITEMS)
    ):
        return value
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow and isinstance(value, pyarrow.RecordBatch):
        value = pyarrow.Table.from_batches([value])
    elif pyarrow and isinstance(value, pyarrow.Array):
        value = pyarrow.chunked_array([value])
    try:
        table = nw.from_native(value, pass_through=True, allow_series=True)
    except nw.exceptions.DuplicateError:
        raise Conflict(
            f"{name} must have columns of different names, got {value.column_names}."
        ) from None
    if isinstance(table, nw.LazyFrame):
        raise WrongType(f"{name} must hold values, got a lazy table: collect it first.")
    if not isinstance(table, (nw.DataFrame, nw.Series)):
        return value
    if index is None or len(index) != len(table):
        index = pd.RangeIndex(len(table))
    if isinstance(table, nw.Series):
        return _series(table, index).rename(table.name or None)
    columns = {}
    for place, column in enumerate(table.iter_columns()):
        columns[place] = _series(column, index)
    return pd.DataFrame(columns, index).set_axis(table.columns, axis=1)


def _series(column: nw.Series, index: pd.Index) -> pd.Series:
    """The column as a pandas Series, with NaN for missing numbers.

    Categories stay categories.
    """
    if column.dtype in (nw.Categorical, nw.Enum):
        return pd.Series(pd.Categorical(column.to_list()), index)
    is_too_long = column.dtype in (nw.Int128, nw.UInt128)
    if column.dtype.is_numeric() and not is_too_long:
        return pd.Series(column.to_numpy(), index)
    return pd.Series(column.to_list(), index)


def apply_to_values(value: Any, change: Callable[[Any], Any]) -> Any:
    """The value with `change` applied to it, or to each part of a wrapper, list, mapping."""
    if _has_parts(value):
        return [apply_to_values(part, change) for part in value]
    if isinstance(value, (Continuous, Discrete, Angle)):
        return replace(value, values=apply_to_values(value.values, change))
    # a sparse matrix of keys is a dict
    if isinstance(value, Mapping) and not sparse.issparse(value):
        return {name: apply_to_values(part, change) for name, part in value.items()}
    return change(value)


def _has_parts(value: Any) -> bool:
    """Whether a value is a list of blocks, rather than one of numbers or texts."""
    return (
        isinstance(value, (list, tuple))
        and len(value) > 0
        and not isinstance(value[0], _PLAIN_ITEMS)
    )


def columns(name: str, value: Any) -> list[tuple[type, _Column, bool]]:
    """Type, values [n], and whether it was wrapped, of every column.

    The type is Continuous, Discrete or int; the values decide on the type of int.
    """
    wrappers = (Continuous, Discrete, Angle)
    is_list = isinstance(value, (list, tuple))
    typed = []
    if is_list and any(isinstance(block, wrappers) for block in value):
        for block in value:
            typed += columns(name, block)
        return typed
    if isinstance(value, Angle):
        return [(Continuous, column, True) for column in value.on_circle(name)]
    if isinstance(value, (Continuous, Discrete)):
        parts = bare_columns(name, value.values)
        return [(type(value), column, True) for column in parts]
    parts = bare_columns(name, value)
    names = column_names(value, len(parts))
    for place, column in zip(names, parts):
        typed.append((_inferred(name, column, place), column, False))
    return typed


def column_names(value: Any, count: int) -> list[str]:
    """The quoted names of the columns of a value, or their numbers, for messages."""
    names: list[str] = []
    for block in value if _has_parts(value) else [value]:
        columns_per_label = 2 if isinstance(block, Angle) else 1
        for table in tables(block):
            if isinstance(table, pd.DataFrame):
                labels = list(table.columns)
            else:
                labels = [] if table.name is None else [table.name]
            for label in labels:
                names += [repr(label)] * columns_per_label
    return names if len(names) == count else list(map(str, range(count)))


def require_values(name: str, value: Any) -> None:
    """Raises WrongType for a tensor on the meta device, which has a shape only."""
    if getattr(value, "is_meta", False) is True:
        raise WrongType(
            f"{name} must hold values, got a tensor on the meta device, which has none."
        )


def bare_columns(name: str, value: Any) -> list[_Column]:
    """Every column [n] of an untyped array-like of one or two axes.

    ValueError: another shape, or a mask.
    """
    value = as_pandas(name, value)
    if isinstance(value, pd.DataFrame):
        parts = []
        for place in range(value.shape[1]):
            parts += bare_columns(name, value.iloc[:, place])
        return parts
    if isinstance(getattr(value, "dtype", None), pd.CategoricalDtype):
        return [pd.Categorical(value)]
    if sparse.issparse(value):
        if np.prod(value.shape, dtype=float) > _MAX_DENSE:
            raise WrongShape(
                f"{name} must have at most {_MAX_DENSE:,} numbers if sparse, got "
                f"shape {value.shape}."
            )
        value = value.toarray()
    # importing torch takes seconds; without it there is no tensor
    torch = sys.modules.get("torch")
    if torch and isinstance(value, torch.Tensor):
        require_values(name, value)
        value = value.detach().cpu()
        if value.is_floating_point():
            value = value.double()
        value = value.resolve_conj().resolve_neg().numpy()
    require_unmasked(name, value)
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:  # rows of different lengths
        raise WrongShape(
            f"{name} must be an array [n] or [n, d], but: {error}."
        ) from None
    # numpy turns the numbers and NaN of a mixed list into strings
    if isinstance(value, (list, tuple)) and array.dtype.kind in "US":
        array = np.array(value, dtype=object)
    is_object_column = array.dtype.kind == "O" and array.ndim == 1 and array.size > 0
    if is_object_column and all(
        isinstance(row, (list, tuple, np.ndarray)) for row in array
    ):
        lengths = sorted({len(row) for row in array})
        if len(lengths) != 1:
            raise WrongShape(
                f"{name} must hold vectors of one length, got a column of lists of "
                f"lengths {lengths[:5]}."
            )
        array = np.stack(list(array))
    if array.ndim not in (1, 2):
        advice = "."
        if array.ndim > 2:
            advice = ": encode the images, or reshape to [n, -1]."
        raise WrongShape(
            f"{name} must be [n] or [n, d], got shape {array.shape}{advice}"
        )
    if array.ndim == 1:
        return [array]
    if array.shape[1] == 0:
        raise WrongShape(
            f"{name} must have at least one column, got shape {array.shape}."
        )
    return list(array.T)


def require_present(name: str, column: _Column, place: str) -> None:
    """MissingValues for a column [n] with missing values.

    `place` is the column's name in the message.
    """
    missing = int(np.sum(pd.isna(column)))
    if missing:
        raise MissingValues(
            f"{name} must have no missing values, got {missing:,} of {len(column):,} "
            f"in column {place}: leave these "
            "rows out, for example with dropna()."
        )


def require_unmasked(name: str, value: Any) -> None:
    """ValueError for a masked array, or a list of them, that hides values.

    numpy drops masks without a warning.
    """
    parts = value if isinstance(value, (list, tuple)) else [value]
    masked = 0
    for part in parts:
        if isinstance(part, np.ma.MaskedArray):
            masked += int(np.ma.getmaskarray(part).sum())
    if masked:
        total = sum(map(np.size, parts))
        raise MissingValues(
            f"{name} must have no missing values, got {masked:,} masked of {total:,}."
        )


def _inferred(name: str, column: _Column, place: str) -> type:
    """Continuous, Discrete or int, from the column's type.

    `place` is the column's name in errors. Floats with two values are int too: pandas
    stores a flag with missing values as floats.
    """
    if isinstance(column, pd.Categorical):
        return Discrete
    letter = column.dtype.kind
    if letter == "f":
        return int if pd.Series(column).nunique() == 2 else Continuous
    if letter == "b":
        return Discrete
    if letter in "iu":
        return int
    if letter in "US":
        kind = "string"
    else:
        require_no_dates(name, column, place)
        kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind in ("string", "bytes"):
        require_names(name, column, place)
    if kind in ("floating", "mixed-integer-float", "decimal"):
        return Continuous
    if kind in ("string", "boolean", "bytes"):
        return Discrete
    if kind == "integer":
        return int
    _require_real(name, column)
    raise WrongType(
        f"{name} must hold numbers or categories, got a column of {kind}; "
        f"{AS_NUMBERS}, or {AS_CATEGORIES}."
    )


def _require_real(name: str, column: _Column) -> None:
    if np.iscomplexobj(column) or any(isinstance(value, complex) for value in column):
        raise WrongType(
            f"{name} must be real, got complex numbers: give real and imaginary part "
            "as two columns."
        )


def as_floats(name: str, column: _Column) -> np.ndarray:
    """The column as float64 [n].

    ValueError: strings (even of digits), dates, complex numbers and other values.
    """
    values = np.asarray(column)
    kind = pd.api.types.infer_dtype(values) if values.dtype.kind in "OUSMm" else ""
    message = f"{name} must be numbers to be continuous, got a column of {kind}"
    if kind in TIMES:
        raise WrongType(
            f"{message}: turn them into numbers, {HOW_DATES_BECOME_NUMBERS}."
        )
    if values.dtype.kind in "US" or (
        kind and any(isinstance(value, (str, bytes)) for value in values)
    ):
        raise WrongType(f"{message}{unreadable_texts(values)}.")
    if values.dtype.kind in "cO":
        _require_real(name, values)
    missing = int(pd.isna(values).sum()) if values.dtype.kind == "O" else 0
    if missing:
        raise MissingValues(
            f"{name} must have no missing values, got {missing:,} of {len(values):,}."
        )
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise WrongType(
            f"{name} must be numbers to be continuous, got {values.dtype}: {error}."
        ) from None


def as_matrix(name: str, value: Any) -> np.ndarray:
    """Numbers [n] or [n, d] as float64 [n, d], checked like a variable.

    Constant columns stay. InfoscopeError for other values.
    """
    is_array = isinstance(value, np.ndarray) and not np.ma.isMaskedArray(value)
    if is_array and value.dtype.kind == "f" and value.ndim == 2:
        matrix = value.astype(np.float64, copy=False)
    else:
        parts = [as_floats(name, column) for column in bare_columns(name, value)]
        lengths = sorted(map(len, parts))
        if len(set(lengths)) != 1:
            raise WrongLength(f"{name} must have columns of one length, got {lengths}.")
        matrix = np.column_stack(parts)
    if not matrix.size:
        raise WrongShape(
            f"{name} must be [n] or [n, d] with at least one row and column, got "
            f"shape {matrix.shape}."
        )
    return _require_measurable(name, matrix)


def as_numbers(name: str, column: _Column) -> np.ndarray:
    """The column as numbers float64 [n]: see `_require_measurable`."""
    return _require_measurable(name, as_floats(name, column))


def _require_measurable(name: str, numbers: np.ndarray) -> np.ndarray:
    """The numbers [n] or [n, d], after checks.

    InfoscopeError: infinite values, or a variance that float64 cannot represent.
    """
    not_finite = int((~np.isfinite(numbers)).sum())
    if not_finite:
        raise MissingValues(
            f"{name} must be finite, got {not_finite:,} NaN or infinite values."
        )
    largest = np.abs(numbers).max(axis=0, initial=0.0)
    high = numbers.max(axis=0, initial=-_LARGEST)
    low = numbers.min(axis=0, initial=_LARGEST)
    spans = 2 * (high / 2 - low / 2)
    is_too_small = (spans > 0) & (spans < 1 / _LARGEST)
    wrong = np.flatnonzero((largest > _LARGEST) | is_too_small)
    if len(wrong):
        place = wrong[0]
        raise OutOfRange(
            f"{name} must be of a size between {1 / _LARGEST:g} and {_LARGEST:g}, got "
            "a column up to "
            f"{np.ravel(largest)[place]:g} with a range of "
            f"{np.ravel(spans)[place]:g}: choose another unit."
        )
    return numbers


def categorical(name: str, column: _Column) -> np.ndarray:
    """The categories of a column, in values that can be sorted.

    Values of mixed types become strings that begin with their type. MissingValues.
    """
    missing = int(pd.isna(column).sum())
    if missing:
        raise MissingValues(
            f"{name} must have no missing categories, got {missing} of {len(column)}."
        )
    if isinstance(column, pd.Categorical):
        return column.codes
    if column.dtype.kind != "O":
        return column
    labels = []
    for label in column:
        labels.append(label.item() if isinstance(label, _NUMPY_LABELS) else label)
    if len(set(map(type, labels))) > 1:
        return np.array([f"{type(label).__name__}:{label}" for label in labels])
    return column
