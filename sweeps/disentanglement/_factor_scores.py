"""What a sweep measures of a representation of images with known factors, and how that is recorded."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from infoscope.data import FactorDataset
from infoscope.metrics import disentanglement
from infoscope.metrics.disentanglement.information_based import SHARE, as_score, bound_scores
from infoscope.metrics.disentanglement.reporting import attempted, forest_scores, latent_scores
from infoscope.metrics.factor_information import exact
from infoscope.metrics.factor_information.arrays import from_arrays
from infoscope.metrics.factor_information.inputs import categorical_latents, typical_codes
from infoscope.metrics.factor_information.result import FactorInformation

SHARED = "shared/"  # prefix of a bound at the one latent that tells most about a factor
OTHER = {"uni-bound": "", "disentanglement-lib": "_lib"}  # suffix of a score by its protocol
LATENT = {"total correlation": "total_correlation", "I(x; z)": "latent_information"}
ARRAYS = "knn"  # of a code without a density: what forests of classifiers take is out of proportion
MINIMUM = {"draws": 100, "votes": 10, "items": 100}


@dataclass(frozen=True)
class Effort:
    """How much a measurement takes: draws of the exact estimate, training votes of the BetaVAE score (published:
    30,000), items of the scores of means and of arrays, and the protocols of the BetaVAE and FactorVAE scores.
    """

    draws: int
    votes: int
    items: int
    protocols: Sequence[str]

    @classmethod
    def of(cls, cell: Mapping[str, Any]) -> Effort:
        """The effort that a cell asks for."""
        return cls(cell["draws"], cell["votes"], cell["items"], tuple(cell["protocols"]))


@dataclass(frozen=True)
class Measured:
    """One measurement of a representation: its scores by name, and the information behind them."""

    scores: dict[str, disentanglement.Score]
    information: FactorInformation


def check_effort(cell: Mapping[str, Any]) -> None:
    """Raises ValueError where a cell asks for too little, or for an unknown protocol."""
    for name, least in MINIMUM.items():
        if cell[name] < least:
            raise ValueError(f"{name} is {cell[name]}; it must be at least {least}")
    for name in cell["protocols"]:
        if name not in OTHER:
            raise ValueError(f"unknown protocol {name!r}; valid are {', '.join(OTHER)}")


def measure(
    representation: Any, of: FactorDataset, seed: int, effort: Effort, device: str = "cpu", predictors: bool = True
) -> Measured:
    """Every score of a posterior or, where a code has no density, of an array [N, L].

    The same seed draws the same votes, items and noise whatever is measured, so that differences are paired; no score
    depends on which others are measured. predictors: whether those that need many fits are among them (DCI, SAP).
    """
    posterior = hasattr(representation, "draw")
    codes = typical_codes(representation) if posterior else representation
    categories = {"categorical": categorical_latents(representation)}
    found = votes(representation, of, seed, effort)
    if predictors:
        found |= predicted(codes, of, seed, effort.items, categories)
    noise = draws(seed, "information")
    if posterior:
        both = exact.measure(representation, of.factors, effort.draws, noise, of.factor_names, device=device)
        information, told = both.factors, latent_scores(both.latents, both.factors.method)
        found |= {LATENT[name]: score for name, score in told.items()}
    else:
        information = from_arrays(
            codes, of.factors, ARRAYS, resamples=None, items=effort.items, factor_names=of.factor_names, generator=noise
        )
    return Measured(found | of_information(information), information)


def votes(representation: Any, of: FactorDataset, seed: int, effort: Effort) -> dict[str, disentanglement.Score]:
    """The BetaVAE and FactorVAE scores by every protocol: one of draws, the other of means."""
    found = {}
    for name in effort.protocols:
        protocol = disentanglement.PROTOCOLS[name]
        if name == "uni-bound":
            protocol = replace(protocol, beta=replace(protocol.beta, training=effort.votes))
        for kind in ("beta_vae", "factor_vae"):
            score = getattr(disentanglement, f"{kind}_score")
            vote = partial(score, representation, of.factors, protocol, generator=draws(seed, f"{kind} {name}"))
            found[kind + OTHER[name]] = attempted(vote, "share of test votes")
    return found


def predicted(
    codes: np.ndarray, of: FactorDataset, seed: int, items: int, categories: dict
) -> dict[str, disentanglement.Score]:
    """The scores of means: discretised MIG, SAP and DCI."""
    given = (codes, of.factors)
    binned = partial(
        disentanglement.mig, *given, "discretised", items=items, **categories, generator=draws(seed, "bins")
    )
    gaps = partial(disentanglement.sap, *given, items=items, generator=draws(seed, "sap"))
    forests = forest_scores(partial(disentanglement.dci, *given, items=items, generator=draws(seed, "dci")))
    return {
        "mig_discretised": attempted(binned, SHARE),
        "sap": attempted(gaps, "difference of accuracies"),
        **{name.lower().replace(" ", "_"): score for name, score in forests.items()},
    }


def of_information(information: FactorInformation) -> dict[str, disentanglement.Score]:
    """MIG, UniBound, I(y; z) / H(y) and the bounds: each at its own best latent, as published, and at a shared one."""
    estimates = {"mig": information.mig(), "unibound": information.unibound()}
    estimates |= {"informativeness": information.informativeness()}
    found = {name: as_score(estimate, information) for name, estimate in estimates.items()}
    found |= bound_scores(information, None)
    return found | {SHARED + name: score for name, score in bound_scores(information, "alone").items()}


def draws(seed: int, purpose: str) -> np.random.Generator:
    """An independent random stream for each purpose of a seed."""
    return np.random.default_rng([seed, *purpose.encode()])


def metrics(measurements: Sequence[Measured]) -> dict[str, float]:
    """By name the mean of a score over the measurements and, as NAME_error, its standard error given the
    representation; and `evaluation E/NAME`, each by itself.
    """
    found = {}
    for name in measurements[0].scores:
        every = [measured.scores[name] for measured in measurements]
        found[name] = float(np.mean([score.value for score in every]))
        found[f"{name}_error"] = math.sqrt(sum(score.standard_error**2 for score in every)) / len(every)
        found |= {f"evaluation {number}/{name}": score.value for number, score in enumerate(every)}
    return found


def tables(measurements: Sequence[Measured]) -> dict[str, pd.DataFrame]:
    """The tables "scores", a row for each measurement and score with its error, sample size and method, and "bounds",
    a row for each measurement, factor and latent, nats.
    """
    told = [
        {"evaluation": number, "score": name, **{field: getattr(score, field) for field in
         ("value", "standard_error", "low", "high", "unit", "n", "how")}, "notes": " ".join(score.notes)}
        for number, measured in enumerate(measurements)
        for name, score in measured.scores.items()
    ]  # fmt: skip
    bounds = [each.information.table().assign(evaluation=number) for number, each in enumerate(measurements)]
    return {"scores": pd.DataFrame(told), "bounds": pd.concat(bounds, ignore_index=True)}
