from infoscope.data.domains.camelyon17 import camelyon17 as camelyon17
from infoscope.data.domains.dataset import DomainDataset as DomainDataset
from infoscope.data.domains.dataset import DomainSplit as DomainSplit
from infoscope.data.domains.digits import crmnist as crmnist
from infoscope.data.domains.digits import rotated_mnist as rotated_mnist
from infoscope.data.factors.dataset import FactorDataset as FactorDataset
from infoscope.data.factors.dsprites import dsprites as dsprites
from infoscope.data.factors.dsprites import factor_data as factor_data
from infoscope.data.factors.sprites import sprites as sprites
from infoscope.data.pairs.channel import ChannelPairs as ChannelPairs
from infoscope.data.pairs.channel import channel_information as channel_information
from infoscope.data.pairs.channel import crossover_for as crossover_for
from infoscope.data.pairs.classes import ImagePairs as ImagePairs
from infoscope.data.pairs.classes import MixedPairs as MixedPairs
from infoscope.data.pairs.classes import TextPairs as TextPairs
from infoscope.data.pairs.encoded import EncodedPairs as EncodedPairs
from infoscope.data.pairs.gaussian import GaussianPairs as GaussianPairs
from infoscope.data.pools.loaders import cifar10 as cifar10
from infoscope.data.pools.loaders import digits as digits
from infoscope.data.pools.loaders import imdb_embeddings as imdb_embeddings
from infoscope.data.pools.loaders import mnist as mnist
from infoscope.data.pools.pools import EmbeddingPool as EmbeddingPool
from infoscope.data.pools.pools import ImagePool as ImagePool
from infoscope.data.pools.textures import textures as textures
from infoscope.data.root import data_root as data_root
from infoscope.data.texts import transformations as transformations
from infoscope.data.texts.dataset import LabelledTexts as LabelledTexts
from infoscope.data.texts.generated_nli import generated_nli as generated_nli
from infoscope.data.texts.generated_nli import (
    hypothesis_information as hypothesis_information,
)
from infoscope.data.texts.generated_reviews import (
    generated_reviews as generated_reviews,
)
from infoscope.data.texts.generated_reviews import sentences as sentences
from infoscope.data.texts.published import cola as cola
from infoscope.data.texts.published import imdb as imdb
from infoscope.data.texts.published import nli as nli
from infoscope.data.texts.published import sst2 as sst2
from infoscope.sources import KnownPairSource as KnownPairSource
from infoscope.sources import LabelledSource as LabelledSource
