"""What each sweep of the benchmark runs: its cells under every profile, and the
published settings.
"""

import importlib
import math

import pytest
import torch

from infoscope.tracking import Pack
from sweeps.mi_benchmark._benchmark import HELD_OUT, source_of
from sweeps.mi_benchmark._cells import TrainingCell
from sweeps.mi_benchmark.settings import DECODING
from tests.sweeps.recorder import Recorder

NAMES = ("critic_architecture", "critic_capacity", "estimator_choice", "information_sources",
         "representation_dimension", "nuisance", "layer_dependency", "embedding_networks")  # fmt: skip


def sweep(name):
    return importlib.import_module(f"sweeps.mi_benchmark.{name}")


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_every_profile_says_which_cells_there_are(name):
    module = sweep(name)
    for profile in ("smoke", "laptop", "paper"):
        made = {"images": "digits", "text": "generated-sentences"}
        cells = list(module.cells(module.PROFILES[profile].override(made)))
        keys = {module.SWEEP.key(cell) for cell in cells}
        assert len(keys) == len(cells) > 0
        assert {cell.bound for cell in trainings(cells)} == set(
            module.PROFILES[profile].bounds
        )


@pytest.mark.parametrize("name", NAMES)
def test_the_paper_profile_is_the_published_setting(name):
    paper = sweep(name).PROFILES["paper"]
    assert paper.batch == 64
    assert paper.learning_rate == 5e-4
    assert paper.width == 256
    assert paper.images == "mnist"
    assert paper.text == "imdb-bert"
    single = name in ("information_sources", "representation_dimension")
    assert paper.steps == (20_000 if single else 4000)
    if not single:
        assert paper.schedule_bits == (2, 4, 6, 8, 10)
        assert paper.sources == 10
    assert len(paper.bounds) == 8


def trainings(cells):
    return [cell for cell in cells if isinstance(cell, TrainingCell)]


def network(cell):
    if isinstance(cell, TrainingCell):
        return (cell.encoder, cell.statistics)
    return (None, None)


def cells(name, profile="paper", **overrides):
    module = sweep(name)
    return list(module.cells(module.PROFILES[profile].override(overrides)))


def test_information_sources_are_compared_at_the_same_information():
    every_cell = cells(
        "information_sources",
        numbers="4",
        bounds="dv",
        seeds="0",
        images="digits",
        text="generated-sentences",
    )
    bits = {
        domain: {c.schedule_bits[0] for c in every_cell if c.domain == domain}
        for domain in ("gaussian", "images", "text")
    }
    assert bits["images"] == bits["text"] == {1.0, 2.0, 4.0}
    # and as published, in nats
    assert sorted(bits["gaussian"]) == pytest.approx([1.0, 2.0, 4.0, 4 / math.log(2)])


@pytest.mark.parametrize("name", ["layer_dependency", "nuisance", "embedding_networks"])
def test_the_smallest_packs_of_a_study_run(name):
    """Every kind of pack of the study, shrunk: encoders, layers, backgrounds, made-up
    embeddings, decoders.
    """
    module = sweep(name)
    profile = module.PROFILES["smoke"].override(
        {"steps": "3", "size": "16", "decoder_steps": "2"}
    )
    packs = module.SWEEP.packs(module.SWEEP.plan(profile), "cpu")
    kinds = {}
    for pack in packs:
        cell = next(iter(pack.values()))
        kinds.setdefault((type(cell), *network(cell)), pack)
    recorder = Recorder("kind", "bound", "encoder", "statistics", "nuisance", "pool")
    for pack in kinds.values():
        module.SWEEP.trial(Pack(tuple(pack.values())), recorder)
    assert len(recorder.finals) >= len(kinds)
    for key, final in recorder.finals.items():
        figure = "decodable_bits at 2 bits" if key[0] == DECODING else "mse_bits2"
        assert math.isfinite(final[figure]), key


def test_unseen_pairs_go_through_the_encoder_of_the_training():
    """Networks and fixed statistics come from the training items only, whoever asks
    first.
    """
    module = sweep("layer_dependency")
    every_cell = list(
        module.cells(
            module.PROFILES["smoke"].override({"network_steps": "2", "size": "16"})
        )
    )
    for kind in (("resnet", "none"), ("realnvp", "fixed")):
        cell = next(cell for cell in every_cell if network(cell) == kind)
        unseen = source_of(cell, 2.0, HELD_OUT)
        training = source_of(cell, 2.0)
        x, _ = training.source.sample(4, torch.Generator().manual_seed(0))
        assert torch.equal(training.encoder(x), unseen.encoder(x))
        assert unseen.source.pool.name != training.source.pool.name


def test_planning_fine_tunes_nothing(tmp_path):
    module = sweep("embedding_networks")
    plan = module.SWEEP.plan(module.PROFILES["smoke"])
    assert {module.SWEEP.tags_of(cell)["infoscope.data"] for cell in plan.values()} == {
        "small-distilbert (synthetic)"
    }
    assert not (tmp_path / "runs" / "encoders").exists()
