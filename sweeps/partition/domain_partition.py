"""Which models separate information about class and domain, and do they generalise to a
new domain?

Compared are variational training (NVAE, DIVA), adversarial training (DANN,
AugmentedDANN), and invariant and empirical risk minimisation (IRM, ERM). The data are
digits that are coloured and rotated by domain, or patches from several hospitals. Every
trial trains a model on all domains except one, measures its accuracy on unseen items
inside and outside of the training domains, and logs it with items for the evaluation of
its latent blocks (`make table-partition`).

A seed draws the digits, their colours, the split, the initial weights and the order of
the training, so seeds are independent. The models of a seed have the same data and are
evaluated on the same items.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from infoscope.models.domain import MODELS, DomainModel, accuracies
from infoscope.tracking import Pack, Profile, Report, Sweep, grid
from sweeps.datasets import byte_blocks
from sweeps.partition import _domains
from sweeps.partition.settings import ITEMS, PARTS
from sweeps.streams import stream

MODEL = "domain-model"  # the name of the logged model
EXAMPLES = 2
Settings = TypeVar("Settings", bound="DomainProfile")


@dataclass(frozen=True)
class DomainProfile(Profile):
    """The published settings."""

    data: str = "crmnist"
    base: str = "auto"
    size: int = 28  # pixels per side
    sample: int = 0  # items, or digits; 0: all
    models: tuple[str, ...] = tuple(MODELS)
    setting: str = "published"
    held_out: tuple[int, ...] = (5,)  # domains
    steps: int = 60_000
    evaluations: int = 60
    selection: str = "training-domain-validation"
    patience: int = 5
    items: int = 20_000
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)


def for_laptop(profile: Settings) -> Settings:
    """Fewer and smaller images, and fewer steps, with the settings of models for them."""
    return replace(
        profile,
        size=16,
        sample=6000,
        setting="quick",
        steps=2000,
        evaluations=10,
        patience=0,
        items=6000,
    )


def for_smoke(profile: Settings) -> Settings:
    """The settings of `for_laptop` with images and steps for seconds."""
    return replace(
        for_laptop(profile),
        sample=500,
        steps=60,
        evaluations=2,
        items=600,
        seeds=(0, 1),
    )


PAPER = DomainProfile()
PROFILES = {"smoke": for_smoke(PAPER), "laptop": for_laptop(PAPER), "paper": PAPER}


def cells(profile: DomainProfile) -> Iterator[_domains.DomainCell]:
    """One cell per model, held-out domain and seed."""
    for model in profile.models:
        yield from grid(
            _domains.DomainCell,
            **shared_fields(profile, model),
            held_out=list(profile.held_out),
            seed=list(profile.seeds),
        )


def shared_fields(profile: DomainProfile, model: str) -> dict[str, Any]:
    """The fields of the cells of a model."""
    return _domains.data_fields(profile) | dict(
        steps=profile.steps,
        evaluations=profile.evaluations,
        selection=profile.selection,
        patience=profile.patience,
        items=profile.items,
        model=model,
        setting=profile.setting,
        config=_domains.config_of(model, profile.data, profile.setting),
    )


def trial(pack: Pack[_domains.DomainCell], report: Report) -> None:
    """Trains the model of a cell, measures its accuracies, and logs it with items for
    its evaluation.
    """
    (cell,) = pack.cells
    parts = _domains.parts(cell)

    def on_point(share: float, terms: Mapping[str, float]) -> None:
        report.progress(share)

    fit = _domains.trained(cell, parts, report, pack.device, on_point)
    report.metrics(cell, _domains.outcome(fit))
    measure(fit.model, parts, cell, report)
    keep(fit.model, parts, cell, report)


def measure(
    model: DomainModel, parts: _domains.Parts, cell: _domains.DomainCell, report: Report
) -> None:
    """Reports accuracies inside and outside of the training domains, and that of a
    model's domain classifier.
    """
    table = []
    slices = []
    for part in ("in_domain", "out_of_domain"):
        items = getattr(parts, part)
        measured = accuracies(model, items)
        report.metrics(cell, _domains.figures(part, measured))
        table += _domains.rows(part, measured, "class", items.domain_names)
        slices += _domains.slice_rows(part, measured, items)
    image = parts.in_domain.images([0]).to(next(model.parameters()).device)
    if model.domain_logits(image) is not None:
        measured = accuracies(model, parts.in_domain, of="domain")
        report.metrics(cell, _domains.figures("in_domain", measured, "domain_"))
        table += _domains.rows(
            "in_domain", measured, "domain", parts.in_domain.domain_names
        )
    report.table(cell, "accuracies", pd.DataFrame(table).to_dict("list"))
    report.table(cell, "slices", pd.DataFrame(slices).to_dict("list"))


def keep(
    model: DomainModel, parts: _domains.Parts, cell: _domains.DomainCell, report: Report
) -> None:
    """Logs a model and the items for its evaluation."""
    report.arrays(cell, ITEMS, evaluation_items(parts, cell))
    shown = parts.in_domain.images(slice(0, EXAMPLES)).numpy()
    report.model([cell], MODEL, model.cpu(), {"x": shown})


def evaluation_items(
    parts: _domains.Parts, cell: _domains.DomainCell
) -> dict[str, np.ndarray]:
    """About `items` unseen items, whole groups: x uint8 [n, C, H, W]; y, d, groups
    int64 [n]; split uint8 [n], a code of split_names; names of the data set, classes
    and domains.
    """
    share = cell.items / (len(parts.in_domain) + len(parts.out_of_domain))
    draws = stream(cell.seed, "evaluation items")
    inside = _domains.thinned(parts.in_domain, share, draws)
    outside = _domains.thinned(parts.out_of_domain, share, draws)
    names = parts.in_domain.domain_names
    return {
        "x": np.concatenate([*byte_blocks(inside), *byte_blocks(outside)]),
        "y": np.concatenate([inside.y, outside.y]),
        "d": np.concatenate([inside.d, outside.d]),
        "groups": np.concatenate([inside.groups, outside.groups]),
        "split": np.repeat(
            np.arange(len(PARTS), dtype=np.uint8), [len(inside), len(outside)]
        ),
        "split_names": np.array(PARTS),
        "name": np.array(
            f"{_domains.data_name(cell)[0]}, held out {names[cell.held_out]}"
        ),
        "class_names": np.array(parts.in_domain.class_names),
        "domain_names": np.array(names),
    }


SWEEP = Sweep(
    "domain-partition",
    cells,
    trial,
    PROFILES,
    axes=("models", "held_out", "seeds"),
    data=_domains.data_sets,
    check=_domains.check,
    cost=_domains.cost,
    version=2,
)
