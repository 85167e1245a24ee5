"""What the sources and data sets refuse: one row for each fault, with the argument and
the code of the error.
"""

import math
from functools import partial

import numpy as np
import pytest
import torch

from infoscope.data import (
    ChannelPairs,
    DomainDataset,
    EmbeddingPool,
    EncodedPairs,
    FactorDataset,
    GaussianPairs,
    ImagePairs,
    ImagePool,
    LabelledTexts,
    MixedPairs,
    TextPairs,
    channel_information,
    cifar10,
    cola,
    crmnist,
    crossover_for,
    dsprites,
    generated_nli,
    imdb,
    imdb_embeddings,
    mnist,
    nli,
    rotated_mnist,
    sentences,
    sprites,
    sst2,
    textures,
    transformations,
)
from infoscope.data.prior import distribution
from infoscope.data.prior.processes import process
from infoscope.data.tasks import beyond_normal, catalogue, independence
from tests.data.common import generator, wrong
from tests.refusals import refused

NAN = math.nan
BITS = torch.tensor([0, 0, 1, 1])
GREY = ImagePool(torch.zeros(4, 3, 3, dtype=torch.uint8), BITS, "grey")
RGB = ImagePool(torch.zeros(4, 3, 3, 3, dtype=torch.uint8), BITS, "rgb")
NOISE = ImagePool(
    torch.zeros(400, 28, 28, dtype=torch.uint8), torch.arange(400) % 10, "noise"
)
VECTORS = EmbeddingPool(torch.zeros(4, 8), BITS, "blank")


def vectors_of(*labels):
    return EmbeddingPool(VECTORS.vectors, torch.tensor(labels), "four")


def encoded(encoder):
    return EncodedPairs(GaussianPairs(4, mutual_information=1.0), encoder).sample(
        3, generator()
    )


images = partial(ImagePairs, **{"pool": GREY})
hidden = partial(images, **{"nuisance": 0.5, "backgrounds": RGB})
mixed = partial(MixedPairs, **{"images": GREY, "texts": VECTORS})
texts_of = partial(TextPairs, sources=2)
PAIRS = [
    (partial(crossover_for, -1e-9, 10), "mutual_information", "range"),
    *wrong(partial(ChannelPairs, 10), "range", crossover=0.7),
    (partial(channel_information, -0.01, 10), "crossover", "range"),
    *wrong(ChannelPairs, "range", sources=0),
    (partial(GaussianPairs, 10, -0.1), "mutual_information", "range"),
    (partial(GaussianPairs, 0, 0.1), "dim", "range"),
    *wrong(images, "range", crossover=0.7, grid=(2, 5), size=0),
    (partial(images, size=(64, 0)), "size[1]", "range"),
    *wrong(images, "shape", pool=RGB),
    *wrong(images, "invalid", pool=ImagePool(GREY.images, BITS * 0, "one")),
    *wrong(images, "name", channels=2),
    (partial(images, channels=1, grid=(3, 1, 1)), "channels", "name"),
    *wrong(hidden, "range", nuisance=1.1),
    *wrong(hidden, "conflict", backgrounds=None),
    *wrong(hidden, "shape", backgrounds=GREY, grid=(2, 1, 1)),
    *wrong(texts_of, "invalid", pool=vectors_of(0, 1, 2, 2)),
    *wrong(texts_of, "few", pool=vectors_of(0, 1, 1, 1)),
    *wrong(mixed, "range", crossover=0.7, grid=(2, 5), size=0),
    *wrong(mixed, "shape", images=RGB),
    *wrong(
        mixed, "few", images=ImagePool(GREY.images, torch.tensor([0, 1, 1, 1]), "few")
    ),
    *wrong(mixed, "invalid", texts=vectors_of(0, 1, 2, 2)),
    *wrong(encoded, "shape", encoder=lambda values: values.sum(1)),
    *wrong(encoded, "shape", encoder=lambda values: values[:1]),
    *wrong(encoded, "shape", encoder=torch.Tensor.long),
]

image_pool = partial(
    ImagePool, **{"images": GREY.images, "labels": BITS, "name": "four"}
)
vector_pool = partial(EmbeddingPool, **{"labels": BITS, "name": "four"})
EIGHT = EmbeddingPool(
    torch.arange(8.0).view(-1, 1), torch.tensor([0] * 5 + [1] * 3), "eight"
)
part = partial(EIGHT.split, generator=generator())
folds = partial(EIGHT.folds, generator=generator())
generated = partial(textures, **{"n": 3, "generator": generator()})
POOLS = [
    *wrong(image_pool, "shape", images=GREY.images.float()),
    *wrong(image_pool, "shape", images=GREY.images[:0]),
    *wrong(image_pool, "length", labels=BITS[:3]),
    *wrong(vector_pool, "shape", vectors=torch.ones(4)),
    *wrong(vector_pool, "missing", vectors=torch.full((4, 2), NAN)),
    *wrong(EIGHT.restrict, "invalid", classes=()),
    *wrong(part, "range", fraction=0.0),
    *wrong(part, "conflict", fraction=0.01),
    *wrong(folds, "range", count=1),
    *wrong(folds, "conflict", count=4),
    *wrong(imdb_embeddings, "name", encoder="gpt"),
    *wrong(generated, "range", n=0, size=1),
]
for load in (mnist, cifar10, imdb, sst2, cola, partial(nli, "mnli")):
    POOLS += wrong(load, "name", split="half")

