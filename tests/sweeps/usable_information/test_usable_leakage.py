"""The sweep of usable leakage: hidden features, and the blocks of a logged model."""

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.random import default_rng

from infoscope.models.domain import MODELS, extract_blocks
from sweeps.usable_information import usable_leakage
from sweeps.usable_information.usable_leakage import PROFILES, SWEEP, trial
from tests.sweeps.keeper import Keeper


def plan(**overrides):
    return list(
        SWEEP.plan(
            PROFILES["smoke"].override({"studies": "hiding"} | overrides)
        ).values()
    )


def ran(cell):
    keeper = Keeper.ran(trial, [cell])
    return keeper.finals[()], pd.DataFrame(keeper.tables["leakage",])


def test_what_is_hidden_shows_less_and_what_is_not_is_kept():
    """Hidden from a linear network, whose own kind of family then finds less of it than
    where nothing is hidden, while neighbours still find it.
    """
    cells = plan(items="900", steps="150", adversary_steps="5", families="logistic,knn")
    finals = {cell.against: ran(cell)[0] for cell in cells}
    plain = finals["nothing"]["hidden/features/logistic_bits"]
    hidden = finals["linear"]["hidden/features/logistic_bits"]
    assert plain > 0.25
    assert hidden < 0.5 * plain
    assert finals["linear"]["hidden/features/knn_bits"] > 0.25
    assert finals["linear"]["kept/features/logistic_bits"] > 1.0
    assert finals["nothing"]["hidden/ceiling_bits"] == pytest.approx(1.0, abs=0.01)


@pytest.fixture
def logged_model(monkeypatch):
    """A store with one untrained model and its items: of 120 in the training domains,
    two each of one group.
    """
    model = MODELS["nvae"](
        shape=(3, 8, 8),
        classes=2,
        domains=3,
        network={"width": 4},
        generator=torch.Generator(),
    )
    draws = default_rng(0)
    n = 160
    items = {
        "x": draws.integers(0, 256, (n, 3, 8, 8), dtype=np.uint8), "y": np.arange(n) % 2, "d": np.arange(n) // 2 % 3,
        "groups": np.arange(n) // 2, "split": (np.arange(n) >= 120).astype(np.uint8),
        "split_names": np.array(["in-domain", "out-of-domain"]),
    }  # fmt: skip
    run = {"run_id": "run-1", "key": "abc", "version": "1", "diverged": 0.0, "start": pd.Timestamp("2026-01-01"),
           "tags": {"infoscope.data": "made up"}, "model": "nvae", "held_out": 5, "seed": 0}  # fmt: skip
    frame = pd.DataFrame([run, run | {"key": "old", "diverged": 1.0}])
    monkeypatch.setattr(usable_leakage, "runs", lambda name, label: frame)
    monkeypatch.setattr(usable_leakage, "arrays", lambda run_id, name: items)
    monkeypatch.setattr(usable_leakage, "load_model", lambda run_id, name: model)
    return model, items


def test_blocks_of_a_logged_model_are_read_alone_and_together(logged_model):
    model, items = logged_model
    (cell,) = plan(studies="blocks")
    assert cell.source == "abc"
    assert cell.model == "nvae"
    assert cell.data == "made up"
    assert cell.held_out == 5
    metrics, table = ran(cell)
    assert set(table["block"]) == {"z_y", "z_x", "z_dy", "z_d", "all blocks"}
    assert metrics["n"] == 120
    assert set(table["label"]) == {"class", "domain"}
    assert (table["groups"] == 60).all()
    inside = torch.from_numpy(items["x"][:120]).float() / 255.0
    blocks = extract_blocks(model, inside)
    direct = usable_leakage.usable_leakage(
        {"z_d": blocks["z_d"].numpy().astype(float)}, {"domain": items["d"][:120]},
        {name: usable_leakage.FAMILIES[name] for name in cell.families}, cell.folds, items["groups"][:120],
        generator=default_rng(0),
    )  # fmt: skip
    for row in direct.itertuples():
        assert metrics[f"domain/z_d/{row.family}_bits"] == pytest.approx(
            row.value_bits, abs=1e-6
        )


def test_without_logged_models_the_rest_is_run_and_that_is_said(monkeypatch, capsys):
    def nothing(name, label):
        raise LookupError("nothing here")

    monkeypatch.setattr(usable_leakage, "runs", nothing)
    assert {cell.study for cell in plan(studies="blocks,hiding")} == {"hiding"}
    assert "nothing here" in capsys.readouterr().err
    with pytest.raises(ValueError, match="nothing here"):
        plan(studies="blocks")
