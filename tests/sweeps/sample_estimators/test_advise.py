"""The exam of the advice: its cells, and what a trial keeps of an answer."""

from types import SimpleNamespace

import numpy as np
import pytest

from infoscope.estimators.result import Estimate
from infoscope.tracking import Pack
from sweeps.sample_estimators.advise import PROFILES, SWEEP, scored, trial
from tests.refusals import refused
from tests.sweeps.recorder import Recorder


def cells_of(profile="smoke", **overrides):
    return list(SWEEP.plan(PROFILES[profile].override(overrides)).values())


def test_laws_of_one_pair_of_variables_are_asked_about(monkeypatch):
    with pytest.warns(UserWarning, match="INFOSCOPE_DATA.*images-by-label, texts-by-label"):
        cells = cells_of("laptop")
    assert len(cells) == 40 + 10 + 12 and {cell["n"] for cell in cells} == {1000}
    with refused("laws", "name"):
        cells_of(laws="nowhere")


def test_counts_and_errors_of_answers():
    sets = {
        "verdict": np.array(["answered", "answered", "refused", "nothing found"]),
        "value": np.array([0.5, 0.7, np.nan, np.nan]), "low": np.array([0.4, 0.6, np.nan, np.nan]),
        "high": np.array([0.6, 0.8, np.nan, np.nan]), "chosen": np.array(["ksg", "gcmi", "", ""]),
        "seconds": np.array([1.0, 2.0, 3.0, 4.0]),
        "value_ksg": np.array([0.4, 0.4, 0.1, 0.5]), "low_ksg": np.array([0.3, 0.3, 0.0, 0.4]),
        "high_ksg": np.array([0.45, 0.55, 0.2, 0.6]), "value_gcmi": np.array([0.5, 0.6, np.nan, 0.0]),
        "low_gcmi": np.full(4, np.nan), "high_gcmi": np.full(4, np.nan),
    }  # fmt: skip
    found = scored(sets, 0.5)
    assert (found["answered"], found["covered"], found["refused"], found["nothing"]) == (2, 1, 1, 1)
    assert found["squared_error"] == pytest.approx(0.02) and found["squared_error_of_chosen"] == pytest.approx(0.01)
    assert found["squared_error_of_gcmi"] == pytest.approx(0.005)
    assert (found["intervals_of_ksg"], found["covered_by_ksg"], found["intervals_of_gcmi"]) == (4, 2, 0)
    assert found["hopeless"] == 1  # where neighbours said .5 somebody was near


def test_a_trial_keeps_what_was_said(monkeypatch):
    asked = []

    def said(x, y, groups, within, generator):
        asked.append((len(x.values), len(y.values), groups, within))
        each = [
            SimpleNamespace(name=name, estimate=Estimate(value, 0.1)) for name, value in (("ksg", 0.4), ("gcmi", 0.5))
        ]
        return SimpleNamespace(
            verdict="answered", estimate=Estimate(0.5, 0.1, interval=(0.3, 0.7)), chosen="gcmi", reasons=["a", "b"],
            seconds=2.0, counted=[SimpleNamespace(name="latent")], certified=Estimate(0.1, 0.1), candidates=each,
        )  # fmt: skip

    monkeypatch.setattr("sweeps.sample_estimators.advise.advise", said)
    (cell,) = [cell for cell in cells_of(laws="1v1-normal-0.75") if cell["law"] == "1v1-normal-0.75"]
    report = Recorder()
    trial(Pack((cell,)), report)
    (table,), (final,) = report.tables.values(), report.finals.values()
    assert asked == [(cell["n"], cell["n"], None, cell["within"])]
    assert (table["verdict"][0], table["reason"][0], table["families"][0]) == ("answered", "a b", "latent")
    assert (table["value_ksg"][0], table["high"][0], final["advice_seconds"]) == (0.4, 0.7, 2.0)
    truth = -0.5 * np.log(1 - 0.75**2)
    assert final["covered"] == 1 and final["squared_error_of_chosen"] == pytest.approx((0.5 - truth) ** 2)
