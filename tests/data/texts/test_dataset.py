"""Labelled texts: their parts, and what is refused."""

import torch

from infoscope.data import LabelledTexts, generated_reviews

PAIRS = [("a dog", "an animal"), ("a cat", "a dog"), ("a dog", "a puppy")]


def test_pairs_have_sides_groups_and_names():
    some = LabelledTexts(PAIRS, torch.tensor([0, 1, 0]), ("yes", "no"), "pairs")
    assert some.of_pairs and len(some) == 3
    assert some.premises == ["a dog", "a cat", "a dog"]
    assert some.hypotheses == ["an animal", "a dog", "a puppy"]
    assert some.label_names == ["yes", "no", "yes"]
    assert some.groups[0] == some.groups[2] != some.groups[1]
    assert some.ids == ["0", "1", "2"]


def test_taken_items_keep_their_ids():
    some = LabelledTexts(PAIRS, torch.tensor([0, 1, 0]), ("yes", "no"), "pairs", "dev").take(torch.tensor([2, 0]))
    assert some.texts == [PAIRS[2], PAIRS[0]] and some.ids == ["2", "0"] and some.split == "dev"
    assert some.labels.tolist() == [0, 0]
    assert some.take([False, True]).texts == [PAIRS[0]]


def test_single_texts_have_no_sides():
    some = LabelledTexts(["a", "b", "a"], torch.tensor([0, 1, 0]), ("yes", "no"), "few")
    assert not some.of_pairs and some.groups[0] == some.groups[2] != some.groups[1]


def test_generated_reviews_are_shuffled_and_balanced():
    reviews = generated_reviews(200, generator=torch.Generator().manual_seed(0))
    assert reviews.synthetic and "synthetic" in reviews.name
    assert reviews.labels.bincount().tolist() == [200, 200]
    changes = int((reviews.labels.diff() != 0).sum())
    assert 140 < changes < 260  # mean 200, standard deviation 10: a false alarm of 2e-9
