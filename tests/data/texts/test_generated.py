"""Generated inference, of which the information is known, and generated sentences, plain in their classes."""

import math

import numpy as np
import pandas as pd
import pytest
import torch

from infoscope.data import generated_nli, hypothesis_information, sentences
from infoscope.data.texts.generated_nli import ATTRIBUTES, CLASSES, CUES
from tests.data.common import generator, plug_in

MEANING = {
    phrase: (attribute, value)
    for attribute, values in enumerate(ATTRIBUTES)
    for value, wordings in enumerate(values)
    for phrase in wordings
}


def read(premise: str, hypothesis: str) -> tuple[dict[int, int], tuple[int, int], str]:
    """What a premise tells (attribute -> value), what a hypothesis claims, and its cue, from the texts alone."""
    told = dict(MEANING[phrase] for phrase in premise.partition(" is ")[2].rstrip(".").split(", "))
    claim = hypothesis.partition(" is ")[2].rstrip(".")
    cue = claim.split()[0] if claim.split()[0] in CUES else ""
    return told, MEANING[claim.removeprefix(cue).strip()], cue


def test_every_label_follows_from_its_pair():
    """So that I(pair; label) = H(label)."""
    some = generated_nli(3000, generator=generator())
    for pair, label in zip(some.texts, some.label_names, strict=True):
        told, (attribute, value), cue = read(*pair)
        truth = "neutral" if attribute not in told else "entailment" if told[attribute] == value else "contradiction"
        assert label == truth
        assert cue in ("", CUES[CLASSES.index(label)])
        subject = pair[1].partition(" is ")[0].removeprefix("The ")
        assert pair[0].lower().partition(" is ")[0].partition(" ")[2] == subject


def information(read_off: list, labels) -> float:
    """Of what was read off the texts about their labels, nats."""
    return plug_in(pd.factorize(np.array([str(one) for one in read_off]))[0], labels)


@pytest.mark.parametrize("artefact", [0.0, 0.4])
def test_the_sides_alone_tell_what_is_stated(artefact):
    """10,000 pairs. Where nothing is told, 2 n I is chi-square with up to 142 degrees of freedom, of standard deviation
    17: 0.0045 nats are 5 of them. The cue's share has a standard deviation of 0.005 * ln 3: 0.035 are 6 of them."""
    some = generated_nli(10_000, artefact, generator=generator())
    labels = some.labels.numpy()
    read_pairs = [read(*pair) for pair in some.texts]
    premises = [sorted(told) for told, _, _ in read_pairs]  # which attributes
    assert abs(information(premises, labels)) < 0.0045
    for attribute in range(3):  # and their values
        assert abs(information([told.get(attribute) for told, _, _ in read_pairs], labels)) < 0.0045
    claims = [hypothesis.replace(cue, "").split(" is ")[1].strip() if cue else hypothesis.split(" is ")[1]
              for (_, hypothesis), (_, _, cue) in zip(some.texts, read_pairs)]  # fmt: skip
    assert abs(information(claims, labels)) < 0.0045
    cues = [cue for _, _, cue in read_pairs]
    assert information(cues, labels) == pytest.approx(hypothesis_information(artefact), abs=0.035)


def test_the_information_of_hypotheses_is_an_erasure_channel():
    assert hypothesis_information(0.0) == 0.0
    assert hypothesis_information(1) == pytest.approx(math.log(3))
    assert hypothesis_information(0.25) == pytest.approx(math.log(3) / 4)


@pytest.mark.parametrize("per_class", [1, 2000])
def test_sentences_are_distinct_and_balanced(per_class):
    drawn, labels = sentences(per_class, generator=generator())
    assert len(set(drawn)) == len(drawn) == 2 * per_class
    assert labels.dtype == torch.int64
    assert labels.bincount().tolist() == [per_class, per_class]


def test_every_sentence_has_a_word_of_its_class_and_none_of_the_other():
    drawn, labels = sentences(2000, generator=generator())
    used = [
        {word for text, label in zip(drawn, labels, strict=True) if label == side for word in text.split()}
        for side in (0, 1)
    ]
    for text, label in zip(drawn, labels.tolist(), strict=True):
        assert set(text.split()) & (used[label] - used[1 - label])
        assert set(text.split()) <= used[label]


def test_every_blank_is_filled():
    drawn, _ = sentences(500, generator=generator())
    assert all(text.replace(" ", "").isalpha() and text == text.lower() for text in drawn)
