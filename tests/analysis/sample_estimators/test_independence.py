"""The table of tests of independence on made-up runs."""

import pandas as pd
import pytest

from analysis.sample_estimators.independence import ANALYSIS


def made_up():
    """Two settings of two blocks; `smooth` has not met the alternative."""
    rows = []
    for law, columns in (("linear-1", 1), ("linear-10", 10)):
        for test, factor in (("local-permutation", 2), ("smooth", 10)):
            for dependent in (0, 1):
                for block in (0, 1):
                    rows.append({
                        "law": law, "columns": columns, "n": 100, "test": test, "dependent": dependent, "block": block,
                        "sets": 100, "rejected": (2.5 + 15 * dependent) * factor, "test_seconds": 0.1,
                        "permutations": 39, "version": "2", "start": block, "profile": "laptop", "tags": {},
                    })  # fmt: skip
    runs = pd.DataFrame(rows)
    return runs[(runs["test"] != "smooth") | (runs["dependent"] == 0)]


def test_blocks_are_pooled_and_size_and_power_kept_apart():
    (result,) = ANALYSIS.analyse(made_up(), None)
    figures = result.figures.set_index(["law", "test"])
    permuted = figures.loc[("linear-1", "local-permutation")]
    assert permuted["size_sets"] == 200
    assert permuted["power_sets"] == 200
    assert permuted["size"] == pytest.approx(0.05)
    assert permuted["power"] == pytest.approx(0.35)
    assert figures.loc[("linear-1", "smooth"), "power_sets"] == 0
    assert list(result.text["independent data sets"]) == [200] * 4
    assert list(result.text["power"]) == ["35 % (28 to 42)", "not run"] * 2


@pytest.mark.parametrize(
    "test, is_named", [("local-permutation", False), ("smooth", True)]
)
def test_a_test_is_named_where_its_interval_is_above_the_level(test, is_named):
    """Of 200 independent data sets, `smooth` rejects 25 %, the other 5 %."""
    (result,) = ANALYSIS.analyse(made_up(), None)
    assert result.finding.startswith("Independence is rejected too often")
    named = f"by {test} in 25 % (19 to 32) of 200 data sets with 1 columns of z"
    assert (named in result.finding) == is_named


def test_no_excess_is_said():
    runs = made_up()
    (result,) = ANALYSIS.analyse(runs[runs["test"] != "smooth"], None)
    assert result.finding.startswith("No test surely rejects more than 5 %")
