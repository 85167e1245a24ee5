"""Fully connected networks as predictive families.

They predict log odds of classes, or means of normal distributions.

Network((50,), "softplus") and Network((50,), "relu") are the observers of Xu et al.
2020 (section 6.4). Training is by AdamW, stopped on a tenth of the groups, whose
residuals give the covariance of numbers; mixed as in `local`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.special import log_softmax
from torch import Tensor, nn
from torch.nn import functional

from infoscope.checks import one_of, require_int, require_number
from infoscope.errors import OutOfRange
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.columns import as_matrix
from infoscope.estimators.families.distributions import (
    Categorical,
    FlooredNormal,
    without_input,
)
from infoscope.estimators.families.protocol import CLASSES, NUMBERS, Features, Predictor

ACTIVATIONS = {"relu": nn.ReLU, "softplus": nn.Softplus, "tanh": nn.Tanh}


@dataclass(frozen=True)
class Network:
    """Fully connected networks with the given widths (none: linear) and one activation.

    Inputs are standardised.

    patience  epochs without progress on the validation rows after which training stops
    """

    widths: tuple[int, ...] = (50,)
    activation: str = "relu"
    learning_rate: float = 3e-3
    batch: int = 128
    epochs: int = 100
    patience: int = 8
    weight_decay: float = 1e-2
    outcomes = (CLASSES, NUMBERS)

    def __post_init__(self) -> None:
        for setting in ("batch", "epochs", "patience"):
            require_int(setting, getattr(self, setting), 1)
        require_number("learning_rate", self.learning_rate, ends=False)
        one_of("activation", self.activation, ACTIVATIONS)
        for width in self.widths:
            require_int("widths", width)

    @property
    def name(self) -> str:
        widths = "x".join(map(str, self.widths)) or "none"
        return f"network(widths={widths}, {self.activation})"

    def build(
        self, inputs: int, outputs: int, generator: torch.Generator
    ) -> nn.Sequential:
        """An untrained network, every weight drawn from the generator."""
        return fully_connected(
            [inputs, *self.widths, outputs], generator, ACTIVATIONS[self.activation]
        )

    def fit(self, x: Any, y: np.ndarray, classes: int | None = None, groups: np.ndarray | None = None,
            generator: np.random.Generator | None = None) -> Predictor:  # fmt: skip
        if x is None:
            return without_input(y, classes)
        inputs = as_matrix("x", x)
        features = Features.of(inputs, 1)
        generator = generator_or_default(generator)
        groups = np.arange(len(y)) if groups is None else groups
        order = generator.permutation(np.unique(groups))
        if len(order) < 2:
            raise OutOfRange(
                f"groups must be at least 2 in every training set of {self.name}, got "
                "1."
            )
        held_out = min(max(len(order) // 10, 10), len(order) // 2)
        validation = torch.as_tensor(np.isin(groups, order[:held_out]))
        torch_generator = torch.Generator().manual_seed(int(generator.integers(2**63)))
        rows = torch.as_tensor(features(inputs), dtype=torch.float32)
        if classes is not None:
            network = self.build(rows.shape[1], classes, torch_generator)
            self._train(
                network,
                rows,
                torch.as_tensor(y),
                validation,
                functional.cross_entropy,
                torch_generator,
            )
            return class_distribution(network, features)

        scaling = Features.of(y, 1)
        network = self.build(rows.shape[1], y.shape[1], torch_generator)
        targets = torch.as_tensor(scaling(y), dtype=torch.float32)
        self._train(
            network, rows, targets, validation, functional.mse_loss, torch_generator
        )

        def mean(new: Any) -> np.ndarray:
            return outputs(network, features(new)) * scaling.scale + scaling.centre

        # Residuals of training rows are too small.
        is_held_out = validation.numpy()
        return FlooredNormal.around(mean, y, y[is_held_out] - mean(inputs[is_held_out]))

    def _train(
        self,
        network: nn.Module,
        x: Tensor,
        targets: Tensor,
        validation: Tensor,
        loss: Callable[[Tensor, Tensor], Tensor],
        generator: torch.Generator,
    ) -> None:
        """Trains on the rows outside the validation set.

        The network ends with the weights of the least loss on the validation rows.
        """
        x_training = x[~validation]
        x_validation = x[validation]
        targets_training = targets[~validation]
        targets_validation = targets[validation]
        optimiser = torch.optim.AdamW(
            network.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay
        )
        best_loss = float("inf")
        best_state = None
        epochs_since_best = 0
        for _ in range(self.epochs):
            for rows in torch.randperm(len(x_training), generator=generator).split(
                self.batch
            ):
                optimiser.zero_grad()
                predicted = network(x_training[rows])
                loss(predicted, targets_training[rows]).backward()
                optimiser.step()
            with torch.no_grad():
                validation_loss = loss(network(x_validation), targets_validation).item()
            epochs_since_best += 1
            if validation_loss < best_loss:
                best_loss = validation_loss
                best_state = copy.deepcopy(network.state_dict())
                epochs_since_best = 0
            if epochs_since_best >= self.patience:
                break
        if best_state is None:
            raise OutOfRange(
                f"learning_rate must be low enough for a finite loss of {self.name}, "
                "got none."
            )
        network.load_state_dict(best_state)


def fully_connected(
    widths: Sequence[int],
    generator: torch.Generator,
    activation: type[nn.Module] = nn.ReLU,
) -> nn.Sequential:
    """Linear layers from widths[0] to widths[-1], with activations between them.

    Weights are drawn as by torch.nn.Linear.
    """
    layers: list[nn.Module] = []
    for inputs, outputs in zip(widths, widths[1:]):
        # nn.Linear would use torch's global random state
        layer = nn.utils.skip_init(nn.Linear, inputs, outputs)
        largest = inputs**-0.5
        for parameter in layer.parameters():
            nn.init.uniform_(parameter, -largest, largest, generator=generator)
        layers += [layer, activation()]
    return nn.Sequential(*layers[:-1])


def class_distribution(network: nn.Module, features: Features) -> Categorical:
    """The distribution of classes that a network predicts in its current state."""
    return Categorical(lambda new: log_softmax(outputs(network, features(new)), axis=1))


def outputs(network: nn.Module, rows: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return network(torch.as_tensor(rows, dtype=torch.float32)).double().numpy()
