"""The one training loop of the variational autoencoders."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from infoscope.checks import one_of, require_int, require_number
from infoscope.errors import Conflict, OutOfRange, WrongType
from infoscope.models.initialisation import generator_or_default
from infoscope.models.vae.images import Images, ImageSource
from infoscope.models.vae.networks import VAE, AutoEncoder
from infoscope.models.vae.objectives import OBJECTIVES, Objective

Report = Callable[[int, dict[str, float]], None]


def fit_vae(
    model: VAE | AutoEncoder,
    objective: str | Objective,
    images: Images,
    steps: int,
    *,
    batch: int | None = None,
    learning_rate: float | None = None,
    generator: torch.Generator | None = None,
    device: torch.device | str | None = None,
    every: int = 100,
    report: Report | None = None,
    save: Callable[[Callable[[], dict[str, Any]]], None] | None = None,
    resume: Mapping[str, Any] | None = None,
) -> dict[str, list[float]]:
    """Trains `model` in place and returns `VaeTraining.trace`; arguments and errors as `VaeTraining`, and

    report(step, losses), with means over every `every` steps; save(state), as often, with a function that gives the
    state for `resume`. FloatingPointError when the training diverges.
    """
    training = VaeTraining(
        model, objective, images, steps, batch=batch, learning_rate=learning_rate, generator=generator, device=device
    )
    if resume is not None:
        training.load_state_dict(resume)
    require_int("every", every)
    while training.done < training.total:
        step, losses = training.advance(every - training.done % every)
        if report is not None:
            report(step, losses)
        training.check()
        if save is not None:
            save(training.state_dict)
    model.eval()
    return training.trace


class VaeTraining:
    """A training that can be advanced in pieces, saved, and continued to bit-identical weights on the same machine.

    objective      a name of OBJECTIVES, or one made from it: `OBJECTIVES[name](beta=2)`; it is copied
    images         [N, C, H, W]: floats in [0, 1], or whole numbers, 0/1 or 0..255; or what has a length and a
                   method `images(index)`
    batch          images per step (a FactorVAE takes twice as many); None: published, as learning_rate
    generator      a CPU generator of batches, noise and a discriminator's weights (None: a fresh one with seed 0)
    device         where to compute; None: where the model is. The model is moved there

    Images are drawn without replacement, epoch by epoch, in whole batches. ValueError for images of another shape or
    range, fewer images than a step takes, an objective that does not suit the model, or a number out of range.
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
            raise WrongType(
                f"objective must be a name of OBJECTIVES or an Objective (see objectives), got "
                f"{type(objective).__name__}."
            )
        self._objective = copy.deepcopy(objective)
        self._source = ImageSource(images, model.config["image_shape"])
        self._batch = objective.batch if batch is None else require_int("batch", batch, 2)
        rate = objective.learning_rate if learning_rate is None else learning_rate
        require_number("learning_rate", rate, ends=False)
        if objective.batches * self._batch > self._source.count:
            raise OutOfRange(
                f"batch must be at most {self._source.count // objective.batches} for {self._source.count} images and "
                f"{objective.batches} batches a step, not {self._batch}."
            )
        self.total, self.done = require_int("steps", steps), 0
        self._generator = generator_or_default(generator)
        self._device = next(model.parameters()).device if device is None else torch.device(device)
        self._model = model.to(self._device).train()
        self._objective.prepare(model, self._generator)
        self._optimiser = torch.optim.Adam(model.parameters(), lr=rate, betas=objective.betas, fused=True)
        self._settings = {"objective": type(objective).__name__, **asdict(objective), "items": self._source.count}
        self._settings |= {"batch": self._batch, "learning_rate": rate}
        self._seed = 0
        self.trace: dict[str, list[float]] = {}

    def advance(self, steps: int) -> tuple[int, dict[str, float]]:
        """Trains for at most `steps` more: the number done, and their mean losses (nats per image), appended to
        `trace`.

        ValueError when none are left.
        """
        steps = min(require_int("steps", steps), self.total - self.done)
        if steps == 0:
            raise OutOfRange(f"steps must be more than the {self.done} done, not {self.total}.")
        total: Tensor | float = 0.0
        for _ in range(steps):
            losses = self._step()
            total = total + torch.stack([loss.detach() for loss in losses.values()]).double()
        means = dict(zip(losses, (total / steps).tolist()))
        for name, value in {"step": self.done, **means}.items():
            self.trace.setdefault(name, []).append(value)
        return self.done, means

    def check(self) -> None:
        """Raises FloatingPointError when the last recorded losses are not finite, and says which."""
        last = {name: values[-1] for name, values in self.trace.items()}
        if not all(map(math.isfinite, last.values())):
            told = ", ".join(f"{name} {value:g}" for name, value in last.items() if name != "step")
            raise FloatingPointError(f"the training diverged by step {self.done}: {told} (nats per image).")

    def state_dict(self) -> dict[str, Any]:
        """All that a training needs to go on, copied: tensors and plain values, for `torch.save`."""
        state = {"settings": self._settings, "done": self.done, "trace": self.trace, "order": self._seed}
        state |= {"model": self._model.state_dict(), "optimiser": self._optimiser.state_dict()}
        state |= {"objective": self._objective.state_dict(), "generator": self._generator.get_state()}
        return copy.deepcopy(state)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues from a state of a training of as many steps or fewer. ValueError for other settings."""
        other = state["settings"]
        for name in self._settings | other:
            if self._settings.get(name) != other.get(name):
                raise Conflict(
                    f"state must be of a training with {name} {self._settings.get(name)!r}, not {other.get(name)!r}."
                )
        if state["done"] > self.total:
            raise OutOfRange(f"steps must be at least the {state['done']} done, not {self.total}.")
        self.done, self._seed, self.trace = state["done"], state["order"], copy.deepcopy(state["trace"])
        self._model.load_state_dict(state["model"])
        self._optimiser.load_state_dict(state["optimiser"])
        self._objective.load_state_dict(state["objective"])
        self._generator.set_state(state["generator"].cpu())
        self._order = self._epoch()

    def _step(self) -> dict[str, Tensor]:
        batches = self._source.batch(self._rows(), self._device).split(self._batch)
        self.done += 1
        losses = self._objective.losses(self._model, batches[0], self._generator, self._source.count, self.done)
        self._optimiser.zero_grad()
        losses["loss"].backward()
        self._optimiser.step()
        return losses | self._objective.after(self._model, batches[-1], self._generator)

    def _rows(self) -> Tensor:
        """The next images, of as many batches as a step takes."""
        take = self._batch * self._objective.batches
        place = self.done % (self._source.count // take)
        if place == 0:
            self._seed = int(torch.randint(2**62, (), generator=self._generator))
            self._order = self._epoch()
        return self._order[place * take :][:take]

    def _epoch(self) -> Tensor:
        """The order of the images in this epoch: it follows from a seed, so that a state need not hold it."""
        return torch.randperm(self._source.count, generator=torch.Generator().manual_seed(self._seed))
