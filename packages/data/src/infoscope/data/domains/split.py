"""Which items of a domain data set are trained on, validated on and tested on: by group, and by domain."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from infoscope.errors import TooFew


class _Assignment(NamedTuple):
    """Positions of the items of each part, int64, in rising order; validation may be None."""

    train: np.ndarray
    validation: np.ndarray | None
    test: np.ndarray


def assign(
    y: np.ndarray,
    d: np.ndarray,
    groups: np.ndarray,
    held_out: int | None,
    validation: float | None,
    test: float,
    disjoint: bool,
    generator: torch.Generator,
) -> _Assignment:
    """Splits items of class y, domain d and group, int64 [n] each, as `DomainDataset.split`. ValueError: empty part."""
    inside = np.ones(len(d), bool) if held_out is None else d == held_out  # where the test is taken from
    outside = inside if held_out is None else ~inside  # where training is
    group, code = np.unique(groups, return_inverse=True)
    strata = _strata(y, d, code, len(group))
    in_test = np.zeros(len(group), bool)
    if disjoint:
        shared = np.intersect1d(code[inside], code[outside])
        in_test[shared] = draw_evenly(strata[shared], test, generator)
        in_test[np.setdiff1d(code[inside], code[outside])] = True
        tested = inside & in_test[code]
    else:
        tested = inside
    trained = outside & ~in_test[code]
    parts = {"train": trained, "test": tested}
    if validation is not None:
        members = np.unique(code[trained])
        in_validation = np.zeros(len(group), bool)
        in_validation[members] = draw_evenly(strata[members], validation, generator)
        parts["train"], parts["validation"] = trained & ~in_validation[code], trained & in_validation[code]
    for part, items in parts.items():
        if not items.any():
            raise TooFew(
                f"validation {validation!r} and test {test!r} must leave items in every part, but of {len(group)} "
                f"groups none is left for {part}."
            )
    positions = {part: np.flatnonzero(items) for part, items in parts.items()}
    return _Assignment(positions["train"], positions.get("validation"), positions["test"])


def draw_evenly(strata: np.ndarray, fraction: float, generator: torch.Generator) -> np.ndarray:
    """Draws this fraction of the members, bool [n], by systematic sampling over their strata, int64 [n]."""
    n = len(strata)
    order = np.lexsort((permutation(n, generator), strata))
    steps = np.floor(np.arange(n + 1) * fraction + uniform(1, generator))
    drawn = np.empty(n, bool)
    drawn[order] = np.diff(steps) > 0
    return drawn


def permutation(n: int, generator: torch.Generator) -> np.ndarray:
    """The numbers 0..n-1 in random order, int64 [n]."""
    return torch.randperm(n, generator=generator, device=generator.device).cpu().numpy()


def uniform(n: int, generator: torch.Generator) -> np.ndarray:
    """Draws from [0, 1), float64 [n]."""
    return torch.rand(n, generator=generator, device=generator.device, dtype=torch.float64).cpu().numpy()


def _strata(y: np.ndarray, d: np.ndarray, code: np.ndarray, n: int) -> np.ndarray:
    """The stratum of each of n groups: groups that have the same classes and domains have the same one."""
    present = np.zeros((n, y.max() + d.max() + 2), bool)
    present[code, y] = True
    present[code, y.max() + 1 + d] = True
    rows = np.packbits(present, axis=1)
    return np.unique(rows.view(np.dtype((np.void, rows.shape[1]))).ravel(), return_inverse=True)[1]
