"""DCI and SAP: disentanglement measured by predictors of each factor from all latents, or from a single one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from infoscope.checks import require_int
from infoscope.errors import NoVariation, WrongType
from infoscope.estimators.alignment import aligns
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.result import Estimate, clustered_error, undefined
from infoscope.estimators.threads import threads
from infoscope.metrics.factor_information.inputs import (
    Factors,
    as_array,
    as_factors,
    random_items,
    varies,
)
from infoscope.notes import Note

TREES, MIN_LEAF_ITEMS = 50, 10
UNUSED = "In some half, the predictors use no column."
TEST_SHARE = 1 / 3  # of the items of SAP: 5,000 of 15,000, as in disentanglement_lib


Split = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Indices of training items and of held-out items."""


@dataclass(frozen=True, eq=False)
class Dci:
    """Scores of Eastwood & Williams 2018, section 2.

    disentanglement  mean over latents, weighted by importance, of 1 - entropy of its importances (base K)
    completeness     mean over factors of 1 - entropy (base L)
    informativeness  share of held-out items predicted correctly, mean over factors; accuracy [K]: by factor
    importance       [L, K] of every latent for every factor; columns sum to 1 (to 0 where no tree splits)
    """

    disentanglement: Estimate
    completeness: Estimate
    informativeness: Estimate
    importance: NDArray[np.float64] = field(repr=False)
    accuracy: NDArray[np.float64] = field(repr=False)


@aligns("representation", "factors")
def dci(
    representation: Any,
    factors: ArrayLike,
    halvings: int = 5,
    items: int | None = 10_000,
    generator: np.random.Generator | None = None,
    progress: Callable[[float], None] | None = None,
) -> Dci:
    """Disentanglement, completeness and informativeness of a representation [N, L] for factors [N, K]
    (`inputs.as_factors`).

    50 extremely randomised trees (Geurts et al. 2006), with leaves of at least 10 items, predict each factor from all
    latents; for numbers, accuracy is R2. Scores by other predictors cannot be compared.

    items      number of random items used; None: all
    halvings   random divisions into two halves, each predicted from the other; the error of disentanglement and
               completeness is half the root mean square of their differences, 1.3 to 2 times the standard deviation
               over new samples
    progress   called after every predictor with the share done

    Unused latents and factors have weight 0; NaN, with a note, where none is used. ValueError: fewer than two latents
    or factors, a factor of one value, halvings < 1, other shapes, values that are not finite.
    """
    generator = generator_or_default(generator)
    known = as_factors(factors, least=2, numbers=True)
    codes = as_array(representation, known.n, least=2)
    require_int("halvings", halvings, 1)
    chosen = random_items(known.n, items, generator)
    splits = half_splits(len(chosen), halvings, generator)
    importance, correct = train_predictors(codes[chosen], known.take(chosen), splits, generator, progress)
    how = f"extra trees ({TREES}, leaves of {MIN_LEAF_ITEMS}), {halvings} halvings of {len(chosen)} items"
    of_item = correct.mean(axis=1)
    error = clustered_error(of_item)
    return Dci(
        disentanglement=halves_estimate([concentration(one) for one in importance], how),
        completeness=halves_estimate([concentration(one.T) for one in importance], how),
        informativeness=Estimate(
            float(of_item.mean()), error, "share of held-out items", len(of_item), f"{how}; over items"
        ),
        importance=importance.mean(axis=0),
        accuracy=correct.mean(axis=0),
    )


