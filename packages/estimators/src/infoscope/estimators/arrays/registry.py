"""Mutual information of two arrays: `estimate` by a method of a name or of settings, `methods` for what there is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from infoscope.errors import UnknownName, WrongType
from infoscope.estimators.arrays import (
    categories,
    certified,
    classifiers,
    critics,
    densities,
    diffusion,
    flows,
    gaussian,
    latent,
    neighbours,
    reading,
)
from infoscope.estimators.arrays.critics import CriticMethod
from infoscope.estimators.arrays.diagnosis import diagnose
from infoscope.estimators.arrays.protocol import TAKES, Described, Method, Pairs, as_pairs
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.neural.bounds import is_bound
from infoscope.estimators.reading.result import METHOD, read
from infoscope.estimators.result import Estimate

_FAMILIES = (
    reading, neighbours, gaussian, categories, classifiers, critics, densities, flows, latent, diffusion, certified,
)  # fmt: skip
METHODS: Mapping[str, Described] = MappingProxyType({one.name: one for of in _FAMILIES for one in of.METHODS})


def estimate(
    x: Any,
    y: Any,
    method: str | Method | None = None,
    groups: ArrayLike | None = None,
    generator: np.random.Generator | None = None,
    **settings: Any,
) -> Estimate:
    """I(x; y), nats, of n pairs.

    x, y       [n] or [n, d] arrays, tensors, lists, data frames or sparse matrices, typed by column (`variables`)
    method     a name in `METHODS`, or an object with a `name` and `estimate(pairs, generator)`. None: the reading
               (`infoscope.estimators.reading`), after `diagnose` has made groups of copies and looked for series;
               named methods take the rows as they are
    groups     [n] of dependent rows (a patient, a film): no group is on both sides of a split, the error counts groups
    generator  None is a fresh one with seed 0
    settings   of the method

    The interval of the reading is for the true information; that of any other method for the error of sampling rows
    alone. What is fitted is evaluated on held-out rows; nothing is clipped. InfoscopeError: an unknown method or
    setting, types that the method does not take, other lengths, missing or infinite values, nothing that varies, one
    row.
    """
    generator = generator_or_default(generator)
    if method is None:
        as_method(METHOD, settings)
        known = diagnose(x, y, groups)
        return read(known.pairs, generator, series=known.serial is not None)
    pairs = as_pairs(x, y, groups)
    found = estimate_pairs(as_method(method, settings), pairs, generator)
    return replace(found, notes=tuple(dict.fromkeys((*pairs.notes, *found.notes))))


def estimate_pairs(method: Method, pairs: Pairs, generator: np.random.Generator) -> Estimate:
    """The estimate of a method on checked pairs, nats. InfoscopeError: not applicable; WrongType: not a number."""
    found = method.estimate(pairs, generator)
    if isinstance(found, Estimate):
        return found
    if isinstance(found, bool) or not isinstance(found, Real):
        raise WrongType(f"method must return an Estimate or a number, got {type(found).__name__} from {method.name}.")
    return Estimate(float(found), n=pairs.n, method=method.name)


def as_method(method: str | Method, settings: Mapping[str, Any] | None = None) -> Method:
    """A method by name, or as it is, with some settings changed. ValueError for anything else."""
    if isinstance(method, str):
        if method not in METHODS and not is_bound(method):
            raise UnknownName(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
        method = METHODS.get(method) or CriticMethod(method)
    if isinstance(method, type) or not isinstance(method, Method):
        raise WrongType(
            f"method must be a name (methods() lists them) or an object with a name and estimate(pairs, generator), "
            f"got {method!r}."
        )
    if not settings:
        return method
    if not isinstance(method, Described):
        raise WrongType(f"settings must be given to {method.name} when it is made, got {', '.join(settings)}.")
    return method.with_settings(settings)


class MethodList(tuple[Described, ...]):
    """Methods, printed as a table; `table` is the same as a data frame."""

    @property
    def table(self) -> pd.DataFrame:
        columns = [(one.name, TAKES[one.takes], one.limit, one.cost, one.source) for one in self]
        return pd.DataFrame(columns, columns=["method", "takes", "in the limit", "cost", "source"]).set_index("method")

    def __repr__(self) -> str:
        return self.table.to_string(max_colwidth=None)


def methods() -> MethodList:
    """Every method that `estimate` knows by name: what it takes, what it is in the limit, its cost, its source."""
    return MethodList(METHODS.values())
