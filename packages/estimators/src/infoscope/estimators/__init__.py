"""How information is measured: critics, variational bounds and the engine that trains them. Everything is in nats.

    neural       make_critic, BOUNDS, fit_critic, held_out, oracle_errors: critics, bounds, training, an exact critic
    result       Estimate: a number with its error, interval, unit, n, method and notes, as it is handed to a person
    sources      PairSource, ExactPairSource: the two shapes of object that are measured

Of samples, imported by name (`from infoscope.estimators import knn`):
    knn          nearest neighbours: entropy, (conditional) mutual information, total correlation, co-information
    npeet        the same under NPEET's names, in bits
    discrete     entropies of categories from their counts, corrected for few rows
    classifier   cross_fit: every term of one coherent decomposition from calibrated classifiers
    families     predictive families: what may be used to read one variable off another
    uncertainty  intervals for neighbour estimates, a verdict on their bias, permutation tests
    laws         laws fitted to typed variables, whose information is known: a held-out lower bound
    resampling   which rows are in which subsample
    variables    Continuous, Discrete: what a column is
    units        NATS_PER_BIT
    matmul       float32 products by the faster of torch's two libraries
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
from infoscope.estimators.neural.trace import Trace
from infoscope.estimators.neural.training import Training, fit_critic
from infoscope.estimators.result import Estimate
from infoscope.estimators.sources import ExactPairSource, PairSource

__all__ = [
    "BOUNDS", "BilinearCritic", "Bound", "Critic", "Estimate", "ExactPairSource", "InnerCritic", "JointCritic",
    "Objective", "OracleErrors", "PairSource", "SeparableCritic", "Trace", "Training", "UnknownBound", "fit_critic",
    "held_out", "make_critic", "oracle_errors", "share_training",
]  # fmt: skip
