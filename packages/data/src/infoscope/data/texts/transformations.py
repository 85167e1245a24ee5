"""Transformations of labelled texts, each of which keeps one attribute of the input (Ethayarajh et al. 2022, table 7).

The V-information of a transformed input shows how informative that attribute is about the label. Tokens are words and
single punctuation marks, compared without case. By name: `transformed`, TRANSFORMATIONS. To slice by: `lengths`,
`overlap_lengths`, `overlap_fractions`.
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
_LEVELS = ((0.25, "none"), (0.5, "low"), (0.75, "medium"))  # below these shares of the hypothesis; from .75 on "high"

_TOKEN = re.compile(r"\[MASK\]|\w+(?:['’]\w+)*|[^\w\s]")


def tokens(text: str) -> list[str]:
    """The words and single punctuation marks of a text; [MASK] is one."""
    return _TOKEN.findall(text)


def standard(texts: Texts) -> list[str]:
    """Pairs as "PREMISE: ... HYPOTHESIS: ...", single texts as they are; blanks around them are dropped."""
    return _each(texts, str.strip)


def sides(text: str) -> tuple[str, str]:
    """The premise and the hypothesis of a text with headers, "" for a missing one; without headers: a hypothesis."""
    headed = f"{text} "  # a side of which nothing is left may have lost its blank
    if not headed.startswith((f"{PREMISE}: ", f"{HYPOTHESIS}: ")):
        return "", text
    premise, _, hypothesis = headed.removeprefix(f"{PREMISE}: ").partition(f"{HYPOTHESIS}: ")
    return premise.strip(), hypothesis.strip()


def null(texts: Texts) -> list[str]:
    """A single space for every text (some tokenizers fail on the empty string)."""
    return [" "] * len(texts)


def shuffled(texts: Texts, generator: torch.Generator) -> list[str]:
    """The tokens of a text, or of each text of a pair, in a random order drawn from the generator."""

    def shuffle(text: str) -> str:
        import torch  # takes seconds

        found = tokens(text)
        order = torch.randperm(len(found), generator=generator, device=generator.device).tolist()
        return " ".join(found[place] for place in order)

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

    def masked(text: str, common: set[str]) -> str:
        return " ".join(one if one.casefold() in common else _MASK for one in tokens(text))

    common = [_types(premise) & _types(hypothesis) for premise, hypothesis in _pairs(pairs)]
    return standard([(masked(one, shared), masked(other, shared)) for (one, other), shared in zip(pairs, common)])


def overlap_level(pairs: Texts) -> list[str]:
    """The share of the hypothesis' tokens that the premise has: none, low, medium, high (from .25, .5, .75 on)."""
    fractions = overlap_fractions(pairs)
    return [next((level for bound, level in _LEVELS if fraction < bound), "high") for fraction in fractions]


TRANSFORMATIONS: dict[str, Callable[[Texts], list[str]]] = {
    "std": standard,
    "null": null,
    "length": length,
    "hypothesis": hypothesis_only,
    "premise": premise_only,
    "raw_overlap": raw_overlap,
    "overlap": overlap_level,
}
"""Those that take nothing but the texts, by the names of the published results."""


def transformed(name: str, texts: Texts, generator: torch.Generator) -> list[str]:
    """A transformation by name: one of TRANSFORMATIONS, or "shuffled", the only one that draws from the generator.

    Raises ValueError for another name, or for one of pairs when the texts are single.
    """
    one_of("name", name, ("shuffled", *TRANSFORMATIONS))
    return shuffled(texts, generator) if name == "shuffled" else TRANSFORMATIONS[name](texts)


def lengths(texts: Texts) -> np.ndarray:
    """The number of tokens of every text, or of both texts of a pair, int64 [n]."""
    return np.array([sum(len(tokens(side)) for side in ((one,) if isinstance(one, str) else one)) for one in texts])


def overlap_lengths(pairs: Texts) -> np.ndarray:
    """The number of different tokens that both texts of a pair have, int64 [n] (figure 5)."""
    return np.array([len(_types(premise) & _types(hypothesis)) for premise, hypothesis in _pairs(pairs)])


def overlap_fractions(pairs: Texts) -> np.ndarray:
    """The share of the hypothesis' tokens, repeated ones counted, that the premise has: float64 [n]; 0 without any."""

    def share(premise: str, hypothesis: str) -> float:
        there, claimed = _types(premise), tokens(hypothesis)
        return sum(one.casefold() in there for one in claimed) / max(1, len(claimed))

    return np.array([share(premise, hypothesis) for premise, hypothesis in _pairs(pairs)])


def _types(text: str) -> set[str]:
    return {token.casefold() for token in tokens(text)}


def _headed(header: str, text: str) -> str:
    return f"{header}: {text}"


def _each(texts: Texts, change: Callable[[str], str]) -> list[str]:
    """Every text changed; of pairs both texts, premise first, in one text with their headers."""
    return [
        change(one)
        if isinstance(one, str)
        else f"{_headed(PREMISE, change(one[0]))} {_headed(HYPOTHESIS, change(one[1]))}"
        for one in texts
    ]


def _pairs(texts: Texts) -> Sequence[tuple[str, str]]:
    """The texts; ValueError unless they are pairs."""
    if any(isinstance(one, str) for one in texts):
        raise InvalidInput("pairs must be of a premise and a hypothesis, got single texts.")
    return texts
