"""What is drawn follows from the generator alone: the same seed, the same items, and
another seed, others.
"""

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
ITEMS = np.arange(180)
CROSSED = DomainDataset.of_arrays(
    np.zeros((180, 1)), y=ITEMS % 4, d=ITEMS // 60, groups=ITEMS % 60
)


def coloured(g):
    data = crmnist(base="digits", count=100, generator=g)
    return torch.cat(
        [data.images(slice(None)).flatten(), torch.from_numpy(data.groups)]
    )


def known_truth(g, name="a", n=50):
    return case("label-of-one-of-40").sample(50, draws(g.initial_seed(), name, n))[0]


# agreement by chance is beyond 1e-7 for each of them
DRAWS = {
    "textures": lambda g: textures(5, 16, generator=g).images,
    "sentences": lambda g: sentences(50, generator=g)[0],
    "reviews": lambda g: generated_reviews(50, generator=g).texts,
    "inference": lambda g: generated_nli(50, generator=g).texts,
    "coloured digits": coloured,
    "turned digits": lambda g: (
        rotated_mnist(base="digits", per_class=9, generator=g).groups
    ),
    "parts of a pool": lambda g: POOL.split(0.25, g)[1].vectors,
    "parts by domain": lambda g: CROSSED.split(1, 0.2, g).test.groups,
    "known truth": known_truth,
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_the_same_seed_gives_the_same_draw(draw):
    first, again, other = (draw(generator(seed)) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("changed", [{"name": "b"}, {"n": 60}])
def test_data_of_a_case_depend_on_name_and_size(changed):
    assert not np.array_equal(
        known_truth(generator()), known_truth(generator(), **changed)
    )
