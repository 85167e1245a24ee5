"""Conclusions from estimates.

Of tables: screen, InformationSelector. Of series and runs: errors, replicated, correlation, rank_agreement. Of
estimators: audit. Of benchmark pairs with known
labels: decodable_information. Modules: representation (report), partition (evaluate), disentanglement (report, SCORES),
factor_information, pid, v_information, adapters (causal-learn, tigramite).
"""

from importlib import import_module
from typing import Any

from infoscope.late import late
from infoscope.metrics.accuracy import Errors, batch_means_error, correlation, errors, replicated

# scikit-learn and numba take seconds to import: only for those who use them.
_LATE = {
    "Check": "metamorphic",
    "InformationSelector": "screening",
    "Decoding": "decodable",
    "PartitionReport": "partition",
    "Screen": "screening",
    "VInformation": "v_information",
    "audit": "metamorphic",
    "decodable_information": "decodable",
    "decodable_information_of_items": "decodable",
    "information_scores": "screening",
    "maximum_arborescence": "v_information.structure",
    "rank_agreement": "agreement",
    "rank_agreement_within": "agreement",
    "screen": "screening",
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

__all__ = ["Errors", "batch_means_error", "correlation", "errors", "replicated", *_LATE]


def __getattr__(name: str) -> Any:
    return import_module(f"{__name__}.{_MODULES[name]}") if name in _MODULES else late(__name__, _LATE)(name)
