"""The estimator of the `seed` score, for comparison: nearest neighbours of class codes
taken as numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from infoscope.estimators import npeet
from infoscope.estimators.result import Estimate
from infoscope.metrics.partition.blocks import Term
from infoscope.metrics.partition.terms import Route
from infoscope.notes import Note

AS_NUMBERS = "labels-as-numbers"
_NOTE = Note(
    "Class codes are taken as numbers: the answer depends on the numbering of classes "
    "and has no valid error.",
    "labels as numbers",
)


def numbers_route(
    blocks: Mapping[str, NDArray],
    labels: Mapping[str, NDArray],
    terms: Iterable[Term],
    k: int,
    generator: np.random.Generator,
) -> Route:
    """Terms of single blocks by NPEET's mi, nats, without an interval; labels
    [n] are codes.
    """
    inputs = {name: _reduced(block) for name, block in blocks.items()}
    codes = {name: label.astype(float)[:, None] for name, label in labels.items()}
    n = len(codes["y"])
    unknown = np.full(1, np.nan)
    route = {}
    for term in terms:
        (block,) = term.blocks
        value = npeet.mi(
            inputs[block],
            codes[term.target],
            codes.get(term.given),
            k,
            np.e,
            generator=generator,
        )
        route[term] = Estimate(
            value,
            n=n,
            method="labels as numbers",
            notes=(_NOTE,),
            influence=unknown,
        )
    return route


def _reduced(block: NDArray[np.float64]) -> NDArray[np.float64]:
    """The block [n, d], or the principal components with 95 % of its variance where it
    has more than 30 columns.
    """
    if block.shape[1] <= 30 or not np.ptp(block):
        return block
    return PCA(0.95, svd_solver="full").fit_transform(block)
