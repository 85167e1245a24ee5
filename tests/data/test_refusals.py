"""What the sources and data sets refuse: one row for each fault, with the argument and the code of the error."""

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
from infoscope.data.tasks import beyond_normal, catalogue, independence
from tests.data.common import generator
from tests.refusals import refused

NAN = math.nan
BITS = torch.tensor([0, 0, 1, 1])
GREY = ImagePool(torch.zeros(4, 3, 3, dtype=torch.uint8), BITS, "grey")
RGB = ImagePool(torch.zeros(4, 3, 3, 3, dtype=torch.uint8), BITS, "rgb")
NOISE = ImagePool(torch.zeros(400, 28, 28, dtype=torch.uint8), torch.arange(400) % 10, "noise")
VECTORS = EmbeddingPool(torch.zeros(4, 8), BITS, "blank")
EIGHT = EmbeddingPool(torch.arange(8.0).view(-1, 1), torch.tensor([0] * 5 + [1] * 3), "eight")


def labelled(*labels):
    """Pools of four images and of four vectors with these labels."""
    labels = torch.tensor(labels)
    return ImagePool(GREY.images, labels, "four"), EmbeddingPool(VECTORS.vectors, labels, "four")


def images(**arguments):
    return ImagePairs(**{"pool": GREY} | arguments)


def mixed(**arguments):
    return MixedPairs(**{"images": GREY, "texts": VECTORS} | arguments)


def encoded(encoder):
    return EncodedPairs(GaussianPairs(4, mutual_information=1.0), encoder).sample(3, generator())


PAIRS = [
    (partial(crossover_for, -1e-9, 10), "mutual_information", "range"),
    (partial(crossover_for, NAN, 10), "mutual_information", "range"),
    (partial(channel_information, -0.01, 10), "crossover", "range"),
    *((partial(make, crossover=0.7), "crossover", "range") for make in (images, mixed, partial(ChannelPairs, 10))),
    (partial(ChannelPairs, 0), "sources", "range"),
    (partial(GaussianPairs, 10, -0.1), "mutual_information", "range"),
    (partial(GaussianPairs, 0, 0.1), "dim", "range"),
    *((partial(make, grid=(2, 5)), "grid", "range") for make in (images, mixed)),
    (partial(images, grid=(1, 0, 5)), "grid[1]", "range"),
    (partial(images, size=0), "size", "range"),
    *((partial(make, size=(64, 0)), "size[1]", "range") for make in (images, mixed)),
    (partial(images, pool=RGB), "pool", "shape"),
    (partial(images, nuisance=1.1, backgrounds=RGB), "nuisance", "range"),
    (partial(images, nuisance=0.5), "backgrounds", "conflict"),
    (partial(images, nuisance=0.5, backgrounds=GREY), "backgrounds", "shape"),
    (partial(images, nuisance=0.5, backgrounds=RGB, grid=(2, 1, 1)), "grid", "shape"),
    (partial(images, channels=2), "channels", "name"),
    (partial(images, channels=1, grid=(3, 1, 1)), "channels", "name"),
    (partial(images, pool=labelled(0, 0, 0, 0)[0]), "pool", "invalid"),
    (partial(TextPairs, labelled(0, 1, 2, 2)[1], 2), "pool", "invalid"),
    (partial(TextPairs, labelled(0, 1, 1, 1)[1], 2), "pool", "few"),
    (partial(mixed, images=labelled(0, 1, 1, 1)[0]), "images", "few"),
    (partial(mixed, images=RGB), "images", "shape"),
    (partial(mixed, texts=labelled(0, 1, 2, 2)[1]), "texts", "invalid"),
    (partial(encoded, lambda values: values.sum(1)), "encoder", "shape"),
    (partial(encoded, lambda values: values[:1]), "encoder", "shape"),
    (partial(encoded, lambda values: values[..., None]), "encoder", "shape"),
    (partial(encoded, torch.Tensor.long), "encoder", "shape"),
]
POOLS = [
    (partial(ImagePool, GREY.images.float(), BITS, "four"), "images", "shape"),
    (partial(ImagePool, GREY.images[:0], BITS, "four"), "images", "shape"),
    (partial(EmbeddingPool, torch.ones(4), BITS, "four"), "vectors", "shape"),
    (partial(EmbeddingPool, torch.full((4, 2), NAN), BITS, "four"), "vectors", "missing"),
    (partial(ImagePool, GREY.images, BITS[:3], "four"), "labels", "length"),
    (partial(EIGHT.restrict, ()), "classes", "invalid"),
    (partial(EIGHT.split, 0.0, generator()), "fraction", "range"),
    (partial(EIGHT.split, NAN, generator()), "fraction", "range"),
    (partial(EIGHT.split, 0.01, generator()), "fraction", "conflict"),
    (partial(EIGHT.folds, 1, generator()), "count", "range"),
    (partial(EIGHT.folds, 4, generator()), "count", "conflict"),
    *((partial(load, "valid"), "split", "name") for load in (mnist, cifar10, imdb, sst2)),
    (partial(imdb_embeddings, "gpt"), "encoder", "name"),
    (partial(textures, 0, generator=generator()), "n", "range"),
    (partial(textures, 3, 1, generator=generator()), "size", "range"),
]

