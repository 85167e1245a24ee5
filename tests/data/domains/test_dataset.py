"""Domain data sets: what they are made of, what they give back, and that no split tears a group apart."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.stats import binom

from infoscope.data import DomainDataset
from infoscope.data.domains.dataset import draw_evenly
from infoscope.errors import TooFew
from tests.data.common import generator

IMAGES = np.random.default_rng(0).integers(0, 256, (12, 3, 6, 5), dtype=np.uint8)
Y = [2, 2, 0, 0, 2, 0, 2, 2, 0, 0, 2, 0]
D = ["b", "a", "a", "b", "b", "a", "b", "a", "a", "b", "b", "a"]
GROUPS = [10, 10, 20, 20, 30, 30, 40, 40, 50, 50, 60, 60]


def twelve(**others) -> DomainDataset:
    return DomainDataset.of_arrays(IMAGES, Y, D, GROUPS, **others)


def crossed(groups: int = 60, domains: int = 3) -> DomainDataset:
    """Every group in every domain, its class that of the group: [groups * domains] features, the item's number."""
    group = np.tile(np.arange(groups), domains)
    d = np.repeat(np.arange(domains), groups)
    return DomainDataset.of_arrays(np.arange(len(d), dtype=np.float32)[:, None], group % 4, d, group)


def test_labels_are_coded_and_groups_stay():
    data = twelve()
    assert len(data) == 12 and data.image_shape == (3, 6, 5)
    assert data.class_names == ("0", "2") and [data.class_names[code] for code in data.y] == [str(y) for y in Y]
    assert data.domain_names == ("a", "b") and [data.domain_names[code] for code in data.d] == D
    assert data.groups.tolist() == GROUPS
    assert all(labels.dtype == np.int64 for labels in (data.y, data.d, data.groups))


def test_groups_of_text_are_numbered_and_groups_left_out_are_items():
    of_text = DomainDataset.of_arrays(IMAGES, Y, D, [str(group) for group in GROUPS])
    assert of_text.groups.tolist() == np.repeat(np.arange(6), 2).tolist()
    assert DomainDataset.of_arrays(IMAGES, Y, D).groups.tolist() == list(range(12))


@pytest.mark.parametrize("index", [[3, 0, 3], torch.tensor([3, 0, 3])])
def test_images_are_floats_between_0_and_1(index):
    images = twelve().images(index)
    assert images.dtype == torch.float32
    np.testing.assert_allclose(images.numpy(), IMAGES[[3, 0, 3]] / 255.0, atol=1e-7)


def test_images_are_chosen_by_slice_mask_or_not_at_all():
    data = twelve()
    assert torch.equal(data.images(slice(2, 9, 3)), data.images([2, 5, 8]))
    assert torch.equal(data.images(np.arange(12) > 9), data.images([10, 11]))
    assert data.images([]).shape == (0, 3, 6, 5)


def test_float_images_and_features_come_back_as_they_are():
    grey = torch.rand(4, 6, 5, dtype=torch.float64, generator=generator())
    data = DomainDataset.of_arrays(grey, [0] * 4, [0] * 4)
    assert data.image_shape == (1, 6, 5) and torch.equal(data.images(slice(None))[:, 0], grey.float())
    features = DomainDataset.of_arrays([[-3, 700], [2, 1]], [0, 1], [0, 0])
    assert features.image_shape == (2,) and features.images([0]).tolist() == [[-3.0, 700.0]]


def test_what_is_given_back_can_be_changed():
    data = DomainDataset.of_arrays(torch.zeros(2, 1, 2, 2), [0, 1], [0, 0])
    data.images([0]).add_(1.0)
    data.images(slice(None)).add_(1.0)
    assert data.images([0, 1]).sum() == 0.0


def test_a_subset_keeps_codes_groups_and_images():
    data = replace(twelve(), extra={"site": np.arange(12)})
    part = data.subset([7, 2]).subset([1, 0])
    assert torch.equal(part.images(slice(None)), data.images([2, 7]))
    for labels, whole in ((part.y, data.y), (part.d, data.d), (part.groups, data.groups)):
        assert labels.tolist() == whole[[2, 7]].tolist()
    assert part.extra["site"].tolist() == [2, 7]
    assert part.class_names == data.class_names and data.subset(data.d == 0).name == "arrays (6 of 12)"


def test_resized_is_what_pillow_makes_to_a_grey_level():
    data = twelve().resized((3, 4))
    assert data.image_shape == (3, 3, 4) and data.resized((3, 4)) is data
    ours = (data.images([4])[0] * 255).round().permute(1, 2, 0).numpy()
    pillow = np.asarray(Image.fromarray(IMAGES[4].transpose(1, 2, 0)).resize((4, 3), Image.Resampling.BICUBIC))
    assert np.abs(ours - pillow).max() <= 1


