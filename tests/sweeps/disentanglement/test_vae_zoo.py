"""The zoo of autoencoders: its cells, the published setting, and a trial from images to
scores.
"""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from infoscope.models import OBJECTIVES
from sweeps.disentanglement import _vaes
from sweeps.disentanglement.vae_zoo import EXAMPLES, PROFILES, SWEEP, trial
from tests.sweeps.keeper import Keeper
from tests.sweeps.recorder import planned

cells_of = partial(planned, SWEEP)


def test_the_paper_profile_is_the_published_setting():
    """Tokui & Sato 2021, section 5.2 and appendix C."""
    cells = list(SWEEP.cells(PROFILES["paper"]))
    assert len(cells) == 5 * 6
    assert {cell.evaluations for cell in cells} == {6}
    assert {cell.data for cell in cells} == {"dsprites-full"}
    assert {cell.resolution for cell in cells} == {64}
    cell_of = {cell.model: cell for cell in cells}
    published = {
        "beta-vae": (4, 5e-4),
        "factor-vae": (35, 1e-4),
        "beta-tcvae": (6, 1e-3),
        "joint-vae": (150, 5e-4),
    }
    for name, setting in published.items():
        assert (cell_of[name].weight, cell_of[name].learning_rate) == setting
    assert cell_of["beta-tcvae"].batch == 2048
    assert cell_of["beta-tcvae"].steps == 30_000
    assert cell_of["factor-vae"].batch == 64
    assert cell_of["factor-vae"].steps == 300_000
    joint = cell_of["joint-vae"]
    assert _vaes.objective(joint) == OBJECTIVES["joint-vae"](capacity_steps=joint.steps)
    assert _vaes.untrained(joint).latents.sizes == (1, 1, 1, 1, 1, 3)


def test_the_bundled_data_are_used_without_real_ones(monkeypatch, tmp_path):
    assert {cell.data for cell in cells_of()} == {"sprites-grid"}
    assert SWEEP.tags_of(cells_of()[0])["infoscope.data"].endswith("(generated)")
    monkeypatch.setenv("INFOSCOPE_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="dsprites_ndarray"):
        cells_of("paper")


@pytest.mark.usefixtures("without_predictors")
@pytest.mark.parametrize("model", ["joint-vae", "ae"])
def test_a_trial_trains_measures_and_keeps_a_model(model):
    (cell,) = cells_of(models=model, seeds="0", items="200", draws="100")
    keeper = Keeper.ran(trial, [cell])
    (final,) = keeper.finals.values()
    assert final["diverged"] == 0
    assert math.isfinite(final["train/reconstruction"])
    assert final["mig"] == pytest.approx(
        np.mean([final["evaluation 0/mig"], final["evaluation 1/mig"]])
    )
    assert ("total_correlation_nats" in final) == (model == "joint-vae")
    assert len(keeper.tables["bounds",]) == cell.evaluations * 5 * 6
    assert keeper.arrays_of["examples",]["images"].shape == (EXAMPLES, 1, 16, 16)
    assert keeper.models == [(1, (2, 8 if model == "joint-vae" else 6))]
    assert keeper.fractions == sorted(keeper.fractions)
    assert keeper.fractions[-1] == pytest.approx(1)


def test_an_interrupted_training_goes_on_to_the_same_weights():
    class Interrupted(Keeper):
        def save(self, state):
            self.state = state()
            raise KeyboardInterrupt

    class Resumed(Keeper):
        def restore(self):
            return interrupted.state

    (cell,) = cells_of(models="beta-tcvae", seeds="1", steps="10")
    interrupted = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        _vaes.trained(cell, interrupted, "cpu", lambda *_: None)
    assert 0 < interrupted.state["done"] < 10
    models = [
        _vaes.trained(cell, keeper, "cpu", lambda *_: None)
        for keeper in (Resumed(), Keeper())
    ]
    resumed, whole = (list(model.parameters()) for model in models)
    for one, other in zip(resumed, whole):
        assert one.equal(other)


def test_a_training_that_diverges_is_reported_and_not_measured(monkeypatch):
    (cell,) = cells_of(models="beta-vae", seeds="0", steps="20")
    keeper = Keeper.ran(trial, [replace(cell, learning_rate=1e20)])
    final = keeper.finals[()]
    assert final["diverged"] == 1
    assert "mig" not in final
    assert not keeper.models


def test_images_are_read_alike_from_memory_and_one_by_one(monkeypatch):
    (cell,) = cells_of(models="beta-vae", seeds="0")
    rows = np.arange(0, len(_vaes.factor_set(cell)), 100)
    held = _vaes.images(cell)[rows]
    monkeypatch.setattr(_vaes, "IN_MEMORY", 0)
    _vaes.images.cache_clear()
    assert held.equal(_vaes.images(cell).images(rows))
    _vaes.images.cache_clear()
