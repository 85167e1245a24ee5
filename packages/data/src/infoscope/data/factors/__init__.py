"""Images with known discrete factors of variation.

dataset   FactorDataset: your own or a loader's
dsprites  dsprites, whole or in part; factor_data: that, or the sprites where it is not there
sprites   sprites: a generated grid like it (synthetic)
"""

from infoscope.data.factors.dataset import FactorDataset
from infoscope.data.factors.dsprites import dsprites, factor_data
from infoscope.data.factors.sprites import sprites

__all__ = [
    "FactorDataset",
    "dsprites",
    "factor_data",
    "sprites",
]
