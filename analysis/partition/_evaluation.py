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

# of what is measured and kept; a new one makes every evaluation to be done again
VERSION = 3
PREFIX = "partition"  # of the metrics, and the folder of the artifacts
MEANS, DRAWS = "means", "draws"
# kept of one, as text
FIELDS = [
    field.name for field in fields(Estimate) if field.name not in ("local", "influence")
]


@dataclass(frozen=True, eq=False)
class Items:
    """What models are evaluated on: x [n, ...], uint8 or floats; y, d and groups [n],
    whole numbers or strings.
    """

    x: np.ndarray
    y: np.ndarray
    d: np.ndarray
    groups: np.ndarray | None
    name: str

    @cached_property
    def data_set(self) -> DataSet:
        """These items, as MLflow shows them."""
        return evaluation_set(
            self.name, x=self.x, y=self.y, d=self.d, groups=self.groups
        )

    @property
    def digest(self) -> str:
        """The same for the same items in the same order."""
        return self.data_set.entry["digest"]


def items_of(candidate: Candidate, file: str | None, split: str) -> Items:
    """The items of a file or of the model's run, of the part `split` or "all".
    LookupError: none; ValueError: invalid file.
    """
    if file is not None:
        return of_file(Path(file))
    if candidate.run_id is None:
        raise LookupError(
            "a model in a folder has no items of its own; give --data FILE.npz with "
            "x, y, d and groups"
        )
    stored = arrays(candidate.run_id, ITEMS)
    missing = {"x", "y", "d", "groups", "split", "split_names", "name"} - set(stored)
    if missing:
        raise ValueError(
            f"the items of run {candidate.run_id} lack {', '.join(sorted(missing))}"
        )
    names = stored["split_names"].tolist()
    if split == "all":
        is_in_split = np.ones(len(stored["y"]), bool)
    elif split in names:
        is_in_split = stored["split"] == names.index(split)
    else:
        raise InvalidInput(
            f"split is {split!r}; run {candidate.run_id} has all, {', '.join(names)}"
        )
    x, y, d, groups = (stored[name][is_in_split] for name in ("x", "y", "d", "groups"))
    return Items(x, y, d, groups, f"{stored['name']}, {split}")


def of_file(path: Path) -> Items:
    """Items of an .npz file: x [n, ...], y, d [n] and, where rows depend on one
    another, groups [n]. No pickle.
    """
    stored = arrays_of(path)
    missing = {"x", "y", "d"} - set(stored)
    lengths = {
        name: len(stored[name])
        for name in ("x", "y", "d", "groups")
        if name in stored and stored[name].ndim
    }
    if missing or len(set(lengths.values())) != 1:
        raise WrongLength(
            f"{path} must hold x, y, d and perhaps groups, of one length; it has "
            f"lengths {lengths}"
        )
    return Items(stored["x"], stored["y"], stored["d"], stored.get("groups"), path.name)


