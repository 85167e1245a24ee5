"""Classifiers of texts: a transformer encoder with a linear head; their fine-tuning."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, dropout

from infoscope.checks import require_int, require_number
from infoscope.errors import OutOfRange, WrongLength
from infoscope.models.initialisation import generator_or_default, linear
from infoscope.models.text.encoder import TextEncoder, Texts, drawing_from
from infoscope.models.text.sentence_encoder import classes_of
from infoscope.models.training import Training


class SequenceClassifier(nn.Module):
    """A classifier of texts, or of pairs of texts: a `TextEncoder` and a linear head.

    Parameters
    ----------
    encoder
        The configuration of a TextEncoder.
    classes
        Number of classes.
    generator
        CPU generator of the initial weights; None: seed 0.

    Raises
    ------
    ValueError
        As TextEncoder, and below 2 classes.
    """

    def __init__(
        self,
        encoder: Mapping[str, Any],
        classes: int,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        generator = generator_or_default(generator)
        self.encoder = TextEncoder(**encoder, generator=generator)
        self.head = linear(
            self.encoder.hidden, require_int("classes", classes, 2), generator
        )
        self.config = {"encoder": self.encoder.config, "classes": classes}

    @classmethod
    def of(
        cls, encoder: TextEncoder, classes: int, generator: torch.Generator
    ) -> SequenceClassifier:
        """A classifier with a copy of an encoder's weights and a new head, on the CPU."""
        classifier = cls(encoder.config, classes, generator)
        classifier.encoder.load_state_dict(encoder.state_dict())
        return classifier

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        token_type_ids: Tensor | None = None,
    ) -> Tensor:
        """Logits [n, classes]; arguments as of the encoder. In training mode with
        dropout before the head.
        """
        vectors = self.encoder(input_ids, attention_mask, token_type_ids)
        # the rate of BERT's fine-tuning
        return self.head(dropout(vectors, 0.1, self.training))

    def log_probabilities(self, texts: Texts, batch: int = 64) -> Tensor:
        """Log probabilities (nats) of the classes, float [n, classes] on the CPU, in
        evaluation mode.
        """

        def log_softmax(vectors: Tensor) -> Tensor:
            return self.head(vectors).log_softmax(1)

        return self.encoder.read_out(texts, log_softmax, batch)


