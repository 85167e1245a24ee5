"""CoLA, SST-2, SNLI and MultiNLI: from files of their formats, from a download, the real ones, and what is refused."""

from __future__ import annotations

import gzip
import json
import os
import sys
import types
from pathlib import Path

import pytest

from infoscope.data.texts import cola, nli, sst2
from tests.refusals import refused

REAL = pytest.mark.skipif(not os.environ.get("INFOSCOPE_DATA"), reason="INFOSCOPE_DATA names no folder of real data")


def written(path: Path, *lines: str) -> Path:
    """Writes a file, gzipped if so named; returns the root, two folders above."""
    path.parent.mkdir(exist_ok=True)
    content = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path.parent.parent


def test_cola_keeps_quotes_and_source(tmp_path):
    root = written(tmp_path / "cola" / "in_domain_dev.tsv", 'gj04\t1\t\tHe said "so".', "gj04\t0\t*\tThem left.")
    sentences = cola("dev", root)
    assert sentences.texts == ['He said "so".', "Them left."]
    assert sentences.label_names == ["acceptable", "unacceptable"]
    assert sentences.ids == ["gj04-1", "gj04-2"]
    assert (sentences.name, sentences.split) == ("cola-dev", "dev")


def test_sst2_has_a_header_and_stray_blanks(tmp_path):
    root = written(tmp_path / "sst2" / "dev.tsv.gz", "sentence\tlabel", "a joy \t1", "no 'fun'\t0")
    phrases = sst2("dev", root)
    assert phrases.texts == ["a joy", "no 'fun'"] and phrases.label_names == ["positive", "negative"]


def test_the_whole_training_set_of_snli_comes_before_its_sample(tmp_path):
    row = {"premise": "A man.", "hypothesis": "A person.", "label": "entailment"}
    root = written(tmp_path / "nli" / "snli_train_20k.jsonl.gz", json.dumps(row))
    sample = nli("snli", "train", root)
    assert sample.texts == [("A man.", "A person.")] and sample.name == "snli-train-20k"
    written(tmp_path / "nli" / "snli_train.jsonl.gz", *[json.dumps(row)] * 2)
    assert nli("snli", "train", root).name == "snli-train" and len(nli("snli", "train", root)) == 2


@pytest.mark.parametrize(
    ("file", "lines", "load", "message"),
    [
        ("cola/in_domain_dev.tsv", ["gj04\t1\tno fourth"], lambda root: cola("dev", root), "line 1, must have the 4"),
        ("cola/in_domain_dev.tsv", ["gj04\t2\t\tx"], lambda root: cola("dev", root), "label of 0, 1, got '2'"),
        ("sst2/test.tsv", ["text\tlabel", "x\t1"], lambda root: sst2("test", root), "must be the header"),
        ("sst2/test.tsv", ["sentence\tlabel", "x\tbad"], lambda root: sst2("test", root), "line 2, must have a label"),
        ("nli/snli_dev.jsonl.gz", ['{"premise": "x"}'], lambda root: nli("snli", "dev", root), "line 1, is not"),
        (
            "nli/mnli_matched_dev.jsonl.gz",
            ['{"premise": "x", "hypothesis": "y", "label": "-"}'],
            lambda root: nli("mnli", "dev", root),
            "label of entailment, neutral, contradiction, got '-'",
        ),
    ],
)
def test_a_damaged_line_is_refused(file, lines, load, message, tmp_path):
    (tmp_path / file).parent.mkdir()
    with pytest.raises(ValueError, match=message):
        load(written(tmp_path / file, *lines))


@pytest.mark.parametrize(
    ("load", "split"), [(cola, "test"), (sst2, "valid"), (lambda split: nli("mnli", split), "test")]
)
def test_another_split_is_refused(load, split):
    with refused("split", "invalid"):
        load(split)


def test_another_inference_set_is_refused():
    with refused("name", "name"):
        nli("anli")


def test_what_is_not_there_is_said_to_be_missing(tmp_path, monkeypatch):
    for load, file in ((cola, "in_domain_train.tsv"), (sst2, "train.tsv.gz"), (nli, "snli_train.jsonl.gz or")):
        with pytest.raises(FileNotFoundError, match=file):
            load(root=tmp_path)
    monkeypatch.delenv("INFOSCOPE_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "datasets", None)
    for load in (cola, sst2, nli):
        with pytest.raises(FileNotFoundError, match="INFOSCOPE_DATA must name a folder that holds"):
            load()
    with pytest.raises(FileNotFoundError, match="split must be train or test to be downloaded"):
        sst2("dev")


@pytest.fixture
def hub(monkeypatch) -> dict:
    """A stand-in for `datasets` that serves what is put into it by (name, configuration, split)."""
    served: dict = {}
    monkeypatch.delenv("INFOSCOPE_DATA", raising=False)
    module = types.ModuleType("datasets")
    module.load_dataset = lambda name, configuration, split: served[name, configuration, split]
    monkeypatch.setitem(sys.modules, "datasets", module)
    return served


def test_pairs_without_a_gold_label_are_left_out_of_a_download(hub):
    hub["stanfordnlp/snli", None, "validation"] = {
        "premise": ["a", "b", "c"], "hypothesis": ["x", "y", "z"], "label": [2, -1, 0],
    }  # fmt: skip
    pairs = nli("snli", "dev")
    assert pairs.texts == [("a", "x"), ("c", "z")] and pairs.ids == ["0", "2"]
    assert pairs.label_names == ["contradiction", "entailment"]


def test_the_downloaded_cola_is_parted_into_its_domains_or_refused(hub):
    labels = [0] * 162 + [1] * 365 + [0] * 162 + [1] * 354
    stored = {"sentence": [str(place) for place in range(1043)], "label": labels}
    hub["nyu-mll/glue", "cola", "validation"] = stored
    assert (len(cola("dev")), len(cola("out-of-domain")), cola("out-of-domain").texts[0]) == (527, 516, "527")
    stored["label"] = sorted(labels)
    with refused("the downloaded dev sentences", "invalid"):
        cola("dev")


def test_downloaded_phrases(hub):
    hub["nyu-mll/glue", "sst2", "validation"] = {"sentence": ["good "], "label": [1]}
    assert sst2("test").texts == ["good"]


def test_a_hub_that_is_not_reached_is_told(hub):
    def fail(name, configuration, split):
        raise ConnectionError("no network")

    sys.modules["datasets"].load_dataset = fail
    with pytest.raises(FileNotFoundError, match="stanfordnlp/snli could not be downloaded; INFOSCOPE_DATA can name"):
        nli()


@REAL
def test_real_sizes():
    """The published numbers of sentences and of classes (Warstadt et al. 2018; GLUE; Bowman et al. 2015; MultiNLI)."""
    assert [cola(split).labels.bincount().tolist() for split in ("train", "dev", "out-of-domain")] == [
        [2528, 6023], [162, 365], [162, 354],
    ]  # fmt: skip
    assert [len(sst2(split)) for split in ("train", "dev", "test")] == [60_614, 6_735, 872]
    assert nli("snli", "test").labels.bincount().tolist() == [3368, 3219, 3237]
    assert nli("mnli", "dev").labels.bincount().tolist() == [3479, 3123, 3213]


@REAL
def test_real_pairs_of_one_premise_come_in_threes():
    groups = nli("snli", "test").groups
    assert 2.9 < len(groups) / len(set(groups.tolist())) <= 3.1
