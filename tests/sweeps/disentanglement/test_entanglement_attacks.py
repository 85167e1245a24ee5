"""Attacks on logged models: which are chosen, and a trial on a model of known effect."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from sweeps.disentanglement import _vaes, entanglement_attacks, vae_zoo
from sweeps.disentanglement.entanglement_attacks import PROFILES, SWEEP, best, trial
from tests.refusals import refused
from tests.sweeps.keeper import Keeper
from tests.sweeps.recorder import planned


@pytest.fixture
def zoo(monkeypatch):
    """The record of a finished zoo: three trainings of two models, one of which
    diverged.
    """
    rows = []
    for cell in planned(vae_zoo.SWEEP, models="beta-vae,beta-tcvae", seeds="0,1,2"):
        rows.append(cell.values() | {
            "key": f"{cell.model} {cell.seed}", "run_id": f"run {cell.model} {cell.seed}", "version": "1",
            "start": pd.Timestamp("2026-01-01"), "diverged": float(cell.seed == 2),
            "unibound": np.nan if cell.seed == 2 else 0.1 * cell.seed,
        })  # fmt: skip
    frame = pd.DataFrame(rows)

    def runs(experiment, label=None):
        assert experiment == "vae-zoo"
        if label not in ("smoke", None):
            raise LookupError(f"nothing under {label}; `make sweep-vae-zoo` first")
        return frame

    monkeypatch.setattr(entanglement_attacks, "runs", runs)
    return frame


cells_of = partial(planned, SWEEP)


def test_the_best_training_of_each_model_is_attacked(zoo):
    cells = cells_of()
    assert {cell.source for cell in cells} == {"beta-vae 1", "beta-tcvae 1"}
    assert len(cells) == 2 * 2 * 2 * 2  # models, attacks, strengths, evaluations
    assert len(SWEEP.packs(SWEEP.plan(PROFILES["smoke"]), "cpu")) == 2
    assert [*best(zoo, ("beta-vae",), 5)["seed"]] == [1, 0]


def test_without_a_zoo_it_says_what_to_run(zoo):
    with pytest.raises(ValueError, match="`make sweep-vae-zoo`"):
        cells_of(zoo="laptop+steps=9")
    with refused("models", "name"):
        cells_of(models="joint-vae")
    with refused("best", "range"):
        cells_of(best="0")


@pytest.mark.usefixtures("without_predictors")
def test_a_pack_encodes_once_and_measures_every_attack(zoo, monkeypatch):
    asked = []
    encoded = []
    (_, row), *_ = best(zoo, ("beta-vae",), 1).iterrows()
    monkeypatch.setattr(
        entanglement_attacks,
        "load_model",
        lambda *of: asked.append(of) or _vaes.untrained(row),
    )
    encode = _vaes.representation
    monkeypatch.setattr(
        _vaes, "representation", lambda *of: encoded.append(of) or encode(*of)
    )
    cells = cells_of(models="beta-vae", protocols="uni-bound", items="100", draws="100")
    keeper = Keeper.ran(trial, cells, "attack", "alpha", "evaluation")
    assert asked == [("run beta-vae 1", "vae")]
    assert len(encoded) == 1
    assert len(keeper.finals) == 8
    finals = keeper.finals
    for evaluation in (0, 1):
        unattacked = finals["redundancy", 0.0, evaluation]
        # of the same noise, up to rounding
        other = finals["synergy", 0.0, evaluation]["unibound"]
        assert unattacked["unibound"] == pytest.approx(other, abs=1e-6)
        for attack in ("redundancy", "synergy"):
            attacked = finals[attack, 2.0, evaluation]
            assert attacked["informativeness"] == pytest.approx(
                unattacked["informativeness"], abs=1e-4
            )
            assert {"unibound_error", "shared/redundant_high"} <= set(attacked)
    assert (
        finals["redundancy", 2.0, 0]["beta_vae"]
        != finals["redundancy", 2.0, 1]["beta_vae"]
    )
