"""Pointwise V-information (PVI): how hard an item is for a family of predictors (Ethayarajh et al. 2022).

    PVI(x -> y) = -log2 f[none](y) + log2 f'[x](y),   f and f' the best members without and with an input

Its mean is the V-information. Every item is measured by members fitted on the other folds, so that training items have
a PVI of the same meaning as test items.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from infoscope.estimators.checks import generator_or_default, require_int
from infoscope.estimators.families.protocol import Outcome, as_outcome
from infoscope.estimators.families.registry import as_family
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics.v_information.predictions import (
    FLOOR,
    Predictions,
    as_groups,
    check_length,
    fold_splits,
    predict,
)


class Window(NamedTuple):
    """Between which PVI a prediction may be right or wrong, bits.

    lowest_right   the least PVI of an item whose label is predicted
    highest_wrong  the largest PVI of an item whose label is not
    """

    lowest_right: Any
    highest_wrong: Any


def threshold_window(null_entropy_bits: ArrayLike, classes: int) -> Window:
    """The arithmetic behind a PVI threshold: H_yb(y) - log2 C and H_yb(y) - 1 bit, of a label y among C classes.

    null_entropy_bits is H_yb(y) = -log2 f[none](y), one for each label. A label that is not the most probable one has
    at most probability 1/2, so its PVI is at most H_yb(y) - 1; the most probable one has at least 1/C. Where the two
    meet (C = 2), PVI tells right from wrong without error; for C = 3 and even classes they are 0 and 0.585 bits, the
    "0.5 bits" of figure 3 of Ethayarajh et al. 2022. They hold for any family and any data.

    ValueError: classes < 2, or a negative null entropy.
    """
    classes = require_int("classes", classes, 2)
    entropy = np.asarray(null_entropy_bits, dtype=np.float64)
    if not (entropy >= 0.0).all():
        raise ValueError(f"null_entropy_bits must be at least 0, got {null_entropy_bits!r}.")
    return Window((entropy - math.log2(classes))[()], (entropy - 1.0)[()])


def pointwise(
    family: Any,
    x: Any,
    y: ArrayLike,
    folds: int = 10,
    groups: ArrayLike | None = None,
    floor: float = FLOOR,
    calibration: float = 0.0,
    generator: np.random.Generator | None = None,
) -> pd.DataFrame:
    """The cross-fitted PVI of every item, in the order given: one row each. Arguments and errors as `estimate`.

    Columns: label, pvi_bits, H_yb and H_yxb (-log2 of the own label's probability without and with the input, bits),
    fold; of classes also predicted and correct. Of numbers, H_yb and H_yxb are of densities.
    """
    family = as_family(family)
    outcome = as_outcome(family, y)
    check_length(x, outcome.n)
    generator = generator_or_default(generator)
    codes = as_groups(groups, outcome.n)
    splits = fold_splits(outcome, codes, folds, generator)
    return table(predict(family, x, outcome, splits, codes, floor, calibration, generator), outcome)


def table(found: Predictions, outcome: Outcome) -> pd.DataFrame:
    """Predictions as a table, one row for each item that was predicted."""
    without, with_input = -found.null / NATS_PER_BIT, -found.informed / NATS_PER_BIT
    columns: dict[str, Any] = {
        "pvi_bits": without - with_input,
        "H_yb": without,
        "H_yxb": with_input,
        "fold": found.fold,
    }
    if outcome.labels is not None:
        own = outcome.values[found.rows]
        predicted = found.logs.argmax(axis=1)
        labels = {"label": outcome.labels[own]}
        columns = labels | columns | {"predicted": outcome.labels[predicted], "correct": predicted == own}
    elif outcome.values.shape[1] == 1:
        columns = {"label": outcome.values[found.rows, 0]} | columns
    return pd.DataFrame(columns, index=pd.RangeIndex(len(found.rows)))
