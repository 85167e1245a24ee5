"""BetaVAE and FactorVAE scores: accuracy of a simple classifier of the factor that the
items of a group share.

Both published protocols are presets (PROTOCOLS). Neither score detects redundancy
(Tokui & Sato 2021, section 5.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest
from sklearn.linear_model import LogisticRegression

from infoscope.checks import one_of
from infoscope.errors import UnknownName
from infoscope.estimators.alignment import aligns
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.result import LEVEL, Estimate
from infoscope.metrics.disentanglement.registry import PROTOCOLS, Protocol
from infoscope.metrics.factor_information.inputs import (
    NUMBERS_AT_ONCE,
    Draws,
    Factors,
    as_draws,
    as_factors,
    categorical_mask,
    random_items,
    require_rows,
    typical_codes,
    varies,
)

Values = NDArray[np.float64]
Codes = NDArray[np.int64]

VOTES_A_STEP = 10  # of Adagrad

Labelled = tuple[NDArray, Codes]
"""Features of votes (or the latent that varies least), and their shared factors [votes]."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class VoteScore(Estimate):
    """The share of test votes whose shared factor is predicted correctly; binomial
    error and Wilson's interval.

    chance is 1 / K, training_share the share for training votes, active [L] the latents
    that can vote.
    """

    chance: float = np.nan
    training_share: float = np.nan
    active: tuple[bool, ...] = ()


@aligns("representation", "factors")
def beta_vae_score(
    representation: Any,
    factors: ArrayLike,
    preset: str | Protocol = "disentanglement-lib",
    categorical: Sequence[int] = (),
    generator: np.random.Generator | None = None,
    training: int | None = None,
) -> VoteScore:
    """BetaVAE score: accuracy of a classifier of the factor that pairs of items share.

    A vote is the mean distance of the pairs in each latent; the classifier is linear
    (Higgins et al. 2017).

    Parameters
    ----------
    representation
        [N, L]; a function of item indices [m] -> [m, L]; or a posterior with
        `draw(items, generator)`, of which "uni-bound" uses draws and
        "disentanglement-lib" means.
    factors
        Integers [N, K], K >= 2; no grid is needed.
    preset
        A name in PROTOCOLS, or a Protocol.
    categorical
        Indices of the latents that are categories, with distances 0 and 1.
    training
        Number of training votes; None: as in the protocol.

    Raises
    ------
    ValueError
        Fewer than two factors, a factor of one value, a value of one item, other
        shapes.

    Examples
    --------
    >>> factors = np.random.default_rng(0).integers(0, 2, (100, 2))
    >>> from dataclasses import replace
    >>> votes = replace(PROTOCOLS["disentanglement-lib"].beta, group=10, training=200)
    >>> few = replace(PROTOCOLS["disentanglement-lib"], beta=votes, factor=votes)
    >>> print(f"{beta_vae_score(factors, factors, few).value:.2f}")
    1.00
    """
    protocol = protocol_of(preset)
    generator = generator_or_default(generator)
    truth = as_factors(factors, least=2)
    truth.require_items(2, "a pair")
    draw, latents, description = protocol_draws(
        representation, truth.n, protocol, generator
    )
    are_categories = categorical_mask(categorical, latents, representation)
    sizes = protocol.beta

    def votes(count: int) -> Labelled:
        shared = generator.integers(truth.count, size=count)
        features = np.empty((count, latents))
        for part in parts(count, 2 * sizes.group * latents):
            first = generator.integers(truth.n, size=(len(shared[part]), sizes.group))
            second = partners(truth, shared[part], first, generator)
            z_first, z_second = drawn(draw, np.stack([first, second]), latents)
            distance = np.where(
                are_categories, z_first != z_second, np.abs(z_first - z_second)
            )
            features[part] = distance.mean(axis=1)
        return features, shared

    training_votes = votes(training or sizes.training)
    test_votes = votes(sizes.test)
    if protocol.classifier == "adagrad":
        predict = fit_adagrad(*training_votes)
    else:
        predict = LogisticRegression(max_iter=1000).fit(*training_votes).predict
    method = (
        f"{protocol.name}, {sizes.group} pairs a vote, {description}, "
        f"{protocol.classifier} classifier"
    )
    return vote_score(
        predict, training_votes, test_votes, method, truth.count, np.ones(latents, bool)
    )


