"""BROJA and shared exclusions of tables of known terms."""

import numpy as np
import pytest
from pytest import approx

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


LOG = np.log2([2 / 3, 4 / 3, 8 / 3, 8 / 9, 32 / 27])
# Their redundancy by shared exclusions, bits, by hand; -0.585 of XOR is published (Makkeh et al. 2021, figure 3).
SHARED = {
    "AND": LOG[4] / 2, "OR": LOG[4] / 2, "XOR": LOG[0], "RDN": 1.0, "UNQ": LOG[1], "COPY": LOG[1], "SUM": LOG[3] / 2,
    "RDNXOR": LOG[1], "RDNUNQ": LOG[2],
}  # fmt: skip


def every(gate):
    """a, b and the target over all values of the five bits [32]."""
    return [np.array(side) for side in zip(*(gate(*bits) for bits in np.ndindex(2, 2, 2, 2, 2)))]


def table_of(a, b, target):
    table = np.zeros((target.max() + 1, a.max() + 1, b.max() + 1))
    np.add.at(table, (target, a, b), 1 / len(a))
    return table


@pytest.mark.parametrize("name", GATES)
def test_published_gates(name):
    """Griffith & Koch 2014; Bertschinger et al. 2014, table 1."""
    gate, expected = GATES[name]
    np.testing.assert_allclose(pid.broja(table_of(*every(gate)))[:4], np.array(expected) * BIT, atol=1e-6)


@pytest.mark.parametrize("name", SHARED)
def test_shared_exclusions_of_gates(name):
    table = table_of(*every(GATES[name][0]))
    a, b, t = pid.discrete_information(table)
    found = pid.discrete_shared_exclusion(table)
    assert found.redundant == approx(SHARED[name] * BIT, abs=1e-12)
    assert found[:2] == approx((a - found.redundant, b - found.redundant), abs=1e-12)
    assert sum(found[:4]) == approx(t, abs=1e-12) and found.gap == 0
    assert len(found.notes) == sum(term < -1e-9 for term in found[:4])  # said, not clipped


HALF = BIT / 2
SHARED_BY_BOTH = 0.75 * np.log(8 / 5) + 0.25 * np.log(8 / 7)
OF_ERRING = BIT + 0.25 * np.log(0.25) + 0.75 * np.log(0.75)
RIGHT = [0, 0, 0, 0, 1, 1, 1, 1]
ERRS = [0, 0, 0, 1, 1, 1, 1, 0]


@pytest.mark.parametrize(
    ("a", "b", "target", "terms", "notes"),
    [
        # PwUnq (Finn & Lizier 2018): each source alone informs about half of the items: unique, half a bit each
        ([0, 1, 0, 2], [1, 0, 2, 0], [0, 0, 1, 1], (HALF, HALF, 0, 0), []),
        # RdnErr, by hand: b errs in a quarter of the items, and its misinformation is unique to it
        (
            RIGHT,
            ERRS,
            RIGHT,
            (BIT - SHARED_BY_BOTH, OF_ERRING - SHARED_BY_BOTH, SHARED_BY_BOTH, SHARED_BY_BOTH - OF_ERRING),
            [("below 0", "unique_b")],
        ),
    ],
)
def test_shared_exclusions_of_pointwise_gates(a, b, target, terms, notes):
    found = pid.discrete_shared_exclusion(table_of(*map(np.array, (a, b, target))))
    assert found[:4] == approx(terms, abs=1e-12)
    assert [(note.code, note.argument) for note in found.notes] == notes


def test_shared_exclusions_item_by_item():
    """Counted over rows as the definition says; a copy of a source shares all its information."""
    a, b, target = np.random.default_rng(0).integers(0, (3, 4, 2), (60, 3)).T
    expected = 0.0
    for row in range(60):
        either = (a == a[row]) | (b == b[row])
        same = target == target[row]
        ratio = (either & same).mean() / either.mean() / same.mean()
        expected += np.log(ratio) / 60
    assert pid.discrete_shared_exclusion(table_of(a, b, target)).redundant == approx(expected, abs=1e-12)
    twice = pid.discrete_shared_exclusion(table_of(a, a, target))
    assert twice[:4] == approx([0, 0, twice.informations[0], 0], abs=1e-12)
