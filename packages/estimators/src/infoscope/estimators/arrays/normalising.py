"""Information as a share of what there is to know: of the entropy of one side, of the smaller one, of both together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from infoscope.estimators.arrays.protocol import Method, as_pairs
from infoscope.estimators.arrays.registry import estimate
from infoscope.estimators.result import Estimate, mean_of
from infoscope.estimators.variables import Variable, joint_codes

WHOLES = {"x": "share of H(x)", "y": "share of H(y)", "min": "share of min(H(x), H(y))", "joint": "share of H(x, y)"}


def normalised(
    x: Any,
    y: Any,
    by: str = "min",
    method: str | Method = "ksg",
    groups: ArrayLike | None = None,
    generator: np.random.Generator | None = None,
    **settings: Any,
) -> Estimate:
    """I(x; y) as a share of an entropy: arguments and errors as `estimate`.

    by  "x" or "y": of H(x) or H(y), the uncertainty coefficient of Theil 1970; "min": of the smaller one, 1 where the
        one says all of the other; "joint": of H(x, y), 1 where each says all of the other, and 1 less the distance of
        Rajski 1961. With numbers on one side, whose entropy has no end, "min" is that of the other side

    Entropies are of frequencies, low by about (values - 1) / (2 n) nats. They are of the same rows as the information:
    the interval is that of the ratio, by the influence of every row on both. Nothing is clipped.
    ValueError also: numbers where their entropy is asked for. That is differential: it changes with their unit and may
    be 0 or below, so that nothing is a share of it.
    """
    if by not in WHOLES:
        raise ValueError(f"by must be one of {', '.join(WHOLES)}, got {by!r}.")
    pairs = as_pairs(x, y, groups)
    sides = {"x": pairs.x, "y": pairs.y}
    wanted = {"joint": ["x", "y"], "min": [name for name, side in sides.items() if not side.dim] or ["x", "y"]}
    named = wanted.get(by, [by])
    for name in named:
        if sides[name].dim:
            raise ValueError(
                f"{name} must be categories to be normalised by their entropy, got numbers: a differential entropy "
                "changes with the unit and may be 0 or below, so nothing is a share of it."
            )
    some = [surprisal(sides[name], pairs.groups) for name in named]
    if by == "joint":
        codes, count = joint_codes([pairs.x.codes, pairs.y.codes])
        some = [surprisal(Variable(pairs.x.continuous, codes, count), pairs.groups)]
    whole = min(some)
    if not whole > 0:
        raise ValueError(f"{' and '.join(named)} must take two values or more to be normalised by, got one value.")
    return estimate(x, y, method, groups, generator, **settings).share_of(whole, WHOLES[by])


def surprisal(side: Variable, groups: np.ndarray | None) -> Estimate:
    """The entropy of the frequencies of categories, nats, with its influence."""
    logs = np.log(np.bincount(side.codes) / side.n)
    return mean_of(-logs[side.codes], groups)
