"""The seed's estimator, for comparison: class codes as numbers in a nearest-neighbour estimator. Depends on their
order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from infoscope.estimators import npeet
from infoscope.estimators.result import Estimate
from infoscope.metrics.partition.terms import Route, Term

AS_NUMBERS = "labels-as-numbers"
_MAX_COLUMNS = 30  # wider blocks are reduced to the principal components with this share of the variance:
_VARIANCE_SHARE = 0.95
_NOTE = "class codes taken as numbers: depends on how classes are numbered; no valid error."


def by_numbers(
    blocks: Mapping[str, NDArray],
    labels: Mapping[str, NDArray],
    terms: Iterable[Term],
    k: int,
    generator: np.random.Generator,
) -> Route:
    """Terms of single blocks by NPEET's mi and cmi, nats; labels [n] are codes. No interval."""
    inputs = {name: _reduced(block) for name, block in blocks.items()}
    codes = {name: label.astype(float)[:, None] for name, label in labels.items()}
    unknown = {"n": len(codes["y"]), "method": "labels as numbers", "notes": (_NOTE,), "influence": np.full(1, np.nan)}
    return {
        term: Estimate(
            npeet.mi(
                inputs[term.blocks[0]], codes[term.target], codes.get(term.given), k, np.e, compat=True,
                generator=generator,
            ),
            **unknown,
        )
        for term in terms
    }  # fmt: skip


def _reduced(block: NDArray[np.float64]) -> NDArray[np.float64]:
    """The block [n, d], or its principal components where it is wide."""
    if block.shape[1] <= _MAX_COLUMNS or not np.ptp(block):
        return block
    return PCA(_VARIANCE_SHARE, svd_solver="full").fit_transform(block)
