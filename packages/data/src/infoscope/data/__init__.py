"""Data to be measured: pairs with known mutual information, and the pools they are drawn from.

Sources of pairs, each with `sample(n, generator, device)`, `mutual_information` in nats, `dim_x` and `dim_y`:
    KnownPairSource  the protocol they follow
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
Labelled texts, to be embedded or classified:
    sentences        a generated corpus of film reviews (synthetic)
    LabelledTexts    texts, or pairs of premise and hypothesis, with labels, ids and groups
    imdb, sst2       film reviews and phrases of them, by sentiment
    cola             sentences and whether they are acceptable; in and out of domain
    nli              SNLI and MultiNLI: pairs that entail, contradict or neither
    generated_reviews, generated_nli    the same kinds, generated (synthetic); of the latter the information is known:
                     `hypothesis_information`
    transformations  what keeps one attribute of a text only: shuffled, one side of a pair, overlap, length ...
Images with known factors:
    FactorDataset    images and their discrete factors, your own or of a loader; grids, `thinned`, `resized`
    dsprites         dSprites, whole or in part
    sprites          the same grid of sprites, generated at any resolution (synthetic), which needs no download
    factor_data      dSprites where it is there, else the generated sprites
Items of a class, a domain and a group, which may be held out by domain and never split within a group:
    DomainDataset, DomainSplit   your own arrays (`of_arrays`) or those of a loader; `split`, `resized`, `in_memory`
    crmnist          digits coloured and rotated by domain, after MNIST or the bundled digits
    rotated_mnist    digits rotated by domain, in the protocol of DIVA or of DomainBed
    camelyon17       patches of lymph nodes from five hospitals, as WILDS cuts them
    image_folder     image files in folders by domain and class, or listed in a table
Where they are:
    data_root        the folder of real data, named by INFOSCOPE_DATA
"""

from infoscope.data.domains.camelyon17 import camelyon17
from infoscope.data.domains.crmnist import crmnist
from infoscope.data.domains.dataset import DomainDataset, DomainSplit
from infoscope.data.domains.folders import image_folder
from infoscope.data.domains.rotated_mnist import rotated_mnist
from infoscope.data.factors.dataset import FactorDataset
from infoscope.data.factors.dsprites import dsprites, factor_data
from infoscope.data.factors.sprites import sprites
from infoscope.data.pairs.channel import ChannelPairs, channel_information, crossover_for
from infoscope.data.pairs.encoded import EncodedPairs
from infoscope.data.pairs.gaussian import GaussianPairs
from infoscope.data.pairs.images import ImagePairs
from infoscope.data.pairs.mixed import MixedPairs
from infoscope.data.pairs.protocol import KnownPairSource, LabelledSource
from infoscope.data.pairs.text import TextPairs
from infoscope.data.pools.loaders import cifar10, data_root, digits, imdb_embeddings, mnist
from infoscope.data.pools.pools import EmbeddingPool, ImagePool
from infoscope.data.pools.textures import textures
from infoscope.data.texts import transformations
from infoscope.data.texts.cola import cola
from infoscope.data.texts.dataset import LabelledTexts, generated_reviews, imdb
from infoscope.data.texts.generated_reviews import sentences
from infoscope.data.texts.nli import generated_nli, hypothesis_information, nli
from infoscope.data.texts.sst2 import sst2

__all__ = [
    "ChannelPairs", "DomainDataset", "DomainSplit", "EmbeddingPool", "EncodedPairs", "FactorDataset", "GaussianPairs",
    "ImagePairs", "ImagePool", "KnownPairSource", "LabelledSource", "LabelledTexts", "MixedPairs", "TextPairs",
    "camelyon17", "channel_information", "cifar10", "cola", "crmnist", "crossover_for", "data_root", "digits",
    "dsprites", "factor_data", "generated_nli", "generated_reviews", "hypothesis_information", "image_folder", "imdb",
    "imdb_embeddings", "mnist", "nli", "rotated_mnist", "sentences", "sprites", "sst2", "textures", "transformations",
]  # fmt: skip
