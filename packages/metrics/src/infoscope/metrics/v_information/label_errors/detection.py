"""Labels that are flipped on purpose, and how well scores find them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from infoscope.checks import one_of, require_int
from infoscope.errors import MissingValues, NoVariation, OutOfRange, WrongShape
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.variables import aligns

NOISES = ("symmetric", "pair")
Measure = Callable[[np.ndarray, np.ndarray], np.ndarray]


def flip_labels(
    labels: ArrayLike, share: float, generator: np.random.Generator, noise: str = "symmetric"
) -> tuple[np.ndarray, np.ndarray]:
    """Labels [n] of which a random `share` is replaced, and which (a mask [n]).

    "symmetric": by any other label; "pair": by the next one (Han et al. 2018). ValueError: a share outside (0, 1), or
    that flips nothing; one label only; an unknown noise.
    """
    labels = np.asarray(labels)
    values, codes = np.unique(labels, return_inverse=True)
    count = round(share * len(labels))
    if not 0.0 < share < 1.0 or not count:
        raise OutOfRange(f"share must be between 0 and 1 and flip at least one of {len(labels)} labels, got {share!r}.")
    if len(values) < 2:
        raise NoVariation(f"labels must take at least two values, got only {values.tolist()!r}.")
    one_of("noise", noise, NOISES)
    flipped = np.zeros(len(labels), dtype=bool)
    flipped[generator.choice(len(labels), count, replace=False)] = True
    steps = generator.integers(1, len(values), count) if noise == "symmetric" else 1
    codes[flipped] = (codes[flipped] + steps) % len(values)
    return values[codes], flipped


@aligns("scores", "flipped")
def detection(
    scores: pd.DataFrame,
    flipped: ArrayLike,
    at: Sequence[int] | None = None,
    resamples: int = 500,
    generator: np.random.Generator | None = None,
) -> pd.DataFrame:
    """How well each column of scores [n] finds the items of a mask [n]: precision among the k largest (at; None: as
    many as there are), AUROC, average precision; stratified `resamples` of items give errors and 95 % percentile
    intervals.

    ValueError: a mask without both values, a k outside 1..n, scores that are not finite, fewer than 50 resamples.
    """
    mask = np.asarray(flipped)
    if mask.dtype != bool or mask.shape != (len(scores),) or mask.all() or not mask.any():
        raise WrongShape(
            f"flipped must be a mask [{len(scores)}] that holds both values, got {mask.dtype} {mask.shape}."
        )
    if not np.isfinite(scores.to_numpy(dtype=np.float64)).all():
        raise MissingValues("scores must be finite, but some are not.")
    at = [int(mask.sum())] if at is None else [require_int("at", k, 1) for k in at]
    if max(at) > len(mask):
        raise OutOfRange(f"at must be at most the number of items, {len(mask)}, got {max(at)}.")
    require_int("resamples", resamples, 50)
    generator = generator_or_default(generator)
    parts = [np.flatnonzero(mask), np.flatnonzero(~mask)]
    draws = np.array([np.concatenate([generator.choice(part, len(part)) for part in parts]) for _ in range(resamples)])
    rows = []
    for score in scores:
        values = scores[score].to_numpy(dtype=np.float64)
        for measure, function in measures(at).items():
            again, value = function(values[draws], mask[draws]), float(function(values, mask))
            low, high = np.quantile(again, [0.025, 0.975])
            rows.append([score, measure, value, again.std(ddof=1), low, high, len(mask), len(parts[0])])
    columns = ["score", "measure", "value", "standard_error", "low", "high", "n", "flipped"]
    return pd.DataFrame(rows, columns=columns)


def measures(at: Sequence[int]) -> dict[str, Measure]:
    """What is measured, by name: functions of values and of a mask, [..., n] each -> [...]."""
    found: dict[str, Measure] = {"auroc": auroc, "average_precision": average_precision}
    return found | {f"precision@{k}": np.vectorize(partial(precision, k=k), signature="(n),(n)->()") for k in at}


def average_precision(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The mean over the mask of the precision among items whose value is not below its own (ties: one); [..., n] ->
    [...].
    """
    above = stats.rankdata(-values, method="max", axis=-1).astype(np.int64)  # how many values are not below
    hits = np.cumsum(np.take_along_axis(mask, np.argsort(-values, axis=-1), axis=-1), axis=-1)
    shares = np.take_along_axis(hits, above - 1, axis=-1) / above
    return (shares * mask).sum(axis=-1) / mask.sum(axis=-1)


def auroc(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The share of pairs of which the one in the mask has the larger value, ties one half; [..., n] -> [...]."""
    inside, n = mask.sum(axis=-1), mask.shape[-1]
    ranks = np.where(mask, stats.rankdata(values, axis=-1), 0.0).sum(axis=-1)
    return (ranks - inside * (inside + 1) / 2) / (inside * (n - inside))


def precision(values: np.ndarray, mask: np.ndarray, k: int) -> float:
    """The share of the mask among the k largest values; of items tied at the last place their average share counts."""
    least = np.partition(values, len(values) - k)[len(values) - k]
    above, tied = values > least, values == least
    return float((mask[above].sum() + (k - above.sum()) * mask[tied].mean()) / k)
