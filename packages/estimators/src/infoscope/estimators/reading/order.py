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

# rounds in which rows are distinguished by the content of their categories and groups
REFINEMENTS = 3
Codes = NDArray[np.intp]


def in_canonical_order(
    pairs: Pairs, generator: np.random.Generator
) -> tuple[Pairs, np.random.Generator]:
    """The sample with its rows in random order, and a generator for its figures.

    Both depend on the values of the rows and on `generator`, not on the given order.
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
        pairs = _numbered(pairs.take(rows))
        keys = keys[rows]
    content = [_ranks(pairs.x), _ranks(pairs.y), *_labels(pairs)]
    checksum = sum(zlib.crc32(codes.tobytes()) for codes in content)
    seed = int(generator.integers(1 << 32))
    generator = np.random.default_rng([seed, checksum])
    return pairs.take(generator.permutation(pairs.n)), generator


def _row_keys(pairs: Pairs) -> Codes:
    """Codes [n] of the rows by their content.

    The names of categories and groups, and exchange of x and y, do not change the codes.
    """
    x = _ranks(pairs.x)
    y = _ranks(pairs.y)
    if _skewness(x, y) < _skewness(y, x):
        x, y = y, x
    keys, _ = joint_codes((x, y))
    labels = _labels(pairs)
    if labels:
        joint, _ = joint_codes(labels)
        assert joint is not None
        labels.append(joint)
    for _ in range(REFINEMENTS):
        for codes in labels:
            keys, _ = joint_codes((keys, _contents(codes, keys)))
    return keys


def _labels(pairs: Pairs) -> list[Codes]:
    """The codes [n] of categories of x, of y, and of groups, where there are any."""
    labels = (pairs.x.codes, pairs.y.codes, pairs.groups)
    return [codes for codes in labels if codes is not None]


def _numbered(pairs: Pairs) -> Pairs:
    """The sample with categories and groups numbered by first appearance."""
    return replace(
        pairs,
        x=replace(pairs.x, codes=_by_appearance(pairs.x.codes)),
        y=replace(pairs.y, codes=_by_appearance(pairs.y.codes)),
        groups=_by_appearance(pairs.groups),
    )


def _by_appearance(codes: Codes | None) -> Codes | None:
    """Codes [n] numbered by first appearance; None without codes."""
    return None if codes is None else pd.factorize(codes)[0]


def _ranks(variable: Variable) -> Codes:
    """Codes [n] in the order of the sizes of categories, then of numeric columns."""
    codes = np.zeros(variable.n, np.intp)
    if variable.codes is not None:
        sizes = np.bincount(variable.codes)
        codes, _ = factorise(sizes[variable.codes])
    for column in variable.continuous.T:
        ranks, _ = factorise(column)
        codes, count = joint_codes((codes, ranks))
        if count == variable.n:
            break
    return codes


def _skewness(first: Codes, second: Codes) -> int:
    """A sum over rows that differs if the two variables are exchanged."""
    return int((first * first) @ second)


def _contents(codes: Codes, keys: Codes) -> Codes:
    """Codes [n] of the categories [n] by the keys [n] of their rows.

    They are equal for categories of equal content.
    """
    # sums are exact up to 2^23 rows
    weights = np.random.default_rng(0).integers(1 << 30, size=int(keys.max()) + 1)
    sums = np.bincount(codes, weights[keys])
    return factorise(sums[codes])[0]
