"""Disentanglement scores of a representation, from arrays or posteriors; no grid of factors and no model is needed.

    beta_vae_score, factor_vae_score   accuracy of naming a shared factor; two published protocols (PROTOCOLS)
    mig         gap between the best and the second-best latent's information, exact or discretised
    unibound    lower bound of the information that one latent has and all others together lack
    dci         disentanglement, completeness and informativeness from the importances of forests
    sap         gap between the best and the second-best single-latent predictor
    report      all of them in one table, with PID bounds, informativeness and total correlation

All but report return a Score: value, standard error, interval, unit, n and how. Of redundant copies, and of
information that is spread over several latents, only UniBound and the PID bounds know. Posteriors of your own are made
in `factor_information.posterior` (means and scales of n items, probabilities of categories);
`factor_information.attacks` entangles posteriors and arrays.
"""

from infoscope.metrics.disentanglement.information_based import mig, unibound
from infoscope.metrics.disentanglement.intervention_based import (
    PROTOCOLS,
    Protocol,
    Votes,
    VoteScore,
    beta_vae_score,
    factor_vae_score,
)
from infoscope.metrics.disentanglement.predictor_based import Dci, Sap, dci, sap
from infoscope.metrics.disentanglement.reporting import report
from infoscope.metrics.factor_information.inputs import Score

__all__ = [
    "PROTOCOLS",
    "Dci",
    "Protocol",
    "Sap",
    "Score",
    "VoteScore",
    "Votes",
    "beta_vae_score",
    "dci",
    "factor_vae_score",
    "mig",
    "report",
    "sap",
    "unibound",
]
