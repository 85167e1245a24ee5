"""The oracle critic against independently computed floors, batch 64 and ten dimensions
(oracle_critic_k64.csv).

The file is the project's reference computation of 2,000 batches per cell, in bits; bias
= true - mean, variance with ddof 0. Its `binary_bsc` uses the benchmark's grid of
crossover probabilities.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest
import torch
from pytest import approx

from infoscope.data import ChannelPairs, GaussianPairs
from infoscope.estimators import oracle_errors
from tests.refusals import refused

BIT = math.log(2)
CROSSOVERS = {2: 0.243, 4: 0.146, 6: 0.079, 8: 0.031, 10: 0.0}
FILE = Path(__file__).with_name("oracle_critic_k64.csv")
ROWS = list(csv.DictReader(FILE.read_text().splitlines()))
FINITE = [row for row in ROWS if not row["note"]]
INFINITE = [row for row in ROWS if row["note"]]
BATCH, REFERENCE_BATCHES, BATCHES = 64, 2000, 200
ROUNDING = 5e-5  # of the file's figures
# Two-sided 6 standard errors: 2e-9 per comparison, under 1e-6 for the 160 of this
# module.
DEVIATIONS = 6


def source_of(row: dict[str, str]):
    bits = int(row["true_mi_bits"])
    if row["model"] == "gaussian":
        return GaussianPairs(10, mutual_information=bits * BIT)
    return ChannelPairs(10, CROSSOVERS[bits])


def name_of(row: dict[str, str]) -> str:
    return f"{row['model']}-{row['true_mi_bits']}-{row['estimator']}"


def mean_ratio_variance(row: dict[str, str]) -> float:
    """Bound on the variance (nats squared) of nwj's and js's second term, the mean of
    4,032 density ratios.

    It is too heavy-tailed to be taken from samples. E[r^2] = E_joint[r]; ratios of two
    pairs are uncorrelated but for (i, j) with (j, i), which at most doubles the
    variance. js has the ratio divided by e.
    """
    if row["estimator"] not in ("nwj", "js"):
        return 0.0
    bits = int(row["true_mi_bits"])
    if row["model"] == "gaussian":
        second_moment = 4.0**bits
    else:
        crossover = CROSSOVERS[bits]
        second_moment = (2 * (crossover**2 + (1 - crossover) ** 2)) ** 10
    scale = 1 if row["estimator"] == "nwj" else math.exp(-2)
    return scale * 2 * (second_moment - 1) / (BATCH * (BATCH - 1))


@pytest.mark.parametrize("row", FINITE, ids=name_of)
def test_reference_floor(row):
    """Mean and variance within 6 standard errors of the reference's and our own
    Monte-Carlo error together.
    """
    result = oracle_errors(
        source_of(row),
        row["estimator"],
        BATCH,
        BATCHES,
        torch.Generator().manual_seed(20),
    )
    assert result.batches == BATCHES
    assert result.nonfinite == 0
    variance = float(row["variance"]) + ROUNDING
    both = 1 / REFERENCE_BATCHES + 1 / BATCHES
    error = math.sqrt((variance + mean_ratio_variance(row) / BIT**2) * both)
    assert (
        abs(result.mean / BIT - float(row["mean_estimate"]))
        < DEVIATIONS * error + ROUNDING
    )
    if row["estimator"] not in ("nwj", "js"):
        # The kurtosis of a batch's estimate is allowed to be 7, more than the normal's
        # 3.
        spread = variance * math.sqrt(6 * both)
        assert (
            abs(result.variance / BIT**2 - float(row["variance"]))
            < DEVIATIONS * spread + ROUNDING
        )


@pytest.mark.parametrize("row", INFINITE, ids=name_of)
def test_batches_without_a_coinciding_pair_make_the_summary_infinite(row):
    """At crossover 0 a batch has no equal off-diagonal pair with probability about
    0.13: 200 batches have none such with probability below 1e-12, and the summary says
    so instead of dropping them.
    """
    result = oracle_errors(
        source_of(row),
        row["estimator"],
        BATCH,
        BATCHES,
        torch.Generator().manual_seed(21),
    )
    assert 0 < result.nonfinite < BATCHES
    assert result.mean == math.inf
    assert not math.isfinite(result.mse)


def test_summary_is_consistent():
    source = GaussianPairs(3, mutual_information=1.0)
    result = oracle_errors(source, "dv", 16, 100, torch.Generator().manual_seed(0))
    assert result.bias == approx(result.mean - 1.0, abs=1e-12)
    assert result.mse == approx(result.variance + result.bias**2, rel=1e-12)
    assert 0 < result.mse_standard_error < result.mse


@pytest.mark.parametrize(
    ("argument", "value", "code"),
    [
        ("bound", "dvv", "name"),
        ("batch", 1, "range"),
        ("batches", 1, "range"),
        ("source", object(), "type"),
    ],
)
def test_bad_input(argument, value, code):
    arguments = {
        "source": GaussianPairs(1, mutual_information=1.0),
        "bound": "dv",
        "batch": 4,
        "batches": 4,
    }
    arguments[argument] = value
    with refused(argument, code):
        oracle_errors(**arguments, generator=torch.Generator())
