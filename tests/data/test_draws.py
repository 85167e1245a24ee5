"""What is drawn follows from the generator alone: the same seed, the same items, and another seed, others."""

import numpy as np
import pytest
import torch

from infoscope.data import (
    DomainDataset,
    EmbeddingPool,
    crmnist,
    generated_nli,
    generated_reviews,
    rotated_mnist,
    sentences,
    textures,
)
from infoscope.data.tasks.cases import draws
from infoscope.data.tasks.catalogue import case
from tests.data.common import generator

POOL = EmbeddingPool(torch.arange(80.0).view(-1, 1), torch.arange(80) % 2, "numbers")
CROSSED = DomainDataset.of_arrays(np.zeros((180, 1)), np.arange(180) % 4, np.arange(180) // 60, np.arange(180) % 60)


def coloured(generator):
    data = crmnist(base="digits", count=100, generator=generator)
    return data.groups, data.extra["colour"], data.images(slice(None))


# agreement by chance is beyond 1e-7 for each of them
DRAWS = {
    "textures": lambda g: textures(5, 16, generator=g).images,
    "sentences": lambda g: sentences(50, generator=g)[0],
    "reviews": lambda g: generated_reviews(50, generator=g).texts,
    "inference": lambda g: generated_nli(50, generator=g).texts,
    "coloured digits": coloured,
    "turned digits": lambda g: rotated_mnist(base="digits", per_class=9, generator=g).groups,
    "parts of a pool": lambda g: POOL.split(0.25, g)[1].vectors,
    "parts by domain": lambda g: CROSSED.split(1, 0.2, g).test.groups,
    "known truth": lambda g: case("label-of-one-of-40").sample(50, draws(g.initial_seed(), "a", 50)),
}


def equal(one, other):
    if isinstance(one, tuple):
        return all(map(equal, one, other))
    return one == other if isinstance(one, list) else np.array_equal(one, other)


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_the_same_seed_gives_the_same_draw(draw):
    first, again, other = (draw(generator(seed)) for seed in (1, 1, 2))
    assert equal(first, again) and not equal(first, other)


def test_data_of_a_case_depend_on_name_and_size():
    one, another, more = (
        case("label-of-one-of-40").sample(50, draws(1, name, n)) for name, n in (("a", 50), ("b", 50), ("a", 60))
    )
    assert not equal(one, another) and not equal(one, more)
