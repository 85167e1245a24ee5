"""The table of accuracies on made-up runs."""

import argparse
import math
import re

import numpy as np
import pandas as pd
import pytest
from pytest import approx

from analysis.common.tables import save
from analysis.partition import domain_partition
from analysis.partition.domain_partition import analyse, gains
from tests.analysis.pictures import drawn, numbers
from tests.analysis.runs import RUN

NOBODY = argparse.Namespace()
GAIN = "held-out domain, minus erm"


def made_up(
    models=("erm", "nvae"),
    seeds=(0, 1, 2),
    data="crmnist",
    start="2026-01-01",
    better=0.1,
    **fields,
):
    """Runs whose accuracy in the held-out domain is 0.6 + seed / 100, and `better` for
    all models but erm.
    """
    rows = []
    for number, model in enumerate(models):
        for seed in seeds:
            outside = 0.6 + seed / 100 + (better + seed / 1000 if model != "erm" else 0)
            row = RUN | {
                "run_id": f"{model}-{seed}", "model": model, "seed": seed, "held_out": 5, "data": data, "base": "mnist",
                "size": 16, "sample": 6000, "steps": 100, "selection": "training-domain-validation", "setting": "quick",
                "in_domain_accuracy/average": 0.9 + number / 100, "in_domain_accuracy/worst": 0.8,
                "out_of_domain_accuracy/average": outside, "in_domain_accuracy/average_error": 0.01,
                "out_of_domain_accuracy/average_error": 0.01, "in_domain_accuracy/items": 500.0,
                "in_domain_accuracy/groups": 100.0, "out_of_domain_accuracy/items": 100.0, "diverged": 0.0,
                "tags": {"infoscope.data": data}, "start": pd.Timestamp(start),
            } | fields  # fmt: skip
            rows.append(
                row
                | ({"in_domain_accuracy/domain_average": 0.7} if model != "erm" else {})
            )
    return pd.DataFrame(rows)


@pytest.fixture(autouse=True)
def table(monkeypatch):
    """Every run's table tells the name of its held-out domain."""
    domains = pd.DataFrame(
        {"part": ["in_domain", "out_of_domain"], "domain": ["0 blue", "75"]}
    )
    monkeypatch.setattr(domain_partition, "table", lambda run_id, name: domains)


def test_differences_are_paired_within_seeds(tmp_path):
    (result,) = analyse(made_up(), NOBODY)
    row = result.figures.set_index("model").loc["nvae"]
    assert row["out_of_domain_accuracy/average"] == approx(0.711)
    assert row["over_baseline"] == approx(0.101)
    # not that of two independent means
    assert row["over_baseline_error"] == approx(0.001 / math.sqrt(3))
    assert drawn(save(result, tmp_path / "table"))
    text = result.text.set_index("model")
    assert text.loc["nvae", GAIN] == "0.101 ± 0.001"
    assert text.loc["erm", GAIN] == "-"
    assert text.loc["nvae", "held out"] == "75°"


@pytest.mark.parametrize(
    "better, verdict",
    [(0.1, "confirmed"), (-0.1, "contradicted"), (-0.001, "undecided")],
)
def test_a_claim_holds_where_the_interval_over_seeds_decides_it(better, verdict):
    (result,) = analyse(made_up(better=better), NOBODY)
    (claim,) = result.claims
    assert claim.statement == "nvae gets more right in a new domain than erm."
    assert claim.verdict == verdict
    assert "3 seeds" in claim.evidence


def test_seeds_that_only_one_model_has_are_no_pairs():
    runs = pd.concat(
        [
            made_up(models=("erm",), seeds=(0, 1)),
            made_up(models=("nvae",), seeds=(1, 2)),
        ]
    )
    assert gains(runs, "nvae") == approx([0.101])
    assert np.isnan(gains(runs, "erm")).all()
    assert np.isnan(gains(made_up(models=("nvae",)), "nvae")).all()


def test_without_plain_risk_minimisation_nothing_is_tested():
    (result,) = analyse(made_up(models=("nvae",)), NOBODY)
    assert [claim.verdict for claim in result.claims] == ["not tested"]


def test_published_figures_are_beside_ours_with_what_differs():
    (result,) = analyse(made_up(data="rotated-mnist"), NOBODY)
    # of DomainBed at 75 degrees
    assert result.text.set_index("model").loc["erm", "published"] == "0.964 ± 0.000"
    differs = re.search(r"not comparable.*", result.caption)[0]
    assert numbers(differs)[:4] == [16, 28, 6000, 0]


@pytest.mark.parametrize(
    "domain, name",
    [("75 orange", "75° in orange"), ("75", "75°"), ("hospital 2", "hospital 2")],
)
def test_a_domain_of_angle_and_colour_is_in_words(domain, name, monkeypatch):
    domains = pd.DataFrame({"part": ["out_of_domain"], "domain": [domain]})
    monkeypatch.setattr(domain_partition, "table", lambda run_id, name: domains)
    (result,) = analyse(made_up(), NOBODY)
    assert set(result.text["held out"]) == {name}


def test_a_domain_without_tables_has_its_number(monkeypatch):
    def no_table(run_id, name):
        raise LookupError(f"run {run_id} has no table {name}")

    monkeypatch.setattr(domain_partition, "table", no_table)
    runs = made_up()
    (result,) = analyse(runs, NOBODY)
    assert set(result.text["held out"]) == {f"domain {runs['held_out'].iloc[0]}"}


def test_every_published_figure_has_its_own_place():
    (result,) = analyse(made_up(), NOBODY)
    places = result.against["place"]
    assert "hospital 2 (augmentation strategy A)" in " ".join(places)
    assert places.is_unique
