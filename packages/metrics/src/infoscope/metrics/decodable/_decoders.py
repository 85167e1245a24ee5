"""Decoders: networks that predict the labels of pairs from x or y, trained on fresh pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from infoscope.errors import NoVariation, WrongLength
from infoscope.estimators.families.networks import fully_connected
from infoscope.sources import LabelledSource

HIDDEN = {"linear": (), "mlp": (256,)}
"""Widths of the hidden layers by the decoder's name."""
MLP_RATE = 1e-3
LINEAR_RATE = 0.3  # over sqrt(dim): AdamW moves every weight alike, and a score adds up dim of them


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
    scalings = [scaling(side) for side in examples]
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
        for network, scaled, side, bits in zip(networks, scalings, inputs, labels):
            functional.binary_cross_entropy_with_logits(network(scaled(side)), bits.to(side.dtype)).backward()
        optimiser.step()
        decay.step()

    def reader(network: nn.Module, scaled: Callable[[Tensor], Tensor]) -> Callable[[Tensor], np.ndarray]:
        def read(inputs: Tensor) -> np.ndarray:
            with torch.no_grad():
                return network(scaled(inputs)).double().cpu().numpy()

        return read

    readers = list(map(reader, networks, scalings))
    return readers * 2 if shared else readers


def scaling(examples: Tensor) -> Callable[[Tensor], Tensor]:
    """Brings inputs [n, dim] to mean 0 each and to a mean variance of 1 over all; ValueError if examples are equal."""
    mean, scale = examples.mean(0), examples.var(0).mean().sqrt()
    if not scale > 0:
        raise NoVariation(f"pairs must vary, but the standard deviation of {len(examples)} draws is {scale.item()}.")
    return lambda inputs: (inputs - mean) / scale
