"""Which models keep apart what tells the class and what tells the domain, and do they generalise to a new domain?

Variational (NVAE, DIVA) and adversarial (DANN, AugmentedDANN) training, penalties on what differs between domains (IRM,
CORAL, Fishr) and risk minimisation that is told of the domain (DI-ERM), beside the plain one, and the plain one on the
batches of the latter (balanced-erm, and uninformed-erm with DI-ERM's head), on digits that are coloured and rotated by
domain, or on patches from several hospitals. Every trial trains a model on all domains but one,
measures its accuracies on unseen items inside and outside of the training domains, and keeps it with the items on which
its latent blocks are to be evaluated: `make table-partition` does that, wherever it runs.

A seed draws the digits, their colours, the split, the first weights and the order of the training, so seeds are
independent; the models of a seed share their data and are evaluated on the same items.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from infoscope.models.domain import MODELS, DomainModel, accuracies
from infoscope.tracking import Pack, Profile, Report, Sweep
from sweeps.datasets import byte_blocks
from sweeps.partition import _domains
from sweeps.partition.settings import PARTS
from sweeps.representation.settings import ITEMS
from sweeps.streams import stream

MODEL = "domain-model"  # the name of the logged model
EXAMPLES = 2

PUBLISHED = dict(
    data="crmnist",
    base="auto",
    size=28,
    sample=0,
    models=tuple(MODELS),
    setting="published",
    held_out=(5,),
    steps=60_000,
    evaluations=60,
    selection="training-domain-validation",
    patience=5,
    items=20_000,
    seeds=(0, 1, 2, 3, 4),
)
LAPTOP = PUBLISHED | dict(size=16, sample=6000, setting="quick", steps=2000, evaluations=10, patience=0, items=6000)
SMOKE = LAPTOP | dict(sample=500, steps=60, evaluations=2, items=600, seeds=(0, 1))
PROFILES = {"smoke": Profile(**SMOKE), "laptop": Profile(**LAPTOP), "paper": Profile(**PUBLISHED)}


def cells(profile: Profile) -> Iterator[dict]:
    """One cell per model, held-out domain and seed."""
    same = ("steps", "evaluations", "selection", "patience", "items")
    shared = _domains.data_fields(profile) | {name: getattr(profile, name) for name in same}
    for model in profile.models:
        fields = _domains.model_fields(model, profile.data, profile.setting)
        for held_out in profile.held_out:
            for seed in profile.seeds:
                yield shared | fields | {"held_out": held_out, "seed": seed}


def trial(pack: Pack, report: Report) -> None:
    """Trains the model of a cell, measures what it gets right, and keeps it with the items to evaluate it on."""
    (cell,) = pack.cells
    parts = _domains.parts(cell)
    fit = _domains.trained(cell, parts, report, pack.device, lambda share, terms: report.progress(share))
    report.metrics(cell, _domains.outcome(fit))
    measure(fit.model, parts, cell, report)
    keep(fit.model, parts, cell, report)


def measure(model: DomainModel, parts: _domains.Parts, cell: dict, report: Report) -> None:
    """Reports the accuracies in and out of the training domains, and how well a model that reads the domain does so."""
    table, slices = [], []
    for part, items in (("in_domain", parts.in_domain), ("out_of_domain", parts.out_of_domain)):
        found = accuracies(model, items)
        report.metrics(cell, _domains.figures(part, found))
        table += _domains.rows(part, found, "class", items.domain_names)
        slices += _domains.slice_rows(part, found, items)
    if model.domain_logits(parts.in_domain.images([0]).to(next(model.parameters()).device)) is not None:
        found = accuracies(model, parts.in_domain, of="domain")
        report.metrics(cell, _domains.figures("in_domain", found, "domain_"))
        table += _domains.rows("in_domain", found, "domain", parts.in_domain.domain_names)
    for name, told in (("accuracies", table), ("slices", slices)):
        report.table(cell, name, pd.DataFrame(told).to_dict("list"))


def keep(model: DomainModel, parts: _domains.Parts, cell: dict, report: Report) -> None:
    """Logs a model, and the items to evaluate it on."""
    report.arrays(cell, ITEMS, evaluation_items(parts, cell))
    shown = parts.in_domain.images(slice(0, EXAMPLES)).numpy()
    report.model([cell], MODEL, model.cpu(), {"x": shown})


def evaluation_items(parts: _domains.Parts, cell: dict) -> dict[str, np.ndarray]:
    """At most about `items` of the items that the model was not trained on, whole groups: x uint8 [n, C, H, W]; y, d,
    groups int64 [n]; split uint8 [n], a code into split_names; names of the data set, classes and domains.
    """
    judged = (parts.in_domain, parts.out_of_domain)
    share, draws = cell["items"] / sum(map(len, judged)), stream(cell["seed"], "evaluation items")
    judged = tuple(_domains.thinned(part, share, draws) for part in judged)
    names = parts.in_domain.domain_names
    return {
        "x": np.concatenate([block for part in judged for block in byte_blocks(part)]),
        **{name: np.concatenate([getattr(part, name) for part in judged]) for name in ("y", "d", "groups")},
        "split": np.repeat(np.arange(len(PARTS), dtype=np.uint8), [len(part) for part in judged]),
        "split_names": np.array(PARTS),
        "name": np.array(f"{_domains.described(cell)[0]}, held out {names[cell['held_out']]}"),
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
    best=("in_domain/average", "max"),
    version=2,
)
