"""Where held-out information is heading, and what could be there where none is read."""

import numpy as np
import pytest

from infoscope.metrics.v_information.usable import Local, unseen


@pytest.mark.parametrize("power", [0.5, 0.7, 1.0])
def test_an_interval_reaches_to_where_learning_curves_lead(power):
    """What is missing of n rows is n^-power: of an information of 1, seen by 400 rows and by 200, without noise."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=500)
    noise -= noise.mean()
    term = Local(*(1 - 20 * n**-power + 0.01 * noise for n in (400, 200))).term(np.arange(500))
    assert term.estimate.low <= 1.0 <= term.estimate.high + 1e-9 and term.rises
    assert float(term.further) == pytest.approx(1.0) or power > 0.5
    flat = Local(noise, noise + 0.1 * rng.normal(size=500)).term(np.arange(500))
    assert not flat.rises


def test_what_shows_of_an_information_is_what_the_best_shrinkage_shows():
    """Of I^2 / (I + a), with a = weights / (2 rows), it is I; of nothing nothing, of much about a more."""
    for information in (0.01, 0.3, 5.0):
        assert unseen(information**2 / (information + 0.25), 30, 60) == pytest.approx(information)
    assert unseen(0.0, 30, 60) == unseen(-0.1, 30, 60) == 0.0
    assert unseen(100.0, 30, 60) == pytest.approx(100.25, abs=1e-3)
