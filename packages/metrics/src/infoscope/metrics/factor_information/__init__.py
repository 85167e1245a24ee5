"""Information of latents on factors of variation: from arrays (arrays) or posteriors (exact, posterior); its bounds and
scores (result); attacks; the toy model (toy).
"""

from infoscope.late import late
from infoscope.metrics.factor_information.result import FactorInformation

_LATE = {"factor_information": "exact", "from_arrays": "arrays"}

__all__ = ["FactorInformation", *_LATE]
__getattr__ = late(__name__, _LATE)
