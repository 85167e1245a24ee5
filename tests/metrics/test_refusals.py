"""What the metrics refuse: one row for each fault, with the argument and the code of the error."""

import math
from functools import partial

import numpy as np
import pytest

from infoscope.estimators.columns import Discrete
from infoscope.estimators.families.closed_form import Gaussian, Table
from infoscope.estimators.families.distributions import Categorical
from infoscope.estimators.families.logistic import Logistic
from infoscope.estimators.families.networks import Network
from infoscope.metrics import audit, correlation, errors, pid
from infoscope.metrics.decodable import decodable_information, decodable_information_of_items
from infoscope.metrics.disentanglement import beta_vae_score, dci, factor_vae_score, sap
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
from infoscope.metrics.v_information.structure import maximum_arborescence, weights_by, wrong_edges
from tests.metrics.test_decodable import NoisyBits
from tests.refusals import refused

RNG = np.random.default_rng(0)
A, Z = RNG.normal(size=100), RNG.normal(size=(100, 2))
Y, D, NONE, ONES = np.arange(100) % 2, np.arange(100) // 2 % 2, np.zeros(100, int), np.ones(100, bool)
generator = np.random.default_rng

source, wider = NoisyBits(2, 1.0, 0.0), NoisyBits(2, 1.0, 0.0, dims=2)
of_items = partial(decodable_information_of_items, Z, Y, **{"crossovers": [0.1], "sources": 2})
of_sources = partial(decodable_information, **{"folds": [(source, source)] * 2, "crossovers": [0.1], "steps": 2})
SERIES = [
    *((partial(errors, np.array(bad), 1.0), "estimates", "shape") for bad in ([], [[1.0]])),
    (partial(errors, np.ones(1), np.nan), "truth", "missing"),
    *((partial(correlation, np.array(x), np.arange(2)), "x and y", "length") for x in ([1, 2], [1, 2, 3])),
    (partial(correlation, np.ones(3), np.arange(3)), "x", "constant"),
    (partial(audit, len, y=["images"]), "y", "name"),
    (partial(decodable_information_of_items, Z, np.arange(100) % 3, [0.1], 2), "labels", "type"),
    *((partial(of_items, crossovers=[bad]), "crossovers", "range") for bad in (0.6, math.nan)),
    (partial(of_sources, decoder="tree"), "decoder", "name"),
    (partial(of_sources, folds=[(wider, source)] * 2, shared=True), "shared", "length"),
    (partial(of_sources, samples=1), "held-out labels", "invalid"),
]

FACTORS = RNG.integers((3, 4), size=(600, 2))
CODES, RARE = FACTORS.astype(float), np.vstack([[9, 0], FACTORS[1:]])
beta, factor = (partial(score, CODES) for score in (beta_vae_score, factor_vae_score))
DISENTANGLEMENT = [
    (partial(factor_vae_score, CODES[:250], FACTORS[:250], "uni-bound"), "factors", "few"),
    (partial(beta, RARE), "factors", "few"),
    (partial(factor, FACTORS[:, :1]), "factors", "shape"),
    *((partial(factor, bad), "factors", "type") for bad in (CODES, FACTORS.astype(str), None)),
    (partial(beta_vae_score, CODES[:10], FACTORS), "representation", "shape"),
    (partial(beta, FACTORS, categorical=(2,)), "categorical", "range"),
    (partial(sap, CODES[:, :1], FACTORS), "representation", "shape"),
    (partial(dci, lambda items: CODES[items], FACTORS), "representation", "type"),
]

ONE = np.ones((3, 2))
GAUSSIAN = GaussianPosterior(Z[:5], np.ones((5, 2)))
NAMED = GaussianPosterior(Z[:5], np.ones((5, 2)), ("a", "b"))
measure = partial(exact.factor_information, GAUSSIAN)


