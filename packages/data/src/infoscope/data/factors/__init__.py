"""Images with known discrete factors: FactorDataset, dsprites, sprites (synthetic), factor_data (either)."""

from infoscope.data.factors.dataset import FactorDataset
from infoscope.data.factors.dsprites import dsprites, factor_data
from infoscope.data.factors.sprites import sprites

__all__ = [
    "FactorDataset",
    "dsprites",
    "factor_data",
    "sprites",
]
