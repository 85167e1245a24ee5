"""Estimators of mutual information. Everything is in nats.

arrays       estimate(x, y, method=...), normalised, methods, diagnose: all estimators on arrays
result       Estimate: a number with its error, interval, unit, n, method and notes
variables    Continuous, Discrete, Angle: column types
neural       critics, variational bounds, training, held-out estimates, exact critics
knn          nearest neighbours: entropy, (conditional) mutual information, total correlation, co-information
npeet        what NPEET returns, to compare with, in bits
discrete     entropies of categories from counts
classifier   cross_fit: a decomposition of information from calibrated classifiers
families     predictive families
series       transfer entropy, information of the past and lag curves of series
uncertainty  sampling intervals of nearest-neighbour estimates by half-samples, permutation tests
independence independence_test: quick tests of (conditional) independence, also of whole
tables
units        NATS_PER_BIT
"""

from infoscope.late import exports

__getattr__, __dir__, __all__ = exports(__name__)
