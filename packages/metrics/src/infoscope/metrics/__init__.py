"""Conclusions from estimates.

Of series and runs:
    errors, Errors             bias, variance and mean squared error of a series of estimates
    replicated                 a figure over independent runs, with its standard error and interval
    correlation                a correlation over independent runs, with its interval
    rank_agreement, rank_agreement_within    whether two scores rank models alike, over kinds of models and within them
    batch_means_error          the standard error of the mean of a dependent series
    shares                     intervals of shares of items, grouped or not, and of the least of several shares
Of samples:
    bracket, Bracket           neighbours, a classifier and the ceiling H(y) side by side, and what their order means
    audit, Check               what any estimator of mutual information must not change, and whether it does
Of benchmark pairs, whose labels are known:
    decodable_information, decodable_information_of_items, Decoding    how much of the nominal information can be read
As modules to import from:
    advice              advise: how much there is and which estimator to use, from twins of the data
    representation      report: what a representation holds, where, for whom: all of these on one array
    partition           what belongs to a label, a domain, both or neither: evaluate, evaluate_posterior,
                        enumerate_outcomes, compare; PartitionReport
    disentanglement     beta_vae_score, factor_vae_score, mig, unibound, dci, sap; report: all of SCORES in one table
    factor_information  what latents tell about factors, and its scores: from arrays (from_arrays), or from posteriors
                        (exact, posterior); attacks; toy, the toy model in closed form
    pid                 the six bounds; concrete decompositions of tables, of normal variables, of rows of any kind
    v_information       what a family of predictors can use, in three estimators, also beyond what is given; pvi and
                        difficulty, how hard an item is; label_errors, which labels look wrong; structure, trees of most
                        usable information; leakage of latent blocks
"""

from importlib import import_module
from typing import Any

from infoscope.metrics.accuracy import Errors, batch_means_error, correlation, errors, replicated

# scikit-learn and numba take seconds to import: only for those who use them.
_LATE = {
    "Bracket": "bracketing",
    "Check": "metamorphic",
    "Decoding": "decodable",
    "PartitionReport": "partition",
    "VInformation": "v_information",
    "audit": "metamorphic",
    "bracket": "bracketing",
    "decodable_information": "decodable",
    "decodable_information_of_items": "decodable",
    "maximum_arborescence": "v_information.structure",
    "rank_agreement": "agreement",
    "rank_agreement_within": "agreement",
    "threshold_window": "v_information.hardness",
    "usable_leakage": "v_information.leakage",
    "weights_by": "v_information.structure",
}
_MODULES = {
    "attacks": "factor_information.attacks",
    "difficulty": "v_information.difficulty",
    "exact": "factor_information.exact",
    "posterior": "factor_information.posterior",
    "pvi": "v_information.pvi",
    "structure": "v_information.structure",
    "toy": "factor_information.toy",
}

__all__ = [
    "Bracket", "Check", "Decoding", "Errors", "PartitionReport", "VInformation", "audit",
    "batch_means_error", "bracket", "correlation", "decodable_information", "decodable_information_of_items", "errors",
    "maximum_arborescence", "rank_agreement", "rank_agreement_within", "replicated", "threshold_window",
    "usable_leakage", "weights_by",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{_MODULES[name]}")
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
