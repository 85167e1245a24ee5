"""The sweep of the toy model: its cells, and its estimates against closed forms."""

import math
from functools import partial

import pytest

from sweeps.disentanglement.toy_model import SWEEP, trial
from tests.sweeps.keeper import Keeper
from tests.sweeps.recorder import planned

cells_of = partial(planned, SWEEP)


def test_without_an_attack_there_is_no_strength():
    cells = cells_of()
    assert {cell.alpha for cell in cells if cell.attack == "none"} == {0.0}
    # factors, seeds, and strengths of no attack and two
    assert len(cells) == 2 * 2 * (1 + 2 + 2)


def test_estimates_are_beside_the_closed_form():
    """Five standard errors: a false alarm in 2e6 for each of the figures compared."""
    keeper = Keeper.ran(
        trial, cells_of(factors="3", seeds="0", draws="4000"), "attack", "alpha"
    )
    total = 0.5 * math.log(101)
    for (attack, alpha), final in keeper.finals.items():
        assert final["exact/information_nats"] == pytest.approx(total)
        error = final["sampled/information_nats_error"]
        assert abs(final["sampled/information_nats"] - total) < 5 * error
        assert final["largest_z"] < 5
        assert final["largest_difference_without_spread_nats"] < 1e-9
        table = keeper.tables[attack, alpha, "parts"]
        assert final["compared"] == (table["error"] > 1e-9).sum() > 0
        assert len(table["factor"]) == 3 * (2 * (3 if attack == "none" else 6) + 1)
    # noise .1, checked against determinants
    assert keeper.finals["redundancy", 3.0]["exact/mig_nats"] == pytest.approx(
        2.0551, abs=1e-4
    )
