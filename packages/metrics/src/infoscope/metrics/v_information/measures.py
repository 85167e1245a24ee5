"""Predictive V-information I_V(x -> y) = H_V(y) - H_V(y | x), H_V(y | x) = inf over f
in V of E[-log f[x](y)] (Xu et al. 2020); given c, H_V(y | c) - H_V(y | c, x), with the
chain rule (Hewitt et al. 2021).

In-sample: both infima on one sample, biased upwards, with the PAC bound (theorem 1).
Held-out: fitted on one part, evaluated on another (Ethayarajh et al. 2022); may be
negative. Cross-fitted: every item by fits to the other folds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from infoscope.checks import one_of
from infoscope.errors import Conflict, OutOfRange, WrongType
from infoscope.estimators.alignment import aligns
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.families.complexity import PacBound, pac_bound
from infoscope.estimators.families.protocol import Bounded, Outcome, as_outcome
from infoscope.estimators.families.registry import as_family
from infoscope.estimators.result import Estimate, mean_of
from infoscope.metrics.v_information.predictions import (
    FLOOR,
    Calibration,
    Predictions,
    Split,
    as_groups,
    check_length,
    fold_splits,
    predict,
)
from infoscope.notes import Note

IN_SAMPLE = "in-sample"
HELD_OUT = "held-out"
CROSS_FITTED = "cross-fitted"
ESTIMATORS = (IN_SAMPLE, HELD_OUT, CROSS_FITTED)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class VInformation(Estimate):
    """An estimate of I_V(x -> y | given) = null_entropy - conditional_entropy, nats;
    `method` is the family.

    standard_error     sd(PVI) / sqrt(n), robust to groups, without the randomness of training; NaN in-sample
    local              pointwise V-information of every item [n]
    null_entropy, conditional_entropy  H_V(y | given) and H_V(y | given, x)
    floor, floored, null_floored  least class probability; items with their class below it, with and without x
    bound              the PAC bound in-sample, which gives the interval; or None
    """

    null_entropy: Estimate
    conditional_entropy: Estimate
    estimator: str
    floor: float
    floored: int
    null_floored: int
    calibration: Calibration | None
    bound: PacBound | None


@aligns("x", "y", "test", "groups", "given")
def estimate(
    family: Any,
    x: Any,
    y: ArrayLike,
    estimator: str = CROSS_FITTED,
    folds: int = 5,
    test: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    floor: float = FLOOR,
    delta: float = 0.05,
    generator: np.random.Generator | None = None,
    given: Any = None,
) -> VInformation:
    """The V-information I_V(x -> y), or I_V(x -> y | given), nats.

    Parameters
    ----------
    family
        A name, a Family, or an object that acts as one: see `families.as_family`.
    x
        n items as the family takes them: an array [n, d], a list of texts.
    y
        Classes [n], or numbers [n] or [n, q].
    estimator
        "in-sample", "held-out" (the first fold, or `test`) or "cross-fitted".
    folds
        At least 3.
    test
        Mask [n] of the held-out items.
    groups
        [n], labels of dependent items, which share a fold.
    floor
        Least probability of a class (mixing with the uniform distribution); 0: none.
    delta
        Error probability of the PAC bound, in-sample.
    given
        Condition of both entropies: floats [n] or [n, p], or classes [n]; with texts x,
        texts or classes.

    Returns
    -------
    VInformation
        An interval of held-out rows below 0 is extended to 0, the least true value,
        with the note "overfit".

    Raises
    ------
    ValueError
        Different lengths, an outcome that is constant or does not suit the family,
        settings out of range.

    Examples
    --------
    >>> y = np.arange(60) % 2
    >>> estimate("logistic", y[:, None], y).n
    60
    """
    one_of("estimator", estimator, ESTIMATORS)
    family = as_family(family)
    outcome = as_outcome(family, y)
    check_length(x, outcome.n)
    generator = generator_or_default(generator)
    codes = as_groups(groups, outcome.n)
    splits = splits_of(estimator, outcome, codes, folds, test, generator)
    predictions = predict(
        family, x, outcome, splits, codes, floor, generator, given=given
    )
    name = family.name
    bound = None
    if estimator == IN_SAMPLE and given is None and isinstance(family, Bounded):
        complexity = family.complexity(
            x, outcome.values, outcome.classes, floor, generator
        )
        if complexity is not None:
            bound = pac_bound(complexity, outcome.n, delta)
    information = summary(
        predictions, estimator, name, codes[predictions.rows], floor, bound
    )
    if estimator != IN_SAMPLE and information.high < 0.0:
        note = overfit_note(name, x, outcome.n)
        interval = (information.low, 0.0)
        information = replace(information, interval=interval, notes=(note,))
    if given is not None:
        information = replace(information, settings=f"{estimator}, given a condition")
    return information


def overfit_note(family: str, x: Any, n: int) -> Note:
    """A note on held-out predictions that are significantly worse with x than without."""
    columns = f" {x.shape[1]:,} columns of" if len(getattr(x, "shape", ())) == 2 else ""
    sentence = (
        f"{family} overfits{columns} {n:,} rows: its predictions of new rows are "
        "worse with x than without. The true "
        "value is at least 0, to which the interval extends: use fewer columns, more "
        "rows or a stronger penalty."
    )
    return Note(sentence, "overfit", "family")


def splits_of(
    estimator: str,
    outcome: Outcome,
    groups: np.ndarray,
    folds: int,
    test: ArrayLike | None,
    generator: np.random.Generator,
) -> list[Split]:
    """Masks of training and of evaluated items."""
    if test is not None and estimator != HELD_OUT:
        raise Conflict(
            f"test must be None unless the estimator is {HELD_OUT!r}, got one for "
            f"{estimator!r}."
        )
    if estimator == IN_SAMPLE:
        everything = np.ones(outcome.n, dtype=bool)
        return [(everything, everything)]
    if test is None:
        splits = fold_splits(outcome, groups, folds, generator)
        return splits if estimator == CROSS_FITTED else splits[:1]
    measured = np.asarray(test)
    if (
        measured.dtype != bool
        or measured.shape != (outcome.n,)
        or measured.all()
        or not measured.any()
    ):
        raise WrongType(
            f"test must be a mask [{outcome.n}] with both values, got "
            f"{measured.dtype} {measured!r}."
        )
    shared = np.intersect1d(groups[measured], groups[~measured])
    if len(shared):
        raise OutOfRange(
            f"test must keep groups whole, but {len(shared)} of them are in both parts."
        )
    return [(~measured, measured)]


def summary(
    predictions: Predictions,
    estimator: str,
    family: str,
    groups: np.ndarray,
    floor: float,
    bound: PacBound | None,
) -> VInformation:
    """The VInformation of predictions; groups [m] of the evaluated items."""
    codes = np.unique(groups, return_inverse=True)[1]
    gains = predictions.informed - predictions.null
    estimates = []
    for local in (gains, -predictions.null, -predictions.informed):
        mean = mean_of(local, codes, method=family, settings=estimator)
        if estimator == IN_SAMPLE:
            mean = replace(mean, standard_error=math.nan, influence=None)
        estimates.append(mean)
    value, null, conditional = estimates
    if bound is not None:
        interval = (value.value - bound.width, value.value + bound.width)
        value = replace(value, interval=interval)
    return VInformation(
        **vars(value),
        null_entropy=null,
        conditional_entropy=conditional,
        estimator=estimator,
        floor=0.0 if predictions.logs is None else floor,
        floored=predictions.floored,
        null_floored=predictions.null_floored,
        calibration=predictions.calibration,
        bound=bound,
    )
