"""Columns that others of their variable determine are left out; a column with information of its own never is."""

import numpy as np
import pytest

from infoscope.data.prior.latent import on_circle
from infoscope.estimators import estimate
from infoscope.estimators.column_types import as_variable
from infoscope.estimators.columns import Continuous, Discrete
from infoscope.estimators.derived import without_combinations, without_functions
from tests.estimators.samples import draws, normal_pairs


def positive(v):
    return np.exp(0.6 * v)


def shares(v):
    return v / v.sum(axis=1, keepdims=True)


DERIVED = {  # columns [n, c] of independent normal ones [n, d], and d
    "square": (lambda v: np.c_[v, v**2], 1),
    "levels": (lambda v: np.c_[v, np.digitize(v, [-1, 0, 1])], 1),
    "saturated sensor and its square": (lambda v: np.c_[v, np.minimum(v, 0.5), np.minimum(v, 0.5) ** 2], 1),
    "single precision": (lambda v: np.c_[v, v**2].astype(np.float32), 1),
    "product": (lambda v: np.c_[v, v[:, :1] * v[:, 1:]], 2),
    "composition": (lambda v: shares(np.c_[positive(v), np.ones(len(v))]), 2),
    "distance": (lambda v: np.c_[v, np.hypot(*v.T)], 2),
    "volume": (lambda v: np.c_[positive(v), positive(v).prod(axis=1)], 3),
}  # fmt: skip


@pytest.mark.parametrize("name", DERIVED)
def test_columns_computed_from_others_are_left_out(name):
    columns, dim = DERIVED[name]
    variable = as_variable("x", Continuous(columns(draws().normal(size=(400, dim)))))
    found = without_functions("x", without_combinations("x", variable))
    assert found.dim == dim < variable.dim and {note.code for note in found.notes} == {"derived column"}


def beside(function, noise):
    """Two normal columns and a function of them with its own noise, as a share of its standard deviation."""

    def columns(g, n):
        v = g.normal(size=(n, 2))
        values = function(*v.T)
        return np.c_[v, values + noise * values.std() * g.normal(size=n)]

    return columns


OWN = {
    "0.1 % of a square": beside(lambda a, b: a**2, 0.001),
    "0.1 % of a product": beside(lambda a, b: a * b, 0.001),
    "heavy tails": lambda g, n: (lambda v: np.c_[v, v**2 + g.normal(size=n)])(g.standard_cauchy(n)),
    "a square with faults": lambda g, n: (lambda v: np.c_[v, np.where(g.random(n) < 0.05, 0, v**2)])(g.normal(size=n)),
    "a sphere": lambda g, n: (lambda v: v / np.linalg.norm(v, axis=1, keepdims=True))(g.normal(size=(n, 3))),
    "rare amounts": lambda g, n: np.c_[g.normal(size=n), np.where(g.random(n) < 0.95, 0, g.exponential(size=n))],
    "angles of hours": lambda g, n: on_circle(2 * np.pi / 24 * g.integers(24, size=n)),
    "random walks": lambda g, n: g.normal(size=(n, 3)).cumsum(axis=0),
}


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("n", [300, 2000])
def test_columns_with_information_of_their_own_stay(name, n):
    for seed in range(2):
        variable = as_variable("x", Continuous(OWN[name](draws(seed), n)))
        assert without_functions("x", without_combinations("x", variable)).dim == variable.dim


@pytest.mark.parametrize("method", [None, "ksg", "student-copula", "gaussian"])
def test_exact_linear_combinations_change_no_method(method):
    """student-copula had -1.43 for 0.51."""
    x, y = normal_pairs(400, 0.8)
    x, y = np.c_[x, draws(5).normal(size=400)], y
    found = estimate(np.c_[x, x.sum(axis=1)], np.c_[y, 2 * y - 1], method)
    assert found.value == pytest.approx(estimate(x, y, method).value, abs=1e-9)
    assert [note.code for note in found.notes] == ["derived column"] * 2


def test_a_label_that_names_ranges_of_a_number_is_left_out():
    g = draws()
    age = g.uniform(18, 90, 500)
    score = age / 20 + g.normal(size=500)
    found = estimate((Continuous(age), Discrete(np.digitize(age, [30, 50, 65]))), score)
    assert found.value == estimate(age, score).value and found.notes[0].code == "derived column"
    assert as_variable("x", (Continuous(age), Discrete(g.integers(0, 3, 500)))).kind == "mixed"
