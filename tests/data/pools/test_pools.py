"""Pools check what they are given and keep what they are asked for."""

from __future__ import annotations

import math
import os

import pytest
import torch
from scipy.stats import chisquare

from infoscope.data import EmbeddingPool, ImagePool, imdb_embeddings
from tests.refusals import refused

FALSE_ALARM = 1e-6
LABELS = torch.tensor([2, 0, 1, 2])
IMAGES = torch.arange(4, dtype=torch.uint8).view(4, 1, 1)


def test_restrict_keeps_the_items_of_the_classes_and_says_so():
    pool = ImagePool(IMAGES, LABELS, "four", synthetic=True).restrict((2, 1))
    assert pool.images.flatten().tolist() == [0, 2, 3]
    assert pool.labels.tolist() == [2, 1, 2]
    assert pool.classes == (1, 2)
    assert pool.name == "four[1,2]"
    assert pool.synthetic


def test_restrict_embeddings():
    pool = EmbeddingPool(torch.eye(4), LABELS, "four").restrict([2])
    assert torch.equal(pool.vectors, torch.eye(4)[[0, 3]])
    assert not pool.synthetic


@pytest.mark.parametrize("classes", [(), (0, 3)])
def test_a_class_that_is_not_there_is_refused(classes):
    with refused("classes", "invalid"):
        ImagePool(IMAGES, LABELS, "four").restrict(classes)


def test_images_are_grey_or_rgb():
    pool = ImagePool(torch.zeros(4, 2, 5, 3, dtype=torch.uint8), LABELS, "colour")
    assert pool.restrict([1]).images.shape == (1, 2, 5, 3)
    assert pool.resized(4, 6).shape == (4, 3, 4, 6)
    assert ImagePool(IMAGES, LABELS, "four").resized(3, 2).shape == (4, 1, 3, 2)


@pytest.mark.parametrize(
    "images", [IMAGES.float(), IMAGES[:, 0], IMAGES[:0], IMAGES[..., None], torch.zeros(4, 3, 2, 2, dtype=torch.uint8)]
)
def test_images_that_are_not_bytes_grey_or_rgb_are_refused(images):
    with refused("images", "shape"):
        ImagePool(images, LABELS, "four")


@pytest.mark.parametrize("vectors", [torch.eye(4).double(), torch.ones(4), torch.ones(4, 0)])
def test_vectors_that_are_not_floats_in_two_axes_are_refused(vectors):
    with refused("vectors", "shape"):
        EmbeddingPool(vectors, LABELS, "four")


@pytest.mark.parametrize("labels", [LABELS[:3], LABELS.float(), LABELS[:, None]])
def test_labels_that_do_not_match_are_refused(labels):
    with refused("labels", "length"):
        ImagePool(IMAGES, labels, "four")


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_vectors_that_are_not_finite_are_refused(value):
    vectors = torch.eye(4)
    vectors[1, 2] = vectors[3, 0] = value
    with refused("vectors", "missing"):
        EmbeddingPool(vectors, LABELS, "four")


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def numbered(*counts: int) -> EmbeddingPool:
    """Items that carry their own number, `counts` of each class in turn."""
    labels = torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))
    return EmbeddingPool(torch.arange(float(len(labels))).view(-1, 1), labels, "numbers")


def numbers(pool: EmbeddingPool) -> list[int]:
    return pool.vectors[:, 0].long().tolist()


@pytest.mark.parametrize(("fraction", "held_out"), [(0.2, [20, 6]), (0.5, [50, 15]), (0.33, [33, 10]), (0.01, [1, 0])])
def test_a_split_is_stratified_and_complete(fraction, held_out):
    pool = numbered(100, 30)
    if 0 in held_out:
        with refused("fraction", "conflict"):
            pool.split(fraction, generator())
        return
    training, rest = pool.split(fraction, generator())
    assert rest.labels.bincount().tolist() == held_out
    assert sorted(numbers(training) + numbers(rest)) == list(range(130))
    assert numbers(training) == sorted(numbers(training))
    assert torch.equal(rest.labels, pool.labels[numbers(rest)])


