"""Information of latents about factors, estimated from arrays.

By classifiers (held out, calibrated): each information is a lower bound up to sampling
error; differences are not bounds. By nearest neighbours (Ross 2014): biased low in many
dimensions, so that unique information is too large and redundancy too small.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from infoscope.checks import one_of
from infoscope.errors import Conflict, NoVariation
from infoscope.estimators import classifier, knn, uncertainty
from infoscope.estimators.alignment import aligns, group_codes
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.column_types import as_variable
from infoscope.estimators.columns import Continuous, Discrete
from infoscope.estimators.result import clustered_error
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

Values = NDArray[np.float64]

MIXTURE_FOLDS = 3  # whose rows share the weights of a mixture
_Pointwise = Callable[[tuple[int, ...], int], Values]
"""Indices of latents, index of a factor -> pointwise information [n], nats."""


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
    """The information I(y_k; z_l), I(y_k; all but z_l) and I(y_k; z), nats, of a
    representation about factors.

    Parameters
    ----------
    representation
        Numbers [N, L]. Constant latents are left out of the rest.
    factors
        [N, K], as in `inputs.as_factors`: classes; for "knn" also numbers, whose
        entropy is NaN.
    method
        "classifier" or "knn"; see the module.
    groups
        [N], labels of dependent items: they share a fold, a half-sample and a cluster.
    k, resamples
        For "knn": neighbours, and half-samples for errors, at about twice the cost
        (errors 1.2 to 1.5 times the true ones; None: errors from local values, 0.8 to 1
        times).
    family, folds
        For "classifier", see `classifier.cross_fit`; several families: chosen by fold
        and set of latents.
    items
        Number of random items used; None: all.
    categorical
        Indices of the latents that are categories.

    Returns
    -------
    FactorInformation
        Estimates are not clipped.

    Raises
    ------
    ValueError
        A factor with one value or with a value of one item, every latent constant,
        other shapes, values that are not finite.
    """
    generator = generator_or_default(generator)
    all_factors = as_factors(factors, factor_names, numbers=True)
    n = all_factors.n
    codes = as_array(representation, n)
    discrete = categorical_mask(categorical, codes.shape[1])
    if not latent_names:
        latent_names = [f"column {i}" for i in range(codes.shape[1])]
    one_of("method", method, ("knn", "classifier"))
    if method == "classifier" and all_factors.numbers.any():
        raise Conflict(
            "method must be knn for factors that are numbers, got classifier; give "
            "classes as integers."
        )
    clusters = None if groups is None else group_codes(n, groups)[1]
    chosen = np.sort(random_items(n, items, generator))
    sample = all_factors.take(chosen)
    sample.require_items(2, "a neighbour, or a second fold")
    latents = Latents(codes[chosen], discrete)
    if clusters is not None:
        clusters = clusters[chosen]
    if method == "knn":
        pointwise, description = _by_neighbours(
            latents, sample, clusters, k, resamples, generator
        )
    else:
        pointwise, description = _by_classifiers(
            latents, sample, clusters, family, folds, generator, progress
        )
    surprisal = sample.surprisal
    return FactorInformation.from_pointwise(
        sample.names,
        tuple(latent_names),
        surprisal.mean(axis=0),
        pointwise,
        f"{description}, {sample.n} items",
        surprisal,
        clusters,
    )


@dataclass(frozen=True, eq=False)
class Latents:
    """A representation [n, L] and which of its columns are categories."""

    codes: Values
    discrete: NDArray[np.bool_]

    @property
    def count(self) -> int:
        return self.codes.shape[1]

    def subsets(self) -> list[tuple[int, ...]]:
        """Each latent, all others of each, and all latents [2 L + 1]; constant latents
        are left out.
        """
        size = np.abs(self.codes).max(axis=0)
        varying = np.flatnonzero(varies(self.codes.std(axis=0), size)).tolist()
        if not varying:
            raise NoVariation(
                f"representation must vary, got {self.count} constant columns."
            )
        alone = []
        others = []
        for latent in range(self.count):
            alone.append((latent,) if latent in varying else ())
            others.append(tuple(other for other in varying if other != latent))
        return [*alone, *others, tuple(varying)]

    def columns(self, members: tuple[int, ...]) -> list[Continuous | Discrete]:
        """Some latents as `Continuous` and `Discrete` columns."""
        columns = []
        for latent in members:
            kind = Discrete if self.discrete[latent] else Continuous
            columns.append(kind(self.codes[:, latent]))
        return columns

    def inputs(self, latent: int) -> Values:
        """A latent as the input of a classifier [n, d]: a number, or a one-hot
        category.
        """
        column = self.codes[:, latent]
        if not self.discrete[latent]:
            return column[:, None]
        values, codes = np.unique(column, return_inverse=True)
        return np.eye(len(values))[codes]


def _of_all_subsets(latents: Latents, factors: int, local: _Pointwise) -> Values:
    """Pointwise values [n, K, 2 L + 1]; 0 for no latents, and one estimate for equal
    subsets.
    """
    pointwise = np.zeros((len(latents.codes), factors, 2 * latents.count + 1))
    places = {}
    for place, members in enumerate(latents.subsets()):
        places.setdefault(members, []).append(place)
    places.pop((), None)
    for members, equal in places.items():
        for factor in range(factors):
            values = local(members, factor)
            pointwise[:, factor, equal] = values[:, None]
    return pointwise


def _by_neighbours(
    latents: Latents,
    factors: Factors,
    clusters: NDArray[np.int64] | None,
    k: int,
    resamples: int | None,
    generator: np.random.Generator,
) -> tuple[Values, str]:
    """Pointwise values [n, K, 2 L + 1] by the k-nearest-neighbour estimator, and a
    description of it; see `from_arrays`.
    """
    half_samples = None
    if resamples is not None:
        half_samples = uncertainty.half_samples(
            factors.n, resamples, generator, clusters
        )
    groups = np.arange(factors.n)
    if clusters is not None:
        groups = np.unique(clusters, return_inverse=True)[1]
    methods = []
    subsets_with_notes = 0

    def local(members: tuple[int, ...], factor: int) -> Values:
        nonlocal subsets_with_notes
        x = as_variable("representation", latents.columns(members))
        y = factors.variable(factor)
        estimate = knn.mutual_information(x, y, k, local=True)
        methods.append(estimate.method)
        subsets_with_notes += bool(estimate.notes)
        assert estimate.local is not None
        # rows alone in their class
        values = np.where(np.isnan(estimate.local), estimate.value, estimate.local)
        if half_samples is None:
            return values
        resampled = uncertainty.subsample(x, y, k=k, resamples=half_samples)
        spread = clustered_error(values, groups)
        scale = resampled.standard_error / spread if spread > 0 else 1.0
        return estimate.value + (values - estimate.value) * scale

    pointwise = _of_all_subsets(latents, factors.count, local)
    names = " or ".join(dict.fromkeys(methods))
    errors = "the local values" if half_samples is None else f"{resamples} half-samples"
    description = f"nearest neighbours ({names}, k = {k}); errors of {errors}"
    if subsets_with_notes:
        description += f"; {subsets_with_notes} terms with ties or small classes"
    return pointwise, description


def _by_classifiers(
    latents: Latents,
    factors: Factors,
    clusters: NDArray[np.int64] | None,
    family: Any,
    folds: int,
    generator: np.random.Generator,
    progress: Callable[[float], None] | None = None,
) -> tuple[Values, str]:
    """Pointwise values [n, K, 2 L + 1] by cross-fitted classifiers, one for each factor
    and set of latents, and a description of them; see `from_arrays`.
    """
    blocks = {str(latent): latents.inputs(latent) for latent in range(latents.count)}
    subsets = []
    for members in dict.fromkeys(latents.subsets()):
        if members:
            subsets.append(tuple(map(str, members)))
    seed = int(generator.integers(2**63))
    fits = []

    def report(share: float, _: Any) -> None:
        if progress is not None:
            progress((len(fits) + share) / factors.count)

    for codes in factors.codes.T:
        fit = classifier.cross_fit(
            blocks,
            {"y": codes},
            clusters,
            family,
            folds,
            subsets,
            generator=np.random.default_rng(seed),
            progress=report,
        )
        fits.append(fit)

    def local(members: tuple[int, ...], factor: int) -> Values:
        return fits[factor].pointwise(tuple(map(str, members)), "y")

    pointwise = _of_all_subsets(latents, factors.count, local)
    return pointwise, f"usable by {fits[0].family}, {folds} folds; errors over items"


def mixed_with_subsets(
    information: FactorInformation, generator: np.random.Generator
) -> FactorInformation:
    """The same, the predictions from each set of latents mixed with those from its
    subsets and from no latent.

    More latents then have no less information, but for sampling error. Weights are
    those of `usable.with_ignorance`, from other rows (or clusters).
    """
    count = len(information.latents)
    latents = [str(latent) for latent in range(count)]
    everything = frozenset(latents)
    alone = [frozenset([latent]) for latent in latents]
    others = [everything - members for members in alone]
    sets = [*alone, *others, everything]
    clusters = information.clusters
    if clusters is None:
        assert information.n is not None
        clusters = np.arange(information.n)
    groups, place = np.unique(clusters, return_inverse=True)
    folds = (generator.permutation(len(groups)) % MIXTURE_FOLDS)[place]
    assert information.pointwise is not None
    pointwise = np.zeros_like(information.pointwise)
    for k in range(len(information.factors)):
        local = {}
        for names, values in zip(sets, information.pointwise[:, k].T):
            local.setdefault(names, Local(values, values))
        mixed = with_ignorance(local, folds)
        for column, names in enumerate(sets):
            if names:
                pointwise[:, k, column] = mixed[names].full
    means = pointwise.mean(axis=0)
    return replace(
        information,
        pointwise=pointwise,
        alone=means[:, :count],
        rest=means[:, count:-1],
        joint=means[:, -1],
        method=f"{information.method}, mixed with subsets",
    )
