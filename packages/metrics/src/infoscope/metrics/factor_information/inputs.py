"""Checked inputs of the disentanglement scores: factors, representations as arrays or
draws, categorical latents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from infoscope.checks import require_int
from infoscope.errors import (
    NoVariation,
    OutOfRange,
    TooFew,
    WrongLength,
    WrongShape,
    WrongType,
)
from infoscope.estimators.column_types import as_variable
from infoscope.estimators.columns import (
    Continuous,
    Discrete,
    as_matrix,
    categorical,
    columns,
)
from infoscope.estimators.variables import joint_codes

Codes = NDArray[np.int64]

Values = NDArray[np.float64]
Mask = NDArray[np.bool_]

# of about equally many rows, into which numbers are cut where classes are needed
MAX_PARTS = 10
NUMBERS_AT_ONCE = 1 << 20  # float64 values of a representation held at a time: 8 MiB
CODING = (
    "Code other labels column by column with numpy.unique(labels, "
    "return_inverse=True)[1]."
)
NUMBERS = (
    "SAP, DCI, InfoE and factor_information.from_arrays with method 'knn' take numbers."
)

Draws = Callable[[Codes], Any]
"""Item indices [m] -> one draw of each item's representation [m, L]; a repeated item is drawn again."""


@dataclass(frozen=True, eq=False)
class Factors:
    """K factors of N items: codes [N, K], from 0 in order of the values; values [N, K];
    numbers [K], which are numbers.

    order [K, N]: items sorted by value; place [K, N]: their ranks; first, alike [K, N]:
    the rank of the first item with the same value, and the number of such items.
    """

    names: tuple[str, ...]
    codes: Codes
    order: Codes
    place: Codes
    first: Codes
    alike: Codes
    numbers: Mask
    values: Values

    @property
    def n(self) -> int:
        return len(self.codes)

    @property
    def count(self) -> int:
        return self.codes.shape[1]

    @property
    def surprisal(self) -> Values:
        """-log of the frequency of each item's value [N, K], nats, whose mean is the
        entropy; NaN for numbers.
        """
        return np.where(self.numbers, np.nan, np.log(self.n / self.alike.T))

    def variable(self, k: int) -> Continuous | Discrete:
        """One factor as `Continuous` or `Discrete`."""
        if self.numbers[k]:
            return Continuous(self.values[:, k])
        return Discrete(self.codes[:, k])

    @property
    def as_classes(self) -> Factors:
        """The same factors, numbers cut into parts of about equally many items."""
        codes = self.codes.copy()
        for k in np.flatnonzero(self.numbers):
            codes[:, k] = parts_of(self.values[:, [k]])
        return as_factors(codes, self.names)

    def take(self, rows: Codes) -> Factors:
        """The factors of some items. ValueError for a factor with one value among them."""
        selected = []
        for k in range(self.count):
            variable = self.variable(k)
            selected.append(type(variable)(variable.values[rows]))
        return as_factors(selected, self.names, numbers=True)

    def require_items(self, least: int, why: str) -> None:
        """ValueError if a value of a factor has fewer items."""
        for name, alike, number in zip(self.names, self.alike, self.numbers):
            if not number and alike.min() < least:
                raise TooFew(
                    f"factors must have at least {least} items of every value (for "
                    f"{why}), got {alike.min()} of a "
                    f"value of {name}; merge or drop rare values."
                )


