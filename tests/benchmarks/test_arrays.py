"""What an estimate by a critic costs beside as many steps of the bare engine, in
processor time of one run.

5,000 rows, 20 columns on each side. The rest is preparation, five judgements in a
hundred steps, the read-out and its jackknife over 20 blocks in each of 5 folds.
"""

import numpy as np
import pytest
import torch

from infoscope.data import GaussianPairs
from infoscope.estimators import estimate, fit_critic, make_critic
from tests.benchmarks.timing import seconds, show

pytestmark = pytest.mark.bench

ROWS = 5_000
DIM = 20
STEPS = 1_000
FOLDS = 5
MOST = 1.6


@pytest.mark.parametrize("bound", ["smile-5", "infonce-anchor"])
def test_a_critic_on_arrays_against_the_bare_engine(bound):
    pairs = GaussianPairs(DIM, mutual_information=2.0)
    x, y = (
        side.numpy() for side in pairs.sample(ROWS, torch.Generator().manual_seed(0))
    )
    settings = {"steps": STEPS, "batch": 128}

    def bare():
        critic = make_critic("separable", DIM, DIM, depth=1, width=128, embed=32)
        fit_critic(pairs, critic, bound, STEPS, batch=128)

    estimate(x, y, bound, folds=2, **settings | {"steps": 10})  # imports and compiles
    results = {}
    spent = seconds(
        lambda: results.update(estimate=estimate(x, y, bound, folds=FOLDS, **settings))
    )
    steps = results["estimate"].curve.groupby("fold")["step"].max().sum()
    engine = np.median([seconds(bare) for _ in range(3)]) * steps / STEPS
    ratio = spent / engine
    show(bound, seconds=spent, steps=steps, engine=float(engine), ratio=ratio)
    assert ratio < MOST
