"""Quantities and scores of discrete distributions, by enumeration: published values, gates, identities."""

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


def grid(*sizes):
    """Every combination of 0..size - 1, a column for each."""
    return [column.ravel() for column in np.meshgrid(*map(np.arange, sizes), indexing="ij")]


def distributions():
    """Ten digits in six domains, balanced; and 3 x 4 labels that depend on one another."""
    y, d = grid(3, 4)
    return {
        "balanced": (*grid(10, 6), None),
        "dependent": (y, d, default_rng(0).dirichlet(np.full(12, 0.5))),
    }


def quantity(report, name):
    return report.figures["posterior"][name].value


def score(report, name):
    return report.scores()[name].value


@pytest.mark.parametrize("distribution", ["balanced", "dependent"])
def test_unique_is_one_for_the_ideal_partition(distribution):
    y, d, p = distributions()[distribution]
    nothing = np.zeros_like(y)
    report = enumerate_outcomes({"z_y": y, "z_d": d, "z_x": nothing, "z_dy": nothing}, y, d, p)
    for name in ("unique", "unique_y", "unique_d", "unique_without_z_dy", "sufficiency"):
        assert score(report, name) == approx(1)
    for name in ("I(z_y;D|Y)", "I(z_d;Y|D)", "I(z_x;Y,D)", "I(z_dy;Y,D)"):
        assert quantity(report, name) == approx(0, abs=1e-12)


@pytest.mark.parametrize("case", ["constant", "swapped", "duplicated", "all in z_dy"])
def test_unique_is_zero_where_all_blocks_hold_the_same(case):
    y, d, p = distributions()["dependent"]
    both, nothing = y * 100 + d, np.zeros_like(y)
    blocks = {
        "constant": {"z_y": nothing, "z_d": nothing, "z_x": nothing, "z_dy": nothing},
        "swapped": {"z_y": d, "z_d": y, "z_x": nothing, "z_dy": nothing},
        "duplicated": {"z_y": both, "z_d": both, "z_x": both, "z_dy": both},
        "all in z_dy": {"z_y": nothing, "z_d": nothing, "z_x": nothing, "z_dy": both},
    }[case]
    report = enumerate_outcomes(blocks, y, d, p)
    assert score(report, "unique") == score(report, "unique_y") == score(report, "unique_d") == 0
    assert score(report, "unique_y_raw") <= 1e-12 and score(report, "unique_d_raw") <= 1e-12


@pytest.mark.parametrize(("classes", "domains", "nats"), [(10, 6, 0.546), (2, 3, 0.239)])
def test_seed_score_of_the_ideal_partition(classes, domains, nats):
    """CRMNIST: .546, or .788 with terms in bits. Two labels and three hospitals, Camelyon17: .24. Never 1."""
    y, d = grid(classes, domains)
    report = enumerate_outcomes({"z_y": y, "z_d": d, "z_x": 0 * y, "z_dy": 0 * y}, y, d)
    assert score(report, "seed") == approx(nats, abs=5e-4)
    assert score(report, "seed") == approx(score(report, "seed_ceiling"))
    assert score(report, "seed_bits") == approx(nats / BIT, abs=1e-3)


@pytest.mark.parametrize(("gate", "bits"), [
    ("xor", -1.0), ("copy", 1.0), ("and", 2 * 0.311278 - 0.811278), ("nothing", 0.0),
])  # fmt: skip
def test_sign_of_co_information(gate, bits):
    """Positive is redundancy, negative is synergy. AND: I(z; y) = .311 bits, I(z; y, d) = .811 bits."""
    y, d = grid(2, 2) if gate != "copy" else (np.arange(2), np.arange(2))
    z = {"xor": y ^ d, "copy": y, "and": y & d, "nothing": 0 * y}[gate]
    report = enumerate_outcomes({"z_dy": z}, y, d)
    assert quantity(report, "co-information(z_dy;Y;D)") / BIT == approx(bits, abs=1e-6)
    assert "co-information(z_dy;Y;D)" in set(report.text["what"])


def random_distribution(seed):
    """A random joint distribution of y, d and four blocks."""
    rng = default_rng(seed)
    y, d, *blocks = grid(3, 2, 2, 3, 2, 2)
    names = ("z_y", "z_x", "z_dy", "z_d")
    return enumerate_outcomes(dict(zip(names, blocks, strict=True)), y, d, rng.dirichlet(np.full(len(y), 0.1)))


@pytest.mark.parametrize("seed", range(2))
def test_identities_that_hold_for_every_distribution(seed):
    report = random_distribution(seed)
    low = -min(quantity(report, "H(Y|D)"), quantity(report, "H(D|Y)"))
    for block in ("z_y", "z_x", "z_dy", "z_d"):
        assert low - 1e-9 <= quantity(report, f"co-information({block};Y;D)") <= quantity(report, "I(Y;D)") + 1e-9
        assert quantity(report, f"chain-rule gap of {block}") == approx(0, abs=1e-12)
        both = quantity(report, f"I({block};Y)") + quantity(report, f"I({block};D|Y)")
        assert both == approx(quantity(report, f"I({block};Y,D)"))
    for name in ("unique", "unique_y", "unique_d", "sufficiency", "seed"):
        assert 0 <= score(report, name) <= 1
    assert score(report, "unique_without_z_dy") >= score(report, "unique")


def test_an_absent_block_is_not_applicable_never_zero():
    y, d = grid(10, 6)
    report = enumerate_outcomes({"z_y": y, "z_d": d, "z_dy": None}, y, d)
    assert score(report, "unique") == approx(1) and "unique_without_z_dy" not in report.scores()
    table = report.table.set_index("what")
    for name in ("I(z_dy;Y)", "co-information(z_dy;Y;D)", "I(z_x;Y,D)"):
        assert np.isnan(table.loc[name, "value"]) and "no z_" in table.loc[name, "notes"]
    alone = enumerate_outcomes({"z_y": y}, y, d)
    assert np.isnan(score(alone, "unique")) and score(alone, "unique_y") == approx(1)


def test_an_interval_of_information_reaches_zero():
    """Differences, such as co-information, may be below 0; information may not."""
    below, across = to_zero(Estimate(-0.03, 0.01)), to_zero(Estimate(-0.01, 0.01))
    assert (below.value, below.high) == (-0.03, 0.0) and [note.code for note in below.notes] == ["below 0"]
    assert below.low == Estimate(-0.03, 0.01).low and not across.notes and across.interval is None
    names = ("z_y",)
    route = dict.fromkeys(terms_of(names), replace(below, influence=np.full(4, 0.005)))
    found = figures(route, names)
    assert found["I(z_y;Y|D)"].high == 0.0 > found["co-information(z_y;Y;D)"].high