class ClassifierTraining(Training):
    """The interruptible fine-tuning of a classifier (see `Training`);
    `advance(training.per_epoch)` trains an epoch.

    Parameters
    ----------
    classifier
        Trained in place, and moved to the device.
    texts, labels
        Single texts or pairs [n]; int64 [n] in 0..classes-1.
    generator
        CPU generator of the order and of the dropout.
    epochs, batch
        Passes over the texts, and texts per step (of similar lengths).
    learning_rate
        Of AdamW: rises over the first `warm_up` share of all steps, then falls linearly
        to 0.
    device
        Device of the computation.

    Raises
    ------
    ValueError
        For labels that do not match, and numbers out of range.
    """

    def __init__(
        self,
        classifier: SequenceClassifier,
        texts: Texts,
        labels: Tensor,
        generator: torch.Generator,
        *,
        epochs: int = 2,
        batch: int = 32,
        learning_rate: float = 5e-5,
        warm_up: float = 0.1,
        device: torch.device | str = "cpu",
    ) -> None:
        classes = classifier.config["classes"]
        self._tokens = classifier.encoder.tokens(texts)
        count = len(texts)
        integers = labels.dtype == torch.int64 and labels.shape == (count,)
        if not integers or labels.min() < 0 or labels.max() >= classes:
            raise WrongLength(
                f"labels must be torch.int64 of shape [{count}], one per text, from 0 "
                f"to {classes - 1}, "
                f"got {labels.dtype} of shape {list(labels.shape)} with the values "
                f"{labels.unique().tolist()}."
            )
        if not 0.0 <= warm_up < 1.0:
            raise OutOfRange(f"warm_up must be a share in [0, 1), got {warm_up!r}.")
        require_number("learning_rate", learning_rate, ends=False)
        epochs = require_int("epochs", epochs)
        self._batch = require_int("batch", batch)
        per_epoch = math.ceil(count / self._batch)
        total = epochs * per_epoch
        self.classifier = classifier.to(device)
        self._device = torch.device(device)
        self._labels = labels
        self._rate = learning_rate
        self._rising = max(1.0, warm_up * total)
        self._optimiser = torch.optim.AdamW(
            classifier.parameters(), lr=learning_rate, weight_decay=0.01, fused=True
        )
        settings = {
            "texts": count,
            "classes": classes,
            "steps": total,
            "batch": self._batch,
        }
        settings |= {"learning_rate": learning_rate, "warm_up": warm_up}
        parts = {"classifier": classifier, "optimiser": self._optimiser}
        super().__init__(total, per_epoch, generator, settings, parts)

    def advance(self, steps: int) -> dict[str, float]:
        """As `Training.advance`; FloatingPointError when the mean loss is not finite."""
        self.classifier.train()
        means = super().advance(steps)
        self.check()
        return means

    def _step(self, rows: Tensor) -> dict[str, Tensor]:
        """One batch: its mean cross entropy."""
        padded = self.classifier.encoder.padded(
            [self._tokens[row] for row in rows.tolist()]
        )
        inputs = {name: values.to(self._device) for name, values in padded.items()}
        rising = (self.done + 1) / self._rising
        falling = (self.total - self.done) / max(1.0, self.total - self._rising)
        for group in self._optimiser.param_groups:
            group["lr"] = self._rate * min(rising, falling)
        with drawing_from(self._generator, self._device):
            logits = self.classifier(**inputs)
        loss = cross_entropy(logits, self._labels[rows].to(self._device))
        self._optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.classifier.parameters(), max_norm=1.0)
        self._optimiser.step()
        return {"loss": loss}

    def _epoch(self) -> list[Tensor]:
        """Texts in random batches of similar length, sorted by length within 32
        batches.
        """
        generator = torch.Generator().manual_seed(self._seed)
        lengths = torch.tensor([len(ids) for ids, _ in self._tokens])
        order = torch.randperm(len(lengths), generator=generator)
        batches: list[Tensor] = []
        for chunk in order.split(32 * self._batch):
            by_length = lengths[chunk].argsort(stable=True)
            batches += chunk[by_length].split(self._batch)
        shuffled = torch.randperm(len(batches), generator=generator)
        return [batches[number] for number in shuffled.tolist()]


def fine_tune(
    texts: Texts,
    labels: Tensor,
    encoder: TextEncoder,
    generator: torch.Generator,
    *,
    progress: Callable[[int, float], None] | None = None,
    epochs: int = 2,
    batch: int = 32,
    learning_rate: float = 5e-5,
    warm_up: float = 0.1,
    device: torch.device | str = "cpu",
) -> SequenceClassifier:
    """A classifier trained with a copy of an encoder, on `device` in evaluation mode.

    Other arguments are described by `ClassifierTraining`.

    Parameters
    ----------
    progress
        progress(step, loss) is called after each step, loss in nats.
    learning_rate
        The default suits pretrained encoders; `small_encoder` needs about 1e-3.

    Raises
    ------
    ValueError
        When labels do not match or are of a single class, and for sizes out of range.
    """
    classes = classes_of(labels, len(texts), "text")
    classifier = SequenceClassifier.of(encoder, classes, generator)
    training = ClassifierTraining(
        classifier, texts, labels, generator, epochs=epochs, batch=batch, learning_rate=learning_rate, warm_up=warm_up,
        device=device,
    )  # fmt: skip
    while training.done < training.total:
        loss = training.advance(1)["loss"]
        if progress is not None:
            progress(training.done, loss)
    return classifier.eval()
