"""`estimate`: what is taken for x, y and method, and what is refused."""

import subprocess
import sys
import warnings
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

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
    """A method of somebody else: it returns what it is given, or what a function makes of the pairs."""

    found: object
    name: str = "own"

    def estimate(self, pairs, generator):
        return self.found(pairs) if callable(self.found) else self.found


def test_an_object_with_a_name_and_an_estimate_is_a_method():
    by_name, by_object = estimate(X, Y, "ksg", k=9), estimate(X, Y, as_method("ksg", {"k": 9}))
    assert float(by_name) == float(by_object) != float(estimate(X, Y))
    own = estimate(X, Y, Returns(lambda pairs: mean_of(pairs.x.continuous[:, 0], pairs.groups, method="own")))
    assert own.method == "own" and own.value == pytest.approx(X[:, 0].mean()) and own.standard_error > 0
    plain = estimate(X, Y, Returns(np.float32(0.25)))
    assert plain.value == 0.25 and np.isnan(plain.standard_error) and (plain.n, plain.method) == (200, "own")
    for wrong in ("0.25", True, None):
        with refused("method", "type"):
            estimate(X, Y, Returns(wrong))
    with refused("settings", "type"):
        estimate(X, Y, Returns(0.25), k=3)


def correlated(x, y):
    """Of normal x and y of one column each."""
    return -0.5 * np.log1p(-(np.corrcoef(x[:, 0], y[:, 0])[0, 1] ** 2))


def test_a_function_is_a_method(monkeypatch):
    """It gets checked columns; by half-samples its error is that of the mean it is: sqrt(p (1 - p) / n) of a share."""
    shapes = []
    found = estimate(list(X[:, 0]), Y, lambda x, y: shapes.append((x.shape, y.shape, x.dtype, y.dtype)) or 0.25)
    assert shapes == [((200, 1), (200, 1), float, float)]
    assert (found.value, found.n) == (0.25, 200) and np.isnan(found.standard_error) and len(found.notes) == 1

    def share(x, y):
        return np.mean(x[:, 0] > 0)

    p = share(X, Y)
    found = estimate(X, Y, share, resamples=400)
    assert found.value == p and found.standard_error == pytest.approx(np.sqrt(p * (1 - p) / 200), rel=0.15)
    assert estimate(X, Y, share, resamples=400, groups=np.arange(200) // 4).units == 50
    monkeypatch.setitem(sys.modules, "mine", SimpleNamespace(correlated=correlated, one=Returns(0.5)))
    assert estimate(X[:, 0], Y, "mine:correlated").method == "mine:correlated"
    assert estimate(X[:, 0], Y, "mine:correlated").value == estimate(X[:, 0], Y, correlated).value
    for wrong, code in (("mine:other", "name"), ("not_there:f", "name"), (":f", "name"), (lambda x, y: None, "type")):
        with refused("method", code):
            estimate(X, Y, wrong)
    with refused("method", "type"):
        estimate(X, LABELS, correlated)


def test_every_method_is_listed_with_what_it_takes():
    listed = methods()
    assert list(listed.table.index) == [*METHODS, "infonce-anchor"]
    assert list(listed.table) == ["takes", "when to use", "cost", "source"]
    assert (listed.table != "").all(axis=None) and all(name in str(listed) for name in METHODS)
    assert as_method("smile-3").name == "smile-3"


@pytest.mark.parametrize("columns", [40, 100])
def test_the_list_fits_a_terminal(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    text = str(methods())
    assert max(map(len, text.splitlines())) <= max(80, min(columns, 120))


@pytest.mark.parametrize(
    ("method", "code"), [("kgs", "name"), (object(), "type"), (type(METHODS["ksg"]), "type"), (3, "type")]
)
def test_bad_methods_are_refused(method, code):
    with refused("method", code):
        estimate(X, Y, method)


def test_a_setting_that_a_method_does_not_have_is_refused():
    with refused("ksg", "name"):
        estimate(X, Y, "ksg", neighbours=3)
    with refused("reading", "name"):
        estimate(X, Y, neighbours=3)


LIGHT = """
import sys
import numpy as np
from infoscope.estimators import estimate
x, y = np.random.default_rng(0).normal(size=(2, 200))
for method, of in ((None, x), ("ksg", x), ("gcmi", x), ("chao-shen", np.char.add("a", (x > 0).astype(str)))):
    estimate(of, y if method != "chao-shen" else of, method)
print("torch" in sys.modules, "mlflow" in sys.modules)
"""


def test_what_trains_no_network_loads_no_torch():
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, timeout=120)
    assert done.stdout == "False False\n", done.stderr


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ({"method": "ksgg"}, "ksg"),
        ({"method": "ksg", "margin": "rank"}, "margins"),
    ],
)
def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(arguments, meant):
    with pytest.raises(UnknownName, match=f"did you mean {meant}\\?"):
        estimate(X, Y, **arguments)
