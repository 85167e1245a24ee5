"""The study of growth: that it forecasts by power laws, and that the stores it fills hold the cells they should."""

import math
import time

import pytest
from mlflow.entities import Metric, Param, RunTag

from infoscope.tracking import runs
from infoscope.tracking.store.store import Store, gather_statistics
from infoscope.tracking.tags import CELL, KEY, OUTCOME, PROFILE
from infra.scale import __main__ as scale
from infra.scale import cells, work
from infra.scale.watch import Cost, cost_of


def test_a_filled_store_holds_the_planned_cells_and_sorts_them_fast_once_it_has_statistics(tmp_path, monkeypatch):
    """2,000 runs: without statistics each is looked for among all, half a second against some hundredths."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    store = Store.open(cells.NAME, create=True)
    for key, cell in cells.plan(cells.FIRST).items():
        number = cell["number"]
        tags = {KEY: key, CELL: f'{{"number": {number}}}', PROFILE: cells.PROFILE, OUTCOME: "complete"}
        run = store.client.create_run(store.experiment_id, tags=tags).info.run_id
        store.client.log_batch(run, [Metric("mean", 0.5, 1, 0)], [Param("number", str(number))], [RunTag("own", "1")])
        store.end(run, "FINISHED")
    cells.fill(tmp_path / "mlflow.db", 60)
    found = runs(cells.NAME, cells.PROFILE)
    assert sorted(found["number"]) == list(range(60)) and (found["mean"] == 0.5).all()
    assert {run.data.tags[KEY] for run in store.cells()} == set(cells.plan(60))
    assert cells.read()[0] == 60 and cells.planned(60) < 10

    def sorting():
        began = time.process_time()
        best = store.client.search_runs([store.experiment_id], "", max_results=5, order_by=["metrics.mean DESC"])
        return time.process_time() - began, [run.info.run_id for run in best]

    cells.fill(tmp_path / "mlflow.db", 2000)
    sorting()
    before, best = sorting()
    gather_statistics(store.uri)
    after, best_again = sorting()
    assert after < before / 3 and best_again == best


@pytest.mark.parametrize("kind", [work.ALONE, work.DECOMPOSITION, "Gaussian copula"])
def test_work_is_measured_in_a_process_of_its_own(kind):
    cost = cost_of(work.estimates, kind, {"rows": 400, "columns": 2})
    assert 0 < cost.seconds < 60 and cost.mib >= 0


def test_what_fails_is_told():
    with pytest.raises(RuntimeError, match="no such kind of {'rows': 400} failed"):
        cost_of(work.estimates, "no such kind", {"rows": 400})


def test_forecasts_follow_the_power_law_of_the_last_two_sizes():
    assert scale.forecast([], 1000) == -math.inf
    assert scale.forecast([(100, Cost(2.0, 0.0))], 1000) == pytest.approx(20)
    square = [(10, Cost(1e-3, 0.0)), (100, Cost(0.1, 0.0)), (1000, Cost(10.0, 0.0))]
    assert scale.forecast(square, 10_000) == pytest.approx(1000)


def test_a_part_that_does_not_exist_is_refused(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["scale", "--parts", "rows,moons"])
    assert scale.main() == 2 and "--parts has 'moons'; valid are rows, columns" in capsys.readouterr().err
