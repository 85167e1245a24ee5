"""How information is measured: critics, variational bounds and the engine that trains them. Everything is in nats.

    neural       make_critic, BOUNDS, fit_critic, held_out, oracle_errors: critics, bounds, training, an exact critic
    arrays       estimate(x, y, method=...), normalised, methods: every estimator on arrays of your own, called alike;
                 diagnose: what speaks against independent rows
    result       Estimate: a number with its error, interval, unit, n, method and notes, as it is handed to a person
    variables    Continuous, Discrete, Angle: what a column is
    sources      PairSource, KnownPairSource, ExactPairSource: the shapes of object that are measured

Of samples, imported by name (`from infoscope.estimators import knn`):
    knn          nearest neighbours: entropy, (conditional) mutual information, total correlation, co-information
    npeet        the same under NPEET's names, in bits
    discrete     entropies of categories from their counts, corrected for few rows
    classifier   cross_fit: every term of one coherent decomposition from calibrated classifiers
    families     predictive families: what may be used to read one variable off another
    uncertainty  intervals for neighbour estimates, a verdict on their bias, permutation tests
    kernel_tests hsic_test, kcit_test: are they independent, in the eyes of kernels?
    laws         laws fitted to typed variables, whose information is known: a held-out lower bound
    resampling   which rows are in which subsample
    units        NATS_PER_BIT
    matmul       float32 products by the faster of torch's two libraries
"""

from importlib import import_module
from typing import Any

from infoscope.estimators.result import Estimate

# Torch takes seconds to import: only for those who train a critic.
_LATE = {
    "arrays.diagnosis": ("Diagnosis", "diagnose"),
    "arrays.registry": ("METHODS", "estimate", "methods"),
    "arrays.normalising": ("normalised",),
    "neural.bounds": ("BOUNDS", "Bound", "Objective", "UnknownBound", "share_training"),
    "neural.critics": ("BilinearCritic", "Critic", "InnerCritic", "JointCritic", "SeparableCritic", "make_critic"),
    "neural.heldout": ("held_out",),
    "neural.oracle": ("OracleErrors", "oracle_errors"),
    "neural.trace": ("Trace",),
    "neural.training": ("Training", "fit_critic"),
    "sources": ("ExactPairSource", "KnownPairSource", "PairSource"),
    "variables": ("Angle", "Continuous", "Discrete"),
}
_MODULE_OF = {name: module for module, names in _LATE.items() for name in names}

__all__ = ["Estimate", *_MODULE_OF]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
