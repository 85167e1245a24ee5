"""Classifiers of texts: a transformer encoder with a linear head, and how one is fine-tuned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout

from .checks import classes_of, whole
from .classifier_training import ClassifierTraining
from .initialisation import generator_or_default, linear
from .text_encoder import TextEncoder, Texts

DROPOUT = 0.1  # of the vector that the head reads, as in BERT's fine-tuning


class SequenceClassifier(nn.Module):
    """Tells the classes of texts, or of pairs of texts: a `TextEncoder` and a linear head on its vectors.

    Arguments: encoder, the configuration of a TextEncoder; classes, at least 2; generator, of the weights (None: a
    fresh one with seed 0). Raises ValueError as TextEncoder, and for fewer classes.
    """

    def __init__(self, encoder: Mapping[str, Any], classes: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        generator = generator_or_default(generator)
        self.encoder = TextEncoder(**encoder, generator=generator)
        self.head = linear(self.encoder.hidden, whole("classes", classes, 2), generator)
        self.config = {"encoder": self.encoder.config, "classes": classes}

    @classmethod
    def of(cls, encoder: TextEncoder, classes: int, generator: torch.Generator) -> SequenceClassifier:
        """A classifier with a copy of an encoder's weights and a new head, on the CPU."""
        classifier = cls(encoder.config, classes, generator)
        classifier.encoder.load_state_dict(encoder.state_dict())
        return classifier

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        """Logits [n, classes], arguments as the encoder's. While training, the head reads dropped-out vectors."""
        vectors = self.encoder(input_ids, attention_mask, token_type_ids)
        return self.head(dropout(vectors, DROPOUT, self.training))

    def log_probabilities(self, texts: Texts, batch: int = 64) -> Tensor:
        """Log probabilities (nats) of the classes, float [n, classes] on the CPU, in evaluation mode.

        A text's numbers do not depend on the others, so many variants of one text (each without one of its tokens) may
        be asked for at once.
        """
        return self.encoder.read_out(texts, lambda vectors: self.head(vectors).log_softmax(1), batch)

    def embed(self, texts: Texts, batch: int = 64) -> Tensor:
        """The encoder's vectors, float [n, hidden] on the CPU."""
        return self.encoder.embed(texts, batch)


def fine_tune(
    texts: Texts,
    labels: Tensor,
    encoder: TextEncoder,
    generator: torch.Generator,
    *,
    epochs: int = 2,
    batch: int = 32,
    learning_rate: float = 5e-5,
    warm_up: float = 0.1,
    device: torch.device | str = "cpu",
    progress: Callable[[int, float], None] | None = None,
) -> SequenceClassifier:
    """Trains a classifier with a copy of an encoder to tell the classes of texts, as `ClassifierTraining` does.

    labels int64 [n] in 0..classes-1. The default learning rate suits pretrained encoders, one from `small_encoder`
    needs about 1e-3. Every draw is from `generator`, a CPU generator. progress(step, loss) is called after each step,
    counted from 1, with the batch's cross entropy (nats); what it raises ends the training.
    Returns the classifier on `device` in evaluation mode: `embed`, `log_probabilities`.
    Raises ValueError when labels do not match the texts or hold fewer than two classes, and for sizes out of range.
    """
    classifier = SequenceClassifier.of(encoder, classes_of(labels, len(texts), "text"), generator)
    training = ClassifierTraining(
        classifier, texts, labels, generator,
        epochs=epochs, batch=batch, learning_rate=learning_rate, warm_up=warm_up, device=device,
    )  # fmt: skip
    while training.done < training.total:
        step, loss = training.advance(1)
        if progress is not None:
            progress(step, loss)
    return classifier.eval()
