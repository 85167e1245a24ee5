"""Information of latents on factors of variation: from arrays (arrays) or posteriors (exact, posterior); its bounds and
scores (result); attacks; the toy model (toy).
"""

from infoscope.late import exports

__getattr__, __dir__, __all__ = exports(__name__)
