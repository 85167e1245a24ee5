"""The tables of the zoo on made-up runs: figures, claims and what they are made of."""

import itertools

import numpy as np
import pandas as pd
import pytest
from pytest import approx

from analysis.common.tables import save
from analysis.disentanglement._scores import SCORES, TERMS, WHERE
from analysis.disentanglement.vae_zoo import ANALYSIS, most_unique
from tests.analysis.pictures import drawn, numbers
from tests.analysis.runs import RUN, analysed, named

LEVEL = {
    "beta-vae": 0.2,
    "factor-vae": 0.3,
    "beta-tcvae": 0.5,
    "joint-vae": 0.4,
    "ae": 0.1,
}
WEIGHTS = {
    "beta-vae": 4.0,
    "factor-vae": 10.0,
    "beta-tcvae": 6.0,
    "joint-vae": 150.0,
    "ae": None,
}
CELL = dict(
    data="dsprites-full", resolution=64, every_orientation=1, every_position=1, latents=6, channels=[32], hidden=256,
    steps=300_000, draws=10_000, votes=30_000, items=10_000, protocols=["uni-bound"], evaluations=3,
)  # fmt: skip


def made_up(
    models=tuple(LEVEL), seeds=(0, 1, 2, 3), redundant=0.02, noise=0.001, **cell
):
    """Trainings that differ by 0.05, evaluations by `noise`; of FactorVAE so much is
    redundant.
    """
    rng = np.random.default_rng(7)
    rows = []
    for model, seed in itertools.product(models, seeds):
        row = (
            RUN | CELL | {"model": model, "weight": WEIGHTS[model], "seed": seed} | cell
        )
        row |= {"run_id": f"{model} {seed}", "diverged": 0.0}
        level = LEVEL[model] + 0.05 * rng.standard_normal()
        of = {}
        for name in SCORES:
            if not name.endswith("_lib"):
                of[name] = level
        of["unibound"] = level - (redundant * 10 if model == "factor-vae" else 0.01)
        for name, value in of.items():
            each = value + noise * rng.standard_normal(3)
            row |= {
                f"evaluation {number}/{name}": score
                for number, score in enumerate(each)
            }
            row[name] = each.mean()
        for prefix, term in itertools.product(WHERE, TERMS):
            low = (
                level / 2
                if term != "redundant"
                else redundant
                if model == "factor-vae"
                else 0.005 + 0.001 * seed
            )
            row |= {f"{prefix}{term}_low": low, f"{prefix}{term}_high": low + 0.1}
        of_posterior = (
            {}
            if model == "ae"
            else {"total_correlation_nats": 0.3, "latent_information_nats": 7.0}
        )
        rows.append(row | {"informativeness": 0.7} | of_posterior)
    return pd.DataFrame(rows)


def analyse(runs, *words):
    """Results by name."""
    return named(analysed(ANALYSIS, runs, *words))


def test_scores_are_means_over_trainings_and_of_the_better_half():
    runs = made_up()
    figures = analyse(runs)["scores"].figures.set_index(["name", "score", "selection"])
    trainings = runs[runs["model"] == "beta-vae"]["mig"].to_numpy()
    row = figures.loc["beta-vae", "mig", "all"]
    assert row["mean"] == approx(trainings.mean())
    assert row["mean_error"] == approx(trainings.std(ddof=1) / 2)
    assert figures.loc["beta-vae", "mig", "better half"]["mean"] == approx(
        np.sort(trainings)[2:].mean()
    )


def test_claims_are_decided_by_the_figures(verdicts):
    claims = verdicts(analyse(made_up()).values())
    for words in (
        "at most MIG",
        "below the other",
        "more redundantly",
        "more uniqueness",
        "beta-tcvae vary",
    ):
        assert claims.of(words) == {"confirmed"}, words
    claims = verdicts(analyse(made_up(redundant=0.0, noise=0.2)).values())
    assert claims.of("more redundantly") == {"contradicted"}
    assert "confirmed" not in claims.of("beta-tcvae vary")
    # one training each
    claims = verdicts(analyse(made_up(seeds=(0,))).values())
    assert set(claims.values()) == {"undecided", "not tested"}


@pytest.mark.parametrize(
    "high, words",
    [(0.3, "One latent holds most uniquely in a 0.400"), (0.5, "cannot be ranked")],
)
def test_bounds_rank_models_only_where_they_are_apart(high, words):
    """The lower bound of a is 0.4; the upper one of b is below or above it."""
    runs = pd.DataFrame(
        {"name": ["a", "a", "b", "b"], "seed": [0, 1, 0, 1],
         "unique_low": [0.4, 0.4, 0.2, 0.2], "unique_high": [0.45, 0.45, high, high]}
    )  # fmt: skip
    figures = runs.groupby("name").mean().assign(runs=2)
    figures = figures.rename(columns={"unique_low": "low", "unique_high": "high"})
    text = most_unique(runs, figures.assign(low_error=0.01, high_error=0.01))
    assert words in text


def test_models_without_a_density_are_not_ranked():
    finding = analyse(made_up())["scores"].finding
    assert "beta-tcvae" in finding
    assert ", ae " not in finding


def test_what_diverged_is_said_and_not_averaged_away():
    runs = made_up()
    bad = (runs["model"] == "joint-vae") & (runs["seed"] == 1)
    runs.loc[bad, [name for name in runs if name.split("/")[-1] in SCORES]] = np.nan
    runs.loc[bad, "diverged"] = 1.0
    result = analyse(runs)["scores"]
    assert "diverged (joint-vae)" in result.caption
    text = result.text.set_index(["model", "trainings"])
    assert text.loc[("joint-vae", "4 (all)"), "MIG"] == "-"
    assert text.loc[("joint-vae", "2 (better half)"), "MIG"] != "-"


def test_published_scores_say_what_differs():
    figures = analyse(made_up(resolution=32, data="dsprites-grid"))["elsewhere"].figures
    row = figures.query("model == 'factor-vae' and weight == 40").iloc[0]
    assert row["differs"] == (
        "data (dsprites-grid); resolution (32); weight (10, published 40)"
    )
    same = analyse(made_up())["elsewhere"].figures.query(
        "model == 'factor-vae' and weight == 10"
    )
    forests = same["score"].str.startswith("dci")
    assert (same.loc[~forests, "differs"] == "").all()
    assert same["value"].max() == 0.83
    assert (same.loc[forests, "differs"] != "").all()
    assert forests.any()


def test_every_table_is_saved_with_its_figure(tmp_path):
    results = analyse(made_up(seeds=(0, 1)), "--model", "factor-vae")
    assert {name for name, result in results.items() if result.draw} == {*results} - {
        "scores",
        "elsewhere",
    }
    assert drawn(save(results["bounds"], tmp_path / "bounds"))
    for result in results.values():
        assert "made up; 6 latents" in result.caption


def test_bounds_that_cross_say_so_in_the_table():
    """Estimates of the plain autoencoder contradict one another: lower .5 above upper
    .3 by 0.2 in every training.
    """
    runs = made_up()
    crossed = (runs["model"] == "ae").to_numpy()
    runs.loc[crossed, "unique_low"] = runs.loc[crossed, "unique_high"] + 0.2
    text = analyse(runs)["bounds"].text.set_index(["model", "latent"])["U"]
    assert "cross" in text["ae", "as published"]
    assert numbers(text["ae", "as published"])[-2:] == [0.2, 0.0]
    assert "cross" not in text["beta-vae", "as published"]
