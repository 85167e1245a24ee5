"""Labelled texts: the reviews of IMDB from files of their format, and what is refused."""

from __future__ import annotations

import gzip
import json
import os
import sys
from pathlib import Path

import pytest
import torch

from infoscope.data import LabelledTexts, imdb


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
    assert reviews.name == "imdb-train"


@pytest.mark.parametrize("line", ["not json", '{"text": "no label"}', '{"text": "x", "label": "good"}', "[]"])
def test_a_damaged_line_is_refused(line, tmp_path):
    with pytest.raises(ValueError, match="line 2, is not an object with text and label"):
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
    with pytest.raises(ValueError, match="split must be train or test, not 'valid'"):
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


@pytest.mark.skipif(not os.environ.get("INFOSCOPE_DATA"), reason="INFOSCOPE_DATA names no folder of real data")
def test_real_imdb():
    """The published sizes (Maas et al. 2011), and the known number of repeated training reviews."""
    reviews = imdb()
    assert reviews.labels.bincount().tolist() == [12_500, 12_500]
    assert len(reviews.texts) - len(set(reviews.texts)) == 96
