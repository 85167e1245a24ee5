"""What x and y share given z: the checked sample, and a reader of triples trained on made-up figures."""

import numpy as np
import pandas as pd
import pytest

from infoscope.estimators import Angle, Discrete
from infoscope.estimators.reading import figures_conditional, reader, simulated, training
from infoscope.estimators.reading.given import as_triples, read_given
from tests.refusals import refused

N, SETS = 240, 300
RNG = np.random.default_rng(0)
Z = RNG.normal(size=N)
X, Y = Z + RNG.normal(size=N), Z + RNG.normal(size=N)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A reader of triples, saved and loaded, whose figures are about the truth."""
    truth = RNG.gamma(1.0, 0.6, SETS) * (RNG.random(SETS) > 0.3)
    rows = RNG.normal(size=(SETS, len(figures_conditional.NAMES)))
    rows[:, 0] = truth + 0.01
    facts = pd.DataFrame({
        "number": np.arange(SETS), "n": 500, "type": "numbers", "families": np.where(np.arange(SETS) % 2, "a", "b"),
        "columns_x": 1, "columns_y": 1, "tied": False, "idle": 0, "truth": truth, "truth_error": 0.0, "columns_z": 1,
    })  # fmt: skip
    sets = simulated.Simulated(facts, rows.astype(np.float32), given=True)
    path = tmp_path_factory.mktemp("reader") / "reader.npz"
    training.train(sets, np.random.default_rng(0))[0].save(path)
    return reader.load(path)


def test_a_reader_of_triples_reads_them(trained):
    assert trained.given and trained.kind is figures_conditional
    reading = read_given(as_triples(X, Y, Z), np.random.default_rng(0), trained)
    assert reading.low <= reading.value <= reading.high and reading.n == N
    assert reading.variables == "1 numeric column against 1 numeric column given 1 condition"
    assert set(reading.table["figure"]) <= set(figures_conditional.NAMES)
    assert not reading.bits.p_value >= 0


def test_of_every_group_a_row_is_read(trained):
    groups = np.arange(N) // 2
    reading = read_given(as_triples(X, Y, Z, groups), np.random.default_rng(0), trained)
    assert reading.units == N // 2 and reading.figures["log_rows"] == pytest.approx(np.log(N // 2))


def test_every_column_of_z_has_its_own_type():
    table = pd.DataFrame({"age": Z, "sex": np.where(X > 0, "f", "m"), "none": 1.0})
    numbers, label = as_triples(X, Y, table).conditions
    assert (numbers.dim, label.categories) == (1, 2)
    (codes,) = as_triples(X, Y, Discrete(np.arange(N) % 3)).conditions
    assert codes.categories == 3
    (angle,) = as_triples(X, Y, Angle(np.arange(N) % 24, 24)).conditions
    assert angle.dim == 2


def test_rows_without_a_condition_are_left_out_with_a_note():
    z = Z.copy()
    z[:5] = np.nan
    triples = as_triples(X, Y, z)
    assert triples.pairs.n == N - 5 == triples.conditions[0].n and triples.pairs.notes


def test_a_condition_that_does_not_vary_is_refused():
    with refused("given"):
        as_triples(X, Y, np.ones(N))
