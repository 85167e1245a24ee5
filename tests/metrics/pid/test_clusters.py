"""BROJA of clusters: gates whose terms are published, under noise, and normal variables beside their closed form."""

import numpy as np
import pytest

from infoscope.estimators.variables import Discrete
from infoscope.metrics import pid

BIT = np.log(2)

# Two sources of up to three bits and their gate -> unique of a, of b, redundant, synergistic, bits (Griffith & Koch
# 2014; Bertschinger et al. 2014, table 1). w, u and v are further fair bits.
GATES = {
    "AND": (lambda x, y, w, u, v: (x, y, x & y), (0, 0, 0.311278, 0.5)),
    "OR": (lambda x, y, w, u, v: (x, y, x | y), (0, 0, 0.311278, 0.5)),
    "XOR": (lambda x, y, w, u, v: (x, y, x ^ y), (0, 0, 0, 1)),
    "RDN": (lambda x, y, w, u, v: (w, w, w), (0, 0, 1, 0)),
    "UNQ": (lambda x, y, w, u, v: (x, y, 2 * x + y), (1, 1, 0, 0)),
    "COPY": (lambda x, y, w, u, v: (x, y, x), (1, 0, 0, 0)),
    "SUM": (lambda x, y, w, u, v: (x, y, x + y), (0, 0, 0.5, 1)),
    "RDNXOR": (lambda x, y, w, u, v: (2 * x + w, 2 * y + w, 2 * (x ^ y) + w), (0, 0, 1, 1)),
    "RDNUNQ": (lambda x, y, w, u, v: (2 * u + w, 2 * v + w, 4 * u + 2 * v + w), (1, 1, 1, 0)),
}


def every(gate):
    """a, b and the target over all values of the five bits [32]."""
    return [np.array(side) for side in zip(*(gate(*bits) for bits in np.ndindex(2, 2, 2, 2, 2)))]


def table_of(a, b, target):
    table = np.zeros((target.max() + 1, a.max() + 1, b.max() + 1))
    np.add.at(table, (target, a, b), 1 / len(a))
    return table


@pytest.mark.parametrize("name", GATES)
def test_published_gates(name):
    gate, expected = GATES[name]
    np.testing.assert_allclose(pid.broja(table_of(*every(gate)))[:4], np.array(expected) * BIT, atol=1e-6)


@pytest.mark.parametrize("name", ["AND", "XOR", "UNQ", "RDNXOR"])
def test_clusters_find_the_values_of_a_gate_under_noise(name):
    """Rows repeat the table exactly, so that only the clusters and the jackknife's correction are left to err."""
    gate, expected = GATES[name]
    g = np.random.default_rng(0)
    a, b, target = (np.tile(side, 40) for side in every(gate))
    found = pid.broja_from_arrays(
        a + 0.1 * g.random(len(a)), b + 0.1 * g.random(len(b)), Discrete(target), len(np.unique(a)), blocks=10
    )
    assert found[:4] == pytest.approx(np.array(expected) * BIT, abs=0.02)
    assert found.redundant.n == 1280 and found.redundant.method == "BROJA of clusters"
    assert found.gap < 1e-6


def test_of_a_sample_bias_and_error_are_counted():
    gate, _ = GATES["AND"]
    z = []
    for seed in range(8):
        a, b, target = gate(*np.random.default_rng(seed).integers(0, 2, (5, 200)))
        found = pid.broja_from_arrays(Discrete(a), Discrete(b), Discrete(target), blocks=10)
        z.append((found.synergistic.value - 0.5 * BIT) / found.synergistic.standard_error)
    assert abs(np.mean(z)) < 1.2 and 0.4 < np.std(z) < 2  # three errors of a mean of 8
    assert found.synergistic.method == "BROJA"


def test_coarse_codes_of_normal_variables_know_less():
    covariance = np.array([[1, 0.2, 0.7], [0.2, 1, 0.4], [0.7, 0.4, 1]])
    exact = pid.gaussian(covariance, 0, 1, 2)
    rows = np.random.default_rng(0).standard_normal((4000, 3)) @ np.linalg.cholesky(covariance).T
    found = pid.broja_from_arrays(*rows.T, clusters=4, blocks=8)
    assert found.informations[2].high < exact.informations[2]
    assert 0.5 < found.redundant.value / exact.redundant < 1
    again = pid.broja_from_arrays(*rows.T, clusters=4, blocks=8)
    assert again[:4] == found[:4]


def test_requirements():
    g = np.random.default_rng(0)
    with pytest.raises(ValueError, match="may have 1,000 cells together, got 11 x 11 x 11"):
        pid.broja_from_arrays(*g.normal(size=(3, 200)), clusters=11)
    with pytest.raises(ValueError, match="clusters must be a whole number of at least 2, got 1"):
        pid.broja_from_arrays(*g.normal(size=(3, 200)), clusters=1)
