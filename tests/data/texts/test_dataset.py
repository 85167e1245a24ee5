"""Labelled texts: their parts, and what is refused."""

import pytest
import torch

from infoscope.data import LabelledTexts, generated_reviews
from tests.refusals import refused

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
    with refused("rows", "shape"):
        some.take([True, False, True])


def test_single_texts_have_no_sides():
    some = LabelledTexts(["a", "b", "a"], torch.tensor([0, 1, 0]), ("yes", "no"), "few")
    assert not some.of_pairs and some.groups[0] == some.groups[2] != some.groups[1]
    with refused("texts", "invalid"):
        _ = some.premises


@pytest.mark.parametrize(
    ("texts", "labels", "ids", "argument", "code"),
    [
        (["a"], torch.tensor([0, 1]), None, "labels", "length"),
        ([], torch.tensor([], dtype=torch.int64), None, "labels", "length"),
        (["a"], torch.tensor([0.0]), None, "labels", "length"),
        (["a"], torch.tensor([2]), None, "labels", "range"),
        (["a"], torch.tensor([-1]), None, "labels", "range"),
        (["a", ("b", "c")], torch.tensor([0, 1]), None, "texts", "invalid"),
        ([("a", "b", "c"), ("a", "b", "c")], torch.tensor([0, 1]), None, "texts", "invalid"),
        ([1, 2], torch.tensor([0, 1]), None, "texts", "invalid"),
        (["a", "b"], torch.tensor([0, 1]), ["x"], "ids", "length"),
    ],
)
def test_texts_labels_and_ids_that_do_not_fit_are_refused(texts, labels, ids, argument, code):
    with refused(argument, code):
        LabelledTexts(texts, labels, ("no", "yes"), "few", ids=ids)


def test_generated_reviews_are_shuffled_and_balanced():
    reviews = generated_reviews(200, generator=torch.Generator().manual_seed(0))
    assert reviews.synthetic and "synthetic" in reviews.name
    assert reviews.labels.bincount().tolist() == [200, 200]
    changes = int((reviews.labels.diff() != 0).sum())
    assert 140 < changes < 260  # mean 200, standard deviation 10: a false alarm of 2e-9
