"""V-information of a named family of predictors (Xu et al. 2020; Ethayarajh et al. 2022).

measures (estimate -> VInformation), pvi, hardness of items, usable (mixtures of families, extrapolated in rows),
difficulty (token artefacts), label_errors, structure (trees of most usable information), leakage of latent blocks.
"""

from infoscope.late import late

_LATE = dict.fromkeys(("VInformation", "estimate"), "measures")

__all__ = [*_LATE]
__getattr__ = late(__name__, _LATE)
