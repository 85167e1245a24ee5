"""One order of the rows of a sample: the same for the same rows, however they,
categories and groups are named.
"""

from __future__ import annotations

import zlib
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from infoscope.estimators.pairs import Pairs
from infoscope.estimators.variables import Variable, factorise, joint_codes

# how often rows are told apart by what their categories and groups contain
REFINEMENTS = 3
Codes = NDArray[np.intp]


def in_canonical_order(
    pairs: Pairs, generator: np.random.Generator
) -> tuple[Pairs, np.random.Generator]:
    """The sample with its rows in random order, and a generator; both depend on the
    values of the rows alone.

    Rows are sorted by their ranks in x and y, then by the content of their categories
    and groups (colour refinement, Weisfeiler & Leman 1968), and shuffled by a seed from
    these and a number of `generator`. Independent rows thus are in random order, as
    they are in simulations.
    """
    keys = _row_keys(pairs)
    # categories of equal content are in the order of their names, then of their new
    # numbers
    for _ in range(2):
        rows = np.lexsort((*_labels(pairs), keys))
        pairs, keys = _numbered(pairs, rows), keys[rows]
    content = [_ranks(pairs.x), _ranks(pairs.y), *_labels(pairs)]
    seeds = [
        int(generator.integers(1 << 32)),
        sum(zlib.crc32(part.tobytes()) for part in content),
    ]
    generator = np.random.default_rng(seeds)
    return pairs.take(generator.permutation(pairs.n)), generator


def _row_keys(pairs: Pairs) -> Codes:
    """Codes [n] of the rows by their content, whatever the names of categories and
    groups and which variable is x.
    """
    ranks = [_ranks(pairs.x), _ranks(pairs.y)]
    if _skewness(*ranks) < _skewness(*reversed(ranks)):
        ranks.reverse()
    keys, _ = joint_codes(ranks)
    labels = _labels(pairs)
    if labels:
        labels.append(joint_codes(labels)[0])
    for _ in range(REFINEMENTS):
        for codes in labels:
            keys, _ = joint_codes([keys, _contents(codes, keys)])
    return keys


def _labels(pairs: Pairs) -> list[Codes]:
    return [
        codes
        for codes in (pairs.x.codes, pairs.y.codes, pairs.groups)
        if codes is not None
    ]


def _numbered(pairs: Pairs, rows: Codes) -> Pairs:
    """The rows, with categories and groups numbered by first appearance."""
    x, y, groups = (
        None if codes is None else pd.factorize(codes[rows])[0]
        for codes in (pairs.x.codes, pairs.y.codes, pairs.groups)
    )
    moved = pairs.take(rows)
    return replace(
        moved, x=replace(moved.x, codes=x), y=replace(moved.y, codes=y), groups=groups
    )


def _ranks(variable: Variable) -> Codes:
    """Codes [n] in the order of the sizes of categories, then of the numeric columns,
    the first ones first.
    """
    codes = np.zeros(variable.n, np.intp)
    if variable.codes is not None:
        codes = factorise(np.bincount(variable.codes)[variable.codes])[0]
    for column in variable.continuous.T:
        codes, count = joint_codes([codes, factorise(column)[0]])
        if count == variable.n:
            break
    return codes


def _skewness(first: Codes, second: Codes) -> int:
    """A sum over rows that distinguishes x from y in either order."""
    return int((first * first) @ second)


def _contents(codes: Codes, keys: Codes) -> Codes:
    """Codes [n] of the categories [n] by the keys [n] of their rows: equal for
    categories of equal content.
    """
    # sums are exact up to 2^23 rows
    weights = np.random.default_rng(0).integers(1 << 30, size=int(keys.max()) + 1)
    return factorise(np.bincount(codes, weights[keys])[codes])[0]
