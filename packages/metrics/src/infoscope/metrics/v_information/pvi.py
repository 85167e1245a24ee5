"""Pointwise V-information (PVI), the difficulty of an item (Ethayarajh et al. 2022); its mean is the V-information.

    PVI(x -> y) = -log2 f[none](y) + log2 f'[x](y),   f and f' the best members without and with an input

Given c: log2 f'[c, x](y) - log2 f[c](y) (Hewitt et al. 2021; Chen et al. 2023, REV). Every item is held out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.families.protocol import Outcome, as_outcome
from infoscope.estimators.families.registry import as_family
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.estimators.variables import aligns
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
    """The cross-fitted PVI of every item, in their order: one row each. Arguments and errors as `estimate`.

    Columns: label, pvi_bits, H_yb and H_yxb (-log2 probability or density without and with x, bits), fold; of classes
    also predicted and correct.
    """
    family = as_family(family)
    outcome = as_outcome(family, y)
    generator = generator_or_default(generator)
    return table(cross_fitted(family, x, outcome, folds, groups, floor, generator, given), outcome)


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
