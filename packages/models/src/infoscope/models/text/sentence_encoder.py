"""A small encoder of sentences, trained on the corpus to embed."""

from __future__ import annotations

import re
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from infoscope.checks import require_int
from infoscope.errors import InvalidInput, NoVariation, WrongLength
from infoscope.models.initialisation import draw_uniform

_WORD = re.compile(r"[a-z0-9']+")


class SentenceEncoder(nn.Module):
    """Mean of word embeddings, one hidden layer (ReLU), tanh: `width` values in (-1, 1). Initial weights are 0.

    vocabulary: distinct lower-case words. ValueError for an empty one or a repeated word, and for a width below 1.
    """

    def __init__(self, vocabulary: Sequence[str], width: int = 64) -> None:
        super().__init__()
        if not vocabulary or len(set(vocabulary)) < len(vocabulary):
            raise InvalidInput(
                f"vocabulary must be one or more distinct words, got {len(vocabulary)} words of which "
                f"{len(set(vocabulary))} are distinct."
            )
        self.config = {"vocabulary": list(vocabulary), "width": require_int("width", width)}
        self._columns = {word: column for column, word in enumerate(vocabulary)}
        self.embedding = _zero_linear(len(vocabulary), width, bias=False)
        self.hidden = _zero_linear(width, width)
        self.output = _zero_linear(width, width)

    def forward(self, frequencies: Tensor) -> Tensor:
        """The encoding [n, width] of word `frequencies` [n, words]."""
        return torch.tanh(self.output(torch.relu(self.hidden(self.embedding(frequencies)))))

    def frequencies(self, sentences: Sequence[str]) -> Tensor:
        """Shares of words among each sentence's known words, float32 [n, words] on the CPU. ValueError without any."""
        known = [[self._columns[word] for word in words(sentence) if word in self._columns] for sentence in sentences]
        if [] in known:
            raise InvalidInput(
                f"sentences must each have a word of the vocabulary, unlike {sentences[known.index([])]!r}."
            )
        rows = torch.arange(len(known)).repeat_interleave(torch.tensor([len(columns) for columns in known]))
        columns = torch.tensor([column for columns in known for column in columns])
        counts = torch.zeros(len(known), len(self._columns))
        counts.index_put_((rows, columns), torch.ones(len(rows)), accumulate=True)
        return counts / counts.sum(1, keepdim=True)

    @torch.no_grad()
    def encode(self, sentences: Sequence[str]) -> Tensor:
        """Embeds sentences: float32 [n, width], values in [-1, 1]. ValueError when a sentence has no known word."""
        return self(self.frequencies(sentences).to(self.output.weight.device))


def words(sentence: str) -> list[str]:
    """The words of a sentence in lower case, without punctuation."""
    return _WORD.findall(sentence.lower())


def fit_sentence_encoder(
    sentences: Sequence[str],
    labels: Tensor,
    generator: torch.Generator,
    width: int = 64,
    steps: int = 200,
    batch: int = 128,
    learning_rate: float = 3e-3,
) -> SentenceEncoder:
    """Trains an encoder and a discarded linear head to classify sentences (Adam, cross entropy, on the CPU).

    labels int64 [n] in 0..classes-1; a CPU generator of every draw. ValueError when labels do not match or are of one
    class.
    """
    classes = classes_of(labels, len(sentences), "sentence")
    encoder = SentenceEncoder(sorted({word for sentence in sentences for word in words(sentence)}), width)
    head = _zero_linear(width, classes)
    nn.init.normal_(encoder.embedding.weight, generator=generator)
    for layer in (encoder.hidden, encoder.output, head):
        draw_uniform(layer, generator)
    frequencies = encoder.frequencies(sentences)
    optimiser = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=learning_rate)
    for _ in range(steps):
        rows = torch.randint(len(labels), (batch,), generator=generator)
        optimiser.zero_grad()
        cross_entropy(head(encoder(frequencies[rows])), labels[rows]).backward()
        optimiser.step()
    return encoder.eval()


def _zero_linear(inputs: int, outputs: int, bias: bool = True) -> nn.Linear:
    """A linear layer of zeros, without draws from torch's global generator."""
    layer = nn.utils.skip_init(nn.Linear, inputs, outputs, bias=bias)
    for parameter in layer.parameters():
        nn.init.zeros_(parameter)
    return layer


def classes_of(labels: Tensor, n: int, item: str) -> int:
    """The number of classes of labels int64 [n]; ValueError unless they are 0, 1, ..., two or more, one per item."""
    if labels.dtype != torch.int64 or labels.shape != (n,):
        raise WrongLength(
            f"labels must be torch.int64 of shape [{n}], one per {item}, "
            f"got {labels.dtype} of shape {list(labels.shape)}."
        )
    classes = labels.unique()
    if len(classes) < 2 or not torch.equal(classes, torch.arange(len(classes), device=classes.device)):
        raise NoVariation(f"labels must be 0, 1, ... for at least two classes, got {classes.tolist()}.")
    return len(classes)
