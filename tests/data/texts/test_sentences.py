"""The generated corpus: distinct, balanced, deterministic, and plain in its classes."""

import pytest
import torch

from infoscope.data import sentences
from tests.data.common import generator


@pytest.mark.parametrize("per_class", [1, 3, 2000, 20_000])
def test_sentences_are_distinct_and_balanced(per_class):
    drawn, labels = sentences(per_class, generator=generator())
    assert len(set(drawn)) == len(drawn) == 2 * per_class
    assert labels.dtype == torch.int64
    assert labels.bincount().tolist() == [per_class, per_class]


def test_same_seed_same_sentences():
    first, again, other = (sentences(50, generator=generator(seed))[0] for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_every_sentence_has_a_word_of_its_class_and_none_of_the_other():
    drawn, labels = sentences(2000, generator=generator())
    used = [
        {word for text, label in zip(drawn, labels, strict=True) if label == side for word in text.split()}
        for side in (0, 1)
    ]
    for text, label in zip(drawn, labels.tolist(), strict=True):
        assert set(text.split()) & (used[label] - used[1 - label])
        assert set(text.split()) <= used[label]


def test_every_blank_is_filled():
    drawn, _ = sentences(500, generator=generator())
    assert all(text.replace(" ", "").isalpha() and text == text.lower() for text in drawn)
