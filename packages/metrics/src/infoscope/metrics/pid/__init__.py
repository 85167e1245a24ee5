"""Partial information decomposition (PID): the information of two sources a and b about
a target, nats.

I(target; a, b) = unique of a + unique of b + redundant + synergistic. `bounds` hold for
every nonnegative definition. Concrete definitions are computed from tables (broja,
williams_beer, discrete_shared_exclusion), and for normal variables from covariances
(gaussian) and rows (gaussian_from_arrays).
"""

from infoscope.late import exports

__getattr__, __dir__, __all__ = exports(__name__)
