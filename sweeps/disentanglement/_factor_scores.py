"""Scores of a representation of images with known factors, and their metrics and
tables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from infoscope.checks import one_of
from infoscope.data import FactorDataset
from infoscope.estimators.result import NATS, Estimate
from infoscope.metrics import disentanglement
from infoscope.metrics.factor_information.arrays import from_arrays
from infoscope.metrics.factor_information.result import FactorInformation
from infoscope.metrics.report import row
from sweeps.checks import require_minimum
from sweeps.disentanglement._cells import Effort
from sweeps.streams import draws

# estimator for codes without a density; forests of classifiers would take too long
ARRAYS = "knn"
MINIMUM = {"draws": 100, "votes": 10, "items": 100}


@dataclass(frozen=True)
class Measured:
    """One evaluation of a representation: its scores by name, and the estimates of
    information behind them.
    """

    scores: dict[str, Estimate]
    information: FactorInformation


def check_effort(cell: Effort) -> None:
    """Raises ValueError for too small numbers of draws, votes or items, or an unknown
    protocol.
    """
    require_minimum(cell, MINIMUM)
    for name in cell.protocols:
        one_of("protocol", name, disentanglement.PROTOCOLS)


def measure(
    representation: Any,
    dataset: FactorDataset,
    seed: int,
    effort: Effort,
    device: str = "cpu",
    predictors: bool = True,
) -> Measured:
    """All scores of a posterior or, for a code without a density, of an array [N, L].

    The same seed draws the same votes, items and noise, so differences are paired.
    predictors: whether to include the scores of codes, which are slow.
    """
    specs = []
    for spec in disentanglement.SCORES.values():
        is_wanted = predictors or spec.takes != "codes"
        if is_wanted and not spec.extra and spec.protocol in (None, *effort.protocols):
            specs.append(spec)
    inputs = disentanglement.Inputs(
        representation=representation,
        factors=dataset.factors,
        stream=partial(draws, seed),
        draws=effort.draws,
        items=effort.items,
        votes={"uni-bound": effort.votes},
        device=device,
        factor_names=dataset.factor_names,
        from_arrays=partial(from_arrays, method=ARRAYS, resamples=None),
    )
    scores = disentanglement.measure_scores(inputs, specs)
    return Measured(scores, inputs.information)


def metrics(measurements: Sequence[Measured]) -> dict[str, float]:
    """The mean of each score over the evaluations, its standard error given the
    representation (NAME_error), and the score of every evaluation (`evaluation
    E/NAME`).
    """
    values = {}
    for score in measurements[0].scores:
        estimates = [measured.scores[score] for measured in measurements]
        name = metric_of(score)
        values[name] = float(np.mean([estimate.value for estimate in estimates]))
        squared_errors = sum(estimate.standard_error**2 for estimate in estimates)
        values[f"{name}_error"] = math.sqrt(squared_errors) / len(estimates)
        for number, estimate in enumerate(estimates):
            values[f"evaluation {number}/{name}"] = estimate.value
    return values


def metric_of(score: str) -> str:
    """The name of a score's metric: it ends in `_nats` if the score has this unit."""
    spec = disentanglement.SCORES.get(score)
    return f"{score}_nats" if spec is not None and spec.unit == NATS else score


def tables(measurements: Sequence[Measured]) -> dict[str, pd.DataFrame]:
    """The tables "scores", with a row for each evaluation and score, and "bounds", with
    a row for each evaluation, factor and latent (nats).
    """
    scores = []
    bounds = []
    for number, measured in enumerate(measurements):
        scores += [
            {"evaluation": number, "score": name} | row(score)
            for name, score in measured.scores.items()
        ]
        bounds.append(measured.information.table().assign(evaluation=number))
    return {
        "scores": pd.DataFrame(scores),
        "bounds": pd.concat(bounds, ignore_index=True),
    }
