"""The advice: an answer that holds the truth, nothing where there is nothing, a refusal with its reason, one answer for
one seed.
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from infoscope.estimators.arrays.protocol import as_pairs
from infoscope.estimators.arrays.registry import as_method
from infoscope.estimators.result import undefined
from infoscope.metrics.advice import ANSWERED, NOTHING, REFUSED, advise
from infoscope.metrics.advice.advising import Tried, _concluded, _planned, _shared_out, _some
from infoscope.metrics.advice.inversion import Fit
from infoscope.metrics.advice.odds import Trees
from infoscope.metrics.advice.realism import told_apart
from infoscope.metrics.advice.twins import Latent, Null

QUICK = {"seconds": 10, "methods": ["gcmi", "ksg"]}


def normal(n=400, correlation=0.75, seed=0):
    g = np.random.default_rng(seed)
    x = g.normal(size=n)
    return x, correlation * x + math.sqrt(1 - correlation**2) * g.normal(size=n)


@pytest.fixture(scope="module")
def answered():
    return advise(*normal(900), **QUICK)


def test_an_answer_holds_the_truth_and_names_an_estimator(answered):
    truth = -0.5 * math.log(1 - 0.75**2)
    assert answered.verdict == ANSWERED and answered.chosen in ("gcmi", "ksg")
    assert answered.estimate.low < truth < answered.estimate.high
    assert answered.table["method"][0] == answered.chosen and (answered.table["error"] < 0.15).all()
    assert {"latent", "scores: canonical variates"} <= {one.name for one in answered.counted}
    families = answered.families.set_index("family")
    assert not families.loc["null", "counts"] and families.loc["null", "distance"] > families.loc["null", "limit"]
    assert f"{answered.chosen} is the one to use" in str(answered)


def test_one_seed_gives_one_answer_whatever_keeps_the_order_of_columns(answered):
    x, y = normal(900)
    again = advise(np.exp(2 * x), y**3, **QUICK)
    assert again.verdict == ANSWERED
    assert again.estimate.interval == pytest.approx(answered.estimate.interval, abs=1e-6)


def test_nothing_is_found_where_there_is_nothing():
    g = np.random.default_rng(1)
    found = advise(g.normal(size=(300, 2)), g.normal(size=300), **QUICK)
    assert found.verdict == NOTHING and not found.chosen and math.isnan(found.estimate.value)
    assert "would look the same" in found.reasons[0] and str(found).startswith("Nothing found:")


def test_too_few_rows_for_a_narrow_answer_are_a_refusal():
    """.51 nats beside three idle columns a side: what twins hold spans half a nat, twice what is let pass."""
    idle = np.random.default_rng(7).normal(size=(2, 200, 3))
    found = advise(*(np.column_stack(side) for side in zip(normal(200, 0.8), idle)), **QUICK)
    assert found.verdict == REFUSED and "too wide" in found.reasons[0] and "More rows" in found.reasons[1]


def test_labels_of_categories():
    g = np.random.default_rng(2)
    x = g.integers(0, 3, 800)
    y = np.where(g.random(800) < 0.5, x, g.integers(0, 3, 800))
    found = advise(x.astype(str), y.astype(str), seconds=10)
    joint = np.full((3, 3), 1 / 18) + np.eye(3) / 6
    truth = float((joint * np.log(joint * 9)).sum())
    assert found.verdict == ANSWERED and found.estimate.low < truth < found.estimate.high


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seconds": 3}, "seconds must be at least 10, got 3"),
        ({"n": 150}, "at least 200 rows to be advised about"),
        ({"methods": []}, "methods must name an estimator at least"),
        ({"methods": ["ksg", "nsb"]}, "nsb takes categories on both sides, got a continuous x and a continuous y"),
    ],
)
def test_bad_input_is_one_sentence(change, message):
    x, y = normal(change.pop("n", 300))
    with pytest.raises(ValueError, match=message):
        advise(x, y, **QUICK | change)


def test_rows_are_cut_by_a_formula_and_groups_stay_whole():
    g = np.random.default_rng(3)
    pairs = as_pairs(g.normal(size=(6000, 20)), g.normal(size=(6000, 20)), np.arange(6000) // 4)
    first, most = _planned(pairs, 30, [])
    assert first == 1000 and 1000 <= most < 6000
    assert _planned(pairs, 3000, [])[1] == 6000
    some = _some(pairs, most, g)
    assert abs(some.n - most) <= 4 and (np.bincount(some.groups) == 4).all()


def test_the_more_families_are_near_the_fewer_twins_has_each():
    g = np.random.default_rng(3)
    pairs = as_pairs(g.normal(size=(1000, 20)), g.normal(size=(1000, 20)))
    plans = [_shared_out(pairs, 60, [as_method("ksg"), as_method("gaussian-mixture")], near) for near in (1, 4, 12)]
    assert plans == sorted(plans, reverse=True) and plans[0] == (20, 8) and plans[-1] == (8, 4)


def test_twins_of_a_mixture_alone_are_no_answer():
    found = Fit(np.linspace(0.9, 1.1, 9), np.abs(np.linspace(-1, 1, 9)), 10.0, 0.5, (0, 1.0))
    mixture, cells = (
        Tried(name, np.zeros(9), np.zeros((9, 1)), found, 500, True, (0.9, 1.1)) for name in ("mixture", "cells: 2 x 2")
    )
    pairs, certified = as_pairs(*normal(500)), undefined("too few rows")
    verdict, estimate, reasons = _concluded([mixture], pairs, certified)
    assert verdict == REFUSED and math.isnan(estimate.value) and "0.900 to 1.100" in reasons[0]
    assert _concluded([mixture, cells], pairs, certified)[0] == ANSWERED


def test_an_estimator_that_is_surprised_speaks_against_a_family():
    g = np.random.default_rng(4)
    judged = 0.1 + 0.01 * g.normal(size=(8, 2))
    tried = Tried("made up", np.zeros(8), np.zeros((8, 1)), SimpleNamespace(), 100, True, (0.1, 0.14), None, judged)
    assert not tried.surprised(np.array([0.12, np.nan]))
    assert tried.surprised(np.array([0.12, 0.3]))


def test_trees_see_what_no_line_does():
    g = np.random.default_rng(5)
    x = g.normal(size=(1500, 2))
    labels = np.where(x[:, 0] * x[:, 1] > 0, "same", "other")
    assert 0.4 < Trees().estimate(as_pairs(x, labels), g).value < math.log(2)
    assert abs(Trees().estimate(as_pairs(x, g.permutation(labels)), g).value) < 0.25  # not calibrated: below 0


def test_trees_tell_a_null_from_data_and_not_a_twin_that_is_like_them():
    x, y = normal(1200, 0.95)
    pairs = as_pairs(x, y)
    g = np.random.default_rng(6)
    null = told_apart(pairs, Null(pairs).draw(0.0, g), g)
    like = told_apart(pairs, Latent(pairs).draw(-0.5 * math.log(1 - 0.95**2), g), g)
    assert null.value - 3 * null.standard_error > 0.6 and abs(like.value - 0.5) < 5 * like.standard_error


def test_series_are_refused_at_once_and_named_groups_are_not():
    g = np.random.default_rng(7)
    x, y = np.cumsum(g.normal(size=(2, 400)), axis=1)
    told = []
    found = advise(x, y, **QUICK, progress=told.append)
    assert found.verdict == REFUSED and "no independent draws" in found.reasons[0]
    assert not any("twins" in said for said in told)
    assert as_pairs(x, y).serial is not None and as_pairs(x, y, np.arange(400) // 40).serial is None
