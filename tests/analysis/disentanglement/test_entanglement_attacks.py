"""The tables of the attacks on made-up runs."""

import itertools

import numpy as np
import pandas as pd
import pytest

from analysis.common.tables import save
from analysis.disentanglement._scores import TERMS, WHERE
from analysis.disentanglement.entanglement_attacks import ANALYSIS, changes
from tests.analysis.pictures import drawn
from tests.analysis.runs import RUN, analysed


def made_up(falls=0.3, seeds=(0,), evaluations=3, votes_fall=0.0):
    """UniBound falls by `falls` a unit of alpha up to 1, MIG by a tenth of it."""
    rng = np.random.default_rng(3)
    rows = []
    noise = {
        (seed, e): 0.002 * rng.standard_normal()
        for seed, e in itertools.product(seeds, range(evaluations))
    }
    for attack, alpha, (seed, evaluation) in itertools.product(
        ("redundancy", "synergy"), (0.0, 1.0), noise
    ):
        off = noise[seed, evaluation] * (1 + 0.1 * alpha)
        row = dict(
            model="beta-vae", weight=4.0, training_seed=seed, attack=attack, alpha=alpha, evaluation=evaluation,
            data="sprites-grid", resolution=32, every_orientation=1, every_position=1, latents=6, steps=100, draws=500,
            votes=50, items=400, protocols=["uni-bound"], informativeness=0.6 + off,
            beta_vae=0.9 - votes_fall * alpha + off, factor_vae=0.8 + off,
            unibound=0.5 - falls * alpha + off, mig=0.5 - falls / 10 * alpha + off,
        )  # fmt: skip
        for prefix, term, side in itertools.product(WHERE, TERMS, ("low", "high")):
            row[f"{prefix}{term}_{side}"] = 0.1 + off
        rows.append(RUN | row)
    return pd.DataFrame(rows)


@pytest.fixture
def told(verdicts):
    """A function: runs -> verdicts of the claims on their scores."""
    return lambda runs: verdicts(analysed(ANALYSIS, runs)[:1])


def test_claims_are_decided_by_paired_differences(told):
    """Under redundancy UniBound falls and MIG less, the others do not; under synergy
    every score is said to fall.
    """
    assert told(made_up()).of("redundancy") == {"confirmed"}
    other = told(made_up(falls=-0.1, votes_fall=0.2))
    assert (
        other.of("redundancy", "UniBound falls")
        == {"contradicted"}
        == other.of("redundancy", "BetaVAE does not")
    )
    assert told(made_up(evaluations=1)).of("redundancy") == {"not tested"}
    synergy = told(made_up(votes_fall=0.3))
    assert synergy.of("synergy", "FactorVAE falls") == {"undecided"}
    for words in (
        "BetaVAE falls",
        "MIG falls",
        "UniBound falls",
        "All latents together",
    ):
        assert synergy.of("synergy", words) == {"confirmed"}


def test_several_trainings_are_the_unit_of_replication():
    runs = made_up(seeds=(0, 1, 2, 3))
    redundancy = runs[runs["attack"] == "redundancy"]
    assert changes(redundancy, 1.0, "unibound").n == 4
    change = changes(redundancy[redundancy["training_seed"] == 0], 1.0, "unibound")
    assert change.n == 3
    assert change.value == pytest.approx(-0.3, abs=0.001)


@pytest.mark.parametrize(
    "seeds, over", [((0,), "3 evaluations of one training"), ((0, 1), "2 trainings")]
)
@pytest.mark.parametrize(
    "words, unit",
    [
        ("BetaVAE falls (beta-vae, synergy", "of a score from 0 to 1"),
        ("MIG falls (", "of H(y)"),
    ],
)
def test_evidence_says_the_unit_and_what_was_repeated(seeds, over, words, unit):
    scores, _ = analysed(ANALYSIS, made_up(seeds=seeds))
    (claim,) = [claim for claim in scores.claims if claim.statement.startswith(words)]
    assert unit in claim.evidence
    assert over in claim.evidence


def test_tables_are_saved_and_say_what_was_attacked(tmp_path):
    results = analysed(ANALYSIS, made_up())
    assert [drawn(save(result, tmp_path / result.name)) for result in results] == [
        True,
        False,
    ]
    assert "beta-vae (seed 0)" in results[0].caption
    assert "of H(y)" in results[0].finding
    assert "3 evaluations of one training" in results[0].finding
    assert len(results[0].text) == 4
    assert results[0].text["UniBound"].iloc[1].startswith("0.20")
