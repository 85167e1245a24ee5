"""V-information of a named family of predictors (Xu et al. 2020; Ethayarajh et al. 2022).

measures (estimate -> VInformation), pvi, hardness of items, usable (mixtures of families, extrapolated in rows),
difficulty (token artefacts), label_errors, structure (trees of most usable information), leakage of latent blocks.
"""

from infoscope.late import exports

__getattr__, __dir__, __all__ = exports(__name__)
