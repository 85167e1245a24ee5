"""Pools keep what they are asked for and are split without a common item; generated
textures are like photographs.
"""

import pytest
import torch
from scipy.stats import chisquare

from infoscope.data import EmbeddingPool, ImagePool, textures
from tests.data.common import generator

FALSE_ALARM = 1e-6
LABELS = torch.tensor([2, 0, 1, 2])
IMAGES = torch.arange(4, dtype=torch.uint8).view(4, 1, 1)


def test_restrict_keeps_the_items_of_the_classes_and_names_them():
    pool = ImagePool(IMAGES, LABELS, "four", synthetic=True).restrict((2, 1))
    assert pool.images.flatten().tolist() == [0, 2, 3]
    assert pool.labels.tolist() == [2, 1, 2]
    assert pool.classes == (1, 2)
    assert pool.name == "four[1,2]"
    assert pool.synthetic


@pytest.mark.parametrize(("shape", "channels"), [((4, 2, 5, 3), 3), ((4, 2, 5), 1)])
def test_images_are_grey_or_rgb(shape, channels):
    pool = ImagePool(torch.zeros(shape, dtype=torch.uint8), LABELS, "black")
    assert pool.resized(4, 6).shape == (4, channels, 4, 6)
    assert pool.restrict([1]).images.shape == (1, *shape[1:])


def numbered(*counts: int) -> EmbeddingPool:
    """Items that carry their own number, `counts` of each class in turn."""
    labels = torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))
    return EmbeddingPool(
        torch.arange(float(len(labels))).view(-1, 1), labels, "numbers"
    )


def numbers(pool: EmbeddingPool) -> list[int]:
    return pool.vectors[:, 0].long().tolist()


@pytest.mark.parametrize(("fraction", "held_out"), [(0.2, [20, 6]), (0.33, [33, 10])])
def test_a_split_is_stratified_and_complete(fraction, held_out):
    pool = numbered(100, 30)
    training, rest = pool.split(fraction, generator())
    assert rest.labels.bincount().tolist() == held_out
    assert torch.equal(rest.labels, pool.labels[numbers(rest)])
    assert numbers(training) == sorted(set(range(130)) - set(numbers(rest)))


def test_folds_partition_every_class_evenly():
    every_item = []
    for training, held_out in numbered(50, 23).folds(3, generator()):
        every_item += numbers(held_out)
        assert sorted(numbers(training) + numbers(held_out)) == list(range(73))
        sizes = held_out.labels.bincount().tolist()
        assert sizes == pytest.approx([50 / 3, 23 / 3], abs=1)
    assert sorted(every_item) == list(range(73))


def test_equal_items_stay_together():
    """Every value five times, half of them under both labels, one zero with a minus
    sign.
    """
    values = torch.arange(60.0).repeat(5)
    values[0] = -0.0
    pool = EmbeddingPool(
        values.view(-1, 1), (torch.arange(300) % 120 >= 60).long(), "doubled"
    )
    split = pool.split(0.31, generator())  # a cut between the copies of a value
    for training, held_out in (*pool.folds(4, generator()), split):
        assert not set(numbers(training)) & set(numbers(held_out))
        assert len(training.labels) + len(held_out.labels) == 300
    _, rest = split
    shares = rest.labels.bincount() / pool.labels.bincount()
    assert (shares - 0.31).abs().max() < 10 / 120


def test_every_item_is_held_out_as_often():
    """Chi-square of how often each of 10 items of a class is among the 3 held out in
    300 splits; without replacement its variance is smaller than that of independent
    draws, so the false-alarm rate is below 1e-6.
    """
    pool = numbered(10, 10)
    shared = generator()
    counts = torch.zeros(20)
    for _ in range(300):
        _, held_out = pool.split(0.3, shared)
        counts[numbers(held_out)] += 1
    assert counts[:10].sum() == 900
    assert chisquare(counts[:10]).pvalue > FALSE_ALARM


def test_textures_are_distinct_and_smooth():
    pool = textures(50, 24, generator=generator())
    assert pool.images.shape == (50, 24, 24, 3)
    assert pool.synthetic
    assert pool.classes == (0,)
    assert len(pool.images.flatten(1).unique(dim=0)) == 50
    light = pool.images.double().mean(3)
    beside = torch.stack([light[:, :, 1:].flatten(), light[:, :, :-1].flatten()])
    assert torch.corrcoef(beside)[0, 1] > 0.8  # of white noise it is 0
