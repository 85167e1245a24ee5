"""Data to be measured: pairs with known mutual information, and the pools they are drawn from.

Sources of pairs, each with `sample(n, generator, device)`, `mutual_information` in nats, `dim_x` and `dim_y` (protocols
KnownPairSource, LabelledSource):
    GaussianPairs    correlated normal vectors, plain or cubed
    ChannelPairs     bare labels through a binary symmetric channel (crossover_for, channel_information)
    ImagePairs       images composed of patches of shared classes, over backgrounds if asked
    TextPairs        concatenated text embeddings of shared classes
    MixedPairs       an image and a text
    EncodedPairs     any of these after an encoder
Pools of labelled items (ImagePool, EmbeddingPool):
    digits, mnist, cifar10, textures, imdb_embeddings    the first and textures need no download
Labelled texts (LabelledTexts):
    imdb, sst2, cola, nli      published data sets
    sentences, generated_reviews, generated_nli    synthetic; `hypothesis_information` of the last is known
    transformations            each keeps one attribute of a text
Images with known factors (FactorDataset):
    dsprites, sprites, factor_data    sprites are synthetic; factor_data is dSprites where it is there
Items of a class, a domain and a group (DomainDataset, DomainSplit):
    crmnist, rotated_mnist     digits rotated (and coloured) by domain
    camelyon17, image_folder   patches of lymph nodes as WILDS cuts them; image files of your own
Where they are: data_root, the folder of real data, named by INFOSCOPE_DATA
"""

from infoscope.data.domains.dataset import DomainDataset, DomainSplit
from infoscope.data.domains.digits import crmnist, rotated_mnist
from infoscope.data.domains.folders import camelyon17, image_folder
from infoscope.data.factors.dataset import FactorDataset
from infoscope.data.factors.dsprites import dsprites, factor_data
from infoscope.data.factors.sprites import sprites
from infoscope.data.pairs.channel import ChannelPairs, channel_information, crossover_for
from infoscope.data.pairs.classes import ImagePairs, MixedPairs, TextPairs
from infoscope.data.pairs.encoded import EncodedPairs
from infoscope.data.pairs.gaussian import GaussianPairs
from infoscope.data.pairs.protocol import KnownPairSource, LabelledSource
from infoscope.data.pools.loaders import cifar10, data_root, digits, imdb_embeddings, mnist
from infoscope.data.pools.pools import EmbeddingPool, ImagePool
from infoscope.data.pools.textures import textures
from infoscope.data.texts import transformations
from infoscope.data.texts.dataset import LabelledTexts
from infoscope.data.texts.generated_nli import generated_nli, hypothesis_information
from infoscope.data.texts.generated_reviews import generated_reviews, sentences
from infoscope.data.texts.published import cola, imdb, nli, sst2

__all__ = [
    "ChannelPairs", "DomainDataset", "DomainSplit", "EmbeddingPool", "EncodedPairs", "FactorDataset", "GaussianPairs",
    "ImagePairs", "ImagePool", "KnownPairSource", "LabelledSource", "LabelledTexts", "MixedPairs", "TextPairs",
    "camelyon17", "channel_information", "cifar10", "cola", "crmnist", "crossover_for", "data_root", "digits",
    "dsprites", "factor_data", "generated_nli", "generated_reviews", "hypothesis_information", "image_folder", "imdb",
    "imdb_embeddings", "mnist", "nli", "rotated_mnist", "sentences", "sprites", "sst2", "textures", "transformations",
]  # fmt: skip
