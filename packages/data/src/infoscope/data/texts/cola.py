"""CoLA: sentences from the literature of linguistics, and whether they are acceptable (Warstadt et al. 2018)."""

from __future__ import annotations

from pathlib import Path

import torch

from infoscope.checks import one_of
from infoscope.data.pools.loaders import root_or_default
from infoscope.data.texts.dataset import LabelledTexts
from infoscope.data.texts.files import downloaded, label_of, read_table
from infoscope.errors import InvalidInput

_CLASSES = ("unacceptable", "acceptable")
_FILES = {"train": "in_domain_train", "dev": "in_domain_dev", "out-of-domain": "out_of_domain_dev"}
_COLUMNS = ("source", "label", "mark", "sentence")
# GLUE has both development sets in one, the in-domain one first: their numbers of unacceptable and acceptable sentences
_GLUE_PARTS = {"dev": (slice(0, 527), [162, 365]), "out-of-domain": (slice(527, 1043), [162, 354])}


def cola(split: str = "train", root: Path | str | None = None) -> LabelledTexts:
    """8,551 (train), 527 (dev, of the same 17 sources) or 516 (out-of-domain, of 6 others) sentences; 1 is acceptable.

    Reads <root>/cola/{in_domain_train,in_domain_dev,out_of_domain_dev}.tsv; root None is the folder of INFOSCOPE_DATA,
    else `datasets` downloads GLUE's. ValueError for another split or a damaged file, FileNotFoundError for a missing
    one.
    """
    one_of("split", split, _FILES)
    root = root_or_default(root)
    if root is None:
        texts, labels, ids = _glue(split)
    else:
        path = root / "cola" / f"{_FILES[split]}.tsv"
        rows = list(enumerate(read_table(path, _COLUMNS, header=False), 1))
        texts = [row["sentence"] for _, row in rows]
        labels = [label_of(row["label"], path, number, ("0", "1")) for number, row in rows]
        ids = [f"{row['source']}-{number}" for number, row in rows]
    return LabelledTexts(texts, torch.tensor(labels), _CLASSES, f"cola-{split}", split, ids)


def _glue(split: str) -> tuple[list[str], list[int], list[str]]:
    stored = downloaded("cola", "nyu-mll/glue", "train" if split == "train" else "validation", "cola")
    texts, labels = list(stored["sentence"]), list(stored["label"])
    ids = [str(place) for place in range(len(texts))]
    if split == "train":
        return texts, labels, ids
    part, counts = _GLUE_PARTS[split]
    found = [labels[part].count(0), labels[part].count(1)]
    if found != counts:
        raise InvalidInput(f"the downloaded {split} sentences must be {counts} of classes 0 and 1, got {found}.")
    return texts[part], labels[part], ids[part]
