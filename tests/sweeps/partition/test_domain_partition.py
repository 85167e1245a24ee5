"""The sweep of domain models: its cells and parts, and what its trial logs, against the
model itself.
"""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest

from infoscope.models.domain import MODELS, PUBLISHED, DomainData, accuracies
from sweeps.partition import _domains
from sweeps.partition.domain_partition import PARTS, SWEEP, trial
from tests.sweeps.keeper import Keeper
from tests.sweeps.recorder import planned

TINY = {"sample": "300", "steps": "6", "size": "8", "items": "400", "seeds": "0"}


cells_of = partial(planned, SWEEP, **TINY)


def test_one_cell_per_model_held_out_domain_and_seed():
    cells = cells_of(held_out="0,5", seeds="0,1")
    assert len(cells) == len(MODELS) * 2 * 2
    assert {cell.base for cell in cells} == {"digits"}  # without real data


@pytest.mark.parametrize("data", ["crmnist", "rotated-mnist"])
def test_parts_share_no_group_and_the_held_out_domain_is_in_the_last_only(data):
    (cell,) = cells_of(models="erm", data=data, held_out="2", sample="400")
    parts = _domains.parts(cell)
    for number, part in enumerate(parts):
        assert (
            (part.d == 2).all() if part is parts.out_of_domain else (part.d != 2).all()
        )
        for other in parts[number + 1 :]:
            assert not np.intersect1d(part.groups, other.groups).size
    assert sum(map(len, parts)) > 0.5 * len(_domains.dataset(cell)) / (
        6 if data == "rotated-mnist" else 1
    )


def test_models_of_a_seed_share_their_items_and_seeds_do_not():
    same = [_domains.parts(cell) for cell in cells_of(models="erm,nvae")]
    (other,) = cells_of(models="erm", seeds="1")
    np.testing.assert_array_equal(same[0].in_domain.groups, same[1].in_domain.groups)
    assert set(_domains.parts(other).in_domain.groups) != set(same[0].in_domain.groups)


@pytest.mark.parametrize("model, data", _domains.PUBLISHED_SETTINGS)
def test_published_settings_pass_through_a_cell_unchanged(model, data):
    items = dict(shape=(3, 32, 32), classes=3, domains=4)
    name, settings = PUBLISHED[_domains.PUBLISHED_SETTINGS[model, data]]
    # as MLflow gives them back
    recorded = json.loads(json.dumps(_domains.config_of(model, data, "published")))
    config = MODELS[model].Config
    assert name == model
    assert config.from_dict(_domains.nested(recorded) | items) == config.from_dict(
        dict(settings) | items
    )


def test_the_earlier_penalty_of_nvae_can_be_asked_for_and_changes_nothing_else():
    settings = ("quick", "quick-item-sum")
    quick, earlier = (
        _domains.config_of("nvae", "crmnist", setting) for setting in settings
    )
    forms = [
        _domains.setting_of("nvae", config, "l1_form") for config in (quick, earlier)
    ]
    assert forms == ["batch-mean", "item-sum"]
    assert {
        _domains.setting_of("nvae", config, "l1")["z_dy"] for config in (quick, earlier)
    } == {5.0}
    assert earlier == quick | {"l1_form": "item-sum"}
    for model in set(MODELS) - {"nvae"}:
        first, second = (
            _domains.config_of(model, "crmnist", setting) for setting in settings
        )
        assert first == second


@pytest.mark.parametrize("model", ["nvae", "dann"])
def test_what_is_logged_gives_the_reported_accuracies(model):
    """From the arrays and the model alone, as a later evaluation has them."""
    (cell,) = cells_of(models=model, items="100000")
    keeper = Keeper.ran(trial, [cell], "model")
    (arrays,) = keeper.arrays_of.values()
    (module,) = keeper.modules.values()
    (final,) = keeper.finals.values()
    assert arrays["x"].dtype == np.uint8
    assert arrays["split_names"].tolist() == list(PARTS)
    for code, part in enumerate(("in_domain", "out_of_domain")):
        rows = arrays["split"] == code
        measured = accuracies(
            module,
            DomainData(*(arrays[name][rows] for name in ("x", "y", "d", "groups"))),
        )
        assert final[f"{part}_accuracy/overall"] == pytest.approx(
            measured.overall.value
        )
        assert final[f"{part}_accuracy/average_error"] == pytest.approx(
            measured.average.standard_error
        )
        assert final[f"{part}_accuracy/items"] == rows.sum()
        assert final[f"{part}_accuracy/groups"] == len(
            np.unique(arrays["groups"][rows])
        )
        slices = pd.DataFrame(keeper.tables[model, "slices"]).query("part == @part")
        assert slices["items"].sum() == rows.sum()
        assert slices["accuracy"].is_monotonic_increasing
        worst = final[f"{part}_accuracy/worst_slice"]
        low = final[f"{part}_accuracy/worst_slice_low"]
        high = final[f"{part}_accuracy/worst_slice_high"]
        assert worst == slices["accuracy"].iloc[0]
        assert low <= worst <= high
    assert final["diverged"] == 0
    assert final["selected_step"] <= 6
    table = pd.DataFrame(keeper.tables[model, "accuracies"])
    assert len(table) == 5 + 1 + 5  # classes inside and outside, domains
    assert (
        table.loc[table["part"] == "in_domain", "items"].sum()
        == 2 * (arrays["split"] == 0).sum()
    )


def test_patches_of_several_hospitals(monkeypatch):
    """The held-out hospital is the test; the official validation hospital is not used."""
    generator = np.random.default_rng(0)
    hospital = np.repeat(np.arange(5), 80)
    made = _domains.DomainDataset.of_arrays(
        generator.integers(0, 256, (400, 3, 8, 8), np.uint8), np.tile([0, 1], 200), hospital,
        np.repeat(np.arange(100), 4), domain_names=[f"hospital {number}" for number in range(5)],
    )  # fmt: skip
    monkeypatch.setattr("infoscope.data.camelyon17", lambda split: made)
    cell = _domains.DataCell(
        data="camelyon17", base=None, size=8, sample=300, held_out=2, seed=7
    )
    parts = _domains.parts(cell)
    assert set(parts.out_of_domain.d) == {2}
    assert {int(one) for part in parts[:3] for one in part.d} == {0, 3, 4}
