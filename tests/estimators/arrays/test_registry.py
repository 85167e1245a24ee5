"""`estimate`: what is taken for x, y and method, and what is refused."""

import sys
import warnings
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from pytest import approx

from infoscope.errors import UnknownName
from infoscope.estimators import estimate, methods
from infoscope.estimators.arrays.registry import METHODS, as_method
from infoscope.estimators.result import mean_of
from tests.estimators.samples import draws
from tests.refusals import refused

X = draws(2).normal(size=(200, 2))
Y = 0.6 * X[:, 0] + 0.8 * draws(3).normal(size=200)
LABELS = np.digitize(Y, [-0.5, 0.5])


@pytest.fixture(autouse=True)
def no_warning():
    """Doubts are errors or notes here, never warnings that scroll by."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@dataclass(frozen=True)
class Returns:
    """A method of somebody else that returns this value."""

    value: object
    name: str = "own"

    def estimate(self, pairs, generator):
        return self.value


class FirstMean:
    """A method of somebody else: the mean of the first column of x."""

    name = "own"

    def estimate(self, pairs, generator):
        return mean_of(pairs.x.continuous[:, 0], method="own")


def test_an_object_with_a_name_and_an_estimate_is_a_method():
    by_name = estimate(X, Y, "ksg", k=9)
    by_object = estimate(X, Y, as_method("ksg", {"k": 9}))
    assert by_name.value == by_object.value
    first_mean = estimate(X, Y, FirstMean())
    assert first_mean.value == approx(X[:, 0].mean())
    assert first_mean.standard_error > 0
    of_number = estimate(X, Y, Returns(np.float32(0.25)))
    assert of_number.value == 0.25
    assert of_number.n == 200
    assert of_number.method == "own"
    assert np.isnan(of_number.standard_error)
    with refused("settings", "type"):
        estimate(X, Y, Returns(0.25), k=3)


@pytest.mark.parametrize("value", ["0.25", True, None])
def test_a_method_returns_a_number(value):
    with refused("method", "type"):
        estimate(X, Y, Returns(value))


def share_above_zero(x, y):
    return np.mean(x[:, 0] > 0)


def test_a_function_is_a_method_of_checked_columns():
    shapes = []

    def record(x, y):
        shapes.extend([x.shape, y.shape])
        return 0.25

    estimated = estimate(list(X[:, 0]), Y, record)
    assert shapes == [(200, 1), (200, 1)]
    assert estimated.value == 0.25
    assert estimated.n == 200
    assert np.isnan(estimated.standard_error)
    with refused("method", "type"):
        estimate(X, LABELS, record)


def test_the_error_of_a_function_is_from_half_samples():
    """That of the mean it is: sqrt(p (1 - p) / n) of a share."""
    share = share_above_zero(X, Y)
    estimated = estimate(X, Y, share_above_zero, resamples=400)
    assert estimated.value == share
    error = np.sqrt(share * (1 - share) / 200)
    assert estimated.standard_error == approx(error, rel=0.15)
    groups = np.arange(200) // 4
    grouped = estimate(X, Y, share_above_zero, groups=groups, resamples=400)
    assert grouped.units == 50


def test_a_function_is_named_by_its_module(monkeypatch):
    monkeypatch.setitem(sys.modules, "mine", SimpleNamespace(share=share_above_zero))
    estimated = estimate(X, Y, "mine:share")
    assert estimated.method == "mine:share"
    assert estimated.value == share_above_zero(X, Y)
    for name in ("mine:other", "not_there:f", ":f"):
        with refused("method", "name"):
            estimate(X, Y, name)


def test_every_method_is_listed_with_what_it_takes(monkeypatch):
    listed = methods()
    assert list(listed.table.index) == [*METHODS, "infonce-anchor"]
    assert list(listed.table) == ["takes", "when to use", "cost", "source"]
    assert (listed.table != "").all(axis=None)
    assert as_method("smile-3").name == "smile-3"
    monkeypatch.setenv("COLUMNS", "100")
    assert max(map(len, str(listed).splitlines())) <= 100


@pytest.mark.parametrize(
    ("method", "code"),
    [("kgs", "name"), (object(), "type"), (type(METHODS["ksg"]), "type")],
)
def test_bad_methods_are_refused(method, code):
    with refused("method", code):
        estimate(X, Y, method)


@pytest.mark.parametrize("method", ["ksg", "reading"])
def test_a_setting_that_a_method_does_not_have_is_refused(method):
    with refused(method, "name"):
        estimate(X, Y, method, neighbours=3)


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [({"method": "ksgg"}, "ksg"), ({"method": "ksg", "margin": "rank"}, "margins")],
)
def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(arguments, meant):
    with pytest.raises(UnknownName, match=f"did you mean {meant}\\?"):
        estimate(X, Y, **arguments)
