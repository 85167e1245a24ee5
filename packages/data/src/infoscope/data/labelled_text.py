"""Labelled texts: what text encoders are trained on and what the difficulty of a data set is measured with."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from .loaders import DATA_VARIABLE, root_or_default


@dataclass(frozen=True, eq=False)
class LabelledTexts:
    """Texts, or pairs of texts, each of one class: texts [n], labels int64 [n] in 0..len(classes)-1.

    classes names the labels; `name` is what a run records as its data set. Raises ValueError unless there are as many
    labels as texts, at least one, all of them of a class.
    """

    texts: Sequence[str] | Sequence[tuple[str, str]]
    labels: torch.Tensor
    classes: tuple[str, ...]
    name: str

    def __post_init__(self) -> None:
        if self.labels.dtype != torch.int64 or self.labels.shape != (len(self.texts),) or len(self.texts) == 0:
            raise ValueError(
                f"labels must be torch.int64 of shape [{len(self.texts)}], one per text and at least one, "
                f"not {self.labels.dtype} of shape {list(self.labels.shape)}."
            )
        found = self.labels.unique().tolist()
        if not set(found) <= set(range(len(self.classes))):
            raise ValueError(f"labels must be from 0 to {len(self.classes) - 1}, one of {self.classes}, not {found}.")


def imdb(split: str = "train", root: Path | str | None = None) -> LabelledTexts:
    """25,000 (train) or 25,000 (test) film reviews, 12,500 of each sentiment (Maas et al. 2011).

    Reads <root>/imdb/imdb_<split>.jsonl.gz, one object a line with `text` and `label` (1 positive); root None is the
    folder of INFOSCOPE_DATA. With neither, `datasets` downloads stanfordnlp/imdb. Raises ValueError for another split
    or a line that is not such an object, FileNotFoundError when the folder or the file is not there.
    """
    if split not in ("train", "test"):
        raise ValueError(f"split must be train or test, not {split!r}.")
    root = root_or_default(root)
    if root is None:
        texts, labels = _downloaded(split)
    else:
        path = root / "imdb" / f"imdb_{split}.jsonl.gz"
        if not path.is_file():
            raise FileNotFoundError(f"{path} is not there.")
        texts, labels = [], []
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    row = json.loads(line)
                    texts.append(str(row["text"]))
                    labels.append(int(row["label"]))
                except (json.JSONDecodeError, KeyError, TypeError, ValueError) as error:
                    raise ValueError(f"{path}, line {number}, is not an object with text and label.") from error
    return LabelledTexts(texts, torch.tensor(labels), ("negative", "positive"), f"imdb-{split}")


def _downloaded(split: str) -> tuple[list[str], list[int]]:
    try:
        from datasets import load_dataset  # only to download
    except ImportError as error:
        raise FileNotFoundError(
            f"{DATA_VARIABLE} must name a folder that holds imdb, or `datasets` be installed."
        ) from error
    try:
        stored = load_dataset("stanfordnlp/imdb", split=split)
    except (OSError, ConnectionError) as error:
        raise FileNotFoundError(
            f"IMDB could not be downloaded; {DATA_VARIABLE} can name a folder that holds imdb."
        ) from error
    return list(stored["text"]), list(stored["label"])
