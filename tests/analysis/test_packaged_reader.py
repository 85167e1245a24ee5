"""A logged reader becomes the packaged one; anything else is refused and nothing is
written.
"""

import numpy as np
import torch

from analysis import packaged_reader
from infoscope.estimators.reading import reader, result, training
from infoscope.estimators.reading.module import ReaderModule
from tests.estimators.reading.test_training import simulated_sets
from tests.refusals import refused


def test_the_packaged_reader_is_that_of_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "EPOCHS", 1)
    of, _ = training.train(simulated_sets(sets=200), np.random.default_rng(0))
    monkeypatch.setattr(packaged_reader, "load_model", lambda run: ReaderModule.of(of))
    monkeypatch.setattr(result, "__file__", str(tmp_path / "result.py"))
    message = packaged_reader.package("run")
    row = simulated_sets(sets=1).figures[0]
    assert reader.load(tmp_path / result.PACKAGED).read(row, "numbers") == of.read(
        row, "numbers"
    )
    assert f"version {of.card['version']}, 200 simulated data sets" in message


def test_other_models_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(
        packaged_reader, "load_model", lambda run: torch.nn.Linear(1, 1)
    )
    monkeypatch.setattr(result, "__file__", str(tmp_path / "result.py"))
    with refused("RUN", "type"):
        packaged_reader.package("run")
    assert not list(tmp_path.iterdir())
