"""Critics, variational bounds on their scores, and the engine that trains them.

critics   make_critic(kind, dim_x, dim_y, ...): inner, bilinear, separable and joint critics, one or many members
bounds    BOUNDS[name]: nwj, js, infonce, dv, mine, smile-<clip>, mine-one-step, ...
training  fit_critic(source, critic, bound, steps, ...) -> Trace; Training: the same, interruptible
heldout   held_out(source, critic, bounds, batch, batches, generator) -> an Estimate of each bound
oracle    oracle_errors(source, bound, batch, batches, generator) -> OracleErrors of an exact critic
"""

from infoscope.estimators.neural.bounds import BOUNDS, Bound, Objective, UnknownBound, share_training
from infoscope.estimators.neural.critics import (
    BilinearCritic,
    Critic,
    InnerCritic,
    JointCritic,
    SeparableCritic,
    make_critic,
)
from infoscope.estimators.neural.heldout import held_out
from infoscope.estimators.neural.oracle import OracleErrors, oracle_errors
from infoscope.estimators.neural.training import Trace, Training, fit_critic

__all__ = [
    "BOUNDS", "BilinearCritic", "Bound", "Critic", "InnerCritic", "JointCritic", "Objective", "OracleErrors",
    "SeparableCritic", "Trace", "Training", "UnknownBound", "fit_critic", "held_out", "make_critic", "oracle_errors",
    "share_training",
]  # fmt: skip
