"""PVI: its table, its arithmetic window, and the published figures of the window."""

import math
import os
from pathlib import Path

import numpy as np
import pytest
from numpy.random import default_rng
from pytest import approx

from infoscope.estimators.families.logistic import Logistic
from infoscope.estimators.families.scikit import tfidf_logistic
from infoscope.metrics.v_information import pvi
from infoscope.metrics.v_information.measures import estimate
from infoscope.metrics.v_information.pvi import threshold_window

needs_data = pytest.mark.skipif(
    not os.environ.get("INFOSCOPE_DATA"),
    reason="INFOSCOPE_DATA names no folder of real data",
)


def noisy_classes(n, classes, seed):
    rng = default_rng(seed)
    x = rng.normal(size=(n, 4))
    scores = x[:, :1] * np.arange(classes) + rng.gumbel(size=(n, classes))
    return x, scores.argmax(axis=1)


def test_the_mean_is_the_v_information_of_the_same_folds():
    x, y = noisy_classes(400, 3, 0)
    table = pvi.pointwise(Logistic(), x, y, folds=5, generator=default_rng(1))
    whole = estimate(Logistic(), x, y, folds=5, generator=default_rng(1))
    assert table["pvi_bits"].mean() == approx(whole.bits.value)
    assert table["H_yb"].mean() == approx(whole.null_entropy.bits.value)
    assert table["H_yxb"].mean() == approx(whole.conditional_entropy.bits.value)
    assert (table["pvi_bits"] == table["H_yb"] - table["H_yxb"]).all()
    assert (table["label"] == y).all()
    assert (table["correct"] == (table["predicted"] == y)).all()
    assert sorted(table["fold"].unique()) == list(range(5))


def test_every_item_is_measured_without_its_group():
    """Copies share a fold. Fitted by hand without that fold, an item has the same PVI
    (to the fit's tolerance).
    """
    x, y = noisy_classes(150, 2, 2)
    rows = np.repeat(np.arange(150), 2)
    x = x[rows]
    y = y[rows]
    table = pvi.pointwise(Logistic(5.0), x, y, folds=3, groups=rows)
    folds = table["fold"].to_numpy()
    assert (folds[::2] == folds[1::2]).all()
    rest = folds != 1
    fit = Logistic(5.0).fit(x[rest], y[rest], 2)
    bits = -fit.log_density(x[~rest], y[~rest]) / math.log(2)
    assert table["H_yxb"][~rest].to_numpy() == approx(bits, abs=1e-3)


def test_the_window_is_the_one_of_the_published_figures():
    """Figure 3 of Ethayarajh et al. 2022, from their predictions: on SNLI (even
    classes) wrong items reach 0.576 bits and right ones go down to 0.058; on CoLA the
    classes' H_yb are 1.797 and 0.4896, and wrong and right meet between 0.765 and
    0.851, and between -0.524 and -0.449.
    """
    snli = threshold_window(math.log2(3), 3)
    assert snli.lowest_right == approx(0.0)
    assert snli.highest_wrong == approx(0.585, abs=1e-3)
    cola = threshold_window([1.797, 0.4896], 2)
    assert cola.lowest_right == approx(cola.highest_wrong)
    first, second = cola.highest_wrong
    assert 0.765 <= first <= 0.851
    assert -0.524 <= second <= -0.449


@pytest.mark.parametrize(("classes", "floor"), [(2, 1e-6), (3, 0.02)])
def test_no_item_leaves_the_window(classes, floor):
    x, y = noisy_classes(500, classes, 3)
    table = pvi.pointwise(Logistic(), x, y, folds=5, floor=floor)
    window = threshold_window(table["H_yb"], classes)
    right = table["correct"].to_numpy()
    bits = table["pvi_bits"].to_numpy()
    assert (bits <= window.highest_wrong + 1e-9)[~right].all()
    assert (bits >= window.lowest_right - 1e-9)[right].all()
    if classes == 2:
        assert ((bits > window.highest_wrong) == right).all()


def test_labels_and_texts_come_back_as_they_were():
    texts = ["a good film", "a bad film"] * 30
    labels = ["pro", "con"] * 30
    table = pvi.pointwise(tfidf_logistic(), texts, np.array(labels), folds=3)
    assert list(table["label"]) == labels
    assert table["correct"].all()


@needs_data
@pytest.mark.slow  # ten fits of 25,000 rows of 768 numbers
def test_a_large_set_of_embeddings_has_its_known_information():
    """The note of the data set has accuracy 0.988 in five folds, and 0.89 bits with
    penalty 1 and calibration; somewhat more with the penalty that suits it. 1 bit is
    all there is.
    """
    folder = Path(os.environ["INFOSCOPE_DATA"]) / "imdb_embeddings"
    embeddings = np.load(folder / "bert.npz")
    table = pvi.pointwise(Logistic(100.0), embeddings["x"], embeddings["y"])
    assert table["correct"].mean() == approx(0.988, abs=0.002)
    assert 0.89 < table["pvi_bits"].mean() < 1.0
