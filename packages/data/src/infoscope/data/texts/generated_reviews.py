"""Generated (synthetic) short film reviews, clearly favourable (1) or not (0)."""

from __future__ import annotations

import re
import string
from math import prod

import torch

from infoscope.checks import require_int
from infoscope.data.texts.dataset import LabelledTexts
from infoscope.errors import OutOfRange

SENTIMENTS = ("negative", "positive")

_Slots = dict[str, tuple[str, ...]]

_TEMPLATES = (
    "{opening} the {aspect} {seems} {degree} {quality}",
    "the {aspect} of this {kind} {film} {effect} and the {other} is {quality}",
    "{watched} this {kind} {film} {occasion} and {verdict}",
    "with its {quality} {aspect} and a {judged} ending this {kind} {film} {effect}",
    "{critic} called the {aspect} {quality} and {opening} {verdict}",
)


def _slots(text: str) -> _Slots:
    """Choices of every slot, from lines `slot: choice, choice`.

    A line that is indented further continues the line before it.
    """
    lines = re.sub(r"\n {5,}", " ", text).strip().split("\n")
    slots = {}
    for line in lines:
        name, choices = line.split(":")
        slots[name.strip()] = tuple(map(str.strip, choices.split(",")))
    return slots


_NEUTRAL = _slots(
    """
    opening: all in all, to my mind, after an hour, scene by scene, on a second look, as a whole, from the first
        minute, by the final act, looking back, in the end
    aspect: plot, script, dialogue, lead actor, supporting cast, camera work, pacing, score, editing, direction,
        opening scene, love story, chase, costume design, sound, narration, villain
    other: music, photography, humour, lighting, final scene, casting, setting, tone
    seems: is, seems, feels, looks, turns out
    degree: simply, truly, rather, quite, remarkably, consistently, so very
    kind: small, new, short, two hour, low budget, big studio, black and white, foreign, indie
    film: film, movie, picture, drama, comedy, thriller, western, documentary, sequel
    watched: i watched, we saw, my sister rented, the whole family streamed, two friends caught
    occasion: last night, on a rainy sunday, at the festival, during a long flight, at the local cinema, over
        the weekend, after dinner
    critic: my brother, a colleague, the man beside me, our teacher, everyone there, the local paper
    """
)
_FAVOURABLE = _slots(
    """
    quality: wonderful, brilliant, touching, clever, superb, charming, gripping, delightful, graceful, inspired,
        memorable, witty, radiant, masterful, refreshing
    judged: satisfying, beautiful, perfect, joyous, heartfelt, thrilling
    effect: won me over, shines throughout, deserves every award, kept us smiling, exceeds all hopes, is a
        triumph, rewards every minute
    verdict: loved every moment, left happy and moved, recommend it warmly, would gladly see it again, applauded
        at the credits, enjoyed it immensely, found a new favourite
    """
)
_UNFAVOURABLE = _slots(
    """
    quality: dreadful, clumsy, tedious, lifeless, awful, shallow, dull, incoherent, wooden, stale, forgettable,
        annoying, muddled, amateurish, painful
    judged: pointless, ugly, botched, insulting, hollow, tiresome
    effect: lost me early, falls flat, wastes its talent, bored us to tears, betrays its premise, is a disaster,
        drags without mercy
    verdict: regretted the ticket, walked out halfway, warn against it, would never sit through it twice,
        groaned at the credits, hated most of it, nearly fell asleep
    """
)


def sentences(
    per_class: int = 2000, *, generator: torch.Generator
) -> tuple[list[str], torch.Tensor]:
    """Distinct sentences of generated film reviews, the unfavourable first.

    Parameters
    ----------
    per_class : int
        Sentences of each class.
    generator : torch.Generator
        Random numbers.

    Returns
    -------
    texts : list of str
        2 * per_class sentences.
    labels : torch.Tensor
        int64 [2 * per_class], 1 for favourable.

    Raises
    ------
    OutOfRange
        If per_class is not a positive whole number or exceeds what the grammar can
        generate.

    Examples
    --------
    >>> texts, labels = sentences(2, generator=torch.Generator().manual_seed(0))
    >>> len(texts), labels.tolist()
    (4, [0, 0, 1, 1])
    """
    require_int("per_class", per_class)
    texts: list[str] = []
    for slots in (_NEUTRAL | _UNFAVOURABLE, _NEUTRAL | _FAVOURABLE):
        variants = [_variants(template, slots) for template in _TEMPLATES]
        greatest = len(_TEMPLATES) * min(variants)
        if per_class > greatest:
            raise OutOfRange(
                f"per_class must be at most {greatest}, the number of sentences in "
                f"the grammar, got {per_class}."
            )
        for position, template in enumerate(_TEMPLATES):
            share = (per_class + position) // len(_TEMPLATES)
            count = variants[position]
            order = torch.randperm(count, generator=generator, device=generator.device)
            for index in order[:share].tolist():
                texts.append(_sentence(template, slots, index))
    return texts, torch.arange(2).repeat_interleave(per_class)


def generated_reviews(
    per_class: int = 2000, *, generator: torch.Generator
) -> LabelledTexts:
    """Generated film reviews of `sentences`, shuffled (synthetic).

    I_V(x -> y) is near ln 2 nats.

    Parameters
    ----------
    per_class : int
        Reviews of each class.
    generator : torch.Generator
        Random numbers.

    Returns
    -------
    LabelledTexts
        2 * per_class reviews with the classes negative and positive.

    Raises
    ------
    OutOfRange
        If per_class is not a positive whole number or exceeds what the grammar can
        generate.

    Examples
    --------
    >>> len(generated_reviews(10, generator=torch.Generator().manual_seed(0)))
    20
    """
    texts, labels = sentences(per_class, generator=generator)
    name = "generated reviews (synthetic)"
    reviews = LabelledTexts(texts, labels, SENTIMENTS, name, synthetic=True)
    device = generator.device
    order = torch.randperm(len(texts), generator=generator, device=device)
    return reviews.take(order)


def _fields(template: str) -> list[str]:
    """Names of the slots of a template."""
    return [field for _, field, _, _ in string.Formatter().parse(template) if field]


def _variants(template: str, slots: _Slots) -> int:
    """Number of sentences of a template."""
    return prod(len(slots[field]) for field in _fields(template))


def _sentence(template: str, slots: _Slots, index: int) -> str:
    """The index-th sentence of a template.

    The choices in its slots are the digits of a mixed-radix number.
    """
    words = {}
    for field in _fields(template):
        index, choice = divmod(index, len(slots[field]))
        words[field] = slots[field][choice]
    return template.format(**words)