def half_splits(n: int, halvings: int, generator: np.random.Generator) -> Iterator[Split]:
    """The splits of random divisions of n items into halves, each half held out once."""
    for _ in range(halvings):
        order = generator.permutation(n)
        first, second = order[: n // 2], order[n // 2 :]
        yield first, second
        yield second, first


def train_predictors(
    codes: NDArray[np.float64],
    known: Factors,
    splits: Iterable[Split],
    generator: np.random.Generator,
    progress: Callable[[float], None] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Importances by split [splits, L, K]; shares of correct predictions of held-out items [held, K]."""
    jobs = []
    for split, (training, held) in enumerate(splits):
        seeds = generator.integers(2**31, size=known.count)
        jobs += [(split, k, training, held, int(seeds[k])) for k in range(known.count)]

    def run(split: int, k: int, training: NDArray, held: NDArray, seed: int) -> tuple:
        values = known.values[:, k] if known.numbers[k] else known.codes[:, k]
        trees = ExtraTreesRegressor if known.numbers[k] else ExtraTreesClassifier
        fit = trees(TREES, min_samples_leaf=MIN_LEAF_ITEMS, max_features=None, random_state=seed)
        fit.fit(codes[training], values[training])
        predicted = fit.predict(codes[held])
        correct = predicted == values[held]
        if known.numbers[k]:
            correct = 1 - (predicted - values[held]) ** 2 / values[held].var()
        return split, k, held, fit.feature_importances_, correct

    importance = np.empty((split + 1, codes.shape[1], known.count))
    correct, count = np.zeros(known.codes.shape), np.zeros(known.codes.shape)
    with ThreadPoolExecutor(threads()) as pool:
        found = pool.map(run, *zip(*jobs))
        for done, (split, k, held, weights, hits) in enumerate(found, 1):
            importance[split, :, k] = weights
            correct[held, k] += hits
            count[held, k] += 1
            if progress is not None:
                progress(done / len(jobs))
    return importance, correct / count


def concentration(importance: NDArray[np.float64]) -> float:
    """Mean over rows, weighted by their sums, of 1 - entropy (base: length) of a row's shares; NaN if all are 0."""
    weights = importance.sum(axis=1)
    used = weights > 0
    if not used.any():
        return np.nan
    shares = importance[used] / weights[used, None]
    logs = np.log(shares, where=shares > 0, out=np.zeros_like(shares))
    return float(np.average(1 + (shares * logs).sum(axis=1) / np.log(importance.shape[1]), weights=weights[used]))


LINEAR = Note(
    "SAP is low for a perfect code of three or more ordered values: a linear machine cannot separate a middle value of "
    "one column. kind='thresholds' can.",
    "linear machine",
)


def halves_estimate(values: list[float], how: str) -> Estimate:
    """The mean of a score over both halves of every division, with its error; see `dci`."""
    first, second = np.reshape(values, (-1, 2)).T
    if np.isnan(values).any():
        return undefined(UNUSED, "share", len(first), how)
    error = float(np.sqrt(np.mean((first - second) ** 2))) / 2
    how = f"{how}; over halves"
    return Estimate(float(np.mean(values)), error, "share", len(first), how, degrees=len(first))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Sap(Estimate):
    """The SAP score; matrix [L, K] is the attribute score of every latent for every factor; perfect, the score of a
    code with one exact latent for each factor, where known.
    """

    matrix: NDArray[np.float64]
    perfect: float = np.nan


@aligns("representation", "factors")
def sap(
    representation: Any,
    factors: ArrayLike,
    kind: str | None = None,
    items: int | None = 15_000,
    generator: np.random.Generator | None = None,
) -> Sap:
    """Separated attribute predictability (Kumar et al. 2018): mean over factors of the best minus the second-best score
    of a single latent, on random `items` (None: all). Errors are over (test) items; classifiers and latents are taken
    as given.

    kind   "discrete": accuracy of a linear support-vector machine (C = 0.01, balanced, as in disentanglement_lib) on a
           third of the items; it is low for more than two ordered values in one latent. "thresholds": balanced
           accuracy of thresholds on the latent, as Kumar et al. 2018 define it: at most 1 - the mean of 1 / values.
           "continuous": R2 of linear regression. None: continuous where a factor is numbers

    ValueError: fewer than two latents, a factor of one value, another kind, other shapes.
    """
    generator = generator_or_default(generator)
    known = as_factors(factors, numbers=True)
    codes = as_array(representation, known.n, least=2)
    kind = kind or ("continuous" if known.numbers.any() else "discrete")
    classifiers = {"discrete": "linear SVM", "thresholds": "thresholds, balanced"}
    if kind not in (*classifiers, "continuous") or kind in classifiers and known.numbers.any():
        raise WrongType(f"kind must be discrete, thresholds or continuous (for numbers: continuous), got {kind!r}.")
    chosen = random_items(known.n, items, generator)
    if kind in classifiers:
        local, matrix = single_accuracies(codes, known, chosen, kind == "thresholds")
        unit = "difference of accuracies"
        how = f"{classifiers[kind]}, {len(chosen) - len(local)} training items; over test items"
    else:
        local, matrix = correlations(codes[chosen], known.values[chosen])
        unit, how = "difference of R2", "squared correlation; over items"
    second, first = np.argsort(matrix, axis=0)[-2:]
    k = np.arange(known.count)
    value = float((matrix[first, k] - matrix[second, k]).mean())
    gaps = (local[:, first, k] - local[:, second, k]).mean(axis=1)
    error = clustered_error(gaps)
    perfect = float(np.mean(1 - 1 / (known.codes.max(axis=0) + 1))) if kind == "thresholds" else np.nan
    notes = (LINEAR,) if kind == "discrete" and known.codes.max() > 1 else ()
    return Sap(value, error, unit, len(gaps), how, notes, matrix=matrix, perfect=perfect)


def single_accuracies(
    codes: NDArray[np.float64], known: Factors, chosen: NDArray[np.int64], thresholds: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Whether a test item is predicted correctly from one latent [test, L, K], and the accuracies [L, K].

    By a support-vector machine, 1 or 0; or by thresholds, weighted so that every value of a factor counts the same.
    """
    held = max(1, round(len(chosen) * TEST_SHARE))
    test, training = chosen[:held], chosen[held:]
    correct = np.empty((held, codes.shape[1], known.count))
    for k in range(known.count):
        y, seen = known.codes[test, k], known.codes[training, k]
        values = len(np.unique(seen))
        if values < 2:
            raise NoVariation(f"factors must take two values among the training items, got one for {known.names[k]}.")
        for latent in range(codes.shape[1]):
            machine = LinearSVC(C=0.01, class_weight="balanced", random_state=0)
            if thresholds:
                machine = DecisionTreeClassifier(max_leaf_nodes=values, class_weight="balanced", random_state=0)
            machine.fit(codes[training, latent : latent + 1], seen)
            correct[:, latent, k] = machine.predict(codes[test, latent : latent + 1]) == y
        if thresholds:
            _, place, counts = np.unique(y, return_inverse=True, return_counts=True)
            correct[:, :, k] *= (held / (len(counts) * counts[place]))[:, None]
    return correct, correct.mean(axis=0)


def correlations(codes: NDArray[np.float64], values: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Influence of each item on the squared correlations [n, L, K], and these [L, K]."""
    u, v = standardised(codes)[:, :, None], standardised(values)[:, None, :]
    r = (u * v).mean(axis=0)
    return 2 * r * (u * v - r * (u**2 + v**2) / 2), r**2


def standardised(columns: NDArray[Any]) -> NDArray[np.float64]:
    """Columns with mean 0 and standard deviation 1; constant ones are 0."""
    centred = columns - columns.mean(axis=0)
    deviation = centred.std(axis=0)
    varying = varies(deviation, np.abs(columns).max(axis=0))
    return np.where(varying, centred, 0) / np.where(varying, deviation, 1)
