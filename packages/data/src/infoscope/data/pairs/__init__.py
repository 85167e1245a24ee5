"""Sources of pairs (x, y) whose mutual information is known: KnownPairSource, LabelledSource (protocols),
GaussianPairs, ChannelPairs, ImagePairs, TextPairs, MixedPairs, EncodedPairs.
"""

from infoscope.data.pairs.channel import ChannelPairs, channel_information, crossover_for
from infoscope.data.pairs.encoded import EncodedPairs
from infoscope.data.pairs.gaussian import GaussianPairs
from infoscope.data.pairs.images import ImagePairs
from infoscope.data.pairs.mixed import MixedPairs
from infoscope.data.pairs.protocol import KnownPairSource, LabelledSource
from infoscope.data.pairs.text import TextPairs

__all__ = [
    "ChannelPairs", "EncodedPairs", "GaussianPairs", "ImagePairs", "KnownPairSource", "LabelledSource", "MixedPairs",
    "TextPairs", "channel_information", "crossover_for",
]  # fmt: skip
