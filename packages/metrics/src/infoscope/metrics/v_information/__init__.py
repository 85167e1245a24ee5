"""V-information: the information that a family of predictors can use (Xu et al. 2020;
Ethayarajh et al. 2022).

measures (estimate -> VInformation), pvi (items), usable (mixtures of families,
extrapolation in rows), difficulty (token artefacts), labels (a report on wrong labels),
label_noise (their number), label_errors (flips), structure (trees of largest
V-information), leakage of latent blocks.
"""

from infoscope.late import exports

__getattr__, __dir__, __all__ = exports(__name__)