def test_in_memory_keeps_the_images_of_the_part(monkeypatch):
    monkeypatch.setattr("infoscope.data.domains.dataset._IMAGES_AT_ONCE", 4)
    data = twelve().resized(3).subset([11, 0, 5, 7, 2])
    kept = data.in_memory()
    assert kept.source.values.shape == (5, 3, 3, 3) and kept.source.values.dtype == torch.uint8
    assert torch.equal(kept.images(slice(None)), data.images(slice(None)))
    assert kept.subset([2]).y.tolist() == [data.y[2]]


class TestSplit:
    """Groups that are in every domain, and groups that are in one."""

    @pytest.mark.parametrize("held_out", [None, 1])
    def test_no_group_is_in_two_parts(self, held_out):
        split = crossed().split(held_out, 0.25, generator())
        seen = [set(part.groups.tolist()) for part in split]
        assert not (seen[0] & seen[1] or seen[0] & seen[2] or seen[1] & seen[2])

    def test_sizes_and_domains_when_every_group_is_in_every_domain(self):
        """60 groups: a fifth (12) is tested, a quarter of the other 48 (12) validated, within a group of that."""
        split = crossed().split("2", 0.25, generator())
        assert set(split.test.d.tolist()) == {2} and abs(len(split.test) - 12) <= 1
        for part, groups in ((split.train, 36), (split.validation, 12)):
            assert set(part.d.tolist()) == {0, 1} and abs(len(part) - 2 * groups) <= 4
        in_domain = crossed().split(None, 0.25, generator())
        assert all(set(part.d.tolist()) == {0, 1, 2} for part in in_domain)
        assert sum(map(len, in_domain)) == 180

    def test_groups_of_the_held_out_domain_alone_are_all_tested(self):
        d = np.repeat([0, 1, 2], 20)
        slides = np.repeat(np.arange(12), 5)
        data = DomainDataset.of_arrays(np.zeros((60, 1)), np.tile([0, 1], 30), d, slides)
        split = data.split(2, 0.25, generator())
        assert split.test.groups.tolist() == slides[d == 2].tolist()
        assert len(split.train) + len(split.validation) == 40

    def test_the_protocol_of_the_literature_shares_groups_with_a_warning(self):
        split = crossed().split(1, None, generator(), disjoint=False)
        assert split.validation is None
        assert len(split.test) == 60 and len(split.train) == 120
        assert set(split.test.groups) <= set(split.train.groups)

    def test_a_class_of_the_held_out_domain_alone_does_not_forbid_a_split(self):
        data = DomainDataset.of_arrays(np.zeros((40, 1)), [0] * 20 + [1] * 20, [0] * 20 + [1] * 20)
        assert set(data.split(1, 0.2, generator()).test.y) == {1}

    def test_a_class_that_training_lost_is_refused(self):
        data = DomainDataset.of_arrays(np.zeros((40, 1)), [0] * 39 + [1], [0] * 40)
        losses = 0
        for seed in range(50):
            try:
                split = data.split(None, 0.5, generator(seed), test=0.5)
                assert set(split.train.y) == {0, 1}
            except TooFew as error:
                losses += 1
                assert error.argument == "validation and test" and "['1']" in str(error)
        # The lone item is in training with probability 1/4: no refusal, or 50, has a chance below 1e-6.
        assert 0 < losses < 50


STRATA = np.random.default_rng(0).permutation(np.repeat([0, 1, 2, 3], [50, 30, 17, 1]))


@pytest.mark.parametrize("fraction", [0.05, 0.3, 0.9])
def test_the_number_drawn_is_within_one_of_its_expectation(fraction):
    drawn = draw_evenly(STRATA, fraction, generator())
    assert abs(drawn.sum() - fraction * len(STRATA)) < 1
    for stratum in range(4):
        inside = drawn[stratum == STRATA]
        assert abs(inside.sum() - fraction * len(inside)) < 1 + 1e-9


def test_each_is_drawn_with_the_probability_asked_for():
    """Counts over 500 draws are binomial; all 98 within the two-sided 1e-8 bounds: a false alarm once in 1e6."""
    shared = generator()
    counts = sum(draw_evenly(STRATA, 0.3, shared).astype(int) for _ in range(500))
    low, high = binom.interval(1 - 1e-8, 500, 0.3)
    assert (low <= counts).all() and (counts <= high).all()
