"""Disentanglement scores of a representation, from arrays or posteriors; no grid of factors and no model is needed.

`report` has all of SCORES in one table. Those of arrays are functions here, too, which return an Estimate; those of
information are methods of a `FactorInformation`. Only UniBound and the PID bounds detect redundant copies and
information spread over several latents.
"""

from infoscope.late import late
from infoscope.metrics.disentanglement.registry import PROTOCOLS, SCORES, Protocol, ScoreSpec, Votes

_LATE = {
    "Dci": "predictor_based",
    "Inputs": "measuring",
    "Sap": "predictor_based",
    "VoteScore": "intervention_based",
    "beta_vae_score": "intervention_based",
    "dci": "predictor_based",
    "decomposed": "reporting",
    "explicitness": "infomec",
    "factor_vae_score": "intervention_based",
    "measure_scores": "measuring",
    "minimality": "dependent_factors",
    "mig": "information_based",
    "published_infomec": "infomec",
    "report": "reporting",
    "sap": "predictor_based",
}

__all__ = ["PROTOCOLS", "Protocol", "SCORES", "ScoreSpec", "Votes", *_LATE]
__getattr__ = late(__name__, _LATE)
