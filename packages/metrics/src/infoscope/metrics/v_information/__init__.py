"""V-information of a named family of predictors (Xu et al. 2020; Ethayarajh et al. 2022).

measures     estimate: I_V(x -> y), also given something, in three estimators -> VInformation
pvi          pointwise
hardness     threshold_window, slices, hardest
predictions  of fitted members
usable       of mixtures of families, with extrapolation in rows
difficulty   token artefacts
label_errors scores of wrong labels
structure    maximum_arborescence, weights_by: trees of most usable information
leakage      usable_leakage of latent blocks; features that hide from a family
"""

from importlib import import_module
from typing import Any

# Torch and scikit-learn take seconds to import: only for those who measure, not for who reads what was measured.
_LATE = ("VInformation", "estimate")

__all__ = [*_LATE]


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.measures"), name)
