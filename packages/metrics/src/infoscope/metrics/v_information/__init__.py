"""How much a named family of predictors can use (Xu et al. 2020; Ethayarajh et al. 2022).

measures     estimate: I_V(x -> y), also beyond what is given, in three estimators -> VInformation
pvi          pointwise: how hard an item is
hardness     threshold_window, slices, hardest: what a table of PVI says of its items
predictions  what fitted members of a family say of items
usable       what a mixture of families can use, row by row, and how much more rows would teach
difficulty   token artefacts
label_errors which labels look wrong: scores held out and of the course of a training
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
