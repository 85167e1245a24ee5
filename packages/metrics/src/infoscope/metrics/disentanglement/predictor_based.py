"""DCI and SAP: disentanglement as seen by predictors of each factor from all latents, or from one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from sklearn.svm import LinearSVC

from infoscope.checks import one_of, require_int
from infoscope.errors import NoVariation, WrongType
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.result import Estimate, clustered_error, undefined
from infoscope.estimators.threads import threads
from infoscope.estimators.variables import aligns
from infoscope.metrics.factor_information.inputs import (
    Factors,
    as_array,
    as_factors,
    of_items,
    varies,
)

TREES, ITEMS_OF_LEAF = 50, 10
EXTRA_TREES, BOOSTED = "extra-trees", "gradient-boosting"
PREDICTORS = {  # of dci -> in words
    EXTRA_TREES: f"extra trees ({TREES}, leaves of {ITEMS_OF_LEAF})",
    BOOSTED: "gradient-boosted trees (scikit-learn's defaults, as disentanglement_lib)",
}
UNUSED = "No latent is of any use to the predictors of some half."
TEST_SHARE = 1 / 3  # of the items of SAP and of DCI as published: 5,000 of 15,000, as in disentanglement_lib
SVM_PENALTY = 0.01  # scikit-learn's C, as there


Split = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Numbers of the items that are trained on, and of those that are held out."""


@dataclass(frozen=True, eq=False)
class Dci:
    """Scores of Eastwood & Williams 2018, section 2.

    disentanglement  mean over latents, weighted by importance, of 1 - entropy of its importances (base K)
    completeness     mean over factors of 1 - entropy (base L)
    informativeness, accuracy  [K] share of held-out items whose value is named right, mean over factors and by factor
    importance       [L, K] of every latent for every factor; columns sum to 1 (to 0 where no forest splits)
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
    halvings: int | None = 5,
    items: int | None = 10_000,
    generator: np.random.Generator | None = None,
    predictor: str = EXTRA_TREES,
    progress: Callable[[float], None] | None = None,
) -> Dci:
    """Disentanglement, completeness and informativeness of a representation [N, L] for factors [N, K]
    (`inputs.as_factors`).

    A predictor names each factor from all latents; for numbers accuracy is R2. Only figures of one predictor compare.

    predictor  "extra-trees": 50 extremely randomised trees (Geurts et al. 2006), leaves of at least 10 items;
               "gradient-boosting": scikit-learn's defaults as in disentanglement_lib (Locatello et al. 2019; there
               halvings=None, items=15_000), some hundred times slower
    items      how many random items are used; None: all
    halvings   random divisions into two halves that predict one another; the error of disentanglement and completeness
               is half the root mean square of their differences, 1.3 to 2 times the spread of new samples. None: one
               training on two thirds of the items, without that error
    progress   called after every predictor with the share of them that is trained

    Unused latents and factors have weight 0; nan, with a note, where nothing is used. ValueError: fewer than two
    latents or factors, a factor of one value, halvings < 1, another predictor, shapes that do not fit, values that are
    not finite; in a half, a single value of a factor (gradient-boosting).
    """
    one_of("predictor", predictor, PREDICTORS)
    generator = generator_or_default(generator)
    known = as_factors(factors, least=2, numbers=True)
    codes = as_array(representation, known.n, least=2)
    if halvings is not None:
        require_int("halvings", halvings, 1)
    chosen = of_items(known.n, items, generator)
    held = round(len(chosen) * TEST_SHARE)
    once = [(np.arange(held, len(chosen)), np.arange(held))]
    splits = once if halvings is None else halves(len(chosen), halvings, generator)
    importance, right = trained(codes[chosen], known.take(chosen), splits, generator, predictor, progress)
    if halvings is None:
        how, of_splits = f"{PREDICTORS[predictor]}, one training on {len(chosen) - held} items", of_one
    else:
        how, of_splits = f"{PREDICTORS[predictor]}, {halvings} halvings of {len(chosen)} items", of_halves
    of_item = right.mean(axis=1)
    error = clustered_error(of_item)
    return Dci(
        disentanglement=of_splits([concentration(one) for one in importance], how),
        completeness=of_splits([concentration(one.T) for one in importance], how),
        informativeness=Estimate(
            float(of_item.mean()), error, "share of held-out items", len(of_item), f"{how}; over items"
        ),
        importance=importance.mean(axis=0),
        accuracy=right.mean(axis=0),
    )


def halves(n: int, halvings: int, generator: np.random.Generator) -> Iterator[Split]:
    """Both halves of each of so many random divisions of n items."""
    for _ in range(halvings):
        order = generator.permutation(n)
        first, second = order[: n // 2], order[n // 2 :]
        yield first, second
        yield second, first


def trained(
    codes: NDArray[np.float64],
    known: Factors,
    splits: Iterable[Split],
    generator: np.random.Generator,
    predictor: str = EXTRA_TREES,
    progress: Callable[[float], None] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Importances in the predictor of each split [splits, L, K]; how often held-out items are named right [held, K]."""
    jobs = []
    for split, (training, held) in enumerate(splits):
        seeds = generator.integers(2**31, size=known.count)
        jobs += [(split, k, training, held, int(seeds[k])) for k in range(known.count)]

    def run(split: int, k: int, training: NDArray, held: NDArray, seed: int) -> tuple:
        values = known.values[:, k] if known.numbers[k] else known.codes[:, k]
        named = values[training]
        if predictor == BOOSTED and named.min() == named.max():
            raise NoVariation(f"factors must take two values in each half of the items, got one of factor {k}.")
        fit = of_trees(predictor, seed, bool(known.numbers[k])).fit(codes[training], named)
        right = fit.predict(codes[held]) == values[held]
        if known.numbers[k]:
            right = 1 - (fit.predict(codes[held]) - values[held]) ** 2 / values[held].var()
        return split, k, held, fit.feature_importances_, right

    importance = np.empty((split + 1, codes.shape[1], known.count))
    right, asked = np.zeros(known.codes.shape), np.zeros(known.codes.shape)
    with ThreadPoolExecutor(threads()) as pool:
        found = pool.map(run, *zip(*jobs))
        for done, (split, k, held, weights, hits) in enumerate(found, 1):
            importance[split, :, k] = weights
            right[held, k] += hits
            asked[held, k] += 1
            if progress is not None:
                progress(done / len(jobs))
    some = asked[:, 0] > 0
    return importance, right[some] / asked[some]


