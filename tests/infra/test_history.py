"""The drill's check accepts a true history and finds every kind of error in false ones."""

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


def point(metric, step, value):
    """Changes the stored value of a step of `b`."""
    return lambda history: history["seen"][-1]["b"][metric].__setitem__(step, [step, value])


def steps(*metrics, change):
    """Changes the stored points of metrics of `b`."""
    return lambda history: [change(history["seen"][-1]["b"][metric]) for metric in metrics]


def added(name, key):
    return lambda history: history[name].append(key)


def left(name):
    return lambda history: history.update({name: ["b"]})


def replaced(observation, key, content):
    return lambda history: history["seen"][observation].__setitem__(key, content)


def lost(history):
    history["counted"].remove("b")
    history["stored"].remove("b")
    del history["seen"][-1]["b"]


def wrong_state(history):
    """The trial itself continued from another state than its own."""
    value = TRUTH["b"][3] + 1e-15
    point(CURVE, 3, value)(history)
    history["ledger"].append(report("b", 12, 3, value))


def disappeared_at_the_end(history):
    del history["seen"][3]["a"]
    history["counted"].remove("a")


FALSE = {
    "a cell is lost": (lost, {"lost"}),
    "counted twice": (added("counted", "b"), {"doubled"}),
    "stored twice": (added("stored", "b"), {"doubled"}),
    "a foreign cell": (added("counted", "foreign"), {"doubled"}),
    "another value": (point(CURVE, 3, TRUTH["b"][3] + 1e-15), {"unreported", "wrong"}),
    "the value of another step": (point(CURVE, 3, TRUTH["b"][4]), {"unreported", "wrong"}),
    "the value of another cell": (point(CURVE, 3, TRUTH["a"][3]), {"unreported", "wrong"}),
    "another state": (wrong_state, {"wrong"}),
    "a missing step": (steps(CURVE, ATTEMPT, change=lambda points: points.pop(3)), {"missing", "mixed"}),
    "the last step is missing": (steps(CURVE, ATTEMPT, change=lambda points: points.pop()), {"missing", "mixed"}),
    "too many steps": (
        steps(CURVE, ATTEMPT, change=lambda points: points.append([STEPS, 12.0])), {"unreported", "wrong", "mixed"}
    ),
    "a step twice": (steps(CURVE, change=lambda points: points.insert(3, list(points[3]))), {"duplicated"}),
    "mixed with another driver": (point(ATTEMPT, 4, 13.0), {"mixed"}),
    "mixed beyond the checkpoint": (point(ATTEMPT, 2, 11.0), {"mixed"}),  # 12 made step 2 again
    "an unknown metric": (lambda history: history["seen"][-1]["b"].update(bias=[[0, 0.5]]), {"unreported"}),
    "an unknown attempt": (replaced(-1, "b", numbers("b", [14] * STEPS)), {"unreported", "mixed"}),
    "disappears for a while": (lambda history: history["seen"][2].pop("a"), {"disappeared"}),
    "disappears at the end": (disappeared_at_the_end, {"disappeared", "lost"}),
    "replaced by another attempt": (replaced(-1, "a", numbers("a", [13] * STEPS)), {"changed"}),
    "counted too early": (
        replaced(1, "a", {name: points[:4] for name, points in numbers("a").items()}), {"missing", "mixed", "changed"}
    ),
    "an open run": (left("open"), {"open"}),
    "an incomplete run": (left("incomplete"), {"incomplete"}),
    "a record that was not sent": (left("unsent"), {"unsent"}),
}  # fmt: skip


@pytest.mark.parametrize("name", FALSE)
def test_a_false_history_is_found(history, name):
    falsify, breaches = FALSE[name]
    falsify(history)
    assert set(found(history)) == breaches
