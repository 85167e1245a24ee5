"""Sources of pairs (x, y) whose mutual information is known.

protocol     KnownPairSource, LabelledSource: what every source looks like
gaussian     GaussianPairs, plain and cubed
channel      ChannelPairs: bits through a binary symmetric channel; channel_information, crossover_for
images       ImagePairs: images of patches whose classes go through that channel
text         TextPairs: the same of sentence embeddings
mixed        MixedPairs: an image on one side, a text on the other
encoded      EncodedPairs: any of these behind an encoder
two_classes  TwoClasses: how the items of a pair are chosen
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