def of_trees(predictor: str, seed: int, numbers: bool) -> Any:
    """An untrained predictor of a factor."""
    if predictor == BOOSTED:
        return (GradientBoostingRegressor if numbers else GradientBoostingClassifier)(random_state=seed)
    trees = ExtraTreesRegressor if numbers else ExtraTreesClassifier
    return trees(TREES, min_samples_leaf=ITEMS_OF_LEAF, max_features=None, random_state=seed)


def concentration(importance: NDArray[np.float64]) -> float:
    """Mean over rows, weighted by their sums, of 1 - entropy of a row's shares to the base of its length; nan if all
    are 0.
    """
    weights = importance.sum(axis=1)
    used = weights > 0
    if not used.any():
        return np.nan
    shares = importance[used] / weights[used, None]
    logs = np.log(shares, where=shares > 0, out=np.zeros_like(shares))
    return float(np.average(1 + (shares * logs).sum(axis=1) / np.log(importance.shape[1]), weights=weights[used]))


def of_one(values: list[float], how: str) -> Estimate:
    """A figure of a single training."""
    if np.isnan(values).any():
        return undefined(UNUSED, "share", 1, how)
    return Estimate(values[0], unit="share", n=1, method=how, notes=("One training says nothing of its error.",))


def of_halves(values: list[float], how: str) -> Estimate:
    """The mean of a figure over both halves of every division, with its error; see `dci`."""
    first, second = np.reshape(values, (-1, 2)).T
    if np.isnan(values).any():
        return undefined(UNUSED, "share", len(first), how)
    error = float(np.sqrt(np.mean((first - second) ** 2))) / 2
    how = f"{how}; over halves"
    return Estimate(float(np.mean(values)), error, "share", len(first), how, degrees=len(first))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Sap(Estimate):
    """The SAP score; matrix [L, K] is the attribute score of every latent for every factor."""

    matrix: NDArray[np.float64]


