"""The course of a network's training, epoch by epoch."""

import numpy as np
import pytest
from scipy.special import log_softmax

from infoscope.estimators.families import Network

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(90, 20)), RNG.integers(3, size=90)


def course(family, seed=1):
    members = family.epochs_of(X, Y, 3, np.random.default_rng(seed))
    return np.array([member.log_probabilities(X) for member in members])


def test_every_epoch_is_seen_and_a_shorter_training_is_the_start_of_a_longer_one():
    long, short = course(Network((8,), epochs=5)), course(Network((8,), epochs=2))
    assert long.shape == (5, 90, 3)
    np.testing.assert_array_equal(long[:2], short)
    assert np.ptp(long, axis=0).min() > 0.0  # each epoch moves every item
    np.testing.assert_allclose(np.exp(long).sum(axis=-1), 1.0)
    assert not np.array_equal(long, course(Network((8,), epochs=5), seed=2))


def test_all_rows_are_learnt_also_labels_without_sense():
    """With a part set aside, or an early end, chance labels of that part would stay unlearnt."""
    last = course(Network((256,), learning_rate=1e-2, batch=30, epochs=60, patience=1))[-1]
    assert (last.argmax(axis=-1) == Y).all()


def test_one_step_of_all_rows_is_the_gradient_of_the_log_loss():
    """AdamW's first step is the learning rate in the direction of each weight's gradient: here the change of the log
    loss is the rate times the sum of the absolute gradients, but for the second order."""
    rate, family = 1e-4, Network((), learning_rate=1e-4, batch=90, weight_decay=0.0, epochs=2)
    first, second = course(family)
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    gap = (np.exp(first) - np.eye(3)[Y]) / len(Y)
    gradient = np.concatenate([standard.T @ gap, gap.sum(axis=0)[None]])
    dropped = -(second - first)[np.arange(90), Y].mean()
    assert dropped == pytest.approx(-rate * np.abs(gradient).sum(), rel=0.2)
    assert np.allclose(log_softmax(first, axis=-1), first)
