"""What the metrics refuse: one row for each fault, with the argument and the code of
the error.
"""

import math
from functools import partial

import numpy as np
import pytest
from numpy.random import default_rng

from infoscope.estimators.columns import Discrete
from infoscope.estimators.families.closed_form import Gaussian, Table
from infoscope.estimators.families.distributions import Categorical
from infoscope.estimators.families.logistic import Logistic
from infoscope.estimators.families.networks import Network
from infoscope.metrics import audit, correlation, errors, pid
from infoscope.metrics.decodable import (
    decodable_information,
    decodable_information_of_items,
)
from infoscope.metrics.disentanglement import beta_vae_score, dci, factor_vae_score, sap
from infoscope.metrics.disentanglement import reporting as disentanglement
from infoscope.metrics.factor_information import exact, toy
from infoscope.metrics.factor_information.arrays import from_arrays
from infoscope.metrics.factor_information.attacks import redundancy_attack
from infoscope.metrics.factor_information.posterior import (
    CategoricalPosterior,
    GaussianPosterior,
    ProductPosterior,
)
from infoscope.metrics.factor_information.result import FactorInformation
from infoscope.metrics.partition.evaluation import evaluate, evaluate_posterior
from infoscope.metrics.v_information.difficulty import token_artefacts
from infoscope.metrics.v_information.label_errors import flip_labels
from infoscope.metrics.v_information.leakage import hide, usable_leakage
from infoscope.metrics.v_information.measures import estimate
from infoscope.metrics.v_information.pvi import threshold_window
from infoscope.metrics.v_information.structure import (
    maximum_arborescence,
    weights_by,
    wrong_edges,
)
from tests.metrics.test_decodable import NoisyBits
from tests.refusals import refused

RNG = default_rng(0)
ROW = np.arange(100)
A = RNG.normal(size=100)
Z = RNG.normal(size=(100, 2))
Y = ROW % 2
D = ROW // 2 % 2
ZEROS = np.zeros(100, int)
ONES = np.ones(100, bool)

pairs = NoisyBits(2, 1.0, 0.0)
wider_pairs = NoisyBits(2, 1.0, 0.0, dims=2)
of_items = partial(
    decodable_information_of_items, Z, Y, **{"crossovers": [0.1], "sources": 2}
)
of_pairs = partial(
    decodable_information,
    **{"folds": [(pairs, pairs)] * 2, "crossovers": [0.1], "steps": 2},
)
SERIES = [
    (partial(errors, np.array([]), 1.0), "estimates", "shape"),
    (partial(errors, np.ones(1), np.nan), "truth", "missing"),
    (partial(correlation, np.array([1, 2, 3]), np.arange(2)), "x and y", "length"),
    (partial(correlation, np.ones(3), np.arange(3)), "x", "constant"),
    (partial(audit, len, y=["images"]), "y", "name"),
    (partial(decodable_information_of_items, Z, ROW % 3, [0.1], 2), "labels", "type"),
    (partial(of_items, crossovers=[0.6]), "crossovers", "range"),
    (partial(of_items, crossovers=[math.nan]), "crossovers", "range"),
    (partial(of_pairs, decoder="tree"), "decoder", "name"),
    (
        partial(of_pairs, folds=[(wider_pairs, pairs)] * 2, shared=True),
        "shared",
        "length",
    ),
    (partial(of_pairs, samples=1), "held-out labels", "invalid"),
]

GAUSSIAN = GaussianPosterior(Z[:5], np.ones((5, 2)))
FACTORS = RNG.integers((3, 4), size=(600, 2))
RARE = np.vstack([[9, 0], FACTORS[1:]])
CODES = FACTORS.astype(float)
beta = partial(beta_vae_score, CODES)
factor = partial(factor_vae_score, CODES)
DISENTANGLEMENT = [
    (
        partial(factor_vae_score, CODES[:250], FACTORS[:250], "uni-bound"),
        "factors",
        "few",
    ),
    (partial(beta, RARE), "factors", "few"),
    (partial(factor, FACTORS[:, :1]), "factors", "shape"),
    (partial(factor, CODES), "factors", "type"),
    (partial(factor, None), "factors", "type"),
    (partial(beta_vae_score, CODES[:10], FACTORS), "representation", "shape"),
    (partial(beta, FACTORS, categorical=(2,)), "categorical", "range"),
    (partial(sap, CODES[:, :1], FACTORS), "representation", "shape"),
    (partial(dci, len, FACTORS), "representation", "type"),
    (
        partial(disentanglement.report, GAUSSIAN, FACTORS[:5], attack=1.0),
        "attack",
        "conflict",
    ),
]

