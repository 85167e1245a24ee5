"""Random encoders that lose nothing (the benchmark, section 5.7).

flows    MaskedAutoregressiveFlow, RealNVP
irevnet  IRevNet, IREVNET_BLOCKS
base     the statistics that they share
"""

from infoscope.models.invertible.flows import MaskedAutoregressiveFlow, RealNVP
from infoscope.models.invertible.irevnet import IREVNET_BLOCKS, IRevNet

__all__ = [
    "IREVNET_BLOCKS",
    "IRevNet",
    "MaskedAutoregressiveFlow",
    "RealNVP",
]
