"""The sweep of accuracies: its cells, and its trial against estimates made by hand."""

import numpy as np
import pytest

from infoscope.data.tasks.known_truth import case, draws
from infoscope.estimators import knn
from infoscope.tracking import Pack
from sweeps.sample_estimators.measures import PROFILES, SWEEP, trial
from tests.sweeps.recorder import Recorder


def cells_of(**overrides):
    return list(SWEEP.plan(PROFILES["smoke"].override(overrides)).values())


def test_estimators_are_asked_what_they_take():
    asked = {name: {cell["estimator"] for cell in cells_of(cases=name)} for name in PROFILES["smoke"].cases}
    assert asked == {
        "gaussian-1": {"knn"},
        "mixture-2": {"knn", "classifier", "labels-as-numbers", "micd"},
        "mixture-given-2": {"knn", "classifier", "labels-as-numbers"},
        "xor": {"knn"},
    }


def test_figures_are_those_of_the_data_sets():
    (cell,) = cells_of(cases="mixture-2", estimators="knn", blocks="1")
    recorder = Recorder()
    trial(Pack((cell,)), recorder)
    of = case("mixture-2")
    by_hand = [float(knn.mutual_information(*of.sample(500, draws(seed, "mixture-2", 500)), k=5)) for seed in (3, 4, 5)]
    (columns,), (final,) = recorder.tables.values(), recorder.finals.values()
    np.testing.assert_allclose(columns["estimate"], by_hand)
    assert final["bias"] == pytest.approx(np.mean(by_hand) - of.truth()[0])
    assert final["variance"] == pytest.approx(np.var(by_hand, ddof=1))


def test_every_estimator_gives_numbers_on_every_smoke_case():
    recorder = Recorder("case", "estimator")
    for cell in cells_of(blocks="0", sets="2"):
        trial(Pack((cell,)), recorder)
    assert len(recorder.finals) == 9
    assert all(np.isfinite(list(final.values())).all() for final in recorder.finals.values())


@pytest.mark.parametrize(("overrides", "words"), [
    ({"cases": "gaussian-3"}, "case must be one of"), ({"sizes": "10"}, "n must be .*, got 10"),
    ({"sets": "1"}, "sets must be .*, got 1"),
    ({"k": "500"}, "k must be below n.*, got 500"),
    ({"blocks": "-1"}, "blocks must be a finite number of at least 0.*, got '-1'"),
])  # fmt: skip
def test_cells_that_cannot_be_run_are_found_before_anything_starts(overrides, words):
    with pytest.raises(ValueError, match=words):
        cells_of(**overrides)
