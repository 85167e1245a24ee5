"""Flipped labels."""

import numpy as np
import pytest

from infoscope.metrics.v_information.label_errors import flip_labels

NEXT = {("a", "b"), ("b", "c"), ("c", "a")}
PREVIOUS = {("b", "a"), ("c", "b"), ("a", "c")}


@pytest.mark.parametrize(
    ("noise", "moves"), [("symmetric", NEXT | PREVIOUS), ("pair", NEXT)]
)
def test_flips_have_the_requested_share_and_change_to_other_labels_or_to_the_next(
    noise, moves
):
    y = np.repeat(["a", "b", "c"], 50)
    noisy, flipped = flip_labels(y, 0.2, np.random.default_rng(1), noise)
    assert flipped.sum() == 30
    assert (noisy[~flipped] == y[~flipped]).all()
    assert set(zip(y[flipped], noisy[flipped])) == moves
