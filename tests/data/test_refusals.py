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
    *((partial(crossover_for, bad, 10), "mutual_information", "range") for bad in (-1e-9, 7.0, NAN, math.inf)),
    *((partial(channel_information, bad, 10), "crossover", "range") for bad in (-0.01, 0.51, NAN, "0.1")),
    *((partial(make, crossover=0.7), "crossover", "range") for make in (images, mixed, partial(ChannelPairs, 10))),
    *((partial(ChannelPairs, bad), "sources", "range") for bad in (0, 2.5, True, "3")),
    *((partial(GaussianPairs, 10, bad), "mutual_information", "range") for bad in (-0.1, NAN, math.inf, 200.0)),
    *((partial(GaussianPairs, bad, 0.1), "dim", "range") for bad in (0, -3, 1.5)),
    *((partial(make, grid=(2, 5)), "grid", "range") for make in (images, mixed)),
    (partial(images, grid=(1, 0, 5)), "grid[1]", "range"),
    *((partial(images, size=bad), "size", "range") for bad in (0, 64.0, (64,))),
    *((partial(make, size=(64, 0)), "size[1]", "range") for make in (images, mixed)),
    (partial(images, pool=RGB), "pool", "shape"),
    *((partial(images, nuisance=bad, backgrounds=RGB), "nuisance", "range") for bad in (1.1, -0.1, NAN)),
    (partial(images, nuisance=0.5), "backgrounds", "conflict"),
    (partial(images, nuisance=0.5, backgrounds=GREY), "backgrounds", "shape"),
    (partial(images, nuisance=0.5, backgrounds=RGB, grid=(2, 1, 1)), "grid", "shape"),
    (partial(images, channels=2), "channels", "name"),
    (partial(images, channels=1, grid=(3, 1, 1)), "channels", "name"),
    *((partial(images, pool=labelled(*bad)[0]), "pool", "invalid") for bad in ((0, 0, 0, 0), (0, 1, 2, 2))),
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
    *((partial(ImagePool, bad, BITS, "four"), "images", "shape") for bad in (GREY.images.float(), GREY.images[:, 0])),
    *((partial(ImagePool, bad, BITS, "four"), "images", "shape") for bad in (GREY.images[:0], GREY.images[..., None])),
    *((partial(EmbeddingPool, torch.ones(*bad), BITS, "four"), "vectors", "shape") for bad in ((4,), (4, 0))),
    *((partial(EmbeddingPool, torch.full((4, 2), bad), BITS, "four"), "vectors", "missing") for bad in (NAN, math.inf)),
    *((partial(ImagePool, GREY.images, bad, "four"), "labels", "length") for bad in (BITS[:3], BITS.float())),
    *((partial(EIGHT.restrict, bad), "classes", "invalid") for bad in ((), (0, 3))),
    *((partial(EIGHT.split, bad, generator()), "fraction", "range") for bad in (0.0, 1.0, -0.1, NAN, "0.5")),
    (partial(EIGHT.split, 0.01, generator()), "fraction", "conflict"),
    (partial(EIGHT.folds, 1, generator()), "count", "range"),
    (partial(EIGHT.folds, 4, generator()), "count", "conflict"),
    *((partial(load, "valid"), "split", "name") for load in (mnist, cifar10, imdb, sst2)),
    (partial(imdb_embeddings, "gpt"), "encoder", "name"),
    (partial(textures, 0, generator=generator()), "n", "range"),
    *((partial(textures, 3, bad, generator=generator()), "size", "range") for bad in (1, 2.0)),
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
    *((partial(of_arrays, bad, Y, D), "x", "shape") for bad in (np.zeros(12), np.zeros((0, 3)), TWELVE > 0)),
    (partial(of_arrays, "twelve images", Y, D), "x", "type"),
    (partial(of_arrays, np.full((12, 2), NAN), Y, D), "x", "missing"),
    (partial(of_arrays, np.zeros((12, 28, 28, 3), np.uint8), Y, D), "x", "shape"),
    (partial(of_arrays, np.full((12, 4, 4), 2.0), Y, D), "x", "range"),
    (partial(of_arrays, np.zeros((12, 4, 4), np.int64), Y, D), "x", "range"),
    *((partial(of_arrays, TWELVE, bad, D), "y", "length") for bad in ([0, 1], np.zeros(12), [None] * 12)),
    (partial(of_arrays, TWELVE, Y, [0, 1]), "d", "length"),
    (partial(of_arrays, TWELVE, Y, D, [0, 1]), "groups", "length"),
    (partial(of_arrays, TWELVE, Y, D, class_names=("zero", "one")), "y", "length"),
    *((partial(DOMAINS.images, bad), "index", "shape") for bad in ([12], [-1], [0.5], [[1]], [True, False], "all")),
    (partial(DOMAINS.subset, []), "index", "few"),
    (partial(CROSSED.resized, 8), "size", "invalid"),
    *((partial(DOMAINS.split, bad, 0.2, generator()), "held_out", "name") for bad in ("c", 3, -1, True, 1.0)),
    (partial(NAMESAKES.split, "up", 0.2, generator()), "held_out", "name"),
    (partial(CROSSED.split, None, 0.2, generator(), disjoint=False), "held_out", "type"),
    *((partial(CROSSED.split, 0, bad, generator()), "validation", "range") for bad in (0, 1, -0.1, "half", NAN)),
    *((partial(CROSSED.split, 0, 0.2, generator(), test=bad), "test", "range") for bad in (0, 1, -0.1, "half", NAN)),
    (partial(FEW.split, None, 0.01, generator(), test=0.5), None, "few"),
    *((partial(COLOURED, p=bad), "p", "range") for bad in (1.1, NAN)),
    *((partial(COLOURED, count=bad), "count", "range") for bad in (0, 1798)),
    (partial(COLOURED, size=0), "size", "range"),
    (partial(COLOURED, base="svhn"), "base", "type"),
    (partial(COLOURED, base=RGB), "base", "shape"),
    (partial(TURNED, protocol="wilds"), "protocol", "name"),
    *((partial(TURNED, per_class=bad), "per_class", "range") for bad in (0, 41)),
]

