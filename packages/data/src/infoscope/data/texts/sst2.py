"""SST-2: phrases and sentences of film reviews, and their sentiment (Socher et al. 2013, as in GLUE)."""

from __future__ import annotations

from pathlib import Path

import torch

from infoscope.checks import one_of
from infoscope.data.pools.loaders import root_or_default
from infoscope.data.texts.dataset import SENTIMENTS, LabelledTexts
from infoscope.data.texts.files import downloaded, label_of, read_table

_FILES = {"train": "train.tsv.gz", "dev": "dev.tsv.gz", "test": "test.tsv"}
_GLUE_SPLITS = {"train": "train", "test": "validation"}


def sst2(split: str = "train", root: Path | str | None = None) -> LabelledTexts:
    """60,614 (train) and 6,735 (dev) phrases, or the 872 whole sentences (test) of GLUE's development set; 1 is
    positive.

    Phrases of train and dev are of the same sentences: judge on test. Reads
    <root>/sst2/{train.tsv.gz,dev.tsv.gz,test.tsv}; root None is the folder of INFOSCOPE_DATA, else `datasets` downloads
    GLUE's (without dev). Errors as `cola`.
    """
    one_of("split", split, _FILES)
    root = root_or_default(root)
    if root is None:
        if split not in _GLUE_SPLITS:
            raise FileNotFoundError(f"split must be train or test to be downloaded, got {split!r}: GLUE has no such.")
        stored = downloaded("sst2", "nyu-mll/glue", _GLUE_SPLITS[split], "sst2")
        texts, labels = list(stored["sentence"]), list(stored["label"])
    else:
        path = root / "sst2" / _FILES[split]
        rows = read_table(path, ("sentence", "label"), header=True)
        texts = [row["sentence"] for row in rows]
        labels = [label_of(row["label"], path, number, ("0", "1")) for number, row in enumerate(rows, 2)]
    return LabelledTexts([text.strip() for text in texts], torch.tensor(labels), SENTIMENTS, f"sst2-{split}", split)
