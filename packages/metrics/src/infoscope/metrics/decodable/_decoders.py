"""Decoders: networks that predict the labels of pairs from x or y, trained on fresh pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from infoscope.errors import NoVariation, WrongLength
from infoscope.estimators.classifier.cross_fitting import floored
from infoscope.estimators.families.networks import fully_connected
from infoscope.estimators.families.protocol import Family

HIDDEN = {"linear": (), "mlp": (256,)}
"""Widths of the hidden layers by the decoder's name."""
MIN_PROBABILITY = 1e-9  # probability of a label that a family's law is floored to
MLP_RATE = 1e-3
LINEAR_RATE = 0.3  # over sqrt(dim): AdamW moves every weight alike, and a score adds up dim of them


class LabelledSource(Protocol):
    """Pairs whose labels are known."""

    def sample_labelled(
        self, n: int, generator: torch.Generator, device: torch.device | str = "cpu"
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Draws x [n, dim_x], y [n, dim_y] and the labels (0 or 1) of x and of y [n, sources]."""
        ...


def train_decoders(
    source: LabelledSource,
    hidden: Sequence[int],
    shared: bool,
    steps: int,
    batch: int,
    generator: torch.Generator,
    device: torch.device | str,
) -> list[Callable[[Tensor], np.ndarray]]:
    """Decoders of x and of y (twice the same if shared): [n, dim] -> log odds of label 1 [n, sources], float64."""
    x, y, labels, _ = source.sample_labelled(max(batch, 1000), generator, device)
    if shared and x.shape != y.shape:
        raise WrongLength(f"shared needs sides of one length, got {x.shape[1]} and {y.shape[1]}.")
    examples = [torch.cat([x, y])] if shared else [x, y]
    scalings = [Scaling.of(side) for side in examples]
    networks = [fully_connected([side.shape[1], *hidden, labels.shape[1]], generator).to(device) for side in examples]
    optimiser = torch.optim.AdamW(
        [
            {"params": network.parameters(), "lr": MLP_RATE if hidden else LINEAR_RATE / side.shape[1] ** 0.5}
            for network, side in zip(networks, examples)
        ],
        weight_decay=1e-2,
    )
    decay = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, total_iters=steps)
    for _ in range(steps):
        x, y, labels_x, labels_y = source.sample_labelled(batch, generator, device)
        inputs, labels = [x, y], [labels_x, labels_y]
        if shared:
            inputs, labels = [torch.cat(inputs)], [torch.cat(labels)]
        optimiser.zero_grad()
        for network, scaling, side, bits in zip(networks, scalings, inputs, labels):
            functional.binary_cross_entropy_with_logits(network(scaling(side)), bits.to(side.dtype)).backward()
        optimiser.step()
        decay.step()

    def reader(network: nn.Module, scaling: Scaling) -> Callable[[Tensor], np.ndarray]:
        def read(inputs: Tensor) -> np.ndarray:
            with torch.no_grad():
                return network(scaling(inputs)).double().cpu().numpy()

        return read

    readers = [reader(network, scaling) for network, scaling in zip(networks, scalings)]
    return readers * 2 if shared else readers


def fit_decoders(
    source: LabelledSource,
    family: Family,
    shared: bool,
    samples: int,
    generator: torch.Generator,
    device: torch.device | str,
) -> list[Callable[[Tensor], np.ndarray]]:
    """`train_decoders` by a family, a member of which is fitted to every source's label of fresh pairs."""
    x, y, *labels = source.sample_labelled(samples, generator, device)
    if shared and x.shape != y.shape:
        raise WrongLength(f"shared needs sides of one length, got {x.shape[1]} and {y.shape[1]}.")
    sides = [(torch.cat([x, y]), torch.cat(labels))] if shared else list(zip((x, y), labels))
    drawn = np.random.default_rng(int(torch.randint(2**62, (), generator=generator)))

    def reader(inputs: Tensor, bits: Tensor) -> Callable[[Tensor], np.ndarray]:
        columns = bits.cpu().numpy().astype(np.int64).T
        fits = [family.fit(as_doubles(inputs), column, 2, generator=drawn) for column in columns]

        def read(new: Tensor) -> np.ndarray:
            logs = [floored(fit.log_probabilities(as_doubles(new)), MIN_PROBABILITY) for fit in fits]
            return np.column_stack([one[:, 1] - one[:, 0] for one in logs])

        return read

    readers = [reader(*side) for side in sides]
    return readers * 2 if shared else readers


def as_doubles(inputs: Tensor) -> np.ndarray:
    """Inputs [n, dim] for a family, float64."""
    return inputs.double().cpu().numpy()


@dataclass(frozen=True, eq=False)
class Scaling:
    """Brings inputs [n, dim] to mean 0 each and to a mean variance of 1 over all (one scale)."""

    mean: Tensor
    scale: Tensor

    @classmethod
    def of(cls, examples: Tensor) -> Scaling:
        """The scaling that fits examples [n, dim]; ValueError if they are all equal."""
        scale = examples.var(0).mean().sqrt()
        if not scale > 0:
            raise NoVariation(
                f"pairs must vary, but the standard deviation of {len(examples)} draws is {scale.item()}."
            )
        return cls(examples.mean(0), scale)

    def __call__(self, inputs: Tensor) -> Tensor:
        return (inputs - self.mean) / self.scale
