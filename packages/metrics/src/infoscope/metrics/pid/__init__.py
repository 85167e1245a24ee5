"""Partial information decomposition of what two sources a and b share with a target, nats.

I(target; a, b) is unique + unique + redundant + synergistic. `bounds` hold for every nonnegative definition; concrete
ones are of tables (broja, williams_beer, discrete_shared_exclusion), covariances (gaussian) and rows (DECOMPOSITIONS).
"""

from infoscope.late import exports

__getattr__, __dir__, __all__ = exports(__name__)
