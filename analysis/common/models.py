"""Logged models, their codes of items, and evaluations that are kept with their runs."""

import hashlib
import json
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import torch
from mlflow.exceptions import MlflowException
from rich.console import Console
from rich.progress import track
from safetensors import SafetensorError

from infoscope.errors import OutOfRange, UnreadableFile, WrongShape
from infoscope.files import read_arrays
from infoscope.tracking import arrays, load_model, log_results
from infoscope.tracking.datasets import DataSet
from infoscope.tracking.models import address_of, logged_model
from infoscope.tracking.store import connect, tracking_uri
from infoscope.tracking.tags import CELL

T = TypeVar("T")
EXAMPLES_AT_ONCE = 512
RECORD = "evaluation"  # file of what an evaluation keeps with a run
BROKEN = (
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    RuntimeError,
    OSError,
    MlflowException,
    SafetensorError,
)
# fields of a cell that do not make another kind of model, and the one that is its name
APART = ("seed", "model")


@dataclass(frozen=True)
class Candidate:
    """A trained model to be evaluated.

    kind: such as "nvae"; seed: of the training; address: for `load_model`; run_id: None
    for a folder.
    """

    kind: str
    seed: str
    address: str
    run_id: str | None

    @property
    def name(self) -> str:
        return f"{self.kind} seed {self.seed}" if self.seed else self.kind


def candidates(runs: pd.DataFrame, order: Sequence[str]) -> list[Candidate]:
    """The models of these runs, by the order of models.

    Each model is a kind, and so is each other setting in which runs of that model
    differ.
    """
    cells = [json.loads(tags[CELL]) for tags in runs["tags"]]
    models = []
    for cell, run_id in zip(cells, runs["run_id"]):
        same_model = [other for other in cells if other["model"] == cell["model"]]
        words = [cell["model"]]
        for name, value in cell.items():
            varies = any(other.get(name) != value for other in same_model)
            if varies and name not in APART:
                words.append(f"{name}={value}")
        seed = str(cell.get("seed", ""))
        models.append(Candidate(" ".join(words), seed, run_id, run_id))

    def place(candidate: Candidate) -> tuple[int, str, str]:
        model = candidate.kind.split(" ")[0]
        number = list(order).index(model) if model in order else len(order)
        return number, candidate.kind, candidate.seed

    return sorted(models, key=place)


def candidate_at(address: str) -> Candidate:
    """The model of a run id, at an MLflow address (models:/..., runs:/..., NAME@ALIAS)
    or in a folder.
    """
    if Path(address).is_dir():
        return Candidate(address, "", address, None)
    address = address_of(address)
    return Candidate(address, "", address, source_run(address))


def source_run(address: str) -> str | None:
    """The run that logged the model at an MLflow address, or of a run id. LookupError
    where there is no such model.
    """
    client = connect(tracking_uri())
    scheme, _, path = address.partition(":/")
    name, _, version = path.strip("/").partition("/")
    try:
        if scheme == "runs":
            return name
        if scheme != "models":
            return logged_model(address).source_run_id
        if not version and "@" not in name:
            return client.get_logged_model(name).source_run_id
        if "@" in name:
            return client.get_model_version_by_alias(*name.split("@", 1)).run_id
        return client.get_model_version(name, version).run_id
    except MlflowException as error:
        raise LookupError(
            f"there is no model at {address!r}: {error.message}"
        ) from None


@dataclass(frozen=True, eq=False)
class Codes:
    """The codes of items by a model, by block.

    means   arrays [n, dim]
    scales  standard deviations [n, dim]; None of a model without a posterior
    """

    means: Mapping[str, np.ndarray]
    scales: Mapping[str, np.ndarray] | None

    def drawn(self, generator: np.random.Generator) -> dict[str, np.ndarray]:
        """One draw for every item; the values themselves where there is no posterior."""
        draws = dict(self.means)
        if self.scales is not None:
            for name, mean in self.means.items():
                noise = generator.standard_normal(mean.shape)
                draws[name] = mean + self.scales[name] * noise
        return draws


def codes_of(model: torch.nn.Module, x: np.ndarray) -> Codes:
    """The codes of items x [n, ...], uint8 read as shares of 255.

    Raises ValueError for a model without codes and for items that it does not take.
    """
    _require_images(x)
    kind = type(model).__name__
    if not callable(getattr(model, "blocks", None)):
        raise ValueError(
            f"a {kind} makes no latent blocks to evaluate (no method blocks)"
        )
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model.to(device).eval()
    batches = []
    with torch.no_grad():
        for begin in range(0, len(x), EXAMPLES_AT_ONCE):
            items = torch.as_tensor(x[begin : begin + EXAMPLES_AT_ONCE])
            shares = items / 255.0 if items.dtype == torch.uint8 else items.float()
            try:
                blocks = model.blocks(shares.to(device))
            except torch.OutOfMemoryError:
                raise
            except (RuntimeError, ValueError, IndexError, TypeError) as error:
                raise WrongShape(
                    f"x must be what this {kind} takes (images are [n, channels, "
                    "height, width]), got "
                    f"shape {list(x.shape)}: {sentence(error)}"
                ) from error
            batches.append(blocks)
    means = {}
    scales = {}
    for name in batches[0]:
        blocks = [batch[name] for batch in batches]
        means[name] = _joined([block.mean for block in blocks])
        if blocks[0].scale is not None:
            scales[name] = _joined([block.scale for block in blocks])
    return Codes(means, scales if len(scales) == len(means) else None)


