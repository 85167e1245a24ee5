from infoscope.models.invertible.flows import (
    MaskedAutoregressiveFlow as MaskedAutoregressiveFlow,
)
from infoscope.models.invertible.flows import RealNVP as RealNVP
from infoscope.models.invertible.irevnet import IREVNET_BLOCKS as IREVNET_BLOCKS
from infoscope.models.invertible.irevnet import IRevNet as IRevNet
