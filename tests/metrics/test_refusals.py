"""What the metrics refuse: each fault with the argument and the code of its error."""

from functools import partial

import numpy as np
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
of_items = partial(decodable_information_of_items, Z, Y, sources=2)
of_three = partial(decodable_information_of_items, Z, ROW % 3, [0.1], 2)
FOLDS = [(pairs, pairs)] * 2
UNLIKE_FOLDS = [(wider_pairs, pairs)] * 2
of_pairs = partial(decodable_information, folds=FOLDS, crossovers=[0.1], steps=2)


def test_errors_of_estimates_and_decodable_information():
    with refused("estimates", "shape"):
        errors([], 1.0)
    with refused("truth", "missing"):
        errors(np.ones(1), np.nan)
    with refused("x and y", "length"):
        correlation(np.array([1, 2, 3]), np.arange(2))
    with refused("x", "constant"):
        correlation(np.ones(3), np.arange(3))
    with refused("y", "name"):
        audit(len, y=["images"])
    with refused("labels", "type"):
        of_three()
    with refused("crossovers", "range"):
        of_items(crossovers=[0.6])
    with refused("decoder", "name"):
        of_pairs(decoder="tree")
    with refused("shared", "length"):
        of_pairs(folds=UNLIKE_FOLDS, shared=True)
    with refused("held-out labels", "invalid"):
        of_pairs(samples=1)


GAUSSIAN = GaussianPosterior(Z[:5], np.ones((5, 2)))
FACTORS = RNG.integers((3, 4), size=(600, 2))
RARE = np.vstack([[9, 0], FACTORS[1:]])
CODES = FACTORS.astype(float)
beta = partial(beta_vae_score, CODES)
factor = partial(factor_vae_score, CODES)
of_posterior = partial(disentanglement.report, GAUSSIAN, FACTORS[:5])


def test_scores_of_disentanglement():
    with refused("factors", "few"):
        beta(RARE)
    with refused("factors", "shape"):
        factor(FACTORS[:, :1])
    with refused("factors", "type"):
        factor(None)
    with refused("representation", "shape"):
        beta_vae_score(CODES[:10], FACTORS)
    with refused("categorical", "range"):
        beta(FACTORS, categorical=(2,))
    with refused("representation", "shape"):
        sap(CODES[:, :1], FACTORS)
    with refused("representation", "type"):
        dci(len, FACTORS)
    with refused("attack", "conflict"):
        of_posterior(attack=1.0)


ONE = np.ones((3, 2))
NAMED = GaussianPosterior(Z[:5], np.ones((5, 2)), ("a", "b"))
ATTACKED = redundancy_attack(GAUSSIAN, 1.0)

measure = partial(exact.factor_information, GAUSSIAN)
no_information = partial(FactorInformation.from_pointwise, ("y0", "y1"), ("z0", "z1"))
EMPTY = no_information(np.array([1.0, 0.0]), np.zeros((9, 2, 5)), "made")
UNKNOWN = np.full((4, 2, 5), np.nan)
NO_LATENT = np.zeros((9, 1, 3))
ONE_LATENT = FactorInformation.from_pointwise(
    ("y0",), ("z0",), np.ones(1), NO_LATENT, "made"
)
ONE_FACTOR = np.zeros((5, 1), int)
OTHER_ROWS = GaussianPosterior(ONE, ONE)
UNLIKE_PARTS = ProductPosterior(GAUSSIAN, NAMED)


def test_information_about_factors():
    with refused("representation", "constant"):
        from_arrays(np.ones((100, 2)), Y)
    with refused("factor_names", "length"):
        from_arrays(Z, Y, factor_names=("a", "b"))
    with refused("alpha", "range"):
        redundancy_attack(GAUSSIAN, -1)
    with refused("z", "invalid"):
        redundancy_attack(ATTACKED, 1.0)
    with refused("z", "invalid"):
        redundancy_attack(UNLIKE_PARTS, 1.0)
    with refused("factors", "shape"):
        measure(np.zeros(5, int))
    with refused("factors", "range"):
        measure(np.zeros((5, 1)))
    with refused("factor_names", "shape"):
        measure(ONE_FACTOR, factor_names=("a", "b"))
    with refused("posterior", "type"):
        exact.factor_information(Z[:5], ONE_FACTOR)
    with refused("scale", "range"):
        GaussianPosterior(ONE, 0 * ONE)
    with refused("scale", "shape"):
        GaussianPosterior(ONE, np.ones((2, 2)))
    with refused("latents", "invalid"):
        GaussianPosterior(ONE, ONE, ["a"])
    with refused("probability", "range"):
        CategoricalPosterior([[0.5, 0.4]])
    with refused("parts", "invalid"):
        ProductPosterior(GAUSSIAN, OTHER_ROWS)
    with refused("latents", "conflict"):
        ProductPosterior(GAUSSIAN, GAUSSIAN)
    with refused("alone", "missing"):
        no_information(np.ones(2), UNKNOWN, "made")
    with refused("latent", "name"):
        EMPTY.aggregated("best")
    with refused("latents", "few"):
        ONE_LATENT.mig()
    with refused("noise", "range"):
        toy.exact("none", 3, 0)
    with refused("alpha", "range"):
        toy.exact("synergy", 3, 0.1, -1.0)


