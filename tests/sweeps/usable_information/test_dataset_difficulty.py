"""The sweep of difficulty: its cells, and its two studies on generated texts."""

import io
import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch
from pandas.testing import assert_frame_equal
from pytest import approx

from infoscope.data import hypothesis_information
from infoscope.metrics import v_information
from infoscope.tracking import Pack
from sweeps.usable_information import _data
from sweeps.usable_information.dataset_difficulty import (
    PROFILES,
    SWEEP,
    measuring,
    trial,
)
from tests.sweeps.recorder import Recorder, planned

LN2 = math.log(2.0)


class Tables(Recorder):
    """Keeps every table by its name, and a state that is to be restored."""

    def __init__(self, state=None):
        super().__init__()
        self.state = state

    def restore(self):
        return self.state

    def table(self, cell, name, columns):
        self.tables[name] = pd.DataFrame(columns)


cells_of = partial(planned, SWEEP)


def cell_of(
    name="generated-nli",
    family="lexical-logistic",
    kind="std",
    estimator="held-out",
    seed=0,
    **fields,
):
    return measuring(PROFILES["smoke"], name, family, estimator, kind, seed).replaced(
        fields
    )


def ran(cell, state=None):
    recorder = Tables(state)
    trial(Pack((cell,)), recorder)
    return recorder.finals[()], recorder.tables, recorder


def test_cells_without_real_data():
    every_cell = cells_of("laptop")
    assert {cell.data for cell in every_cell} == {"generated-nli", "generated-reviews"}
    assert {cell.study for cell in every_cell} == {"difficulty", "epochs"}
    for cell in every_cell:
        if cell.family == "small-bert":
            assert cell.seed == 0
            assert cell.estimator == "held-out"
        else:
            assert cell.epochs is None
        if cell.data == "generated-reviews":
            assert cell.transformation in ("std", "shuffled")


@pytest.mark.parametrize(
    "settings, families",
    [({"curves": "none"}, None), ({"encoders": "none"}, PROFILES["smoke"].quick)],
)
def test_a_study_can_be_left_out(settings, families):
    asked = {"data": "generated-reviews", "embeddings": "none"} | settings
    cells = SWEEP.plan(SWEEP.profile("smoke", asked)[1]).values()
    assert {cell.study for cell in cells} == {"difficulty"}
    assert families is None or {cell.family for cell in cells} == {*families}


def test_the_paper_profile_is_the_published_setting():
    paper = PROFILES["paper"]
    assert paper.encoders == ("hub:bert-base-cased",)
    assert paper.epochs == 2
    assert paper.batch == 32
    assert paper.null == "trained"
    assert paper.data == ("snli", "mnli", "cola")
    assert paper.items == 0
    assert paper.measured == 0


def test_what_a_family_can_use_is_below_what_there_is_and_near_it():
    """The label is told by a word in 40 % of the hypotheses; 5 standard errors: 3e-7 of
    false alarms.
    """
    metrics, tables, _ = ran(cell_of(kind="hypothesis", items=3000))
    truth = hypothesis_information(_data.ARTEFACT) / LN2
    assert metrics["shannon_bits"] == approx(truth)
    margin = 5 * metrics["v_information_bits_error"]
    assert 0.7 * truth - margin < metrics["v_information_bits"] < truth + margin
    best = tables["artefacts"].sort_values("mean_bits").groupby("label")["token"].last()
    assert best.to_dict() == {
        "entailment": "visibly",
        "neutral": "reportedly",
        "contradiction": "allegedly",
    }


@pytest.mark.parametrize("estimator", ["held-out", "cross-fitted"])
def test_figures_are_those_of_the_items_and_of_the_estimator(estimator):
    cell = cell_of(estimator=estimator, items=300)
    metrics, tables, _ = ran(cell)
    items = tables["items"]
    assert (
        metrics["n"]
        == len(items)
        == (300 if estimator == "cross-fitted" else approx(100, abs=5))
    )
    assert metrics["v_information_bits"] == approx(items["pvi_bits"].mean())
    assert metrics["null_entropy_bits"] - metrics["conditional_entropy_bits"] == approx(
        metrics["v_information_bits"]
    )
    assert metrics["accuracy"] == approx(items["correct"].mean())
    task = _data.task_of(cell)
    x = _data.data.transformations.standard(task.x)
    folds = np.random.default_rng([0, *b"folds"])
    direct = v_information.estimate(
        _data.family_of(cell),
        x,
        task.y,
        estimator,
        cell.folds,
        groups=task.groups,
        generator=folds,
    )
    assert metrics["v_information_bits"] == approx(direct.bits.value)
    assert metrics["v_information_bits_error"] == approx(direct.bits.standard_error)


