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
    angle = rng.uniform(0, 2 * math.pi, n)
    radius = 1.0 + 1.5 * u + 0.2 * rng.normal(size=n)
    ring = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return ring, rng.normal(size=(n, 3)), u


def test_the_table_shows_which_block_leaks_to_which_family():
    """Within 4 standard errors of 0 (6e-5 each), or nearly all of it; the ceiling is 1
    bit.
    """
    ring, noise, u = circles(600, 0)
    blocks = {"ring": ring, "noise": noise}
    families = {"linear": Logistic(), "knn": NearestNeighbours()}
    leaks = usable_leakage(blocks, {"u": u}, families)
    by_family = leaks.set_index(["family", "block"])
    assert by_family.loc[("knn", "ring"), "value_bits"] > 0.7
    for place in (("linear", "ring"), ("linear", "noise"), ("knn", "noise")):
        leak = by_family.loc[place]
        assert leak["value_bits"] < 4 * leak["standard_error_bits"]
    assert leaks["ceiling_bits"].tolist() == pytest.approx([1.0] * 4, abs=1e-3)
    assert (leaks["n"] == 600).all()


def test_features_hide_a_label_and_keep_the_rest():
    """u is the sign of one column of six: hidden from lines it leaves at most a quarter
    of what it was, while most of the other columns' variance stays.
    """
    rng = default_rng(2)
    x = rng.normal(size=(600, 6))
    u = (x[:, 0] > 0).astype(int)
    train = np.arange(600) < 375
    blocks = {}
    for name, strength in (("plain", 0.0), ("hidden", 10.0)):
        features = hide(x[train], u[train], Network(()), 6, strength, 100)
        blocks[name] = features.encode(x[~train])
    leaks = usable_leakage(blocks, {"u": u[~train]}, {"linear": Logistic()})
    plain, hidden = leaks.set_index("block")["value_bits"][["plain", "hidden"]]
    assert plain > 0.5
    assert hidden < 0.25 * plain
    assert features.reconstruction < 0.5
    assert features.adversary_log_loss > 0.9 * math.log(2)