@aligns("representation", "factors")
def factor_vae_score(
    representation: Any,
    factors: ArrayLike,
    preset: str | Protocol = "disentanglement-lib",
    categorical: Sequence[int] = (),
    generator: np.random.Generator | None = None,
) -> VoteScore:
    """FactorVAE score: accuracy of the factor that a group of items shares.

    The latent that varies least in the group predicts the factor (Kim & Mnih 2018).
    Variances are relative to the variances of all items; for categories they are
    Gini's. Parameters are as in `beta_vae_score`.

    Returns
    -------
    VoteScore
        NaN, with a note, where no latent varies enough to vote.

    Raises
    ------
    ValueError
        As `beta_vae_score`, and a value with fewer items than a group.

    Examples
    --------
    >>> factors = np.random.default_rng(0).integers(0, 2, (100, 2))
    >>> from dataclasses import replace
    >>> votes = replace(PROTOCOLS["disentanglement-lib"].beta, group=10, training=200)
    >>> few = replace(PROTOCOLS["disentanglement-lib"], beta=votes, factor=votes)
    >>> print(f"{factor_vae_score(factors, factors, few).value:.2f}")
    1.00
    """
    protocol = protocol_of(preset)
    generator = generator_or_default(generator)
    sizes = protocol.factor
    truth = as_factors(factors, least=2)
    truth.require_items(sizes.group, "a group")
    draw, latents, description = protocol_draws(
        representation, truth.n, protocol, generator
    )
    are_categories = categorical_mask(categorical, latents, representation)
    items = random_items(truth.n, protocol.scale_items, generator)
    sample = draw(items)
    scale = variances(sample[None], are_categories)[0]
    deviation = np.sqrt(scale)
    varying = varies(deviation, np.abs(sample).max(axis=0))
    active = varying & (are_categories | (deviation >= protocol.least_deviation))
    method = (
        f"{protocol.name}, {sizes.group} items a vote, {description}, {active.sum()} "
        f"of {latents} columns active"
    )
    if not active.any():
        note = (
            "No column is active: every global standard deviation is 0 or below "
            f"{protocol.least_deviation:g}."
        )
        return VoteScore(
            np.nan,
            unit="share of test votes",
            n=sizes.test,
            method=method,
            notes=(note,),
            chance=1 / truth.count,
            active=(False,) * latents,
        )

    def votes(count: int) -> Labelled:
        shared = generator.integers(truth.count, size=count)
        least = np.empty(count, np.int64)
        for part in parts(count, sizes.group * latents):
            items = members(truth, shared[part], sizes.group, generator)
            z = drawn(draw, items, latents)
            variance = variances(z[..., active], are_categories[active])
            least[part] = np.argmin(variance / scale[active], axis=1)
        return least, shared

    training_votes = votes(sizes.training)
    test_votes = votes(sizes.test)
    counts = np.zeros((active.sum(), truth.count), np.int64)
    np.add.at(counts, training_votes, 1)
    factor_of_latent = counts.argmax(axis=1)
    return vote_score(
        factor_of_latent.__getitem__,
        training_votes,
        test_votes,
        method,
        truth.count,
        active,
    )


def protocol_draws(
    representation: Any, n: int, protocol: Protocol, generator: np.random.Generator
) -> tuple[Draws, int, str]:
    """See `as_draws`; for a posterior, draws or means, as in the protocol."""
    if not (protocol.means and hasattr(representation, "draw")):
        return as_draws(representation, n, generator)
    require_rows(representation, n)
    means = typical_codes(representation)
    return means.__getitem__, means.shape[1], "posterior means"


def protocol_of(preset: str | Protocol) -> Protocol:
    """The protocol of a name, or a checked Protocol; ValueError for an unknown name or
    classifier.
    """
    if isinstance(preset, Protocol):
        one_of("classifier", preset.classifier, ("adagrad", "logistic"))
        return preset
    if preset not in PROTOCOLS:
        raise UnknownName(
            f"preset must be one of {list(PROTOCOLS)} or a Protocol, got {preset!r}."
        )
    return PROTOCOLS[preset]