N, NAMES = 12, ("colour", "size", "side")
ROWS = np.array([(a, b, c) for a in range(2) for b in range(3) for c in range(2)])
PIXELS = torch.zeros(N, 1, 4, 6)
FACTORS = FactorDataset(PIXELS, ROWS, NAMES)
two = partial(FactorDataset, PIXELS[:2], factor_names=["f"])
factors = partial(FactorDataset, PIXELS)
FACTOR_SETS = [
    *((partial(factors, bad, NAMES), "factors", "shape") for bad in (ROWS[:, 0], ROWS[:0], ROWS / 2)),
    *((partial(factors, ROWS, bad), "factor_names", "length") for bad in (("a", "b"), ("a", "b", "a"))),
    *((partial(two, bad, factor_values=[["a", "b"]]), "factors", "range") for bad in ([[0], [2]], [[-1], [0]])),
    (partial(two, [[0], [1]], factor_values=[["a"], ["b"]]), "factor_values", "length"),
    *((partial(FACTORS.images, bad), "index", "range") for bad in ([0, N], [-1])),
    *((partial(FACTORS.images, bad), "index", "shape") for bad in ([0.5], np.ones(N, bool), 3)),
    (partial(FACTORS.sample, 0, generator()), "n", "range"),
    (partial(FACTORS.thinned, {"size": 0}), "every['size']", "range"),
    (partial(FACTORS.thinned, {"hue": 2}), "factor", "name"),
    *((partial(FACTORS.resized, bad), "size", "range") for bad in (0, 5)),
    (partial(dsprites, part="test"), "part", "name"),
    *((partial(sprites, **{name: bad}), name, "range") for name, bad in (("shapes", 4), ("scales", 0))),
    *((partial(sprites, **{name: bad}), name, "range") for name, bad in (("orientations", 41), ("resolution", 15))),
    *((partial(sprites, positions=bad), "positions", "range") for bad in (33, 2.0)),
]

texts = partial(LabelledTexts, classes=("no", "yes"), name="few")
SINGLE = ["a b", "c"]
TEXTS = [
    *((partial(texts, ["a"], bad), "labels", "length") for bad in (torch.tensor([0, 1]), torch.tensor([0.0]))),
    (partial(texts, [], torch.tensor([], dtype=torch.int64)), "labels", "length"),
    *((partial(texts, ["a"], torch.tensor([bad])), "labels", "range") for bad in (2, -1)),
    *((partial(texts, bad, BITS[1:3]), "texts", "invalid") for bad in (["a", ("b", "c")], [("a", "b", "c")] * 2)),
    (partial(texts, ["a", "b"], BITS[1:3], ids=["x"]), "ids", "length"),
    (lambda: texts(["a", "b"], BITS[1:3]).premises, "texts", "invalid"),
    (partial(texts(["a", "b"], BITS[1:3]).take, [True]), "rows", "shape"),
    *((partial(load, "half"), "split", "name") for load in (cola, partial(nli, "mnli"))),
    (partial(nli, "anli"), "name", "name"),
    *((partial(sentences, bad, generator=generator()), "per_class", "range") for bad in (0, -5, 1.5, 10**8)),
    *((partial(generated_nli, 9, bad, generator=generator()), "artefact", "range") for bad in (-0.1, 1.1, NAN, True)),
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
