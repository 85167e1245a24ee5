"""Pointwise V-information (PVI), the difficulty of an item (Ethayarajh et al. 2022);
its mean is the V-information.

    PVI(x -> y) = -log2 f[none](y) + log2 f'[x](y),   f and f' the best members without and with an input

Given c: log2 f'[c, x](y) - log2 f[c](y) (Hewitt et al. 2021; Chen et al. 2023, REV).
Every item is held out.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from infoscope.checks import require_int
from infoscope.errors import OutOfRange, UnknownName
from infoscope.estimators.alignment import aligns
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.classifier.inputs import coded
from infoscope.estimators.families.protocol import Outcome, as_outcome
from infoscope.estimators.families.registry import as_family
from infoscope.estimators.result import clustered_error
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics.v_information.predictions import FLOOR, Predictions, cross_fitted


@aligns("x", "y", "groups", "given")
def pointwise(
    family: Any,
    x: Any,
    y: ArrayLike,
    folds: int = 10,
    groups: ArrayLike | None = None,
    floor: float = FLOOR,
    generator: np.random.Generator | None = None,
    given: Any = None,
) -> pd.DataFrame:
    """A table of the cross-fitted PVI of every item, in their order. Arguments and
    errors as `estimate`.

    Columns: label, pvi_bits, H_yb and H_yxb (-log2 probability or density without and
    with x, bits), fold; for classes also predicted and correct.
    """
    family = as_family(family)
    outcome = as_outcome(family, y)
    generator = generator_or_default(generator)
    predictions = cross_fitted(
        family, x, outcome, folds, groups, floor, generator, given
    )
    return table(predictions, outcome)


def table(predictions: Predictions, outcome: Outcome) -> pd.DataFrame:
    """Predictions as a table, a row for each predicted item."""
    without = -predictions.null / NATS_PER_BIT
    with_input = -predictions.informed / NATS_PER_BIT
    columns: dict[str, Any] = {
        "pvi_bits": without - with_input,
        "H_yb": without,
        "H_yxb": with_input,
        "fold": predictions.fold,
    }
    if outcome.labels is not None:
        codes = outcome.values[predictions.rows]
        assert predictions.logs is not None
        predicted = predictions.logs.argmax(axis=1)
        columns = {"label": outcome.labels[codes], **columns}
        columns["predicted"] = outcome.labels[predicted]
        columns["correct"] = predicted == codes
    elif outcome.values.shape[1] == 1:
        columns = {"label": outcome.values[predictions.rows, 0], **columns}
    return pd.DataFrame(columns, index=pd.RangeIndex(len(predictions.rows)))


class Window(NamedTuple):
    """Bits: lowest_right, the least PVI of a correct prediction; highest_wrong, the
    largest of a wrong one.
    """

    lowest_right: Any
    highest_wrong: Any


def threshold_window(null_entropy_bits: ArrayLike, classes: int) -> Window:
    """The range of possible PVI thresholds for labels among C classes, bits.

    H_yb(y) - log2 C and H_yb(y) - 1. For C = 2 PVI separates correct from wrong
    predictions exactly (figure 3 of Ethayarajh et al. 2022).

    Parameters
    ----------
    null_entropy_bits
        H_yb(y) = -log2 f[none](y), one for each label y.
    classes
        C.

    Raises
    ------
    ValueError
        classes < 2, negative entropy.

    Examples
    --------
    >>> print(threshold_window([2.0], classes=4).highest_wrong)
    [1.]
    """
    classes = require_int("classes", classes, 2)
    entropy = np.asarray(null_entropy_bits, dtype=np.float64)
    if not (entropy >= 0.0).all():
        raise OutOfRange(
            f"null_entropy_bits must be at least 0, got {null_entropy_bits!r}."
        )
    lowest_right = entropy - math.log2(classes)
    highest_wrong = entropy - 1.0
    return Window(lowest_right[()], highest_wrong[()])


@aligns("table", "groups")
def slices(
    table: pd.DataFrame, by: Hashable | Sequence[Hashable], groups: ArrayLike | None = None
) -> pd.DataFrame:  # fmt: skip
    """Mean PVI (bits) by the values of one or more columns of a `pointwise` table: n,
    mean_bits, standard_error_bits.

    groups [n]: dependent items. ValueError: no such column.
    """
    columns = list(by) if isinstance(by, list | tuple) else [by]
    missing = [column for column in [*columns, "pvi_bits"] if column not in table]
    if missing:
        raise UnknownName(
            f"by must name columns of the table, {list(table.columns)}, got {missing}."
        )
    codes = (
        np.arange(len(table)) if groups is None else coded("groups", groups, len(table))
    )
    rows = []
    places = pd.Series(np.arange(len(table)), index=table.index)
    pvi_bits = table["pvi_bits"].to_numpy()
    by_columns = [table[column] for column in columns]
    for value, members in places.groupby(by_columns, observed=True, dropna=False):
        assert isinstance(value, tuple)
        bits = pvi_bits[members]
        groups_of_members = np.unique(codes[members], return_inverse=True)[1]
        error = clustered_error(bits, groups_of_members)
        rows.append([*value, len(bits), bits.mean(), error])
    return pd.DataFrame(
        rows, columns=[*columns, "n", "mean_bits", "standard_error_bits"]
    ).set_index(columns)
