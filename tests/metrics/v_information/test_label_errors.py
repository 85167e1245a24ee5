"""Scores of label errors: hand-made evidence, published definitions."""

import numpy as np
import pytest

from infoscope.estimators.families import Logistic, Network
from infoscope.metrics.v_information import pvi
from infoscope.metrics.v_information.label_errors import (
    SCORES,
    Evidence,
    data_map,
    flip_labels,
    gather,
    measures,
    precision,
    scores_of,
)
from tests.refusals import refused


def evidence_of(epochs, codes):
    """In sample only: q [epochs, n, classes] of one training."""
    q = np.asarray(epochs, dtype=float)
    return Evidence(np.asarray(codes), np.log(q[-1]), np.zeros(len(codes)), np.log(q)[None])


# Four epochs of four items, as q of the own class: learnt at once, forgotten twice, never right; one of class 1.
COURSE = np.array([[0.9, 0.6, 0.2, 0.8], [0.9, 0.3, 0.3, 0.8], [0.9, 0.7, 0.1, 0.8], [0.9, 0.4, 0.2, 0.8]])


def course():
    q = np.stack([COURSE, 1 - COURSE], axis=-1)
    q[:, 3] = q[:, 3, ::-1]
    return evidence_of(q, [0, 0, 0, 1])


def test_the_data_map_by_hand():
    places = data_map(course())
    assert places["confidence"].tolist() == pytest.approx([0.9, 0.5, 0.2, 0.8])
    assert places["variability"].to_numpy() == pytest.approx(COURSE.std(axis=0))
    assert places["correctness"].tolist() == [1.0, 0.5, 0.0, 1.0]


def test_a_data_map_needs_epochs():
    rng = np.random.default_rng(3)
    y = rng.integers(2, size=60)
    x = 2.0 * y[:, None] + rng.normal(size=(60, 2))
    with refused("family", "invalid"):
        data_map(gather("logistic", x, y, folds=3))
    with refused(code="missing"):
        gather("logistic", np.ma.array(x, mask=x > 1), y, folds=3)


def test_held_out_scores_are_those_of_the_pvi_table():
    rng = np.random.default_rng(3)
    y = rng.integers(2, size=200)
    x = 2.0 * y[:, None] + rng.normal(size=(200, 2))
    scores = scores_of(gather(Logistic(), x, y, trainings=0, folds=5))
    table = pvi.pointwise(Logistic(), x, y, folds=5)
    assert list(scores) == list(SCORES)
    assert scores["pvi"].to_numpy() == pytest.approx(-table["pvi_bits"].to_numpy())
    assert scores["self_confidence"].to_numpy() == pytest.approx(table["H_yxb"].to_numpy())


def test_flips_have_the_requested_share_and_change_to_other_labels_or_to_the_next():
    y, rng = np.repeat(["a", "b", "c"], 50), np.random.default_rng(1)
    for noise, moves in (("symmetric", 6), ("pair", 3)):
        noisy, flipped = flip_labels(y, 0.2, rng, noise)
        assert flipped.sum() == 30 and (noisy[~flipped] == y[~flipped]).all()
        found = set(zip(y[flipped], noisy[flipped]))
        assert len(found) == moves and not any(old == new for old, new in found)
    assert found == {("a", "b"), ("b", "c"), ("c", "a")}


def test_flipped_labels_are_found_by_every_score():
    """Well separated classes: AUROC above 0.9 for all scores; chance is 0.5 and its standard error about 0.04."""
    rng = np.random.default_rng(2)
    y = rng.integers(3, size=300)
    x = 5.0 * np.eye(3)[y] + rng.normal(size=(300, 3))
    noisy, flipped = flip_labels(y, 0.1, rng)
    evidence = gather(Network((16,), epochs=15, batch=32), x, noisy, trainings=0, folds=3, generator=rng)
    for score, values in scores_of(evidence).items():
        found = measures(values.to_numpy(), flipped)
        assert found["auroc"] > 0.9 and found["precision"] > 0.6, score


def test_collected_scores_are_reproducible_and_in_the_order_of_the_items():
    rng = np.random.default_rng(4)
    y = rng.integers(2, size=120)
    x = 3.0 * y[:, None] + rng.normal(size=(120, 2))
    done = []
    family = Network((4,), epochs=3)
    first, again = (
        gather(family, x, y, folds=3, trainings=2, generator=np.random.default_rng(0), between=done.append)
        for _ in "ab"
    )
    np.testing.assert_array_equal(first.epochs, again.epochs)
    assert first.epochs.shape == (2, 3, 120, 2) and not np.array_equal(*first.epochs)
    assert done[:2] == [3 / 5, 4 / 5] and (first.codes == y).all()


def test_ties_count_by_their_share():
    values, mask = np.array([3.0, 1.0, 1.0, 1.0, 0.0]), np.array([True, True, False, False, False])
    assert precision(values, mask, 2) == pytest.approx((1 + 1 / 3) / 2)
    flat = measures(np.zeros(5), mask)
    assert flat == pytest.approx({"auroc": 0.5, "average_precision": 0.4, "precision": 0.4})
