"""What is asked of data and twins: what must not change it, and what it is for each type."""

import math

import numpy as np
import pytest

from infoscope.estimators import uncertainty
from infoscope.estimators.arrays.protocol import as_pairs
from infoscope.estimators.knn import mutual_information
from infoscope.metrics.advice.statistics import observed


@pytest.fixture
def rows():
    g = np.random.default_rng(0)
    x = g.normal(size=(400, 3))
    return x, x[:, :2] + g.normal(size=(400, 2)), np.where(x[:, 2] > 0.3, "b", "a")


def test_numbers_may_be_mapped_by_what_keeps_their_order(rows):
    x, y, _ = rows
    asked, found = observed(as_pairs(x, y))
    assert found == pytest.approx(observed(as_pairs(np.exp(3 * x), y**3 - 7))[1], abs=1e-9)
    assert list(asked.asked) == [
        "ksg, k = 2", "ksg, k = 5", "ksg, k = 20", "gcmi", "gcmi of sizes", "gcmi of lengths",
        "skewness about neighbours", "kurtosis about neighbours",
    ]  # fmt: skip
    assert asked.of(as_pairs(x, y)) == pytest.approx(found, abs=1e-12)


def test_labels_may_be_renamed_and_rows_put_in_another_order(rows):
    x, _, labels = rows
    order = np.random.default_rng(1).permutation(400)
    renamed = np.where(labels == "a", "z", "b")
    asked, found = observed(as_pairs(x, labels))
    assert found == pytest.approx(observed(as_pairs(x[order], renamed[order]))[1], abs=1e-9)
    assert "canonical correlations with labels" in asked.asked


def test_wide_sides_are_seen_through_their_components(rows):
    g = np.random.default_rng(2)
    x = np.hstack([10 * rows[1], g.normal(size=(400, 60))])
    asked, found = observed(as_pairs(x, rows[0]))
    assert all(name.endswith("of components") for name in asked.asked)
    assert found[3] > 0.3  # the two columns that carry it are the leading components


def test_a_label_of_few_rows_leaves_out_what_needs_more(rows):
    x, _, labels = rows
    labels = labels.copy()
    labels[:2] = "rare"
    asked, found = observed(as_pairs(x, labels))
    assert "gcmi" not in asked.asked and len(found) == len(asked.asked) >= 3


def test_categories_and_mixed_sides(rows):
    x, y, labels = rows
    asked, _ = observed(as_pairs(labels, np.where(x[:, 0] > 0, "u", "v")))
    assert list(asked.asked) == ["plug-in", "grassberger", "chao-shen"]
    import pandas as pd

    asked, found = observed(as_pairs(pd.DataFrame({"a": x[:, 0], "b": labels}), y[:, 0]))
    assert "gcmi of the numbers" in asked.asked and np.isfinite(found).all()


def test_no_error_is_asked_of_a_twin(rows, monkeypatch):
    """Halves of the rows, from which `ksg` has its error, are forty times the work of the figure itself."""
    x, y, labels = rows
    monkeypatch.setattr(uncertainty, "subsample", lambda *_, **__: pytest.fail("halves were asked for"))
    for sides in ((x, y), (x, labels)):
        asked, found = observed(as_pairs(*sides))
        pairs = asked.prepared(as_pairs(*sides))
        assert found[1] == pytest.approx(mutual_information(pairs.x, pairs.y, 5, margins="given"), abs=1e-12)


def test_an_edge_has_a_shape_of_its_own():
    """Noise that ends sharply, on both sides or one, beside normal noise of the same size. Over draws
    the limits lie 3.7 and 10 standard deviations from what is expected: a false alarm in 10,000 seeds."""
    g = np.random.default_rng(3)
    x = g.normal(size=800)

    def shape_of(noise):
        asked, found = observed(as_pairs(x, x + 0.3 * noise))
        return dict(zip(asked.asked, found))

    smooth = shape_of(g.normal(size=800))
    level, skewed = shape_of(math.sqrt(12) * g.random(800)), shape_of(g.exponential(size=800))
    assert level["kurtosis about neighbours"] < smooth["kurtosis about neighbours"] - 0.03
    assert skewed["skewness about neighbours"] > smooth["skewness about neighbours"] + 0.08


def test_shapes_may_be_turned_round_and_are_not_asked_of_values_that_repeat(rows):
    x, y, labels = rows
    found = observed(as_pairs(x, y))[1]
    assert observed(as_pairs(-x, y[:, ::-1]))[1][-2:] == pytest.approx(found[-2:], abs=2e-3)  # scores tie
    for other in (np.maximum(y, 0), labels):
        assert not any("about neighbours" in name for name in observed(as_pairs(x, other))[0].asked)
