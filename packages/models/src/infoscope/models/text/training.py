"""Fine-tuning of classifiers of texts: one training loop."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from infoscope.checks import require_int, require_number
from infoscope.errors import Conflict, OutOfRange, WrongLength
from infoscope.models.checks import classes_of
from infoscope.models.text.classifier import SequenceClassifier
from infoscope.models.text.encoder import TextEncoder, Texts, drawing_from

_WEIGHT_DECAY = 0.01
_GREATEST_NORM = 1.0  # of the gradient
_SORTED_BATCHES = 32  # within so many batches, texts are sorted by length


class ClassifierTraining:
    """A fine-tuning that can be advanced in pieces, saved, and continued to bit-identical weights on the same machine.

    classifier     trained in place, and moved to the device
    texts, labels  single texts or pairs [n]; int64 [n] in 0..classes-1
    generator      a CPU generator of the order and of the dropout
    epochs, batch  how often every text is seen, how many at once (similar lengths share a batch)
    learning_rate  of AdamW: rises over the first `warm_up` share of all steps, then falls linearly to 0

    `advance(training.per_epoch)` gives curves over epochs. ValueError for labels that do not match, and numbers out of
    range.
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
        fitting = labels.dtype == torch.int64 and labels.shape == (len(texts),)
        if not fitting or not 0 <= labels.min() <= labels.max() < classes:
            raise WrongLength(
                f"labels must be torch.int64 of shape [{len(texts)}], one per text, from 0 to {classes - 1}, "
                f"got {labels.dtype} of shape {list(labels.shape)} with the values {labels.unique().tolist()}."
            )
        if not 0.0 <= warm_up < 1.0:
            raise OutOfRange(f"warm_up must be a share in [0, 1), got {warm_up!r}.")
        require_number("learning_rate", learning_rate, ends=False)
        epochs, self._batch = require_int("epochs", epochs), require_int("batch", batch)
        self.per_epoch = -(-len(texts) // self._batch)
        self.total, self.done = epochs * self.per_epoch, 0
        self.classifier = classifier.to(device)
        self._device = torch.device(device)
        self._labels, self._generator = labels, generator
        self._rate, self._rising = learning_rate, max(1.0, warm_up * self.total)
        self._optimiser = torch.optim.AdamW(
            classifier.parameters(), lr=learning_rate, weight_decay=_WEIGHT_DECAY, fused=True
        )
        self._seed, self._batches = 0, []
        self._settings = {"texts": len(texts), "classes": classes, "steps": self.total, "batch": self._batch}
        self._settings |= {"learning_rate": learning_rate, "warm_up": warm_up}

    def advance(self, steps: int) -> tuple[int, float]:
        """Trains for at most `steps` more: the number done, and their mean cross entropy (nats).

        ValueError when none are left, FloatingPointError when that mean is not finite.
        """
        steps = min(require_int("steps", steps), self.total - self.done)
        if steps == 0:
            raise OutOfRange(f"steps must be more than the {self.done} done, got {self.total}.")
        self.classifier.train()
        loss = sum(self._step() for _ in range(steps)).item() / steps
        if not math.isfinite(loss):
            raise FloatingPointError(f"the training diverged by step {self.done}: its loss is {loss}; lower its rate.")
        return self.done, loss

    def state_dict(self) -> dict[str, Any]:
        """All that a training needs to go on, copied: tensors and plain values, for `torch.save`."""
        state = {"settings": self._settings, "done": self.done, "order": self._seed}
        state |= {"classifier": self.classifier.state_dict(), "optimiser": self._optimiser.state_dict()}
        return copy.deepcopy(state | {"generator": self._generator.get_state()})

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues from a state of a training with the same settings. Raises ValueError for other settings."""
        if state["settings"] != self._settings:
            raise Conflict(f"state must be of a training with {self._settings}, got {state['settings']}.")
        self.done, self._seed = state["done"], state["order"]
        self.classifier.load_state_dict(state["classifier"])
        self._optimiser.load_state_dict(state["optimiser"])
        self._generator.set_state(state["generator"].cpu())
        self._batches = self._epoch()

    def _step(self) -> Tensor:
        """One batch: its mean cross entropy, detached."""
        if self.done % self.per_epoch == 0:
            self._seed = int(torch.randint(2**62, (), generator=self._generator))
            self._batches = self._epoch()
        rows = self._batches[self.done % self.per_epoch]
        tokens = self.classifier.encoder.padded([self._tokens[row] for row in rows.tolist()])
        falling = (self.total - self.done) / max(1.0, self.total - self._rising)
        for group in self._optimiser.param_groups:
            group["lr"] = self._rate * min((self.done + 1) / self._rising, falling)
        with drawing_from(self._generator, self._device):
            logits = self.classifier(**{name: values.to(self._device) for name, values in tokens.items()})
        loss = cross_entropy(logits, self._labels[rows].to(self._device))
        self._optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.classifier.parameters(), _GREATEST_NORM)
        self._optimiser.step()
        self.done += 1
        return loss.detach()

    def _epoch(self) -> list[Tensor]:
        """The rows of every batch of this epoch. They follow from a seed, so that a state need not hold them."""
        generator = torch.Generator().manual_seed(self._seed)
        lengths = torch.tensor([len(ids) for ids, _ in self._tokens])
        order = torch.randperm(len(lengths), generator=generator)
        batches = []
        for chunk in order.split(_SORTED_BATCHES * self._batch):
            batches += chunk[lengths[chunk].argsort(stable=True)].split(self._batch)
        return [batches[place] for place in torch.randperm(len(batches), generator=generator).tolist()]


def fine_tune(
    texts: Texts,
    labels: Tensor,
    encoder: TextEncoder,
    generator: torch.Generator,
    *,
    progress: Callable[[int, float], None] | None = None,
    **settings: Any,
) -> SequenceClassifier:
    """A classifier trained with a copy of an encoder, on `device` in evaluation mode; settings of `ClassifierTraining`.

    The default learning rate suits pretrained encoders; `small_encoder` needs about 1e-3. progress(step, loss) is
    called after each step, loss in nats. ValueError when labels do not match or are of one class, and for sizes out of
    range.
    """
    classifier = SequenceClassifier.of(encoder, classes_of(labels, len(texts), "text"), generator)
    training = ClassifierTraining(classifier, texts, labels, generator, **settings)
    while training.done < training.total:
        step, loss = training.advance(1)
        if progress is not None:
            progress(step, loss)
    return classifier.eval()