def as_factors(
    factors: Any,
    names: Sequence[str] | None = None,
    least: int = 1,
    numbers: bool = False,
) -> Factors:
    """Factors of an array [N, K] or [N] (integers are classes, floats numbers), a data
    frame or a list of `Continuous` and `Discrete` blocks.

    ValueError for other types, numbers where not allowed, a factor of one value, fewer
    than `least` factors, a wrong number of names.
    """
    typed = _typed_columns(factors, least)
    count = len(typed)
    if names is not None:
        names = tuple(names)
    elif isinstance(factors, pd.DataFrame):
        names = tuple(map(str, factors.columns))
    else:
        names = tuple(f"factor {k}" for k in range(count))
    if len(set(names)) != count:
        raise WrongLength(
            f"factor_names must be {count} different names, one for each factor, got "
            f"{list(names)}."
        )
    are_numbers = np.array([kind is Continuous for kind, _ in typed])
    if are_numbers.any() and not numbers:
        columns_of_numbers = ", ".join(np.array(names)[are_numbers])
        raise WrongType(
            "factors must be classes for this score, got numbers for "
            f"{columns_of_numbers}: give classes as integers, "
            f"or bin the numbers. {NUMBERS}"
        )
    codes = []
    values = []
    for kind, column in typed:
        if kind is Continuous:
            checked = as_variable("factors", Continuous(column)).continuous[:, 0]
        else:
            checked = categorical("factors", column)
        code = np.unique(checked, return_inverse=True)[1]
        codes.append(code)
        values.append(checked if kind is Continuous else code)
    codes = np.stack(codes, axis=1).astype(np.int64)
    largest = codes.max(axis=0)
    if largest.min() < 1:
        raise NoVariation(
            "factors must take at least two values each, but "
            f"{names[largest.argmin()]} has one; leave it out."
        )
    order = np.argsort(codes.T, axis=1, kind="stable")
    place = np.argsort(order, axis=1)
    alike = []
    first = []
    for code in codes.T:
        counts = np.bincount(code)
        starts = np.cumsum(np.r_[0, counts])
        alike.append(counts[code])
        first.append(starts[code])
    values = np.stack(values, axis=1).astype(np.float64)
    return Factors(
        names,
        codes,
        order,
        place,
        np.stack(first),
        np.stack(alike),
        are_numbers,
        values,
    )


def _typed_columns(factors: Any, least: int) -> list[tuple[type, Any]]:
    """The type (`Continuous` or `Discrete`) and the values [N] of each factor; see
    `as_factors`.
    """
    if factors is None:
        raise WrongType(
            "factors must be integers [items, factors], got None, which is valid only "
            "with a FactorInformation."
        )
    blocks = factors if isinstance(factors, list | tuple) else (factors,)
    if any(isinstance(block, Continuous | Discrete | pd.DataFrame) for block in blocks):
        typed = columns("factors", factors)
        values = np.empty((len(typed[0][1]), len(typed)))
    else:
        detach = getattr(factors, "detach", None)
        values = detach().cpu().numpy() if detach else np.asarray(factors)
        typed = None
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or values.shape[0] < 2 or values.shape[1] < least:
        raise WrongShape(
            "factors must be integers [items, factors] with at least 2 items and "
            f"{least} factors, got "
            f"{values.dtype} {list(values.shape)}."
        )
    if typed is None:
        if values.dtype.kind in "iub":
            return [(Discrete, column) for column in values.T]
        if values.dtype.kind != "f":
            raise WrongType(
                f"factors must be integers [items, factors], got {values.dtype}. "
                f"{CODING}"
            )
        typed = columns("factors", values)
    return [(kind, column) for kind, column, _ in typed]


def parts_of(numbers: Values) -> Codes:
    """Codes [n] of at most ten parts of numbers [n, d]: 10 of one column, 3 x 3, 2 x 2
    x 2; one part beyond.
    """
    columns = numbers.T
    parts = int(MAX_PARTS ** (1 / len(columns)))
    codes = joint_codes([_cut(column, parts) for column in columns])[0]
    assert codes is not None
    return codes


def _cut(numbers: Values, most: int) -> Codes:
    """Codes [n] of at most so many ordered parts of numbers [n] of about equal size;
    equal numbers share a part.
    """
    _, codes, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    if len(counts) <= most:
        return codes
    twice_middle = 2 * np.cumsum(counts) - counts  # whole numbers, which do not round
    part = twice_middle * most // (2 * len(numbers))
    return np.unique(part, return_inverse=True)[1][codes]


