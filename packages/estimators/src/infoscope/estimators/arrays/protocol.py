"""Protocol of estimators on two arrays: any object with a `name` and `estimate(pairs, generator)`; see `Described`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from infoscope.checks import nearest, require_int
from infoscope.errors import NoVariation, TooFew, UnknownName, WrongType
from infoscope.estimators.derived import without_combinations
from infoscope.estimators.result import Estimate
from infoscope.estimators.variables import Variable, as_variables, of_kept
from infoscope.notes import Note

NUMBERS = "numbers"  # in x and in y
CATEGORIES = "categories"  # in x and in y
LABELS = "labels"  # x or y of categories alone, anything in the other
NUMBERS_OR_LABELS = "numbers or labels"  # numbers against numbers, or against categories alone
ANY = "anything"
TAKES = {
    NUMBERS: "numbers in x and in y",
    NUMBERS_OR_LABELS: "numbers in x and y, or categories in one of them",
    CATEGORIES: "categories in x and in y",
    LABELS: "categories in x or in y",
    ANY: "numbers, categories or both in x and in y",
}
_MIN_FOLD_ROWS = 20  # rows per fold


@dataclass(frozen=True, eq=False)
class Pairs:
    """A checked sample: x and y, `groups` codes int64 [n] of dependent rows (None: every row is its own), `notes`."""

    x: Variable
    y: Variable
    groups: np.ndarray | None = None
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        return self.x.n

    @cached_property
    def units(self) -> np.ndarray:
        """Codes int64 [n] of units that are never split: the groups, or the rows."""
        return np.arange(self.n) if self.groups is None else self.groups

    def take(self, rows: np.ndarray) -> Pairs:
        """Some of the rows (indices)."""
        return replace(self, x=self.x.take(rows), y=self.y.take(rows), groups=of_kept(self.groups, rows))

    def folds(self, count: int, generator: np.random.Generator) -> np.ndarray:
        """A fold 0..count-1 for every row, whole units of equal sizes. TooFew: units, or rows (20 a fold)."""
        sizes = np.bincount(self.units)
        if len(sizes) < require_int("folds", count, 2) or self.n < _MIN_FOLD_ROWS * count:
            required, got = ("", "") if self.groups is None else (f" in {count} groups", f" in {len(sizes)}")
            raise TooFew(
                f"x and y must have at least {_MIN_FOLD_ROWS * count} rows{required} for {count} folds, "
                f"got {self.n} rows{got}."
            )
        order = generator.permutation(len(sizes))
        order = order[np.argsort(-sizes[order], kind="stable")]
        of_unit, filled = np.empty(len(sizes), np.intp), np.zeros(count)
        if sizes.max() == 1:
            of_unit[order] = np.arange(len(sizes)) % count
        else:
            for unit in order:  # the largest first, each to the fold that has least
                of_unit[unit] = filled.argmin()
                filled[of_unit[unit]] += sizes[unit]
        return of_unit[self.units]


def as_pairs(x: Any, y: Any, groups: ArrayLike | None = None, drop_missing: bool = False) -> Pairs:
    """x and y as a checked sample; accepted inputs and errors as in `estimate`.

    Rows with missing values are refused, or left out and counted in a note. Exact linear combinations of columns are
    left out, with a note.
    """
    variables, codes = as_variables(groups, drop_missing, x=x, y=y)
    variables = {name: without_combinations(name, variable) for name, variable in variables.items()}
    left, right = variables.values()
    for name, variable in variables.items():
        if not variable.dim and variable.categories == 1:
            raise NoVariation(f"{name} must have more than one category, got one in all {variable.n} rows.")
    notes = tuple(dict.fromkeys(left.notes + right.notes))
    left, right = replace(left, notes=()), replace(right, notes=())
    if codes is not None and codes.max() + 1 == left.n:
        note = Note(f"Each of the {left.n:,} groups is one row: groups are ignored.", "groups of one row", "groups")
        return Pairs(left, right, None, (*notes, note))
    return Pairs(left, right, codes, notes)


@runtime_checkable
class Method(Protocol):
    """An estimator of the mutual information of pairs."""

    @property
    def name(self) -> str:
        """Its name in results."""
        ...

    def estimate(self, pairs: Pairs, generator: np.random.Generator) -> Estimate:
        """I(x; y), nats, with its error. ValueError in one sentence where it cannot be used on these pairs."""
        ...


def takes_kinds(takes: str, x: str, y: str) -> bool:
    """Whether what a method takes, one of `TAKES`, includes variables of these kinds (`Variable.kind`)."""
    kinds = [x, y]
    return {
        NUMBERS: kinds == ["continuous"] * 2,
        CATEGORIES: kinds == ["discrete"] * 2,
        NUMBERS_OR_LABELS: "continuous" in kinds and "mixed" not in kinds,
        LABELS: "discrete" in kinds,
        ANY: True,
    }[takes]


@dataclass(frozen=True)
class Described:
    """Base of infoscope's methods: frozen settings and an entry in the list of methods.

    takes   one of TAKES
    limit   at infinite n: "I" (consistent), "lower bound", "upper bound" or a condition, in words
    cost    growth of time, and seconds at n = 5,000 with 20 + 20 columns
    least   smallest values of settings that are whole numbers; 1 by default
    """

    name: ClassVar[str]
    takes: ClassVar[str]
    limit: ClassVar[str]
    cost: ClassVar[str]
    source: ClassVar[str]
    least: ClassVar[Mapping[str, int]] = {}

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type == "int" or (field.type == "int | None" and value is not None):
                require_int(field.name, value, self.least.get(field.name, 1))

    def with_settings(self, settings: Mapping[str, Any]) -> Described:
        """The same with some settings changed. ValueError for a setting that it does not have."""
        own = [field.name for field in fields(self)]
        for name in settings:
            if name not in own:
                start = f"{self.name} must be given settings among {', '.join(own) or 'none'}, got {name!r}"
                raise UnknownName(f"{start}{nearest(name, own)}")
        return replace(self, **settings)

    def require(self, pairs: Pairs) -> None:
        """ValueError where it does not take pairs of these types."""
        kinds = pairs.x.kind, pairs.y.kind
        if not takes_kinds(self.takes, *kinds):
            raise WrongType(
                f"method must fit the types of x and y: {self.name} takes {TAKES[self.takes]}, "
                f"got a {kinds[0]} x and a {kinds[1]} y; methods() lists what each takes."
            )
