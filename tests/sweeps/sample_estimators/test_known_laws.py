"""The exam's cells, and its trial against estimates made by hand."""

import math
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose
from pytest import approx

from infoscope.data.tasks import catalogue
from infoscope.data.tasks.cases import draws
from infoscope.estimators import estimate, npeet
from sweeps.sample_estimators._methods import (
    accepts,
    all_methods,
    estimate_by,
    peak_memory,
)
from sweeps.sample_estimators.known_laws import PROFILES, SWEEP, scored, trial
from tests.infra.documents import REPOSITORY
from tests.refusals import refused
from tests.sweeps.recorder import Recorder, planned

REFUSAL = "x must be something else."


cells_of = partial(planned, SWEEP)


def test_methods_are_asked_what_they_take(monkeypatch):
    asked = {
        name: {cell.method for cell in cells_of(laws=name)}
        for name in PROFILES["smoke"].laws
    }
    assert asked == {
        "1v1-normal-0.75": {"ksg", "gcmi"}, "sparse-table": {"ksg", "shrinkage"}, "patients": {"ksg", "gcmi"},
    }  # fmt: skip


@pytest.mark.parametrize(
    "law, are, are_not",
    [
        (
            "label-of-one-of-40",
            {"classifier", "micd", "labels-as-numbers", "ksg"},
            {"gaussian", "plug-in"},
        ),
        ("zero-inflated-poisson", {"labels-as-numbers", "ksg", "gcmi"}, {"classifier"}),
        ("mixed-columns", {"ksg", "smile-5"}, {"gcmi", "classifier", "micd"}),
    ],
)
def test_methods_accept_suitable_distributions_only(law, are, are_not):
    sitting = set()
    for method in all_methods():
        if accepts(method, law):
            sitting.add(method)
    assert are <= sitting
    assert not are_not & sitting


def test_an_own_function_sits_and_is_run_again_where_it_changed(monkeypatch, tmp_path):
    """Before the laws of numbers; with a key of its own for every version of its file."""
    monkeypatch.syspath_prepend(tmp_path)
    text = "def half(x, y):\n    return 0.5\n"
    keys = set()
    for line in ("", "# changed\n"):
        (tmp_path / "of_mine.py").write_text(text + line)
        _, profile = SWEEP.profile(
            "laptop",
            {"methods": "of_mine:half", "laws": "1v1-normal-0.75,sparse-table"},
        )
        ((key, cell),) = SWEEP.plan(profile.override({"sizes": "500"})).items()
        keys.add(key)
    assert len(keys) == 2
    assert cell.law == "1v1-normal-0.75"
    recorder = Recorder.ran(trial, [cell])
    (final,) = recorder.finals.values()
    assert final["answered"] == 10
    assert final["intervals"] == 0
    assert final["bias_nats"] == approx(0.5 - catalogue.case(cell.law).truth()[0])
    with refused("method", "name"):
        SWEEP.profile("laptop", {"methods": "of_mine:other"})


@pytest.mark.parametrize("folder", [None, "empty"])
def test_laws_of_real_items_are_left_out_with_a_word_where_there_are_none(
    monkeypatch, tmp_path, folder
):
    if folder:
        monkeypatch.setenv("INFOSCOPE_DATA", str(tmp_path))
    with pytest.warns(
        UserWarning, match="imdb_embeddings" if folder else "INFOSCOPE_DATA"
    ):
        cells = cells_of("laptop", methods="ksg", collections="everyday")
    assert {cell.law for cell in cells} == set(catalogue.EVERYDAY) - {
        "images-by-label",
        "texts-by-label",
    }


def test_figures_are_those_of_the_data_sets():
    (cell,) = cells_of(laws="1v1-normal-0.75", methods="ksg", blocks="1")
    recorder = Recorder.ran(trial, [cell])
    law = catalogue.case("1v1-normal-0.75")
    by_hand = []
    for seed in (3, 4, 5):
        generator = draws(seed, "1v1-normal-0.75", 500)
        by_hand.append(
            estimate(*law.sample(500, generator), "ksg", generator=generator)
        )
    (columns,) = recorder.tables.values()
    (final,) = recorder.finals.values()
    truth = law.truth()[0]
    assert_allclose(columns["value"], [float(one) for one in by_hand])
    assert_allclose(columns["low"], [one.low for one in by_hand])
    assert final["bias_nats"] == approx(np.mean(by_hand) - truth)
    assert final["mse_nats2"] == approx(
        np.mean((np.array(by_hand, float) - truth) ** 2)
    )
    assert final["covering_intervals"] == sum(
        one.low <= truth <= one.high for one in by_hand
    )
    assert final["answered"] == 3
    assert final["intervals"] == 3
    assert final["estimate_seconds"] > 0


def test_groups_are_handed_on():
    generator = default_rng(0)
    law = catalogue.case("patients")
    assert estimate_by("gcmi", law, law.sample(400, generator), generator).units == 40


def test_formulas_get_their_usual_settings():
    law = catalogue.case("label-of-one-of-40")
    generator = default_rng(0)
    x, y = law.sample(300, generator)
    estimated = estimate_by("micd", law, (x, y), generator)
    assert float(estimated) == approx(npeet.micd(x, y, k=5, base=np.e))
    assert math.isnan(estimated.low)
    estimated = estimate_by("labels-as-numbers", law, (x, y), generator)
    assert float(estimated) == approx(npeet.mi(x, y, k=5, base=np.e))


def test_what_is_refused_is_counted_with_its_reason(monkeypatch):
    (cell,) = cells_of(laws="1v1-normal-0.75", methods="ksg")

    def refuse(*_):
        raise ValueError(REFUSAL)

    monkeypatch.setattr("sweeps.sample_estimators.known_laws.estimate_by", refuse)
    recorder = Recorder.ran(trial, [cell])
    (columns,) = recorder.tables.values()
    (final,) = recorder.finals.values()
    assert set(columns["reason"]) == {REFUSAL}
    assert final["answered"] == 0
    assert "bias_nats" not in final


def test_an_estimate_without_interval_neither_covers_nor_misses():
    sets = {"value": [1.0, np.nan, 3.0], "low": [np.nan, np.nan, 2.0], "high": [np.nan, np.nan, 5.0],
            "seconds": [1.0, 1.0, 4.0], "memory": [0.0, 2.0, 1.0]}  # fmt: skip
    figures = scored(
        {name: np.array(values) for name, values in sets.items()}, truth=1.5
    )
    assert figures == {
        "answered": 2, "intervals": 1, "covering_intervals": 0, "estimate_seconds": 1, "memory_mib": 2,
        "bias_nats": 0.5, "mse_nats2": (0.25 + 2.25) / 2, "mean_absolute_error_nats": 1.0, "mean_width_nats": 3.0,
    }  # fmt: skip


def test_memory_is_what_was_added():
    with peak_memory() as first:
        np.ones(8 << 20).sum()  # 64 MiB
    with peak_memory() as second:
        pass
    if math.isnan(first.mib):
        pytest.skip("no peak memory")
    assert 60 < first.mib < 90
    assert second.mib < 10


def test_the_first_sweep_loads_no_torch():
    """Neither its driver nor its workers, who would take seconds longer."""
    program = (
        "import sys, infoscope.tracking.driver, infoscope.tracking.trial\n"
        "from sweeps.sample_estimators.known_laws import PROFILES, SWEEP\n"
        "SWEEP.profile('smoke', {'methods': 'ksg,gcmi'}); "
        "SWEEP.plan(PROFILES['smoke'])\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert (
        subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY).returncode == 0
    )
