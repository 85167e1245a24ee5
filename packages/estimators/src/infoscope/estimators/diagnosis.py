"""Properties of a sample that may mislead: copies of rows, series, derived columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import ArrayLike

from infoscope.estimators.derived import without_functions
from infoscope.estimators.pairs import Pairs, as_pairs
from infoscope.estimators.serial import SerialDependence, serial_dependence
from infoscope.estimators.variables import copies
from infoscope.notebook import InNotebook
from infoscope.notes import Note


@dataclass(frozen=True, eq=False)
class Diagnosis(InNotebook):
    """Copies and series in a sample; printed as one sentence per line.

    Parameters
    ----------
    pairs : Pairs
        The checked sample without derived columns, with copies of a row as one group,
        and with notes.
    duplicates : int
        Rows that are copies of an earlier one; 0 where groups are given.
    serial : SerialDependence, optional
        Dependence of successive rows; None if not detected, or if groups are given.
    """

    pairs: Pairs
    duplicates: int
    serial: SerialDependence | None

    def __str__(self) -> str:
        return "\n".join(self.pairs.notes) or "No sign that the rows are dependent."


def diagnose(x: Any, y: Any, groups: ArrayLike | None = None) -> Diagnosis:
    """Copies of rows, rows in series, column types and derived columns.

    Columns that other columns of the same variable determine are left out
    (`derived.without_functions`). A row and its copies (`variables.copies`) become one
    group. The test for series is `serial.serial_dependence`.

    Parameters
    ----------
    x, y : array_like [n] or [n, d]
        As in `estimate`.
    groups : array_like [n], optional
        Labels of dependent rows.

    Returns
    -------
    Diagnosis

    Raises
    ------
    InfoscopeError
        As `estimate`.

    Examples
    --------
    >>> import numpy as np
    >>> print(diagnose(*np.random.default_rng(0).normal(size=(2, 100))))
    No sign that the rows are dependent.
    """
    pairs = without_derived_columns(as_pairs(x, y, groups, drop_missing=True))
    if pairs.groups is not None:
        return Diagnosis(pairs, 0, None)
    codes = copies(pairs.x, pairs.y)
    serial = serial_dependence(pairs.x, pairs.y, codes)
    notes = list(pairs.notes)
    if serial is not None:
        notes.append(Note(f"{serial}.", "rows in sequence"))
    duplicates = 0 if codes is None else pairs.n - int(codes.max()) - 1
    if duplicates:
        sentence = (
            f"{duplicates:,} of {pairs.n:,} rows are copies: equal to an earlier row "
            "in every column, with values that "
            "occur only there. Each row and its copies are one group."
        )
        notes.append(Note(sentence, "copies"))
    pairs = replace(pairs, groups=codes, notes=tuple(notes))
    return Diagnosis(pairs, duplicates, serial)


def without_derived_columns(pairs: Pairs) -> Pairs:
    """The sample without columns that other columns of the same variable determine.

    A note reports each variable with such columns.
    """
    x = without_functions("x", pairs.x)
    y = without_functions("y", pairs.y)
    notes = (*pairs.notes, *x.notes, *y.notes)
    return replace(pairs, x=replace(x, notes=()), y=replace(y, notes=()), notes=notes)
