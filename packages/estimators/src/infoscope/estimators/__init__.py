"""Estimators of mutual information. Everything is in nats.

arrays       estimate(x, y, method=...), normalised, methods, diagnose: every estimator on arrays, called alike
result       Estimate: a number with its error, interval, unit, n, method and notes
variables    Continuous, Discrete, Angle: column types
neural       critics, variational bounds, training, held-out estimates, exact critics
knn          nearest neighbours: entropy, (conditional) mutual information, total correlation, co-information
npeet        the same under the names of NPEET, in bits
discrete     entropies of categories from counts
classifier   cross_fit: a decomposition of information from calibrated classifiers
families     predictive families
uncertainty  sampling intervals of nearest-neighbour estimates by half-samples, permutation tests
kernel_tests hsic_test, kcit_test: kernel tests of independence
laws         distributions fitted to typed variables; a held-out lower bound
units        NATS_PER_BIT
matmul       float32 products on a CPU
"""

from infoscope.estimators.result import Estimate
from infoscope.late import late, names_of
from infoscope.sources import ExactPairSource, KnownPairSource, PairSource

# Torch takes seconds to import: only for those who train a critic.
_LATE = names_of(
    {
        "arrays.registry": ("METHODS", "Diagnosis", "diagnose", "estimate", "methods", "normalised"),
        "neural.bounds": ("BOUNDS", "Bound", "Objective", "UnknownBound", "share_training"),
        "neural.critics": ("BilinearCritic", "Critic", "InnerCritic", "JointCritic", "SeparableCritic", "make_critic"),
        "neural.heldout": ("OracleErrors", "held_out", "oracle_errors"),
        "neural.training": ("Trace", "Training", "fit_critic"),
        "variables": ("Angle", "Continuous", "Discrete"),
    }
)

__all__ = ["Estimate", "ExactPairSource", "KnownPairSource", "PairSource", *_LATE]
__getattr__ = late(__name__, _LATE)


def __dir__() -> list[str]:
    return sorted(__all__)
