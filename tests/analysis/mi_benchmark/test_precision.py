"""The paired differences of both precisions on made-up runs, and the verdicts in both directions."""

import itertools

import numpy as np
import pytest

from analysis.mi_benchmark.precision import ANALYSIS

ARGUMENTS = ANALYSIS.arguments([])


def cells(precisions=("float32", "bf16"), seeds=(0, 1, 2, 3)):
    for precision, bound, seed in itertools.product(precisions, ("nwj", "smile-inf"), seeds):
        yield dict(
            domain="gaussian", study="estimators", precision=precision, bound=bound, seed=seed, schedule_bits=[2.0]
        )


def lower(by):
    """Estimates that scatter over seeds by 0.1 bits, lower by so many bits with bf16."""
    return lambda cell, bits: (bits - 0.1 * cell["seed"] - by * (cell["precision"] == "bf16"), 0.01)


def test_differences_are_paired_by_seed(made_up, verdicts):
    (found,) = ANALYSIS.analyse(made_up(cells(), lower(0.01)), ARGUMENTS)
    assert len(found.figures) == 2
    assert np.allclose(found.figures["second_half_mean_bits_difference"], -0.01, atol=0.01)
    assert set(found.figures["runs"]) == {4}
    assert set(verdicts([found]).values()) == {"confirmed"}


def test_a_shift_beyond_the_scatter_is_named(made_up, verdicts):
    (found,) = ANALYSIS.analyse(made_up(cells(), lower(0.5)), ARGUMENTS)
    assert set(verdicts([found]).values()) == {"contradicted"}
    assert "smile-inf" in found.claims[0].evidence


def test_runs_that_diverged_are_counted(made_up):
    runs = made_up(cells(), lower(0.01))
    of = (runs["seed"] == 1) & (runs["bound"] == "nwj") & (runs["precision"] == "bf16")
    runs.loc[of, [name for name in runs if "mse" in name or "mean" in name]] = np.nan
    (found,) = ANALYSIS.analyse(runs, ARGUMENTS)
    row = found.text[found.text["estimator"] == "nwj"].iloc[0]
    assert (row["diverged (float32, bf16)"], row["runs"]) == ("0, 1", 3)


def test_one_precision_alone_is_refused(made_up):
    with pytest.raises(ValueError, match="precision"):
        ANALYSIS.analyse(made_up(cells(("bf16",)), lower(0)), ARGUMENTS)


def test_a_table_of_bf16_runs_says_so_and_is_not_beside_the_paper(made_up):
    from analysis.mi_benchmark.estimator_choice import ANALYSIS as CHOICE

    runs = made_up(cells(("bf16",)), lower(0)).drop(columns="study")
    found = CHOICE.analyse(runs, CHOICE.arguments([]))[0]
    assert "products of bfloat16 numbers" in found.caption
    assert "precision bf16 (paper: float32)" in found.caption
