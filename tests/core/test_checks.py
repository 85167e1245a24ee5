"""Checks of single arguments: what each lets through, and what it refuses of whatever
calls it.
"""

import math
from functools import partial

import pytest

from infoscope.checks import one_of, require_int, require_ints, require_number
from tests.refusals import refused

above_0 = partial(require_number, ends=False)
share = partial(require_number, most=1)
REFUSED = [
    (require_int, 0),
    (require_int, True),
    (require_int, 1.5),
    (require_ints, ()),
    (require_ints, 3),
    (partial(require_ints, length=2), [1]),
    (require_number, -1.0),
    (require_number, math.nan),
    (require_number, math.inf),
    (require_number, True),
    (require_number, "1"),
    (above_0, 0.0),
    (share, 1.5),
]


@pytest.mark.parametrize("check, value", REFUSED)
def test_other_values_are_out_of_range(check, value):
    with refused("count", "range"):
        check("count", value)


def test_an_entry_and_a_name_are_refused_by_their_own_name():
    with refused("count[1]", "range"):
        require_ints("count", (2, 0))
    with refused("kind", "name"):
        one_of("kind", "c", "ab")


def test_the_ends_of_a_range_are_in_it():
    assert require_int("count", 1) == 1
    assert require_ints("count", (1, 2), length=2) == [1, 2]
    assert share("share", 0) == 0.0
    assert share("share", 1) == 1.0
    assert one_of("kind", "b", "ab") == "b"
