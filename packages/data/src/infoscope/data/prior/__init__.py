"""The prior: an open, versioned collection of random distributions with known mutual
information.

distribution(number)   the distribution of a number: its draws and its true value in nats
conditional.conditional_distribution(number)   x, y and z of a number, and I(x; y | z)
processes.process(number)   two series of a number, their transfer entropy and information
FAMILIES               families of the subsystems
TYPES                  types of x and y
VERSION                raised whenever draws or truths change
"""

from infoscope.data.prior.composition import (
    FAMILIES,
    TYPES,
    VERSION,
    Distribution,
    distribution,
)
from infoscope.data.prior.parts import Sample

__all__ = ["FAMILIES", "TYPES", "VERSION", "Distribution", "Sample", "distribution"]
