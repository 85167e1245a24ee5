"""The paired differences of both precisions on made-up runs, and the verdicts in both
directions.
"""

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


def lower(by):
    """Estimates that scatter over seeds by 0.1 bits, lower by so many bits with bf16."""
    return lambda cell, bits: (
        bits - 0.1 * cell["seed"] - by * (cell["precision"] == "bf16"),
        0.01,
    )


@pytest.mark.parametrize("by, verdict", [(0.01, "confirmed"), (0.5, "contradicted")])
def test_differences_are_paired_by_seed(judge, by, verdict):
    """A shift beyond the scatter is found."""
    (result,), verdicts = judge(ANALYSIS, BOTH, lower(by))
    assert np.allclose(
        result.figures["second_half_mean_bits_difference"], -by, atol=0.01
    )
    assert list(result.figures["runs"]) == [4, 4]
    assert set(verdicts.values()) == {verdict}


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