def test_families_and_inputs_of_a_seed_measure_the_same_items():
    def ids(family="lexical-logistic", **fields):
        return tuple(ran(cell_of(family=family, **fields))[1]["items"]["id"])

    first = ids()
    assert ids(kind="shuffled") == first
    assert ids("tfidf-logistic", kind="hypothesis") == first
    assert ids(seed=1) != first


def test_a_published_test_set_is_measured_whole_and_only_the_training_items_are_drawn(
    monkeypatch,
):
    reviews = _data.generated_reviews()
    halves = [reviews.take(range(0, 400)), reviews.take(range(400, 700))]
    source = _data.Source(lambda: halves[0], lambda: halves[1])
    monkeypatch.setitem(_data.SOURCES, "two-sets", source)
    cells = [
        cell_of(
            "two-sets", "tfidf-logistic", seed=seed, items=100, measured=0, artefacts=0
        )
        for seed in (0, 1)
    ]
    (first, one, _), (second, other, _) = (ran(cell) for cell in cells)
    assert first["training_items"] == 100
    assert list(one["items"]["id"]) == list(other["items"]["id"])
    assert len(one["items"]) == 300
    assert first["v_information_bits"] != second["v_information_bits"]
    crossed, tables, _ = ran(
        cells[0].replaced({"estimator": "cross-fitted", "items": 0})
    )
    assert set(tables["items"]["id"]) == set(halves[0].ids)
    assert crossed["n"] == 400


def test_longer_texts_more_epochs_and_more_folds_cost_more():
    hypotheses = cell_of(family="small-bert", kind="hypothesis")
    pairs = cell_of(family="small-bert")
    more_epochs = cell_of(family="small-bert", epochs=3)
    assert 0 < SWEEP.cost(hypotheses) < SWEEP.cost(pairs) < SWEEP.cost(more_epochs)
    crossed = cell_of(estimator="cross-fitted")
    assert 0 < SWEEP.cost(cell_of()) < SWEEP.cost(crossed)


class Stopped(Exception):
    pass


def test_a_training_goes_on_where_it_was_stopped(monkeypatch):
    """Saved at the second look and thrown away, then restored: the same items, and the
    model is logged once.
    """
    monkeypatch.setattr("sweeps.usable_information.dataset_difficulty.STEPS", 4)
    cell = cell_of(family="small-bert", items=240, artefacts=0)
    whole = ran(cell)
    states = []

    def save(self, state):
        states.append(state())
        if len(states) == 2:
            raise Stopped

    with monkeypatch.context() as patched:
        patched.setattr(Tables, "save", save)
        with pytest.raises(Stopped):
            ran(cell)
    again = ran(cell, states[-1])
    assert_frame_equal(again[1]["items"], whole[1]["items"])
    assert again[2].models == whole[2].models
    assert len(whole[2].models) == 1


def test_a_curve_continues_at_its_last_step(monkeypatch):
    """Stopped within its second epoch: the first one's row, and the loss so far, are in
    what was saved.
    """
    monkeypatch.setattr("sweeps.usable_information._text_families.STEPS", 3)
    cell = next(cell for cell in cells_of(items="120") if cell.study == "epochs")
    whole = ran(cell)
    states = []
    fractions = []

    def save(self, state):
        # as a report keeps and reads it
        states.append(torch.load(io.BytesIO(stored(state())), weights_only=True))
        if states[-1]["curve"] and states[-1]["loss"] > 0.0:
            raise Stopped

    def stored(state):
        buffer = io.BytesIO()
        torch.save(state, buffer)
        return buffer.getvalue()

    with monkeypatch.context() as patched:
        patched.setattr(Tables, "save", save)
        patched.setattr(
            Tables, "progress", lambda self, fraction: fractions.append(fraction)
        )
        with pytest.raises(Stopped):
            ran(cell)
    assert [row["epoch"] for row in states[-1]["curve"]] == [1]
    assert fractions == sorted(fractions)
    assert 0.5 < fractions[-1] < 1.0
    again = ran(cell, states[-1])
    assert_frame_equal(again[1]["epochs"], whole[1]["epochs"])
