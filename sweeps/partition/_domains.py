"""Models of data with domains: the data of a cell and its parts, its model, its
training and its accuracies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import torch

from infoscope import data
from infoscope.checks import one_of
from infoscope.data import DomainDataset
from infoscope.errors import InvalidInput
from infoscope.metrics.shares import least_interval
from infoscope.models.domain import (
    MODELS,
    PUBLISHED,
    RULES,
    Accuracies,
    Accuracy,
    DomainFit,
    DomainModel,
    fit_domain,
)
from infoscope.tracking import Cell, Report
from infoscope.tracking.datasets import DataSet
from sweeps import datasets
from sweeps.checks import require_minimum
from sweeps.partition.settings import CONFIG
from sweeps.streams import stream

DATA = ("crmnist", "rotated-mnist", "rotated-mnist-diva", "camelyon17")
BASES = ("mnist", "digits")
TRAINING_HOSPITALS = (0, 3, 4)  # of Camelyon17 in WILDS
VALIDATION_SHARE = 0.3  # of the groups outside of the held-out domain
# of the validation groups, for evaluating a trained model; the others select the step
EVALUATION_SHARE = 0.75
IN_MEMORY = 2**30  # bytes; larger parts are not held in memory
CURVE_POINTS = 50
MINIMUM = {
    "size": 8,
    "sample": 0,
    "held_out": 0,
    "steps": 1,
    "evaluations": 1,
    "patience": 0,
    "items": 100,
    "seed": 0,
}

# rules of model selection with one training per cell, by names without spaces
SELECTIONS = {"last": "last", "training": "training", "training-domain-validation": "training-domain-validation",
              "oracle": "oracle (test-domain)"}  # fmt: skip

# published settings other than a model's defaults: (model, data) -> name in PUBLISHED
PUBLISHED_SETTINGS = {
    ("diva", "crmnist"): "diva-crmnist",
    ("dann", "rotated-mnist"): "dann-domainbed",
    ("erm", "rotated-mnist"): "erm-domainbed",
    ("nvae", "camelyon17"): "nvae-wilds",
    ("erm", "camelyon17"): "erm-camelyon17",
    ("irm", "camelyon17"): "irm-camelyon17",
}
# Changes of the published settings in "quick", for 16 x 16 pixels and some thousand
# steps. With DomainBed's weight of 100 the accuracy of IRM would fall, and every rule
# would select the step before its penalty begins.
_QUICK = {"network": {"width": 16}, "optimisation": {"learning_rate": 2e-3}}
QUICK: dict[str, dict[str, Any]] = {model: _QUICK for model in MODELS} | {
    # None: the adversary's own optimiser has the same rate
    "dann": _QUICK | {"adversary": {"learning_rate": None}},
    "irm": {
        "network": {"width": 16},
        "optimisation": {"learning_rate": 2e-3, "batch": 16, "balanced": True},
        "weight": 1.0,
    },
}
# "quick-item-sum": the penalty of |z_dy| in NVAE is batch x dimensions, here 512, times that of its reference
ITEM_SUM = {"nvae": QUICK["nvae"] | {"l1_form": "item-sum"}}
SETTINGS: dict[str, dict[str, dict[str, Any]]] = {
    "published": {},
    "quick": QUICK,
    "quick-item-sum": QUICK | ITEM_SUM,
}


@dataclass(frozen=True, kw_only=True)
class DataCell(Cell):
    """A data set and its parts."""

    none_is_a_value = ("base",)  # of data without digits

    data: str  # one of DATA
    base: str | None  # digits: one of BASES
    size: int  # pixels per side
    sample: int  # items, or digits; 0: all
    held_out: int  # domain
    seed: int  # of the data, their parts, initial weights and the order of items


@dataclass(frozen=True, kw_only=True)
class TrainingCell(Cell):
    """The training of a model."""

    steps: int
    evaluations: int  # of the selection, during a training
    selection: str  # rule for the step: one of SELECTIONS
    patience: int  # evaluations without a better one until a training ends; 0: never
    items: int  # that are logged with a model, about
    model: str  # one of MODELS
    setting: str  # one of SETTINGS
    # settings of the model by dotted names, recorded with the prefix CONFIG
    config: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class DomainCell(DataCell, TrainingCell):
    """A training on the parts of a data set."""

    def values(self) -> dict[str, Any]:
        values = {}
        for name, value in super().values().items():
            if name == "config":
                values |= _flat(value, CONFIG)
            else:
                values[name] = value
        return values

    def replaced(self, values: Mapping[str, Any]) -> Self:
        fields = {}
        config = dict(self.config)
        for name, value in values.items():
            if name.startswith(CONFIG):
                config[name.removeprefix(CONFIG)] = value
            else:
                fields[name] = value
        return replace(self, config=config, **fields)


class Parts(NamedTuple):
    """Parts of a cell's data that share no group (except in "rotated-mnist-diva").

    selection: for the choice of the step; in_domain: unseen items; out_of_domain: the
    held-out domain.
    """

    train: DomainDataset
    selection: DomainDataset
    in_domain: DomainDataset
    out_of_domain: DomainDataset


def data_fields(profile: Any) -> dict[str, Any]:
    """The fields of a cell's data. Base "auto" is MNIST if INFOSCOPE_DATA is set,
    otherwise the bundled digits.
    """
    base = one_of("base", profile.base, ("auto", *BASES))
    if profile.data == "camelyon17":
        base = None
    elif base == "auto":
        base = "digits" if data.data_root() is None else "mnist"
    return {
        "data": profile.data,
        "base": base,
        "size": profile.size,
        "sample": profile.sample,
    }


def dataset(cell: DataCell) -> DomainDataset:
    """The items of a cell: `sample` base digits at every angle (or at one each), or
    patches; 0: all.
    """
    draws = stream(cell.seed, "domain data")
    if cell.data == "camelyon17":
        patches = data.camelyon17(split=None)
        hospitals = (*TRAINING_HOSPITALS, cell.held_out)
        patches = patches.subset(
            np.isin(patches.d, hospitals), f"hospital {cell.held_out}"
        )
        rows = (
            torch.randperm(len(patches), generator=draws)[: cell.sample or None]
            .sort()
            .values
        )
        return patches.subset(rows).resized(cell.size)
    if cell.base == "mnist" and data.data_root() is None:
        raise InvalidInput(
            "base must be 'digits' unless INFOSCOPE_DATA names a folder with MNIST, "
            "got 'mnist'"
        )
    base = None if cell.base == "mnist" else "digits"
    if cell.data == "crmnist":
        return data.crmnist(
            base=base, count=cell.sample or None, size=cell.size, generator=draws
        )
    one_of("data", cell.data, DATA)
    protocol = "diva" if cell.data == "rotated-mnist-diva" else "domainbed"
    digits = data.rotated_mnist(
        base=base, protocol=protocol, size=cell.size, generator=draws
    )
    if not cell.sample:
        return digits
    return thinned(digits, cell.sample / len(np.unique(digits.groups)), draws)


def thinned(
    dataset: DomainDataset, share: float, generator: torch.Generator
) -> DomainDataset:
    """All items of a random share of the groups of a data set; everything for a share
    of 1 or more.
    """
    if share >= 1:
        return dataset
    groups = np.unique(dataset.groups)
    order = torch.randperm(len(groups), generator=generator).numpy()
    count = max(1, round(share * len(groups)))
    return dataset.subset(np.isin(dataset.groups, groups[order[:count]]))


@datasets.cached_by(DataCell, maxsize=1)
def parts(cell: DataCell) -> Parts:
    """The parts of a cell's data, the same for all models of a seed."""
    draws = stream(cell.seed, "domain split")
    disjoint = cell.data != "rotated-mnist-diva"
    split = dataset(cell).split(
        cell.held_out, VALIDATION_SHARE, draws, disjoint=disjoint
    )
    assert split.validation is not None
    validation = split.validation.split(None, None, draws, test=EVALUATION_SHARE)
    return Parts(
        *map(_in_memory, (split.train, validation.train, validation.test, split.test))
    )


