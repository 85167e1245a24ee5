"""Estimators of mutual information on arrays, all called alike.

registry    estimate(x, y, method=..., groups=None, ...) -> Estimate; methods(), METHODS; normalised, diagnose
protocol    Method: what an estimator must have; Pairs: the checked sample that it is given
fitting     splits, prepared columns, training of networks

Every other module is a family of estimators, and holds its METHODS.
"""

from infoscope.late import exports

__getattr__, __dir__, __all__ = exports(__name__)
