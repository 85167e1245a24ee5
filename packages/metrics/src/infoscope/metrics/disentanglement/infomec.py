"""InfoMEC: modularity, explicitness, compactness (Hsu et al. 2023), as published, and cross-fitted InfoE.

The published code evaluates a model on its training items: too high for few items and many latents. Our InfoM and InfoC
are `FactorInformation.modularity` and `compactness`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression

from infoscope.estimators import knn
from infoscope.estimators.alignment import aligns
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.columns import Discrete
from infoscope.estimators.families.protocol import Outcome
from infoscope.estimators.families.scikit import Sklearn
from infoscope.estimators.families.stacked import Stacked
from infoscope.estimators.result import Estimate, mean_of, undefined
from infoscope.estimators.variables import Variable
from infoscope.metrics.disentanglement.information_based import mean_share, plug_in
from infoscope.metrics.disentanglement.predictor_based import standardised
from infoscope.metrics.factor_information.arrays import Latents
from infoscope.metrics.factor_information.inputs import Factors, as_array, as_factors, categorical_mask, random_items
from infoscope.metrics.factor_information.result import OF_ENTROPY, SHARE
from infoscope.metrics.v_information.predictions import Split, fold_splits
from infoscope.metrics.v_information.usable import GAINS, Term, predictions

NEIGHBOURS = 10  # as in the published code, like the next two
MIN_RANGE_SHARE = 1 / 20  # of the largest range of a latent, below which latents are left out
LBFGS_STEPS = 100
LINEAR = Stacked((Sklearn(LogisticRegression(C=np.inf, max_iter=LBFGS_STEPS), "logistic"),))


@dataclass(frozen=True, eq=False)
class InfoMec:
    """The three scores as published; shares [K, L] are I(y_k; z_l) / H(y_k), NaN for latents that are left out.

    Errors are over items, with fits and choices as given; they do not include the bias.
    """

    modularity: Estimate
    explicitness: Estimate
    compactness: Estimate
    shares: NDArray[np.float64] = field(repr=False)


@aligns("representation", "factors")
def explicitness(
    representation: Any,
    factors: ArrayLike,
    folds: int = 3,
    items: int | None = 10_000,
    categorical: Sequence[int] = (),
    generator: np.random.Generator | None = None,
    progress: Callable[[float], None] | None = None,
) -> Estimate:
    """InfoE: mean over factors [N, K] of the logistic-regression V-information of a representation [N, L] as a share of
    entropy; R2 of linear regression for numbers (Hsu et al. 2023; Xu et al. 2020).

    Held-out predictions, mixed with class frequencies (`Stacked`). The interval extends to the value extrapolated to
    more items (`usable.Term`). folds, items, categorical as in `minimality`. ValueError: a factor of one value or with
    a value of one item, every latent constant, other shapes, values that are not finite, fewer than two folds.
    """
    latents, known, generator = chosen_items(representation, factors, items, categorical, generator, numbers=True)
    known.require_items(2, "a second fold")
    x = np.hstack([latents.inputs(latent) for latent in latents.subsets()[-1]])
    x, groups = (x - x.mean(axis=0)) / x.std(axis=0), np.arange(known.n)
    found, further, whole = np.empty((3, known.n, known.count))
    for k, y in enumerate(known.codes.T):
        outcome = Outcome(known.values[:, [k]], None) if known.numbers[k] else Outcome(y, np.unique(y))
        splits = fold_splits(outcome, groups, folds, generator)
        if known.numbers[k]:
            found[:, k], further[:, k], whole[:, k] = squares(x, known.values[:, k], splits, generator)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            full, half = predictions(LINEAR, x, outcome, splits, groups, generator)
        found[:, k], whole[:, k] = full.informed - full.null, -full.null
        further[:, k] = found[:, k] + GAINS * (full.informed - half.informed)
        if progress is not None:
            progress((k + 1) / known.count)
    model = " and ".join(np.unique(np.where(known.numbers, "linear", "logistic")))
    how = f"usable by {model} regression, {folds} folds, {known.n} items; over items"
    term = Term(*(mean_share(local, whole, OF_ENTROPY, how) for local in (found, further)))
    share = term.estimate
    return replace(share, interval=(share.low, min(share.high, max(1.0, share.value))))


def squares(
    x: NDArray[np.float64], y: NDArray[np.float64], splits: Sequence[Split], generator: np.random.Generator
) -> NDArray[np.float64]:
    """Reduction of the held-out squared error of y [n] by linear regression, the same extrapolated to more items, and
    the error without regression [3, n].
    """
    found = np.empty((3, len(y)))
    for training, held in splits:
        rows, centre = generator.permutation(np.flatnonzero(training)), y[training].mean()
        error = (y[held] - centre) ** 2
        gains = [
            error - (y[held] - LinearRegression().fit(x[some], y[some]).predict(x[held])) ** 2
            for some in (rows, rows[: len(rows) // 2])
        ]
        found[:, held] = gains[0], 2 * gains[0] - gains[1], error
    return found


@aligns("representation", "factors")
def published_infomec(
    representation: Any,
    factors: ArrayLike,
    items: int | None = 10_000,
    categorical: Sequence[int] = (),
    generator: np.random.Generator | None = None,
) -> InfoMec:
    """InfoMEC of a representation [N, L] for factors, integers [N, K], as in the code of Hsu et al. 2023.

    Information by nearest neighbours (Ross 2014, k = 10; plug-in for `categorical`), clipped at 0. InfoM is the mean
    over latents (InfoC: over factors) of the largest share over the sum of shares, rescaled to 0 for equal shares;
    latents with less than a twentieth of the largest range are left out. InfoE is by unpenalised balanced logistic
    regression, evaluated on the training items, as a share of the log of the number of values. ValueError: fewer than
    two factors, a factor of one value, every latent constant.
    """
    latents, known, _ = chosen_items(representation, factors, items, categorical, generator, least=2)
    latents.subsets()  # raises an error if every latent is constant
    ranges = np.where(latents.discrete, 0.0, np.ptp(latents.codes, axis=0))
    kept = np.flatnonzero(
        np.where(latents.discrete, np.ptp(latents.codes, axis=0) > 0, ranges > MIN_RANGE_SHARE * ranges.max())
    )
    local = np.stack([local_information(latents, known, latent) for latent in kept], axis=2)
    entropy = known.surprisal.mean(axis=0)
    share = np.maximum(local.mean(axis=0), 0) / entropy[:, None]
    deviation = local - local.mean(axis=0) - share * (known.surprisal - entropy)[..., None]
    rows = share + np.where(share > 0, deviation, 0) / entropy[:, None]
    how = f"k = {NEIGHBOURS}, {len(kept)} of {latents.count} latents, {known.n} items; over items"
    shares = np.full((known.count, latents.count), np.nan)
    shares[:, kept] = share
    return InfoMec(dominance(rows, share, 0, how), in_sample(latents, known), dominance(rows, share, 1, how), shares)


def chosen_items(
    representation: Any,
    factors: ArrayLike,
    items: int | None,
    categorical: Sequence[int],
    generator: np.random.Generator | None,
    least: int = 1,
    numbers: bool = False,
) -> tuple[Latents, Factors, np.random.Generator]:
    """Random items of a representation and its factors; see `explicitness`."""
    generator = generator_or_default(generator)
    known = as_factors(factors, least=least, numbers=numbers)
    codes = as_array(representation, known.n)
    chosen = np.sort(random_items(known.n, items, generator))
    latents = Latents(codes[chosen], categorical_mask(categorical, codes.shape[1]))
    return latents, known.take(chosen), generator


def local_information(latents: Latents, known: Factors, latent: int) -> NDArray[np.float64]:
    """Local information [n, K] of a latent, nats; the mean for an item that is alone with its value."""
    if latents.discrete[latent]:
        return plug_in(np.unique(latents.codes[:, latent], return_inverse=True)[1][:, None], known)[:, 0]
    x = Variable(latents.codes[:, [latent]], None, 1)
    found = [knn.mutual_information(x, Discrete(y), NEIGHBOURS, margins="scaled", local=True) for y in known.codes.T]
    return np.stack([np.where(np.isnan(one.local), one.value, one.local) for one in found], axis=1)


def dominance(rows: NDArray[np.float64], share: NDArray[np.float64], axis: int, how: str) -> Estimate:
    """The rescaled mean of largest / sum along an axis of shares [K, L], which are the means of rows [n, K, L]."""
    count, total = share.shape[axis], share.sum(axis=axis)
    if count < 2 or not total.all():
        why = "There is only one latent or factor." if count < 2 else "All shares of a latent or a factor are 0."
        return undefined(why, SHARE, len(rows), how)
    largest = np.expand_dims(share.argmax(axis=axis), axis)
    ratio = np.take_along_axis(share, largest, axis).squeeze(axis) / total
    of_largest = np.take_along_axis(rows, largest[None], axis + 1).squeeze(axis + 1)
    each = ratio + (of_largest - ratio * rows.sum(axis=axis + 1)) / total
    return mean_of((count * each.mean(axis=1) - 1) / (count - 1), unit=SHARE, method=how)


def in_sample(latents: Latents, known: Factors) -> Estimate:
    """The published InfoE: mean over factors of 1 - log loss / log of the number of values, on the training items."""
    x = np.hstack([
        latents.inputs(latent) if discrete else standardised(latents.inputs(latent))
        for latent, discrete in enumerate(latents.discrete)
    ])  # fmt: skip
    scores, unfinished = np.empty((known.n, known.count)), 0
    for k, y in enumerate(known.codes.T):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fit = LogisticRegression(C=np.inf, class_weight="balanced", max_iter=LBFGS_STEPS).fit(x, y)
        unfinished += int(fit.n_iter_.max() >= LBFGS_STEPS)
        chance = np.clip(fit.predict_proba(x)[np.arange(known.n), y], np.finfo(float).eps, 1)
        scores[:, k] = 1 + np.log(chance) / np.log(len(fit.classes_))
    notes = ("Evaluated on the training items, and therefore too high.",)
    if unfinished:
        notes += (f"{unfinished} of {known.count} fits did not converge in {LBFGS_STEPS} steps.",)
    how = f"logistic regression without penalty, {known.n} items; over items"
    return mean_of(scores.mean(axis=1), unit=SHARE, method=how, notes=notes)
