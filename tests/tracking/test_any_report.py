"""Whatever a trial, a cell or a sweep gives is refused at once, with a sentence, or
comes back equal from MLflow.

Drawn by hypothesis, the same in every run; INFOSCOPE_EXAMPLES draws more.
"""

import itertools
import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from infoscope.tracking import Profile, Sweep, arrays, curve, table
from infoscope.tracking.checkpoint import Checkpoint
from infoscope.tracking.checks import storable_text
from infoscope.tracking.publishing import publish
from infoscope.tracking.report import RecordedReport
from infoscope.tracking.store import Store, values
from infoscope.tracking.tags import ERROR
from tests.tracking.cells import begun

EXAMPLES = int(os.environ.get("INFOSCOPE_EXAMPLES", 20))
drawn = settings(
    max_examples=EXAMPLES,
    derandomize="INFOSCOPE_EXAMPLES" not in os.environ,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
numbers = itertools.count()

# half surrogate pairs and zeros, too
anything = st.text(st.characters(exclude_categories=()), max_size=12)
plain = st.text("abz AZ09._-:/é²", min_size=1, max_size=6)
long = st.builds(
    lambda unit, times: unit * times,
    st.sampled_from(["x", "é", "a/", "☃"]),
    st.integers(90, 300),
)
paths = st.sampled_from(
    ["a(b)", "..", ".", "/a", "a//b", "a/../b", "key", " ", "a\n", "mlflow.x"]
)
names = plain | anything | long | paths
edges = st.sampled_from(
    [2**53, 2**53 + 1, -(2**53), 2**63 - 1, 2**63, 2**70, -(2**70), 10**12, -1]
)
wholes = edges | st.integers() | st.integers(0, 255).map(np.uint8)
reals = st.floats() | st.floats(width=32).map(np.float32)
reals |= st.sampled_from([5e-324, -0.0, math.inf, -math.inf, math.nan, np.True_])
no_numbers = anything | st.booleans() | st.none()
steps = st.integers(0, 20) | wholes | st.floats() | no_numbers
figures = reals | wholes | no_numbers | st.complex_numbers() | st.decimals()
figures |= reals.map(np.asarray) | st.lists(reals, max_size=3).map(np.array)
cell_values = reals | wholes | no_numbers | st.binary(max_size=3)
cell_values |= st.text("aé", min_size=2000, max_size=7000)
cell_values |= st.lists(st.integers() | anything, max_size=3).map(tuple)
cell_values |= st.dictionaries(plain, st.none(), max_size=1)


@pytest.fixture(scope="module")
def store(tmp_path_factory, empty_store):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("any")
        empty_store(folder)
        patch.chdir(folder)
        yield Store.open("any", create=True)


def reporting(store, cell=None, **tags):
    """A cell that is being run, as a worker does it."""
    key = f"{next(numbers):016x}"
    place = Path.cwd() / "cells"
    cell = {"seed": 0} if cell is None else cell
    folder = begun(place, key, cell, **tags)
    report = RecordedReport(
        {key: cell},
        {key: folder},
        Checkpoint(str(place), "x", [key]),
        lambda told: None,
    )
    return report, folder, cell


def refused(act, *given):
    """Whether something is refused as it should be: at once, by a sentence that can be
    shown.
    """
    try:
        act(*given)
    except ValueError as error:
        message = str(error)
        assert message
        assert len(message.splitlines()) == 1
        assert len(message) < 500
        message.encode()
        return True
    return False


def ended(record, store, outcome="complete", error=""):
    """The run of a cell that has ended: what was accepted when it was reported is sent."""
    record.end(outcome, error)
    run = store.run(publish(record, store))
    assert run.info.status == ("FAILED" if error else "FINISHED")
    return run


def same(ours, theirs):
    return ours == theirs or math.isnan(ours) and math.isnan(theirs)


@drawn
@given(st.lists(st.tuples(names, steps, figures), min_size=1, max_size=8))
def test_metrics(store, reports):
    report, record, cell = reporting(store)
    expected = {}
    for name, step, value in reports:
        if refused(report.metrics, cell, {name: value}, step):
            continue
        recorded = float(value) if math.isfinite(value) else math.nan
        expected.setdefault(name, {})[int(step)] = recorded
    run = ended(record, store)
    assert set(run.data.metrics) == set(expected)
    for name, points in expected.items():
        recorded = curve(run.info.run_id, name).to_dict()
        assert recorded.keys() == points.keys()
        for step in points:
            assert same(points[step], recorded[step])
        assert same(run.data.metrics[name], points[max(points)])


@drawn
@given(
    st.dictionaries(names, cell_values, max_size=4),
    st.dictionaries(names, anything | long, max_size=3),
)
def test_cells_and_tags(store, cell, tags):
    sweep = Sweep(
        "any",
        lambda profile: [cell],
        None,
        {"smoke": Profile()},
        tags=lambda cell: tags,
    )
    if refused(sweep.plan, Profile()) or refused(sweep.tags_of, cell):
        return
    report, record, _ = reporting(store, cell, **sweep.tags_of(cell))
    report.metrics(dict(cell), {"level": 1.0})
    run = ended(record, store)
    assert values(run) == json.loads(json.dumps(cell))
    assert run.data.metrics == {"level": 1.0}
    assert set(run.data.params) == set(cell)
    assert {name: run.data.tags[name] for name in tags} == tags


@drawn
@given(anything, st.text(min_size=1) | anything)
def test_errors(store, first, second):
    """An error is never refused: what MLflow would not take of its text is written out."""
    _, record, _ = reporting(store)
    run = ended(record, store, "failed", f"ValueError: {first}{second}")
    assert run.data.tags[ERROR] == f"ValueError: {storable_text(first + second)}"


@drawn
@given(
    plain | anything,
    plain | anything,
    st.lists(reals, min_size=1, max_size=3),
    st.lists(st.text(), min_size=1),
)
def test_tables_and_arrays(store, name, key, figures, texts):
    report, record, cell = reporting(store)
    columns = {
        key: np.array(figures, float),
        f"{key} text": np.resize(np.array(texts, dtype=object), len(figures)),
    }
    of_table = refused(report.table, cell, name, columns)
    of_arrays = refused(report.arrays, cell, name, {key: figures})
    run_id = ended(record, store).info.run_id
    if not of_table:
        stored = table(run_id, name)
        assert list(stored) == list(columns)
        assert stored[f"{key} text"].tolist() == columns[f"{key} text"].tolist()
        assert_array_equal(stored[key], columns[key])
    if not of_arrays:
        (stored,) = arrays(run_id, name).items()
        assert stored[0] == key
        assert_array_equal(stored[1], np.array(figures))
