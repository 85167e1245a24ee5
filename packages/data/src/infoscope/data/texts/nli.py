"""Natural language inference: does a premise entail a hypothesis, contradict it, or neither? Real and generated."""

from __future__ import annotations

import math
from pathlib import Path

import torch

from infoscope.checks import require_int
from infoscope.data.pools.loaders import root_or_default
from infoscope.data.texts.dataset import LabelledTexts
from infoscope.data.texts.files import downloaded, first_file, label_of, one_split, read_json_lines
from infoscope.data.texts.generated_nli import Choices, pairs_of
from infoscope.errors import OutOfRange, UnknownName

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

    name "snli": train, dev, test; "mnli": train and dev, the matched one. Pairs without a gold label are left out.
    Reads <root>/nli/<name>_<split>.jsonl.gz (mnli_matched_dev for the dev set; where SNLI's train is not there, its
    sample snli_train_20k, which the name then says), one object a line with `premise`, `hypothesis` and `label`; root
    None is the folder of INFOSCOPE_DATA. With neither, `datasets` downloads them.
    Raises ValueError for another name or split or a damaged file, FileNotFoundError when the folder or the file is not
    there.
    """
    if name not in _FILES:
        raise UnknownName(f"name must be one of {', '.join(_FILES)}, got {name!r}.")
    one_split(split, tuple(_FILES[name]))
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

    A premise tells two of three attributes of somebody (an activity, a place, a garment), a hypothesis one, in the same
    words or in others. It is entailed if the premise tells the same, contradicted if the premise tells another value of
    that attribute, and neutral if the premise does not tell that attribute. Labels are uniform, and neither side alone
    depends on them, but for an artefact as annotators leave them (Gururangan et al. 2018): with probability `artefact`
    the hypothesis has a word that tells its label. So, exactly,

        I(pair; label) = ln 3,   I(premise; label) = 0,   I(hypothesis; label) = artefact * ln 3

    (`hypothesis_information`).

    Raises ValueError when n is not a positive whole number or artefact not a probability.
    """
    require_int("n", n)
    hypothesis_information(artefact)
    labels = torch.randint(len(CLASSES), (n,), generator=generator, device=generator.device).cpu()
    cued = torch.rand(n, generator=generator, device=generator.device) < artefact
    pairs = pairs_of(labels.tolist(), cued.tolist(), Choices.draw(n, generator))
    return LabelledTexts(pairs, labels, CLASSES, f"generated nli, artefact {artefact:g} (synthetic)", synthetic=True)


def hypothesis_information(artefact: float) -> float:
    """The information of hypotheses of `generated_nli` on the label, nats: an erasure channel of three even classes.

    Raises ValueError unless artefact is a probability.
    """
    if isinstance(artefact, bool) or not isinstance(artefact, int | float) or not 0.0 <= artefact <= 1.0:
        raise OutOfRange(f"artefact must be a probability in [0, 1], got {artefact!r}.")
    return artefact * math.log(len(CLASSES))
