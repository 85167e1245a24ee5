"""DCI and SAP: disentanglement measured by predictors of each factor from all latents,
or from a single one.
"""

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

Values = NDArray[np.float64]
Codes = NDArray[np.int64]

TREES = 50
MIN_LEAF_ITEMS = 10
UNUSED = "In some half, the predictors use no column."
TEST_SHARE = 1 / 3  # of the items of SAP: 5,000 of 15,000, as in disentanglement_lib


Split = tuple[Codes, Codes]
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
    importance: Values = field(repr=False)
    accuracy: Values = field(repr=False)


@aligns("representation", "factors")
def dci(
    representation: Any,
    factors: ArrayLike,
    halvings: int = 5,
    items: int | None = 10_000,
    generator: np.random.Generator | None = None,
    progress: Callable[[float], None] | None = None,
) -> Dci:
    """Disentanglement, completeness and informativeness of a representation for
    factors.

    50 extremely randomised trees (Geurts et al. 2006), with leaves of at least 10
    items, predict each factor from all latents; for numbers, accuracy is R2. Scores by
    other predictors cannot be compared.

    Parameters
    ----------
    representation
        Numbers [N, L].
    factors
        [N, K], as in `inputs.as_factors`.
    halvings
        Random divisions into two halves, each predicted from the other; the error of
        disentanglement and completeness is half the root mean square of their
        differences, 1.3 to 2 times the standard deviation over new samples.
    items
        Number of random items used; None: all.
    progress
        Called after every predictor with the share done.

    Returns
    -------
    Dci
        Unused latents and factors have weight 0; NaN, with a note, where all are
        unused.

    Raises
    ------
    ValueError
        Fewer than two latents or factors, a factor of one value, halvings < 1, other
        shapes, values that are not finite.
    """
    generator = generator_or_default(generator)
    all_factors = as_factors(factors, least=2, numbers=True)
    codes = as_array(representation, all_factors.n, least=2)
    require_int("halvings", halvings, 1)
    chosen = random_items(all_factors.n, items, generator)
    splits = half_splits(len(chosen), halvings, generator)
    importance, correct = train_predictors(
        codes[chosen], all_factors.take(chosen), splits, generator, progress
    )
    method = (
        f"extra trees ({TREES}, leaves of {MIN_LEAF_ITEMS}), {halvings} halvings of "
        f"{len(chosen)} items"
    )
    correct_by_item = correct.mean(axis=1)
    informativeness = Estimate(
        float(correct_by_item.mean()),
        clustered_error(correct_by_item),
        "share of held-out items",
        len(correct_by_item),
        f"{method}; over items",
    )
    by_latent = [concentration(matrix) for matrix in importance]
    by_factor = [concentration(matrix.T) for matrix in importance]
    return Dci(
        disentanglement=halves_estimate(by_latent, method),
        completeness=halves_estimate(by_factor, method),
        informativeness=informativeness,
        importance=importance.mean(axis=0),
        accuracy=correct.mean(axis=0),
    )


