"""Information as a share of the entropy of x, of y, of the smaller one, or of both jointly."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from infoscope.errors import Conflict, NoVariation, UnknownName
from infoscope.estimators.arrays.neighbours import Ksg
from infoscope.estimators.arrays.protocol import CATEGORIES, Method, as_pairs
from infoscope.estimators.arrays.registry import as_method, estimate, estimate_pairs
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.knn import estimators as knn
from infoscope.estimators.result import Estimate, mean_of
from infoscope.estimators.variables import Discrete, joint_codes

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

    by  "x" or "y": of H(x) or H(y), the uncertainty coefficient (Theil 1970); "min": of the smaller one; "joint": of
        H(x, y), 1 less the distance of Rajski 1961. With numbers in x or y, "min" is the other's

    Entropies are by the method where it corrects counts, else of frequencies (low by about (values - 1) / (2 n) nats).
    The interval is that of the ratio. Nothing is clipped. ValueError also: numbers where their (differential) entropy
    is asked.
    """
    if by not in WHOLES:
        raise UnknownName(f"by must be one of {', '.join(WHOLES)}, got {by!r}.")
    pairs = as_pairs(x, y, groups)
    sides = {"x": pairs.x, "y": pairs.y}
    wanted = {"joint": ["x", "y"], "min": [name for name, side in sides.items() if not side.dim] or ["x", "y"]}
    named = wanted.get(by, [by])
    for name in named:
        if sides[name].dim:
            raise Conflict(
                f"{name} must be categories to be normalised by their entropy, got numbers: a differential entropy "
                "changes with the unit and may be 0 or below, so nothing is a share of it."
            )
    codes = [sides[name].codes for name in named]
    if by == "joint":
        codes = [joint_codes(codes)[0]]
    asked = as_method(method, settings)
    whole = min(entropy(one, asked, pairs.groups, generator) for one in codes)
    if not whole > 0:
        raise NoVariation(f"{' and '.join(named)} must take two values or more to be normalised by, got one value.")
    found = estimate_pairs(asked, pairs, generator_or_default(generator))
    return replace(found, notes=(*pairs.notes, *found.notes)).share_of(whole, WHOLES[by])


def entropy(
    codes: np.ndarray, method: Method, groups: np.ndarray | None, generator: np.random.Generator | None
) -> Estimate:
    """The entropy of categories 0, 1, ... [n], nats, with its influence, by a categories method or by frequencies."""
    if isinstance(method, Ksg):
        return knn.entropy(Discrete(codes), groups=groups)
    if getattr(method, "takes", None) == CATEGORIES and codes.max() > 0:
        return estimate(Discrete(codes), Discrete(codes), method, groups, generator)
    return mean_of(-np.log(np.bincount(codes) / len(codes))[codes], groups)
