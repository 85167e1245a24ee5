"""Fits a family to items: by folds, and, where it is trained by epochs, to all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from infoscope.checks import require_int
from infoscope.errors import MissingValues, WrongType
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.families.protocol import Epochwise, as_outcome
from infoscope.estimators.families.registry import as_family
from infoscope.estimators.variables import aligns
from infoscope.metrics.v_information.label_errors.scores import Evidence, scores_of
from infoscope.metrics.v_information.predictions import FLOOR, cross_fitted


@aligns("x", "y", "groups")
def gather(
    family: Any,
    x: Any,
    y: ArrayLike,
    *,
    trainings: int = 1,
    folds: int = 10,
    groups: ArrayLike | None = None,
    generator: np.random.Generator | None = None,
    between: Callable[[float], None] = lambda done: None,
) -> Evidence:
    """Evidence for the scores of label errors, with so many `trainings` on all items where the family has epochs.

    Other arguments and errors as `pvi.pointwise`, for classes. ValueError also for a training that diverged.
    """
    family = as_family(family)
    outcome = as_outcome(family, y)
    if outcome.classes is None:
        raise WrongType("y must be classes, got numbers.")
    require_int("trainings", trainings, 1)
    generator = generator_or_default(generator)
    found = cross_fitted(family, x, outcome, folds, groups, FLOOR, generator)
    if not isinstance(family, Epochwise):
        return Evidence(outcome.values, found.logs, found.null)
    courses = []
    for number in range(trainings):
        between((folds + number) / (folds + trainings))
        members = family.epochs_of(x, outcome.values, outcome.classes, generator)
        courses.append([member.log_probabilities(x).astype(np.float32) for member in members])
    epochs = np.array(courses)
    if not np.isfinite(epochs).all():
        raise MissingValues(f"{family.name} diverged: a log probability is not finite; lower its learning rate.")
    return Evidence(outcome.values, found.logs, found.null, epochs)


def label_scores(family: Any, x: Any, y: ArrayLike, **settings: Any) -> pd.DataFrame:
    """Every score of `SCORES`, a column each [n]; larger = more suspicious. Arguments and errors as `gather`."""
    return scores_of(gather(family, x, y, **settings))
