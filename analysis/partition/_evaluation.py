"""The evaluation of one logged model, kept with its run so that it is not done twice."""

import json
import re
import time
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from analysis.common.models import (
    Candidate,
    Codes,
    arrays_of,
    codes_of,
    evaluation_set,
    key_of,
    record,
    recorded,
)
from infoscope.errors import InvalidInput, WrongLength
from infoscope.estimators.result import NATS, Estimate
from infoscope.metrics import partition
from infoscope.metrics.partition.labels_as_numbers import AS_NUMBERS
from infoscope.metrics.partition.report import Items as Rows
from infoscope.metrics.partition.report import NullTest, PartitionReport
from infoscope.metrics.partition.terms import CLASSIFIER
from infoscope.notes import Note
from infoscope.tracking import arrays, log_results
from infoscope.tracking.datasets import DataSet
from sweeps.partition.settings import ITEMS

VERSION = 3  # of what is measured and kept; a new one makes every evaluation to be done again
PREFIX = "partition"  # of the metrics, and the folder of the artifacts
MEANS, DRAWS = "means", "draws"
FIELDS = [field.name for field in fields(Estimate) if field.name not in ("local", "influence")]  # kept of one, as text


@dataclass(frozen=True, eq=False)
class Items:
    """What models are evaluated on: x [n, ...], uint8 or floats; y, d and groups [n], whole numbers or strings."""

    x: np.ndarray
    y: np.ndarray
    d: np.ndarray
    groups: np.ndarray | None
    name: str

    @cached_property
    def data_set(self) -> DataSet:
        """These items, as MLflow shows them."""
        return evaluation_set(self.name, x=self.x, y=self.y, d=self.d, groups=self.groups)

    @property
    def digest(self) -> str:
        """The same for the same items in the same order."""
        return self.data_set.entry["digest"]


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


@dataclass(frozen=True)
class Effort:
    """Settings of `partition.evaluate`; codes: MEANS of the posteriors, or DRAWS, one for every item."""

    family: str = "logistic"
    folds: int = 5
    k: int = 5
    resamples: int = 100
    permutations: int = 199
    draws: int = 2000
    codes: str = MEANS


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A candidate, the results of its codes and posterior, the items' digest, the data's name and the seconds taken."""

    candidate: Candidate
    key: str
    items: str
    data: str
    codes: str
    report: PartitionReport
    posterior: PartitionReport | None
    seconds: float

    @property
    def reports(self) -> tuple[PartitionReport, ...]:
        return (self.report,) if self.posterior is None else (self.report, self.posterior)

    def routes(self) -> dict[str, dict[str, Estimate]]:
        """By route, every quantity (bits) and score by name."""
        return self._in_bits

    @cached_property
    def _in_bits(self) -> dict[str, dict[str, Estimate]]:
        found: dict[str, dict[str, Estimate]] = {}
        for route, figures in self.in_nats.items():
            found[route] = {name: each.bits if each.unit == NATS else each for name, each in figures.items()}
        return found

    @cached_property
    def in_nats(self) -> dict[str, dict[str, Estimate]]:
        """By route, every quantity (nats) and score by name."""
        found = {
            route: {**report.figures[route], **report.shares[route]}
            for report in self.reports
            for route in report.routes
        }
        if AS_NUMBERS in found:
            found[AS_NUMBERS] |= sums_of_numbers(found[AS_NUMBERS])
        return found

    @property
    def words(self) -> str:
        """What was found, in sentences."""
        return "\n\n".join(map(str, self.reports))


def sums_of_numbers(figures: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Sums of terms with labels as numbers, of which the score seed is made: I(z_x;Y,D) by the chain rule, and
    co-information as the mean of both formulas, which differ; for the blocks that are there.
    """
    made = {
        "I(z_x;Y,D)": {"I(z_x;Y)": 1.0, "I(z_x;D|Y)": 1.0},
        "co-information(z_dy;Y;D)": {
            "I(z_dy;Y)": 0.5, "I(z_dy;Y|D)": -0.5, "I(z_dy;D)": 0.5, "I(z_dy;D|Y)": -0.5,
        },
    }  # fmt: skip
    return {
        name: replace(figures[next(iter(terms))], value=sum(sign * figures[term].value for term, sign in terms.items()))
        for name, terms in made.items()
        if set(terms) <= set(figures)
    }


def evaluated(candidate: Candidate, model: torch.nn.Module, items: Items, effort: Effort, again: bool) -> Evaluation:
    """The evaluation of a model, from its run where the key agrees unless `again`."""
    key = key_of(model, VERSION, asdict(effort), model.config, items.digest)
    folder = f"{PREFIX}/{key}"
    done = recorded(candidate, folder, again, lambda kept: unpacked(kept, candidate, key, items, effort.codes))
    if done is not None:
        log_results(candidate.run_id, metrics_of(done), (), PREFIX, items.data_set.input, scores_of(done))
        return done
    began = time.perf_counter()
    codes = codes_of(model, items.x)
    with threadpool_limits(1):  # small products: threads would only wait for one another
        found = measured(codes, items, effort)
    report = replace(found[0], items=rows_of(items))
    seconds = time.perf_counter() - began
    done = Evaluation(candidate, key, items.digest, items.name, effort.codes, report, found[1], seconds)
    if candidate.run_id is not None:
        words = "report.txt", done.words
        record(candidate, folder, metrics_of(done), words, packed(done), items.data_set, scores_of(done))
    return done


