"""Rows are paired by their index, as in `tests/test_every_entry.py`, by the public
functions that it leaves out.
"""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from infoscope.estimators.families import Gaussian, Logistic, Network, tfidf_logistic
from infoscope.metrics import disentanglement
from infoscope.metrics.decodable import decodable_information_of_items
from infoscope.metrics.partition.evaluation import evaluate_posterior
from infoscope.metrics.v_information import labels
from infoscope.metrics.v_information.difficulty import token_artefacts
from infoscope.metrics.v_information.leakage import hide, usable_leakage
from infoscope.metrics.v_information.pvi import slices
from infoscope.metrics.v_information.structure import weights_by

N = 60
FIT = tfidf_logistic().fit(["good film", "bad film"] * 10, np.tile([1, 0], 10), 2)
VOTES = disentanglement.Protocol(
    "few",
    disentanglement.Votes(5, 60, 60),
    disentanglement.Votes(5, 60, 60),
    "logistic",
    N,
    0.05,
)
ALONE = [(getattr(disentanglement, name), {}) for name in ("mig", "sap", "explicitness")] + [
    (disentanglement.beta_vae_score, {"preset": VOTES}),
    (disentanglement.factor_vae_score, {"preset": VOTES}),
    (disentanglement.dci, {"halvings": 1}),
]  # fmt: skip
PAIRED = {
    **{
        f.__name__: lambda z, t, f=f, options=o: f(z, t[["y", "d"]], **options)
        for f, o in ALONE
    },
    "posterior": lambda z, t: (
        evaluate_posterior(
            {"z_y": z}, {"z_y": np.exp(z)}, t["y"], t["d"], draws=50
        ).table
    ),
    "leakage": lambda z, t: usable_leakage(
        {"z": z}, {"y": t["y"]}, {"l": Logistic()}, 3
    )["value_bits"],
    "hiding": lambda z, t: hide(z, t["y"], Network(()), steps=3).adversary_log_loss,
    "labels": lambda z, t: labels.report(t["y"], z).suspects.sort_values("wrong")[
        "wrong"
    ],
    "slices": lambda z, t: slices(
        z.assign(pvi_bits=z[0], by=z[1] > 0), "by", groups=t["d"]
    ),
    "tokens": lambda z, t: token_artefacts(
        FIT, z[0].map(lambda one: ("good", "bad")[one > 0]), t["y"]
    )["mean_bits"],
    "structure": lambda z, t: weights_by(Gaussian(), [z[0], t["x"]], folds=3).value,
    "decodable": lambda z, t: decodable_information_of_items(
        z, t["y"], [0.1], 1, folds=3
    ).information[0],
}


def figures(found):
    """What was found, as numbers."""
    if isinstance(found, pd.DataFrame):
        found = found.select_dtypes("number")
    for name in ("importance", "shares"):
        found = (
            getattr(found, name)
            if isinstance(getattr(found, name, None), np.ndarray)
            else found
        )
    return np.asarray(found, dtype=float)


def rows():
    """A representation of two columns, and targets of the same rows."""
    rng = np.random.default_rng(0)
    y, d = rng.integers(0, 2, (2, N))
    z = pd.DataFrame(np.column_stack([y, d]) + 0.4 * rng.normal(size=(N, 2)))
    return z, pd.DataFrame({"y": y, "d": d, "x": z[0] + rng.normal(size=N)})


@pytest.mark.parametrize("name", PAIRED)
def test_rows_in_another_order_give_the_same_figures(name):
    z, targets = rows()
    plain, shuffled = (
        PAIRED[name](z, given)
        for given in (targets, targets.sample(frac=1, random_state=1))
    )
    assert_allclose(figures(shuffled), figures(plain), rtol=1e-9, atol=1e-12)
    paired_wrongly = PAIRED[name](
        z, targets.sample(frac=1, random_state=1).reset_index(drop=True)
    )
    with pytest.raises(AssertionError):
        assert_allclose(figures(paired_wrongly), figures(plain), rtol=1e-6)