TWELVE = np.zeros((12, 3, 6, 5), np.uint8)
Y, D = [2, 2, 0, 0, 2, 0] * 2, ["b", "a", "a", "b", "b", "a"] * 2
of_arrays = DomainDataset.of_arrays
DOMAINS = of_arrays(TWELVE, Y, D)
CROSSED = of_arrays(np.zeros((180, 1)), np.tile(np.arange(60) % 4, 3), np.repeat(np.arange(3), 60), np.arange(180) % 60)
NAMESAKES = of_arrays(np.zeros((180, 1)), CROSSED.y, CROSSED.d, domain_names=("up", "up", "down"))
COLOURED, TURNED = partial(crmnist, base="digits"), partial(rotated_mnist, base=NOISE)
FEW = of_arrays(np.zeros((4, 1)), [0] * 4, [0] * 4, [1, 1, 2, 2])
ITEMS = [
    (partial(of_arrays, np.zeros(12), Y, D), "x", "shape"),
    (partial(of_arrays, "twelve images", Y, D), "x", "type"),
    (partial(of_arrays, np.full((12, 2), NAN), Y, D), "x", "missing"),
    (partial(of_arrays, np.zeros((12, 28, 28, 3), np.uint8), Y, D), "x", "shape"),
    (partial(of_arrays, np.full((12, 4, 4), 2.0), Y, D), "x", "range"),
    (partial(of_arrays, np.zeros((12, 4, 4), np.int64), Y, D), "x", "range"),
    (partial(of_arrays, TWELVE, [0, 1], D), "y", "length"),
    (partial(of_arrays, TWELVE, Y, [0, 1]), "d", "length"),
    (partial(of_arrays, TWELVE, Y, D, [0, 1]), "groups", "length"),
    (partial(of_arrays, TWELVE, Y, D, class_names=("zero", "one")), "y", "length"),
    (partial(DOMAINS.images, [12]), "index", "shape"),
    (partial(DOMAINS.subset, []), "index", "few"),
    (partial(CROSSED.resized, 8), "size", "invalid"),
    (partial(DOMAINS.split, "c", 0.2, generator()), "held_out", "name"),
    (partial(NAMESAKES.split, "up", 0.2, generator()), "held_out", "name"),
    (partial(CROSSED.split, None, 0.2, generator(), disjoint=False), "held_out", "type"),
    (partial(CROSSED.split, 0, 0, generator()), "validation", "range"),
    (partial(CROSSED.split, 0, NAN, generator()), "validation", "range"),
    (partial(CROSSED.split, 0, 0.2, generator(), test=0), "test", "range"),
    (partial(FEW.split, None, 0.01, generator(), test=0.5), None, "few"),
    (partial(COLOURED, p=1.1), "p", "range"),
    (partial(COLOURED, count=0), "count", "range"),
    (partial(COLOURED, size=0), "size", "range"),
    (partial(COLOURED, base="svhn"), "base", "type"),
    (partial(COLOURED, base=RGB), "base", "shape"),
    (partial(TURNED, protocol="wilds"), "protocol", "name"),
    (partial(TURNED, per_class=0), "per_class", "range"),
]

