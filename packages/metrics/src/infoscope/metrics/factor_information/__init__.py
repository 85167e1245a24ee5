"""Information of latents on factors of variation, and what follows from it.

arrays     from_arrays: from arrays alone
exact      factor_information: from posteriors, by exact log-marginals
density_sums  the sums over all rows of data that these are made of
result     FactorInformation: its bounds, scores and table
posterior  GaussianPosterior and others; measure
inputs     what scores take
attacks    redundancy_attack, synergy_attack
toy        the toy model in closed form
"""

from infoscope.metrics.factor_information.arrays import from_arrays
from infoscope.metrics.factor_information.exact import factor_information
from infoscope.metrics.factor_information.result import FactorInformation

__all__ = [
    "FactorInformation",
    "factor_information",
    "from_arrays",
]
