"""Models that were logged before modules moved load and say what they said then
(commits 09f4df4, 025fc24).

tests/tracking/logged holds what MLflow had of them: a few weights each, and inputs with
the outputs of then.
"""

import importlib
import json
from pathlib import Path

import mlflow
import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from infoscope.tracking import load_model
from infoscope.tracking.aliases import MOVED

LOGGED = sorted((Path(__file__).parent / "logged").iterdir())


def kept(folder):
    with np.load(folder / "expected.npz") as stored:
        inputs = {}
        for name in stored.files:
            if name != "output":
                inputs[name.removeprefix("input_")] = stored[name]
        return inputs, stored["output"]


def module_of(folder):
    return json.loads((folder / "model" / "model.json").read_text())["module"]


@pytest.mark.parametrize("folder", LOGGED, ids=lambda folder: folder.name)
def test_an_earlier_model_gives_the_same_output(folder):
    inputs, output = kept(folder)
    model = load_model(str(folder))
    with torch.no_grad():
        predicted = model(
            **{name: torch.as_tensor(values) for name, values in inputs.items()}
        )
    assert_allclose(predicted, output, rtol=1e-5, atol=1e-6)
    assert type(model).__module__ == MOVED.get(module_of(folder), module_of(folder))


def test_mlflow_serves_an_earlier_model():
    """Its MLmodel names the module that reads it, which therefore has to stay where it
    is.
    """
    folder = LOGGED[0]
    inputs, output = kept(folder)
    predicted = mlflow.pyfunc.load_model(str(folder), suppress_warnings=True).predict(
        inputs
    )
    assert_allclose(predicted, output, rtol=1e-5, atol=1e-6)


def test_every_alias_leads_to_a_module_and_is_tried():
    for place in MOVED.values():
        importlib.import_module(place)
    assert set(MOVED) == {module_of(folder) for folder in LOGGED}
