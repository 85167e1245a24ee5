"""Thousands of cells that take no time: what a sweep and its driver pay for each must not grow with their number.

500 and 2,000 cells of tests/tracking/many_cells.py (13 numbers each), on two cores, SQLite and a local Ray, in one run.
Processor time, not wall time, so that a busy machine changes little: of the driver and of all processes it starts.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from infoscope.tracking import runs
from infra.scale.watch import watched
from tests.benchmarks.timing import seconds, show

pytestmark = pytest.mark.bench

FEW, MANY = 500, 2000
TESTS = Path(__file__).parents[1] / "tracking"


class Cost(NamedTuple):
    """Processor seconds of the driver and of everything it started, wall seconds, the driver's peak memory in MB;
    processor seconds of reading the runs.
    """

    driver: float
    workers: float
    wall: float
    memory: float
    reading: float


def swept(folder: Path, cells: int, patch: pytest.MonkeyPatch) -> Cost:
    folder.mkdir()
    patch.chdir(folder)
    environment = {name: os.environ[name] for name in os.environ if name not in ("MLFLOW_TRACKING_URI", "RAY_ADDRESS")}
    environment["PYTHONPATH"] = os.pathsep.join([str(TESTS), str(TESTS.parents[1])])
    command = [sys.executable, "-m", "many_cells", "--set", f"count={cells}"]
    used = watched(command, environment, status=1)  # one in 25 fails, as it shall
    runs("many", finished=False)  # what is done once
    frames = []
    reading = seconds(lambda: frames.append(runs("many", finished=False)))
    (frame,) = frames
    assert len(frame) == cells and (frame["status"] == "FAILED").sum() == cells // 25
    return Cost(*used, reading)


@pytest.fixture(scope="module")
def costs(tmp_path_factory) -> tuple[Cost, Cost, Cost]:
    """Of a few cells (which is what starting takes), of some and of many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        folder = tmp_path_factory.mktemp("many")
        found = tuple(swept(folder / str(cells), cells, patch) for cells in (25, FEW, MANY))
    for cells, cost in zip((25, FEW, MANY), found, strict=True):
        show(f"{cells} cells", **cost._asdict())
    return found


def per_cell(costs: tuple[Cost, Cost, Cost], name: str) -> tuple[float, float]:
    """Of each of the first some cells, and of each of all."""
    start, few, many = (getattr(cost, name) for cost in costs)
    return (few - start) / (FEW - 25), (many - start) / (MANY - 25)


@pytest.mark.parametrize("name", ["driver", "workers"])
def test_the_time_of_a_cell_does_not_grow_with_their_number(costs, name):
    few, many = per_cell(costs, name)
    show(name, few_ms=1000 * few, many_ms=1000 * many, ratio=many / few)
    assert many < 1.5 * few


def test_reading_does_not_grow_with_the_square(costs):
    few, many = costs[1].reading / FEW, costs[2].reading / MANY
    show("reading", few_ms=1000 * few, many_ms=1000 * many, ratio=many / few)
    assert many < 2.5 * few  # MLflow finds a page by counting from the first row; all by the square would be 4


def test_the_memory_of_the_driver_grows_by_little(costs):
    """What it keeps of a cell: its values, its name, Tune's account of the trials."""
    grown = (costs[2].memory - costs[1].memory) / (MANY - FEW)
    show("memory", kb_a_cell=1000 * grown, mb=costs[2].memory)
    assert grown < 0.05  # MB
