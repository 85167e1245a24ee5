"""Logged models whose latent blocks are to be evaluated: where they are, the items to evaluate them on, their codes."""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from mlflow.exceptions import MlflowException

from infoscope.tracking import arrays
from infoscope.tracking.store.client import connect
from infoscope.tracking.store.store import CELL, Store, tracking_uri
from sweeps.partition.settings import ITEMS, MODELS

EXAMPLES_AT_ONCE = 512
APART = ("seed", "model")  # fields of a cell that do not make another kind of model, and the one that is its name


@dataclass(frozen=True)
class Candidate:
    """A trained model to be evaluated.

    kind: what its trainings have in common, such as "nvae"; seed: which training of that kind; name: of this one.
    address: what `load_model` takes. run_id: of the run that logged it; None for a folder.
    """

    kind: str
    seed: str
    address: str
    run_id: str | None

    @property
    def name(self) -> str:
        return f"{self.kind} seed {self.seed}" if self.seed else self.kind


@dataclass(frozen=True, eq=False)
class Items:
    """What models are evaluated on: x [n, ...], uint8 or floats; y, d and groups [n], whole numbers or strings."""

    x: np.ndarray
    y: np.ndarray
    d: np.ndarray
    groups: np.ndarray | None
    name: str

    def digest(self) -> str:
        """The same for the same items in the same order, whatever their pixels' names."""
        known = [part for part in (self.x, self.y, self.d, self.groups) if part is not None]
        return digest(*(part for array in known for part in (str(array.dtype).encode(), np.ascontiguousarray(array))))


def digest(*parts: Any) -> str:
    """A hash of bytes and arrays."""
    total = hashlib.sha256()
    for part in parts:
        total.update(part)
    return total.hexdigest()[:16]


def candidates(runs: pd.DataFrame) -> list[Candidate]:
    """The models of these runs, a kind for each model and each other setting in which runs of that model differ."""
    cells = [json.loads(tags[CELL]) for tags in runs["tags"]]
    models = [str(cell.get("model", "model")) for cell in cells]
    kinds = []
    for cell, model in zip(cells, models):
        alike = [other for other, name in zip(cells, models) if name == model]
        varied = [name for name in cell if name not in APART and any(other.get(name) != cell[name] for other in alike)]
        kinds.append(" ".join([model, *(f"{name}={cell[name]}" for name in varied)]))
    seeds = [str(cell.get("seed", "")) for cell in cells]
    found = [Candidate(kind, seed, run_id, run_id) for kind, seed, run_id in zip(kinds, seeds, runs["run_id"])]
    place = {model: number for number, model in enumerate(MODELS)}
    return sorted(found, key=lambda one: (place.get(one.kind.split(" ")[0], len(MODELS)), one.kind, one.seed))


def candidate_at(address: str) -> Candidate:
    """The model at an MLflow address (models:/..., runs:/...) or in a folder."""
    return Candidate(address, "", address, None if Path(address).is_dir() else source_run(address))


def source_run(address: str) -> str | None:
    """The run that logged the model at an MLflow address. Raises LookupError where there is no such model."""
    client = connect(tracking_uri())
    scheme, _, rest = address.partition(":/")
    name, _, version = rest.strip("/").partition("/")
    try:
        if scheme == "runs":
            return name
        if scheme != "models":
            raise LookupError(f"{address!r} is neither a folder nor an MLflow address (models:/..., runs:/...)")
        if not version and "@" not in name:
            return client.get_logged_model(name).source_run_id
        if "@" in name:
            return client.get_model_version_by_alias(*name.split("@", 1)).run_id
        return client.get_model_version(name, version).run_id
    except MlflowException as error:
        raise LookupError(f"there is no model at {address!r}: {error.message}") from None


