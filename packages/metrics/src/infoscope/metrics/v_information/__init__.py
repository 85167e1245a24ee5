"""How much a named family of predictors can use (Xu et al. 2020; Ethayarajh et al. 2022).

measures     estimate: I_V(x -> y) in three estimators -> VInformation
pvi          pointwise: how hard an item is; threshold_window
predictions  what fitted members of a family say of items
difficulty   slices, token artefacts, mislabelled items
structure    maximum_arborescence, weights_by: trees of most usable information
leakage      usable_leakage of latent blocks; features that hide from a family
"""

from infoscope.metrics.v_information.measures import VInformation, estimate

__all__ = [
    "VInformation",
    "estimate",
]
