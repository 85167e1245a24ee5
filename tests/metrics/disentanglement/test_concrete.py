"""The Gaussian decomposition of codes whose terms are known, and their bounds."""

import numpy as np
import pytest

from infoscope.metrics.disentanglement import Inputs, decomposed
from infoscope.metrics.factor_information.attacks import redundancy_attack, synergy_attack
from infoscope.metrics.factor_information.posterior import GaussianPosterior
from infoscope.metrics.factor_information.result import FactorInformation

FACTORS = np.tile(np.stack(np.unravel_index(np.arange(12), (3, 4)), axis=1), (60, 1))
ENTROPY = np.log([3.0, 4.0])
TERMS = ("unique", "redundant", "synergistic")


def known(alone, rest, joint):
    """The known information of latents, in shares of H(y)."""
    latents = tuple(f"z{number}" for number in range(len(alone[0])))
    parts = [np.array(part) * ENTROPY[:, None] for part in (alone, rest)]
    return FactorInformation(
        factors=("a", "b"), latents=latents, entropy=ENTROPY, alone=parts[0], rest=parts[1],
        joint=np.array(joint) * ENTROPY, n=None, method="by construction",
    )  # fmt: skip


def inputs_of(representation, measured, **more):
    return Inputs(
        representation=representation, factors=FACTORS, measured=measured,
        stream=lambda purpose: np.random.default_rng(0), **more,
    )  # fmt: skip


def copied(seed=0):
    """The first factor twice and the second once, with negligible noise; their information."""
    noise = 0.05 * np.random.default_rng(seed).random((len(FACTORS), 3))
    return FACTORS[:, [0, 0, 1]] + noise, known([[1, 1, 0], [0, 0, 1]], [[1, 1, 1], [1, 1, 0]], [1, 1])


def test_a_copy_is_redundant_and_a_latent_of_its_own_unique():
    """One factor's information is redundant, the other's unique: half of both on the average of factors. Uniform noise
    of a width w has log(12 var(y) / w^2) / 2 nats of normal information, more than H(y)."""
    found = decomposed(inputs_of(*copied()))
    nats = 0.5 * np.log(12 * FACTORS.var(axis=0) / 0.05**2)
    redundant, unique = nats / ENTROPY / 2
    assert found["redundant"] == pytest.approx(redundant, abs=0.05)
    assert found["unique"] == pytest.approx(unique, abs=0.05)
    assert all(found[term].unit == "share of H(y)" and found[term].n == len(FACTORS) for term in TERMS)


def test_attacks_move_the_terms_of_posterior_draws():
    """Redundancy moves unique information to redundant, synergy to synergistic; the joint information is unchanged."""
    spread = FACTORS - FACTORS.mean(axis=0)
    posterior = GaussianPosterior(spread, np.full(spread.shape, 0.3))
    plain = known([[1, 0], [0, 1]], [[0, 1], [1, 0]], [1, 1])
    wide = known([[1, 0, 0, 0], [0, 1, 0, 0]], [[1] * 4, [1] * 4], [1, 1])
    none = decomposed(inputs_of(posterior, plain))
    more = decomposed(inputs_of(redundancy_attack(posterior, 2.0), wide))
    less = decomposed(inputs_of(synergy_attack(posterior, 2.0), wide))
    assert none["unique"] > 0.8 and abs(none["redundant"]) + abs(none["synergistic"]) < 0.02
    assert more["redundant"] > 0.4 and more["unique"] < none["unique"] - 0.4 and more["synergistic"] < 0.02
    assert less["synergistic"] > 0.4 and less["unique"] < none["unique"] - 0.4 and less["redundant"] < 0.02
    totals = [sum(found[term].value for term in TERMS) for found in (none, more, less)]
    assert totals == pytest.approx([totals[0]] * 3, abs=0.08)


def test_covariances_are_undefined_for_categorical_latents():
    codes, measured = copied()
    codes[:, 1] = FACTORS[:, 0]
    undefined = decomposed(inputs_of(codes, measured, categorical=[1]))["unique"]
    assert np.isnan(undefined.value) and "no covariance" in undefined.notes[0]
