"""A partition of a discrete distribution, by enumeration: what the scores of samples
are tested against.
"""

import numpy as np

from infoscope.estimators.classifier.inputs import combined
from infoscope.estimators.result import Estimate
from infoscope.metrics.partition.report import PartitionReport
from infoscope.metrics.partition.scores import figures, scores, terms_of


def enumerate_outcomes(blocks, y, d, probabilities=None):
    """The report of outcomes (rows) with probabilities [m], as its route "posterior",
    which is exact, too.
    """
    columns = {
        name: np.unique(block, return_inverse=True)[1]
        for name, block in blocks.items()
        if block is not None
    }
    names = tuple(columns)
    m = len(y)
    columns |= {
        "y": np.unique(y, return_inverse=True)[1],
        "d": np.unique(d, return_inverse=True)[1],
    }
    weights = np.full(m, 1 / m) if probabilities is None else probabilities

    def entropy(*some):
        if not some:
            return 0.0
        shares = np.bincount(
            combined([columns[name] for name in some]), weights=weights
        )
        return float(-(shares[shares > 0] * np.log(shares[shares > 0])).sum())

    route = {}
    for term in terms_of(names):
        value = entropy(*term.target, *term.given) - entropy(*term.given)
        if term.blocks:
            value -= entropy(*term.blocks, *term.target, *term.given) - entropy(
                *term.blocks, *term.given
            )
        route[term] = Estimate(value, 0.0, method="enumeration", influence=np.zeros(1))
    found = {"posterior": figures(route, names)}
    shares = {"posterior": scores(route, names)}
    return PartitionReport(
        dict.fromkeys(names, 1), m, m, found, shares, {}, {"draws": m}, None
    )
