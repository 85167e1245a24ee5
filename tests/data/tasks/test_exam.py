"""The collections of the exam."""

import numpy as np

from infoscope.data.tasks import exam
from tests.refusals import refused


def test_every_name_is_a_law_with_a_truth():
    names = [name for laws in exam.COLLECTIONS.values() for name in laws]
    assert len(names) == len(set(names)) == 40 + 12 + 3 * 12 + 14 + 200 + 24 + len(exam.COLLECTIONS["known-truth"]) + 3
    for name in names:
        assert np.isfinite(exam.law(name).truth()[0])


def test_what_needs_data_is_known_before_it_is_drawn():
    assert exam.needs_data("images-by-label") and exam.needs_data("mnist-at-0.500")
    for name in (*exam.COLLECTIONS["beyond-normal"], *exam.COLLECTIONS["known-truth"], *exam.COLLECTIONS["cost"]):
        assert not exam.needs_data(name)


def test_an_unknown_law_is_refused():
    with refused("law", "name"):
        exam.law("gaussian-3")
