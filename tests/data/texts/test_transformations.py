"""Transformations: the published example, what each keeps, and what is refused."""

from infoscope.data.texts.transformations import (
    TRANSFORMATIONS,
    hypothesis_only,
    length,
    lengths,
    null,
    overlap_fractions,
    overlap_lengths,
    overlap_level,
    premise_only,
    raw_overlap,
    shuffled,
    sides,
    standard,
    tokens,
    transformed,
)
from tests.data.common import generator

# The instance of table 7 of Ethayarajh et al. 2022.
PREMISE = "Two girls kissing a man with a black shirt and brown hair on the cheeks."
HYPOTHESIS = "Two girls kiss."
MASKED = (
    f"PREMISE: Two girls {' '.join(['[MASK]'] * 13)} . HYPOTHESIS: Two girls [MASK] ."
)
PAIRS = [(PREMISE, HYPOTHESIS)]
OVERLAPPING = [
    ("The dog runs", "the DOG sleeps now"),
    ("a b", "c d"),
    ("x y", "x X y"),
    ("so", ""),
]
OVERLAP_MASKED = "PREMISE: The dog [MASK] HYPOTHESIS: the DOG [MASK] [MASK]"
QUARTERS = [
    ("a b c d", claim)
    for claim in ("w x y z a", "a x y z", "a b y z", "a b c z", "a b c d")
]
SINGLE = ["Don't stop, stop it!", "Yes"]


def test_the_published_example():
    assert standard(PAIRS) == [f"PREMISE: {PREMISE} HYPOTHESIS: {HYPOTHESIS}"]
    assert hypothesis_only(PAIRS) == [f"HYPOTHESIS: {HYPOTHESIS}"]
    assert premise_only(PAIRS) == [f"PREMISE: {PREMISE}"]
    assert raw_overlap(PAIRS) == [MASKED]


def test_tokens_are_words_and_marks():
    assert tokens(SINGLE[0]) == ["Don't", "stop", ",", "stop", "it", "!"]
    assert lengths(SINGLE).tolist() == [6, 1]
    assert lengths(PAIRS).tolist() == [16 + 4]
    assert length(SINGLE) == ["# # # # # #", "#"]
    assert length([("a b.", "c")]) == ["PREMISE: # # # HYPOTHESIS: #"]


def test_sides_are_taken_apart_again():
    assert sides(standard(PAIRS)[0]) == PAIRS[0]
    assert sides(hypothesis_only(PAIRS)[0]) == ("", HYPOTHESIS)
    assert sides(premise_only(PAIRS)[0]) == (PREMISE, "")
    assert sides("No PREMISE: here") == ("", "No PREMISE: here")
    assert sides("PREMISE: ab HYPOTHESIS:") == ("ab", "")  # nothing left of it
    assert tokens(sides(raw_overlap(PAIRS)[0])[1]) == ["Two", "girls", "[MASK]", "."]


def test_null_is_one_space_for_every_text_and_the_standard_form_leaves_single_texts():
    assert null(SINGLE) == [" ", " "]
    assert standard([" Yes "]) == ["Yes"]


def test_shuffling_keeps_the_tokens_of_each_side():
    words = [f"w{place}" for place in range(20)]
    pair = (" ".join(words), " ".join(words[::-1]))
    (text,) = shuffled([pair], generator())
    for side, original in zip(sides(text), pair):
        assert side != original  # the same order: 1 in 20!
        assert sorted(side.split()) == sorted(words)
    assert shuffled([pair], generator()) == [text]


def test_overlap_counts_without_regard_to_case():
    assert overlap_lengths(OVERLAPPING).tolist() == [2, 0, 2, 0]
    assert overlap_fractions(OVERLAPPING).tolist() == [0.5, 0.0, 1.0, 0.0]
    assert raw_overlap(OVERLAPPING)[0] == OVERLAP_MASKED
    assert overlap_level(QUARTERS) == ["none", "low", "medium", "high", "high"]


def test_every_transformation_keeps_the_number_of_texts_and_its_input():
    pairs = [*PAIRS, ("A cat.", "An animal.")]
    before = list(pairs)
    for name in (*TRANSFORMATIONS, "shuffled"):
        changed = transformed(name, pairs, generator())
        assert len(changed) == 2, name
        assert all(changed), name
    assert pairs == before