def _require_images(x: np.ndarray) -> None:
    channels = 1, 3, 4
    if x.ndim == 4 and x.shape[-1] in channels and x.shape[1] not in channels:
        raise WrongShape(
            "x must be images [n, channels, height, width], got shape "
            f"{list(x.shape)}, whose channels are last: give "
            "x.transpose(0, 3, 1, 2)."
        )
    if x.ndim > 2 and x.dtype != np.uint8 and x.size and x.min() >= 0 and x.max() >= 2:
        raise OutOfRange(
            f"x must be images as bytes (uint8) or as shares of 1, got {x.dtype} from "
            f"{x.min():g} to {x.max():g}: give "
            "x.astype(np.uint8), or x / 255."
        )


def has_posterior(model: torch.nn.Module, x: np.ndarray) -> bool:
    """Whether a model's blocks are random. Raises as `codes_of`."""
    return codes_of(model, x[:1]).scales is not None


def _joined(parts: Sequence[torch.Tensor]) -> np.ndarray:
    return torch.cat([part.cpu() for part in parts]).double().numpy()


def arrays_of(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an .npz file by name. UnreadableFile: none, damaged; OutOfRange:
    too large (`files`).
    """
    try:
        return read_arrays(path)
    except OSError as error:
        raise UnreadableFile(
            f"{path} must be a file that can be read, but: {error.strerror}."
        ) from None


def evaluation_set(name: str, **arrays: np.ndarray | None) -> DataSet:
    """Items of an evaluation with their labels, as MLflow shows them; None is left out."""
    parts = {part: values for part, values in arrays.items() if values is not None}
    source = "kept by the run of the model, or a file of the person who evaluated it"
    return DataSet(name, source, lambda: parts, "evaluation")


def key_of(model: torch.nn.Module, *settings: Any) -> str:
    """A hash that is the same for the same weights, kind of model and settings."""
    text = json.dumps([type(model).__name__, *settings], sort_keys=True)
    digest = hashlib.sha256(text.encode())
    for _, weights in sorted(model.state_dict().items()):
        array = weights.detach().cpu().contiguous().numpy()
        digest.update(array)
    return digest.hexdigest()[:16]


def recorded(
    candidate: Candidate,
    folder: str,
    again: bool,
    read: Callable[[Mapping[str, np.ndarray]], T],
) -> T | None:
    """What an earlier evaluation kept with a run, as `read` makes it of arrays; None
    where there is nothing whole.
    """
    if candidate.run_id is None or again:
        return None
    try:
        return read(arrays(candidate.run_id, f"{folder}/{RECORD}"))
    except (LookupError, ValueError, TypeError):
        return None


def record(
    candidate: Candidate,
    folder: str,
    metrics: Mapping[str, float],
    words: tuple[str, str],
    values: Mapping[str, np.ndarray],
    items: DataSet,
    scores: Collection[str] = (),
) -> None:
    """Adds an evaluation to a model's run and model: metrics, `words` (a file's name
    and text), arrays for later.
    """
    name, text = words
    with tempfile.TemporaryDirectory() as place:
        report = Path(place) / name
        report.write_text(text, encoding="utf-8")
        arrays_file = Path(place) / f"{RECORD}.npz"
        np.savez_compressed(arrays_file, **values)
        log_results(
            candidate.run_id,
            metrics,
            (report, arrays_file),
            folder,
            items.input,
            scores,
        )


def loaded(candidate: Candidate):
    """The model of a candidate. Raises ValueError for one that cannot be rebuilt."""
    try:
        return load_model(candidate.address)
    except LookupError:
        raise
    except BROKEN as error:
        raise ValueError(f"its model cannot be loaded: {sentence(error)}") from error


def sentence(error: BaseException) -> str:
    """The message of an exception in one line."""
    message = error.args[0] if error.args else error
    text = str(message).strip() or repr(error)
    return " ".join(text.split())[:300]


def each(
    models: Sequence[Candidate], evaluate: Callable[[Candidate], Iterable[T]]
) -> tuple[list[T], list[str]]:
    """The results for every model, and a sentence for each that failed; names on
    stderr, with a bar on a terminal.
    """
    results: list[T] = []
    failures = []
    console = Console(stderr=True)
    bar = track(
        models, console=console, transient=True, disable=not console.is_terminal
    )
    for number, candidate in enumerate(bar, 1):
        console.print(
            f"evaluating {number} of {len(models)}: {candidate.name}",
            soft_wrap=True,
            highlight=False,
        )
        try:
            results += evaluate(candidate)
        except BROKEN as error:
            failures.append(
                f"{candidate.name} ({candidate.address}): {sentence(error)}"
            )
    return results, failures
