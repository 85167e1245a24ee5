"""A search without Ray: what Optuna is told, what it suggests, and what a restart makes
of the record.
"""

import dataclasses
import math

import pytest
from optuna.distributions import (
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import TrialState
from ray import tune

from infoscope.tracking import Cell, Profile, Search, Sweep
from infoscope.tracking.cell_folder import COMPLETE, FAILED, STOPPED
from infoscope.tracking.cli import trials_table
from infoscope.tracking.publishing import publish
from infoscope.tracking.report import JUDGED
from infoscope.tracking.search import CellSearch
from infoscope.tracking.store import Store
from tests.tracking.cells import begun

SQUARE = {"a": FloatDistribution(0.0, 1.0), "b": FloatDistribution(0.0, 1.0)}


def sweep(space, trials=5, cells=({"seed": 0, "sizes": (1, 2)},), seed=0, **settings):
    search = Search(
        "loss",
        "min",
        lambda: None,
        space=lambda profile: space,
        trials=trials,
        seed=seed,
    )
    return Sweep(
        "explored",
        lambda profile: cells,
        lambda pack, report: None,
        {"laptop": Profile()},
        search=search,
        **settings,
    )


def distance(cell):
    """From the best point of the square; a tenth of the square is nearer than 0.178."""
    return math.hypot(cell["a"] - 0.3, cell["b"] - 0.6)


def suggestion(search, trial_id):
    """The key and cell of a trial; None where the search has no other."""
    config = search.suggest(trial_id)
    if config == search.FINISHED:
        return None
    ((key, cell),) = config["bundle"].cells.items()
    return key, cell


def explore(search, trials):
    """Runs a search, one trial at a time; the cells in order."""
    cells = []
    for number in range(trials):
        key, cell = suggestion(search, str(number))
        ended = {"ended": ((key, COMPLETE, ""),), JUDGED: distance(cell)}
        search.on_trial_complete(str(number), ended)
        cells.append(cell)
    return cells


def test_one_trial_at_a_time_is_reproducible():
    first = explore(CellSearch(sweep(SQUARE), Profile()), 15)
    again = explore(CellSearch(sweep(SQUARE), Profile()), 15)
    assert first == again
    assert explore(CellSearch(sweep(SQUARE, seed=1), Profile()), 1) != first[:1]


@dataclasses.dataclass(frozen=True)
class Point(Cell):
    seed: int = 0
    sizes: tuple = (1, 2)
    a: float | None = None
    b: float | None = None


def test_typed_cells_are_searched_as_dicts_are():
    of_dicts = CellSearch(sweep(SQUARE), Profile())
    typed = CellSearch(sweep(SQUARE, cells=(Point(),)), Profile())
    for trial in "abc":
        key, values = suggestion(of_dicts, trial)
        same_key, point = suggestion(typed, trial)
        assert key == same_key
        assert point == Point(**values)


def test_a_suggestion_is_a_cell_with_the_fixed_values():
    space = {
        "rate": tune.loguniform(1e-4, 1e-1),
        "depth": tune.randint(1, 4),
        "kind": tune.choice(["x", None]),
    }
    exploration = CellSearch(sweep(space), Profile())
    # randint ends before its upper bound
    assert exploration.distributions["depth"] == IntDistribution(1, 3)
    for trial in "abcdefghij":
        key, cell = suggestion(exploration, trial)
        assert set(cell) == {"seed", "sizes", "rate", "depth", "kind"}
        assert cell["sizes"] == (1, 2)
        assert 1e-4 <= cell["rate"] <= 1e-1
        assert cell["depth"] in (1, 2, 3)
        assert cell["kind"] in ("x", None)
        assert key == exploration.sweep.key(cell)


def test_a_finite_space_is_searched_once():
    space = {
        "depth": IntDistribution(1, 4),
        "kind": CategoricalDistribution(["x", "y"]),
    }
    space["step"] = tune.quniform(0, 1, 1)
    exploration = CellSearch(sweep(space, trials=100), Profile())
    assert exploration.trials == 16
    keys = []
    for trial in "abcdefghijklmnop":
        key, cell = suggestion(exploration, trial)
        exploration.on_trial_complete(
            trial, {"ended": ((key, COMPLETE, ""),), JUDGED: float(cell["depth"])}
        )
        keys.append(key)
    assert len(set(keys)) == 16
    assert suggestion(exploration, "q") is None
    assert exploration.exhausted


def test_configurations_that_cannot_be_run_are_not_suggested():
    def check(cell):
        if cell["a"] > 0.2:
            raise ValueError("too large")

    exploration = CellSearch(sweep(SQUARE, check=check), Profile())
    for cell in explore(exploration, 20):
        assert cell["a"] <= 0.2


def impossible(cell):
    raise ValueError("impossible")


@pytest.mark.parametrize(
    "space, settings, words",
    [
        ({}, {}, "got {}"),
        ({"rate": 0.1}, {}, "rate .* got 0.1"),
        ({"rate": tune.grid_search([1, 2])}, {}, "for rate"),
        ({"seed": IntDistribution(0, 3)}, {}, "fixed at 0"),
        ({"kind": tune.choice([(1, 2), (3,)])}, {}, r"choices, got \(1, 2\)"),
        ({"a(b)": IntDistribution(0, 3)}, {}, r"got 'a\(b\)'"),
        ({"kind": tune.choice(["x", "\ud800"])}, {}, "value kind"),
        (SQUARE, {"trials": 0}, "trials must"),
        (SQUARE, {"cells": ({"seed": 0}, {"seed": 1})}, "got 2"),
        (SQUARE, {"check": impossible}, "impossible"),
    ],
)
def test_a_bad_search_is_refused_before_anything_starts(space, settings, words):
    with pytest.raises(ValueError, match=words):
        CellSearch(sweep(space, **settings), Profile())


# the last result, whether Tune saw an error, Optuna's state and value (pruned: the last
# reported)
OUTCOMES = [
    ({"ended": (("key", COMPLETE, ""),), JUDGED: 0.5}, False, TrialState.COMPLETE, 0.5),
    ({"ended": (("key", FAILED, "why"),), JUDGED: 0.5}, False, TrialState.FAIL, None),
    (
        {"ended": (("key", COMPLETE, ""),), JUDGED: math.nan},
        False,
        TrialState.PRUNED,
        0.7,
    ),
    (
        {"ended": (("key", COMPLETE, ""),), JUDGED: math.inf},
        False,
        TrialState.PRUNED,
        0.7,
    ),
    ({JUDGED: 0.5}, False, TrialState.PRUNED, 0.7),
    ({JUDGED: 0.5}, True, TrialState.FAIL, None),
    (None, True, TrialState.FAIL, None),
]


@pytest.mark.parametrize("last, error, state, value", OUTCOMES)
def test_optuna_receives_the_outcome_of_a_trial(last, error, state, value):
    """A diverged trial ranks behind every other: pruned, by how far it got."""
    search = CellSearch(sweep(SQUARE), Profile())
    search.suggest("a")
    search.on_trial_result("a", {JUDGED: 0.7, "training_iteration": 3})
    search.on_trial_result("a", {"training_iteration": 4})
    search.on_trial_complete("a", last, error)
    (trial,) = search._ot_study.trials
    assert trial.state == state
    assert trial.value == value
    assert trial.intermediate_values == {3: 0.7}


@pytest.fixture
def store(own_folder):
    return Store.open("explored", create=True)


def record(
    store, folder, declared, cell, outcome, label="laptop", loss=0.5, fraction=1.0
):
    """A cell's run in a real store, as a worker and a driver leave it; its key."""
    key = declared.key(cell)
    cell_folder = begun(folder, key, cell, **{"infoscope.profile": label})
    cell_folder.metrics(
        {"progress/fraction": fraction, "progress/loss": loss}, round(1000 * fraction)
    )
    if outcome:
        cell_folder.end(outcome)
    publish(cell_folder, store)
    cell_folder.remove()
    return key


def test_a_restarted_search_keeps_finished_cells_and_runs_unfinished_ones(
    store, tmp_path
):
    declared = sweep(SQUARE, trials=6)

    def recorded(a, b, outcome, seed=0, version=1, **settings):
        cell = {"seed": seed, "sizes": (1, 2), "a": a, "b": b}
        return record(
            store,
            tmp_path,
            dataclasses.replace(declared, version=version),
            cell,
            outcome,
            **settings,
        )

    best = recorded(0.3, 0.6, COMPLETE, loss=0.0)
    stopped = recorded(0.9, 0.1, STOPPED, loss=0.8, fraction=0.1)
    elsewhere = recorded(0.4, 0.4, COMPLETE, label="smoke")
    killed = recorded(0.5, 0.5, None)
    failed = recorded(0.6, 0.5, FAILED)
    recorded(0.5, 0.2, None, label="smoke")  # not begun by this profile
    recorded(1.5, 0.5, COMPLETE)  # outside of the space
    recorded(0.5, 0.5, COMPLETE, seed=1)  # other fixed values
    recorded(0.1, 0.1, COMPLETE, version=2)  # other science

    exploration = CellSearch(declared, Profile())
    plan = exploration.recall(list(store.cells()), "laptop")
    assert list(plan) == [best, stopped, elsewhere, killed, failed]
    assert all(declared.key(cell) == key for key, cell in plan.items())
    trial_at = {}
    for trial in exploration._ot_study.trials:
        if trial.params:
            trial_at[trial.params["a"]] = trial
    assert trial_at[0.3].state is TrialState.COMPLETE
    assert trial_at[0.3].value == 0.0
    assert trial_at[0.9].state is TrialState.PRUNED
    assert trial_at[0.9].intermediate_values == dict.fromkeys(range(10), 0.8)
    assert exploration._ot_study.best_params == {"a": 0.3, "b": 0.6}

    suggested = [suggestion(exploration, trial)[0] for trial in "abc"]
    assert suggested[:2] == [killed, failed]
    assert suggested[2] not in plan
    fewer = CellSearch(
        dataclasses.replace(
            declared, search=dataclasses.replace(declared.search, trials=2)
        ),
        Profile(),
    )
    assert list(fewer.recall(list(store.cells()), "laptop")) == [best, stopped]


def test_a_search_ends_with_its_trials_best_first(own_folder):
    """Those that were stopped early come after the others, and those that failed or
    were killed are left out.
    """
    declared = sweep(SQUARE, trials=6)
    store = Store.open(declared.name, create=True)
    folder = own_folder / "records"
    for a, outcome, loss in ((0.1, COMPLETE, 0.8), (0.2, STOPPED, 0.1), (0.3, COMPLETE, 0.2), (0.4, FAILED, 0.0),
                             (0.5, STOPPED, math.nan)):  # fmt: skip
        record(
            store,
            folder,
            declared,
            {"seed": 0, "sizes": (1, 2), "a": a, "b": 0.6},
            outcome,
            loss=loss,
        )
    header, *rows = [
        line.split() for line in trials_table(declared, "laptop").splitlines()
    ]
    assert header == ["a", "progress/loss", "progress/fraction", "outcome"]
    assert [row[:2] for row in rows] == [
        ["1", "0.3"],
        ["2", "0.1"],
        ["3", "0.2"],
        ["4", "0.5"],
    ]
