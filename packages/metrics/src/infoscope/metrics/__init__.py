"""What is concluded from estimates.

Of series and runs:
    errors, Errors             bias, variance and mean squared error of a series of estimates
    replicated, Replicated     a figure over independent runs, with its standard error and interval
    correlation                a correlation over independent runs, with its interval
    batch_means_error          the standard error of the mean of a dependent series
Of samples:
    bracket, Bracket           neighbours, a classifier and the ceiling H(y) side by side, and what their order means
    audit, Check               what any estimator of mutual information must not change, and whether it does
Of a representation in parts, as modules to import from:
    partition                  what belongs to a label, a domain, both or neither: evaluate, evaluate_posterior,
                               enumerate_outcomes, compare; PartitionReport
Of benchmark pairs, whose labels are known:
    decodable_information, decodable_information_of_items, Decoding    how much of the nominal information can be read
Of representations and factors of variation, as modules to import from:
    disentanglement            beta_vae_score, factor_vae_score, mig, unibound, dci, sap; report: all in one table
    array_information          from_arrays: what latents tell about factors, from arrays alone -> FactorInformation
    exact, posterior           the same from posteriors, by exact log-marginals: factor_information, measure
    factor_information, pid    FactorInformation and its scores; the six bounds, concrete decompositions of small tables
    attacks, toy               redundancy_attack, synergy_attack; the toy model in closed form
Of what a family of predictors can use (V-information), as modules to import from:
    v_information, families*   I_V(x -> y) in three estimators; predictive families as plug-ins
    pvi, difficulty            how hard an item is; slices, token artefacts, mislabelled items
    structure                  maximum_arborescence, weights_by: directed trees of most usable information
    families_leakage           usable_leakage of latent blocks; features that hide from a family
"""

from importlib import import_module
from typing import Any

from infoscope.metrics.accuracy import Errors, Replicated, batch_means_error, correlation, errors, replicated

# scikit-learn and numba take seconds to import: only for those who use them.
_LATE = {"bracket": "bracketing", "Bracket": "bracketing", "audit": "metamorphic", "Check": "metamorphic"}
_LATE |= {name: "decodable" for name in ("Decoding", "decodable_information", "decodable_information_of_items")}
_LATE |= {"PartitionReport": "partition"}
_LATE |= {"VInformation": "v_information", "threshold_window": "pvi", "usable_leakage": "families_leakage"}
_LATE |= {"maximum_arborescence": "structure", "weights_by": "structure"}

__all__ = [
    "Bracket",
    "Check",
    "Decoding",
    "Errors",
    "PartitionReport",
    "Replicated",
    "VInformation",
    "audit",
    "batch_means_error",
    "bracket",
    "correlation",
    "decodable_information",
    "decodable_information_of_items",
    "errors",
    "maximum_arborescence",
    "replicated",
    "threshold_window",
    "usable_leakage",
    "weights_by",
]


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