@dataclass(frozen=True)
class Effort:
    """Settings of `partition.evaluate`; codes: MEANS of the posteriors, or DRAWS, one
    for every item.
    """

    family: str = "logistic"
    folds: int = 5
    k: int = 5
    resamples: int = 100
    permutations: int = 199
    draws: int = 2000
    codes: str = MEANS


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A candidate, the results of its codes and posterior, the items' digest, the
    data's name and the seconds taken.
    """

    candidate: Candidate
    items: str
    data: str
    codes: str
    report: PartitionReport
    posterior: PartitionReport | None
    seconds: float

    @property
    def reports(self) -> tuple[PartitionReport, ...]:
        return (
            (self.report,) if self.posterior is None else (self.report, self.posterior)
        )

    @cached_property
    def routes(self) -> dict[str, dict[str, Estimate]]:
        """By route, every quantity (bits) and score by name."""
        routes: dict[str, dict[str, Estimate]] = {}
        for route, figures in self.in_nats.items():
            routes[route] = {}
            for name, figure in figures.items():
                routes[route][name] = figure.bits if figure.unit == NATS else figure
        return routes

    @cached_property
    def in_nats(self) -> dict[str, dict[str, Estimate]]:
        """By route, every quantity (nats) and score by name."""
        routes: dict[str, dict[str, Estimate]] = {}
        for report in self.reports:
            for route in report.routes:
                routes[route] = report.figures[route] | report.shares[route]
        if AS_NUMBERS in routes:
            routes[AS_NUMBERS] |= sums_of_numbers(routes[AS_NUMBERS])
        return routes

    @property
    def by_classifier(self) -> dict[str, Estimate]:
        """Every quantity (bits) and score by classifiers, by name."""
        return self.routes[CLASSIFIER]

    @property
    def words(self) -> str:
        """The reports in sentences."""
        return "\n\n".join(str(report) for report in self.reports)


def sums_of_numbers(figures: Mapping[str, Estimate]) -> dict[str, Estimate]:
    """Sums of terms with labels as numbers, the parts of the score seed: I(z_x;Y,D) by
    the chain rule, and co-information as the mean of both formulas, which differ; for
    the blocks that are there.
    """
    formulas = {
        "I(z_x;Y,D)": {"I(z_x;Y)": 1.0, "I(z_x;D|Y)": 1.0},
        "co-information(z_dy;Y;D)": {
            "I(z_dy;Y)": 0.5, "I(z_dy;Y|D)": -0.5, "I(z_dy;D)": 0.5, "I(z_dy;D|Y)": -0.5,
        },
    }  # fmt: skip
    sums = {}
    for name, terms in formulas.items():
        if all(term in figures for term in terms):
            first = next(iter(terms))
            value = sum(sign * figures[term].value for term, sign in terms.items())
            sums[name] = replace(figures[first], value=value)
    return sums


def evaluated(
    candidate: Candidate,
    model: torch.nn.Module,
    items: Items,
    effort: Effort,
    again: bool,
) -> Evaluation:
    """The evaluation of a model, from its run where the key agrees unless `again`."""
    key = key_of(model, VERSION, asdict(effort), model.config, items.digest)
    folder = f"{PREFIX}/{key}"
    evaluation = recorded(
        candidate,
        folder,
        again,
        lambda arrays: unpacked(arrays, candidate, items, effort.codes),
    )
    if evaluation is not None:
        metrics = metrics_of(evaluation)
        log_results(
            candidate.run_id,
            metrics,
            (),
            PREFIX,
            items.data_set.input,
            scores_of(evaluation),
        )
        return evaluation
    began = time.perf_counter()
    codes = codes_of(model, items.x)
    # small products: threads would only wait for one another
    with threadpool_limits(1):
        report, posterior = measured(codes, items, effort)
    report = replace(report, items=rows_of(items))
    seconds = time.perf_counter() - began
    evaluation = Evaluation(
        candidate,
        items.digest,
        items.name,
        effort.codes,
        report,
        posterior,
        seconds,
    )
    if candidate.run_id is not None:
        words = ("report.txt", evaluation.words)
        metrics = metrics_of(evaluation)
        record(
            candidate,
            folder,
            metrics,
            words,
            packed(evaluation),
            items.data_set,
            scores_of(evaluation),
        )
    return evaluation


def rows_of(items: Items) -> Rows:
    """The labels and groups of items as codes in the order of their values."""
    groups = np.arange(len(items.y)) if items.groups is None else items.groups
    codes = [
        np.unique(labels, return_inverse=True)[1]
        for labels in (items.y, items.d, groups)
    ]
    return Rows(*codes)


def measured(
    codes: Codes, items: Items, effort: Effort
) -> tuple[PartitionReport, PartitionReport | None]:
    """The quality of codes, and of the posteriors that they come from; every draw has a
    fixed seed.
    """
    values = codes.means
    if effort.codes == DRAWS:
        values = codes.drawn(np.random.default_rng(1))
    report = partition.evaluate(
        values,
        items.y,
        items.d,
        items.groups,
        family=effort.family,
        folds=effort.folds,
        k=effort.k,
        resamples=effort.resamples,
        permutations=effort.permutations,
        generator=np.random.default_rng(0),
    )
    if codes.scales is None or effort.codes == DRAWS:
        return report, None
    posterior = partition.evaluate_posterior(
        codes.means,
        codes.scales,
        items.y,
        items.d,
        items.groups,
        draws=effort.draws,
        generator=np.random.default_rng(2),
    )
    return report, posterior


def metrics_of(evaluation: Evaluation) -> dict[str, float]:
    """Metrics partition/[draws/]ROUTE/QUANTITY of an evaluation (nats, or shares of 1)
    with standard errors.
    """
    prefix = _prefix(evaluation)
    metrics = {}
    for route, figures in evaluation.in_nats.items():
        for name, figure in figures.items():
            is_end = "_low(" in name or "_high(" in name
            if is_end or not np.isfinite(figure.value):
                continue
            metric = f"{prefix}/{route}/{metric_name(name)}"
            metrics[metric] = figure.value
            if np.isfinite(figure.standard_error):
                metrics[f"{metric}_error"] = figure.standard_error
    return metrics


def _prefix(evaluation: Evaluation) -> str:
    """What the names of an evaluation's metrics begin with."""
    return PREFIX if evaluation.codes == MEANS else f"{PREFIX}/{evaluation.codes}"