N, NAMES = 12, ("colour", "size", "side")
ROWS = np.array([(a, b, c) for a in range(2) for b in range(3) for c in range(2)])
PIXELS = torch.zeros(N, 1, 4, 6)
FACTORS = FactorDataset(PIXELS, ROWS, NAMES)
two = partial(FactorDataset, PIXELS[:2], factor_names=["f"])
factors = partial(FactorDataset, PIXELS)
FACTOR_SETS = [
    (partial(factors, ROWS[:, 0], NAMES), "factors", "shape"),
    (partial(factors, ROWS, ("a", "b")), "factor_names", "length"),
    (partial(two, [[0], [2]], factor_values=[["a", "b"]]), "factors", "range"),
    (partial(two, [[0], [1]], factor_values=[["a"], ["b"]]), "factor_values", "length"),
    (partial(FACTORS.images, [0, N]), "index", "range"),
    (partial(FACTORS.images, [0.5]), "index", "shape"),
    (partial(FACTORS.sample, 0, generator()), "n", "range"),
    (partial(FACTORS.thinned, {"size": 0}), "every['size']", "range"),
    (partial(FACTORS.thinned, {"hue": 2}), "factor", "name"),
    (partial(FACTORS.resized, 0), "size", "range"),
    (partial(dsprites, part="test"), "part", "name"),
    *((partial(sprites, **{name: bad}), name, "range") for name, bad in (("shapes", 4), ("scales", 0))),
    *((partial(sprites, **{name: bad}), name, "range") for name, bad in (("orientations", 41), ("resolution", 15))),
    (partial(sprites, positions=33), "positions", "range"),
]

texts = partial(LabelledTexts, classes=("no", "yes"), name="few")
SINGLE = ["a b", "c"]
TEXTS = [
    (partial(texts, ["a"], torch.tensor([0, 1])), "labels", "length"),
    (partial(texts, [], torch.tensor([], dtype=torch.int64)), "labels", "length"),
    (partial(texts, ["a"], torch.tensor([2])), "labels", "range"),
    (partial(texts, ["a", ("b", "c")], BITS[1:3]), "texts", "invalid"),
    (partial(texts, ["a", "b"], BITS[1:3], ids=["x"]), "ids", "length"),
    (lambda: texts(["a", "b"], BITS[1:3]).premises, "texts", "invalid"),
    (partial(texts(["a", "b"], BITS[1:3]).take, [True]), "rows", "shape"),
    *((partial(load, "half"), "split", "name") for load in (cola, partial(nli, "mnli"))),
    (partial(nli, "anli"), "name", "name"),
    (partial(sentences, 0, generator=generator()), "per_class", "range"),
    (partial(generated_nli, 9, -0.1, generator=generator()), "artefact", "range"),
    (partial(generated_nli, 0, generator=generator()), "n", "range"),
    (partial(transformations.transformed, "upside-down", SINGLE, generator()), "name", "name"),
    *(
        (partial(getattr(transformations, of_pairs), SINGLE), "pairs", "invalid")
        for of_pairs in ("hypothesis_only", "premise_only", "raw_overlap", "overlap_level", "overlap_lengths")
    ),
]
DISTRIBUTIONS = [
    *((partial(table.case, "gaussian-3"), "distribution", "name") for table in (catalogue, beyond_normal)),
    (partial(independence.setting, "gaussian-3"), "setting", "name"),
]


@pytest.mark.parametrize(
    ("call", "argument", "code"),
    [*PAIRS, *POOLS, *ITEMS, *FACTOR_SETS, *TEXTS, *DISTRIBUTIONS],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_cannot_be_used_is_refused(call, argument, code):
    with refused(argument, code):
        call()
