"""Labelled texts: their parts, the reviews of IMDB from files of their format, and what is refused."""

from __future__ import annotations

import gzip
import json
import os
import sys
from pathlib import Path

import pytest
import torch

from infoscope.data import LabelledTexts, generated_reviews, imdb
from tests.refusals import refused


def written(folder: Path, *lines: str) -> Path:
    (folder / "imdb").mkdir()
    (folder / "imdb" / "imdb_train.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    return folder


def test_imdb_reads_one_review_a_line(tmp_path):
    rows = [{"id": "pos_0", "rating": 9, "label": 1, "text": "très <br /> good"}, {"label": 0, "text": "bad"}]
    reviews = imdb(root=written(tmp_path, *map(json.dumps, rows)))
    assert list(reviews.texts) == ["très <br /> good", "bad"]
    assert reviews.labels.tolist() == [1, 0]
    assert reviews.classes == ("negative", "positive")
    assert (reviews.name, reviews.split) == ("imdb-train", "train")
    assert reviews.ids == ["pos_0", "1"]  # the second line has no id: its place


@pytest.mark.parametrize("line", ["not json", '{"text": "no label"}', '{"text": "x", "label": "good"}', "[]"])
def test_a_damaged_line_is_refused(line, tmp_path):
    with refused(code="file"):
        imdb(root=written(tmp_path, '{"text": "x", "label": 1}', line))


def test_what_is_not_there_is_said_to_be_missing(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match="imdb_test.jsonl.gz is not there"):
        imdb("test", root=tmp_path)
    with pytest.raises(FileNotFoundError, match="root names the folder .*, which does not exist"):
        imdb(root=tmp_path / "nowhere")
    monkeypatch.delenv("INFOSCOPE_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(FileNotFoundError, match="INFOSCOPE_DATA must name a folder that holds imdb"):
        imdb()


def test_another_split_is_refused():
    with refused("split", "invalid"):
        imdb("valid")


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["a"], torch.tensor([0, 1])),
        ([], torch.tensor([], dtype=torch.int64)),
        (["a"], torch.tensor([0.0])),
        (["a"], torch.tensor([2])),
        (["a"], torch.tensor([-1])),
    ],
)
def test_labels_that_do_not_fit_the_texts_are_refused(texts, labels):
    with pytest.raises(ValueError, match="labels must be"):
        LabelledTexts(texts, labels, ("no", "yes"), "few")


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


def test_mixed_texts_and_missing_ids_are_refused():
    for texts in (["a", ("b", "c")], [("a", "b", "c"), ("a", "b", "c")], [1, 2]):
        with refused("texts", "invalid"):
            LabelledTexts(texts, torch.tensor([0, 1]), ("no", "yes"), "mixed")
    with refused("ids", "length"):
        LabelledTexts(["a", "b"], torch.tensor([0, 1]), ("no", "yes"), "few", ids=["x"])


def test_generated_reviews_are_shuffled_and_balanced():
    reviews = generated_reviews(200, generator=torch.Generator().manual_seed(0))
    assert reviews.synthetic and "synthetic" in reviews.name
    assert reviews.labels.bincount().tolist() == [200, 200]
    changes = int((reviews.labels.diff() != 0).sum())
    assert 140 < changes < 260  # mean 200, standard deviation 10: a false alarm of 2e-9


@pytest.mark.skipif(not os.environ.get("INFOSCOPE_DATA"), reason="INFOSCOPE_DATA names no folder of real data")
def test_real_imdb():
    """The published sizes (Maas et al. 2011), and the known number of repeated training reviews."""
    reviews = imdb()
    assert reviews.labels.bincount().tolist() == [12_500, 12_500]
    assert len(reviews.texts) - len(set(reviews.texts)) == 96
