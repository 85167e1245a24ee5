"""What information does training add to the layers of a residual network?

A ResNet-18 (He et al. 2016) learns to classify ten digits, with one binary label for each. It is compared with the same
network with its initial weights, whose batch normalisation is calibrated on training images. Both are logged with
images that neither was trained on, so that the information in their layers can be measured (`make
table-representations`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from infoscope import data, models
from infoscope.data.pools.pools import ImagePool
from infoscope.errors import UnknownName
from infoscope.tracking import Pack, Profile, Report, Sweep
from infoscope.tracking.datasets import DataSet
from sweeps import datasets
from sweeps.checks import require_minimum
from sweeps.representation.settings import ITEMS, LOGGED_ITEMS, TARGET, TRAINED, UNTRAINED
from sweeps.streams import stream

LAPTOP = dict(data="auto", depth=18, width=16, size=32, steps=400, batch=64, items=LOGGED_ITEMS, seeds=(0, 1, 2))
PROFILES = {
    "smoke": Profile(**LAPTOP | dict(width=4, size=16, steps=4, items=300, seeds=(0,))),
    "laptop": Profile(**LAPTOP),
    "paper": Profile(**LAPTOP | dict(width=64, steps=4000, seeds=(0, 1, 2, 3, 4))),
}
MODEL = "resnet"
_CALIBRATION_BATCHES, _BLOCK = 20, 256  # batches for the initial weights; images encoded at a time
_TEST_SHARE = 0.3  # of the bundled digits, which have no test set


def cells(profile: Profile) -> Iterator[dict]:
    """One cell per network, trained and not, and seed."""
    name = datasets.image_data(profile.data)
    shared = {field: getattr(profile, field) for field in ("depth", "width", "size", "batch", "items")}
    for kind, steps in ((UNTRAINED, 0), (TRAINED, profile.steps)):
        for seed in profile.seeds:
            yield shared | {"data": name, "model": kind, "steps": steps, "seed": seed}


def check(cell: dict) -> None:
    require_minimum(cell, {"width": 1, "size": 8, "batch": 2, "steps": 0, "items": 100, "seed": 0})
    pools(cell)
    models.ResNet((1, 8, 8), depth=cell["depth"], width=1)


def cost(cell: dict) -> float:
    images = cell["steps"] * cell["batch"] + _CALIBRATION_BATCHES * cell["batch"] + 10_000
    return 2e-2 * images * (cell["width"] / 64) ** 1.5 * (cell["size"] / 32) ** 2


@datasets.cached_by(("data",))
def pools(cell: dict) -> tuple[ImagePool, ImagePool]:
    """The training and test images. ValueError for unknown data."""
    if cell["data"] == "mnist":
        return data.mnist("train"), data.mnist("test")
    if cell["data"] == "digits":
        return data.digits().split(_TEST_SHARE, stream(0, "unseen digits"))
    raise UnknownName(f"data must be auto, mnist or digits, got {cell['data']!r}.")


@datasets.cached_by(("data",))
def data_sets(cell: dict) -> tuple[DataSet, ...]:
    """The training and test images."""
    parts = dict(zip(("training", "test"), pools(cell)))
    return tuple(datasets.items(pool.name, lambda pool=pool: pool, part) for part, pool in parts.items())


def trial(pack: Pack, report: Report) -> None:
    """Makes the network of a cell, measures its accuracy, and logs it with unseen images."""
    (cell,) = pack.cells
    training, unseen = pools(cell)
    x, y = training.resized(cell["size"], cell["size"]), training.labels
    labels = int(y.max()) + 1

    def sample(n: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        rows = torch.randint(len(x), (n,), generator=generator)
        return x[rows] / 255.0, torch.nn.functional.one_hot(y[rows], labels).bool()

    shape, size = tuple(x.shape[1:]), {"labels": labels, "depth": cell["depth"], "width": cell["width"]}
    generator = stream(cell["seed"], "resnet")
    if cell["steps"]:
        network = models.fit_resnet(
            sample, shape, generator, **size, steps=cell["steps"], batch=cell["batch"], device=pack.device,
            progress=lambda step, loss: report.progress(0.9 * step / cell["steps"]),
        ).cpu()  # fmt: skip
    else:
        network = models.ResNet(shape, **size, generator=generator)
        calibrate(network, [sample(cell["batch"], generator)[0] for _ in range(_CALIBRATION_BATCHES)])
    rows = np.sort(np.random.default_rng(cell["seed"]).permutation(len(unseen.labels))[: cell["items"]])
    images, truth = unseen.resized(cell["size"], cell["size"])[rows], unseen.labels[rows].numpy()
    right = predicted(network, images) == truth
    report.metrics(cell, {"accuracy": right.mean(), "accuracy_error": right.std() / math.sqrt(len(right))})
    kept: dict[str, Any] = {"x": images.numpy(), f"{TARGET}digit": truth, "name": np.array(f"{unseen.name}, unseen")}
    report.arrays(cell, ITEMS, kept)
    report.model([cell], MODEL, network, {"images": (images[:2] / 255.0).numpy()})
    report.progress(1.0)


@torch.no_grad()
def calibrate(network: models.ResNet, batches: list[torch.Tensor]) -> None:
    """Sets the statistics of batch normalisation to those of these images."""
    network.train()
    for batch in batches:
        network(batch)
    network.eval()


@torch.no_grad()
def predicted(network: models.ResNet, images: torch.Tensor) -> np.ndarray:
    """The most probable digit of images uint8 [n, 1, h, w]: int [n]."""
    return torch.cat([network(some / 255.0).argmax(1) for some in images.split(_BLOCK)]).numpy()


SWEEP = Sweep(
    "resnet-layers",
    cells,
    trial,
    PROFILES,
    axes=("seeds",),
    data=data_sets,
    check=check,
    cost=cost,
    best=("accuracy", "max"),
)
