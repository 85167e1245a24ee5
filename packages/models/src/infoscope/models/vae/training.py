"""The training loop of the variational autoencoders."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from infoscope.checks import one_of, require_int, require_number
from infoscope.errors import OutOfRange, WrongType
from infoscope.models.initialisation import generator_or_default
from infoscope.models.training import Training
from infoscope.models.vae.images import Images, ImageSource
from infoscope.models.vae.networks import VAE, AutoEncoder
from infoscope.models.vae.objectives import OBJECTIVES, Objective


def fit_vae(
    model: VAE | AutoEncoder,
    objective: str | Objective,
    images: Images,
    steps: int,
    *,
    every: int = 100,
    report: Callable[[int, dict[str, float]], None] | None = None,
    save: Callable[[Callable[[], dict[str, Any]]], None] | None = None,
    resume: Mapping[str, Any] | None = None,
    batch: int | None = None,
    learning_rate: float | None = None,
    generator: torch.Generator | None = None,
    device: torch.device | str | None = None,
) -> dict[str, list[float]]:
    """The trace of a training of `model` in place: losses by name, as `Training.trace`.

    Other arguments and errors are described by `VaeTraining`.

    Parameters
    ----------
    every
        Steps between calls of `report` and `save`.
    report
        report(step, losses), with mean losses in nats per image.
    save, resume
        save(make), where make() is the state for `resume`.

    Raises
    ------
    FloatingPointError
        When the training diverges.
    """
    training = VaeTraining(
        model,
        objective,
        images,
        steps,
        batch=batch,
        learning_rate=learning_rate,
        generator=generator,
        device=device,
    )
    if resume is not None:
        training.load_state_dict(resume)
    require_int("every", every)
    while training.done < training.total:
        losses = training.advance(every - training.done % every)
        if report is not None:
            report(training.done, losses)
        training.check()
        if save is not None:
            save(training.state_dict)
    model.eval()
    return training.trace


class VaeTraining(Training):
    """The interruptible training of an autoencoder (see `Training`).

    Images are drawn without replacement, epoch by epoch, in whole batches.

    Parameters
    ----------
    model
        A VAE or an AutoEncoder, trained in place.
    objective
        A name of OBJECTIVES, or an instance, `OBJECTIVES[name](beta=2)`, which is
        copied.
    images
        [N, C, H, W]: floats in [0, 1], or whole numbers, 0/1 or 0..255; or an object
        with a length and a method `images(index)`.
    steps
        Steps of the training.
    batch
        Images per step (FactorVAE: twice as many); None: the published number.
    learning_rate
        Of Adam; None: the published number.
    generator
        CPU generator of batches, noise and a discriminator's weights (None: seed 0).
    device
        Device of the computation, to which the model is moved; None: the model stays
        where it is.

    Raises
    ------
    ValueError
        For images of another shape or range, fewer images than a step takes, an
        objective that does not suit the model, or a number out of range.
    """

    def __init__(
        self,
        model: VAE | AutoEncoder,
        objective: str | Objective,
        images: Images,
        steps: int,
        *,
        batch: int | None = None,
        learning_rate: float | None = None,
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        if isinstance(objective, str):
            objective = OBJECTIVES[one_of("objective", objective, OBJECTIVES)]()
        if not isinstance(objective, Objective):
            kind = type(objective).__name__
            raise WrongType(
                "objective must be a name of OBJECTIVES or an Objective (see "
                f"objectives), got {kind}."
            )
        self._objective = copy.deepcopy(objective)
        self._source = ImageSource(images, model.config["image_shape"])
        items = self._source.count
        self._batch = (
            objective.batch if batch is None else require_int("batch", batch, 2)
        )
        rate = objective.learning_rate if learning_rate is None else learning_rate
        require_number("learning_rate", rate, ends=False)
        if objective.batches * self._batch > items:
            raise OutOfRange(
                f"batch must be at most {items // objective.batches} for {items} "
                "images and "
                f"{objective.batches} batches a step, got {self._batch}."
            )
        generator = generator_or_default(generator)
        self._device = (
            next(model.parameters()).device if device is None else torch.device(device)
        )
        self._model = model.to(self._device).train()
        self._objective.prepare(model, generator)
        self._optimiser = torch.optim.Adam(
            model.parameters(), lr=rate, betas=objective.betas, fused=True
        )
        settings = {"objective": type(objective).__name__, **asdict(objective)}
        settings |= {"items": items, "batch": self._batch, "learning_rate": rate}
        parts = {
            "model": model,
            "optimiser": self._optimiser,
            "objective": self._objective,
        }
        per_epoch = items // (self._batch * objective.batches)
        super().__init__(
            require_int("steps", steps), per_epoch, generator, settings, parts
        )

    def _step(self, rows: Tensor) -> dict[str, Tensor]:
        batches = self._source.batch(rows, self._device).split(self._batch)
        count = self._source.count
        losses = self._objective.losses(
            self._model, batches[0], self._generator, count, self.done + 1
        )
        self._optimiser.zero_grad()
        losses["loss"].backward()
        self._optimiser.step()
        losses |= self._objective.after(self._model, batches[-1], self._generator)
        return {name: loss.double() for name, loss in losses.items()}

    def _epoch(self) -> Sequence[Tensor]:
        generator = torch.Generator().manual_seed(self._seed)
        order = torch.randperm(self._source.count, generator=generator)
        return order.split(self._batch * self._objective.batches)
