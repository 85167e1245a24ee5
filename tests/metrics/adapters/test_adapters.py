"""`independence_test` as a test of tigramite and causal-learn: the same numbers, and
what is found by them.
"""

import importlib
import math
import sys
import types
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng

from infoscope.estimators import Continuous, Discrete
from infoscope.estimators.independence import independence_test
from infoscope.estimators.reading.given import as_triples
from infoscope.estimators.reading.lagged import Lagged
from infoscope.estimators.series import read_rows
from infoscope.metrics import adapters

N = 200
RNG = default_rng(0)
A = RNG.normal(size=N)
B = RNG.normal(size=N)
# uncorrelated with either cause
EFFECT = np.abs(A) + np.abs(B) + 0.3 * RNG.normal(size=N)
LABEL = np.where(np.median(EFFECT) < EFFECT, 1.0, 0.0)
GROUPS = np.arange(N) // 2
XYZ = np.array([0, 1, 2])


class Base:
    """What the adapters need of a base class of tigramite: where settings are stored."""

    def __init__(self, significance, sig_samples=19, seed=0):
        self.sig_samples = sig_samples
        self.random_state = default_rng(seed)


class Cached:
    """The same of causal-learn."""

    def __init__(self, data, cache_path=None):
        self.data = data
        self.pvalue_cache = {}

    def check_cache_method_consistent(self, name, settings):
        pass

    def get_formatted_XYZ_and_cachekey(self, x, y, z):
        return [x], [y], sorted(z or ()), f"{x};{y}|{z}"


LIBRARIES = {
    "tigramite": (
        "tigramite.independence_tests.independence_tests_base",
        {"CondIndTest": Base},
    ),
    "causal_learn": (
        "causallearn.utils.cit",
        {"CIT_Base": Cached, "register_ci_test": lambda *_: None},
    ),
}


@pytest.fixture
def stand_in(monkeypatch):
    """An adapter on a stand-in of its library, by name."""

    def load(name):
        path, contents = LIBRARIES[name]
        parts = path.split(".")
        for depth, part in enumerate(parts, start=1):
            monkeypatch.setitem(
                sys.modules, ".".join(parts[:depth]), types.ModuleType(part)
            )
        vars(sys.modules[path]).update(contents)
        module = f"infoscope.metrics.adapters.{name}"
        monkeypatch.delitem(sys.modules, module, raising=False)
        importlib.import_module(module)
        return sys.modules.pop(module)

    return load


def test_tigramite_gets_the_numbers_of_the_test(stand_in):
    test = stand_in("tigramite").TigramiteTest()
    array = np.stack([A, EFFECT, B])
    expected = independence_test(A, EFFECT, B)
    assert test.get_dependence_measure(array, XYZ) == expected.observed
    assert test.get_shuffle_significance(array, XYZ, value=0.0) == expected.p_value


def test_tigramite_names_categories(stand_in):
    test = stand_in("tigramite").TigramiteTest()
    array = np.stack([A, B, LABEL])
    xxy = np.array([0, 0, 1])
    kinds = np.zeros(array.shape, int)
    kinds[2] = 1
    x = [Continuous(A), Continuous(B)]
    expected = independence_test(x, Discrete(LABEL)).observed
    assert test.get_dependence_measure(array, xxy, kinds) == expected
    as_numbers = independence_test(x, Continuous(LABEL)).observed
    assert test.get_dependence_measure(array, xxy) == as_numbers


def test_tigramite_gets_readings_of_series(stand_in):
    test = stand_in("tigramite").TigramiteTest(reading=True)
    array = np.stack([A, EFFECT, B])
    triples = as_triples(Continuous(A), Continuous(EFFECT), Continuous(B))
    order = np.zeros(N, int)
    rows = Lagged(triples.pairs, triples.conditions, order)
    assert test.get_dependence_measure(array, XYZ) == float(
        read_rows(rows, True, default_rng(0))
    )
    assert (
        test.get_shuffle_significance(array, XYZ, value=0.0)
        == independence_test(A, EFFECT, B).p_value
    )
    array[2] = 1.0  # a constant condition
    unconditional = Lagged(triples.pairs, (), order)
    assert test.get_dependence_measure(array, XYZ) == float(
        read_rows(unconditional, False, default_rng(0))
    )
    array[0] = 1.0
    assert test.get_dependence_measure(array, XYZ) == 0.0


