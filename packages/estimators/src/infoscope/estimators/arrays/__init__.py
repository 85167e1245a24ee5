"""Estimators of mutual information on arrays.

registry    estimate(x, y, method=..., groups=None, ...) -> Estimate; methods(), METHODS; normalised
protocol    Method: what an estimator must have; Pairs: the checked sample that it is given
fitting     splits, prepared columns

Every other module contains a family of estimators, in METHODS.
"""

from infoscope.late import exports

__getattr__, __dir__, __all__ = exports(__name__)
