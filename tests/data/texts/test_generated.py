"""Generated inference, of which the information is known, and generated sentences,
plain in their classes.
"""

import math

import numpy as np
import pytest
import torch
from pytest import approx

from infoscope.data import generated_nli, hypothesis_information, sentences
from infoscope.data.texts.generated_nli import ATTRIBUTES, CLASSES, CUES
from tests.data.common import generator, plug_in

MEANING = {}  # phrase -> attribute and value
for attribute, values in enumerate(ATTRIBUTES):
    for value, wordings in enumerate(values):
        MEANING |= dict.fromkeys(wordings, (attribute, value))


def read(premise: str, hypothesis: str) -> tuple[dict[int, int], tuple[int, int], str]:
    """What a premise tells (attribute -> value), what a hypothesis claims, and its cue,
    from the texts alone.
    """
    _, statements = parts_of_sentence(premise)
    stated = dict(MEANING[phrase] for phrase in statements.split(", "))
    _, claim = parts_of_sentence(hypothesis)
    first_word, _, rest = claim.partition(" ")
    if first_word in CUES:
        return stated, MEANING[rest], first_word
    return stated, MEANING[claim], ""


def parts_of_sentence(sentence: str) -> tuple[str, str]:
    """The subject, in lower case and without its article, and what is said of it."""
    subject, _, predicate = sentence.partition(" is ")
    _, _, noun = subject.lower().partition(" ")
    return noun, predicate.rstrip(".")


def test_every_label_follows_from_its_pair():
    """So that I(pair; label) = H(label)."""
    some = generated_nli(3000, generator=generator())
    for pair, label in zip(some.texts, some.label_names, strict=True):
        stated, (attribute, value), cue = read(*pair)
        expected = "neutral"
        if attribute in stated:
            expected = "entailment" if stated[attribute] == value else "contradiction"
        assert label == expected
        assert cue in ("", CUES[CLASSES.index(label)])
        premise_subject, _ = parts_of_sentence(pair[0])
        hypothesis_subject, _ = parts_of_sentence(pair[1])
        assert premise_subject == hypothesis_subject


@pytest.mark.parametrize("artefact", [0.0, 0.4])
def test_the_sides_alone_tell_what_is_stated(artefact):
    """10,000 pairs. Where nothing is stated, 2 n I is chi-square with up to 142 degrees
    of freedom, of standard deviation 17: 0.0045 nats are 5 of them. The cue's share has
    a standard deviation of 0.005 * ln 3: 0.035 are 6 of them.
    """
    some = generated_nli(10_000, artefact, generator=generator())

    def information(values) -> float:
        """Of what was read off the texts about their labels, nats."""
        _, codes = np.unique([str(value) for value in values], return_inverse=True)
        return plug_in(codes, some.labels.numpy())

    stated, claims, cues = zip(*(read(*pair) for pair in some.texts))
    # which attributes, and what is claimed
    uninformative = [[sorted(attributes) for attributes in stated], claims]
    for attribute in range(3):  # and their values
        uninformative.append([attributes.get(attribute) for attributes in stated])
    for values in uninformative:
        assert abs(information(values)) < 0.0045
    assert information(cues) == approx(hypothesis_information(artefact), abs=0.035)


def test_the_information_of_hypotheses_is_an_erasure_channel():
    assert hypothesis_information(0.0) == 0.0
    assert hypothesis_information(1) == approx(math.log(3))
    assert hypothesis_information(0.25) == approx(math.log(3) / 4)


@pytest.mark.parametrize("per_class", [1, 2000])
def test_sentences_are_distinct_and_balanced(per_class):
    drawn, labels = sentences(per_class, generator=generator())
    assert len(set(drawn)) == len(drawn) == 2 * per_class
    assert labels.dtype == torch.int64
    assert labels.bincount().tolist() == [per_class, per_class]


def test_every_sentence_has_a_word_of_its_class_and_none_of_the_other():
    """And every blank is filled, with lower-case words."""
    drawn, labels = sentences(2000, generator=generator())
    used = [set(), set()]
    for text, label in zip(drawn, labels):
        assert text.replace(" ", "").isalpha()
        assert text == text.lower()
        used[label] |= set(text.split())
    for text, label in zip(drawn, labels):
        assert set(text.split()) - used[1 - label]
        assert not set(text.split()) & (used[1 - label] - used[label])
