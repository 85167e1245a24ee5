"""The sweep of label errors: its cells, its encodings, and what is kept of a data set."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score

from infoscope import data
from infoscope.metrics.v_information.label_errors import SCORES
from infoscope.tracking import Pack
from sweeps.usable_information import _data
from sweeps.usable_information.label_errors import COMPONENTS, PROFILES, SWEEP, encoded, trial
from tests.sweeps.keeper import Keeper


def cells_of(profile="smoke", **overrides):
    return list(SWEEP.plan(PROFILES[profile].override(overrides)).values())


def test_pairs_of_two_classes_are_left_out_and_maps_are_of_the_first_seed():
    found = pd.DataFrame(cells_of("laptop"))
    assert set(found["data"]) == {"generated-reviews", "generated-nli", "digits"}
    maps, noisy = found[found["noise"] == "none"], found[found["noise"] != "none"]
    assert set(maps["seed"]) == {0} and len(maps) == 3 and (maps["rate"] == 0.0).all()
    settings = noisy.groupby(["data", "noise"]).size().to_dict()
    assert settings == {("generated-reviews", "symmetric"): 15, ("generated-nli", "symmetric"): 15,
                        ("generated-nli", "pair"): 15, ("digits", "symmetric"): 15, ("digits", "pair"): 15}  # fmt: skip
    only = cells_of(data="generated-reviews", noises="pair")
    assert {cell.noise for cell in only} == {"none", "pair"}


@pytest.mark.parametrize("name", ["digits", "generated-nli"])
def test_flipped_labels_are_found_and_figures_are_those_of_the_items(name):
    recorder = Keeper("noise")
    trial(Pack(tuple(cells_of(data=name, items="1200", epochs="12", noises="symmetric"))), recorder)
    found, items = recorder.finals[("symmetric",)], pd.DataFrame(recorder.tables["symmetric", "items"])
    truth = _data.part_of(_data.loaded(name, "train"), 1200, 0)
    assert ((items["label"] != truth.y) == items["flipped"]).all() and items["flipped"].sum() == found["flipped"] == 120
    for key in SCORES:
        assert found[f"{key}/average_precision"] == pytest.approx(average_precision_score(items["flipped"], items[key]))
        if name == "digits":
            assert found[f"{key}/auroc"] > 0.75, key
    top = items.nlargest(120, "self_confidence")["flipped"].mean()
    assert found["self_confidence/precision"] == pytest.approx(top)
    assert found["accuracy"] > (0.8 if name == "digits" else 0.45)
    assert recorder.decided  # progress was told


def test_labels_as_they_are_give_a_data_map_and_the_hardest_items():
    recorder = Keeper("noise")
    trial(Pack(tuple(cell for cell in cells_of() if cell.noise == "none" and cell.data == "digits")), recorder)
    items, kept = pd.DataFrame(recorder.tables["none", "items"]), recorder.arrays_of["none", "hardest"]
    assert not {"flipped", "text"} & set(items)
    assert items["confidence"].between(0, 1).all() and items["variability"].between(0, 0.5).all()
    hardest = items.nsmallest(10, "pvi_bits")["id"].tolist()
    assert list(kept["id"]) == hardest
    assert (kept["pictures"] == data.digits().images[[int(i) for i in hardest]].numpy()).all()
    trial(Pack(tuple(cells_of(data="generated-nli", noises="pair"))[:1]), recorder)
    items = pd.DataFrame(recorder.tables["none", "items"])
    assert items["text"].str.startswith("PREMISE: ").all() and items["text"].str.len().max() <= 160


def test_vectors_do_not_depend_on_labels_and_are_the_leading_components():
    task, vectors = encoded("generated-reviews", 400, 1)
    assert vectors.shape == (400, COMPONENTS) and len(task.y) == 400
    pairs, both = encoded("generated-nli", 300, 1)
    assert both.shape == (300, 2 * COMPONENTS) and len({*pairs.groups}) < 300
    one = [i for i in range(300) if pairs.x[i][1] == pairs.x[0][1]]
    np.testing.assert_allclose(both[one, :COMPONENTS], np.tile(both[0, :COMPONENTS], (len(one), 1)), atol=1e-8)
    task, digits = encoded("digits", 300, 1)  # as many as there are, only turned: distances stay
    assert digits.shape == task.x.shape == (300, 64)
    np.testing.assert_allclose(digits @ digits.T, task.x @ task.x.T, atol=1e-9)
    spread = digits.std(axis=0)
    assert spread.max() < 4 * spread.min() and task.x.std(axis=0).min() == 0.0
