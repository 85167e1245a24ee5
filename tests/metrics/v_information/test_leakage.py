"""Leakage of blocks by family, and features that hide a label from one family of
networks.
"""

import math

import numpy as np
import pytest
from numpy.random import default_rng

from infoscope.estimators.families.local import NearestNeighbours
from infoscope.estimators.families.logistic import Logistic
from infoscope.estimators.families.networks import Network
from infoscope.metrics.v_information.leakage import hide, usable_leakage


def circles(n, seed):
    """Class 1 lies outside of class 0: no information for a line, all for a curve.
    Three further columns of noise.
    """
    rng = default_rng(seed)
    u = np.arange(n) % 2
    angle, radius = (
        rng.uniform(0, 2 * math.pi, n),
        1.0 + 1.5 * u + 0.2 * rng.normal(size=n),
    )
    return np.column_stack(
        [radius * np.cos(angle), radius * np.sin(angle), rng.normal(size=(n, 3))]
    ), u


def test_the_table_shows_which_block_leaks_to_which_family():
    """Within 4 standard errors of 0 (6e-5 each), or nearly all of it; the ceiling is 1
    bit.
    """
    x, u = circles(600, 0)
    blocks = {"ring": x[:, :2], "noise": x[:, 2:]}
    families = {"linear": Logistic(), "knn": NearestNeighbours()}
    found = usable_leakage(blocks, {"u": u}, families)
    wide = found.pivot(index="family", columns="block")
    values, errors = wide["value_bits"], wide["standard_error_bits"]
    assert values.loc["knn", "ring"] > 0.7
    for family, block in (("linear", "ring"), ("linear", "noise"), ("knn", "noise")):
        assert values.loc[family, block] < 4 * errors.loc[family, block]
    assert found["ceiling_bits"].to_numpy() == pytest.approx(np.ones(4), abs=1e-3)
    assert (found["n"] == 600).all()


def test_features_hide_a_label_and_keep_the_rest():
    """u is the sign of one column of six: hidden from lines it leaves at most a quarter
    of what it was, while most of the other columns' variance stays.
    """
    rng = default_rng(2)
    x = rng.normal(size=(600, 6))
    u = (x[:, 0] > 0).astype(int)
    train = np.arange(600) < 375
    plain, hidden = (
        hide(x[train], u[train], Network(()), 6, strength, 100)
        for strength in (0.0, 10.0)
    )
    blocks = {"plain": plain.encode(x[~train]), "hidden": hidden.encode(x[~train])}
    values = usable_leakage(blocks, {"u": u[~train]}, {"linear": Logistic()}).set_index(
        "block"
    )["value_bits"]
    assert values["plain"] > 0.5 and values["hidden"] < 0.25 * values["plain"]
    assert hidden.reconstruction < 0.5 and hidden.adversary_log_loss > 0.9 * math.log(2)
