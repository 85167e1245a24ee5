"""What is measured: pairs with known mutual information, and the pools they are drawn from.

Sources of pairs, each with `sample(n, generator, device)`, `mutual_information` in nats, `dim_x` and `dim_y`:
    PairSource       the protocol they follow
    GaussianPairs    correlated normal vectors, plain or cubed
    ChannelPairs     bare labels through a binary symmetric channel
    ImagePairs       images composed of patches of shared classes
    TextPairs        concatenated text embeddings of shared classes
The channel:
    crossover_for, channel_information    from information to crossover probability and back
Pools of labelled items, and where they come from:
    ImagePool, EmbeddingPool
    digits           8 x 8 handwritten digits that come with scikit-learn (the default that needs no download)
    mnist            MNIST
    imdb_embeddings  BERT and RoBERTa embeddings of IMDB reviews
    sentences        a generated corpus of film reviews (synthetic), to be embedded
    data_root        the folder of real data, named by INFOSCOPE_DATA
"""

from .channel import ChannelPairs, channel_information, crossover_for
from .gaussian import GaussianPairs
from .grammar import sentences
from .images import ImagePairs
from .loaders import data_root, digits, imdb_embeddings, mnist
from .pairs import PairSource
from .pools import EmbeddingPool, ImagePool
from .text import TextPairs

__all__ = [
    "ChannelPairs",
    "EmbeddingPool",
    "GaussianPairs",
    "ImagePairs",
    "ImagePool",
    "PairSource",
    "TextPairs",
    "channel_information",
    "crossover_for",
    "data_root",
    "digits",
    "imdb_embeddings",
    "mnist",
    "sentences",
]
