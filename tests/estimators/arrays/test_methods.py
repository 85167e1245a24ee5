"""What every method must do: closed forms, invariances, nothing learnt from rows that
are held out, types, refusals.
"""

import math
from itertools import product

import numpy as np
import pytest
from pytest import approx

from infoscope.estimators.arrays import METHODS, as_method, as_pairs, estimate
from infoscope.estimators.arrays.protocol import takes_kinds
from infoscope.estimators.columns import Continuous, Discrete
from infoscope.estimators.neural.bounds import BOUNDS
from tests.estimators.samples import draws, normal_information, normal_pairs
from tests.refusals import refused

CRITIC = {
    "width": 16,
    "embed": 8,
    "steps": 120,
    "batch": 64,
    "learning_rate": 5e-3,
    "folds": 2,
}
CRITICS = {name: as_method(name, CRITIC) for name in BOUNDS if name != "mine-one-step"}
# enough for what must be equal
BRIEF = {name: as_method(name, {**CRITIC, "steps": 4}) for name in CRITICS}
EVERY = {
    **METHODS,
    "student-copula": as_method("student-copula", {"folds": 3}),
    **CRITICS,
}
NUMERIC = []
# all are in neural/test_training.py
SOME_BOUNDS = ("infonce-anchor", "js", "dv", "smile-5")
NO_CRITICS = [name for name in NUMERIC if name not in CRITICS]


def brief(x, y, name, groups=None, seed=0):
    return estimate(x, y, BRIEF.get(name, EVERY[name]), groups, draws(seed))


@pytest.mark.parametrize(
    "name", [*(name for name in NO_CRITICS if name != "reading"), *SOME_BOUNDS]
)
def test_a_closed_form(name):
    """.511 nats of two normal columns, 600 rows; readings, whose interval is not of
    sampling alone, have their own.
    """
    estimated = estimate(*normal_pairs(600, 0.8), EVERY[name])
    bias = -1 / math.e if name == "js" else 0.0
    tolerance = 0.1 if name in CRITICS else 0.05
    truth = normal_information(0.8)
    assert estimated == approx(
        truth + bias, abs=4 * estimated.standard_error + tolerance
    )
    assert 0.005 < estimated.standard_error < 0.12
    assert estimated.n == 600
    assert estimated.low < estimated.value < estimated.high
    if estimated.local is not None:
        assert len(estimated.local) == 600
        assert estimated.local.mean() == approx(estimated.value)


@pytest.mark.parametrize("name", SOME_BOUNDS)
def test_a_generator_repeats_everything_and_another_does_not(name):
    x, y = normal_pairs(200, 0.6)
    first = brief(x, y, name, seed=1)
    again = brief(x, y, name, seed=1)
    other = brief(x, y, name, seed=2)
    assert first.value == again.value != other.value


@pytest.mark.parametrize("name", NUMERIC)
def test_errors_count_groups(name):
    pairs = np.repeat(normal_pairs(200, 0.6), 2, axis=1)
    noise = draws(1).normal(size=(2, 400, 1))
    x, y = pairs + 1e-3 * noise
    groups = np.repeat(np.arange(200), 2)
    estimated = brief(x, y, name, groups)
    assert estimated.units == 200
    assert estimated.degrees <= 200 or math.isinf(estimated.degrees)


for name, method in EVERY.items():
    if takes_kinds(method.takes, "continuous", "continuous"):
        NUMERIC.append(name)


def test_held_out_rows_change_no_fit():
    x, y = normal_pairs(120, 0.6)
    method = as_method("student-copula", {"folds": 2})
    before = estimate(x, y, method, None, draws()).local
    fold = as_pairs(x, y).folds(2, draws())
    changed, *others = np.flatnonzero(fold == 0)
    y[changed] = 40.0
    after = estimate(x, y, method, None, draws()).local
    assert (before[others] == after[others]).all()
    assert (before[fold == 1] != after[fold == 1]).any()


@pytest.mark.parametrize("name", ["ksg", "classifier", "infonce-anchor", "reduced-ksg"])
def test_labels_on_either_side(name):
    """A label through a channel that errs in a fifth of the rows, seen as numbers
    without overlap: I is exact.
    """
    g = draws()
    label = g.integers(0, 2, 600)
    is_error = g.random(600) < 0.2
    received = np.where(is_error, 1 - label, label)
    numbers = 8.0 * received + g.normal(size=600)
    words = np.where(label, "yes", "no")
    entropy = -0.2 * np.log(0.2) - 0.8 * np.log(0.8)
    truth = np.log(2) - entropy
    for x, y in ((numbers, words), (words, numbers)):
        assert estimate(x, y, EVERY[name]) == approx(truth, abs=0.08)


@pytest.mark.parametrize("name", EVERY)
def test_types_that_a_method_does_not_take_are_refused(name):
    numbers = draws().normal(size=60)
    labels = np.arange(60) % 2
    mixed = [Continuous(numbers), Discrete(labels)]
    variables = {"continuous": numbers, "discrete": Discrete(labels), "mixed": mixed}
    for kind_x, kind_y in product(variables, repeat=2):
        if not takes_kinds(EVERY[name].takes, kind_x, kind_y):
            with refused("method", "type"):
                estimate(variables[kind_x], variables[kind_y], name)


@pytest.mark.parametrize(
    ("name", "settings", "argument", "code"),
    [
        ("ksg", {"k": 100}, "k", "range"),
        ("student-copula", {"folds": 1}, "folds", "range"),
        ("reduced-ksg", {"components": 0}, "components", "range"),
        ("dv", {"steps": 0}, "steps", "range"),
        ("dv", {"batch": 1}, "batch", "range"),
        ("dv", {"folds": 1}, "folds", "range"),
        ("dv", {"restarts": 0}, "restarts", "range"),
        ("dv", {"critic": "mlp"}, "kind", "name"),
        ("dv", {"margins": "log"}, "margins", "name"),
    ],
)
def test_settings_out_of_range_are_refused(name, settings, argument, code):
    with refused(argument, code):
        estimate(*normal_pairs(100, 0.6, 2), name, **settings)