ONE = np.ones((3, 2))
NAMED = GaussianPosterior(Z[:5], np.ones((5, 2)), ("a", "b"))
ATTACKED = redundancy_attack(GAUSSIAN, 1.0)
CATEGORICAL = CategoricalPosterior(np.full((4, 2), 0.5))
measure = partial(exact.factor_information, GAUSSIAN)
no_information = partial(FactorInformation.from_pointwise, ("y0", "y1"), ("z0", "z1"))
EMPTY = no_information(np.array([1.0, 0.0]), np.zeros((9, 2, 5)), "made")
ONE_LATENT = FactorInformation.from_pointwise(
    ("y0",), ("z0",), np.ones(1), np.zeros((9, 1, 3)), "made"
)

INFORMATION = [
    (partial(from_arrays, np.ones((100, 2)), Y), "representation", "constant"),
    (partial(from_arrays, Z, np.r_[5, Y[1:]]), "factors", "few"),
    (partial(from_arrays, Z, Y, factor_names=("a", "b")), "factor_names", "length"),
    (partial(redundancy_attack, GAUSSIAN, -1), "alpha", "range"),
    (partial(redundancy_attack, ATTACKED, 1.0), "z", "invalid"),
    (partial(redundancy_attack, CATEGORICAL, 1.0), "z", "invalid"),
    (
        partial(redundancy_attack, ProductPosterior(GAUSSIAN, NAMED), 1.0),
        "z",
        "invalid",
    ),
    (partial(measure, np.zeros(5, int)), "factors", "shape"),
    (partial(measure, np.zeros((5, 1))), "factors", "range"),
    (
        partial(measure, np.zeros((5, 1), int), factor_names=("a", "b")),
        "factor_names",
        "shape",
    ),
    (
        partial(exact.factor_information, Z[:5], np.zeros((5, 1), int)),
        "posterior",
        "type",
    ),
    (partial(GaussianPosterior, ONE, 0 * ONE), "scale", "range"),
    (partial(GaussianPosterior, ONE, np.ones((2, 2))), "scale", "shape"),
    (partial(GaussianPosterior, ONE, ONE, ["a"]), "latents", "invalid"),
    (partial(CategoricalPosterior, [[0.5, 0.4]]), "probability", "range"),
    (
        partial(ProductPosterior, GAUSSIAN, GaussianPosterior(ONE, ONE)),
        "parts",
        "invalid",
    ),
    (partial(ProductPosterior, GAUSSIAN, GAUSSIAN), "latents", "conflict"),
    (
        partial(no_information, np.ones(2), np.full((4, 2, 5), np.nan), "made"),
        "alone",
        "missing",
    ),
    (EMPTY.unibound, "factor 'y1'", "range"),
    (partial(EMPTY.aggregated, "best"), "latent", "name"),
    (ONE_LATENT.mig, "latents", "few"),
    (partial(toy.exact, "none", 3, 0), "noise", "range"),
    (partial(toy.exact, "synergy", 3, 0.1, -1.0), "alpha", "range"),
    (partial(toy.sampled, "synergy", 3, 0.1, np.inf), "alpha", "range"),
    (toy.exact("none", 3, 0.1).unibound, "factor 'y0'", "range"),
]

BLOCKS = {"z_y": Z, "z_d": Z}
SCALES = {"z_y": np.ones((100, 2)), "z_d": np.ones((100, 2))}
of_samples = partial(
    evaluate,
    **{"blocks": {"z_y": Z}, "y": Y, "d": D, "resamples": 10, "permutations": 0},
)
of_densities = partial(
    evaluate_posterior, **{"means": BLOCKS, "scales": SCALES, "y": Y, "d": D}
)
PARTITION = [
    (partial(of_samples, blocks={"z_q": Z}), "blocks", "name"),
    (partial(of_samples, blocks={"z_y": None}), "blocks", "name"),
    (partial(of_samples, y=ZEROS), "y", "constant"),
    (partial(of_samples, k=50), "k", "range"),
    (partial(of_densities, scales={"z_y": Z}), "scales", "invalid"),
    (partial(of_densities, scales=SCALES | {"z_y": 0 * Z}), "scale", "range"),
    (partial(of_densities, y=ZEROS), "y", "constant"),
]

