"""Estimators of mutual information on arrays, all called alike.

registry    estimate(x, y, method=..., groups=None, ...) -> Estimate; methods(), METHODS; normalised, diagnose
protocol    Method: what an estimator must have; Pairs: the checked sample that it is given
fitting     splits, prepared columns, training of networks

Every other module is a family of estimators, and holds its METHODS.
"""

from infoscope.late import late, names_of

# Torch takes seconds to import: only for those who ask for a method that trains networks.
_LATE = names_of(
    {
        "protocol": ("Described", "Method", "Pairs", "as_pairs"),
        "registry": ("METHODS", "as_method", "estimate", "estimate_pairs", "methods", "normalised"),
    }
)

__all__ = [*_LATE]
__getattr__ = late(__name__, _LATE)