def test_the_parts_say_which_they_are():
    images = ImagePool(
        torch.arange(20, dtype=torch.uint8).view(-1, 1, 1), torch.arange(20) % 2, "twenty", synthetic=True
    )
    training, held_out = images.restrict((0, 1)).split(0.2, generator())
    assert (training.name, held_out.name) == ("twenty[0,1] training 80%", "twenty[0,1] held out 20%")
    assert training.synthetic and held_out.synthetic
    names = [part.name for part in images.folds(2, generator())[1]]
    assert names == ["twenty without fold 2 of 2", "twenty fold 2 of 2"]


@pytest.mark.parametrize("count", [2, 3, 7])
def test_folds_partition_every_class_evenly(count):
    pool = numbered(50, 23)
    folds = pool.folds(count, generator())
    assert len(folds) == count
    assert sorted(sum((numbers(held_out) for _, held_out in folds), [])) == list(range(73))
    for training, held_out in folds:
        assert sorted(numbers(training) + numbers(held_out)) == list(range(73))
        for label, size in enumerate((50, 23)):
            assert int((held_out.labels == label).sum()) in (size // count, size // count + 1)


def test_equal_items_stay_together():
    """Every value five times, half of them under both labels, one zero with a minus sign."""
    values = torch.arange(60.0).repeat(5)
    values[0] = -0.0
    pool = EmbeddingPool(values.view(-1, 1), (torch.arange(300) % 120 >= 60).long(), "doubled")
    for training, held_out in (*pool.folds(4, generator()), pool.split(0.3, generator())):
        assert not set(training.vectors[:, 0].tolist()) & set(held_out.vectors[:, 0].tolist())
        assert len(training.labels) + len(held_out.labels) == 300
    _, held_out = pool.split(0.3, generator())
    assert (held_out.labels.bincount() / pool.labels.bincount() - 0.3).abs().max() < 5 / 120 + 5 / 120


def test_same_seed_same_split():
    pool = numbered(40, 40)
    first, again, other = (numbers(pool.split(0.25, generator(seed))[1]) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_every_item_is_held_out_as_often():
    """Chi-square of how often each of 10 items of a class is among the 3 held out in 3,000 splits; without replacement
    its variance is smaller than that of independent draws, so the false-alarm rate is below 1e-6."""
    pool, shared = numbered(10, 10), generator()
    held_out = [numbers(pool.split(0.3, shared)[1]) for _ in range(3000)]
    counts = torch.tensor(sum(held_out, [])).bincount(minlength=20)[:10]
    assert counts.sum() == 9000
    assert chisquare(counts.numpy()).pvalue > FALSE_ALARM


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.1, math.nan, "0.5"])
def test_a_bad_fraction_is_refused(fraction):
    with refused("fraction", "range"):
        numbered(5, 5).split(fraction, generator())


def test_a_bad_number_of_folds_is_refused():
    with refused("count", "range"):
        numbered(5, 5).folds(1, generator())
    with refused("count", "conflict"):
        numbered(5, 3).folds(4, generator())


@pytest.mark.skipif(not os.environ.get("INFOSCOPE_DATA"), reason="INFOSCOPE_DATA names no folder of real data")
def test_repeated_reviews_do_not_straddle_the_parts():
    """24,902 of the 25,000 embeddings are distinct (known of the data); each is in one part only."""
    parts = imdb_embeddings().split(0.2, generator())
    distinct = [{row.tobytes() for row in part.vectors.numpy()} for part in parts]
    assert len(distinct[0]) + len(distinct[1]) == len(distinct[0] | distinct[1]) == 24_902
    assert abs(len(parts[1].labels) - 5000) <= 10
