"""How information is measured: critics, variational bounds and the engine that trains them. Everything is in nats.

    critics    make_critic(kind, dim_x, dim_y, ...): inner, bilinear, separable and joint critics, one or many members
    bounds     BOUNDS[name]: nwj, js, infonce, dv, mine, smile-<clip>, mine-one-step; objective and report kept apart
    training   fit_critic(source, critic, bound, steps, ...) -> Trace; Training: the same, interruptible
    heldout    held_out(source, critic, bounds, batch, batches, generator) -> HeldOut of each bound, without training
    oracle     floor(source, bound, batch, batches, generator) -> Floor: what an exact critic would report
    sources    PairSource, ExactPairSource: the two shapes of object that are measured

Of samples, imported by name (`from infoscope.estimators import knn`):
    knn          nearest neighbours: entropy, (conditional) mutual information, total correlation, co-information
    npeet        the same under NPEET's names, in bits
    classifier   cross_fit: every term of one coherent decomposition from calibrated classifiers
    uncertainty  intervals for neighbour estimates, a verdict on their bias, permutation tests
    laws         laws fitted to typed variables, whose information is known: a held-out lower bound
    variables    Continuous, Discrete: what a column is
"""

from infoscope.estimators.bounds import BOUNDS, Bound, Objective, UnknownBound, share_training
from infoscope.estimators.critics import (
    BilinearCritic,
    Critic,
    InnerCritic,
    JointCritic,
    SeparableCritic,
    make_critic,
)
from infoscope.estimators.heldout import HeldOut, held_out
from infoscope.estimators.oracle import Floor, floor
from infoscope.estimators.sources import ExactPairSource, PairSource
from infoscope.estimators.trace import Trace
from infoscope.estimators.training import Training, fit_critic

__all__ = [
    "BOUNDS",
    "BilinearCritic",
    "Bound",
    "Critic",
    "ExactPairSource",
    "Floor",
    "HeldOut",
    "InnerCritic",
    "JointCritic",
    "Objective",
    "PairSource",
    "SeparableCritic",
    "Trace",
    "Training",
    "UnknownBound",
    "fit_critic",
    "floor",
    "held_out",
    "make_critic",
    "share_training",
]