def test_causal_learn_gets_the_numbers_of_the_test(stand_in):
    columns = np.column_stack([A, B, EFFECT, LABEL])
    test = stand_in("causal_learn").CausalLearnTest(
        columns, discrete=[3], groups=GROUPS
    )
    label = Discrete(LABEL)
    assert test(0, 2) == independence_test(A, EFFECT, groups=GROUPS).p_value
    assert (
        test(0, 1, [2, 3])
        == independence_test(A, B, [EFFECT, label], groups=GROUPS).p_value
    )
    assert test(0, 3, [1]) == independence_test(A, label, B, groups=GROUPS).p_value
    test.groups = "none, as nothing is tested twice"
    assert test(0, 2) == test.pvalue_cache["0;2|None"]


def test_an_edge_that_is_not_decided_stays(stand_in, monkeypatch):
    undecided = replace(independence_test(A, EFFECT, B), p_value=math.nan)
    causal_learn = stand_in("causal_learn")
    tigramite = stand_in("tigramite")
    for module in (causal_learn, tigramite):
        monkeypatch.setattr(module, "independence_test", lambda *_, **__: undecided)
    assert (
        causal_learn.CausalLearnTest(np.column_stack([A, B, EFFECT]))(0, 2, [1]) == 0.0
    )
    test = tigramite.TigramiteTest()
    array = np.stack([A, EFFECT, B])
    assert test.get_shuffle_significance(array, XYZ, value=0.0) == 0.0
    assert test.get_dependence_measure(array, XYZ) == undecided.observed


@pytest.mark.parametrize(
    ("name", "library"),
    [("TigramiteTest", "tigramite"), ("CausalLearnTest", "causallearn")],
)
def test_a_library_that_is_not_installed_is_named(monkeypatch, name, library):
    for module in list(sys.modules):
        if module.startswith((library, "infoscope.metrics.adapters.")):
            monkeypatch.delitem(sys.modules, module)
    without_packages = [place for place in sys.path if "site-packages" not in place]
    monkeypatch.setattr(sys, "path", without_packages)
    importlib.invalidate_caches()
    with pytest.raises(
        ModuleNotFoundError, match=rf"needs {library}, .*infoscope\[causal\]"
    ):
        getattr(adapters, name)


def test_pcmci_finds_a_nonlinear_cause():
    """Of x on y one step later, by its size: the correlation is 0."""
    pytest.importorskip(
        "tigramite",
        reason="tigramite is not installed: pip install 'infoscope[causal]'",
    )
    from tigramite.data_processing import DataFrame
    from tigramite.pcmci import PCMCI

    x, noise = default_rng(0).normal(size=(2, 300))
    before = np.r_[0.0, x[:-1]]
    y = np.abs(before) + 0.4 * noise
    search = PCMCI(
        DataFrame(np.column_stack([x, y])), adapters.TigramiteTest(), verbosity=0
    )
    p_values = search.run_pcmci(tau_max=1, pc_alpha=0.2)["p_matrix"][:, :, 1]
    assert p_values[0, 1] < 0.01
    assert p_values[1, 0] > 0.01


def test_pc_finds_two_nonlinear_causes():
    """Both arrows into the effect, of which correlations see none."""
    pytest.importorskip(
        "causallearn",
        reason="causal-learn is not installed: pip install 'infoscope[causal]'",
    )
    assert adapters.CausalLearnTest
    from causallearn.search.ConstraintBased.PC import pc

    columns = np.column_stack([A, B, EFFECT])
    graph = pc(columns, alpha=0.05, indep_test="infoscope", show_progress=False).G.graph
    np.testing.assert_array_equal(graph, [[0, 0, -1], [0, 0, -1], [1, 1, 0]])
