"""Which labels of your own data are wrong, how many, and how much of the label a model
can use.

DATA is a table or a .npz. X names its columns of texts, numbers or embeddings (PREFIX*:
all columns whose names start with PREFIX), TARGET the column of labels. The model is
logistic regression, of texts on TF-IDF weights; MODEL is a folder of a transformers
encoder instead. PROBABILITIES is a file of held-out class probabilities, or log
probabilities, of a model of your own: a .npz, a table with a column for each class, or
a .jsonl of a language model, a line for each item:

    {"text": "Refund?", "label": "billing", "options": {"billing": -0.1, "bug": -2.4}}
    {"text": "It hangs.", "label": "billing", "options": {"billing": -3.0, "bug": -0.2}}

Written: a table of suspects, a figure, one page to send, and one run in MLflow.
"""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from analysis.common.own_data import (
    ROW,
    OwnLabels,
    announce,
    listed,
    options,
    progress,
    read_labels,
    read_options,
    stem_of,
)
from analysis.common.own_files import digest_of, read_file
from analysis.common.own_report import conclude_report
from analysis.common.tables import require_writable
from infoscope.checks import require_int
from infoscope.command_line import command, option
from infoscope.errors import InvalidInput, UnknownName, UnreadableFile, WrongLength
from infoscope.files import json_object, lines, read_arrays
from infoscope.metrics.v_information.labels import report

EXPERIMENT = "labels"
SIDES = {
    "x": "PREFIX*: all columns whose names start with PREFIX; default: all other columns"
}
UNUSED = ("continuous", "angles", "shuffle")  # options of other commands on a file
RECORDED = (
    "wrong labels",
    "usable information",
    "usable share",
    "lost information",
    "wrong labels by cleanlab",
)
# fields of a line of a .jsonl, the first two in all
LOG = ("label", "options", "text", "fold", "group")


def read_log(path: Path) -> dict[str, Any]:
    """The arrays of a .jsonl, by name as in a .npz: probabilities, classes, and the
    fields of `LOG` of all lines.

    UnreadableFile: a line that is no JSON object, lacks a label or options, or has
    other options than the first.
    """
    items: list[dict[str, Any]] = []
    for number, line in enumerate(lines(path), 1):
        if not line.strip():
            continue
        start = f"{path}, line {number}, must be a JSON object with label and options"
        try:
            item = json_object(line)
        except ValueError as error:
            raise UnreadableFile(f"{start}, but: {error}.") from None
        if not isinstance(item.get("options"), Mapping) or "label" not in item:
            raise UnreadableFile(f"{start}, got {', '.join(item)}.")
        if item["options"].keys() != (items or [item])[0]["options"].keys():
            raise UnreadableFile(
                f"{start}, the same as in the first line, got "
                f"{', '.join(item['options'])}."
            )
        items.append(item)
    if not items:
        raise UnreadableFile(f"{path} must have lines, got none.")
    fields = pd.DataFrame(items).reindex(columns=LOG).dropna(axis=1)
    answers = pd.DataFrame(fields.pop("options").tolist())
    arrays = {name: fields[name].to_numpy() for name in fields}
    return arrays | {
        "probabilities": answers.to_numpy(dtype=float),
        "classes": list(answers),
    }


def read_probabilities(path: Path, target: str) -> dict[str, Any]:
    """The arrays of a file of probabilities, by name: probabilities, and if it has them
    classes, label, text, fold, group. In a table each column but these, and that of the
    labels, is a class.
    """
    if path.suffix == ".jsonl":
        return read_log(path)
    if path.suffix == ".npz":
        return read_arrays(path, ["probabilities"])
    columns = dict(read_file(path).columns)
    arrays = {name: columns.pop(name) for name in LOG if name in columns}
    if target in columns:
        arrays["label"] = columns.pop(target)
    frame = pd.DataFrame(columns)
    numbers = frame.select_dtypes("number")
    return arrays | {
        "probabilities": numbers.to_numpy(dtype=float),
        "classes": list(numbers),
    }


