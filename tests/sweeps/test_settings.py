"""Every setting of every sweep, given a value that it cannot have: one sentence, before
anything is recorded.
"""

import functools
import importlib
from pathlib import Path

import pandas as pd
import pytest

from infoscope.tracking.registry import module_of
from infoscope.tracking.sweep import Sweep, plain
from sweeps.disentanglement import entanglement_attacks, vae_zoo
from tests.refusals import refused

FOLDER = Path(vae_zoo.__file__).parents[1]
NAMES = sorted(
    path.stem for path in FOLDER.glob("*/*.py") if "\nSWEEP = " in path.read_text()
)
# under which other sweeps have recorded: whatever they are called
LABELS = ("source", "zoo")


def wrong(value, is_range=False):
    """What a setting with this value cannot be."""
    if isinstance(value, tuple):
        good = str(value[0])
        yield from (f"{good},{one}" for one in wrong(value[0]))
        yield from (good, "9,8") if is_range else (f"{good},{good}",)
    elif isinstance(value, bool):
        yield "maybe"
    elif isinstance(value, str):
        yield "nonsense"
    else:
        yield from ("-7", "x") if isinstance(value, int) else ("-7", "nan", "inf", "x")


def planned(sweep, settings):
    _, profile = sweep.profile("smoke", settings)
    if sweep.search and sweep.search.space:
        from infoscope.tracking.search import CellSearch

        return CellSearch(sweep, profile)
    return sweep.plan(profile)


@functools.cache
def logged():
    recorded = {
        "key": "abc",
        "start": pd.Timestamp("2026-01-01"),
        "version": "1",
        "diverged": 0.0,
        "unibound": 1.0,
    }
    return pd.DataFrame(
        [
            plain(cell) | recorded
            for cell in vae_zoo.SWEEP.plan(vae_zoo.SWEEP.profile("smoke")[1]).values()
        ]
    )


@pytest.fixture
def zoo(monkeypatch):
    """Logged autoencoders to attack."""
    monkeypatch.setattr(entanglement_attacks, "zoo_runs", lambda label: logged())


@pytest.mark.parametrize("name", NAMES)
def test_a_value_that_a_setting_cannot_have_is_one_sentence(name, zoo):
    sweep = importlib.import_module(module_of(name)).SWEEP
    assert isinstance(sweep, Sweep)
    accepted = []
    for setting, value in sweep.profiles["smoke"]:
        for bad in () if setting in LABELS else wrong(value, setting in sweep.ranges):
            try:
                planned(sweep, {setting: bad})
            except ValueError as error:
                message = str(error)
                word = bad.split(",")[-1]
                if len(message.splitlines()) > 1 or not (
                    setting in message or word and word in message
                ):
                    accepted.append(f"{setting}={bad}: {message}")
            else:
                accepted.append(f"{setting}={bad} is taken")
    assert not accepted


def test_no_sweep_is_missed():
    assert len(NAMES) > 15
    assert {"tune_critic", "information_sources"} <= set(NAMES)


CONFLICTING = [  # sweep, settings that a sweep of theirs alone forbids, argument, code
    ("critic_capacity", "schedule_bits=12", "mutual_information", "range"),
    ("critic_capacity", "batch=1", "batch", "range"),
    ("critic_capacity", "schedule_bits=,", "setting schedule_bits", "few"),
    ("dataset_difficulty", "encoders=huge-bert", "family", "name"),
    ("dataset_difficulty", "max_length=2", "max_length", "range"),
    ("dataset_difficulty", "quick_transformations=length", "transformation", "invalid"),
    ("dataset_difficulty", "embeddings=cola", "family", "name"),
    ("domain_partition", "base=mnist", "base", "invalid"),
    ("domain_partition", "held_out=6", "held_out", "name"),
    ("domain_partition", "selection=last patience=3", "patience", "invalid"),
    ("domain_partition", "sample=9999", "count", "range"),
    ("domain_partition", "sample=20", "validation and test", "few"),
    ("embedding_networks", "text=imbd", "pool of text", "name"),
    ("entanglement_attacks", "models=factor-vae", "models", "name"),
    ("independence", "permutations=18", "permutations", "range"),
    ("information_sources", "panels=full,ful", "setting panels", "name"),
    (
        "information_sources",
        "panels=nats domains=text",
        "sweep information-sources",
        "few",
    ),
    (
        "information_sources",
        "numbers=2 domains=images",
        "sweep information-sources",
        "few",
    ),
    ("known_laws", "laws=gaussian-3", "laws", "name"),
    ("known_laws", "sizes=10", "n", "range"),
    ("layer_dependency", "encoders=vae", "encoder", "name"),
    ("structure_learning", "sets=1", "sets", "range"),
    ("toy_model", "factors=1", "factors", "range"),
    ("tune_critic", "widths=64,16", "setting widths", "type"),
    ("usable_leakage", "studies=hiding items=10", "items", "range"),
    ("vae_zoo", "seeds=0,1,0", "setting seeds", "conflict"),
    ("vae_zoo", "latents=1", "latents", "range"),
    ("vae_zoo", "resolution=65", "image_shape", "shape"),
    ("vae_zoo", "resolution=68", "size", "range"),
]


@pytest.mark.parametrize("name, settings, argument, code", CONFLICTING)
def test_cells_that_cannot_be_run_are_found_before_anything_starts(
    name, settings, argument, code, zoo
):
    overrides = dict(word.split("=") for word in settings.split(" "))
    with refused(argument, code):
        planned(importlib.import_module(module_of(name)).SWEEP, overrides)


def test_a_range_of_one_value_is_one():
    planned(
        importlib.import_module("sweeps.mi_benchmark.tune_critic").SWEEP,
        {"depths": "2,2", "widths": "8,16"},
    )
