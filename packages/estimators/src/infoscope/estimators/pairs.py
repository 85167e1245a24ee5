"""Pairs: the checked sample of x and y that every estimator takes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from infoscope.checks import require_int
from infoscope.errors import NoVariation, TooFew
from infoscope.estimators.column_types import as_variables
from infoscope.estimators.derived import without_combinations
from infoscope.estimators.variables import Variable, of_kept
from infoscope.notes import Note

MIN_FOLD_ROWS = 20  # rows per fold


@dataclass(frozen=True, eq=False)
class Pairs:
    """A checked sample of x and y.

    groups  codes int64 [n] of dependent rows; None: rows are independent
    notes   changes of the values
    """

    x: Variable
    y: Variable
    groups: np.ndarray | None = None
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.x.n

    @cached_property
    def units(self) -> np.ndarray:
        """Codes int64 [n] of units that are never split: the groups, or the rows."""
        return np.arange(self.n) if self.groups is None else self.groups

    def take(self, rows: np.ndarray) -> Pairs:
        """Some of the rows (indices)."""
        groups = of_kept(self.groups, rows)
        return replace(self, x=self.x.take(rows), y=self.y.take(rows), groups=groups)

    def folds(self, count: int, generator: np.random.Generator) -> np.ndarray:
        """A fold 0..count-1 for every row; folds have whole units and similar sizes.

        TooFew: fewer units than folds, or fewer than 20 rows a fold.
        """
        sizes = np.bincount(self.units)
        min_rows = MIN_FOLD_ROWS * count
        if len(sizes) < require_int("folds", count, 2) or self.n < min_rows:
            required = got = ""
            if self.groups is not None:
                required = f" in {count} groups"
                got = f" in {len(sizes)}"
            raise TooFew(
                f"x and y must have at least {min_rows} rows{required} for {count} "
                f"folds, got {self.n} rows{got}."
            )
        order = generator.permutation(len(sizes))
        order = order[np.argsort(-sizes[order], kind="stable")]
        fold_of_unit = np.empty(len(sizes), np.intp)
        if sizes.max() == 1:
            fold_of_unit[order] = np.arange(len(sizes)) % count
        else:
            fold_sizes = np.zeros(count)
            for unit in order:  # the largest first, each to the smallest fold
                fold = fold_sizes.argmin()
                fold_of_unit[unit] = fold
                fold_sizes[fold] += sizes[unit]
        return fold_of_unit[self.units]


def as_pairs(
    x: Any, y: Any, groups: ArrayLike | None = None, drop_missing: bool = False
) -> Pairs:
    """x and y as a checked sample; accepted inputs and errors as in `estimate`.

    Rows with missing values are refused, or left out and counted in a note. Exact
    linear combinations of columns are left out, with a note.
    """
    variables, codes = as_variables(groups, drop_missing, x=x, y=y)
    for name, variable in variables.items():
        variables[name] = without_combinations(name, variable)
    for name, variable in variables.items():
        if not variable.dim and variable.categories == 1:
            raise NoVariation(
                f"{name} must have more than one category, got one in all "
                f"{variable.n} rows."
            )
    x, y = variables.values()
    notes = tuple(dict.fromkeys(x.notes + y.notes))
    if codes is not None and codes.max() + 1 == x.n:
        note = Note(
            f"Each of the {x.n:,} groups is one row: groups are ignored.",
            "groups of one row",
            "groups",
        )
        notes = (*notes, note)
        codes = None
    return Pairs(replace(x, notes=()), replace(y, notes=()), codes, notes)
