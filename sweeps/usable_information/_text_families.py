"""Predictive families of texts: fine-tuned transformers (Ethayarajh et al. 2022,
algorithm 1), and logistic regression on the words that a pair of texts shares.

A member is a `SequenceClassifier` trained on texts and their classes; without an input
it predicts the frequencies of the classes. Small encoders are built from a
configuration and the training texts; others come from the Hugging Face hub or a folder.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from infoscope import models
from infoscope.data.texts.transformations import sides, tokens
from infoscope.errors import InvalidInput, UnknownName
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.families.distributions import Categorical, without_input
from infoscope.estimators.families.protocol import CLASSES, needed
from infoscope.estimators.families.scikit import Sklearn
from infoscope.estimators.result import clustered_error
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics.v_information.predictions import FLOOR, as_groups, with_floor
from sweeps.embedding import HUB, TRANSFORMERS

NULL_INPUT = " "  # some tokenizers fail on the empty string
NULLS = ("frequencies", "trained")
SMALL = {"vocabulary": 8000, "hidden": 128, "layers": 2, "heads": 4, "pooling": "mean"}
LEARNING_RATES = {"small": 1e-3, "hub": 5e-5}
MAX_NEW = 8  # largest count of words of a hypothesis that are not in its premise
STEPS = 20  # training steps between two reports

Texts = Sequence[str] | Sequence[tuple[str, str]]


@dataclass(frozen=True, eq=False)
class Member(Categorical):
    """A fitted member with its classifier."""

    classifier: models.SequenceClassifier


@dataclass(frozen=True)
class SequenceClassifiers:
    """Transformers with a linear head, fine-tuned for a number of epochs on texts or
    pairs of texts.

    Pairs may be given as one text in the standard form, as published. The input of the
    head is the last layer's first vector; for a small encoder it is the mean of all
    vectors.

    encoder: small-bert, small-roberta, small-distilbert (untrained, tokenizer of the
    training texts) or hub:<model>. learning_rate: None: 1e-3 for small encoders, 5e-5
    for others. max_length: in tokens. null: the member without an input, "frequencies"
    of the classes or "trained" on a single space, as published. Raises ValueError
    otherwise.
    """

    encoder: str = "small-bert"
    epochs: int = 2
    batch: int = 32
    learning_rate: float | None = None
    max_length: int = 64
    null: str = "frequencies"
    outcomes = (CLASSES,)

    def __post_init__(self) -> None:
        if self.encoder not in TRANSFORMERS and not self.encoder.startswith(HUB):
            raise InvalidInput(
                f"encoder must be {', '.join(TRANSFORMERS)} or {HUB}<model>, got "
                f"{self.encoder!r}."
            )
        if self.null not in NULLS:
            raise UnknownName(f"null must be {' or '.join(NULLS)}, got {self.null!r}.")

    @property
    def rate(self) -> float:
        """The learning rate of the training."""
        if self.learning_rate is not None:
            return self.learning_rate
        return LEARNING_RATES["hub" if self.encoder.startswith(HUB) else "small"]

    @property
    def name(self) -> str:
        settings = (
            f"epochs={self.epochs}, batch={self.batch}, rate={self.rate:g}, "
            f"max_length={self.max_length}"
        )
        return f"sequence-classifier({self.encoder}, {settings}, null={self.null})"

    def fit(
        self,
        x: Any,
        y: np.ndarray,
        classes: int | None = None,
        groups: Any = None,
        generator: Any = None,
    ):
        if x is None and self.null == "frequencies":
            return without_input(y, needed(classes))
        training = self.training(
            [NULL_INPUT] * len(y) if x is None else x, y, classes, generator
        )
        training.advance(training.total)
        return member(training.classifier.eval(), blind=x is None)

    def training(
        self,
        x: Texts,
        y: np.ndarray,
        classes: int | None = None,
        generator: np.random.Generator | None = None,
    ) -> models.ClassifierTraining:
        """The training of one member before its first step, to be advanced, saved and
        resumed.
        """
        weights_generator = torch.Generator().manual_seed(
            int(generator_or_default(generator).integers(2**63))
        )
        if self.encoder.startswith(HUB):
            name = self.encoder.removeprefix(HUB)
            encoder = models.pretrained_encoder(
                name, max_length=self.max_length, generator=weights_generator
            )
        else:
            kind = self.encoder.removeprefix("small-")
            encoder = models.small_encoder(
                x, kind, weights_generator, max_length=self.max_length, **SMALL
            )
        return models.ClassifierTraining(
            models.SequenceClassifier.of(encoder, needed(classes), weights_generator),
            x,
            torch.as_tensor(y, dtype=torch.int64),
            weights_generator,
            epochs=self.epochs,
            batch=self.batch,
            learning_rate=self.rate,
            device="cuda" if torch.cuda.is_available() else "cpu",
        )


def member(classifier: models.SequenceClassifier, blind: bool = False) -> Member:
    """A fitted classifier as a member of the family; without an input (blind) it reads
    a single space.
    """

    def predict(texts: Any) -> np.ndarray:
        read = [NULL_INPUT] if blind else list(texts)
        return classifier.log_probabilities(read).double().numpy()

    return Member(predict, classifier)


def epoch_curve(
    family: SequenceClassifiers,
    x: Texts,
    y: np.ndarray,
    test_x: Texts,
    test_y: np.ndarray,
    classes: int,
    groups: np.ndarray | None = None,
    floor: float = FLOOR,
    generator: np.random.Generator | None = None,
    state: Mapping[str, Any] | None = None,
    on_steps: Callable[
        [float, Callable[[], dict[str, Any]]], None
    ] = lambda done, state: None,
) -> pd.DataFrame:
    """V-information and accuracy on test texts after every epoch of one training
    (figure 2, over-fitting).

    Without an input the member predicts class frequencies. y, test_y: codes. groups
    [n]: of dependent test texts. floor: smallest probability of a class. on_steps:
    called every `STEPS` steps with the share done and a function that returns the
    state. state: of an interrupted training with the same arguments, which is
    continued. Columns: epoch, training_loss (nats, with dropout), and `epoch_figures`.
    """
    training = family.training(x, y, classes, generator)
    frequencies = without_input(y, needed(classes)).log_probabilities(None)
    null = with_floor(frequencies, floor)[0][test_y]
    codes = as_groups(groups, len(test_y))
    curve = []
    loss = 0.0
    if state is not None:
        training.load_state_dict(state["training"])
        curve = list(state["curve"])
        loss = state["loss"]

    def state_now() -> dict[str, Any]:
        return {"training": training.state_dict(), "curve": curve, "loss": loss}

    while training.done < training.total:
        steps = min(STEPS, training.per_epoch - training.done % training.per_epoch)
        loss += training.advance(steps)["loss"] * steps / training.per_epoch
        if training.done % training.per_epoch == 0:
            logs = with_floor(
                member(training.classifier).log_probabilities(test_x), floor
            )
            epoch = {
                "epoch": training.done // training.per_epoch,
                "training_loss": loss,
            }
            curve.append(epoch | epoch_figures(logs, null, test_y, codes))
            loss = 0.0
        on_steps(training.done / training.total, state_now)
    return pd.DataFrame(curve)


def epoch_figures(
    logs: np.ndarray, null: np.ndarray, y: np.ndarray, groups: np.ndarray
) -> dict[str, float]:
    """The metrics of one epoch. logs [n, classes]: with the input; null [n]: of the
    true class without an input.
    """
    informed = logs[np.arange(len(y)), y]
    pvi = (informed - null) / NATS_PER_BIT
    figures = {
        "v_information_bits": pvi.mean(),
        "standard_error_bits": clustered_error(pvi, groups),
        "H_yb": -null.mean() / NATS_PER_BIT,
        "H_yxb": -informed.mean() / NATS_PER_BIT,
        "accuracy": (logs.argmax(axis=1) == y).mean(),
    }
    return {name: float(value) for name, value in figures.items()} | {"n": len(y)}


def lexical_logistic() -> Sklearn:
    """Logistic regression on TF-IDF weights of `features` in at least three training
    texts, with |weights|^2 / 2 added to the summed loss, after the lexicalised
    classifier of Bowman et al. 2015 (section 3.2).

    In a bag of all words the premise would dominate the hypothesis; here only words
    relative to the hypothesis are used.
    """
    words = TfidfVectorizer(analyzer=features, min_df=3, sublinear_tf=True)
    steps = [("features", words), ("classifier", LogisticRegression(max_iter=1000))]
    return Sklearn(Pipeline(steps), "lexical-logistic(penalty=1)")


def features(text: str) -> list[str]:
    """Words and word pairs of the hypothesis, its words that are not in the premise,
    each of these combined with every word of the premise that is not in the hypothesis,
    and their number.
    """
    premise, hypothesis = (
        [token.casefold() for token in tokens(side)] for side in sides(text)
    )
    words = [f"word {word}" for word in hypothesis]
    words += [
        f"neighbours {first} {second}"
        for first, second in itertools.pairwise(hypothesis)
    ]
    if not premise:
        return words
    new = [word for word in hypothesis if word not in set(premise)]
    left = set(premise) - set(hypothesis)
    words += [f"new {word}" for word in new]
    words += [
        f"cross {word} {other}"
        for word, other in itertools.product(sorted(set(new)), sorted(left))
    ]
    quarters = round(4 * len(new) / max(1, len(hypothesis)))
    return [*words, f"count {min(len(new), MAX_NEW)}", f"quarters {quarters}"]
