"""Natural language inference: does a premise entail a hypothesis, contradict it, or neither? Real and generated."""

from __future__ import annotations

import math
from pathlib import Path

import torch

from infoscope.checks import one_of, require_int, require_number
from infoscope.data.pools.loaders import root_or_default
from infoscope.data.texts.dataset import LabelledTexts
from infoscope.data.texts.files import downloaded, first_file, label_of, read_json_lines
from infoscope.data.texts.generated_nli import Choices, pairs_of

CLASSES = ("entailment", "neutral", "contradiction")
_FILES = {
    "snli": {
        "train": ("snli_train.jsonl.gz", "snli_train_20k.jsonl.gz"),
        "dev": ("snli_dev.jsonl.gz",),
        "test": ("snli_test.jsonl.gz",),
    },
    "mnli": {"train": ("mnli_train.jsonl.gz",), "dev": ("mnli_matched_dev.jsonl.gz",)},
}
_HUB = {
    "snli": ("stanfordnlp/snli", {"train": "train", "dev": "validation", "test": "test"}),
    "mnli": ("nyu-mll/multi_nli", {"train": "train", "dev": "validation_matched"}),
}


def nli(name: str = "snli", split: str = "train", root: Path | str | None = None) -> LabelledTexts:
    """Pairs of a premise and a hypothesis of SNLI (Bowman et al. 2015) or MultiNLI (Williams et al. 2018).

    name "snli": train, dev, test; "mnli": train and (matched) dev. Pairs without a gold label are left out. Reads
    <root>/nli/<name>_<split>.jsonl.gz (mnli_matched_dev; without SNLI's train its sample snli_train_20k); root None is
    the folder of INFOSCOPE_DATA, else `datasets` downloads them. ValueError for another name or split or a damaged
    file, FileNotFoundError for a missing one.
    """
    one_of("split", split, _FILES[one_of("name", name, _FILES)])
    root = root_or_default(root)
    if root is None:
        source, splits = _HUB[name]
        stored = downloaded("nli", source, splits[split])
        rows = list(zip(stored["premise"], stored["hypothesis"], stored["label"]))
        labelled = [place for place, row in enumerate(rows) if row[2] >= 0]
        pairs, labels = [rows[place][:2] for place in labelled], [rows[place][2] for place in labelled]
        return LabelledTexts(pairs, torch.tensor(labels), CLASSES, f"{name}-{split}", split, [*map(str, labelled)])
    path = first_file(root / "nli", _FILES[name][split])
    found = read_json_lines(path, {"premise": str, "hypothesis": str, "label": str})
    labels = [label_of(row["label"], path, number, CLASSES) for number, row in enumerate(found, 1)]
    pairs = [(row["premise"], row["hypothesis"]) for row in found]
    return LabelledTexts(pairs, torch.tensor(labels), CLASSES, path.name.partition(".")[0].replace("_", "-"), split)


def generated_nli(n: int = 6000, artefact: float = 0.4, *, generator: torch.Generator) -> LabelledTexts:
    """Draws n independent pairs from a small grammar: inference whose information is known (synthetic).

    A premise states two of three attributes of a person, a hypothesis one: entailed, contradicted, or neutral if the
    premise does not state it. With probability `artefact` a word of the hypothesis gives the label away (Gururangan et
    al. 2018). So

        I(pair; label) = ln 3,   I(premise; label) = 0,   I(hypothesis; label) = artefact * ln 3

    ValueError when n is not a positive whole number or artefact not a probability.
    """
    require_int("n", n)
    hypothesis_information(artefact)
    labels = torch.randint(len(CLASSES), (n,), generator=generator, device=generator.device).cpu()
    cued = torch.rand(n, generator=generator, device=generator.device) < artefact
    pairs = pairs_of(labels.tolist(), cued.tolist(), Choices.draw(n, generator))
    return LabelledTexts(pairs, labels, CLASSES, f"generated nli, artefact {artefact:g} (synthetic)", synthetic=True)


def hypothesis_information(artefact: float) -> float:
    """The information of hypotheses of `generated_nli` on the label, nats. ValueError: artefact is no probability."""
    return require_number("artefact", artefact, most=1) * math.log(len(CLASSES))
