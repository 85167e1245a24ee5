"""The first sentences of reports: what leaks, weakly or not at all, and what to do
about it.
"""

import math

import pytest

from infoscope.estimators.result import Estimate
from infoscope.metrics.leaks import Unwanted, leaks


def carried(block, low, high, p_value=math.nan):
    return Unwanted(
        block,
        "site",
        Estimate((low + high) / 2, unit="bits", interval=(low, high)),
        None,
        None,
        p_value,
    )


@pytest.mark.parametrize(
    ("unwanted", "start"),
    [
        ([carried("a", 0.0, 0.02), carried("b", 0.1, 0.3)], "Leak: b also carries 0.20 bits (95 %: 0.10 to 0.30)"),
        ([carried("a", 0.004, 0.1)], "Leak: a also carries 0.052 bits (95 %: 0.004 to"),
        ([carried("a", 0.0, 0.02), carried("b", 0.0, 0.06, 1e-6)],
         "b depends on site (p = 1e-06), but weakly: it carries at most 0.06 bits "
         "about site (95 %)."),
        ([carried("a", 0.0, 0.02), carried("b", -0.1, 0.06, 0.03)], "No leak is detected: b carries at most 0.06 bits"),
        ([carried("a", -0.004, 0.004)], "No leak is detected: a carries at most 0.01 bits about site (95 %)."),
    ],
)  # fmt: skip
def test_a_leak_is_an_interval_above_0(unwanted, start):
    assert leaks(unwanted)[0].startswith(start)


def test_the_advice_names_the_column_or_how_to_find_it():
    unwanted = [carried(name, 0.1, 0.3) for name in "abcde"]
    named, remedy = leaks(unwanted, columns=["a"])
    assert named.endswith("; and 2 more.")
    assert "or drop a." in remedy
    assert (
        "drop the columns of a that carry it: ask"
        in leaks(unwanted, each_column="ask")[1]
    )
    assert leaks([]) == []
