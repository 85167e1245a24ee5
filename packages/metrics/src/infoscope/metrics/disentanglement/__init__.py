"""Disentanglement scores of a representation, from arrays or posteriors; no grid of factors and no model is needed.

    beta_vae_score, factor_vae_score   accuracy of naming a shared factor; two published protocols (PROTOCOLS)
    mig         gap between the best and the second-best latent's information, exact or discretised
    unibound    lower bound of unique information
    dci         disentanglement, completeness and informativeness from the importances of forests
    explicitness, published_infomec   InfoE; InfoM, InfoE and InfoC as published
    minimality  share of a latent's explained variance due to its own factor; dependent factors allowed
    sap         gap between the best and the second-best single-latent predictor
    report      all of SCORES in one table
    decomposed  terms of pid.DECOMPOSITIONS

All but report, decomposed and measure_scores return an Estimate. Only UniBound and the PID bounds detect redundant
copies and information spread over several latents.
"""

from importlib import import_module
from typing import Any

from infoscope.metrics.disentanglement.protocols import PROTOCOLS, Protocol, Votes
from infoscope.metrics.disentanglement.registry import SCORES, ScoreSpec

# Scikit-learn and numba take seconds to import: only for those who compute a score.
_LATE = {
    "Dci": "disentanglement.predictor_based",
    "Inputs": "disentanglement.measuring",
    "Sap": "disentanglement.predictor_based",
    "VoteScore": "disentanglement.intervention_based",
    "beta_vae_score": "disentanglement.intervention_based",
    "dci": "disentanglement.predictor_based",
    "decomposed": "disentanglement.concrete",
    "explicitness": "disentanglement.infomec",
    "factor_vae_score": "disentanglement.intervention_based",
    "measure_scores": "disentanglement.measuring",
    "minimality": "disentanglement.dependent_factors",
    "mig": "disentanglement.information_based",
    "published_infomec": "disentanglement.infomec",
    "report": "disentanglement.reporting",
    "sap": "disentanglement.predictor_based",
    "unibound": "disentanglement.information_based",
}

__all__ = ["PROTOCOLS", "Protocol", "SCORES", "ScoreSpec", "Votes", *_LATE]


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"infoscope.metrics.{_LATE[name]}"), name)