def vote_score(
    predict: Callable[[NDArray], NDArray],
    training: Labelled,
    test: Labelled,
    method: str,
    factors: int,
    active: NDArray[np.bool_],
) -> VoteScore:
    """The shares of training and test votes that are predicted correctly."""
    features, factor_of_vote = training
    training_share = np.mean(predict(features) == factor_of_vote)
    method = f"{method}, {len(factor_of_vote)} training votes"
    features, factor_of_vote = test
    n = len(factor_of_vote)
    correct = int(np.sum(predict(features) == factor_of_vote))
    low, high = binomtest(correct, n).proportion_ci(LEVEL, method="wilson")
    share = correct / n
    return VoteScore(
        value=share,
        standard_error=float(np.sqrt(share * (1 - share) / n)),
        interval=(float(low), float(high)),
        unit="share of test votes",
        n=n,
        method=method,
        chance=1 / factors,
        training_share=float(training_share),
        active=tuple(active.tolist()),
    )


def parts(count: int, numbers_of_one: int) -> Iterator[slice]:
    """Slices of `count` votes with at most `NUMBERS_AT_ONCE` numbers, given the numbers
    of one vote.
    """
    step = max(1, NUMBERS_AT_ONCE // numbers_of_one)
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


def partners(
    factors: Factors, shared: Codes, items: Codes, generator: np.random.Generator
) -> Codes:
    """For items [votes, m], a random other item with the same value of the vote's
    shared factor [votes].
    """
    factor = shared[:, None]
    start = factors.first[factor, items]
    count = factors.alike[factor, items]
    place = factors.place[factor, items] - start
    place = (place + generator.integers(1, count)) % count
    return factors.order[factor, start + place]


def members(
    factors: Factors, shared: Codes, group: int, generator: np.random.Generator
) -> Codes:
    """Items [votes, group] drawn independently among those with a random item's value
    of the shared factor [votes].
    """
    item = generator.integers(factors.n, size=len(shared))
    start = factors.first[shared, item]
    count = factors.alike[shared, item]
    place = generator.integers(0, count[:, None], (len(shared), group))
    return factors.order[shared[:, None], start[:, None] + place]


def drawn(draw: Draws, items: Codes, latents: int) -> Values:
    """The representation of items [...] as [..., L]."""
    return draw(items.ravel()).reshape(*items.shape, latents)


def variances(codes: Values, discrete: NDArray[np.bool_]) -> Values:
    """Unbiased variance of every latent in groups [groups, items, L]; for categories
    the share of unequal pairs.
    """
    groups, items, latents = codes.shape
    variance = np.empty((groups, latents))
    variance[:, ~discrete] = codes[..., ~discrete].var(axis=1, ddof=1)
    for latent in np.flatnonzero(discrete):
        column = codes[..., latent]
        equal_pairs = 0
        for value in np.unique(column):
            count = (column == value).sum(axis=1)
            equal_pairs += count**2
        variance[:, latent] = (items**2 - equal_pairs) / (items * (items - 1))
    return variance


def fit_adagrad(shown: Values, shared: Codes) -> Callable[[NDArray], NDArray]:
    """A linear softmax classifier, trained by Adagrad (rate 1, torch's epsilon) in one
    pass over the votes.
    """
    features = np.column_stack([shown, np.ones(len(shown))])
    classes = np.eye(int(shared.max()) + 1)[shared]
    weights = np.zeros((features.shape[1], classes.shape[1]))
    squares = np.zeros_like(weights)
    for start in range(0, len(shown), VOTES_A_STEP):
        step = slice(start, start + VOTES_A_STEP)
        votes = features[step]
        scores = votes @ weights
        probability = np.exp(scores - scores.max(axis=1, keepdims=True))
        probability /= probability.sum(axis=1, keepdims=True)
        residual = probability - classes[step]
        gradient = votes.T @ residual / len(votes)
        squares += gradient**2
        weights -= gradient / (np.sqrt(squares) + 1e-10)

    def predict(features: NDArray) -> NDArray:
        scores = features @ weights[:-1] + weights[-1]
        return np.argmax(scores, axis=1)

    return predict
