"""CoLA, SST-2, SNLI, MultiNLI and IMDB: files of their formats, downloads, the real
ones, and what is refused.
"""

import gzip
import json
import sys
import types
from functools import partial
from pathlib import Path

import pytest

from infoscope.data import cola, imdb, nli, sst2
from tests.data.common import with_real_data
from tests.refusals import refused

COLA = ('gj04\t1\t\tHe said "so".', "gj04\t0\t*\tThem left.")
REVIEW = '{"text": "x", "label": 1}'
NO_GOLD_LABEL = '{"premise": "x", "hypothesis": "y", "label": "-"}'


def written(path: Path, *lines: str) -> Path:
    """Writes a file, gzipped if so named; returns the root, two folders above."""
    path.parent.mkdir(exist_ok=True)
    content = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path.parent.parent


def test_cola_keeps_quotes_and_source(tmp_path):
    root = written(tmp_path / "cola" / "in_domain_dev.tsv", *COLA)
    sentences = cola("dev", root)
    assert sentences.texts == ['He said "so".', "Them left."]
    assert sentences.label_names == ["acceptable", "unacceptable"]
    assert sentences.ids == ["gj04-1", "gj04-2"]
    assert sentences.name == "cola-dev"
    assert sentences.split == "dev"


def test_imdb_reads_one_review_a_line(tmp_path):
    rows = [
        {"id": "pos_0", "rating": 9, "label": 1, "text": "très <br /> good"},
        {"label": 0, "text": "bad"},
    ]
    reviews = imdb(
        root=written(tmp_path / "imdb" / "imdb_train.jsonl.gz", *map(json.dumps, rows))
    )
    assert reviews.texts == ["très <br /> good", "bad"]
    assert reviews.label_names == ["positive", "negative"]
    assert reviews.name == "imdb-train"
    assert reviews.split == "train"
    assert reviews.ids == ["pos_0", "1"]  # the second line has no id: its place


def test_the_whole_training_set_of_snli_comes_before_its_sample(tmp_path):
    row = '{"premise": "A man.", "hypothesis": "A person.", "label": "entailment"}'
    root = written(tmp_path / "nli" / "snli_train_20k.jsonl.gz", row)
    sample = nli("snli", "train", root)
    assert sample.texts == [("A man.", "A person.")]
    assert sample.name == "snli-train-20k"
    written(tmp_path / "nli" / "snli_train.jsonl.gz", row, row)
    assert nli("snli", "train", root).name == "snli-train"


def test_sst2_has_a_header_and_stray_blanks(tmp_path):
    root = written(
        tmp_path / "sst2" / "dev.tsv.gz", "sentence\tlabel", "a joy \t1", "no 'fun'\t0"
    )
    phrases = sst2("dev", root)
    assert phrases.texts == ["a joy", "no 'fun'"]
    assert phrases.label_names == [
        "positive",
        "negative",
    ]


DAMAGED = [
    (partial(cola, "dev"), "cola/in_domain_dev.tsv", ["gj04\t1\tx"]),
    (partial(cola, "dev"), "cola/in_domain_dev.tsv", [COLA[0], "gj04\t2\t\tx"]),
    (partial(sst2, "test"), "sst2/test.tsv", ["text\tlabel"]),
    (partial(sst2, "test"), "sst2/test.tsv", ["sentence\tlabel", "x\tbad"]),
    (partial(nli, "snli", "dev"), "nli/snli_dev.jsonl.gz", ['{"premise": "x"}']),
    (partial(nli, "mnli", "dev"), "nli/mnli_matched_dev.jsonl.gz", [NO_GOLD_LABEL]),
    (partial(imdb, "test"), "imdb/imdb_test.jsonl.gz", [REVIEW, "not json"]),
    (partial(imdb, "test"), "imdb/imdb_test.jsonl.gz", [REVIEW, "[" * 200_000]),
    (
        partial(imdb, "test"),
        "imdb/imdb_test.jsonl.gz",
        ['{"text": "x", "label": "good"}'],
    ),
]


@pytest.mark.parametrize(("load", "file", "lines"), DAMAGED)
def test_a_damaged_line_is_refused(load, file, lines, tmp_path):
    """Always the last."""
    root = written(tmp_path / file, *lines)
    with refused(f"{tmp_path / file}, line {len(lines)},", "file"):
        load(root=root)


@pytest.fixture
def hub(monkeypatch) -> dict:
    """A stand-in for `datasets` that serves what is put into it by (name,
    configuration, split).
    """
    served: dict = {}
    monkeypatch.delenv("INFOSCOPE_DATA", raising=False)
    module = types.ModuleType("datasets")
    module.load_dataset = lambda name, configuration, split: served[
        name, configuration, split
    ]
    monkeypatch.setitem(sys.modules, "datasets", module)
    return served


def test_pairs_without_a_gold_label_are_left_out_of_a_download(hub):
    hub["stanfordnlp/snli", None, "validation"] = {
        "premise": ["a", "b", "c"], "hypothesis": ["x", "y", "z"], "label": [2, -1, 0],
    }  # fmt: skip
    pairs = nli("snli", "dev")
    assert pairs.texts == [("a", "x"), ("c", "z")]
    assert pairs.ids == ["0", "2"]
    assert pairs.label_names == ["contradiction", "entailment"]


def test_the_downloaded_cola_is_parted_into_its_domains_or_refused(hub):
    labels = [0] * 162 + [1] * 365 + [0] * 162 + [1] * 354
    stored = {"sentence": [str(place) for place in range(1043)], "label": labels}
    hub["nyu-mll/glue", "cola", "validation"] = stored
    assert len(cola("dev")) == 527
    assert len(cola("out-of-domain")) == 516
    assert cola("out-of-domain").texts[0] == "527"
    stored["label"] = sorted(labels)
    with refused(code="invalid"):
        cola("dev")


def test_a_hub_that_is_not_reached_is_reported(hub):
    def fail(name, configuration, split):
        raise ConnectionError("no network")

    sys.modules["datasets"].load_dataset = fail
    with pytest.raises(FileNotFoundError, match="stanfordnlp/snli.*INFOSCOPE_DATA"):
        nli()


@with_real_data
def test_real_sizes():
    """The published numbers of sentences and of classes (Warstadt et al. 2018; GLUE;
    Bowman et al. 2015; MultiNLI; Maas et al. 2011), and the known number of repeated
    training reviews.
    """
    reviews = imdb()
    assert reviews.labels.bincount().tolist() == [12_500, 12_500]
    assert len(reviews.texts) - len(set(reviews.texts)) == 96
    assert cola("dev").labels.bincount().tolist() == [162, 365]
    assert [len(sst2(split)) for split in ("dev", "test")] == [6_735, 872]
    assert nli("snli", "test").labels.bincount().tolist() == [3368, 3219, 3237]
