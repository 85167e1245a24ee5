"""Text classifiers of Hugging Face's transformers as predictive families.

Source: Ethayarajh et al. 2022, algorithm 1.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import transformers
from scipy.special import log_softmax
from torch.nn import functional

from infoscope.errors import InvalidInput, WrongType
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.families.distributions import Categorical, without_input
from infoscope.estimators.families.protocol import CLASSES, Predictor, needed

Texts = Sequence[str] | Sequence[tuple[str, str]]


@dataclass(frozen=True, eq=False)
class TextClassifier:
    """A transformer with a linear head, fine-tuned by AdamW for `epochs`.

    It predicts from texts, or from pairs of texts, on the device of the model.

    model, tokenizer  of transformers; every training set starts from the model's weights and a new head
    epochs            0: the model as it is; its outputs must be in the order of the sorted labels
    max_length        in tokens
    """

    model: transformers.PreTrainedModel
    tokenizer: Callable[..., Any]
    epochs: int = 2
    batch: int = 32
    learning_rate: float = 5e-5
    max_length: int = 128
    outcomes = (CLASSES,)

    @classmethod
    def of(cls, value: Any) -> TextClassifier:
        """A classifier from a pair (model, tokenizer), or from a pipeline.

        A pair is fine-tuned; a text-classification pipeline is not. ValueError for
        other values.
        """
        if isinstance(value, transformers.TextClassificationPipeline):
            return cls(value.model, value.tokenizer, epochs=0)
        model, tokenizer = value if isinstance(value, tuple) else (value, None)
        if not isinstance(model, transformers.PreTrainedModel) or not callable(
            tokenizer
        ):
            raise WrongType(
                "family must be a text-classification pipeline or (model, "
                f"tokenizer), got {value!r}."
            )
        return cls(model, tokenizer)

    @property
    def name(self) -> str:
        settings = "as it is"
        if self.epochs:
            settings = (
                f"epochs={self.epochs}, batch={self.batch}, rate={self.learning_rate:g}"
            )
        model = self.model.name_or_path or type(self.model).__name__
        return f"text-classifier({model}, {settings}, max_length={self.max_length})"

    def fit(self, x: Any, y: np.ndarray, classes: int | None = None, groups: np.ndarray | None = None,
            generator: np.random.Generator | None = None) -> Predictor:  # fmt: skip
        if x is None:
            return without_input(y, needed(classes))
        model = self.model
        if self.epochs:
            model = self._fine_tuned(
                as_texts(x),
                torch.as_tensor(y),
                needed(classes),
                generator_or_default(generator),
            )
        elif model.config.num_labels != classes:
            raise InvalidInput(
                f"y must have the model's {model.config.num_labels} classes, got "
                f"{classes}."
            )

        def predict(texts: Texts) -> np.ndarray:
            texts = as_texts(texts)
            parts = [
                texts[start : start + self.batch]
                for start in range(0, len(texts), self.batch)
            ]
            with torch.no_grad():
                scores = torch.cat([self._scores(model.eval(), part) for part in parts])
            return log_softmax(scores.double().cpu().numpy(), axis=1)

        return Categorical(predict)

    def _scores(
        self,
        model: transformers.PreTrainedModel,
        texts: Sequence[str | tuple[str, str]],
    ) -> torch.Tensor:
        """The log odds [n, classes] of texts."""
        columns = (
            [list(texts)]
            if isinstance(texts[0], str)
            else [list(column) for column in zip(*texts)]
        )
        tokens = self.tokenizer(
            *columns,
            padding=True,
            truncation=True,
            max_length=self.max_length,
            return_tensors="pt",
        )
        return model(**tokens.to(model.device)).logits

    def _fine_tuned(
        self,
        texts: Texts,
        y: torch.Tensor,
        classes: int,
        generator: np.random.Generator,
    ) -> transformers.PreTrainedModel:
        """A new classifier that starts from the model's weights.

        The global generator of torch is seeded here, and then restored.
        """
        device = self.model.device
        with torch.random.fork_rng(devices=[] if device.type == "cpu" else None):
            torch.manual_seed(int(generator.integers(2**63)))
            config = copy.deepcopy(self.model.config)
            config.num_labels = classes
            config.problem_type = "single_label_classification"
            model = transformers.AutoModelForSequenceClassification.from_config(
                config
            ).to(device)
            model.base_model.load_state_dict(
                self.model.base_model.state_dict(), strict=False
            )
            optimiser = torch.optim.AdamW(
                model.train().parameters(), lr=self.learning_rate
            )
            for _ in range(self.epochs):
                for rows in torch.randperm(len(y)).split(self.batch):
                    optimiser.zero_grad()
                    scores = self._scores(model, [texts[int(i)] for i in rows])
                    functional.cross_entropy(scores, y[rows].to(device)).backward()
                    optimiser.step()
        return model


def as_texts(x: Any) -> Texts:
    """Texts, or pairs of texts, as a list. ValueError for anything else."""
    items = [tuple(item) if isinstance(item, tuple | list) else (item,) for item in x]
    if not items or not all(isinstance(part, str) for item in items for part in item):
        raise WrongType(f"x must be texts, or pairs of texts, got {type(x).__name__}.")
    return list(x)