def newest(runs: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The runs of the sweep's version that was started last, and a note on the others: a version changes what a model
    is, so that two of the same settings are not trainings of one kind.
    """
    keep = runs["version"] == runs.loc[runs["start"].idxmax(), "version"]
    note = f"Note: {int((~keep).sum())} runs of an earlier version of the sweep are left out; --run takes them by id."
    return runs[keep], [] if keep.all() else [note]


def chosen(runs: pd.DataFrame, experiment: str, arguments: Any) -> pd.DataFrame:
    """The runs that the options ask for: by model, by run id, by an MLflow filter. Raises LookupError for none."""
    asked = {name: words.split(",") for name in ("models", "run") if (words := getattr(arguments, name))}
    for column, option in (("model", "models"), ("run_id", "run")):
        if option in asked:
            missing = set(asked[option]) - set(runs.get(column, ()))
            if missing:
                known = ", ".join(sorted(set(map(str, runs.get(column, ())))))
                raise LookupError(f"no finished run with {column} {', '.join(sorted(missing))}; there are {known}")
            runs = runs[runs[column].isin(asked[option])]
    if arguments.filter:
        found = {run.info.run_id for run in Store.open(experiment).cells(arguments.filter)}
        runs = runs[runs["run_id"].isin(found)]
        if runs.empty:
            raise LookupError(f"no run of these models matches the filter {arguments.filter!r}")
    return runs


def items_of(candidate: Candidate, file: str | None, split: str) -> Items:
    """The items of a file, or those that the model's run logged, of the part `split` ("all": of every part).

    Raises LookupError where there are none, ValueError for a file that does not hold them.
    """
    if file is not None:
        return of_file(Path(file))
    if candidate.run_id is None:
        raise LookupError("a model in a folder has no items of its own; give --data FILE.npz with x, y, d and groups")
    stored = arrays(candidate.run_id, ITEMS)
    missing = {"x", "y", "d", "groups", "split", "split_names", "name"} - set(stored)
    if missing:
        raise ValueError(f"the items of run {candidate.run_id} lack {', '.join(sorted(missing))}")
    names = stored["split_names"].tolist()
    if split != "all" and split not in names:
        raise ValueError(f"split is {split!r}; run {candidate.run_id} has all, {', '.join(names)}")
    keep = np.ones(len(stored["y"]), bool) if split == "all" else stored["split"] == names.index(split)
    return Items(*(stored[name][keep] for name in ("x", "y", "d", "groups")), f"{stored['name']}, {split}")


def of_file(path: Path) -> Items:
    """Items of an .npz file: x [n, ...], y, d [n] and, where rows depend on one another, groups [n]. No pickle."""
    try:
        with np.load(path, allow_pickle=False) as file:
            stored = dict(file)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error, MemoryError) as error:
        raise ValueError(f"{path} cannot be read as arrays: {error}") from None
    missing = {"x", "y", "d"} - set(stored)
    lengths = {name: len(stored[name]) for name in ("x", "y", "d", "groups") if name in stored and stored[name].ndim}
    if missing or len(set(lengths.values())) != 1:
        raise ValueError(f"{path} must hold x, y, d and perhaps groups, of one length; it has lengths {lengths}")
    return Items(stored["x"], stored["y"], stored["d"], stored.get("groups"), path.name)


@dataclass(frozen=True, eq=False)
class Codes:
    """What a model makes of items: block name -> means [n, dim], and standard deviations where it has a posterior."""

    means: Mapping[str, np.ndarray]
    scales: Mapping[str, np.ndarray] | None

    def drawn(self, generator: np.random.Generator) -> dict[str, np.ndarray]:
        """One draw for every item; the values themselves where there is no posterior."""
        if self.scales is None:
            return dict(self.means)
        return {name: mean + self.scales[name] * generator.standard_normal(mean.shape)
                for name, mean in self.means.items()}  # fmt: skip


def codes_of(model: torch.nn.Module, x: np.ndarray, progress: Callable[[float], None]) -> Codes:
    """The latent blocks of items x [n, ...], uint8 read as shares of 255. progress is told the share that is done.

    Raises ValueError for a model without blocks, and what the model raises for items of another shape.
    """
    if not callable(getattr(model, "blocks", None)):
        raise ValueError(f"a {type(model).__name__} has no latent blocks to evaluate (no method blocks)")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = model.to(device).eval()
    parts: list[Mapping[str, Any]] = []
    with torch.no_grad():
        for begin in range(0, len(x), EXAMPLES_AT_ONCE):
            some = torch.as_tensor(x[begin : begin + EXAMPLES_AT_ONCE])
            some = some / 255.0 if some.dtype == torch.uint8 else some.float()
            parts.append(model.blocks(some.to(device)))
            progress(min(1.0, (begin + EXAMPLES_AT_ONCE) / len(x)))
    names = list(parts[0])
    means = {name: _joined([part[name].mean for part in parts]) for name in names}
    if any(parts[0][name].scale is None for name in names):
        return Codes(means, None)
    return Codes(means, {name: _joined([part[name].scale for part in parts]) for name in names})


def has_posterior(model: torch.nn.Module, x: np.ndarray) -> bool:
    """Whether a model's blocks are random. Raises as `codes_of`."""
    return codes_of(model, x[:1], lambda share: None).scales is not None


def _joined(parts: Sequence[torch.Tensor]) -> np.ndarray:
    return torch.cat([part.cpu() for part in parts]).double().numpy()
