"""Domain data sets: what they are made of, what they give back, and that no split tears
a group apart.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.random import default_rng
from numpy.testing import assert_allclose
from PIL import Image

from infoscope.data import DomainDataset
from infoscope.data.domains.dataset import draw_evenly
from infoscope.errors import TooFew
from tests.data.common import generator

IMAGES = default_rng(0).integers(0, 256, (12, 3, 6, 5), dtype=np.uint8)
Y = [2, 2, 0, 0, 2, 0] * 2
D = ["b", "a", "a", "b", "b", "a"] * 2
GROUPS = [10, 10, 20, 20, 30, 30, 40, 40, 50, 50, 60, 60]


of_arrays = DomainDataset.of_arrays
TWELVE = of_arrays(IMAGES, Y, D, GROUPS)


def names_of(names, codes):
    return [names[code] for code in codes]


def test_labels_are_coded_and_groups_stay():
    assert len(TWELVE) == 12
    assert TWELVE.image_shape == (3, 6, 5)
    assert TWELVE.class_names == ("0", "2")
    assert names_of(TWELVE.class_names, TWELVE.y) == list(map(str, Y))
    assert TWELVE.domain_names == ("a", "b")
    assert names_of(TWELVE.domain_names, TWELVE.d) == D
    assert TWELVE.groups.tolist() == GROUPS


def test_groups_of_text_are_numbered_and_groups_left_out_are_items():
    texts = [f"slide {group}" for group in GROUPS]
    of_text = of_arrays(IMAGES, Y, D, texts)
    numbers = np.repeat(np.arange(6), 2)
    assert of_text.groups.tolist() == numbers.tolist()
    without_groups = of_arrays(IMAGES, Y, D)
    assert without_groups.groups.tolist() == list(range(12))


CHOSEN = [
    ([3, 0, 3], [3, 0, 3]),
    (slice(2, 9, 3), [2, 5, 8]),
    (np.arange(12) > 9, [10, 11]),
    ([], []),
]


@pytest.mark.parametrize(("index", "rows"), CHOSEN)
def test_images_are_floats_between_0_and_1(index, rows):
    images = TWELVE.images(index)
    assert images.dtype == torch.float32
    assert_allclose(images, IMAGES[rows] / 255.0, atol=1e-7)


def test_float_images_and_features_come_back_as_they_are_and_can_be_changed():
    grey = torch.rand(4, 6, 5, dtype=torch.float64, generator=generator())
    labels = [0] * 4
    data = of_arrays(grey, labels, labels)
    assert data.image_shape == (1, 6, 5)
    for index in ([0], slice(None)):
        data.images(index).add_(1.0)
    images = data.images(slice(None))
    assert torch.equal(images[:, 0], grey.float())
    features = of_arrays([[-3, 700], [2, 1]], [0, 1], [0, 0])
    assert features.image_shape == (2,)
    (first,) = features.images([0])
    assert first.tolist() == [-3.0, 700.0]


def test_a_subset_keeps_codes_groups_and_images():
    data = replace(TWELVE, extra={"site": np.arange(12)})
    first = data.subset([7, 2])
    part = first.subset([1, 0])
    rows = [2, 7]
    images = part.images(slice(None))
    assert torch.equal(images, data.images(rows))
    assert part.y.tolist() == data.y[rows].tolist()
    assert part.d.tolist() == data.d[rows].tolist()
    assert part.groups.tolist() == data.groups[rows].tolist()
    assert part.extra["site"].tolist() == rows


def test_resized_is_what_pillow_makes_to_a_grey_level():
    data = TWELVE.resized((3, 4))
    assert data.image_shape == (3, 3, 4)
    (image,) = data.images([4])
    levels = 255 * image.movedim(0, 2).numpy()
    original = np.moveaxis(IMAGES[4], 0, 2)
    image = Image.fromarray(original)
    pillow = image.resize((4, 3), Image.Resampling.BICUBIC)
    assert_allclose(levels, np.asarray(pillow), atol=1.01)


def test_in_memory_keeps_the_images_of_the_part(monkeypatch):
    monkeypatch.setattr("infoscope.data.domains.dataset._IMAGES_AT_ONCE", 4)
    small = TWELVE.resized(3)
    data = small.subset([11, 0, 5, 7, 2])
    stored = data.in_memory()
    assert stored.source.values.dtype == torch.uint8
    every = slice(None)
    assert torch.equal(stored.images(every), data.images(every))
    third = stored.subset([2])
    assert third.y == data.y[2]


# Sixty groups, each in each of three domains, its class that of the group.
GROUP = np.tile(np.arange(60), 3)
CROSSED = of_arrays(np.zeros((180, 1)), GROUP % 4, np.repeat(np.arange(3), 60), GROUP)


@pytest.mark.parametrize(("held_out", "trained"), [("2", {0, 1}), (None, {0, 1, 2})])
def test_no_group_is_in_two_parts(held_out, trained):
    """A fifth (12) of the groups is tested, a quarter of the other 48 (12) validated,
    within a group of that.
    """
    split = CROSSED.split(held_out, 0.25, generator())
    groups = [np.unique(part.groups) for part in split]
    every_group = np.concatenate(groups)
    assert sorted(every_group) == list(range(60))
    sizes = list(map(len, groups))
    assert sizes == pytest.approx([36, 12, 12], abs=2)
    tested = {2} if held_out else trained
    assert set(split.test.d) == tested
    for part in (split.train, split.validation):
        assert set(part.d) == trained
        assert len(part) == len(trained) * len(set(part.groups))


def test_groups_of_the_held_out_domain_alone_are_all_tested():
    d = np.repeat([0, 1, 2], 20)
    y = np.tile([0, 1], 30)
    slides = np.repeat(np.arange(12), 5)
    x = np.zeros((60, 1))
    data = of_arrays(x, y, d, slides)
    split = data.split(2, 0.25, generator())
    held_out = slides[d == 2]
    assert split.test.groups.tolist() == held_out.tolist()
    assert len(split.train) + len(split.validation) == 40


def test_the_protocol_of_the_literature_shares_groups():
    split = CROSSED.split(1, None, generator(), disjoint=False)
    assert split.validation is None
    assert len(split.test) == 60
    assert len(split.train) == 120
    tested = set(split.test.groups)
    assert tested <= set(split.train.groups)


def test_a_class_of_the_held_out_domain_alone_does_not_forbid_a_split():
    labels = [0] * 20 + [1] * 20
    x = np.zeros((40, 1))
    data = of_arrays(x, labels, labels)
    split = data.split(1, 0.2, generator())
    assert set(split.test.y) == {1}


def test_a_class_that_training_lost_is_refused():
    """The lone item is in training with probability 1/4: no refusal of 50, or 50, has a
    chance below 1e-6.
    """
    labels = [0] * 39 + [1]
    x = np.zeros((40, 1))
    data = of_arrays(x, labels, [0] * 40)
    losses = 0
    for seed in range(50):
        try:
            split = data.split(None, 0.5, generator(seed), test=0.5)
        except TooFew as error:
            losses += 1
            assert error.argument == "validation and test"
        else:
            assert set(split.train.y) == {0, 1}
    assert 0 < losses < 50


STRATA = default_rng(0).permutation(np.repeat([0, 1, 2, 3], [50, 30, 17, 1]))


def is_within_one(drawn, fraction):
    expected = fraction * len(drawn)
    return abs(drawn.sum() - expected) < 1 + 1e-9


@pytest.mark.parametrize("fraction", [0.05, 0.3, 0.9])
def test_the_number_drawn_is_within_one_of_its_expectation(fraction):
    drawn = draw_evenly(STRATA, fraction, generator())
    assert is_within_one(drawn, fraction)
    for stratum in range(4):
        assert is_within_one(drawn[stratum == STRATA], fraction)