def information(pointwise, entropy=(1.0, 1.0)):
    names = [f"y{k}" for k in range(pointwise.shape[1])], [f"z{i}" for i in range(pointwise.shape[2] // 2)]
    return FactorInformation.from_pointwise(*map(tuple, names), np.array(entropy), pointwise, "made")


INFORMATION = [
    (partial(from_arrays, np.ones((100, 2)), Y), "representation", "constant"),
    (partial(from_arrays, Z, np.r_[5, Y[1:]]), "factors", "few"),
    (partial(from_arrays, Z, Y, factor_names=("a", "b")), "factor_names", "length"),
    *((partial(redundancy_attack, GAUSSIAN, bad), "alpha", "range") for bad in (-1, "strong")),
    (partial(redundancy_attack, redundancy_attack(GAUSSIAN, 1.0), 1.0), "z", "invalid"),
    (partial(redundancy_attack, CategoricalPosterior(np.full((4, 2), 0.5)), 1.0), "z", "invalid"),
    (partial(redundancy_attack, ProductPosterior(GAUSSIAN, NAMED), 1.0), "z", "invalid"),
    (partial(measure, np.zeros(5, int)), "factors", "shape"),
    (partial(measure, np.zeros((5, 1))), "factors", "range"),
    (partial(measure, np.zeros((5, 1), int), factor_names=("a", "b")), "factor_names", "shape"),
    (partial(exact.factor_information, Z[:5], np.zeros((5, 1), int)), "posterior", "type"),
    (partial(GaussianPosterior, ONE, [[1, 1], [1, 0], [1, 1]]), "scale", "range"),
    (partial(GaussianPosterior, ONE, np.ones((2, 2))), "scale", "shape"),
    (partial(GaussianPosterior, ONE, ONE, ["a"]), "latents", "invalid"),
    (partial(CategoricalPosterior, [[0.5, 0.4]]), "probability", "range"),
    (partial(ProductPosterior, GAUSSIAN, GaussianPosterior(ONE, ONE)), "parts", "invalid"),
    (partial(ProductPosterior, GAUSSIAN, GAUSSIAN), "latents", "conflict"),
    (partial(information, np.full((4, 2, 5), np.nan)), "alone", "missing"),
    (information(np.zeros((9, 2, 5)), (1.0, 0.0)).unibound, "factor 'y1'", "range"),
    (partial(information(np.zeros((9, 2, 5))).aggregated, "best"), "latent", "name"),
    (information(np.zeros((9, 2, 3))).mig, "latents", "few"),
    (partial(toy.exact, "none", 3, 0), "noise", "range"),
    (partial(toy.exact, "synergy", 3, 0.1, -1.0), "alpha", "range"),
    (partial(toy.sampled, "synergy", 3, 0.1, np.inf), "alpha", "range"),
    (toy.exact("none", 3, 0.1).unibound, "factor 'y0'", "range"),
]

partitioned = partial(evaluate, **{"blocks": {"z_y": Z}, "y": Y, "d": D, "resamples": 10, "permutations": 0})
SCALES = {"z_y": np.ones((100, 2)), "z_d": np.ones((100, 2))}
of_density = partial(evaluate_posterior, **{"means": {"z_y": Z, "z_d": Z}, "scales": SCALES, "y": Y, "d": D})
PARTITION = [
    *((partial(partitioned, blocks=bad), "blocks", "name") for bad in ({"z_q": Z}, {"z_y": None})),
    (partial(partitioned, y=NONE), "y", "constant"),
    (partial(partitioned, k=50), "k", "range"),
    (partial(of_density, scales={"z_y": SCALES["z_y"]}), "scales", "invalid"),
    (partial(of_density, scales=SCALES | {"z_y": np.zeros((100, 2))}), "scale", "range"),
    (partial(of_density, y=NONE), "y", "constant"),
]

NORMAL = np.eye(3) + np.diag([0.5, 0.5], 1) + np.diag([0.5, 0.5], -1)
SUM = [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 2.0]]  # the target is a + b, without noise
SAME = np.array([[[0.5, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.5]]])
BITS = Discrete(A > 0)
PID = [
    (partial(pid.gaussian, SUM, 0, 1, 2), "target", "constant"),
    (partial(pid.gaussian, [[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]], 0, 1, 2), "covariance", "range"),
    (partial(pid.gaussian, np.triu(NORMAL), 0, 1, 2), "covariance", "conflict"),
    (partial(pid.gaussian, NORMAL, 0, 0, 2), "a, b, target", "conflict"),
    (partial(pid.gaussian_from_arrays, BITS, A, A), "a", "type"),
    (partial(pid.gaussian_from_arrays, A, A, A[:8]), None, "length"),
    (partial(pid.broja, SAME * 2), "table", "range"),
    (partial(pid.broja, SAME, tolerance=1e-40), "tolerance", "range"),
    (partial(pid.bounds, 1.0, np.nan, 2.0), "i_target_b", "missing"),
]

measured = partial(estimate, **{"family": Logistic(), "x": Z, "y": Y})
sure_of_zero = Categorical(lambda texts: np.log([[1.0, 0.0]] * len(texts)))
tokens = partial(token_artefacts, sure_of_zero)
tree = maximum_arborescence
hidden = partial(hide, Z[:4], against=Network())
V_INFORMATION = [
    (partial(measured, test=ONES), "test", "conflict"),
    (partial(measured, estimator="held-out", test=ONES), "test", "type"),
    (partial(measured, estimator="held-out", test=np.arange(100) < 9, groups=NONE), "test", "range"),
    (partial(measured, y=NONE), "y", "constant"),
    (partial(measured, y=np.r_[NONE[1:], 1]), "labels", "few"),
    (partial(measured, estimator="in-sample", family=Table(), x=Y, delta=0.5), "delta", "range"),
    (partial(measured, family=Gaussian(), y=np.zeros(100)), "y", "constant"),
    (partial(measured, given=A[:30]), "given", "length"),
    (partial(measured, given=np.arange(100)), "given", "type"),
    (partial(threshold_window, [1.0, -0.1], 2), "null_entropy_bits", "range"),
    (partial(tokens, ["a"], [0]), "least_frequency", "range"),
    (partial(tokens, ["a b"] * 6, np.arange(6) % 2), "predictor", "range"),
    (partial(flip_labels, [1, 1], 0.5, generator(0)), "labels", "constant"),
    (partial(usable_leakage, {}, {"u": [0, 1]}, {"t": Table()}), "blocks", "few"),
    (partial(hidden, u=[0, 0, 0, 0]), "u", "constant"),
    (partial(hidden, u=[0.1, 0.2, 0.3, 0.4]), "u", "type"),
    (partial(tree, [[0, np.nan], [1, 0]]), "weights", "type"),
    *((partial(tree, np.zeros((2, 2)), root=bad), "root", "range") for bad in (2, True)),
    *((partial(wrong_edges, bad, [-1, 0, 0]), "parents", "range") for bad in ([-1, 2, 1], [-1, 7, 0], [-1, -2, 0])),
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
