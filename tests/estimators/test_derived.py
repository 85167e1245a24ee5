"""Columns that others of their variable determine are left out; a column with
information of its own never is.
"""

import numpy as np
import pytest
from pytest import approx

from infoscope.data.prior.latent import on_circle
from infoscope.estimators import estimate
from infoscope.estimators.column_types import as_variable
from infoscope.estimators.columns import Continuous, Discrete
from infoscope.estimators.derived import without_combinations, without_functions
from tests.estimators.samples import draws, normal_pairs


def positive(v):
    return np.exp(0.6 * v)


def shares(v):
    parts = np.c_[positive(v), np.ones(len(v))]
    return parts / parts.sum(axis=1, keepdims=True)


def saturated(v):
    sensor = np.minimum(v, 0.5)
    return np.c_[v, sensor, sensor**2]


DERIVED = {  # columns [n, c] of independent normal ones [n, d], and d
    "levels": (lambda v: np.c_[v, np.digitize(v, [-1, 0, 1])], 1),
    "saturated sensor and its square": (saturated, 1),
    "single precision": (lambda v: np.c_[v, v**2].astype(np.float32), 1),
    "product": (lambda v: np.c_[v, v.prod(axis=1)], 2),
    "composition": (shares, 2),
    "volume": (lambda v: np.c_[positive(v), positive(v).prod(axis=1)], 3),
}


def without_derived(columns):
    """The columns as a variable, and the same without those that others determine."""
    variable = as_variable("x", Continuous(columns))
    return variable, without_functions("x", without_combinations("x", variable))


@pytest.mark.parametrize("name", DERIVED)
def test_columns_computed_from_others_are_left_out(name):
    columns, dim = DERIVED[name]
    normal = draws().normal(size=(400, dim))
    variable, reduced = without_derived(columns(normal))
    assert reduced.dim == dim < variable.dim
    assert {note.code for note in reduced.notes} == {"derived column"}


def noisy_product(g, n):
    a, b = g.normal(size=(2, n))
    product = a * b + 0.001 * g.normal(size=n)
    return np.c_[a, b, product]


def heavy_tails(g, n):
    v = g.standard_cauchy(n)
    return np.c_[v, v**2 + g.normal(size=n)]


def square_with_faults(g, n):
    v = g.normal(size=n)
    is_fault = g.random(n) < 0.05
    return np.c_[v, np.where(is_fault, 0, v**2)]


def sphere(g, n):
    v = g.normal(size=(n, 3))
    return v / np.linalg.norm(v, axis=1, keepdims=True)


def rare_amounts(g, n):
    is_zero = g.random(n) < 0.95
    amounts = np.where(is_zero, 0, g.exponential(size=n))
    return np.c_[g.normal(size=n), amounts]


OWN = {
    "0.1 % of a product": noisy_product,
    "heavy tails": heavy_tails,
    "a square with faults": square_with_faults,
    "a sphere": sphere,
    "rare amounts": rare_amounts,
    "angles of hours": lambda g, n: on_circle(2 * np.pi / 24 * g.integers(24, size=n)),
    "random walks": lambda g, n: g.normal(size=(n, 3)).cumsum(axis=0),
}


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("n", [300, 2000])
def test_columns_with_information_of_their_own_stay(name, n):
    variable, reduced = without_derived(OWN[name](draws(), n))
    assert reduced.dim == variable.dim


@pytest.mark.parametrize("method", [None, "ksg", "student-copula", "gaussian"])
def test_exact_linear_combinations_change_no_method(method):
    """student-copula had -1.43 for 0.51."""
    x, y = normal_pairs(400, 0.8)
    noise = draws(5).normal(size=400)
    x = np.column_stack([x, noise])
    plain = estimate(x, y, method)
    sums = np.column_stack([x, x.sum(axis=1)])
    doubled = np.column_stack([y, 2 * y - 1])
    with_sums = estimate(sums, doubled, method)
    assert with_sums.value == approx(plain.value, abs=1e-9)
    assert [note.code for note in with_sums.notes] == ["derived column"] * 2


def test_a_label_that_names_ranges_of_a_number_is_left_out():
    g = draws()
    age = g.uniform(18, 90, 500)
    score = age / 20 + g.normal(size=500)
    decade = Discrete(np.digitize(age, [30, 50, 65]))
    estimated = estimate((Continuous(age), decade), score)
    assert estimated.value == estimate(age, score).value
    assert estimated.notes[0].code == "derived column"
