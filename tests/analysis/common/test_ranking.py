"""What cannot be told from the best."""

import math

import pandas as pd
import pytest

from analysis.common.ranking import level_with, listed

BEST = pd.Series([0.9, 0.8, 0.85])


@pytest.mark.parametrize(
    "values, is_level",
    [
        ((0.9, 0.8, 0.85), True),  # itself
        ((0.7, 0.61, 0.65), False),
        ((0.6, 0.9, 0.8), True),
        ((0.1, math.nan, math.nan), True),  # one pair has no interval
        ((math.nan,) * 3, True),
    ],
)
def test_what_is_not_surely_below_the_best_is_level(values, is_level):
    others = pd.DataFrame({"other": values})
    assert (level_with(BEST, others) == ["other"]) == is_level


@pytest.mark.parametrize(
    "names, text", [("a", "a"), ("ab", "a and b"), ("abc", "a, b and c")]
)
def test_names_are_listed(names, text):
    assert listed(names) == text
