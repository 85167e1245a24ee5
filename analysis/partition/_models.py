"""Which logged models are evaluated as partitions, and the items to evaluate them on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.common.models import Candidate, arrays_of, digest, evaluation_set
from infoscope.errors import InvalidInput, WrongLength
from infoscope.tracking import arrays
from infoscope.tracking.datasets import DataSet
from infoscope.tracking.store.store import Store
from sweeps.representation.settings import ITEMS


@dataclass(frozen=True, eq=False)
class Items:
    """What models are evaluated on: x [n, ...], uint8 or floats; y, d and groups [n], whole numbers or strings."""

    x: np.ndarray
    y: np.ndarray
    d: np.ndarray
    groups: np.ndarray | None
    name: str

    def data_set(self) -> DataSet:
        """These items, as MLflow shows them."""
        return evaluation_set(self.name, x=self.x, y=self.y, d=self.d, groups=self.groups)

    def digest(self) -> str:
        """The same for the same items in the same order, whatever their pixels' names."""
        known = [part for part in (self.x, self.y, self.d, self.groups) if part is not None]
        return digest(*(part for array in known for part in (str(array.dtype).encode(), np.ascontiguousarray(array))))


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
    """The items of a file or of the model's run, of the part `split` or "all". LookupError: none; ValueError: invalid
    file.
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
        raise InvalidInput(f"split is {split!r}; run {candidate.run_id} has all, {', '.join(names)}")
    keep = np.ones(len(stored["y"]), bool) if split == "all" else stored["split"] == names.index(split)
    return Items(*(stored[name][keep] for name in ("x", "y", "d", "groups")), f"{stored['name']}, {split}")


def of_file(path: Path) -> Items:
    """Items of an .npz file: x [n, ...], y, d [n] and, where rows depend on one another, groups [n]. No pickle."""
    stored = arrays_of(path)
    missing = {"x", "y", "d"} - set(stored)
    lengths = {name: len(stored[name]) for name in ("x", "y", "d", "groups") if name in stored and stored[name].ndim}
    if missing or len(set(lengths.values())) != 1:
        raise WrongLength(f"{path} must hold x, y, d and perhaps groups, of one length; it has lengths {lengths}")
    return Items(stored["x"], stored["y"], stored["d"], stored.get("groups"), path.name)
