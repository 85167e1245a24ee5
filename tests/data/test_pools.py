"""Pools check what they are given and keep what they are asked for."""

from __future__ import annotations

import math

import pytest
import torch

from infoscope.data import EmbeddingPool, ImagePool

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
    with pytest.raises(ValueError, match=r"classes must be some of \[0, 1, 2\] of 'four'"):
        ImagePool(IMAGES, LABELS, "four").restrict(classes)


@pytest.mark.parametrize("images", [IMAGES.float(), IMAGES[:, 0], IMAGES[:0]])
def test_images_that_are_not_bytes_in_three_axes_are_refused(images):
    with pytest.raises(ValueError, match=r"images must be a non-empty torch.uint8 tensor \[n, h, w\]"):
        ImagePool(images, LABELS, "four")


@pytest.mark.parametrize("vectors", [torch.eye(4).double(), torch.ones(4), torch.ones(4, 0)])
def test_vectors_that_are_not_floats_in_two_axes_are_refused(vectors):
    with pytest.raises(ValueError, match=r"vectors must be a non-empty torch.float32 tensor \[n, d\]"):
        EmbeddingPool(vectors, LABELS, "four")


@pytest.mark.parametrize("labels", [LABELS[:3], LABELS.float(), LABELS[:, None]])
def test_labels_that_do_not_match_are_refused(labels):
    with pytest.raises(ValueError, match=r"labels must be torch.int64 of shape \[4\]"):
        ImagePool(IMAGES, labels, "four")


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_vectors_that_are_not_finite_are_refused(value):
    vectors = torch.eye(4)
    vectors[1, 2] = vectors[3, 0] = value
    with pytest.raises(ValueError, match="vectors must be finite, but 2 of the 4 rows are not"):
        EmbeddingPool(vectors, LABELS, "four")
