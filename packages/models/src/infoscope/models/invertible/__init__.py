"""Random invertible encoders (the benchmark, section 5.7): normalising flows and i-RevNet."""

from infoscope.models.invertible.flows import MaskedAutoregressiveFlow, RealNVP
from infoscope.models.invertible.irevnet import IREVNET_BLOCKS, IRevNet

__all__ = [
    "IREVNET_BLOCKS",
    "IRevNet",
    "MaskedAutoregressiveFlow",
    "RealNVP",
]
