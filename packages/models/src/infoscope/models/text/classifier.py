"""Classifiers of texts: a transformer encoder with a linear head."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout

from infoscope.checks import require_int
from infoscope.models.initialisation import generator_or_default, linear
from infoscope.models.text.encoder import TextEncoder, Texts

_DROPOUT = 0.1  # of the vector that the head reads, as in BERT's fine-tuning


class SequenceClassifier(nn.Module):
    """A `TextEncoder` and a linear head: classes of texts, or of pairs of texts.

    encoder: the configuration of a TextEncoder; generator None: seed 0. ValueError as TextEncoder, and below 2 classes.
    """

    def __init__(self, encoder: Mapping[str, Any], classes: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        generator = generator_or_default(generator)
        self.encoder = TextEncoder(**encoder, generator=generator)
        self.head = linear(self.encoder.hidden, require_int("classes", classes, 2), generator)
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
        return self.head(dropout(vectors, _DROPOUT, self.training))

    def log_probabilities(self, texts: Texts, batch: int = 64) -> Tensor:
        """Log probabilities (nats) of the classes, float [n, classes] on the CPU, in evaluation mode; rows are
        independent.
        """
        return self.encoder.read_out(texts, lambda vectors: self.head(vectors).log_softmax(1), batch)

    def embed(self, texts: Texts, batch: int = 64) -> Tensor:
        """The encoder's vectors, float [n, hidden] on the CPU."""
        return self.encoder.embed(texts, batch)
