"""Quantities and scores of discrete distributions, by enumeration: published values,
gates, identities.
"""

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng
from pytest import approx

from infoscope.estimators.result import Estimate
from infoscope.metrics.partition.scores import figures, terms_of
from infoscope.metrics.partition.terms import to_zero
from tests.metrics.partition.enumeration import enumerate_outcomes

BIT = np.log(2)
BLOCKS = ("z_y", "z_x", "z_dy", "z_d")


def grid(*sizes):
    """Every combination of 0..size - 1, a column for each."""
    return np.indices(sizes).reshape(len(sizes), -1)


LABELS = grid(3, 4)
DEPENDENT = default_rng(0).dirichlet(np.full(12, 0.5))


def quantity(report, name):
    return report.figures["posterior"][name].value


def score(report, name):
    return report.scores()[name].value


@pytest.mark.parametrize("p", [None, DEPENDENT], ids=["balanced", "dependent"])
def test_unique_is_one_for_the_ideal_partition(p):
    y, d = LABELS
    report = enumerate_outcomes(
        {"z_y": y, "z_d": d, "z_x": 0 * y, "z_dy": 0 * y}, y, d, p
    )
    for name in (
        "unique",
        "unique_y",
        "unique_d",
        "unique_without_z_dy",
        "sufficiency",
    ):
        assert score(report, name) == approx(1)
    for name in ("I(z_y;D|Y)", "I(z_d;Y|D)", "I(z_x;Y,D)", "I(z_dy;Y,D)"):
        assert quantity(report, name) == approx(0, abs=1e-12)


@pytest.mark.parametrize("p", [None, DEPENDENT], ids=["balanced", "dependent"])
@pytest.mark.parametrize("case", ["constant", "swapped", "duplicated", "all in z_dy"])
def test_unique_is_zero_where_all_blocks_hold_the_same(case, p):
    y, d = LABELS
    constant = 0 * y
    both = y * 100 + d
    blocks = {
        "constant": dict.fromkeys(BLOCKS, constant),
        "swapped": {"z_y": d, "z_d": y, "z_x": constant, "z_dy": constant},
        "duplicated": dict.fromkeys(BLOCKS, both),
        "all in z_dy": dict.fromkeys(BLOCKS, constant) | {"z_dy": both},
    }
    report = enumerate_outcomes(blocks[case], y, d, p)
    for name in ("unique", "unique_y", "unique_d"):
        assert score(report, name) == 0
    assert score(report, "unique_y_raw") <= 1e-12
    assert score(report, "unique_d_raw") <= 1e-12


def test_a_copy_in_z_dy_is_shared_unless_z_dy_is_left_out():
    y, d = LABELS
    report = enumerate_outcomes({"z_y": y, "z_d": d, "z_dy": y * 100 + d}, y, d)
    assert score(report, "unique") == approx(0, abs=1e-7)
    assert score(report, "unique_without_z_dy") == approx(1)


@pytest.mark.parametrize(
    ("classes", "domains", "nats"), [(10, 6, 0.546), (2, 3, 0.239)]
)
def test_seed_score_of_the_ideal_partition(classes, domains, nats):
    """CRMNIST: .546, or .788 with terms in bits. Two labels and three hospitals,
    Camelyon17: .24. Never 1.
    """
    y, d = grid(classes, domains)
    report = enumerate_outcomes({"z_y": y, "z_d": d, "z_x": 0 * y, "z_dy": 0 * y}, y, d)
    assert score(report, "seed") == approx(nats, abs=5e-4)
    assert score(report, "seed") == approx(score(report, "seed_ceiling"))
    assert score(report, "seed_bits") == approx(nats / BIT, abs=1e-3)


BIT_Y, BIT_D = grid(2, 2)


@pytest.mark.parametrize(
    ("z", "y", "d", "bits"),
    [
        (BIT_Y ^ BIT_D, BIT_Y, BIT_D, -1.0),
        (np.arange(2), np.arange(2), np.arange(2), 1.0),
        (BIT_Y & BIT_D, BIT_Y, BIT_D, 2 * 0.311278 - 0.811278),
        (0 * BIT_Y, BIT_Y, BIT_D, 0.0),
    ],
    ids=["xor", "copy", "and", "nothing"],
)
def test_sign_of_co_information(z, y, d, bits):
    """Positive is redundancy, negative is synergy. AND: I(z; y) = .311 bits, I(z; y, d)
    = .811 bits.
    """
    report = enumerate_outcomes({"z_dy": z}, y, d)
    assert quantity(report, "co-information(z_dy;Y;D)") / BIT == approx(bits, abs=1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_identities_that_hold_for_every_distribution(seed):
    """A random joint distribution of y, d and four blocks."""
    y, d, *columns = grid(3, 2, 2, 3, 2, 2)
    p = default_rng(seed).dirichlet(np.full(len(y), 0.1))
    report = enumerate_outcomes(dict(zip(BLOCKS, columns)), y, d, p)
    low = -min(quantity(report, "H(Y|D)"), quantity(report, "H(D|Y)"))
    high = quantity(report, "I(Y;D)")
    for block in BLOCKS:
        assert (
            low - 1e-9
            <= quantity(report, f"co-information({block};Y;D)")
            <= high + 1e-9
        )
        assert quantity(report, f"chain-rule gap of {block}") == approx(0, abs=1e-12)
        joint = quantity(report, f"I({block};Y)") + quantity(report, f"I({block};D|Y)")
        assert joint == approx(quantity(report, f"I({block};Y,D)"))
    for name in ("unique", "unique_y", "unique_d", "sufficiency", "seed"):
        assert 0 <= score(report, name) <= 1
    assert score(report, "unique_without_z_dy") >= score(report, "unique")


def test_an_absent_block_is_not_applicable_never_zero():
    y, d = LABELS
    report = enumerate_outcomes({"z_y": y, "z_d": d, "z_dy": None}, y, d)
    assert score(report, "unique") == approx(1)
    assert "unique_without_z_dy" not in report.scores()
    table = report.table.set_index("what")
    for name in ("I(z_dy;Y)", "co-information(z_dy;Y;D)", "I(z_x;Y,D)"):
        assert np.isnan(table.loc[name, "value"])
    only_z_y = enumerate_outcomes({"z_y": y}, y, d)
    assert np.isnan(score(only_z_y, "unique"))
    assert score(only_z_y, "unique_y") == approx(1)


def test_an_interval_of_information_reaches_zero():
    """Differences, such as co-information, may be below 0; information may not."""
    estimate = Estimate(-0.03, 0.01)
    below = to_zero(estimate)
    assert below.value == -0.03
    assert below.low == estimate.low
    assert below.high == 0.0
    assert [note.code for note in below.notes] == ["below 0"]
    across = to_zero(Estimate(-0.01, 0.01))
    assert not across.notes
    assert across.interval is None
    names = ("z_y",)
    with_influence = replace(below, influence=np.full(4, 0.005))
    quantities = figures(dict.fromkeys(terms_of(names), with_influence), names)
    assert quantities["I(z_y;Y|D)"].high == 0.0
    assert quantities["co-information(z_y;Y;D)"].high < 0.0
