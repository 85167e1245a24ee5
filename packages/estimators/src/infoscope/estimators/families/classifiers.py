"""Predictive families: what may be used to read a label off a representation.

Information measured with a classifier is the information usable by its family (Xu et al. 2020, predictive
V-information), so a family has a name that goes with every result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.neighbors import NearestNeighbors
from torch import nn
from torch.nn import functional

from infoscope.estimators.families._logistic_solver import fit_logistic

Predictor = Callable[[np.ndarray], np.ndarray]
"""Inputs [m, d] -> log probabilities of every class [m, classes], nats."""


class Family(Protocol):
    """A set of conditional distributions and the rule that picks one of them from data."""

    @property
    def name(self) -> str:
        """The family with its settings, as results report it."""
        ...

    def fit(self, x: np.ndarray, classes: np.ndarray, groups: np.ndarray, generator: np.random.Generator) -> Predictor:
        """Fits standardised inputs x [n, d] to classes [n], which holds each of 0..max at least once.

        groups int64 [n] names the rows that must not be parted when some are set aside.
        """
        ...


@dataclass(frozen=True)
class Logistic:
    """Multinomial logistic regression with penalty / 2 * |weights|^2 on the summed log loss of standardised inputs."""

    penalty: float = 1.0

    @property
    def name(self) -> str:
        return f"logistic(penalty={self.penalty:g})"

    def fit(self, x: np.ndarray, classes: np.ndarray, groups: np.ndarray, generator: np.random.Generator) -> Predictor:
        weights, intercepts = fit_logistic(x, classes, self.penalty)
        return lambda inputs: log_softmax(inputs @ weights + intercepts)


@dataclass(frozen=True)
class GradientBoosting:
    """Gradient-boosted trees on histograms (Friedman 2001; scikit-learn), `rounds` trees for each class."""

    rounds: int = 60
    leaves: int = 15
    learning_rate: float = 0.1

    @property
    def name(self) -> str:
        return f"gradient-boosting(rounds={self.rounds}, leaves={self.leaves}, rate={self.learning_rate:g})"

    def fit(self, x: np.ndarray, classes: np.ndarray, groups: np.ndarray, generator: np.random.Generator) -> Predictor:
        model = HistGradientBoostingClassifier(
            max_iter=self.rounds,
            max_leaf_nodes=self.leaves,
            learning_rate=self.learning_rate,
            l2_regularization=1.0,
            early_stopping=False,
            random_state=int(generator.integers(2**31)),
        ).fit(x, classes)

        def predict(inputs: np.ndarray) -> np.ndarray:
            scores = model.decision_function(inputs)
            if scores.ndim == 1:
                scores = np.stack([np.zeros_like(scores), scores], axis=1)
            return log_softmax(scores)

        return predict


@dataclass(frozen=True)
class NearestNeighbours:
    """Class frequencies among the nearest training rows (Euclidean), plus one pseudo-row of the training frequencies.

    neighbours None is the square root of the number of training rows.
    """

    neighbours: int | None = None

    @property
    def name(self) -> str:
        return f"knn(neighbours={'sqrt(n)' if self.neighbours is None else self.neighbours})"

    def fit(self, x: np.ndarray, classes: np.ndarray, groups: np.ndarray, generator: np.random.Generator) -> Predictor:
        k = round(len(x) ** 0.5) if self.neighbours is None else self.neighbours
        if not 1 <= k <= len(x):
            raise ValueError(f"neighbours must be from 1 to the {len(x)} rows of a training set, got {k}.")
        index = NearestNeighbors(n_neighbors=k).fit(x)
        one_hot = np.eye(int(classes.max()) + 1)[classes]
        prior = one_hot.mean(axis=0)

        def predict(inputs: np.ndarray) -> np.ndarray:
            counts = np.stack([one_hot[near].sum(axis=0) for near in index.kneighbors(inputs, return_distance=False)])
            return np.log((counts + prior) / (k + 1.0))

        return predict


@dataclass(frozen=True)
class Mlp:
    """A ReLU network of `depth` hidden layers, trained by AdamW; the epoch is chosen on a tenth of the groups."""

    width: int = 64
    depth: int = 2
    learning_rate: float = 1e-3
    batch: int = 128
    epochs: int = 100
    patience: int = 6

    @property
    def name(self) -> str:
        return f"mlp(width={self.width}, depth={self.depth})"

    def fit(self, x: np.ndarray, classes: np.ndarray, groups: np.ndarray, generator: np.random.Generator) -> Predictor:
        drawn = torch.Generator().manual_seed(int(generator.integers(2**63)))
        network = relu_network([x.shape[1], *[self.width] * self.depth, int(classes.max()) + 1], drawn)
        inputs, targets = torch.tensor(x, dtype=torch.float32), torch.tensor(classes)
        order = generator.permutation(np.unique(groups))
        if len(order) < 2:
            raise ValueError(f"the {self.name} classifier needs at least 2 groups in every training set, got 1.")
        aside = np.isin(groups, order[: max(1, len(order) // 10)])
        self._train(network, inputs[~aside], targets[~aside], inputs[aside], targets[aside], drawn)

        def predict(rows: np.ndarray) -> np.ndarray:
            with torch.no_grad():
                return log_softmax(network(torch.tensor(rows, dtype=torch.float32)).double().numpy())

        return predict

    def _train(
        self,
        network: nn.Sequential,
        x: torch.Tensor,
        targets: torch.Tensor,
        x_aside: torch.Tensor,
        targets_aside: torch.Tensor,
        generator: torch.Generator,
    ) -> None:
        """Trains until the log loss of the rows set aside has not fallen for `patience` epochs; keeps the best."""
        optimiser = torch.optim.AdamW(network.parameters(), lr=self.learning_rate, weight_decay=1e-2)
        best, best_state, since = float("inf"), None, 0
        for _ in range(self.epochs):
            for rows in torch.randperm(len(x), generator=generator).split(self.batch):
                optimiser.zero_grad()
                functional.cross_entropy(network(x[rows]), targets[rows]).backward()
                optimiser.step()
            with torch.no_grad():
                loss = functional.cross_entropy(network(x_aside), targets_aside).item()
            since += 1
            if loss < best:
                best, since = loss, 0
                best_state = {name: value.clone() for name, value in network.state_dict().items()}
            if since >= self.patience:
                break
        if best_state is None:
            raise ValueError(f"the {self.name} classifier diverged: its log loss was never finite.")
        network.load_state_dict(best_state)


def relu_network(widths: Sequence[int], generator: torch.Generator) -> nn.Sequential:
    """Linear layers from widths[0] inputs to widths[-1] outputs with ReLU between them, torch.nn.Linear's start law.

    Every number is drawn from `generator`.
    """
    layers: list[nn.Module] = []
    for inputs, outputs in zip(widths, widths[1:]):
        layer = nn.utils.skip_init(nn.Linear, inputs, outputs)  # its own start would use torch's global random state
        for parameter in layer.parameters():
            nn.init.uniform_(parameter, -(inputs**-0.5), inputs**-0.5, generator=generator)
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def log_softmax(scores: np.ndarray) -> np.ndarray:
    """Log probabilities [m, classes], nats, of scores [m, classes]."""
    scores = scores - scores.max(axis=1, keepdims=True)
    return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))


FAMILIES: dict[str, Family] = {
    "logistic": Logistic(),
    "gradient-boosting": GradientBoosting(),
    "mlp": Mlp(),
    "knn": NearestNeighbours(),
}


def as_families(family: str | Family | Sequence[str | Family]) -> tuple[Family, ...]:
    """One or more families by name, or as they are. ValueError for an unknown name or none."""
    chosen = (family,) if isinstance(family, str) or not isinstance(family, Sequence) else tuple(family)
    unknown = [name for name in chosen if isinstance(name, str) and name not in FAMILIES]
    if unknown or not chosen:
        raise ValueError(f"family must be one or more of {list(FAMILIES)} or Family objects, got {family!r}.")
    return tuple(FAMILIES[name] if isinstance(name, str) else name for name in chosen)
