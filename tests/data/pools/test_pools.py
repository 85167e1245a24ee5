"""Pools keep what they are asked for and are split without a common item; generated textures are like photographs."""

import pytest
import torch
from scipy.stats import chisquare

from infoscope.data import EmbeddingPool, ImagePool, cifar10, imdb_embeddings, textures
from tests.data.common import generator, with_real_data

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


def test_images_are_grey_or_rgb():
    pool = ImagePool(torch.zeros(4, 2, 5, 3, dtype=torch.uint8), LABELS, "colour")
    assert pool.restrict([1]).images.shape == (1, 2, 5, 3)
    assert pool.resized(4, 6).shape == (4, 3, 4, 6) and pool.resized(4, 6) is pool.resized(4, 6)
    assert ImagePool(IMAGES, LABELS, "four").resized(3, 2).shape == (4, 1, 3, 2)


def numbered(*counts: int) -> EmbeddingPool:
    """Items that carry their own number, `counts` of each class in turn."""
    labels = torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))
    return EmbeddingPool(torch.arange(float(len(labels))).view(-1, 1), labels, "numbers")


def numbers(pool: EmbeddingPool) -> list[int]:
    return pool.vectors[:, 0].long().tolist()


@pytest.mark.parametrize(("fraction", "held_out"), [(0.2, [20, 6]), (0.5, [50, 15]), (0.33, [33, 10])])
def test_a_split_is_stratified_and_complete(fraction, held_out):
    pool = numbered(100, 30)
    training, rest = pool.split(fraction, generator())
    assert rest.labels.bincount().tolist() == held_out
    assert sorted(numbers(training) + numbers(rest)) == list(range(130))
    assert numbers(training) == sorted(numbers(training))
    assert torch.equal(rest.labels, pool.labels[numbers(rest)])


def test_the_parts_say_which_they_are():
    images = ImagePool(IMAGES.repeat(5, 1, 1), torch.arange(20) % 2, "twenty", synthetic=True)
    training, held_out = images.restrict((0, 1)).split(0.2, generator())
    assert training.name.startswith("twenty[0,1] training") and held_out.name.startswith("twenty[0,1] held")
    assert training.synthetic and held_out.synthetic
    names = [part.name for fold in images.folds(2, generator()) for part in fold]
    assert len(set(names)) == 4


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


def test_every_item_is_held_out_as_often():
    """Chi-square of how often each of 10 items of a class is among the 3 held out in 1,000 splits; without replacement
    its variance is smaller than that of independent draws, so the false-alarm rate is below 1e-6."""
    pool, shared = numbered(10, 10), generator()
    held_out = [numbers(pool.split(0.3, shared)[1]) for _ in range(1000)]
    counts = torch.tensor(sum(held_out, [])).bincount(minlength=20)[:10]
    assert counts.sum() == 3000
    assert chisquare(counts.numpy()).pvalue > FALSE_ALARM


@with_real_data
def test_repeated_reviews_do_not_straddle_the_parts():
    """24,902 of the 25,000 embeddings are distinct (known of the data); each is in one part only."""
    parts = imdb_embeddings().split(0.2, generator())
    distinct = [{row.tobytes() for row in part.vectors.numpy()} for part in parts]
    assert len(distinct[0]) + len(distinct[1]) == len(distinct[0] | distinct[1]) == 24_902
    assert abs(len(parts[1].labels) - 5000) <= 10


def looks(images: torch.Tensor) -> dict[str, torch.Tensor]:
    """Of each image uint8 [n, 32, 32, 3]: mean and deviation of the brightness, tint, and the slope of log amplitude
    against log frequency from 2 to 14 cycles per image."""
    pixels = images.double()
    light = pixels.mean(3)
    window = torch.hann_window(32, dtype=torch.float64)
    centred = light - light.mean((1, 2), keepdim=True)
    amplitude = torch.fft.rfft2(centred * window * window[:, None]).abs()
    frequency = torch.hypot(torch.fft.fftfreq(32)[:, None] * 32, torch.fft.rfftfreq(32) * 32).double()
    inside = (frequency >= 2) & (frequency <= 14)
    design = torch.stack([torch.ones(int(inside.sum())), frequency[inside].log()], 1).double()
    slope = torch.linalg.lstsq(design, (amplitude[:, inside] + 1e-3).log().T).solution[1]
    tint = (pixels.mean((1, 2)) - light.mean((1, 2))[:, None]).std(1)
    return {"brightness": light.mean((1, 2)), "contrast": light.std((1, 2)), "tint": tint, "slope": slope}


def test_what_is_drawn():
    pool = textures(50, 24, generator=generator())
    assert pool.images.shape == (50, 24, 24, 3)
    assert pool.synthetic
    assert pool.classes == (0,)
    assert pool.name == "generated-textures"
    assert len(pool.images.flatten(1).unique(dim=0)) == 50


def test_amplitudes_fall_with_the_frequency():
    """The median exponent of photographs lies between -1 and -2 at this size; that of white noise is 0."""
    slope = looks(textures(500, generator=generator()).images)["slope"]
    assert -2.0 < slope.median() < -1.0
    assert slope.quantile(0.95) < -0.5


@with_real_data
def test_textures_are_spread_like_photographs():
    """The middle and the width of each property's distribution, within a quarter of CIFAR-10's."""
    ours, theirs = looks(textures(1000, generator=generator()).images), looks(cifar10().images[:2000])
    ends = torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64)
    for name in theirs:
        low, middle, high = theirs[name].quantile(ends)
        assert (ours[name].quantile(ends) - torch.stack([low, middle, high])).abs().max() < 0.25 * (high - low), name
