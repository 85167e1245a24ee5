"""The protocols of the BetaVAE and FactorVAE scores: the sizes and rules of two published codes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Votes:
    """group: pairs of items, or items, behind a vote; training, test: how many votes."""

    group: int
    training: int
    test: int


@dataclass(frozen=True)
class Protocol:
    """The sizes and rules by which a published code computes both scores.

    beta, factor     votes of the BetaVAE score (groups of pairs) and of the FactorVAE score (of items)
    classifier       "adagrad": linear softmax, rate 1, 10 fresh votes a step; or "logistic", scikit-learn's
    scale_items      items of which the FactorVAE score takes each latent's global variance
    least_deviation  latents of smaller global standard deviation cannot vote; 0: only constants
    means            whether a posterior's means (most probable categories) are used instead of draws
    mark             of its scores in `registry.SCORES`
    """

    name: str
    beta: Votes
    factor: Votes
    classifier: str
    scale_items: int
    least_deviation: float
    means: bool = False
    mark: str = ""


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        # Tokui & Sato 2021 and its code, on posterior draws: 3,000 steps of 10 votes.
        Protocol("uni-bound", Votes(200, 30_000, 800), Votes(100, 800, 800), "adagrad", 65_536, 0.0),
        # Locatello et al. 2019 and disentanglement_lib, on posterior means.
        Protocol(
            "disentanglement-lib", Votes(64, 10_000, 5_000), Votes(64, 10_000, 5_000), "logistic", 10_000, 0.05, True,
            "lib",
        ),
    )
}  # fmt: skip
