"""NPEET's function names, argument order and base 2, on the estimators of `knn`.

Numbers are in bits; compat=True gives NPEET's own.
"""

from infoscope.estimators.npeet.functions import (
    centropy,
    centropycd,
    centropyd,
    centropydc,
    cmi,
    cmidd,
    corex,
    corexcd,
    corexd,
    corexdc,
    ctc,
    ctccd,
    ctcd,
    ctcdc,
    entropy,
    entropyd,
    kldiv,
    mi,
    micd,
    midc,
    midd,
    shuffle_test,
    shuffled,
    tc,
    tcd,
)

__all__ = [
    "centropy", "centropycd", "centropyd", "centropydc", "cmi", "cmidd", "corex", "corexcd", "corexd", "corexdc", "ctc",
    "ctccd", "ctcd", "ctcdc", "entropy", "entropyd", "kldiv", "mi", "micd", "midc", "midd", "shuffle_test", "shuffled",
    "tc", "tcd",
]  # fmt: skip
