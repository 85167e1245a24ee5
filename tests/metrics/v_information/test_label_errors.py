"""Flipped labels."""

import numpy as np

from infoscope.metrics.v_information.label_errors import flip_labels


def test_flips_have_the_requested_share_and_change_to_other_labels_or_to_the_next():
    y, rng = np.repeat(["a", "b", "c"], 50), np.random.default_rng(1)
    for noise, moves in (("symmetric", 6), ("pair", 3)):
        noisy, flipped = flip_labels(y, 0.2, rng, noise)
        assert flipped.sum() == 30 and (noisy[~flipped] == y[~flipped]).all()
        found = set(zip(y[flipped], noisy[flipped]))
        assert len(found) == moves and not any(old == new for old, new in found)
    assert found == {("a", "b"), ("b", "c"), ("c", "a")}
