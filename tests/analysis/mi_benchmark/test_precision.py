"""The paired differences of both precisions on made-up runs."""

import numpy as np
import pytest

from analysis.mi_benchmark.precision import ANALYSIS
from tests.analysis.mi_benchmark.grids import crossed
from tests.analysis.runs import analysed

STUDY = dict(
    domain="gaussian", study="estimators", bound=["nwj", "smile-inf"], seed=[0, 1, 2, 3]
)
BF16 = crossed(**STUDY, precision="bf16")
BOTH = crossed(**STUDY, precision="float32") + BF16


def lower(by, in_turn=False):
    """Estimates that scatter over seeds by 0.1 bits, lower by so many bits with bf16;
    in_turn: higher at every second seed.
    """

    def estimate(cell, bits):
        is_higher = in_turn and cell["seed"] % 2
        change = by if is_higher else -by
        mean = bits - 0.1 * cell["seed"] + change * (cell["precision"] == "bf16")
        return mean, 0.01

    return estimate


@pytest.mark.parametrize(
    "by, in_turn, count", [(0.5, False, 2), (0.5, True, 0), (0.0, False, 0)]
)
def test_differences_are_paired_by_seed(made_up, by, in_turn, count):
    """A shift is found if all seeds have it."""
    (result,) = analysed(ANALYSIS, made_up(BOTH, lower(by, in_turn)))
    beginning = f"Products of bfloat16 change {count} of 2 MSEs significantly"
    assert result.finding.startswith(beginning)
    assert list(result.figures["runs"]) == [4, 4]
    if not in_turn:
        change = result.figures["second_half_mean_bits_difference"]
        assert np.allclose(change, -by, atol=0.01)


def test_runs_that_diverged_are_counted(made_up):
    runs = made_up(BOTH, lower(0.01))
    of = (runs["seed"] == 1) & (runs["bound"] == "nwj") & (runs["precision"] == "bf16")
    runs.loc[of, [name for name in runs if "mse" in name or "mean" in name]] = np.nan
    (result,) = analysed(ANALYSIS, runs)
    row = result.text[result.text["estimator"] == "nwj"].iloc[0]
    assert row["diverged (float32, bf16)"] == "0, 1"
    assert row["runs"] == 3


def test_one_precision_alone_is_refused(judge):
    with pytest.raises(ValueError, match="precision"):
        judge(ANALYSIS, BF16)
