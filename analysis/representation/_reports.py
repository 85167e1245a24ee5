"""The report of one logged model's representation, kept with its run so that it is not measured twice."""

import itertools
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from threadpoolctl import threadpool_limits

from analysis.common.models import Candidate, arrays_of, codes_of, evaluation_set, in_letters, key_of, record, recorded
from infoscope.errors import WrongType
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics.representation import RepresentationReport, report
from infoscope.tracking import arrays
from infoscope.tracking.datasets import DataSet
from sweeps.representation.settings import ITEMS, TARGET

VERSION = 7  # of what is measured and kept; a new one makes every report to be made again
PREFIX = "representation"  # of the metrics, and the folder of the artifacts
SHOWN = ("linear", "richer", "reading")


@dataclass(frozen=True)
class Effort:
    """How a representation is measured: see `representation.report`."""

    rows: int = 2000
    folds: int = 3
    resamples: int = 30
    permutations: int = 49


@dataclass(frozen=True, eq=False)
class Items:
    """Items for models: x [n, ...], targets by name, and the domain and group of every item if known."""

    x: np.ndarray
    targets: Mapping[str, np.ndarray]
    domain: np.ndarray | None
    groups: np.ndarray | None
    name: str

    @cached_property
    def data_set(self) -> DataSet:
        """These items, as MLflow shows them."""
        targets = {f"{TARGET}{name}": values for name, values in self.targets.items()}
        return evaluation_set(self.name, x=self.x, domain=self.domain, groups=self.groups, **targets)


@dataclass(frozen=True, eq=False)
class Held:
    """A model and the tables of its report (nats, and scores in their own units)."""

    candidate: Candidate
    experiment: str
    data: str
    n: int
    table: pd.DataFrame
    scores: pd.DataFrame
    partition: Mapping[str, tuple[float, float]]
    notes: tuple[str, ...]


def items_of(candidate: Candidate, file: str | None) -> Items:
    """The items of an .npz file or of the model's run. LookupError: none; ValueError: invalid file."""
    if file is not None:
        return _of_arrays(arrays_of(Path(file)), Path(file).name)
    if candidate.run_id is None:
        raise LookupError("a model without a run has no items of its own; give DATA=FILE.npz with x and target:NAME")
    stored = arrays(candidate.run_id, ITEMS)
    return _of_arrays(stored, str(stored.get("name", "items of its run")))


def _of_arrays(stored: Mapping[str, np.ndarray], name: str) -> Items:
    targets = {key.removeprefix(TARGET): values for key, values in stored.items() if key.startswith(TARGET)}
    if "y" in stored and "d" in stored:
        names = stored.get("class_names"), stored.get("domain_names")
        y, d = (values if known is None else known[values] for known, values in zip(names, (stored["y"], stored["d"])))
        targets, domain = targets | {"class": y}, d
    else:
        domain = stored.get("domain")
    if "x" not in stored or not targets:
        raise WrongType(f"items must hold x and target:NAME, or x, y and d; {name} holds {', '.join(stored)}.")
    return Items(stored["x"], targets, domain, stored.get("groups"), name)


def held(
    candidate: Candidate, experiment: str, model: torch.nn.Module, items: Items, effort: Effort, again: bool
) -> Held:
    """The report of a model, from its run for the same weights, items and settings unless `again`."""
    key = key_of(model, VERSION, asdict(effort), items.data_set.entry["digest"])
    folder = f"{PREFIX}/{key}"
    done = recorded(
        candidate, folder, again, lambda kept: _unpacked(json.loads(str(kept["text"])), candidate, experiment, items)
    )
    if done is not None:
        return done
    codes = codes_of(model, items.x)
    with threadpool_limits(1):  # small products: threads would only wait for one another
        found = report(
            codes.means, items.targets, items.domain, items.groups, **asdict(effort),
            generator=np.random.default_rng(0),
        )  # fmt: skip
    packed = _packed(found)
    if candidate.run_id is not None:
        text = np.array(json.dumps(packed))
        record(candidate, folder, _metrics(found), ("report.txt", str(found)), {"text": text}, items.data_set)
    return _unpacked(packed, candidate, experiment, items)


def _packed(found: RepresentationReport) -> dict[str, Any]:
    partition = {} if found.partition is None else _scores_of(found.partition)
    nats = pd.DataFrame([row.figures() for row in found.rows])
    tables = {"table": nats, "scores": found.scores}
    plain = {name: json.loads(table.to_json(orient="records")) for name, table in tables.items()}
    return plain | {"n": found.n, "partition": partition, "notes": list(found.notes)}


def _scores_of(partition: Any) -> dict[str, tuple[float, float]]:
    shares = partition.shares[partition.routes[0]]
    kept = [name for name in shares if not name.endswith((")", "_raw", "_bits"))]
    return {name: (shares[name].value, shares[name].standard_error) for name in kept}


def _unpacked(kept: Mapping[str, Any], candidate: Candidate, experiment: str, items: Items) -> Held:
    tables = [pd.DataFrame(kept[name]) for name in ("table", "scores")]
    partition = {name: tuple(np.nan if one is None else one for one in of) for name, of in kept["partition"].items()}
    return Held(candidate, experiment, items.name, kept["n"], *tables, partition, tuple(kept["notes"]))


def _metrics(found: RepresentationReport) -> dict[str, float]:
    """Metrics representation/TARGET/BLOCK/MEASURE_bits with their errors."""
    metrics = {}
    for row, name in itertools.product(found.rows, SHOWN):
        stem = f"{PREFIX}/{in_letters(row.target)}/{in_letters(row.block)}/{name}_bits"
        one = getattr(row, name)
        pair = {stem: one.value / NATS_PER_BIT, f"{stem}_error": one.standard_error / NATS_PER_BIT}
        metrics |= {key: value for key, value in pair.items() if np.isfinite(one.value) and np.isfinite(value)}
    return metrics
