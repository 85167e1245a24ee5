"""The table of the main job on made-up runs: figures, published columns, and what it says when runs are few or broken."""

import argparse
import itertools
import math

import numpy as np
import pandas as pd
import pytest

from analysis.critic_capacity import analyse
from analysis.report import save

POOLS = {"gaussian": "gaussian", "images": "mnist", "text": "imdb-bert"}
ARGUMENTS = argparse.Namespace(bound="smile-inf", bits=2.0)


def made_up(seeds=(0, 1), depths=(1, 2, 3), bounds=("smile-inf", "js"), steps=4000, width=256, slope=-0.01):
    """Runs whose MSE is linear in depth, with noise by seed."""
    rows = []
    for domain, depth, bound, seed in itertools.product(POOLS, depths, bounds, seeds):
        figures = dict.fromkeys(("bias_bits", "variance_bits2", "settled_mse_bits2", "settled_mse_bits2_error"), 0.1)
        figures |= {"mse_bits2": 0.2 + slope * depth + 0.001 * seed * depth**2}
        figures |= {"floor_mse_bits2": 0.08, "floor_mse_bits2_error": 0.003, "nonfinite_steps": 0.0}
        cell = {"domain": domain, "pool": POOLS[domain], "depth": depth, "bound": bound, "seed": seed, "steps": steps}
        cell |= {"width": width, "batch": 64, "learning_rate": 5e-4, "sources": 10, "critic": "joint"}
        at = {f"at 2 bits/{name}": value for name, value in figures.items()}
        totals = {"mse_bits2": figures["mse_bits2"], "nonfinite_steps": 0.0}
        rows.append(cell | at | totals | {"schedule_bits": [2.0], "profile": "made-up", "tags": {}})
    return pd.DataFrame(rows)


def test_figures_errors_and_published_columns():
    table = analyse(made_up(), ARGUMENTS)[0].figures.set_index(["domain", "depth"])
    row = table.loc["images", 2]
    assert row["mse_bits2"] == pytest.approx(np.mean([0.18, 0.184]))
    assert row["mse_bits2_error"] == pytest.approx(0.002)  # half the difference of two runs
    assert (row["published_mse_bits2"], row["floor_mse_bits2"], row["runs"]) == (0.189, 0.08, 2)


def test_correlation_is_of_accuracy_and_over_seeds():
    caption = analyse(made_up(seeds=(0,), slope=-0.01), ARGUMENTS)[0].caption
    assert "images (mnist): +1.00 (no interval from one run, 1 runs of 3 depths)" in caption  # MSE falls: accuracy rises
    assert "there is one run per row, so it cannot be given" in caption


@pytest.mark.parametrize(("setting", "comparable"), [({}, True), ({"steps": 800}, False), ({"width": 64}, False)])
def test_only_the_published_setting_is_comparable(setting, comparable):
    assert ("not comparable" not in analyse(made_up(**setting), ARGUMENTS)[0].caption) == comparable


def test_diverged_runs_are_shown_and_counted(tmp_path):
    runs = made_up()
    broken = (runs["domain"] == "text") & (runs["depth"] == 3) & (runs["seed"] == 1)
    runs.loc[broken, [name for name in runs if "bits2" in name or "bias" in name]] = math.nan
    runs.loc[broken, ["nonfinite_steps", "at 2 bits/nonfinite_steps"]] = 7
    by_depth, by_estimator = analyse(runs, ARGUMENTS)
    shown = by_depth.text.set_index(["domain", "depth"])["MSE (bits²)"]
    assert shown["text", 3] == "diverged" and "diverged" not in shown["images", 3]
    assert "Note: 7 steps of 1 runs were not finite" in by_depth.caption
    assert len(save(by_estimator, tmp_path / "table")) == 3


def test_what_was_not_run_is_said():
    runs = made_up()
    text = analyse(runs[~((runs["bound"] == "js") & (runs["depth"] == 2))], ARGUMENTS)[1].text
    assert set(text.loc[text["estimator"] == "js", "depth 2"]) == {"not run"}


@pytest.mark.parametrize(("arguments", "words"), [
    (argparse.Namespace(bound="smile-inf", bits=4.0), "no runs at 4 bits; these runs have 2 bits"),
    (argparse.Namespace(bound="dv", bits=2.0), "no runs of estimator 'dv'; these runs have js, smile-inf"),
])  # fmt: skip
def test_what_is_not_there_is_one_sentence(arguments, words):
    with pytest.raises(ValueError, match=words):
        analyse(made_up(), arguments)
