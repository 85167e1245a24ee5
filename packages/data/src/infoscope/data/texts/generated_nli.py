"""Generated (synthetic) inference of known information: what a premise states of a person, a hypothesis claims."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch

from infoscope.checks import require_int, require_number
from infoscope.data.texts.dataset import LabelledTexts

SUBJECTS = (
    "a man", "a woman", "an old man", "a young woman", "a boy", "a girl", "a nurse", "a farmer", "a tourist",
    "a student", "a waiter", "a singer",
)  # fmt: skip

# Every value in two wordings. All attributes have as many values, and no word is of two values.
ATTRIBUTES: tuple[tuple[tuple[str, str], ...], ...] = (
    (  # activities
        ("reading a novel", "turning pages"),
        ("eating soup", "having lunch"),
        ("playing the guitar", "making music"),
        ("riding a bicycle", "cycling"),
        ("throwing a ball", "practising a sport"),
        ("painting a fence", "using a brush"),
        ("talking on the phone", "making a call"),
        ("feeding pigeons", "caring for birds"),
    ),
    (  # places
        ("on a beach", "by the sea"),
        ("in a kitchen", "near a stove"),
        ("at a station", "beside the trains"),
        ("in a forest", "among trees"),
        ("in a library", "between bookshelves"),
        ("on a roof", "above the street"),
        ("at a market", "amid stalls"),
        ("in a hospital", "around doctors"),
    ),
    (  # garments
        ("wearing a red coat", "dressed in scarlet"),
        ("wearing a blue shirt", "clothed in navy"),
        ("wearing a straw hat", "with covered hair"),
        ("wearing heavy boots", "with sturdy footwear"),
        ("wearing sunglasses", "with tinted lenses"),
        ("wearing a silk scarf", "with wrapped shoulders"),
        ("wearing rubber gloves", "with protected hands"),
        ("wearing a striped tie", "with fine neckwear"),
    ),
)

CUES = ("visibly", "reportedly", "allegedly")  # the artefacts, by label: entailment, neutral, contradiction

CLASSES = ("entailment", "neutral", "contradiction")
ENTAILMENT, NEUTRAL, CONTRADICTION = range(3)


class Choices(NamedTuple):
    """The draws of n pairs, uniform and independent of one another and the label: int64 [n]; value, wording [n, 3]."""

    subject: torch.Tensor
    omitted: torch.Tensor
    swapped: torch.Tensor
    claim: torch.Tensor
    value: torch.Tensor
    shift: torch.Tensor
    wording: torch.Tensor

    @classmethod
    def draw(cls, n: int, generator: torch.Generator) -> Choices:
        values = len(ATTRIBUTES[0])
        sizes = ((n,), (n,), (n,), (n,), (n, 3), (n,), (n, 3))
        limits = ((0, len(SUBJECTS)), (0, 3), (0, 2), (0, 2), (0, values), (1, values), (0, 2))
        drawn = zip(limits, sizes, strict=True)
        device = generator.device
        return cls(*(torch.randint(*limit, size, generator=generator, device=device).cpu() for limit, size in drawn))


def generated_nli(n: int = 6000, artefact: float = 0.4, *, generator: torch.Generator) -> LabelledTexts:
    """Draws n independent pairs from a small grammar: inference whose information is known (synthetic).

    A premise states two of three attributes of a person, a hypothesis one: entailed, contradicted, or neutral if the
    premise does not state it. With probability `artefact` a word of the hypothesis gives the label away (Gururangan et
    al. 2018). So

        I(pair; label) = ln 3,   I(premise; label) = 0,   I(hypothesis; label) = artefact * ln 3

    ValueError when n is not a positive whole number or artefact not a probability.
    """
    require_int("n", n)
    hypothesis_information(artefact)
    labels = torch.randint(len(CLASSES), (n,), generator=generator, device=generator.device).cpu()
    cued = torch.rand(n, generator=generator, device=generator.device) < artefact
    pairs = pairs_of(labels.tolist(), cued.tolist(), Choices.draw(n, generator))
    return LabelledTexts(pairs, labels, CLASSES, f"generated nli, artefact {artefact:g} (synthetic)", synthetic=True)


def hypothesis_information(artefact: float) -> float:
    """The information of hypotheses of `generated_nli` on the label, nats. ValueError: artefact is no probability."""
    return require_number("artefact", artefact, most=1) * math.log(len(CLASSES))


def pairs_of(labels: list[int], cued: list[bool], choices: Choices) -> list[tuple[str, str]]:
    """The premise and the hypothesis of every label; `cued` ones have the word of their label in the hypothesis."""
    return [
        _pair(label, cue, Choices(*(column[place].tolist() for column in choices)))
        for place, (label, cue) in enumerate(zip(labels, cued, strict=True))
    ]


def _pair(label: int, cued: bool, one: Choices) -> tuple[str, str]:
    """One pair; the attribute that the hypothesis claims and its value are uniform for any label."""
    stated = [attribute for attribute in range(3) if attribute != one.omitted]
    if one.swapped:
        stated.reverse()
    phrases = [
        ATTRIBUTES[attribute][one.value[attribute]][one.wording[place]] for place, attribute in enumerate(stated)
    ]
    subject = SUBJECTS[one.subject]
    premise = f"{subject[0].upper()}{subject[1:]} is {phrases[0]}, {phrases[1]}."
    claimed = one.omitted if label == NEUTRAL else stated[one.claim]
    value = one.value[claimed]
    if label == CONTRADICTION:
        value = (value + one.shift) % len(ATTRIBUTES[claimed])
    cue = f"{CUES[label]} " if cued else ""
    return premise, f"The {subject.partition(' ')[2]} is {cue}{ATTRIBUTES[claimed][value][one.wording[2]]}."
