"""What is measured: pairs with known mutual information, and the pools they are drawn from.

Sources of pairs, each with `sample(n, generator, device)`, `mutual_information` in nats, `dim_x` and `dim_y`:
    PairSource       the protocol they follow
    GaussianPairs    correlated normal vectors, plain or cubed
    ChannelPairs     bare labels through a binary symmetric channel
    ImagePairs       images composed of patches of shared classes, over backgrounds if asked
    TextPairs        concatenated text embeddings of shared classes
    MixedPairs       an image on one side, a text on the other
    EncodedPairs     any of these after an encoder
    LabelledSource   the protocol of those that also tell their labels: `sample_labelled`
The channel:
    crossover_for, channel_information    from information to crossover probability and back
Pools of labelled items, and where they come from:
    ImagePool, EmbeddingPool   with `restrict` to classes, `split` into parts and `folds` without a common item
    digits           8 x 8 handwritten digits that come with scikit-learn (the default that needs no download)
    mnist            MNIST
    cifar10          CIFAR-10 photographs, the published backgrounds
    textures         generated colour textures (synthetic), backgrounds that need no download
    imdb_embeddings  BERT and RoBERTa embeddings of IMDB reviews
Labelled texts, to be embedded:
    sentences        a generated corpus of film reviews (synthetic)
    imdb             the reviews of IMDB, as LabelledTexts
Where they are:
    data_root        the folder of real data, named by INFOSCOPE_DATA
"""

from .channel import ChannelPairs, channel_information, crossover_for
from .encoded import EncodedPairs
from .gaussian import GaussianPairs
from .grammar import sentences
from .images import ImagePairs
from .labelled_text import LabelledTexts, imdb
from .loaders import cifar10, data_root, digits, imdb_embeddings, mnist
from .mixed import MixedPairs
from .pairs import LabelledSource, PairSource
from .pools import EmbeddingPool, ImagePool
from .text import TextPairs
from .textures import textures

__all__ = [
    "ChannelPairs",
    "EmbeddingPool",
    "EncodedPairs",
    "GaussianPairs",
    "ImagePairs",
    "ImagePool",
    "LabelledSource",
    "LabelledTexts",
    "MixedPairs",
    "PairSource",
    "TextPairs",
    "channel_information",
    "cifar10",
    "crossover_for",
    "data_root",
    "digits",
    "imdb",
    "imdb_embeddings",
    "mnist",
    "sentences",
    "textures",
]
