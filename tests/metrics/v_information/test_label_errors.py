"""Scores of label errors: hand-made evidence, published definitions, cleanlab where it is installed."""

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from infoscope.estimators.families import Logistic, Network
from infoscope.metrics.v_information import pvi
from infoscope.metrics.v_information.label_errors import (
    CLEANLAB_METHODS,
    SCORES,
    Evidence,
    auroc,
    average_precision,
    cleanlab_scores,
    data_map,
    detection,
    flip_labels,
    gather,
    label_scores,
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
    scores, table = label_scores(Logistic(), x, y, folds=5), pvi.pointwise(Logistic(), x, y, folds=5)
    assert list(scores) == list(SCORES)
    assert scores["pvi"].to_numpy() == pytest.approx(-table["pvi_bits"].to_numpy())
    assert scores["self_confidence"].to_numpy() == pytest.approx(table["H_yxb"].to_numpy())


def random_evidence(classes, n=600):
    rng = np.random.default_rng(classes)
    codes = rng.integers(classes, size=n)
    noise = rng.dirichlet(np.ones(classes), size=n)
    q = 0.5 * noise + 0.5 * np.eye(classes)[rng.permutation(codes)] + 1e-9
    return Evidence(codes, np.log(q / q.sum(axis=1, keepdims=True)), np.zeros(n))


def test_cleanlab_is_asked_with_the_held_out_probabilities(monkeypatch):
    evidence, asked = random_evidence(3), []

    def quality(labels, probabilities, method):
        asked.append(method)
        return probabilities[np.arange(len(labels)), labels]

    rank = SimpleNamespace(get_label_quality_scores=quality)
    monkeypatch.setitem(sys.modules, "cleanlab", SimpleNamespace(rank=rank))
    found = cleanlab_scores(evidence)
    assert asked == list(found) == list(CLEANLAB_METHODS)
    expected = 1 - 2.0 ** -scores_of(evidence)["self_confidence"].to_numpy()
    assert found[asked[0]].to_numpy() == pytest.approx(expected)


def test_where_cleanlab_is_not_installed_its_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cleanlab", None)
    with pytest.raises(ModuleNotFoundError, match=r"cleanlab_scores needs cleanlab.*infoscope\[labels\]"):
        cleanlab_scores(random_evidence(2))


@pytest.mark.parametrize("classes", [2, 4])
def test_cleanlab_agrees(classes):
    cleanlab = pytest.importorskip("cleanlab")
    evidence = random_evidence(classes)
    quality = cleanlab.rank.get_self_confidence_for_each_label(evidence.codes, np.exp(evidence.logs))
    assert 2.0 ** -scores_of(evidence)["self_confidence"].to_numpy() == pytest.approx(quality)
    margin = cleanlab.rank.get_normalized_margin_for_each_label(evidence.codes, np.exp(evidence.logs))
    assert 1 - cleanlab_scores(evidence)["normalized_margin"].to_numpy() == pytest.approx(margin)


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
    scores = label_scores(Network((16,), epochs=15, batch=32), x, noisy, folds=3, generator=rng)
    found = detection(scores, flipped, at=[30], resamples=50).set_index(["score", "measure"])
    for score in SCORES:
        area = found.loc[(score, "auroc")]
        assert 0.9 < area["low"] <= area["value"] <= area["high"] <= 1.0, score
        assert found.loc[(score, "precision@30"), "value"] > 0.6, score


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


def test_measures_are_those_of_scikit_learn():
    """With ties inside and across the mask; many samples at once."""
    rng = np.random.default_rng(5)
    values, masks = rng.integers(0, 6, (20, 40)).astype(float), rng.random((20, 40)) < 0.3
    for ours, theirs in ((auroc, roc_auc_score), (average_precision, average_precision_score)):
        expected = [theirs(mask, row) for mask, row in zip(masks, values)]
        np.testing.assert_allclose(ours(values, masks), expected, rtol=1e-12)
    assert list(measures([3])) == ["auroc", "average_precision", "precision@3"]


def test_ties_count_by_their_share():
    values, mask = np.array([3.0, 1.0, 1.0, 1.0, 0.0]), np.array([True, True, False, False, False])
    assert precision(values, mask, 2) == pytest.approx((1 + 1 / 3) / 2)
    ties = pd.DataFrame({"flat": np.zeros(5)})
    found = detection(ties, pd.Series(mask), resamples=50).set_index("measure")
    assert found.loc["auroc", "value"] == 0.5 and found.loc["precision@2", "value"] == pytest.approx(0.4)
    assert found.loc["average_precision", "value"] == pytest.approx(0.4)


def test_intervals_of_a_random_score_cover_one_half():
    """40 repetitions, each of which misses it with probability 5 %: 8 or more misses happen once in 1,000 times."""
    rng = np.random.default_rng(4)
    missed = 0
    for _ in range(40):
        mask = np.arange(80) < 20
        found = detection(pd.DataFrame({"noise": rng.normal(size=80)}), mask, resamples=60, generator=rng).iloc[0]
        missed += not found["low"] <= 0.5 <= found["high"]
    assert missed < 8
