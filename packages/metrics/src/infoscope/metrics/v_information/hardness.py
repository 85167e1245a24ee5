"""Tables of PVI: threshold_window (PVI of right and wrong predictions), slices (mean by column), hardest items."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from infoscope.checks import require_int
from infoscope.errors import OutOfRange, UnknownName
from infoscope.estimators.classifier.inputs import coded
from infoscope.estimators.result import clustered_error
from infoscope.estimators.variables import aligns


class Window(NamedTuple):
    """Bits: lowest_right, the least PVI of a right prediction; highest_wrong, the largest of a wrong one."""

    lowest_right: Any
    highest_wrong: Any


def threshold_window(null_entropy_bits: ArrayLike, classes: int) -> Window:
    """The arithmetic behind a PVI threshold: H_yb(y) - log2 C and H_yb(y) - 1 bit, of a label y among C classes.

    null_entropy_bits is H_yb(y) = -log2 f[none](y), one for each label. For C = 2 PVI separates right from wrong
    exactly; for C = 3, even classes, 0 and 0.585 bits (figure 3 of Ethayarajh et al. 2022). ValueError: classes < 2,
    negative entropy.
    """
    classes = require_int("classes", classes, 2)
    entropy = np.asarray(null_entropy_bits, dtype=np.float64)
    if not (entropy >= 0.0).all():
        raise OutOfRange(f"null_entropy_bits must be at least 0, got {null_entropy_bits!r}.")
    return Window((entropy - math.log2(classes))[()], (entropy - 1.0)[()])


@aligns("table", "groups")
def slices(
    table: pd.DataFrame,
    by: Hashable | Sequence[Hashable],
    groups: ArrayLike | None = None,
) -> pd.DataFrame:
    """Mean PVI (bits) of the items of every value of one or more columns of a `pvi.pointwise` table: n, mean_bits,
    standard_error_bits. groups [n]: dependent items. ValueError: no such column.
    """
    columns = list(by) if isinstance(by, list | tuple) else [by]
    missing = [column for column in [*columns, "pvi_bits"] if column not in table]
    if missing:
        raise UnknownName(f"by must name columns of the table, which has no {missing}; it has {list(table.columns)}.")
    codes = np.arange(len(table)) if groups is None else coded("groups", groups, len(table))
    rows = []
    places = pd.Series(np.arange(len(table)), index=table.index)
    for value, members in places.groupby([table[column] for column in columns], observed=True, dropna=False):
        bits = table["pvi_bits"].to_numpy()[members]
        own = np.unique(codes[members], return_inverse=True)[1]
        rows.append([*value, len(bits), bits.mean(), clustered_error(bits, own)])
    return pd.DataFrame(rows, columns=[*columns, "n", "mean_bits", "standard_error_bits"]).set_index(columns)


def hardest(table: pd.DataFrame, count: int = 10) -> pd.DataFrame:
    """The `count` items of least PVI, hardest first. The index is the items'."""
    return table.nsmallest(require_int("count", count, 1), "pvi_bits")