@aligns("representation", "factors")
def sap(
    representation: Any,
    factors: ArrayLike,
    kind: str | None = None,
    items: int | None = 15_000,
    generator: np.random.Generator | None = None,
) -> Sap:
    """Separated attribute predictability (Kumar et al. 2018): mean over factors of the best minus the second-best score
    of a single latent, on random `items` (None: all); errors are over (test) items, machines and latents as given.

    kind   "discrete": accuracy of a linear support-vector machine (C = 0.01, balanced, as in disentanglement_lib) on a
           third of the items; more than two ordered values in one latent score low. "continuous": R2 of linear
           regression. None: continuous where a factor is numbers

    ValueError: fewer than two latents, a factor of one value, another kind, shapes that do not fit.
    """
    generator = generator_or_default(generator)
    known = as_factors(factors, numbers=True)
    codes = as_array(representation, known.n, least=2)
    kind = kind or ("continuous" if known.numbers.any() else "discrete")
    if kind not in ("discrete", "continuous") or kind == "discrete" and known.numbers.any():
        raise WrongType(f"kind must be discrete or continuous, which numbers need, got {kind!r}.")
    chosen = of_items(known.n, items, generator)
    if kind == "discrete":
        local, matrix = thresholds(codes, known, chosen)
        unit, how = (
            "difference of accuracies",
            f"linear SVM, {len(chosen) - len(local)} training items; over test items",
        )
    else:
        local, matrix = explained(codes[chosen], known.values[chosen])
        unit, how = "difference of R2", "squared correlation; over items"
    second, first = np.argsort(matrix, axis=0)[-2:]
    k = np.arange(known.count)
    value = float((matrix[first, k] - matrix[second, k]).mean())
    gaps = (local[:, first, k] - local[:, second, k]).mean(axis=1)
    error = clustered_error(gaps)
    return Sap(value, error, unit, len(gaps), how, matrix=matrix)


def thresholds(
    codes: NDArray[np.float64], known: Factors, chosen: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """1 where a test item's value is named right from one latent, else 0 [test, L, K], and the shares [L, K]."""
    held = max(1, round(len(chosen) * TEST_SHARE))
    test, training = chosen[:held], chosen[held:]
    right = np.empty((held, codes.shape[1], known.count))
    for k in range(known.count):
        if len(np.unique(known.codes[training, k])) < 2:
            raise NoVariation(f"factors must take two values among the training items, got one of {known.names[k]}.")
        for latent in range(codes.shape[1]):
            machine = LinearSVC(C=SVM_PENALTY, class_weight="balanced", random_state=0)
            machine.fit(codes[training, latent : latent + 1], known.codes[training, k])
            right[:, latent, k] = machine.predict(codes[test, latent : latent + 1]) == known.codes[test, k]
    return right, right.mean(axis=0)


def explained(codes: NDArray[np.float64], values: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Influence of each item on R2 [n, L, K], which is the squared correlation [L, K]."""
    u, v = standardised(codes)[:, :, None], standardised(values)[:, None, :]
    r = (u * v).mean(axis=0)
    return 2 * r * (u * v - r * (u**2 + v**2) / 2), r**2


def standardised(columns: NDArray[Any]) -> NDArray[np.float64]:
    """Columns at mean 0 and deviation 1; constant ones at 0."""
    centred = columns - columns.mean(axis=0)
    deviation = centred.std(axis=0)
    varying = varies(deviation, np.abs(columns).max(axis=0))
    return np.where(varying, centred, 0) / np.where(varying, deviation, 1)
