"""BROJA and shared exclusions of tables of published terms."""

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose
from pytest import approx

from infoscope.metrics import pid

BIT = np.log(2)

# Every value of five fair bits [32]: of a, of b, of both, of a alone and of b alone.
X, Y, W, U, V = (bit.ravel() for bit in np.indices((2, 2, 2, 2, 2)))
# a, b and target -> unique of a, of b, redundant, synergistic, bits (Griffith & Koch
# 2014; Bertschinger et al. 2014, table 1).
GATES = {
    "AND": ((X, Y, X & Y), (0, 0, 0.311278, 0.5)),
    "XOR": ((X, Y, X ^ Y), (0, 0, 0, 1)),
    "RDN": ((W, W, W), (0, 0, 1, 0)),
    "UNQ": ((X, Y, 2 * X + Y), (1, 1, 0, 0)),
    "COPY": ((X, Y, X), (1, 0, 0, 0)),
    "SUM": ((X, Y, X + Y), (0, 0, 0.5, 1)),
    "RDNXOR": ((2 * X + W, 2 * Y + W, 2 * (X ^ Y) + W), (0, 0, 1, 1)),
    "RDNUNQ": ((2 * U + W, 2 * V + W, 4 * U + 2 * V + W), (1, 1, 1, 0)),
}
# Their redundancy by shared exclusions, bits, by hand; -0.585 of XOR is published
# (Makkeh et al. 2021, figure 3).
SHARED = {
    "AND": np.log2(32 / 27) / 2,
    "XOR": np.log2(2 / 3),
    "RDN": 1.0,
    "UNQ": np.log2(4 / 3),
    "COPY": np.log2(4 / 3),
    "SUM": np.log2(8 / 9) / 2,
    "RDNXOR": np.log2(4 / 3),
    "RDNUNQ": np.log2(8 / 3),
}


def table_of(a, b, target):
    table = np.zeros((target.max() + 1, a.max() + 1, b.max() + 1))
    np.add.at(table, (target, a, b), 1 / len(a))
    return table


@pytest.mark.parametrize("name", GATES)
def test_published_gates(name):
    variables, bits = GATES[name]
    terms = pid.broja(table_of(*variables))
    assert_allclose(terms[:4], np.array(bits) * BIT, atol=1e-6)


@pytest.mark.parametrize("name", SHARED)
def test_shared_exclusions_of_gates(name):
    variables, _ = GATES[name]
    table = table_of(*variables)
    a, b, t = pid.discrete_information(table)
    terms = pid.discrete_shared_exclusion(table)
    assert terms.redundant == approx(SHARED[name] * BIT, abs=1e-12)
    assert terms[:2] == approx((a - terms.redundant, b - terms.redundant), abs=1e-12)
    assert sum(terms[:4]) == approx(t, abs=1e-12)
    assert terms.gap == 0
    negative = [term for term in terms[:4] if term < -1e-9]
    assert len(terms.notes) == len(negative)  # reported, not clipped


SHARED_BY_BOTH = 0.75 * np.log(8 / 5) + 0.25 * np.log(8 / 7)
OF_ERRING = BIT + 0.25 * np.log(0.25) + 0.75 * np.log(0.75)


def test_shared_exclusions_of_sources_that_inform_about_different_items():
    """PwUnq (Finn & Lizier 2018): each source alone informs about half of the items:
    unique, half a bit each.
    """
    a, b, target = np.array([[0, 1, 0, 2], [1, 0, 2, 0], [0, 0, 1, 1]])
    terms = pid.discrete_shared_exclusion(table_of(a, b, target))
    assert terms[:4] == approx((BIT / 2, BIT / 2, 0, 0), abs=1e-12)
    assert terms.notes == ()


def test_misinformation_is_unique_to_the_source_that_errs():
    """RdnErr, by hand: b errs in a quarter of the items."""
    right = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    errs = np.array([0, 0, 0, 1, 1, 1, 1, 0])
    terms = pid.discrete_shared_exclusion(table_of(right, errs, right))
    assert terms.unique_a == approx(BIT - SHARED_BY_BOTH, abs=1e-12)
    assert terms.unique_b == approx(OF_ERRING - SHARED_BY_BOTH, abs=1e-12)
    assert terms.redundant == approx(SHARED_BY_BOTH, abs=1e-12)
    assert [(note.code, note.argument) for note in terms.notes] == [
        ("below 0", "unique_b")
    ]


def test_shared_exclusions_item_by_item():
    """Counted over rows as the definition says; a copy of a source shares all its
    information.
    """
    a, b, target = default_rng(0).integers(0, (3, 4, 2), (60, 3)).T
    expected = 0.0
    for row in range(60):
        either = (a == a[row]) | (b == b[row])
        same = target == target[row]
        ratio = (either & same).mean() / either.mean() / same.mean()
        expected += np.log(ratio) / 60
    terms = pid.discrete_shared_exclusion(table_of(a, b, target))
    assert terms.redundant == approx(expected, abs=1e-12)
    copied = pid.discrete_shared_exclusion(table_of(a, a, target))
    assert copied[:4] == approx([0, 0, copied.informations[0], 0], abs=1e-12)
