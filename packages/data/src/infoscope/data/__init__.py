"""Data to be measured: pairs with known mutual information, and the pools they are
drawn from.

Sources of pairs, each with `sample(n, generator, device)`, `mutual_information` in
nats, `dim_x` and `dim_y` (protocols KnownPairSource, LabelledSource):
    GaussianPairs    correlated normal vectors
    ChannelPairs     bare labels through a binary symmetric channel (crossover_for, channel_information)
    ImagePairs       images composed of patches of shared classes, optionally over backgrounds
    TextPairs        concatenated text embeddings of shared classes
    MixedPairs       an image and a text
    EncodedPairs     any of these after an encoder
Pools of labelled items (ImagePool, EmbeddingPool):
    digits, mnist, cifar10, textures, imdb_embeddings    digits and textures need no download
Labelled texts (LabelledTexts):
    imdb, sst2, cola, nli      published data sets
    sentences, generated_reviews, generated_nli    synthetic; `hypothesis_information` of the last is known
    transformations            each keeps one attribute of a text
Images with known factors (FactorDataset):
    dsprites, sprites, factor_data    sprites are synthetic; factor_data: dSprites if it is installed, else sprites
Items of a class, a domain and a group (DomainDataset, DomainSplit):
    crmnist, rotated_mnist     digits rotated (and coloured) by domain
    camelyon17                 patches of lymph nodes (WILDS)
Distributions of known information (infoscope.data.prior, infoscope.data.tasks):
    prior                      random distributions by number, on which the reading is trained
    tasks                      fixed distributions and tables, on which estimators are examined
The folder of real data: data_root, from the environment variable INFOSCOPE_DATA
"""

from infoscope.late import exports

__getattr__, __dir__, __all__ = exports(__name__)