NORMAL = np.eye(3) + np.diag([0.5, 0.5], 1) + np.diag([0.5, 0.5], -1)
# the target is a + b, without noise
SUM = [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 2.0]]
SAME = np.array([[[0.5, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.5]]])
PID = [
    (partial(pid.gaussian, SUM, 0, 1, 2), "target", "constant"),
    (partial(pid.gaussian, NORMAL - np.eye(3), 0, 1, 2), "covariance", "range"),
    (partial(pid.gaussian, np.triu(NORMAL), 0, 1, 2), "covariance", "conflict"),
    (partial(pid.gaussian, NORMAL, 0, 0, 2), "a, b, target", "conflict"),
    (partial(pid.gaussian_from_arrays, Discrete(A > 0), A, A), "a", "type"),
    (partial(pid.gaussian_from_arrays, A, A, A[:8]), None, "length"),
    (partial(pid.broja, SAME * 2), "table", "range"),
    (partial(pid.broja, SAME, tolerance=1e-40), "tolerance", "range"),
    (partial(pid.bounds, 1.0, np.nan, 2.0), "i_target_b", "missing"),
]

measured = partial(estimate, **{"family": Logistic(), "x": Z, "y": Y})
held_out = partial(measured, estimator="held-out")
sure_of_zero = Categorical(lambda texts: np.log([[1.0, 0.0]] * len(texts)))
tokens = partial(token_artefacts, sure_of_zero)
tree = maximum_arborescence
hidden = partial(hide, Z[:4], against=Network())
V_INFORMATION = [
    (partial(measured, test=ONES), "test", "conflict"),
    (partial(held_out, test=ONES), "test", "type"),
    (partial(held_out, test=ROW < 9, groups=ZEROS), "test", "range"),
    (partial(measured, y=ZEROS), "y", "constant"),
    (partial(measured, y=np.r_[ZEROS[1:], 1]), "labels", "few"),
    (
        partial(measured, estimator="in-sample", family=Table(), x=Y, delta=0.5),
        "delta",
        "range",
    ),
    (partial(measured, family=Gaussian(), y=np.zeros(100)), "y", "constant"),
    (partial(measured, given=A[:30]), "given", "length"),
    (partial(measured, given=ROW), "given", "type"),
    (partial(threshold_window, [1.0, -0.1], 2), "null_entropy_bits", "range"),
    (partial(tokens, ["a"], [0]), "least_frequency", "range"),
    (partial(tokens, ["a b"] * 6, np.arange(6) % 2), "predictor", "range"),
    (partial(flip_labels, [1, 1], 0.5, RNG), "labels", "constant"),
    (partial(usable_leakage, {}, {"u": [0, 1]}, {"t": Table()}), "blocks", "few"),
    (partial(hidden, u=[0, 0, 0, 0]), "u", "constant"),
    (partial(hidden, u=[0.1, 0.2, 0.3, 0.4]), "u", "type"),
    (partial(tree, [[0, np.nan], [1, 0]]), "weights", "type"),
    (partial(tree, np.zeros((2, 2)), root=2), "root", "range"),
    (partial(wrong_edges, [-1, 2, 1], [-1, 0, 0]), "parents", "range"),
    (partial(wrong_edges, [-1, 7, 0], [-1, 0, 0]), "parents", "range"),
    (partial(wrong_edges, [-1, 0], [-1, 0, 0]), "parents and truth", "length"),
    (partial(weights_by, Gaussian(), [np.arange(9.0), np.arange(8.0)]), "x", "length"),
]


@pytest.mark.parametrize(
    ("call", "argument", "code"),
    [*SERIES, *DISENTANGLEMENT, *INFORMATION, *PARTITION, *PID, *V_INFORMATION],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_invalid_input_is_refused(call, argument, code):
    with refused(argument, code):
        call()
