"""Variational autoencoders of images with known factors: the data of a cell, its
training and its posterior.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from infoscope import data
from infoscope.checks import one_of
from infoscope.errors import OutOfRange
from infoscope.metrics.factor_information.posterior import (
    CategoricalPosterior,
    GaussianPosterior,
    ProductPosterior,
)
from infoscope.models import (
    OBJECTIVES,
    VAE,
    AutoEncoder,
    Encoding,
    LatentSpec,
    encode_all,
    fit_vae,
)
from infoscope.models.vae.objectives import PRESETS, Objective
from infoscope.tracking import Report
from infoscope.tracking.datasets import DataSet
from infoscope.tracking.sweep import plain
from sweeps import datasets
from sweeps.checks import require_minimum
from sweeps.disentanglement._cells import ImagesCell, TrainingCell
from sweeps.disentanglement.settings import MODELS
from sweeps.streams import stream

DATA = {
    "dsprites-grid": functools.partial(data.dsprites, part="grid"),
    "dsprites-full": functools.partial(data.dsprites, part="full"),
    "sprites-grid": data.sprites,
    "sprites-full": functools.partial(data.sprites, orientations=40, positions=32),
}
IN_MEMORY = 2**28  # bytes; larger data sets are not held in memory as floats
CURVE_POINTS = 50
MINIMUM = {"steps": 1, "batch": 2, "latents": 2, "hidden": 1, "seed": 0}


def images_of(profile: Any) -> ImagesCell:
    """The images of a profile. "auto" is dSprites if INFOSCOPE_DATA has it, otherwise
    the generated sprites.
    """
    images = datasets.part(profile, ImagesCell)
    if images.data == "auto":
        return replace(
            images,
            data="sprites-grid" if data.factor_data().synthetic else "dsprites-grid",
        )
    return images


@datasets.cached_by(ImagesCell, maxsize=1)
def factor_set(cell: ImagesCell) -> data.FactorDataset:
    """The images and factors of a cell."""
    dataset = DATA[one_of("data", cell.data, DATA)]()
    steps = {
        "orientation": cell.every_orientation,
        "posX": cell.every_position,
        "posY": cell.every_position,
    }
    if max(steps.values()) > 1:
        dataset = dataset.thinned(steps)
    if cell.resolution == dataset.image_shape[1]:
        return dataset
    return dataset.resized(cell.resolution)


def data_name(cell: ImagesCell) -> str:
    """The name of a cell's data set, with "(generated)" if it is."""
    dataset = factor_set(cell)
    return f"{dataset.name} (generated)" if dataset.synthetic else dataset.name


@datasets.cached_by(ImagesCell)
def data_sets(cell: ImagesCell) -> tuple[DataSet, ...]:
    """The images and factors of a cell."""
    return (datasets.items(data_name(cell), lambda: factor_set(cell)),)


@datasets.cached_by(ImagesCell, maxsize=1)
def images(cell: ImagesCell) -> torch.Tensor | data.FactorDataset:
    """The images of a cell for `fit_vae`: floats in memory if they fit, otherwise the
    data set.
    """
    dataset = factor_set(cell)
    if len(dataset) * math.prod(dataset.image_shape) * 4 > IN_MEMORY:
        return dataset
    blocks = np.array_split(np.arange(len(dataset)), math.ceil(len(dataset) / 1024))
    return torch.cat([dataset.images(block) for block in blocks])


def training_fields(
    model: str, setting: str, steps: int, relative_weight: float = 1.0
) -> dict[str, Any]:
    """The fields of a training: the published ones with the changes of the setting, and
    a multiple of its weight.
    """
    one_of("model", model, MODELS)
    fields = OBJECTIVES[model].settings(one_of("setting", setting, PRESETS))
    fields["steps"] = max(1, round(steps * fields.pop("share", 1.0)))
    if "weight" in fields:
        fields["weight"] *= relative_weight
    return {"model": model, **fields}


def check_training(cell: TrainingCell) -> None:
    """Raises ValueError for numbers out of range and unknown data, before anything
    starts.
    """
    require_minimum(cell, MINIMUM)
    if not cell.learning_rate > 0:
        raise OutOfRange(f"learning_rate must be above 0, got {cell.learning_rate}.")
    objective(cell)
    untrained(cell)
    factor_set(cell)


def objective(cell: TrainingCell) -> Objective:
    """The objective of a cell's training."""
    return OBJECTIVES[cell.model].from_settings(plain(cell), cell.steps)


def untrained(cell: TrainingCell) -> VAE | AutoEncoder:
    """A cell's network with its initial weights."""
    size = {
        "channels": cell.channels,
        "hidden": cell.hidden,
        "generator": stream(cell.seed, "vae weights"),
    }
    return OBJECTIVES[cell.model].network(
        (1, cell.resolution, cell.resolution), cell.latents, **size
    )


def trained(
    cell: TrainingCell,
    report: Report,
    device: str,
    on_point: Callable[[float, dict[str, float], VAE | AutoEncoder], None],
) -> VAE | AutoEncoder:
    """A cell's trained network, continued from its checkpoint; losses (nats per image)
    are the curves train/NAME.

    on_point(share done, losses, network) is called at every point of the curves. Raises
    FloatingPointError when the training diverges.
    """
    model = untrained(cell)

    def each(step: int, losses: dict[str, float]) -> None:
        report.curve(
            cell, {f"train/{name}": value for name, value in losses.items()}, step
        )
        on_point(step / cell.steps, losses, model)

    fit_vae(
        model,
        objective(cell),
        images(cell),
        cell.steps,
        batch=cell.batch,
        learning_rate=cell.learning_rate,
        generator=stream(cell.seed, "vae training"),
        device=device,
        every=max(1, cell.steps // CURVE_POINTS),
        report=each,
        save=report.save,
        resume=report.restore(),
    )
    return model


def representation(model: VAE | AutoEncoder, cell: ImagesCell) -> Any:
    """The representation of every image of a cell: a posterior, or codes [N, L] without
    a density.
    """
    return posterior_of(encode_all(model, images(cell)), model.latents)


def posterior_of(encoding: Encoding, latents: LatentSpec) -> Any:
    """The posterior of an encoding; a relaxed one-hot latent becomes the category that
    it relaxes.
    """
    if encoding.scale is None:
        return encoding.mean.double().numpy()
    real = latents.real
    parts = []
    if real:
        parts.append(
            GaussianPosterior(
                encoding.mean.numpy(), encoding.scale.numpy(), latents.names[:real]
            )
        )
    for block, name in zip(encoding.probabilities, latents.names[real:]):
        parts.append(CategoricalPosterior(block.double().numpy(), name))
    return ProductPosterior(*parts)


def cost(cell: TrainingCell) -> float:
    """Approximate seconds on one core, from the number of pixels in all steps."""
    pixels = cell.steps * cell.batch * cell.resolution**2
    return 2e-7 * pixels * OBJECTIVES[cell.model].cost * sum(cell.channels) / 96
