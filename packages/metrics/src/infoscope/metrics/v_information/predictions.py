"""Predictions of items by fits of a family: out of fold, on a test set, or on the
training items.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from infoscope.errors import OutOfRange, WrongLength, WrongShape, WrongType
from infoscope.estimators.classifier.cross_fitting import (
    expected_calibration_error,
    floored,
)
from infoscope.estimators.classifier.inputs import assign_folds, coded
from infoscope.estimators.columns import as_codes, as_matrix, require_values
from infoscope.estimators.families.protocol import (
    Family,
    Outcome,
    Predictor,
    fit_each,
    take,
)

FLOOR = 1e-6  # default least probability of a class

Split = tuple[np.ndarray, np.ndarray]
"""Masks [n] of training and of predicted items."""


@dataclass(frozen=True)
class Calibration:
    """Calibration of predicted probabilities: mean |accuracy - top probability| over 15
    bins (Guo et al. 2017; about sqrt(15 / n) by chance), and the best temperature for
    these items, which is not applied.
    """

    expected_error: float
    best_temperature: float


@dataclass(frozen=True, eq=False)
class Predictions:
    """Log densities of items' own outcomes, nats, in the order of the items.

    rows, fold           int64 [m], indices of items and of splits
    null, informed       [m], without and with x
    logs                 [m, classes] of every class with x; None for numbers
    floored, null_floored  numbers of items whose class is below the floor, with x and without
    """

    rows: np.ndarray
    fold: np.ndarray
    null: np.ndarray
    informed: np.ndarray
    logs: np.ndarray | None
    floored: int
    null_floored: int
    calibration: Calibration | None


def predict(
    family: Family,
    x: Any,
    outcome: Outcome,
    splits: Sequence[Split],
    groups: np.ndarray,
    floor: float,
    generator: np.random.Generator,
    nulls: Sequence[Predictor] | None = None,
    given: Any = None,
) -> Predictions:
    """Fits the family on the training items of each split and predicts the others;
    nulls: known fits without input.

    floor and given as in `estimate`. ValueError for a floor of 1 / classes or more.
    """
    if outcome.classes is not None and not 0.0 <= floor * outcome.classes < 1.0:
        raise OutOfRange(
            f"floor must be at least 0 and below 1 / {outcome.classes} (classes), got "
            f"{floor!r}."
        )
    if given is not None:
        condition, both = conditional_inputs(given, x, outcome.n)
        without = predict(
            family, condition, outcome, splits, groups, floor, generator, nulls
        )
        with_x = predict(family, both, outcome, splits, groups, floor, generator, nulls)
        return replace(
            with_x,
            null=without.informed,
            null_floored=without.floored,
        )
    trainings, tests = zip(*splits)
    fits = fit_each(
        family, x, outcome.values, trainings, outcome.classes, groups, generator
    )
    if nulls is None:
        nulls = fit_nulls(family, outcome, trainings, groups, generator)
    return measured(x, outcome, tests, fits, nulls, floor)


def conditional_inputs(given: Any, x: Any, n: int) -> tuple[Any, Any]:
    """`given` alone and with x, as inputs of a family: columns (indicators for
    classes), or a line before each text.
    """
    check_length(given, n, "given")
    if not hasattr(x, "shape") and all(isinstance(item, str) for item in x):
        texts = [str(item) for item in given]
        return texts, [f"{text}\n{item}" for text, item in zip(texts, x)]
    values = np.asarray(given)
    if values.dtype.kind == "f":
        condition = as_matrix("given", values)
    else:
        codes = as_codes("given", given)
        classes = codes.max() + 1
        if classes > n / 2:
            raise WrongType(
                f"given must be floats or repeated classes, got {classes} classes for "
                f"{n} items."
            )
        condition = np.eye(classes)[codes]
    return condition, np.hstack([condition, as_matrix("x", x)])


def cross_fitted(
    family: Family,
    x: Any,
    outcome: Outcome,
    folds: int,
    groups: ArrayLike | None,
    floor: float,
    generator: np.random.Generator,
    given: Any = None,
) -> Predictions:
    """Predictions of every item by fits to the other folds; see `predict`."""
    check_length(x, outcome.n)
    codes = as_groups(groups, outcome.n)
    splits = fold_splits(outcome, codes, folds, generator)
    return predict(family, x, outcome, splits, codes, floor, generator, given=given)


def fit_nulls(
    family: Family,
    outcome: Outcome,
    trainings: Sequence[np.ndarray],
    groups: np.ndarray,
    generator: np.random.Generator,
) -> list[Predictor]:
    """The fits without an input on every training set (a mask [n])."""
    fits = []
    for rows in trainings:
        y = outcome.values[rows]
        fit = family.fit(None, y, outcome.classes, groups[rows], generator=generator)
        fits.append(fit)
    return fits


def measured(
    x: Any,
    outcome: Outcome,
    tests: Sequence[np.ndarray],
    fits: Sequence[Any],  # of ClassPredictor for classes, else of Predictor
    nulls: Sequence[Any],
    floor: float,
) -> Predictions:
    """Predictions of classes, with the floor, or of numbers, whose densities have a
    floor of their family.
    """
    raw = np.full((outcome.n, outcome.classes or 1), np.nan)
    without = raw.copy()
    fold = np.full(outcome.n, -1)
    for place, (rows, fit, null) in enumerate(zip(tests, fits, nulls)):
        fold[rows] = place
        if outcome.classes is None:
            without[rows, 0] = null.log_density(None, outcome.values[rows])
            raw[rows, 0] = fit.log_density(take(x, rows), outcome.values[rows])
        else:
            raw[rows] = fit.log_probabilities(take(x, rows))
            without[rows] = null.log_probabilities(None)
    rows = np.flatnonzero(fold >= 0)
    if outcome.classes is None:
        null = without[rows, 0]
        return Predictions(rows, fold[rows], null, raw[rows, 0], None, 0, 0, None)
    codes = outcome.values[rows]
    of_label = (np.arange(len(rows)), codes)
    logs = with_floor(raw[rows], floor)
    null = finite(with_floor(without[rows], floor)[of_label])
    informed = finite(logs[of_label])
    error = expected_calibration_error(logs, codes)
    return Predictions(
        rows=rows,
        fold=fold[rows],
        null=null,
        informed=informed,
        logs=logs,
        floored=below(raw[rows][of_label], floor),
        null_floored=below(without[rows][of_label], floor),
        calibration=Calibration(error, temperature(logs, codes)),
    )


def with_floor(logs: np.ndarray, floor: float) -> np.ndarray:
    """Log probabilities [n, classes] mixed with the uniform distribution, so that none
    is below `floor`.
    """
    if floor > 0.0:
        return floored(logs, floor)
    return logs


def below(logs: np.ndarray, floor: float) -> int:
    """The number of log probabilities below the floor's."""
    return int((logs < math.log(floor)).sum()) if floor > 0.0 else 0


