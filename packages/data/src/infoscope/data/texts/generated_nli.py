"""Generated (synthetic) inference of known information from statements about persons."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from infoscope.checks import require_int, require_number
from infoscope.data.texts.dataset import LabelledTexts

SUBJECTS = (
    "a man", "a woman", "an old man", "a young woman", "a boy", "a girl", "a nurse", "a farmer", "a tourist",
    "a student", "a waiter", "a singer",
)  # fmt: skip

# Every value in two wordings. All attributes have as many values, and no word is of two
# values.
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

# the artefacts, by label: entailment, neutral, contradiction
CUES = ("visibly", "reportedly", "allegedly")

CLASSES = ("entailment", "neutral", "contradiction")
ENTAILMENT, NEUTRAL, CONTRADICTION = range(3)


class Choices(NamedTuple):
    """Uniform draws for n pairs, independent of one another and of the label.

    They are int64 [n]; `value` and `wording` are [n, 3].
    """

    subject: Tensor
    omitted: Tensor
    swapped: Tensor
    claim: Tensor
    value: Tensor
    shift: Tensor
    wording: Tensor

    @classmethod
    def draw(cls, n: int, generator: torch.Generator) -> Choices:
        """Choices of n pairs from the generator."""
        values = len(ATTRIBUTES[0])
        device = generator.device

        def integers(low, high, *size):
            drawn = torch.randint(low, high, size, generator=generator, device=device)
            return drawn.cpu()

        return cls(
            subject=integers(0, len(SUBJECTS), n),
            omitted=integers(0, 3, n),
            swapped=integers(0, 2, n),
            claim=integers(0, 2, n),
            value=integers(0, values, n, 3),
            shift=integers(1, values, n),
            wording=integers(0, 2, n, 3),
        )


def generated_nli(
    n: int = 6000, artefact: float = 0.4, *, generator: torch.Generator
) -> LabelledTexts:
    """Independent pairs from a small grammar, whose information is known (synthetic).

    A premise states two of three attributes of a person. A hypothesis claims one:
    entailed, contradicted, or neutral if the premise does not state it. With
    probability `artefact` a word of the hypothesis gives the label away (Gururangan et
    al. 2018). So

        I(pair; label) = ln 3,   I(premise; label) = 0,   I(hypothesis; label) = artefact * ln 3

    Parameters
    ----------
    n : int
        Number of pairs.
    artefact : float
        Probability of a word that gives the label away.
    generator : torch.Generator
        Random numbers.

    Returns
    -------
    LabelledTexts
        Pairs with the classes entailment, neutral and contradiction.

    Raises
    ------
    OutOfRange
        If n is not a positive whole number or artefact not a probability.

    Examples
    --------
    >>> pairs = generated_nli(3, generator=torch.Generator().manual_seed(0))
    >>> len(pairs), pairs.of_pairs
    (3, True)
    """
    require_int("n", n)
    hypothesis_information(artefact)
    device = generator.device
    labels = torch.randint(len(CLASSES), (n,), generator=generator, device=device)
    labels = labels.cpu()
    cued = torch.rand(n, generator=generator, device=device) < artefact
    choices = Choices.draw(n, generator)
    pairs = pairs_of(labels.tolist(), cued.tolist(), choices)
    name = f"generated nli, artefact {artefact:g} (synthetic)"
    return LabelledTexts(pairs, labels, CLASSES, name, synthetic=True)


def hypothesis_information(artefact: float) -> float:
    """Information of the hypotheses of `generated_nli` about the label.

    Parameters
    ----------
    artefact : float
        Probability of a word that gives the label away.

    Returns
    -------
    float
        artefact * ln 3, nats.

    Raises
    ------
    OutOfRange
        If artefact is not a probability.

    Examples
    --------
    >>> round(hypothesis_information(0.4), 3)
    0.439
    """
    return require_number("artefact", artefact, most=1) * math.log(len(CLASSES))


def pairs_of(
    labels: list[int], cued: list[bool], choices: Choices
) -> list[tuple[str, str]]:
    """Premise and hypothesis of every label; `cued` hypotheses have the label's word."""
    rows = zip(*[column.tolist() for column in choices])
    pairs = []
    for label, cue, row in zip(labels, cued, rows, strict=True):
        pairs.append(_pair(label, cue, Choices(*row)))
    return pairs


def _pair(label: int, cued: bool, choices: Choices) -> tuple[str, str]:
    """One pair; the claimed attribute and its value are uniform for any label."""
    stated = [attribute for attribute in range(3) if attribute != choices.omitted]
    if choices.swapped:
        stated.reverse()
    phrases = []
    for attribute, wording in zip(stated, choices.wording):
        value = choices.value[attribute]
        phrases.append(ATTRIBUTES[attribute][value][wording])
    subject = SUBJECTS[choices.subject]
    premise = f"{subject[0].upper()}{subject[1:]} is {phrases[0]}, {phrases[1]}."
    claimed = choices.omitted if label == NEUTRAL else stated[choices.claim]
    value = choices.value[claimed]
    if label == CONTRADICTION:
        value = (value + choices.shift) % len(ATTRIBUTES[claimed])
    phrase = ATTRIBUTES[claimed][value][choices.wording[2]]
    if cued:
        phrase = f"{CUES[label]} {phrase}"
    _, _, person = subject.partition(" ")
    return premise, f"The {person} is {phrase}."