def half_splits(
    n: int, halvings: int, generator: np.random.Generator
) -> Iterator[Split]:
    """The splits of random divisions of n items into halves, each half held out once."""
    for _ in range(halvings):
        order = generator.permutation(n)
        first = order[: n // 2]
        second = order[n // 2 :]
        yield first, second
        yield second, first


def train_predictors(
    codes: Values,
    factors: Factors,
    splits: Iterable[Split],
    generator: np.random.Generator,
    progress: Callable[[float], None] | None = None,
) -> tuple[Values, Values]:
    """Importances by split [splits, L, K]; shares of correct predictions of held-out
    items [n, K].
    """
    jobs = []
    for split, (training, held_out) in enumerate(splits):
        seeds = generator.integers(2**31, size=factors.count)
        for k in range(factors.count):
            jobs.append((split, k, training, held_out, int(seeds[k])))

    def run(job: tuple[int, int, NDArray, NDArray, int]) -> tuple[NDArray, NDArray]:
        _, k, training, held_out, seed = job
        is_number = factors.numbers[k]
        values = factors.values[:, k] if is_number else factors.codes[:, k]
        trees = ExtraTreesRegressor if is_number else ExtraTreesClassifier
        fit = trees(
            TREES, min_samples_leaf=MIN_LEAF_ITEMS, max_features=None, random_state=seed
        )
        fit.fit(codes[training], values[training])
        predicted = fit.predict(codes[held_out])
        truth = values[held_out]
        if is_number:
            correct = 1 - (predicted - truth) ** 2 / truth.var()
        else:
            correct = predicted == truth
        return fit.feature_importances_, correct

    split_count = len(jobs) // factors.count
    importance = np.empty((split_count, codes.shape[1], factors.count))
    correct = np.zeros(factors.codes.shape)
    count = np.zeros(factors.codes.shape)
    with ThreadPoolExecutor(threads()) as pool:
        for done, (job, result) in enumerate(zip(jobs, pool.map(run, jobs)), 1):
            split, k, _, held_out, _ = job
            weights, hits = result
            importance[split, :, k] = weights
            correct[held_out, k] += hits
            count[held_out, k] += 1
            if progress is not None:
                progress(done / len(jobs))
    return importance, correct / count


def concentration(importance: Values) -> float:
    """Mean over rows, weighted by their sums, of 1 - entropy (base: length) of a row's
    shares; NaN if all are 0.
    """
    weights = importance.sum(axis=1)
    used = weights > 0
    if not used.any():
        return np.nan
    shares = importance[used] / weights[used, None]
    logs = np.log(shares, where=shares > 0, out=np.zeros_like(shares))
    concentrations = 1 + (shares * logs).sum(axis=1) / np.log(importance.shape[1])
    return float(np.average(concentrations, weights=weights[used]))


LINEAR = Note(
    "SAP is low for a perfect code of three or more ordered values: a linear machine "
    "cannot separate a middle value of "
    "one column. kind='thresholds' can.",
    "linear machine",
)


def halves_estimate(values: list[float], method: str) -> Estimate:
    """The mean of a score over both halves of every division, with its error; see
    `dci`.
    """
    first, second = np.reshape(values, (-1, 2)).T
    n = len(first)
    if np.isnan(values).any():
        return undefined(UNUSED, "share", n, method)
    mean_square = np.mean((first - second) ** 2)
    error = float(np.sqrt(mean_square)) / 2
    method = f"{method}; over halves"
    return Estimate(float(np.mean(values)), error, "share", n, method, degrees=n)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Sap(Estimate):
    """The SAP score; matrix [L, K] is the attribute score of every latent for every
    factor; perfect, the score of a code with one exact latent for each factor, where
    known.
    """

    matrix: Values
    perfect: float = np.nan


@aligns("representation", "factors")
def sap(
    representation: Any,
    factors: ArrayLike,
    kind: str | None = None,
    items: int | None = 15_000,
    generator: np.random.Generator | None = None,
) -> Sap:
    """Separated attribute predictability: mean over factors of the best minus the
    second-best score of one latent.

    Parameters
    ----------
    representation
        Numbers [N, L].
    factors
        [N, K], as in `inputs.as_factors`.
    kind
        "discrete": accuracy of a linear support-vector machine (C = 0.01, balanced, as
        in disentanglement_lib) on a third of the items; it is low for more than two
        ordered values in one latent. "thresholds": balanced accuracy of thresholds on
        the latent, as Kumar et al. 2018 define it: at most 1 - the mean of 1 / values.
        "continuous": R2 of linear regression. None: continuous where a factor is
        numbers.
    items
        Number of random items used; None: all.

    Returns
    -------
    Sap
        Errors are over (test) items; classifiers and latents are treated as fixed.

    Raises
    ------
    ValueError
        Fewer than two latents, a factor of one value, another kind, other shapes.
    """
    generator = generator_or_default(generator)
    all_factors = as_factors(factors, numbers=True)
    has_numbers = all_factors.numbers.any()
    codes = as_array(representation, all_factors.n, least=2)
    if not kind:
        kind = "continuous" if has_numbers else "discrete"
    classifiers = {"discrete": "linear SVM", "thresholds": "thresholds, balanced"}
    if kind not in (*classifiers, "continuous") or kind in classifiers and has_numbers:
        raise WrongType(
            "kind must be discrete, thresholds or continuous (for numbers: "
            f"continuous), got {kind!r}."
        )
    chosen = random_items(all_factors.n, items, generator)
    if kind in classifiers:
        local, matrix = single_accuracies(
            codes, all_factors, chosen, kind == "thresholds"
        )
        unit = "difference of accuracies"
        method = (
            f"{classifiers[kind]}, {len(chosen) - len(local)} training items; over "
            "test items"
        )
    else:
        local, matrix = correlations(codes[chosen], all_factors.values[chosen])
        unit = "difference of R2"
        method = "squared correlation; over items"
    second, first = np.argsort(matrix, axis=0)[-2:]
    k = np.arange(all_factors.count)
    value = float((matrix[first, k] - matrix[second, k]).mean())
    gaps = (local[:, first, k] - local[:, second, k]).mean(axis=1)
    error = clustered_error(gaps)
    perfect = np.nan
    if kind == "thresholds":
        values = all_factors.codes.max(axis=0) + 1
        perfect = float(np.mean(1 - 1 / values))
    notes = ()
    if kind == "discrete" and all_factors.codes.max() > 1:
        notes = (LINEAR,)
    return Sap(
        value, error, unit, len(gaps), method, notes, matrix=matrix, perfect=perfect
    )


def single_accuracies(
    codes: Values, factors: Factors, chosen: Codes, thresholds: bool
) -> tuple[Values, Values]:
    """Whether a test item is predicted correctly from one latent [test, L, K], and the
    accuracies [L, K].

    By a support-vector machine, 1 or 0; or by thresholds, weighted so that every value
    of a factor counts the same.
    """
    count = max(1, round(len(chosen) * TEST_SHARE))
    test = chosen[:count]
    training = chosen[count:]
    correct = np.empty((count, codes.shape[1], factors.count))
    for k in range(factors.count):
        y_test = factors.codes[test, k]
        y_training = factors.codes[training, k]
        values = len(np.unique(y_training))
        if values < 2:
            raise NoVariation(
                "factors must take two values among the training items, got one for "
                f"{factors.names[k]}."
            )
        for latent in range(codes.shape[1]):
            if thresholds:
                machine = DecisionTreeClassifier(
                    max_leaf_nodes=values, class_weight="balanced", random_state=0
                )
            else:
                machine = LinearSVC(C=0.01, class_weight="balanced", random_state=0)
            column = codes[:, latent : latent + 1]
            machine.fit(column[training], y_training)
            correct[:, latent, k] = machine.predict(column[test]) == y_test
        if thresholds:
            _, place, counts = np.unique(
                y_test, return_inverse=True, return_counts=True
            )
            weights = count / (len(counts) * counts[place])
            correct[:, :, k] *= weights[:, None]
    return correct, correct.mean(axis=0)


def correlations(codes: Values, values: NDArray[Any]) -> tuple[Values, Values]:
    """Influence of each item on the squared correlations [n, L, K], and these [L, K]."""
    u = standardised(codes)[:, :, None]
    v = standardised(values)[:, None, :]
    r = (u * v).mean(axis=0)
    influence = 2 * r * (u * v - r * (u**2 + v**2) / 2)
    return influence, r**2


def standardised(columns: NDArray[Any]) -> Values:
    """Columns with mean 0 and standard deviation 1; constant ones are 0."""
    centred = columns - columns.mean(axis=0)
    deviation = centred.std(axis=0)
    varying = varies(deviation, np.abs(columns).max(axis=0))
    return np.where(varying, centred, 0) / np.where(varying, deviation, 1)
