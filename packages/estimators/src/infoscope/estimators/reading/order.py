"""One order of the rows of a sample: the same for the same rows, however they, categories and groups are named."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from infoscope.estimators.variables import Variable, factorise, joint_codes

if TYPE_CHECKING:  # arrays imports this module
    from infoscope.estimators.arrays.protocol import Pairs

REFINEMENTS = 3  # how often rows are told apart by what their categories and groups contain
Codes = NDArray[np.intp]


def in_canonical_order(pairs: Pairs, generator: np.random.Generator) -> tuple[Pairs, np.random.Generator]:
    """The sample with its rows in random order, and a generator; both depend on the values of the rows alone.

    Rows are sorted by their ranks in x and y, then by the content of their categories and groups (colour refinement,
    Weisfeiler & Leman 1968), and shuffled by a seed from these and a number of `generator`. Independent rows thus are
    in random order, as they are in simulations.
    """
    ranks = {"x": _ranks(pairs.x), "y": _ranks(pairs.y)}
    names = ["x", "y"] if _skewness(ranks["x"], ranks["y"]) >= _skewness(ranks["y"], ranks["x"]) else ["y", "x"]
    labels = {name: getattr(pairs, name).codes for name in names} | {"groups": pairs.groups}
    labels = {name: codes for name, codes in labels.items() if codes is not None}
    keys, _ = joint_codes([ranks[name] for name in names])
    both = [labels[name] for name in names if name in labels]
    cells = [joint_codes(some)[0] for some in (both, list(labels.values())) if some]
    for _ in range(REFINEMENTS):
        for codes in (*labels.values(), *cells):
            keys, _ = joint_codes([keys, _contents(codes, keys)])
    order = np.arange(pairs.n)
    for _ in range(2):  # categories of equal content are in the order of their names, then of their new numbers
        rows = np.lexsort((*labels.values(), keys))
        order, keys = order[rows], keys[rows]
        labels = {name: pd.factorize(codes[rows])[0] for name, codes in labels.items()}
    content = np.stack([*(ranks[name][order] for name in names), *labels.values()])
    seed = int(generator.integers(1 << 32))
    generator = np.random.default_rng([seed, zlib.crc32(content.tobytes())])
    shuffled = generator.permutation(pairs.n)
    labels = {name: codes[shuffled] for name, codes in labels.items()}
    x, y = (
        replace(variable, continuous=variable.continuous[order[shuffled]], codes=labels.get(name))
        for name, variable in (("x", pairs.x), ("y", pairs.y))
    )
    return replace(pairs, x=x, y=y, groups=labels.get("groups")), generator


def _ranks(variable: Variable) -> Codes:
    """Codes [n] in the order of the sizes of categories, then of the numeric columns, the first ones first."""
    codes = np.zeros(variable.n, np.intp)
    if variable.codes is not None:
        codes = factorise(np.bincount(variable.codes)[variable.codes])[0]
    for column in variable.continuous.T:
        codes, count = joint_codes([codes, factorise(column)[0]])
        if count == variable.n:
            break
    return codes


def _skewness(first: Codes, second: Codes) -> int:
    """A sum over rows that tells x from y, whichever is given first."""
    return int((first * first) @ second)


def _contents(codes: Codes, keys: Codes) -> Codes:
    """Codes [n] of the categories [n] by the keys [n] of their rows: equal for categories of equal content."""
    weights = np.random.default_rng(0).integers(1 << 30, size=int(keys.max()) + 1)  # sums are exact up to 2^23 rows
    return factorise(np.bincount(codes, weights[keys])[codes])[0]
