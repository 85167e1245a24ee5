"""The checker of the fault drill passes a true history, and finds what is wrong in falsified ones."""

import copy

import pytest

from infra.drill.history import LOSSES, History
from infra.drill.sweep import ATTEMPT, CURVE

STEPS = 6
TRUTH = {key: [10 * place + step / 7 for step in range(STEPS)] for place, key in enumerate("ab")}
# three attempts at each cell: 11 has saved after two steps and died after three, 12 went on from there, 13 did it all
BEGUN = {11: (None, 0), 12: (11, 2), 13: (None, 0)}
REPORTED = {11: range(3), 12: range(2, STEPS), 13: range(STEPS)}


def report(key, attempt, step, value=None):
    value = TRUTH[key][step] if value is None else value
    return {"op": "report", "pid": 1, "key": key, "attempt": attempt, "step": step, "value": value}


def ledger():
    lines = []
    for key in TRUTH:
        for attempt, (origin, first) in BEGUN.items():
            lines += [{"op": "begin", "pid": 1, "key": key, "attempt": attempt, "origin": origin, "step": first}]
            lines += [report(key, attempt, step) for step in REPORTED[attempt]]
    return lines


def numbers(key, attempts=(11, 11, 12, 12, 12, 12)):
    return {
        CURVE: [[step, TRUTH[key][step]] for step in range(STEPS)],
        ATTEMPT: [[step, float(attempt)] for step, attempt in enumerate(attempts)],
    }


@pytest.fixture
def history():
    """As arguments of History: `a` is seen complete in the second observation, `b` in the last."""
    whole = {key: numbers(key) for key in TRUTH}
    seen = [{}, {"a": whole["a"]}, {"a": whole["a"]}, whole]
    return {
        "truth": TRUTH,
        "ledger": ledger(),
        "seen": copy.deepcopy(seen),
        "counted": ["a", "b"],
        "stored": ["a", "b"],
    }


def found(history):
    breaches = History(**history).breaches()
    assert set(breaches) == set(LOSSES)
    return {name: set(of) for name, of in breaches.items() if of}


def test_a_true_history_passes(history):
    assert found(history) == {}
    history["seen"][-1]["b"] = numbers("b", [13] * STEPS)
    assert found(history) == {}


def lost(history):
    history["counted"].remove("b")
    history["stored"].remove("b")
    del history["seen"][-1]["b"]


def counted_twice(history):
    history["counted"].append("b")


def stored_twice(history):
    history["stored"].append("b")


def foreign(history):
    history["counted"].append("foreign")


def everywhere(history, metric, change):
    """Changes the points of a metric of `b`, in the store."""
    change(history["seen"][-1]["b"][metric])


def other_value(history):
    everywhere(history, CURVE, lambda points: points.__setitem__(3, [3, points[3][1] + 1e-15]))


def value_of_another_step(history):
    everywhere(history, CURVE, lambda points: points.__setitem__(3, [3, points[4][1]]))


def value_of_another_cell(history):
    everywhere(history, CURVE, lambda points: points.__setitem__(3, [3, TRUTH["a"][3]]))


def reported_wrongly(history):
    """The trial itself went on from a state that was not its own."""
    other_value(history)
    history["ledger"].append(report("b", 12, 3, history["seen"][-1]["b"][CURVE][3][1]))


def step_missing(history):
    for metric in (CURVE, ATTEMPT):
        everywhere(history, metric, lambda points: points.pop(3))


def last_step_missing(history):
    for metric in (CURVE, ATTEMPT):
        everywhere(history, metric, lambda points: points.pop())


def step_beyond(history):
    for metric, value in {CURVE: 1.0, ATTEMPT: 12.0}.items():
        everywhere(history, metric, lambda points, value=value: points.append([STEPS, value]))


def step_twice(history):
    everywhere(history, CURVE, lambda points: points.insert(3, list(points[3])))


def mixed_with_another_driver(history):
    everywhere(history, ATTEMPT, lambda points: points.__setitem__(4, [4, 13.0]))


def mixed_beyond_the_checkpoint(history):
    """Step 2 was reported by 11, but after its checkpoint: 12 made it again."""
    everywhere(history, ATTEMPT, lambda points: points.__setitem__(2, [2, 11.0]))


def unknown_metric(history):
    history["seen"][-1]["b"]["bias"] = [[0, 0.5]]


def unknown_attempt(history):
    history["seen"][-1]["b"] = numbers("b", [14] * STEPS)


def disappears(history):
    del history["seen"][2]["a"]  # and comes back


def disappears_at_the_end(history):
    del history["seen"][3]["a"]
    history["counted"].remove("a")


def another_attempt_takes_its_place(history):
    history["seen"][-1]["a"] = numbers("a", [13] * STEPS)


def complete_too_early(history):
    """The run was counted before all of it was there."""
    history["seen"][1]["a"] = {name: points[:4] for name, points in numbers("a").items()}


def left(name):
    def leave(history):
        history[name] = ["b"]

    leave.__name__ = f"left_{name}"
    return leave


@pytest.mark.parametrize(
    "falsify, breaches",
    [
        (lost, {"lost"}),
        (counted_twice, {"doubled"}),
        (stored_twice, {"doubled"}),
        (foreign, {"doubled"}),
        (other_value, {"unreported", "wrong"}),
        (value_of_another_step, {"unreported", "wrong"}),
        (value_of_another_cell, {"unreported", "wrong"}),
        (reported_wrongly, {"wrong"}),
        (step_missing, {"missing", "mixed"}),
        (last_step_missing, {"missing", "mixed"}),
        (step_beyond, {"unreported", "wrong", "mixed"}),
        (step_twice, {"duplicated"}),
        (mixed_with_another_driver, {"mixed"}),
        (mixed_beyond_the_checkpoint, {"mixed"}),
        (unknown_metric, {"unreported"}),
        (unknown_attempt, {"unreported", "mixed"}),
        (disappears, {"disappeared"}),
        (disappears_at_the_end, {"disappeared", "lost"}),
        (another_attempt_takes_its_place, {"changed"}),
        (complete_too_early, {"missing", "mixed", "changed"}),
        (left("open"), {"open"}),
        (left("incomplete"), {"incomplete"}),
        (left("unsent"), {"unsent"}),
    ],
)
def test_what_is_wrong_is_found(history, falsify, breaches):
    falsify(history)
    assert set(found(history)) == breaches