TWELVE = np.zeros((12, 3, 6, 5), np.uint8)
Y, D = [2, 2, 0, 0, 2, 0] * 2, ["b", "a", "a", "b", "b", "a"] * 2
of_arrays = partial(DomainDataset.of_arrays, **{"x": TWELVE, "y": Y, "d": D})
DOMAINS = of_arrays()
CROSSED = of_arrays(x=np.zeros((180, 1)), y=[0, 1] * 90, d=np.repeat([0, 1, 2], 60))
NAMESAKES = of_arrays(
    x=np.zeros((180, 1)), y=CROSSED.y, d=CROSSED.d, domain_names=("up", "up", "down")
)
FEW = of_arrays(x=np.zeros((4, 1)), y=[0] * 4, d=[0] * 4, groups=[1, 1, 2, 2])
split = partial(
    CROSSED.split, **{"held_out": 0, "validation": 0.2, "generator": generator()}
)
coloured = partial(crmnist, **{"base": "digits"})
turned = partial(rotated_mnist, **{"base": NOISE})
ITEMS = [
    *wrong(of_arrays, "shape", x=np.zeros((12, 28, 28, 3), np.uint8)),
    *wrong(of_arrays, "shape", x=np.zeros(12)),
    *wrong(of_arrays, "type", x="twelve images"),
    *wrong(of_arrays, "missing", x=np.full((12, 2), NAN)),
    *wrong(of_arrays, "range", x=np.full((12, 4, 4), 2.0)),
    *wrong(of_arrays, "range", x=np.zeros((12, 4, 4), np.int64)),
    *wrong(of_arrays, "length", y=[0, 1], d=[0, 1], groups=[0, 1]),
    (partial(of_arrays, class_names=("zero", "one")), "y", "length"),
    *wrong(DOMAINS.images, "shape", index=[12]),
    *wrong(DOMAINS.subset, "few", index=[]),
    *wrong(CROSSED.resized, "invalid", size=8),
    *wrong(split, "name", held_out="c"),
    (partial(NAMESAKES.split, "up", 0.2, generator()), "held_out", "name"),
    (partial(split, held_out=None, disjoint=False), "held_out", "type"),
    *wrong(split, "range", validation=0, test=0),
    (partial(FEW.split, None, 0.01, generator(), test=0.5), None, "few"),
    *wrong(coloured, "range", p=1.1, count=0, size=0),
    *wrong(coloured, "type", base="svhn"),
    *wrong(coloured, "shape", base=RGB),
    *wrong(turned, "name", protocol="wilds"),
    *wrong(turned, "range", per_class=0),
]

ROWS = np.array(list(np.ndindex(2, 3, 2)))
PIXELS = torch.zeros(12, 1, 4, 6)
factors = partial(
    FactorDataset,
    **{"images": PIXELS, "factors": ROWS, "factor_names": ("colour", "size", "side")},
)
two = partial(
    FactorDataset,
    **{"images": PIXELS[:2], "factors": [[0], [1]], "factor_names": ["f"]},
)
FACTORS = factors()
FACTOR_SETS = [
    *wrong(factors, "shape", factors=ROWS[:, 0]),
    *wrong(factors, "length", factor_names=("a", "b")),
    *wrong(factors, "length", images=PIXELS[:3]),
    *wrong(two, "length", factor_values=[["a"], ["b"]]),
    (partial(two, factors=[[0], [2]], factor_values=[["a", "b"]]), "factors", "range"),
    *wrong(FACTORS.images, "range", index=[0, 12]),
    *wrong(partial(FACTORS.sample, generator=generator()), "range", n=0),
    *wrong(FACTORS.images, "shape", index=[0.5]),
    *wrong(FACTORS.resized, "range", size=0),
    (partial(FACTORS.thinned, {"size": 0}), "every['size']", "range"),
    (partial(FACTORS.thinned, {"hue": 2}), "factor", "name"),
    *wrong(dsprites, "name", part="test"),
    *wrong(
        sprites,
        "range",
        shapes=4,
        scales=0,
        orientations=41,
        positions=33,
        resolution=15,
    ),
]

texts = partial(
    LabelledTexts,
    **{
        "texts": ["a", "b"],
        "labels": BITS[1:3],
        "classes": ("no", "yes"),
        "name": "few",
    },
)
inference = partial(generated_nli, **{"n": 9, "generator": generator()})
TEXTS = [
    *wrong(texts, "length", labels=BITS, ids=["x"]),
    *wrong(texts, "range", labels=torch.tensor([0, 2])),
    *wrong(texts, "invalid", texts=["a", ("b", "c")]),
    (lambda: texts().premises, "texts", "invalid"),
    *wrong(texts().take, "shape", rows=[True]),
    *wrong(nli, "name", name="anli"),
    *wrong(partial(sentences, generator=generator()), "range", per_class=0),
    *wrong(inference, "range", n=0, artefact=-0.1),
    (
        partial(transformations.transformed, "upside-down", ["a"], generator()),
        "name",
        "name",
    ),
]
for of_pairs in (
    "hypothesis_only",
    "premise_only",
    "raw_overlap",
    "overlap_level",
    "overlap_lengths",
):
    TEXTS.append(
        (partial(getattr(transformations, of_pairs), ["a b", "c"]), "pairs", "invalid")
    )
DISTRIBUTIONS = [
    (partial(catalogue.case, "gaussian-3"), "distribution", "name"),
    (partial(beyond_normal.case, "gaussian-3"), "distribution", "name"),
    (partial(independence.setting, "gaussian-3"), "setting", "name"),
    *wrong(distribution, "range", number=-1),
    *wrong(distribution, "range", number=1.5),
    *wrong(process, "range", number=True),
]


@pytest.mark.parametrize(
    ("call", "argument", "code"),
    [*PAIRS, *POOLS, *ITEMS, *FACTOR_SETS, *TEXTS, *DISTRIBUTIONS],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_cannot_be_used_is_refused(call, argument, code):
    with refused(argument, code):
        call()