def scores_of(evaluation: Evaluation) -> set[str]:
    """The metrics that are scores by classifiers, with their errors."""
    prefix = _prefix(evaluation)
    metrics = {
        f"{prefix}/{CLASSIFIER}/{metric_name(name)}"
        for name in evaluation.report.shares[CLASSIFIER]
    }
    return metrics | {f"{metric}_error" for metric in metrics}


def metric_name(quantity: str) -> str:
    """The name of a quantity in letters that MLflow takes: I(z_y;Y|D) is
    I.z_y.Y_given_D.
    """
    spoken = (
        quantity.replace("|", "_given_")
        .replace(";", ".")
        .replace(",", "+")
        .replace("(", ".")
        .rstrip(")")
    )
    return re.sub(r"[^\w.\-]", "_", spoken.replace("+", "_and_"))


def fields_of(figure: Estimate) -> dict[str, Any]:
    """The fields of an estimate that are kept, notes with their codes and arguments."""
    fields = {name: getattr(figure, name) for name in FIELDS}
    fields["notes"] = [
        [note, note.code, note.argument] if isinstance(note, Note) else note
        for note in figure.notes
    ]
    return fields


def estimate_of(fields: Mapping[str, Any], influence: np.ndarray | None) -> Estimate:
    """The opposite of `fields_of`."""
    notes = tuple(
        Note(*note) if isinstance(note, list) else note for note in fields["notes"]
    )
    interval = fields["interval"] and tuple(fields["interval"])
    return Estimate(
        **{**fields, "notes": notes, "interval": interval}, influence=influence
    )


def packed(evaluation: Evaluation) -> dict[str, np.ndarray]:
    """An evaluation as arrays: text, and the influences of the classifier's figures,
    for differences of models.
    """
    report = evaluation.report
    figures = report.figures[CLASSIFIER] | report.shares[CLASSIFIER]
    influence = {
        name: figure.influence
        for name, figure in figures.items()
        if figure.influence is not None
    }
    text = {
        "reports": [fields_of_report(report) for report in evaluation.reports],
        "influence": list(influence),
        "data": evaluation.data,
        "seconds": evaluation.seconds,
    }
    return {
        "text": np.array(json.dumps(text)),
        "influence": np.array(list(influence.values()), np.float64),
    }


def fields_of_report(report: PartitionReport) -> dict[str, Any]:
    """The fields of a report that are kept, without its items."""
    fields = dict(vars(report))
    for kind in ("figures", "shares"):
        fields[kind] = {}
        for route, figures in getattr(report, kind).items():
            fields[kind][route] = {
                name: fields_of(figure) for name, figure in figures.items()
            }
    fields["tests"] = {name: astuple(test) for name, test in report.tests.items()}
    fields["items"] = None
    return fields


def report_of(
    fields: Mapping[str, Any], influence: Mapping[str, np.ndarray]
) -> PartitionReport:
    """The opposite of `fields_of_report`; influence: of the classifier's figures."""
    fields = dict(fields)
    for kind in ("figures", "shares"):
        routes = {}
        for route, figures in fields[kind].items():
            influences = influence if route == CLASSIFIER else {}
            routes[route] = {
                name: estimate_of(figure, influences.get(name))
                for name, figure in figures.items()
            }
        fields[kind] = routes
    fields["tests"] = {name: NullTest(*test) for name, test in fields["tests"].items()}
    return PartitionReport(**fields)


def unpacked(
    arrays: Mapping[str, np.ndarray],
    candidate: Candidate,
    items: Items,
    codes: str,
) -> Evaluation:
    """The opposite of `packed`. Raises KeyError, TypeError or ValueError for anything
    else.
    """
    text = json.loads(str(arrays["text"]))
    influence = dict(zip(text["influence"], arrays["influence"]))
    first, *others = text["reports"]
    report = replace(report_of(first, influence), items=rows_of(items))
    posterior = report_of(others[0], {}) if others else None
    return Evaluation(
        candidate,
        items.digest,
        text["data"],
        codes,
        report,
        posterior,
        text["seconds"],
    )