def _in_memory(part: DomainDataset) -> DomainDataset:
    return (
        part.in_memory()
        if len(part) * math.prod(part.image_shape) <= IN_MEMORY
        else part
    )


@datasets.cached_by(DataCell)
def data_name(cell: DataCell) -> tuple[str, bool]:
    """The name of a cell's data set, and whether it is generated."""
    items = dataset(cell)
    return items.name, items.synthetic


@datasets.cached_by(DataCell)
def data_sets(cell: DataCell) -> tuple[DataSet, ...]:
    """The parts of a cell's data."""
    name, synthetic = data_name(cell)
    sets = []
    for part in Parts._fields:
        sets.append(
            datasets.items(
                name, lambda part=part: getattr(parts(cell), part), part, synthetic
            )
        )
    return tuple(sets)


def config_of(model: str, name: str, setting: str) -> dict[str, Any]:
    """The settings of a model by dotted names: published or default, with the changes
    of the setting.
    """
    one_of("model", model, MODELS)
    one_of("setting", setting, SETTINGS)
    published = {}
    if (model, name) in PUBLISHED_SETTINGS:
        _, published = PUBLISHED[PUBLISHED_SETTINGS[model, name]]
    return _flat(published) | _flat(SETTINGS[setting].get(model, {}))


def _flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = tuple(value) if isinstance(value, list) else value
    return flat


