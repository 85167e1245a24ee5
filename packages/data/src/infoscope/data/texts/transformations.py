"""Transformations that keep one attribute of a text (Ethayarajh et al. 2022, table 7).

The V-information of a transformed input shows how informative that attribute is about
the label. Tokens are words and single punctuation marks, compared without case.
`transformed` and TRANSFORMATIONS have them by name. `lengths`, `overlap_lengths` and
`overlap_fractions` are numbers by which a data set can be sliced.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from infoscope.checks import one_of
from infoscope.errors import InvalidInput

if TYPE_CHECKING:
    import torch

Texts = Sequence[str] | Sequence[tuple[str, str]]

PREMISE, HYPOTHESIS = "PREMISE", "HYPOTHESIS"  # the headers
_MASK = "[MASK]"
_LEVELS = ("none", "low", "medium", "high")
_BOUNDS = (0.25, 0.5, 0.75)  # shares of the hypothesis at which the next level begins

_TOKEN = re.compile(r"\[MASK\]|\w+(?:['’]\w+)*|[^\w\s]")


def tokens(text: str) -> list[str]:
    """The words and single punctuation marks of a text; [MASK] is one."""
    return _TOKEN.findall(text)


def standard(texts: Texts) -> list[str]:
    """Pairs as "PREMISE: ... HYPOTHESIS: ...", single texts unchanged; both stripped."""
    return _each(texts, str.strip)


def sides(text: str) -> tuple[str, str]:
    """Premise and hypothesis of a text with headers, "" for a missing one.

    A text without headers is a hypothesis.
    """
    first = f"{PREMISE}: "
    second = f"{HYPOTHESIS}: "
    headed = f"{text} "  # the blank after a header whose text is empty may be lost
    if not headed.startswith((first, second)):
        return "", text
    premise, _, hypothesis = headed.removeprefix(first).partition(second)
    return premise.strip(), hypothesis.strip()


def null(texts: Texts) -> list[str]:
    """A single space for every text (some tokenizers fail on the empty string)."""
    return [" "] * len(texts)


def shuffled(texts: Texts, generator: torch.Generator) -> list[str]:
    """The tokens of a text, or of each text of a pair, in random order."""

    def shuffle(text):
        import torch  # takes seconds

        words = tokens(text)
        device = generator.device
        order = torch.randperm(len(words), generator=generator, device=device)
        return " ".join(words[place] for place in order.tolist())

    return _each(texts, shuffle)


def length(texts: Texts) -> list[str]:
    """A "#" for each token, separated by spaces."""

    def marks(text):
        return " ".join("#" for _ in tokens(text))

    return _each(texts, marks)


def hypothesis_only(pairs: Texts) -> list[str]:
    """The hypotheses, with their header."""
    return [f"{HYPOTHESIS}: {hypothesis.strip()}" for _, hypothesis in _pairs(pairs)]


def premise_only(pairs: Texts) -> list[str]:
    """The premises, with their header."""
    return [f"{PREMISE}: {premise.strip()}" for premise, _ in _pairs(pairs)]


def raw_overlap(pairs: Texts) -> list[str]:
    """Premise and hypothesis, with [MASK] for every token that the other does not have."""
    masked = []
    for premise, hypothesis in _pairs(pairs):
        common = _types(premise) & _types(hypothesis)
        masked.append((_masked(premise, common), _masked(hypothesis, common)))
    return standard(masked)


def _masked(text: str, common: set[str]) -> str:
    """The text with [MASK] for every token whose type is not common."""
    words = []
    for token in tokens(text):
        if token.casefold() not in common:
            token = _MASK
        words.append(token)
    return " ".join(words)


def overlap_level(pairs: Texts) -> list[str]:
    """Share of the hypothesis' tokens in the premise: none, low, medium or high.

    Low begins at .25, medium at .5, high at .75.
    """
    places = np.digitize(overlap_fractions(pairs), _BOUNDS)
    return [_LEVELS[place] for place in places]


TRANSFORMATIONS: dict[str, Callable[[Texts], list[str]]] = {
    "std": standard,
    "null": null,
    "length": length,
    "hypothesis": hypothesis_only,
    "premise": premise_only,
    "raw_overlap": raw_overlap,
    "overlap": overlap_level,
}
"""Transformations without a random draw, by the names of the published results."""


def transformed(name: str, texts: Texts, generator: torch.Generator) -> list[str]:
    """Texts after a transformation: one of TRANSFORMATIONS, or "shuffled".

    Only "shuffled" draws from the generator. UnknownName for another name; InvalidInput
    if the transformation is of pairs and the texts are single.
    """
    one_of("name", name, ("shuffled", *TRANSFORMATIONS))
    if name == "shuffled":
        return shuffled(texts, generator)
    return TRANSFORMATIONS[name](texts)


def lengths(texts: Texts) -> np.ndarray:
    """The number of tokens of every text, or of both texts of a pair, int64 [n]."""
    counts = []
    for text in texts:
        if not isinstance(text, str):
            text = " ".join(text)
        counts.append(len(tokens(text)))
    return np.array(counts)


def overlap_lengths(pairs: Texts) -> np.ndarray:
    """Number of different tokens that both texts of a pair have, int64 [n] (figure 5)."""
    counts = []
    for premise, hypothesis in _pairs(pairs):
        common = _types(premise) & _types(hypothesis)
        counts.append(len(common))
    return np.array(counts)


def overlap_fractions(pairs: Texts) -> np.ndarray:
    """Share of the hypothesis' tokens, with repeats, in the premise: float64 [n].

    It is 0 for a hypothesis without tokens.
    """
    shares = []
    for premise, hypothesis in _pairs(pairs):
        types = _types(premise)
        words = tokens(hypothesis)
        overlap = sum(word.casefold() in types for word in words)
        shares.append(overlap / max(1, len(words)))
    return np.array(shares)


def _types(text: str) -> set[str]:
    """The different tokens of a text, without case."""
    return {token.casefold() for token in tokens(text)}


def _each(texts: Texts, change: Callable[[str], str]) -> list[str]:
    """Every text changed; a pair becomes one text with headers, premise first."""
    changed = []
    for text in texts:
        if isinstance(text, str):
            changed.append(change(text))
            continue
        first, second = text
        premise = change(first)
        hypothesis = change(second)
        changed.append(f"{PREMISE}: {premise} {HYPOTHESIS}: {hypothesis}")
    return changed


def _pairs(texts: Texts) -> list[tuple[str, str]]:
    """The texts; InvalidInput unless they are pairs."""
    pairs = []
    for text in texts:
        if isinstance(text, str):
            raise InvalidInput(
                "pairs must be of a premise and a hypothesis, got single texts."
            )
        pairs.append(text)
    return pairs
