"""Transformations of labelled texts, each of which keeps one attribute of the input
(Ethayarajh et al. 2022, table 7).

The V-information of a transformed input shows how informative that attribute is about
the label. Tokens are words and single punctuation marks, compared without case. By
name: `transformed`, TRANSFORMATIONS. To slice by: `lengths`, `overlap_lengths`,
`overlap_fractions`.
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
    """Pairs as "PREMISE: ... HYPOTHESIS: ...", single texts as they are; blanks around
    them are dropped.
    """
    return _each(texts, str.strip)


def sides(text: str) -> tuple[str, str]:
    """The premise and the hypothesis of a text with headers, "" for a missing one;
    without headers: a hypothesis.
    """
    headed = f"{text} "  # a side of which nothing is left may have lost its blank
    if not headed.startswith((f"{PREMISE}: ", f"{HYPOTHESIS}: ")):
        return "", text
    premise, _, hypothesis = headed.removeprefix(f"{PREMISE}: ").partition(
        f"{HYPOTHESIS}: "
    )
    return premise.strip(), hypothesis.strip()


def null(texts: Texts) -> list[str]:
    """A single space for every text (some tokenizers fail on the empty string)."""
    return [" "] * len(texts)


def shuffled(texts: Texts, generator: torch.Generator) -> list[str]:
    """The tokens of a text, or of each text of a pair, in a random order drawn from the
    generator.
    """

    def shuffle(text):
        import torch  # takes seconds

        words = tokens(text)
        order = torch.randperm(len(words), generator=generator, device=generator.device)
        return " ".join(words[place] for place in order.tolist())

    return _each(texts, shuffle)


def length(texts: Texts) -> list[str]:
    """A "#" for each token, separated by spaces."""
    return _each(texts, lambda text: " ".join("#" for _ in tokens(text)))


def hypothesis_only(pairs: Texts) -> list[str]:
    """The hypotheses, with their header."""
    return [_headed(HYPOTHESIS, hypothesis.strip()) for _, hypothesis in _pairs(pairs)]


def premise_only(pairs: Texts) -> list[str]:
    """The premises, with their header."""
    return [_headed(PREMISE, premise.strip()) for premise, _ in _pairs(pairs)]


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
        words.append(token if token.casefold() in common else _MASK)
    return " ".join(words)


def overlap_level(pairs: Texts) -> list[str]:
    """The share of the hypothesis' tokens that the premise has: none, low, medium, high
    (from .25, .5, .75 on).
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
    """A transformation by name: one of TRANSFORMATIONS, or "shuffled", the only one
    that draws from the generator.

    Raises ValueError for another name, or for one of pairs when the texts are single.
    """
    one_of("name", name, ("shuffled", *TRANSFORMATIONS))
    if name == "shuffled":
        return shuffled(texts, generator)
    return TRANSFORMATIONS[name](texts)


def lengths(texts: Texts) -> np.ndarray:
    """The number of tokens of every text, or of both texts of a pair, int64 [n]."""
    counts = []
    for text in texts:
        parts = [text] if isinstance(text, str) else text
        counts.append(sum(len(tokens(part)) for part in parts))
    return np.array(counts)


def overlap_lengths(pairs: Texts) -> np.ndarray:
    """The number of different tokens that both texts of a pair have, int64 [n] (figure
    5).
    """
    counts = []
    for premise, hypothesis in _pairs(pairs):
        common = _types(premise) & _types(hypothesis)
        counts.append(len(common))
    return np.array(counts)


def overlap_fractions(pairs: Texts) -> np.ndarray:
    """The share of the hypothesis' tokens, repeated ones counted, that the premise has:
    float64 [n]; 0 without any.
    """

    shares = []
    for premise, hypothesis in _pairs(pairs):
        types = _types(premise)
        words = tokens(hypothesis)
        overlap = sum(word.casefold() in types for word in words)
        shares.append(overlap / max(1, len(words)))
    return np.array(shares)


def _types(text: str) -> set[str]:
    return {token.casefold() for token in tokens(text)}


def _headed(header: str, text: str) -> str:
    return f"{header}: {text}"


def _each(texts: Texts, change: Callable[[str], str]) -> list[str]:
    """Every text changed; of pairs both texts, premise first, in one text with their
    headers.
    """
    changed = []
    for text in texts:
        if isinstance(text, str):
            changed.append(change(text))
        else:
            premise = _headed(PREMISE, change(text[0]))
            hypothesis = _headed(HYPOTHESIS, change(text[1]))
            changed.append(f"{premise} {hypothesis}")
    return changed


def _pairs(texts: Texts) -> Sequence[tuple[str, str]]:
    """The texts; ValueError unless they are pairs."""
    if any(isinstance(text, str) for text in texts):
        raise InvalidInput(
            "pairs must be of a premise and a hypothesis, got single texts."
        )
    return texts
