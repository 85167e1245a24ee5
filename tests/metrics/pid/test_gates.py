"""BROJA and shared exclusions of tables of published terms."""

from typing import NamedTuple

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose
from pytest import approx

from infoscope.metrics import pid

BIT = np.log(2)

# Every value of five fair bits [32]: of a, of b, of both, of a alone and of b alone.
X, Y, W, U, V = (bit.ravel() for bit in np.indices((2, 2, 2, 2, 2)))


class Gate(NamedTuple):
    """Two sources and a target; the unique information of a and of b, the redundant and
    the synergistic one (Griffith & Koch 2014; Bertschinger et al. 2014, table 1); and
    the redundancy by shared exclusions, by hand (-0.585 of XOR is published: Makkeh et
    al. 2021, figure 3). Bits.
    """

    a: np.ndarray
    b: np.ndarray
    target: np.ndarray
    terms: tuple
    shared: float

    @property
    def table(self):
        return table_of(self.a, self.b, self.target)


GATES = {
    "AND": Gate(X, Y, X & Y, (0, 0, 0.311278, 0.5), np.log2(32 / 27) / 2),
    "XOR": Gate(X, Y, X ^ Y, (0, 0, 0, 1), np.log2(2 / 3)),
    "RDN": Gate(W, W, W, (0, 0, 1, 0), 1.0),
    "UNQ": Gate(X, Y, 2 * X + Y, (1, 1, 0, 0), np.log2(4 / 3)),
    "SUM": Gate(X, Y, X + Y, (0, 0, 0.5, 1), np.log2(8 / 9) / 2),
    "RDNUNQ": Gate(
        2 * U + W, 2 * V + W, 4 * U + 2 * V + W, (1, 1, 1, 0), np.log2(8 / 3)
    ),
}


def table_of(a, b, target):
    table = np.zeros((target.max() + 1, a.max() + 1, b.max() + 1))
    np.add.at(table, (target, a, b), 1 / len(a))
    return table


@pytest.mark.parametrize("name", GATES)
def test_published_gates(name):
    gate = GATES[name]
    terms = pid.broja(gate.table)
    assert_allclose(terms[:4], np.array(gate.terms) * BIT, atol=1e-6)


@pytest.mark.parametrize("name", GATES)
def test_shared_exclusions_of_gates(name):
    gate = GATES[name]
    a, b, both = pid.discrete_information(gate.table)
    terms = pid.discrete_shared_exclusion(gate.table)
    redundant = gate.shared * BIT
    assert terms.redundant == approx(redundant, abs=1e-12)
    assert terms.unique_a == approx(a - redundant, abs=1e-12)
    assert terms.unique_b == approx(b - redundant, abs=1e-12)
    assert sum(terms[:4]) == approx(both, abs=1e-12)
    assert terms.gap == 0
    negative = [term for term in terms[:4] if term < -1e-9]
    assert len(terms.notes) == len(negative)  # reported, not clipped


SHARED_BY_BOTH = 0.75 * np.log(8 / 5) + 0.25 * np.log(8 / 7)
OF_ERRING = BIT + 0.25 * np.log(0.25) + 0.75 * np.log(0.75)


def test_misinformation_is_unique_to_the_source_that_errs():
    """RdnErr, by hand: b errs in a quarter of the items."""
    right = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    errs = np.array([0, 0, 0, 1, 1, 1, 1, 0])
    terms = pid.discrete_shared_exclusion(table_of(right, errs, right))
    assert terms.unique_a == approx(BIT - SHARED_BY_BOTH, abs=1e-12)
    assert terms.unique_b == approx(OF_ERRING - SHARED_BY_BOTH, abs=1e-12)
    assert terms.redundant == approx(SHARED_BY_BOTH, abs=1e-12)
    (note,) = terms.notes
    assert note.code == "below 0"
    assert note.argument == "unique_b"


def test_shared_exclusions_item_by_item():
    """Counted over rows as the definition says; a copy of a source shares all its
    information.
    """
    a, b, target = default_rng(0).integers(0, (3, 4, 2), (60, 3)).T
    log_ratios = []
    for row in range(60):
        either = (a == a[row]) | (b == b[row])
        same = target == target[row]
        together = (either & same).mean()
        log_ratios.append(np.log(together / either.mean() / same.mean()))
    terms = pid.discrete_shared_exclusion(table_of(a, b, target))
    assert terms.redundant == approx(np.mean(log_ratios), abs=1e-12)
    copied = pid.discrete_shared_exclusion(table_of(a, a, target))
    of_a = copied.informations[0]
    assert copied[:4] == approx([0, 0, of_a, 0], abs=1e-12)