def nested(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a model as its class takes them; the inverse of `config_of`."""
    settings: dict[str, Any] = {}
    for name, value in config.items():
        *path, field = name.split(".")
        place = settings
        for step in path:
            place = place.setdefault(step, {})
        place[field] = value
    return settings


def setting_of(model: str, config: Mapping[str, Any], name: str) -> Any:
    """The value of a dotted setting of a model, or its default."""
    value: Any = _checked(model, config).to_dict()
    for step in name.split("."):
        value = value[step]
    return value


def _checked(model: str, config: Mapping[str, Any]) -> Any:
    items = {"shape": (3, 8, 8), "classes": 2, "domains": 2}
    return MODELS[model].Config.from_dict(nested(config) | items)


def check(cell: DomainCell) -> None:
    """Raises ValueError for numbers out of range, settings unknown to the model and
    missing data.
    """
    require_minimum(cell, MINIMUM)
    one_of("selection", cell.selection, SELECTIONS)
    if cell.patience and not RULES[SELECTIONS[cell.selection]][1]:
        raise InvalidInput(
            f"patience must be 0 for the selection {cell.selection!r}, got "
            f"{cell.patience}."
        )
    _checked(cell.model, cell.config)
    _check_parts(cell)


@datasets.cached_by(DataCell)
def _check_parts(cell: DataCell) -> None:
    split = dataset(cell).split(
        cell.held_out, VALIDATION_SHARE, stream(cell.seed, "domain split")
    )
    assert split.validation is not None
    split.validation.split(
        None, None, stream(cell.seed, "domain split"), test=EVALUATION_SHARE
    )


def untrained(cell: DomainCell, dataset: DomainDataset) -> DomainModel:
    """A cell's model with its initial weights, for items like these."""
    return MODELS[cell.model](
        shape=dataset.image_shape,
        classes=len(dataset.class_names),
        domains=len(dataset.domain_names),
        generator=stream(cell.seed, "domain weights"),
        **nested(cell.config),
    )


def trained(
    cell: DomainCell,
    split: Parts,
    report: Report,
    device: str,
    on_point: Callable[[float, Mapping[str, float]], None],
) -> DomainFit:
    """A cell's trained model with the weights selected by its rule, continued from its
    checkpoint.

    The terms of the loss (nats per item, means between points) and the accuracies of
    the selection are the curves train/NAME. on_point(share of the steps done, terms of
    the last step) is called at every point.
    """
    steps = cell.steps
    rule = SELECTIONS[cell.selection]
    every = max(1, steps // cell.evaluations)
    points = max(1, steps // CURVE_POINTS)
    sums: dict[str, list[float]] = {}

    def each(step: int, terms: Mapping[str, float]) -> None:
        for name, value in terms.items():
            sums.setdefault(name, []).append(value)
        if step % points == 0 or step % every == 0 or step == steps:
            means = {
                f"train/{name}": float(np.mean(values)) for name, values in sums.items()
            }
            report.curve(cell, means, step)
            on_point(step / steps, terms)
            sums.clear()

    unseen = {"validation": split.selection}
    if rule.startswith("oracle"):
        unseen["test domain"] = split.out_of_domain
    return fit_domain(
        untrained(cell, split.train).to(device),
        split.train,
        unseen,
        steps=steps,
        generator=stream(cell.seed, "domain training"),
        rule=rule,
        every=every,
        patience=cell.patience or None,
        report=each,
        save=report.save,
        state=report.restore(),
    )


def outcome(fit: DomainFit) -> dict[str, float]:
    """The result of a training as metrics."""
    return {
        "diverged": float(fit.ended == "diverged"),
        "selected_step": fit.step,
        "selection_accuracy": fit.criterion,
        "steps_done": fit.steps_done,
    }


def figures(part: str, measured: Accuracies, target: str = "") -> dict[str, float]:
    """Accuracies of a part as metrics, with standard errors over groups: the mean over
    domains, that over all items, and those of the worst domain and of the worst slice
    (a class in a domain) with intervals of the true worst ones.
    """
    prefix = f"{part}_accuracy/{target}"
    accuracies = {
        "average": measured.average,
        "overall": measured.overall,
        "worst": measured.worst,
        "worst_slice": measured.by_slice[measured.worst_slice],
    }
    values: dict[str, float] = {}
    for name, accuracy in accuracies.items():
        values[f"{prefix}{name}"] = accuracy.value
        values[f"{prefix}{name}_error"] = accuracy.standard_error
    for name, every in (
        ("worst", measured.by_domain),
        ("worst_slice", measured.by_slice),
    ):
        low, high = least_interval(every.values())
        values[f"{prefix}{name}_low"] = low
        values[f"{prefix}{name}_high"] = high
        values[f"{prefix}{name}_items"] = accuracies[name].n
        values[f"{prefix}{name}_of"] = len(every)
    values[f"{prefix}worst_domain"] = measured.worst_domain
    values[f"{part}_accuracy/items"] = measured.overall.n
    values[f"{part}_accuracy/groups"] = measured.overall.clusters
    return values


def rows(
    part: str, measured: Accuracies, target: str, names: tuple[str, ...]
) -> list[dict[str, Any]]:
    """Accuracies by domain as rows of a table."""
    table = []
    for domain, accuracy in measured.by_domain.items():
        table.append(
            {"part": part, "of": target, "domain": names[domain], **_row(accuracy)}
        )
    return table


def slice_rows(
    part: str, measured: Accuracies, dataset: DomainDataset
) -> list[dict[str, Any]]:
    """Accuracies by class and domain as rows of a table, the worst first."""
    table = []
    for (y, d), accuracy in sorted(
        measured.by_slice.items(), key=lambda item: item[1].value
    ):
        names = {"class": dataset.class_names[y], "domain": dataset.domain_names[d]}
        table.append({"part": part, **names, **_row(accuracy)})
    return table


def _row(accuracy: Accuracy) -> dict[str, float]:
    return {
        "accuracy": accuracy.value,
        "standard_error": accuracy.standard_error,
        "items": accuracy.n,
        "groups": accuracy.clusters,
    }


def cost(cell: DomainCell) -> float:
    """Approximate seconds on one core."""
    per_step = {"nvae": 3.0, "diva": 4.5, "irm": 1.4, "augmented-dann": 1.3}
    return 2.5e-5 * per_step.get(cell.model, 1.0) * cell.steps * cell.size**2
