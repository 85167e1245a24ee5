"""The answer in words: four cases, in one place, and how each is printed."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng
from pytest import approx

from infoscope.estimators import estimate
from infoscope.estimators.independence import independence_test
from infoscope.estimators.reading.result import Reading
from infoscope.estimators.reading.sentences import (
    NOT_DECIDED_CODE,
    SERIES_HEADLINE,
    finding,
)
from infoscope.notes import Note
from tests.estimators.samples import normal_pairs

ANSWER = Reading(0.03, 0.02, "bits", 640, interval=(0.0, 0.16), p_value=1e-6, grade="A")
SERIES = Note("The rows are a series.", "series")
NOT_DECIDED = Note("The test is not decided.", NOT_DECIDED_CODE)
CASES = [
    (
        "none",
        {"p_value": 0.4},
        "No dependence is detected (p = 0.4): a and b share at most 0.16 bits (95 %, "
        "n = 640).",
    ),
    (
        "weak",
        {},
        "They depend (p = 1e-06), but weakly: a and b share at most 0.16 bits (95 %, "
        "n = 640).",
    ),
    (
        "wide",
        {"interval": (0.0, 3.0)},
        "They depend (p = 1e-06): a and b share at most 3.00 bits (95 %, n = 640).",
    ),
    (
        "untested",
        {"p_value": np.nan},
        "No dependence is detected: a and b share at most 0.16 bits (95 %, n = 640).",
    ),
    (
        "not decided",
        {"p_value": np.nan, "notes": (NOT_DECIDED,)},
        "Not decided whether they depend: a and b share at most 0.16 bits (95 %, n = "
        "640).",
    ),
    (
        "clear",
        {"value": 0.61, "interval": (0.49, 0.92)},
        "0.61 bits (95 %: 0.49 to 0.92) are shared by a and b (n = 640).",
    ),
    (
        "clear, but not to the test",
        {"value": 0.61, "interval": (0.49, 0.92), "p_value": 0.3},
        "0.61 bits (95 %: 0.49 to 0.92) are shared by a and b (n = 640); the test of "
        "independence, of smooth "
        "functions, does not show it (p = 0.3).",
    ),
    (
        "series",
        {"p_value": np.nan, "notes": (SERIES,)},
        f"{SERIES_HEADLINE}: the reading of a and b, 0.03 bits (95 %: 0.00 to 0.16), "
        "is calibrated on rows without "
        "order (n = 640).",
    ),
]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_every_case_has_one_sentence(changed, sentence):
    answer = replace(ANSWER, **changed)
    assert finding(answer, answer.p_value, "a and b", "n = 640") == sentence


def test_a_certain_weak_dependence_is_not_called_none():
    """A tenth of a bit or less among 640 rows: the interval may begin at 0, the p-value
    is small.
    """
    for seed in range(2):
        answer = estimate(*normal_pairs(640, 0.2, seed=seed))
        assert answer.p_value < 0.001
        assert "depend" in repr(answer.bits)
        assert "No dependence" not in repr(answer.bits)


def test_the_p_value_is_that_of_the_test():
    x, y = normal_pairs(300, 0.1)
    assert estimate(x, y).p_value == approx(independence_test(x, y).p_value)
    groups = np.arange(300) // 2
    assert estimate(x, y, groups=groups).p_value == approx(
        independence_test(x, y, groups=groups).p_value
    )


def test_more_columns_than_a_test_of_all_functions_takes():
    generator = default_rng(0)
    x = generator.normal(size=(200, 150))
    assert estimate(x, generator.normal(size=200)).p_value > 0.01
    assert estimate(x, x[:, 3] + generator.normal(size=200)).p_value < 1e-6


def test_a_series_has_neither_p_value_nor_verdict():
    answer = estimate(*np.cumsum(default_rng(0).normal(size=(2, 400)), axis=1))
    assert np.isnan(answer.p_value)
    assert repr(answer).startswith(SERIES_HEADLINE)
    codes = {note.code for note in answer.notes if isinstance(note, Note)}
    assert {"series", "rows in sequence"} <= codes
    assert "No dependence" not in str(answer)
