"""The benchmark of estimators of mutual information: distributions of known truth by collection.

    collection     role       what
    beyond-normal  published  the forty of Czyż et al. 2023
    resampled      published  digits of MNIST paired by their labels at 200 levels (Gowri et al. 2024)
    reduction      published  the same of ten digits, photographs and texts
    known-truth    tuned      the distributions with which the estimators were developed
    everyday       tuned      twelve like everyday data
    late, later    tuned      twenty-four more, which were used in development
    latest, edges  held out   point masses, copulas, regimes, surveys; sharp edges and smooth noise
    unseen         held out   easy for nearest neighbours in its first half, hard in its second
    real-tables    held out   tables of measurements with a label or a number made from their rows
    cost           none       correlated normal columns, 2 to 200 each: for seconds and memory

beyond-normal influenced one choice in the reading: its figure of joint kurtosis.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from scipy import special, stats

from infoscope.data.tasks import beyond_normal, bundled, labels, noisy, numeric, resampled
from infoscope.data.tasks.cases import Case
from infoscope.errors import UnknownName

CASES: Mapping[str, Case] = {
    **{f"gaussian-{dim}": numeric.gaussian(dim, 1.0) for dim in (1, 2, 5, 12, 24)},
    **{f"independent-{dim}": numeric.gaussian(dim, 0.0) for dim in (1, 12)},
    **{f"mixture-{dim}": labels.mixture(dim) for dim in labels.SPREADS},
    **{f"gaussian-given-{dim}": numeric.gaussian_given(dim) for dim in (1, 3)},
    **{f"mixture-given-{dim}": labels.mixture(dim, domains=3) for dim in (2, 12)},
    "rounded-gaussian": numeric.rounded_gaussian(),
    "numbered-cells": numeric.numbered_cells(),
    "uniform-beside-label": labels.uniform_beside_label(),
    "zero-inflated-poisson": numeric.zero_inflated_poisson(),
    "xor": labels.gate(np.bitwise_xor),
    "and": labels.gate(np.bitwise_and),
    "copy": labels.copied(),
}
EVERYDAY: Mapping[str, Case] = {
    "images-by-label": resampled.case("mnist-0-1-at-0.500"),
    "texts-by-label": resampled.case("imdb-bert-at-0.500"),
    "zero-inflated-poisson": CASES["zero-inflated-poisson"],
    "uniform-beside-label": CASES["uniform-beside-label"],
    "mixed-columns": noisy.mixed_columns(),
    "three-pairs-of-30": numeric.coupled(30, 0.7, pairs=3),
    "label-of-one-of-40": labels.label_of_one_of(40),
    "monstrous-tails-3": numeric.coupled(3, 0.7, then=lambda v: np.sign(v) * np.expm1(v**2)),  # without a mean
    "parity-of-signs": labels.parity_of_signs(10),
    "rounded-gaussian": CASES["rounded-gaussian"],
    "sparse-table": labels.sparse_table(),
    "patients": numeric.patients(),
}
LATE: Mapping[str, Case] = {
    "cubic-wave": noisy.cubic_wave(),
    "lobes": numeric.lobes(),
    "waiting-times-3-of-6": noisy.waiting_times(),
    "one-factor-6-4": numeric.one_factor(),
    "shared-spread-2-3": numeric.shared_spread(),
    "five-classes-8": labels.five_classes(),
    "rings": labels.rings(),
    "counts": numeric.gamma_counts(),
    "questionnaire": labels.questionnaire(),
    "asked-again": numeric.repeated_measurements(),
    "nothing-6-6": numeric.nothing(),
    "little-1-of-4": numeric.one_of_several(4, 0.3),
}
LATER: Mapping[str, Case] = {
    "triangle": numeric.triangle(),
    "clayton-2": numeric.clayton(),
    "crossed": noisy.crossed(),
    "angles": numeric.angles(),
    "next-steps-5-3": numeric.next_steps(),
    "product-label-5": labels.product_label(),
    "grades-3-of-6": numeric.grades(),
    "shared-volatility-3-3": numeric.shared_volatility(3, 0.8),
    "square-of-1-of-12": noisy.square_of_one(),
    "confusion-of-8": labels.confusion(),
    "unlike-and-apart-4-3": numeric.clouds_and_tails(),
    "censored": numeric.censored(),
}
LATEST: Mapping[str, Case] = {
    "clipped": numeric.clipped(),
    "both-censored": numeric.both_censored(),
    "amounts": numeric.amounts(),
    "counts-of-1-of-3": numeric.counts_of_one(),
    "frank-8": numeric.frank(8.0, lambda u: stats.t.ppf(u, 3), lambda v: v),  # one margin heavy and one even
    "regimes-of-5": noisy.regimes(),
    "four-clouds-of-8": labels.four_clouds(),
    "survey": labels.survey(),
    "radius-of-3": noisy.radius(),
    "changing-scale": noisy.changing_scale(),
    "idle-amounts": numeric.tails_and_amounts(),
    "reported-ages": noisy.reported_ages(),
}
EDGES: Mapping[str, Case] = {
    "even-noise-0.8": noisy.scaled(stats.uniform, 0.8),
    "even-noise-0.2": noisy.scaled(stats.uniform, 0.2),
    "even-noise-of-2-columns": noisy.scaled(stats.uniform, 1.0, 2),
    "exponential-noise": noisy.scaled(stats.expon, 0.5),
    "arcsine-noise": noisy.scaled(stats.arcsine, 0.9),
    "two-bands": noisy.two_bands(),
    "even-and-wider": noisy.even_and_wider(),
    "below": numeric.below(),
    "disc": numeric.disc(),
    "in-order": numeric.in_order(),
    "gamma-noise": noisy.scaled(stats.gamma(3.0), 0.35),  # from here on without an edge
    "logistic-noise": noisy.scaled(stats.logistic, 0.4),
    "bounded-noise": noisy.scaled(stats.beta(4.0, 4.0), 2.0),
    "skewed-noise-of-2-columns": noisy.scaled(stats.gumbel_r, 0.7, 2),
}
UNSEEN: Mapping[str, Case] = {
    "clayton-exponential": numeric.gamma_frailty(1, 1, 2.0, lambda v: np.log1p(v) / 2),
    "weibull-frailty-2-1": numeric.gamma_frailty(2, 1, 1.5, lambda v: v ** (1 / 3)),
    "gumbel-laplace": numeric.gumbel_laplace(),
    "frank-gamma": numeric.frank(6.0, lambda u: stats.gamma.ppf(u, 0.5), lambda v: stats.gamma.ppf(v, 3)),
    "growing-noise": noisy.growing_noise(),
    "circle": numeric.circle(),
    "crossed-corners": numeric.crossed_corners(),
    "moving-correlation": numeric.moving_correlation(),
    "probit-label-2": labels.label_of_score((1.5, -1.0), (0.0,), stats.norm.cdf),
    "ordinal-label-4": labels.label_of_score((1.0, 1.0, -1.0, 0.5), (-2.0, -0.5, 0.5, 2.5), special.expit),
    "classes-on-a-ring": labels.classes_on_a_ring(),
    "zero-or-gamma": noisy.zero_or_gamma(),
    "both-censored-below": numeric.both_censored(limit=-0.5),
    "centred-angles": numeric.angles(centred=True),
    "composition": numeric.composition(),
    "successes": labels.successes(),
    "product-noise": noisy.product_noise(),
    "surface-3": noisy.surface(),
    "complex-square": numeric.complex_square(),
    "shared-volatility-2": numeric.shared_volatility(2, 0.75),
    "pareto-3": numeric.gamma_frailty(3, 3, 1.0, lambda v: v),
    "product-among-4": noisy.product_among(4),
    "sign-parity-3-of-6": labels.parity_of_signs(6, signs=3, wrong=0.05),
    "coarse-and-fine": numeric.coarse_and_fine(),
    "rare-event": numeric.rare_event(),
    "woven-frank-6": numeric.woven(
        6, 3, lambda n, g: tuple(special.logit(side) for side in numeric.frank_draws(n, g, 10.0)),
        lambda: numeric.frank_information(10.0),
    ),
    "woven-circles-10": numeric.woven(
        10, 4, lambda n, g: numeric.circle_draws(n, g, 0.1), lambda: numeric.circle_information(0.1),
    ),
    "squared-length-8": noisy.squared_length(8),
    "largest-of-6": noisy.largest_of(6),
}  # fmt: skip
COST: Mapping[str, Case] = {f"normal-2-of-{dim}": numeric.coupled(dim, 0.7, pairs=2) for dim in (2, 20, 200)}
COLLECTIONS: Mapping[str, tuple[str, ...]] = {
    "beyond-normal": beyond_normal.NAMES,
    "everyday": tuple(EVERYDAY),
    "late": tuple(LATE),
    "later": tuple(LATER),
    "latest": tuple(LATEST),
    "edges": tuple(EDGES),
    "unseen": tuple(UNSEEN),
    "resampled": resampled.NAMES,
    "reduction": tuple(name for pool in ("mnist", "cifar10", "imdb-bert") for name in resampled.level_names(pool, 8)),
    "known-truth": tuple(name for name in CASES if name not in EVERYDAY),
    "real-tables": tuple(bundled.CASES),
    "cost": tuple(COST),
}
OF_POOLS = {"images-by-label": "mnist-0-1", "texts-by-label": "imdb-bert"}  # read from INFOSCOPE_DATA


def case(name: str) -> Case:
    """The distribution of a name in any collection. ValueError for an unknown one."""
    for table in (EVERYDAY, LATE, LATER, LATEST, EDGES, UNSEEN, COST, CASES, bundled.CASES):
        if name in table:
            return table[name]
    if "-at-" in name:
        return resampled.case(name)
    if name in beyond_normal.NAMES:
        return beyond_normal.case(name)
    raise UnknownName(f"distribution must be in one of the collections {', '.join(COLLECTIONS)}, got {name!r}.")


def needs_data(name: str) -> bool:
    """Whether a distribution needs items from the folder of INFOSCOPE_DATA."""
    return pool_of(name) != ""


def pool_of(name: str) -> str:
    """The pool whose items a distribution pairs; "" for generated ones."""
    return OF_POOLS.get(name) or name.rpartition("-at-")[0]


def most_rows(name: str) -> float:
    """The largest sample; infinite where generated. FileNotFoundError: items that are not there."""
    if name in bundled.CASES:
        return bundled.most_rows(name)
    return resampled.most_rows(pool_of(name)) if needs_data(name) else math.inf