def rows_of(items: Items) -> Rows:
    """The labels and groups of items as codes in the order of their values."""
    groups = np.arange(len(items.y)) if items.groups is None else items.groups
    return Rows(*(np.unique(labels, return_inverse=True)[1] for labels in (items.y, items.d, groups)))


def measured(codes: Codes, items: Items, effort: Effort) -> tuple[PartitionReport, PartitionReport | None]:
    """The quality of codes, and of the posteriors that they come from; every draw has a fixed seed."""
    dense = codes.scales is not None and effort.codes == MEANS
    values = codes.means if effort.codes == MEANS else codes.drawn(np.random.default_rng(1))
    report = partition.evaluate(
        values, items.y, items.d, items.groups, family=effort.family, folds=effort.folds, k=effort.k,
        resamples=effort.resamples, permutations=effort.permutations, generator=np.random.default_rng(0),
    )  # fmt: skip
    if not dense:
        return report, None
    posterior = partition.evaluate_posterior(
        codes.means, codes.scales, items.y, items.d, items.groups, draws=effort.draws,
        generator=np.random.default_rng(2),
    )  # fmt: skip
    return report, posterior


def metrics_of(found: Evaluation) -> dict[str, float]:
    """Metrics partition/[draws/]ROUTE/QUANTITY of an evaluation (nats, or shares of 1) with standard errors."""
    metrics = {}
    for route, figures in found.in_nats.items():
        for name, figure in figures.items():
            if np.isfinite(figure.value) and "_low(" not in name and "_high(" not in name:
                stem = f"{_stem(found)}/{route}/{metric_name(name)}"
                metrics[stem] = figure.value
                if np.isfinite(figure.standard_error):
                    metrics[f"{stem}_error"] = figure.standard_error
    return metrics


def _stem(found: Evaluation) -> str:
    return PREFIX if found.codes == MEANS else f"{PREFIX}/{found.codes}"


def scores_of(found: Evaluation) -> set[str]:
    """The metrics that are scores by classifiers, with their errors."""
    stems = {f"{_stem(found)}/{CLASSIFIER}/{metric_name(name)}" for name in found.report.shares[CLASSIFIER]}
    return stems | {f"{stem}_error" for stem in stems}


def metric_name(quantity: str) -> str:
    """The name of a quantity in letters that MLflow takes: I(z_y;Y|D) is I.z_y.Y_given_D."""
    spoken = quantity.replace("|", "_given_").replace(";", ".").replace(",", "+").replace("(", ".").rstrip(")")
    return re.sub(r"[^\w.\-]", "_", spoken.replace("+", "_and_"))


def fields_of(figure: Estimate) -> dict[str, Any]:
    """The fields of an estimate that are kept, notes with their codes and arguments."""
    kept = {name: getattr(figure, name) for name in FIELDS}
    notes = [[note, note.code, note.argument] if isinstance(note, Note) else note for note in figure.notes]
    return kept | {"notes": notes}


def packed(found: Evaluation) -> dict[str, np.ndarray]:
    """An evaluation as arrays: text, and the influences of the classifier's figures, for differences of models."""

    def plain(report: PartitionReport) -> dict[str, Any]:
        figures = {
            kind: {
                route: {name: fields_of(figure) for name, figure in of.items()}
                for route, of in getattr(report, kind).items()
            }
            for kind in ("figures", "shares")
        }
        tests = {name: astuple(test) for name, test in report.tests.items()}
        return vars(report) | figures | {"tests": tests, "items": None}

    figures = {**found.report.figures[CLASSIFIER], **found.report.shares[CLASSIFIER]}
    influence = {name: each.influence for name, each in figures.items() if each.influence is not None}
    text = {"reports": [plain(report) for report in found.reports], "influence": list(influence)}
    text |= {"data": found.data, "seconds": found.seconds}
    return {"text": np.array(json.dumps(text)), "influence": np.array(list(influence.values()), np.float64)}


def unpacked(kept: Mapping[str, np.ndarray], candidate: Candidate, key: str, items: Items, codes: str) -> Evaluation:
    """The opposite of `packed`. Raises KeyError, TypeError or ValueError for anything else."""
    text = json.loads(str(kept["text"]))
    influence = dict(zip(text["influence"], kept["influence"]))

    def figures(routes: Mapping[str, Any], of_codes: bool) -> dict[str, dict[str, Estimate]]:
        return {
            route: {
                name: Estimate(
                    **told
                    | {
                        "notes": tuple(Note(*note) if isinstance(note, list) else note for note in told["notes"]),
                        "interval": told["interval"] and tuple(told["interval"]),
                    },
                    influence=influence.get(name) if of_codes and route == CLASSIFIER else None,
                )
                for name, told in of.items()
            }
            for route, of in routes.items()
        }

    reports = []
    for number, plain in enumerate(text["reports"]):
        own = {kind: figures(plain[kind], number == 0) for kind in ("figures", "shares")}
        tests = {name: NullTest(*test) for name, test in plain["tests"].items()}
        reports.append(PartitionReport(**plain | own | {"tests": tests}))
    first, posterior = replace(reports[0], items=rows_of(items)), reports[1] if len(reports) > 1 else None
    return Evaluation(candidate, key, items.digest, text["data"], codes, first, posterior, text["seconds"])
