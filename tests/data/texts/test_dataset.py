"""Labelled texts: their parts, and what is refused."""

import torch

from infoscope.data import LabelledTexts, generated_reviews
from tests.data.common import generator

PAIRS = [("a dog", "an animal"), ("a cat", "a dog"), ("a dog", "a puppy")]
SOME = LabelledTexts(PAIRS, torch.tensor([0, 1, 0]), ("yes", "no"), "pairs", "dev")


def test_pairs_have_sides_groups_and_names():
    assert SOME.of_pairs
    assert len(SOME) == 3
    assert SOME.premises == ["a dog", "a cat", "a dog"]
    assert SOME.hypotheses == ["an animal", "a dog", "a puppy"]
    assert SOME.label_names == ["yes", "no", "yes"]
    assert SOME.groups[0] == SOME.groups[2] != SOME.groups[1]
    assert SOME.ids == ["0", "1", "2"]


def test_taken_items_keep_their_ids():
    part = SOME.take(torch.tensor([2, 0]))
    assert part.texts == [PAIRS[2], PAIRS[0]]
    assert part.ids == ["2", "0"]
    assert part.split == "dev"
    assert part.labels.tolist() == [0, 0]
    assert part.take([False, True]).texts == [PAIRS[0]]


def test_single_texts_have_no_sides():
    some = LabelledTexts(["a", "b", "a"], torch.tensor([0, 1, 0]), ("yes", "no"), "few")
    assert not some.of_pairs
    assert some.groups[0] == some.groups[2] != some.groups[1]


def test_generated_reviews_are_shuffled_and_balanced():
    reviews = generated_reviews(200, generator=generator())
    assert reviews.synthetic
    assert reviews.labels.bincount().tolist() == [200, 200]
    # mean 200, standard deviation 10: a false alarm of 2e-9
    assert 140 < reviews.labels.diff().count_nonzero() < 260
