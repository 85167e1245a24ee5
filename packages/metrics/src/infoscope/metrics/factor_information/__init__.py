"""Information of latents about factors of variation, from arrays (arrays) or posteriors
(exact, posterior); its bounds and scores (result); entanglement attacks (attacks); a
model with known information (toy).
"""

from infoscope.late import exports

__getattr__, __dir__, __all__ = exports(__name__)
