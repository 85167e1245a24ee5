"""Published labelled texts from files or `datasets`: CoLA, SST-2, IMDB, (Multi)NLI."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from infoscope.checks import one_of
from infoscope.data.root import DATA_VARIABLE, data_root
from infoscope.data.texts.dataset import LabelledTexts
from infoscope.data.texts.generated_nli import CLASSES
from infoscope.data.texts.generated_reviews import SENTIMENTS
from infoscope.errors import InvalidInput, TooFew, UnreadableFile
from infoscope.files import json_object, lines

_ACCEPTABILITY = ("unacceptable", "acceptable")
_COLA_FILES = {
    "train": "in_domain_train",
    "dev": "in_domain_dev",
    "out-of-domain": "out_of_domain_dev",
}
_COLA_COLUMNS = ("source", "label", "mark", "sentence")
# GLUE joins both development sets, the in-domain set first: rows, and numbers of
# unacceptable and acceptable sentences
_GLUE_PARTS = {
    "dev": (slice(0, 527), [162, 365]),
    "out-of-domain": (slice(527, 1043), [162, 354]),
}
_SST2_FILES = {"train": "train.tsv.gz", "dev": "dev.tsv.gz", "test": "test.tsv"}
_GLUE_SPLITS = {"train": "train", "test": "validation"}
_NLI_FILES = {
    "snli": {
        "train": ("snli_train.jsonl.gz", "snli_train_20k.jsonl.gz"),
        "dev": ("snli_dev.jsonl.gz",),
        "test": ("snli_test.jsonl.gz",),
    },
    "mnli": {"train": ("mnli_train.jsonl.gz",), "dev": ("mnli_matched_dev.jsonl.gz",)},
}
_NLI_HUB = {
    "snli": (
        "stanfordnlp/snli",
        {"train": "train", "dev": "validation", "test": "test"},
    ),
    "mnli": ("nyu-mll/multi_nli", {"train": "train", "dev": "validation_matched"}),
}


def cola(split: str = "train", root: Path | str | None = None) -> LabelledTexts:
    """CoLA: sentences that linguists found acceptable (1) or not (0).

    Reads <root>/cola/{in_domain_train,in_domain_dev,out_of_domain_dev}.tsv, or
    downloads the files of GLUE.

    Parameters
    ----------
    split : {"train", "dev", "out-of-domain"}
        8,551 sentences, 527 of the same 17 sources, or 516 of 6 other sources.
    root : str or Path, optional
        Folder of real data; by default the folder that INFOSCOPE_DATA names, else
        `datasets` downloads the texts.

    Returns
    -------
    LabelledTexts
        Sentences with ids that begin with the source where files are read.

    Raises
    ------
    UnknownName
        If there is no such split.
    UnreadableFile, InvalidInput
        If a file is damaged.
    FileNotFoundError
        If a file does not exist or cannot be downloaded.
    """
    one_of("split", split, _COLA_FILES)
    root = data_root(root)
    if root is None:
        texts, labels, ids = _glue(split)
    else:
        path = root / "cola" / f"{_COLA_FILES[split]}.tsv"
        texts, labels, ids = [], [], []
        rows = read_table(path, _COLA_COLUMNS, header=False)
        for number, row in enumerate(rows, 1):
            texts.append(row["sentence"])
            labels.append(label_of(row["label"], path, number, ("0", "1")))
            ids.append(f"{row['source']}-{number}")
    return LabelledTexts(
        texts, torch.tensor(labels), _ACCEPTABILITY, f"cola-{split}", split, ids
    )


def _glue(split: str) -> tuple[list[str], list[int], list[str]]:
    """Texts, labels and ids of CoLA as GLUE has them."""
    part_of_glue = "train" if split == "train" else "validation"
    stored = downloaded("cola", "nyu-mll/glue", part_of_glue, "cola")
    texts = list(stored["sentence"])
    labels = list(stored["label"])
    ids = [str(place) for place in range(len(texts))]
    if split == "train":
        return texts, labels, ids
    part, counts = _GLUE_PARTS[split]
    labels = labels[part]
    got = [labels.count(0), labels.count(1)]
    if got != counts:
        raise InvalidInput(
            f"the downloaded {split} sentences must be {counts} of classes 0 and 1, "
            f"got {got}."
        )
    return texts[part], labels, ids[part]


def sst2(split: str = "train", root: Path | str | None = None) -> LabelledTexts:
    """SST-2: phrases of film reviews, positive (1) or negative (0).

    Phrases of train and dev are of the same sentences: judge on test. Reads
    <root>/sst2/{train.tsv.gz,dev.tsv.gz,test.tsv}, or downloads the files of GLUE
    (without dev).

    Parameters
    ----------
    split : {"train", "dev", "test"}
        60,614 phrases, 6,735 phrases, or the 872 whole sentences of GLUE's development
        set.
    root : str or Path, optional
        Folder of real data; by default the folder that INFOSCOPE_DATA names, else
        `datasets` downloads the texts.

    Returns
    -------
    LabelledTexts
        Phrases and their classes.

    Raises
    ------
    UnknownName
        If there is no such split.
    UnreadableFile, InvalidInput
        If a file is damaged.
    FileNotFoundError
        If a file does not exist or cannot be downloaded.
    """
    one_of("split", split, _SST2_FILES)
    root = data_root(root)
    if root is None:
        if split not in _GLUE_SPLITS:
            raise FileNotFoundError(
                f"split must be train or test to be downloaded, got {split!r}: GLUE "
                "has no other."
            )
        stored = downloaded("sst2", "nyu-mll/glue", _GLUE_SPLITS[split], "sst2")
        texts = list(stored["sentence"])
        labels = list(stored["label"])
    else:
        path = root / "sst2" / _SST2_FILES[split]
        texts, labels = [], []
        rows = read_table(path, ("sentence", "label"), header=True)
        for number, row in enumerate(rows, 2):
            texts.append(row["sentence"])
            labels.append(label_of(row["label"], path, number, ("0", "1")))
    texts = list(map(str.strip, texts))
    return LabelledTexts(
        texts, torch.tensor(labels), SENTIMENTS, f"sst2-{split}", split
    )


def imdb(split: str = "train", root: Path | str | None = None) -> LabelledTexts:
    """IMDB: 12,500 positive (1) and 12,500 negative film reviews (Maas et al. 2011).

    Reads <root>/imdb/imdb_<split>.jsonl.gz, objects with `text`, `label` and optionally
    `id`.

    Parameters
    ----------
    split : {"train", "test"}
        25,000 reviews each.
    root : str or Path, optional
        Folder of real data; by default the folder that INFOSCOPE_DATA names, else
        `datasets` downloads the texts.

    Returns
    -------
    LabelledTexts
        Reviews and their classes.

    Raises
    ------
    UnknownName
        If there is no such split.
    UnreadableFile, InvalidInput
        If a file is damaged.
    FileNotFoundError
        If a file does not exist or cannot be downloaded.
    """
    one_of("split", split, ("train", "test"))
    root = data_root(root)
    if root is None:
        stored = downloaded("imdb", "stanfordnlp/imdb", split)
        texts = list(stored["text"])
        labels = list(stored["label"])
        ids = None
    else:
        path = root / "imdb" / f"imdb_{split}.jsonl.gz"
        rows = read_json_lines(path, {"text": str, "label": int})
        texts = [row["text"] for row in rows]
        labels = [row["label"] for row in rows]
        ids = [str(row.get("id", place)) for place, row in enumerate(rows)]
    return LabelledTexts(
        texts, torch.tensor(labels), SENTIMENTS, f"imdb-{split}", split, ids
    )


def nli(
    name: str = "snli", split: str = "train", root: Path | str | None = None
) -> LabelledTexts:
    """SNLI or MultiNLI: pairs of a premise and a hypothesis, in three classes.

    Bowman et al. 2015; Williams et al. 2018. Pairs without a gold label are left out.
    Reads <root>/nli/<name>_<split>.jsonl.gz (mnli_matched_dev; without the train file
    of SNLI its sample snli_train_20k).

    Parameters
    ----------
    name : {"snli", "mnli"}
        Data set.
    split : {"train", "dev", "test"}
        Test is of SNLI alone; dev of MultiNLI is the matched one.
    root : str or Path, optional
        Folder of real data; by default the folder that INFOSCOPE_DATA names, else
        `datasets` downloads the texts.

    Returns
    -------
    LabelledTexts
        Pairs with the classes entailment, neutral and contradiction.

    Raises
    ------
    UnknownName
        If there is no such data set or split.
    UnreadableFile, InvalidInput
        If a file is damaged.
    FileNotFoundError
        If a file does not exist or cannot be downloaded.
    """
    one_of("split", split, _NLI_FILES[one_of("name", name, _NLI_FILES)])
    root = data_root(root)
    if root is None:
        source, splits = _NLI_HUB[name]
        stored = downloaded("nli", source, splits[split])
        pairs, labels, ids = [], [], []
        rows = zip(stored["premise"], stored["hypothesis"], stored["label"])
        for place, (premise, hypothesis, label) in enumerate(rows):
            if label >= 0:
                pairs.append((premise, hypothesis))
                labels.append(label)
                ids.append(str(place))
        return LabelledTexts(
            pairs, torch.tensor(labels), CLASSES, f"{name}-{split}", split, ids
        )
    path = first_file(root / "nli", _NLI_FILES[name][split])
    pairs, labels = [], []
    rows = read_json_lines(path, {"premise": str, "hypothesis": str, "label": str})
    for number, row in enumerate(rows, 1):
        pairs.append((row["premise"], row["hypothesis"]))
        labels.append(label_of(row["label"], path, number, CLASSES))
    stem, _, _ = path.name.partition(".")
    return LabelledTexts(
        pairs, torch.tensor(labels), CLASSES, stem.replace("_", "-"), split
    )


def first_file(folder: Path, names: Sequence[str]) -> Path:
    """The first of the files that is there; FileNotFoundError if none is."""
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise FileNotFoundError(
        f"{' or '.join(str(folder / name) for name in names)} is not there."
    )


def read_json_lines(
    path: Path, fields: Mapping[str, Callable[[Any], Any]]
) -> list[dict[str, Any]]:
    """The objects of a gzipped file, one a line, with the named fields converted.

    FileNotFoundError without the file, UnreadableFile for a line without such an
    object.
    """
    rows = []
    path = first_file(path.parent, [path.name])
    for number, line in enumerate(lines(path), 1):
        try:
            row = json_object(line)
            for name, convert in fields.items():
                row[name] = convert(row[name])
        except (KeyError, TypeError, ValueError) as error:
            raise UnreadableFile(
                f"{path}, line {number}, is not an object with {' and '.join(fields)}."
            ) from error
        rows.append(row)
    return _some(path, rows)


def read_table(
    path: Path, columns: Sequence[str], header: bool
) -> list[dict[str, str]]:
    """The rows of a tab-separated file, gzipped if named so, by column name.

    Quotes are text. FileNotFoundError without the file, UnreadableFile for another
    header or number of columns.
    """
    path = first_file(path.parent, [path.name])
    rows = [line.split("\t") for line in lines(path)]
    _some(path, rows)
    first = 1
    if header:
        titles = rows.pop(0)
        first = 2
        if titles != list(columns):
            raise UnreadableFile(
                f"{path}, line 1, must be {' '.join(columns)}, got "
                f"{' '.join(titles)[:100]!r}."
            )
    for number, row in enumerate(rows, first):
        if len(row) != len(columns):
            raise UnreadableFile(
                f"{path}, line {number}, must have the {len(columns)} columns "
                f"{', '.join(columns)}."
            )
    return [dict(zip(columns, row)) for row in rows]


def _some(path: Path, rows: list) -> list:
    """The rows of a file; TooFew without any."""
    if not rows:
        raise TooFew(f"{path} must have at least one line, but is empty.")
    return rows


def label_of(value: str, path: Path, number: int, valid: Sequence[str]) -> int:
    """The place of a label among the valid labels; UnreadableFile for another label."""
    if value not in valid:
        raise UnreadableFile(
            f"{path}, line {number}, must have a label of {', '.join(valid)}, got "
            f"{value!r}."
        )
    return valid.index(value)


def downloaded(
    folder: str, source: str, split: str, configuration: str | None = None
) -> Any:
    """A split of a data set of the Hugging Face hub, columns by name.

    FileNotFoundError if `datasets` is not installed or the hub cannot be reached; its
    message names the folder of INFOSCOPE_DATA that would do.
    """
    try:
        from datasets import load_dataset  # only to download
    except ImportError as error:
        raise FileNotFoundError(
            f"{DATA_VARIABLE} must name a folder with {folder}, or `datasets` be "
            "installed."
        ) from error
    try:
        return load_dataset(source, configuration, split=split)
    except (OSError, ConnectionError) as error:
        raise FileNotFoundError(
            f"{source} could not be downloaded; {DATA_VARIABLE} can name a folder "
            f"with {folder}."
        ) from error
