"""Information of latents about factors, estimated from arrays.

By classifiers (held out, calibrated): each term is a lower bound up to sampling error; differences are not bounds. By
nearest neighbours (Ross 2014): biased low in many dimensions, so that unique information is too large and redundancy
too small.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from infoscope.checks import one_of
from infoscope.errors import Conflict, NoVariation
from infoscope.estimators import classifier, knn, uncertainty
from infoscope.estimators.alignment import aligns
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.column_types import as_variable
from infoscope.estimators.columns import Continuous, Discrete
from infoscope.estimators.result import clustered_error
from infoscope.estimators.uncertainty.subsampling import group_codes
from infoscope.metrics.factor_information.inputs import (
    Factors,
    as_array,
    as_factors,
    categorical_mask,
    random_items,
    varies,
)
from infoscope.metrics.factor_information.result import FactorInformation
from infoscope.metrics.v_information.usable import Local, with_ignorance

MIXTURE_FOLDS = 3  # whose rows share the weights of a mixture
_Term = Callable[[tuple[int, ...], int], NDArray[np.float64]]
"""Indices of latents, index of a factor -> pointwise information [n], nats."""
Terms = tuple[NDArray[np.float64], str]
"""Pointwise values [n, K, 2 L + 1] and a description of the method."""


@aligns("representation", "factors", "groups")
def from_arrays(
    representation: Any,
    factors: ArrayLike,
    method: str = "classifier",
    groups: ArrayLike | None = None,
    k: int = 5,
    resamples: int | None = 100,
    family: Any = ("logistic", "knn"),
    folds: int = 3,
    items: int | None = 10_000,
    categorical: Sequence[int] = (),
    factor_names: Sequence[str] | None = None,
    latent_names: Sequence[str] | None = None,
    generator: np.random.Generator | None = None,
    progress: Callable[[float], None] | None = None,
) -> FactorInformation:
    """I(y_k; z_l), I(y_k; all but z_l) and I(y_k; z), nats, of a representation [N, L] and factors [N, K].

    factors      as in `inputs.as_factors`: classes; for "knn" also numbers, whose entropy is NaN
    method       "classifier" or "knn"; see the module
    groups       [N], dependent items: they share a fold, a half-sample and a cluster
    k, resamples for "knn": neighbours, and half-samples for errors, at about twice the cost (errors 1.2 to 1.5 times
                 the true ones; None: from local values, 0.8 to 1 times)
    family, folds  for "classifier", see `classifier.cross_fit`; several families: chosen by fold and set of latents
    items        number of random items used; None: all. categorical: indices of the latents that are categories

    Estimates are not clipped. Constant latents are left out of the rest. ValueError: a factor of one value or with a
    value of one item, every latent constant, other shapes, values that are not finite.
    """
    generator = generator_or_default(generator)
    known = as_factors(factors, factor_names, numbers=True)
    codes = as_array(representation, known.n)
    discrete = categorical_mask(categorical, codes.shape[1])
    names = tuple(latent_names or (f"column {i}" for i in range(codes.shape[1])))
    one_of("method", method, ("knn", "classifier"))
    if method == "classifier" and known.numbers.any():
        raise Conflict("method must be knn for factors that are numbers, got classifier; give classes as integers.")
    clusters = None if groups is None else group_codes(known.n, groups)[1]
    chosen = np.sort(random_items(known.n, items, generator))
    known = known.take(chosen)
    known.require_items(2, "a neighbour, or a second fold")
    latents = Latents(codes[chosen], discrete)
    clusters = None if clusters is None else clusters[chosen]
    if method == "knn":
        pointwise, how = _knn_terms(latents, known, clusters, k, resamples, generator)
    else:
        pointwise, how = classifier_terms(latents, known, clusters, family, folds, generator, progress)
    surprisal = known.surprisal
    return FactorInformation.from_pointwise(
        known.names, names, surprisal.mean(axis=0), pointwise, f"{how}, {known.n} items", surprisal, clusters
    )


@dataclass(frozen=True, eq=False)
class Latents:
    """A representation [n, L] and which of its columns are categories."""

    codes: NDArray[np.float64]
    discrete: NDArray[np.bool_]

    @property
    def count(self) -> int:
        return self.codes.shape[1]

    def subsets(self) -> list[tuple[int, ...]]:
        """Each latent, all others of each, and all latents [2 L + 1]; constant latents are left out."""
        varying = np.flatnonzero(varies(self.codes.std(axis=0), np.abs(self.codes).max(axis=0))).tolist()
        if not varying:
            raise NoVariation(f"representation must vary, got {self.count} constant columns.")
        alone = [(latent,) if latent in varying else () for latent in range(self.count)]
        rest = [tuple(other for other in varying if other != latent) for latent in range(self.count)]
        return [*alone, *rest, tuple(varying)]

    def columns(self, members: tuple[int, ...]) -> list[Continuous | Discrete]:
        """Some latents as `Continuous` and `Discrete` columns."""
        return [(Discrete if self.discrete[m] else Continuous)(self.codes[:, m]) for m in members]

    def inputs(self, latent: int) -> NDArray[np.float64]:
        """A latent as the input of a classifier [n, d]: a number, or a one-hot category."""
        column = self.codes[:, latent]
        if not self.discrete[latent]:
            return column[:, None]
        values, codes = np.unique(column, return_inverse=True)
        return np.eye(len(values))[codes]


def _all_terms(latents: Latents, factors: int, term: _Term) -> NDArray[np.float64]:
    """Pointwise values [n, K, 2 L + 1]; 0 for no latents, and one estimate for equal subsets."""
    pointwise = np.zeros((len(latents.codes), factors, 2 * latents.count + 1))
    subsets = latents.subsets()
    for members in filter(None, dict.fromkeys(subsets)):
        places = [place for place, subset in enumerate(subsets) if subset == members]
        for factor in range(factors):
            pointwise[:, factor, places] = term(members, factor)[:, None]
    return pointwise


def _knn_terms(
    latents: Latents,
    known: Factors,
    clusters: NDArray[np.int64] | None,
    k: int,
    resamples: int | None,
    generator: np.random.Generator,
) -> Terms:
    """The terms by the k-nearest-neighbour estimator; see `from_arrays`."""
    plan = None if resamples is None else uncertainty.half_samples(known.n, resamples, generator, clusters)
    groups = np.arange(known.n) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    methods, noted = Counter(), Counter()

    def term(members: tuple[int, ...], factor: int) -> NDArray[np.float64]:
        x, y = as_variable("representation", latents.columns(members)), known.variable(factor)
        found = knn.mutual_information(x, y, k, local=True)
        methods[found.method] += 1
        noted[bool(found.notes)] += 1
        local = np.where(np.isnan(found.local), found.value, found.local)  # rows alone in their class
        if plan is None:
            return local
        error, spread = uncertainty.subsample(x, y, k=k, resamples=plan).standard_error, clustered_error(local, groups)
        return found.value + (local - found.value) * (error / spread if spread > 0 else 1.0)

    pointwise = _all_terms(latents, known.count, term)
    how = [f"nearest neighbours ({' or '.join(methods)}, k = {k})"]
    how.append("errors of the local values" if plan is None else f"errors of {resamples} half-samples")
    if noted[True]:
        how.append(f"{noted[True]} terms with ties or small classes")
    return pointwise, "; ".join(how)


def classifier_terms(
    latents: Latents,
    known: Factors,
    clusters: NDArray[np.int64] | None,
    family: Any,
    folds: int,
    generator: np.random.Generator,
    progress: Callable[[float], None] | None = None,
) -> Terms:
    """The terms by cross-fitted classifiers, one for each factor and set of latents; see `from_arrays`."""
    blocks = {str(latent): latents.inputs(latent) for latent in range(latents.count)}
    subsets = [tuple(map(str, members)) for members in dict.fromkeys(latents.subsets()) if members]
    seed = int(generator.integers(2**63))

    def report(factor: int, share: float) -> None:
        if progress is not None:
            progress((factor + share) / known.count)

    fits = [
        classifier.cross_fit(
            blocks, {"y": known.codes[:, factor]}, clusters, family, folds, subsets,
            generator=np.random.default_rng(seed), progress=lambda share, _, factor=factor: report(factor, share),
        )
        for factor in range(known.count)
    ]  # fmt: skip
    pointwise = _all_terms(
        latents, known.count, lambda members, factor: fits[factor].pointwise(tuple(map(str, members)), "y")
    )
    return pointwise, f"usable by {fits[0].family}, {folds} folds; errors over items"


def mixed_with_subsets(information: FactorInformation, generator: np.random.Generator) -> FactorInformation:
    """The same, the predictions from each set of latents mixed with those from its subsets and from no latent.

    More latents then have no less information, but for sampling error. Weights are those of `usable.with_ignorance`,
    from other rows (or clusters).
    """
    count = len(information.latents)
    everything = frozenset(map(str, range(count)))
    alone = [frozenset([name]) for name in map(str, range(count))]
    sets = [*alone, *(everything - one for one in alone), everything]
    rows = np.arange(information.n) if information.clusters is None else information.clusters
    units, place = np.unique(rows, return_inverse=True)
    folds = (generator.permutation(len(units)) % MIXTURE_FOLDS)[place]
    pointwise = np.zeros_like(information.pointwise)
    for k in range(len(information.factors)):
        local = {}
        for names, values in zip(sets, information.pointwise[:, k].T):
            local.setdefault(names, Local(values, values))
        mixed = with_ignorance(local, folds)
        for column, names in enumerate(sets):
            pointwise[:, k, column] = mixed[names].found if names else 0.0
    means = pointwise.mean(axis=0)
    return replace(
        information, pointwise=pointwise, alone=means[:, :count], rest=means[:, count:-1], joint=means[:, -1],
        method=f"{information.method}, mixed with subsets",
    )  # fmt: skip
