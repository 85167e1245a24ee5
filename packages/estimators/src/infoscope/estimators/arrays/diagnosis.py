"""What speaks against taking the rows of a sample for independent draws, looked for once: `diagnose`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import ArrayLike

from infoscope.estimators.arrays.protocol import Pairs, as_pairs
from infoscope.estimators.serial import SerialDependence, serial_dependence
from infoscope.estimators.variables import copies


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What was found in a sample; printed, one sentence a line.

    pairs       the checked sample, with copies of a row as one group, and with notes
    duplicates  rows that are copies of an earlier one; 0 where groups are named
    serial      dependence of successive rows; None where not detected, or groups are named
    """

    pairs: Pairs
    duplicates: int
    serial: SerialDependence | None

    def __str__(self) -> str:
        return "\n".join(self.pairs.notes) or "Nothing speaks against independent rows."


def diagnose(x: Any, y: Any, groups: ArrayLike | None = None) -> Diagnosis:
    """Copies of rows, rows in series, and column types. Arguments and errors as `estimate`.

    Copies (`variables.copies`) are put into one group each; the test for series is `serial.serial_dependence`.
    """
    pairs = as_pairs(x, y, groups)
    if pairs.groups is not None:
        return Diagnosis(pairs, 0, None)
    serial = serial_dependence(pairs.x, pairs.y)
    notes = pairs.notes + (() if serial is None else (f"{serial}.",))
    codes = copies(pairs.x, pairs.y)
    duplicates = 0 if codes is None else pairs.n - int(codes.max()) - 1
    if duplicates:
        notes += (
            f"{duplicates:,} of {pairs.n:,} rows are copies: equal to an earlier row in every column, in values that "
            "occur nowhere else. Each row and its copies are one group.",
        )
    return Diagnosis(replace(pairs, groups=codes, notes=notes), duplicates, serial)