def finite(logs: np.ndarray) -> np.ndarray:
    """The log densities [n]; ValueError if an item has density 0, which would make
    every mean infinite.
    """
    bad = int((~np.isfinite(logs)).sum())
    if bad:
        raise OutOfRange(
            f"floor must be above 0, as {bad} of {len(logs)} items have a class of "
            "probability 0."
        )
    return logs


def temperature(logs: np.ndarray, classes: np.ndarray) -> float:
    """The T of least log loss of exp(log q / T) (Guo et al. 2017) in [0.02, 50]; logs
    [n, classes].
    """
    rows = np.arange(len(classes))
    # without a floor there may be -inf, which no temperature changes
    logs = np.maximum(logs, -700.0)

    def loss(log_temperature: float) -> float:
        log_probabilities = log_softmax(logs / math.exp(log_temperature), axis=1)
        return -float(log_probabilities[rows, classes].mean())

    bounds = (math.log(0.02), math.log(50.0))
    best = minimize_scalar(
        loss, bounds=bounds, method="bounded", options={"xatol": 1e-4}
    )
    return math.exp(float(best.x))


def fold_splits(
    outcome: Outcome, groups: np.ndarray, folds: int, generator: np.random.Generator
) -> list[Split]:
    """The splits by folds; groups stay whole, classes are balanced over folds."""
    strata = outcome.values
    if outcome.classes is None:
        strata = np.zeros(outcome.n, dtype=np.int64)
    fold_of = assign_folds(strata, groups, folds, generator)
    return [(fold_of != fold, fold_of == fold) for fold in range(folds)]


def as_groups(groups: ArrayLike | None, n: int) -> np.ndarray:
    """Codes of groups [n]; None: every item is a group."""
    return np.arange(n) if groups is None else coded("groups", groups, n)


def check_length(x: Any, n: int, name: str = "x") -> None:
    """ValueError unless x has one item for each outcome."""
    if not hasattr(x, "__len__") and not getattr(x, "shape", ()):
        raise WrongShape(
            f"{name} must have {n} items, one for each outcome y, got one "
            f"{type(x).__name__}."
        )
    require_values(name, x)
    # a sparse matrix has no length
    items = x.shape[0] if hasattr(x, "shape") else len(x)
    if items != n:
        raise WrongLength(
            f"{name} must have one item for each of the {n} outcomes y, got {items}."
        )