def joined(
    data: OwnLabels | None, path: Path, target: str
) -> tuple[OwnLabels, dict[str, Any]]:
    """Labels and what is shown of the items, of DATA or of the file of probabilities
    itself; and the latter's arguments of `report`. WrongLength: other numbers of rows.
    UnknownName: labels are nowhere.
    """
    arrays = read_probabilities(path, target)
    values = np.asarray(arrays["probabilities"])
    if data is None:
        data = labels_of_log(arrays, path, len(values))
    if len(values) != data.n:
        raise WrongLength(
            f"PROBABILITIES must have a row for each of the {data.n:,} rows of DATA, "
            f"got {len(values):,}."
        )
    folds = arrays.get("fold")
    if folds is not None:
        folds = np.asarray(folds)[data.rows]
    return data, {
        "probabilities": values[data.rows],
        "classes": arrays.get("classes"),
        "folds": folds,
    }


def labels_of_log(arrays: dict[str, Any], path: Path, n: int) -> OwnLabels:
    """The labels and texts that a file of n rows of probabilities has itself.
    UnknownName: it has no labels.
    """
    if "label" not in arrays:
        raise UnknownName(
            f"TARGET must name the labels in {path.name}, or in DATA=, got none."
        )
    rows = np.arange(n)
    text = None
    names = []
    if "text" in arrays:
        text = pd.DataFrame({"text": arrays["text"]})
        names = ["text"]
    labels = np.asarray(arrays["label"])
    understood = f"{n:,} rows of probabilities"
    columns = (names, ["label"])
    return OwnLabels(
        arrays.get("group"),
        digest_of(path),
        understood,
        columns,
        labels,
        text,
        rows,
        n,
        ROW,
        rows + 1,
    )


def encoder(folder: str) -> Any:
    """The model and the tokenizer of a folder, for `report`; only safetensors are read,
    nothing is downloaded.
    """
    from transformers import AutoModel, AutoTokenizer  # takes seconds

    model = AutoModel.from_pretrained(
        folder, local_files_only=True, use_safetensors=True
    )
    return model, AutoTokenizer.from_pretrained(folder, local_files_only=True)


def main(settings: SimpleNamespace) -> None:
    """Reports, prints, writes and records."""
    settings.continuous = ""
    settings.angles = ""
    path = Path(settings.data or settings.probabilities)
    source = SimpleNamespace(**{**vars(settings), "data": str(path)})
    try:
        require_int("--seed", settings.seed, 0)
        data = None
        arguments: dict[str, Any] = {}
        if settings.data:
            data = read_labels(
                path,
                listed(settings.x),
                settings.target,
                settings.groups,
                listed(settings.discrete),
                bool(settings.probabilities),
                read_options(settings),
            )
        if settings.probabilities:
            data, arguments = joined(
                data, Path(settings.probabilities), settings.target
            )
        if data is None:
            raise UnknownName(
                "DATA must name a file with the labels, or PROBABILITIES one with "
                "both, got nothing."
            )
        announce(source, data.understood)
        require_writable(stem_of(EXPERIMENT, source))
        result = report(
            data.labels,
            None if arguments else data.x,
            **arguments,
            family=encoder(settings.model) if settings.model else None,
            without=listed(settings.without),
            groups=data.groups,
            items=data.texts,
            rows=data.names,
            heading=data.heading,
            generator=np.random.default_rng(settings.seed),
            progress=progress(),
        )
    except ValueError as error:
        raise InvalidInput(str(error)) from error
    params = {
        "n": result.n, "x": settings.x, "target": settings.target, "model": result.family, "without": settings.without,
        "probabilities": settings.probabilities,
    }  # fmt: skip
    conclude_report(
        EXPERIMENT, source, "which labels are wrong", result, data, params, RECORDED
    )


COMMAND = command("labels", main, [
    *(item for item in options(SIDES) if item.name not in UNUSED),
    option("target", default="", metavar="NAME", help="column of the labels"),
    option("model", default="", metavar="FOLDER", help="a transformers encoder, fine-tuned in each fold"),
    option("probabilities", default="", metavar="FILE", help="held-out probabilities of a model of yours"),
    option("without", default="", metavar="NAMES", help="columns of X to leave out, one at a time: what do they hold?"),
    option("seed", type=int, default=0, help="of folds and initial weights (default: 0)"),
], __doc__)  # fmt: skip
