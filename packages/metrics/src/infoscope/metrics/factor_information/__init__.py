"""Information of latents on factors of variation: from arrays (arrays) or posteriors (exact, posterior); its bounds and
scores (result); attacks; the toy model (toy).
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
