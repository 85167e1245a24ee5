"""Concrete decompositions of the information of latents about factors, next to the bounds that hold for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoscope.checks import one_of
from infoscope.estimators.result import Estimate, undefined
from infoscope.estimators.variables import Discrete, Variable, as_variable, join
from infoscope.metrics import pid
from infoscope.metrics.disentanglement.measuring import Inputs
from infoscope.metrics.disentanglement.registry import TERMS
from infoscope.metrics.factor_information.inputs import as_factors, of_items
from infoscope.metrics.factor_information.result import OF_ENTROPY


def decomposed(inputs: Inputs, decomposition: str) -> dict[str, Estimate]:
    """Unique, redundant and synergistic by a definition of `pid.DECOMPOSITIONS`, means over factors, shares of H(y).

    Sources are the latent with most information about a factor and all others. "gaussian" takes factors as numbers, the
    others as categories. Terms outside of the bounds are noted; what a definition does not allow is nan. ValueError: an
    unknown decomposition.
    """
    decompose = getattr(pid, pid.DECOMPOSITIONS[one_of("decomposition", decomposition, pid.DECOMPOSITIONS)])
    information, codes = inputs.information, as_factors(inputs.factors).codes
    generator = inputs.stream("decomposition")
    rows = of_items(len(codes), inputs.items, generator)
    z = inputs.representation.draw(rows, generator) if inputs.has_density else inputs.codes[rows]
    found = []
    for y, latent, entropy in zip(codes[rows].T, information.best_latent(), information.entropy):
        rest = np.delete(np.arange(z.shape[1]), latent)
        target = _numbers(y[:, None]) if decomposition == "gaussian" else Discrete(y)
        try:
            terms = decompose(
                *(_typed(z, columns, inputs.categorical) for columns in (np.array([latent]), rest)), target
            )
        except ValueError as error:
            return {term: undefined(str(error), OF_ENTROPY, len(rows)) for term in TERMS}
        told = (terms.unique_a, terms.redundant, terms.synergistic)
        found.append([replace(term / entropy, unit=OF_ENTROPY) for term in told])
    bounds, means = information.aggregated("alone"), {}
    for term, each in zip(TERMS, zip(*found)):
        mean = sum(each) / len(found)
        beyond = outside(mean, getattr(bounds, f"{term}_low"), getattr(bounds, f"{term}_high"))
        means[term] = replace(mean, notes=(*mean.notes, beyond)) if beyond else mean
    return means


def _typed(z: NDArray[np.float64], columns: NDArray[np.int64], categorical: Sequence[int]) -> Variable:
    """Some latents [n, L]; the categories among them as such."""
    labels = np.isin(columns, categorical)
    numbers = _numbers(z[:, columns[~labels]])
    return join(numbers, as_variable("latents", Discrete(z[:, columns[labels]]))) if labels.any() else numbers


def _numbers(values: NDArray[Any]) -> Variable:
    """[n, d] as numbers, with no question whether they are labels."""
    return Variable(values.astype(np.float64), None, 1)


def outside(term: Estimate, low: Estimate, high: Estimate) -> str:
    """That a term is outside of its bounds, and by how much; "" where it is not."""
    distance, bound = max((low.value - term.value, low), (term.value - high.value, high), key=lambda pair: pair[0])
    if distance <= pid.ROUNDING:
        return ""
    error = np.hypot(term.standard_error, bound.standard_error)
    return (
        f"It is outside of the bounds, {low.value:.3f} to {high.value:.3f}, by {distance:.2g}, {distance / error:.1f} "
        "standard errors (of both, as if apart): they are estimated in other ways."
    )