BLOCKS = {"z_y": Z, "z_d": Z}

of_samples = partial(
    evaluate, blocks={"z_y": Z}, y=Y, d=D, resamples=10, permutations=0
)
of_densities = partial(evaluate_posterior, means=BLOCKS, y=Y, d=D)


def test_partitions():
    with refused("blocks", "name"):
        of_samples(blocks={"z_q": Z})
    with refused("blocks", "name"):
        of_samples(blocks={"z_y": None})
    with refused("y", "constant"):
        of_samples(y=ZEROS)
    with refused("k", "range"):
        of_samples(k=50)
    with refused("scales", "invalid"):
        of_densities(scales={"z_y": Z})


NORMAL = np.eye(3) + np.diag([0.5, 0.5], 1) + np.diag([0.5, 0.5], -1)
# the target is a + b, without noise
SUM = [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 2.0]]
SAME = np.array([[[0.5, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.5]]])


def test_partial_information():
    with refused("target", "constant"):
        pid.gaussian(SUM, 0, 1, 2)
    with refused("covariance", "range"):
        pid.gaussian(NORMAL - np.eye(3), 0, 1, 2)
    with refused("covariance", "conflict"):
        pid.gaussian(np.triu(NORMAL), 0, 1, 2)
    with refused("a, b, target", "conflict"):
        pid.gaussian(NORMAL, 0, 0, 2)
    with refused("a", "type"):
        pid.gaussian_from_arrays(Discrete(A > 0), A, A)
    with refused(None, "length"):
        pid.gaussian_from_arrays(A, A, A[:8])
    with refused("table", "range"):
        pid.broja(SAME * 2)
    with refused("tolerance", "range"):
        pid.broja(SAME, tolerance=1e-40)
    with refused("i_target_b", "missing"):
        pid.bounds(1.0, np.nan, 2.0)


measured = partial(estimate, family=Logistic(), x=Z, y=Y)
in_sample = partial(measured, estimator="in-sample", family=Table(), x=Y)
held_out = partial(measured, estimator="held-out")
sure_of_zero = Categorical(lambda texts: np.log([[1.0, 0.0]] * len(texts)))
tokens = partial(token_artefacts, sure_of_zero)
tree = maximum_arborescence
hidden = partial(hide, Z[:4], against=Network())


def test_v_information():
    with refused("test", "conflict"):
        measured(test=ONES)
    with refused("test", "type"):
        held_out(test=ONES)
    with refused("test", "range"):
        held_out(test=ROW < 9, groups=ZEROS)
    with refused("y", "constant"):
        measured(y=ZEROS)
    with refused("labels", "few"):
        measured(y=np.r_[ZEROS[1:], 1])
    with refused("delta", "range"):
        in_sample(delta=0.5)
    with refused("y", "constant"):
        measured(family=Gaussian(), y=np.zeros(100))
    with refused("given", "length"):
        measured(given=A[:30])
    with refused("given", "type"):
        measured(given=ROW)
    with refused("null_entropy_bits", "range"):
        threshold_window([1.0, -0.1], 2)
    with refused("least_frequency", "range"):
        tokens(["a"], [0])
    with refused("predictor", "range"):
        tokens(["a b"] * 6, np.arange(6) % 2)
    with refused("labels", "constant"):
        flip_labels([1, 1], 0.5, RNG)
    with refused("blocks", "few"):
        usable_leakage({}, {"u": [0, 1]}, {"t": Table()})
    with refused("u", "constant"):
        hidden(u=[0, 0, 0, 0])
    with refused("u", "type"):
        hidden(u=[0.1, 0.2, 0.3, 0.4])
    with refused("weights", "type"):
        tree([[0, np.nan], [1, 0]])
    with refused("root", "range"):
        tree(np.zeros((2, 2)), root=2)
    with refused("parents", "range"):
        wrong_edges([-1, 2, 1], [-1, 0, 0])
    with refused("parents and truth", "length"):
        wrong_edges([-1, 0], [-1, 0, 0])
    with refused("x", "length"):
        weights_by(Gaussian(), [A[:9], A[:8]])
