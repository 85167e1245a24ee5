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
    """An encoder of sentences: mean of word embeddings, one hidden layer (ReLU), tanh.
    Initial weights are 0.

    Parameters
    ----------
    vocabulary
        Distinct lower-case words.
    width
        Length of the encoding, whose values are in (-1, 1).

    Raises
    ------
    ValueError
        For an empty vocabulary or a repeated word, and for a width below 1.

    Examples
    --------
    >>> encoder = SentenceEncoder(["good", "film"], width=4)
    >>> encoder.frequencies(["a good good film"])
    tensor([[0.6667, 0.3333]])
    """

    def __init__(self, vocabulary: Sequence[str], width: int = 64) -> None:
        super().__init__()
        distinct = len(set(vocabulary))
        if not vocabulary or distinct < len(vocabulary):
            raise InvalidInput(
                "vocabulary must be one or more distinct words, got "
                f"{len(vocabulary)} words of which "
                f"{distinct} are distinct."
            )
        self.config = {
            "vocabulary": list(vocabulary),
            "width": require_int("width", width),
        }
        self._columns = {word: column for column, word in enumerate(vocabulary)}
        self.embedding = _zero_linear(len(vocabulary), width, bias=False)
        self.hidden = _zero_linear(width, width)
        self.output = _zero_linear(width, width)

    def forward(self, frequencies: Tensor) -> Tensor:
        """The encoding [n, width] of word `frequencies` [n, words]."""
        embedding = self.embedding(frequencies)
        hidden = torch.relu(self.hidden(embedding))
        return torch.tanh(self.output(hidden))

    def frequencies(self, sentences: Sequence[str]) -> Tensor:
        """Shares of words among each sentence's known words, float32 [n, words] on the
        CPU. ValueError without any.
        """
        cells: list[tuple[int, int]] = []
        for row, sentence in enumerate(sentences):
            for word in words(sentence):
                if word in self._columns:
                    cells.append((row, self._columns[word]))
        rows, columns = torch.tensor(cells, dtype=torch.int64).view(-1, 2).T
        counts = torch.zeros(len(sentences), len(self._columns))
        counts.index_put_((rows, columns), torch.ones(len(cells)), accumulate=True)
        totals = counts.sum(1, keepdim=True)
        if not totals.all():
            unknown = sentences[int(totals.argmin())]
            raise InvalidInput(
                "sentences must each have a word of the vocabulary, unlike "
                f"{unknown!r}."
            )
        return counts / totals

    @torch.no_grad()
    def encode(self, sentences: Sequence[str]) -> Tensor:
        """Embeds sentences: float32 [n, width], values in [-1, 1]. ValueError when a
        sentence has no known word.
        """
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
    """An encoder trained with a discarded linear head to classify sentences (Adam,
    cross entropy, on the CPU).

    Parameters
    ----------
    sentences, labels
        Texts [n] and their classes, int64 [n] in 0..classes-1.
    generator
        CPU generator of every draw.
    width
        Length of the encoding.
    steps, batch, learning_rate
        Steps of the optimiser, sentences per step, rate of Adam.

    Raises
    ------
    ValueError
        When labels do not match or are of a single class.
    """
    classes = classes_of(labels, len(sentences), "sentence")
    vocabulary: set[str] = set()
    for sentence in sentences:
        vocabulary.update(words(sentence))
    encoder = SentenceEncoder(sorted(vocabulary), width)
    head = _zero_linear(width, classes)
    nn.init.normal_(encoder.embedding.weight, generator=generator)
    for layer in (encoder.hidden, encoder.output, head):
        draw_uniform(layer, generator)
    frequencies = encoder.frequencies(sentences)
    optimiser = torch.optim.Adam(
        [*encoder.parameters(), *head.parameters()], lr=learning_rate
    )
    for _ in range(steps):
        rows = torch.randint(len(labels), (batch,), generator=generator)
        logits = head(encoder(frequencies[rows]))
        loss = cross_entropy(logits, labels[rows])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return encoder.eval()


def _zero_linear(inputs: int, outputs: int, bias: bool = True) -> nn.Linear:
    """A linear layer of zeros, without draws from torch's global generator."""
    layer = nn.utils.skip_init(nn.Linear, inputs, outputs, bias=bias)
    assert isinstance(layer, nn.Linear)
    for parameter in layer.parameters():
        nn.init.zeros_(parameter)
    return layer


def classes_of(labels: Tensor, n: int, item: str) -> int:
    """The number of classes of labels int64 [n]; ValueError unless they are 0, 1, ...,
    two or more, one per item.
    """
    if labels.dtype != torch.int64 or labels.shape != (n,):
        raise WrongLength(
            f"labels must be torch.int64 of shape [{n}], one per {item}, "
            f"got {labels.dtype} of shape {list(labels.shape)}."
        )
    classes = labels.unique().tolist()
    if len(classes) < 2 or classes != list(range(len(classes))):
        raise NoVariation(
            f"labels must be 0, 1, ... for at least two classes, got {classes}."
        )
    return len(classes)
