"""Information of latents on factors of variation, and what follows from it.

arrays     from_arrays: from arrays alone
exact      factor_information: from posteriors, by exact log-marginals
density_sums  the sums over all rows of data that these are made of
result     FactorInformation: its bounds, scores and table
posterior  GaussianPosterior and others; measure
inputs     what scores take
attacks    redundancy_attack, synergy_attack
toy        the toy model in closed form
"""

from importlib import import_module
from typing import Any

from infoscope.metrics.factor_information.result import FactorInformation

# Torch, scikit-learn and numba take seconds to import: only for those who measure, not for closed forms.
_LATE = {"factor_information": "exact", "from_arrays": "arrays"}

__all__ = ["FactorInformation", *_LATE]


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
