"""The table of the main job on made-up runs: figures, published columns, and notes on
few or diverged runs.
"""

import argparse
import math

import numpy as np
import pytest

from analysis.common.tables import save
from analysis.mi_benchmark.critic_capacity import analyse, sure_text
from tests.analysis.mi_benchmark.grids import crossed
from tests.analysis.pictures import drawn, numbers

ARGUMENTS = argparse.Namespace(bound=None, bits=None)
MSE = "mse_bits2 at 2 bits"
ALL = ["gaussian", "images", "text"]


@pytest.fixture
def linear(made_up):
    """A function: slope and cells -> runs whose MSE is linear in depth, with noise by
    seed, and whose bias is -0.1.
    """

    def build(slope=-0.01, domain=ALL, depth=(1, 2, 3), seed=(0, 1), steps=4000):
        cells = crossed(
            domain=domain, depth=[*depth], bound=["smile-inf", "js"], seed=[*seed], steps=steps, study="depth"
        )  # fmt: skip
        return made_up(
            cells,
            lambda cell, bits: (
                bits - 0.1,
                1 + slope * cell["depth"] + 0.001 * cell["seed"] * cell["depth"] ** 2,
            ),
            wobbles=0,
        )

    return build


def test_figures_errors_and_published_columns(linear):
    table = analyse(linear(), ARGUMENTS)[0].figures.set_index(["domain", "depth"])
    row = table.loc["images", 2]
    assert row["mse_bits2"] == pytest.approx(1 + 0.01 - np.mean([0.02, 0.016]))
    # half the difference of two runs
    assert row["mse_bits2_error"] == pytest.approx(0.002)
    assert row["published_mse_bits2"] == 0.189
    assert row["oracle_critic_mse_bits2"] == 0.08
    assert row["runs"] == 2


def test_the_bias_of_the_paper_is_shown_with_its_sign_reversed(linear):
    """Table 2 prints truth - mean: .297 for images at depth 2, where its estimates are
    too low.
    """
    text = analyse(linear(), ARGUMENTS)[0].text
    row = text[text["domain"] == "images"].set_index("depth").loc[2]
    assert "-0.297" in row.tolist()
    assert row["bias (bits)"].startswith("-0.100")


def test_correlation_is_of_accuracy_and_over_seeds(linear):
    claims = analyse(linear(seed=(0,)), ARGUMENTS)[0].claims
    (of_images,) = [claim for claim in claims if "images (mnist)" in claim.statement]
    # MSE falls: accuracy rises; one run of three depths; and from the paper's own table
    assert of_images.verdict == "not tested"
    assert numbers(of_images.evidence) == [1.0, 3, -0.75]


@pytest.mark.parametrize("slope, verdict", [(-0.1, "contradicted"), (0.1, "confirmed")])
def test_a_claim_is_decided_by_its_interval(linear, slope, verdict):
    claims = analyse(linear(slope, seed=(1, 2, 3, 4)), ARGUMENTS)[0].claims
    assert [claim.verdict for claim in claims] == [verdict] * 3


def test_the_finding_names_the_depths_that_are_surely_worse(linear):
    """MSE falls by 0.2 a layer, less the noise."""
    finding = analyse(linear(-0.2, depth=(1, 2, 3, 4)), ARGUMENTS)[0].finding
    assert "depth 1 has a larger MSE than depths 2 to 4 for gaussian +0.39" in finding
    assert "depth 4 has a smaller MSE than depth 2 for gaussian -0.39" in finding


def test_depths_without_a_common_seed_are_not_compared():
    assert sure_text({}, "depth 2") == "shares no seed with depth 2"


def test_diverged_runs_are_shown_and_counted(linear, tmp_path):
    runs = linear()
    broken = (runs["domain"] == "text") & (runs["depth"] == 3) & (runs["seed"] == 1)
    runs.loc[broken, [name for name in runs if "bits2" in name or "bias" in name]] = (
        math.nan
    )
    runs.loc[broken, ["nonfinite_steps", "nonfinite_steps at 2 bits"]] = 7
    by_depth, by_estimator = analyse(runs, ARGUMENTS)
    shown = by_depth.text.set_index(["domain", "depth"])["MSE (bits²)"]
    assert shown["text", 3] == "diverged" != shown["images", 3]
    assert "7 steps" in by_depth.caption
    assert drawn(save(by_estimator, tmp_path / "table"))


def test_diverged_depths_leave_the_correlation_of_the_others(linear):
    runs = linear(depth=(1, 2, 3, 4), seed=(0, 1, 2))
    runs.loc[runs["depth"] == 4, MSE] = math.nan
    runs.loc[(runs["depth"] == 2) & (runs["seed"] == 1), MSE] = math.nan
    claims = analyse(runs, ARGUMENTS)[0].claims
    for one in claims:
        assert numbers(one.evidence)[4:7] == [2, 3, 1]


@pytest.mark.parametrize("asked", [{"bits": 4.0}, {"bound": "dv"}])
def test_a_missing_setting_is_refused(linear, asked):
    with pytest.raises(ValueError, match=str([*asked.values()][0]).removesuffix(".0")):
        analyse(linear(), argparse.Namespace(**{"bound": None, "bits": None} | asked))