def as_array(representation: Any, n: int, least: int = 1) -> Values:
    """A representation as finite numbers [N, L]; ValueError unless it is, with N = n
    and at least `least` latents.
    """
    if callable(representation) or not hasattr(representation, "__len__"):
        raise WrongType(
            "representation must be an array [items, columns] for this score, got "
            f"{type(representation).__name__}; "
            "draw or average it first."
        )
    return _checked_codes(representation, n, least)


def as_draws(
    representation: Any, n: int, generator: np.random.Generator
) -> tuple[Draws, int, str]:
    """A function that draws each item's representation (array, callable or `draw`
    method), its number of latents, and a description.
    """
    if not hasattr(representation, "draw") and not callable(representation):
        rows = as_array(representation, n)
        return rows.__getitem__, rows.shape[1], "one row for each item"
    draw = representation
    description = "fresh draws"
    if hasattr(representation, "draw"):
        require_rows(representation, n)
        description = "posterior draws"

        def draw(items: Codes) -> Any:
            return representation.draw(items, generator)

    first = np.arange(min(n, 2))
    latents = _checked_codes(draw(first), len(first)).shape[1]

    def checked_draw(items: Codes) -> Values:
        return _checked_codes(draw(items), len(items), latents)

    return checked_draw, latents, description


def require_rows(posterior: Any, n: int) -> None:
    """ValueError unless a posterior has n items."""
    if posterior.n != n:
        raise WrongLength(
            f"representation must have a row for each of the {n} items, got "
            f"{posterior.n} rows."
        )


def _checked_codes(values: Any, n: int, least: int = 1) -> Values:
    """Finite numbers [n, L]; ValueError otherwise."""
    array = as_matrix("representation", values)
    if len(array) != n or array.shape[1] < least or np.ndim(values) == 1:
        shape = list(array.shape)
        raise WrongShape(
            f"representation must be numbers [{n} items, at least {least} columns], "
            f"got {shape}."
        )
    return array


def varies(deviation: Values, size: Values) -> Mask:
    """Whether a column of this standard deviation and largest absolute value varies by
    more than rounding.
    """
    return deviation > 1e-12 * size


def categorical_mask(
    categorical: Sequence[int], latents: int, representation: Any = None
) -> Mask:
    """Mask [L] of categorical latents: by these indices, and of a posterior.
    ValueError: other indices.
    """
    mask = np.zeros(latents, bool)
    for latent in [*categorical, *categorical_latents(representation)]:
        if latent not in range(latents):
            raise OutOfRange(
                f"categorical must be indices of latents from 0 to {latents - 1}, got "
                f"{latent!r}."
            )
        mask[latent] = True
    return mask


def _blocks_of(posterior: Any) -> Sequence[Any]:
    """The parts of a product posterior, in the order of their latents; any other
    posterior alone.
    """
    return getattr(posterior, "parts", (posterior,))


def categorical_latents(representation: Any) -> list[int]:
    """Indices of the latents of a posterior that are categories; none for other
    representations.
    """
    if not hasattr(representation, "draw"):
        return []
    mask = []
    for block in _blocks_of(representation):
        mask += [hasattr(block, "probability")] * len(block.latents)
    return np.flatnonzero(mask).tolist()


def typical_codes(posterior: Any) -> Values:
    """The posterior means [N, L]; for categories the most probable one."""
    columns = []
    for block in _blocks_of(posterior):
        if hasattr(block, "probability"):
            category = block.probability.argmax(axis=1)
            columns.append(category.astype(np.float64)[:, None])
        elif hasattr(block, "mixing"):  # of an attack
            mean = block.base.mean
            columns.append(
                block.mixed(mean, np.zeros_like(mean), block.alpha, block.mixing)
            )
        else:
            columns.append(block.mean)
    return np.hstack(columns)


def random_items(n: int, most: int | None, generator: np.random.Generator) -> Codes:
    """All n item indices in random order, or `most` of them."""
    order = generator.permutation(n)
    if most is None:
        return order
    return order[: require_int("items", most, 2)]
