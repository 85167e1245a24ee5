"""What x and y share given z: the checked sample, and a reader of triples trained on
made-up figures.
"""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng
from pytest import approx

from infoscope.estimators import Angle, Discrete, estimate
from infoscope.estimators.independence import independence_test
from infoscope.estimators.independence.arrays import conditional_test
from infoscope.estimators.reading import (
    figures_conditional,
    reader,
    simulated,
    training,
)
from infoscope.estimators.reading.given import (
    as_triples,
    is_series,
    read_given,
    with_p_value,
)
from infoscope.estimators.reading.sentences import (
    NOT_DECIDED_HEADLINE,
    has_note,
    headline,
)
from tests.refusals import refused

N = 240
SETS = 300
RNG = default_rng(0)
Z = RNG.normal(size=N)
X = Z + RNG.normal(size=N)
Y = Z + RNG.normal(size=N)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A reader of triples, saved and loaded, whose figures are about the truth."""
    truth = RNG.gamma(1.0, 0.6, SETS) * (RNG.random(SETS) > 0.3)
    rows = RNG.normal(size=(SETS, len(figures_conditional.NAMES)))
    rows[:, 0] = truth + 0.01
    facts = {
        "number": np.arange(SETS),
        "n": 500,
        "type": "numbers",
        "families": np.where(np.arange(SETS) % 2, "a", "b"),
        "columns_x": 1,
        "columns_y": 1,
        "tied": False,
        "idle": 0,
        "truth": truth,
        "truth_error": 0.0,
        "columns_z": 1,
    }
    sets = simulated.Simulated(pd.DataFrame(facts), rows.astype(np.float32), given=True)
    path = tmp_path_factory.mktemp("reader") / "reader.npz"
    training.train(sets, default_rng(0))[0].save(path)
    return reader.load(path)


def read(triples, trained):
    return read_given(triples, default_rng(0), trained)


def test_a_reader_of_triples_reads_them(trained):
    reading = read(as_triples(X, Y, Z), trained)
    assert trained.given
    assert reading.n == N
    assert reading.low <= reading.value <= reading.high
    assert reading.variables.endswith("given 1 condition")
    assert set(reading.table["figure"]) <= set(figures_conditional.NAMES)


def test_of_every_group_a_row_is_read(trained):
    reading = read(as_triples(X, Y, Z, np.arange(N) // 2), trained)
    assert reading.units == N // 2
    assert reading.figures["log_rows"] == approx(np.log(N // 2))


def test_every_column_of_z_has_its_own_type():
    table = pd.DataFrame({"age": Z, "sex": np.where(X > 0, "f", "m"), "none": 1.0})
    numbers, label = as_triples(X, Y, table).conditions
    assert numbers.dim == 1
    assert label.categories == 2
    (codes,) = as_triples(X, Y, Discrete(np.arange(N) % 3)).conditions
    assert codes.categories == 3
    (angle,) = as_triples(X, Y, Angle(np.arange(N) % 24, 24)).conditions
    assert angle.dim == 2


def test_rows_without_a_condition_are_left_out_with_a_note():
    triples = as_triples(X, Y, np.where(np.arange(N) < 5, np.nan, Z))
    assert triples.pairs.n == triples.conditions[0].n == N - 5
    assert triples.pairs.notes


def test_the_p_value_is_that_of_the_test_given_z(trained):
    triples = as_triples(X, Y, Z)
    reading = with_p_value(read(triples, trained), triples)
    assert reading.p_value == approx(independence_test(X, Y, Z).p_value)


def test_a_test_that_is_not_decided_is_reported(trained, monkeypatch):
    triples = as_triples(X, Y, Z)
    test = conditional_test(triples.pairs.x, triples.pairs.y, triples.conditions, None)
    undecided = replace(test, p=math.nan)
    monkeypatch.setattr(
        "infoscope.estimators.independence.arrays.conditional_test",
        lambda *_: undecided,
    )
    weak = replace(read(triples, trained), interval=(0.0, 0.2))
    reading = with_p_value(weak, triples)
    assert math.isnan(reading.p_value)
    assert has_note(reading, "not decided")
    assert headline(reading, reading.p_value) == NOT_DECIDED_HEADLINE


def test_more_functions_than_rows_have_no_test():
    triples = as_triples(RNG.normal(size=(60, 20)), Y[:60], Z[:60])
    assert (
        conditional_test(triples.pairs.x, triples.pairs.y, triples.conditions, None)
        is None
    )


def test_a_series_given_its_past_is_none():
    noise = RNG.normal(size=(2, 600))
    x, y = np.zeros((2, 600))
    for row in range(1, 600):
        x[row] = 0.9 * x[row - 1] + noise[0, row]
        y[row] = 0.9 * y[row - 1] + 0.5 * x[row - 1] + noise[1, row]
    unrelated = RNG.normal(size=599)
    assert is_series(as_triples(x[:-1], y[1:], unrelated))
    assert not is_series(as_triples(x[:-1], y[1:], y[:-1]))
    assert not is_series(as_triples(x[:-1], y[1:], unrelated, np.arange(599) // 2))


def test_constants_methods_and_settings_are_refused():
    with refused("given"):
        as_triples(X, Y, np.ones(N))
    with refused("given"):
        estimate(X, Y, "ksg", given=Z)
    with refused("reading", "name"):
        estimate(X, Y, given=Z, steps=3)
