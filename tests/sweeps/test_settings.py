"""Every setting of every sweep, given a value that it cannot have: one sentence, before anything is recorded."""

import importlib
from pathlib import Path

import pandas as pd
import pytest

from infoscope.tracking.status import module_of
from infoscope.tracking.sweep import Sweep
from sweeps.disentanglement import entanglement_attacks, vae_zoo

FOLDER = Path(vae_zoo.__file__).parents[1]
NAMES = sorted(path.stem for path in FOLDER.glob("*/*.py") if "\nSWEEP = " in path.read_text())
LABELS = ("source", "zoo")  # under which other sweeps have recorded: whatever they are called


def wrong(value, is_range=False):
    """What a setting with this value cannot be."""
    if isinstance(value, tuple):
        good = str(value[0])
        yield from (bad for one in wrong(value[0]) for bad in (one, f"{good},{one}"))
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
        from infoscope.tracking.scheduling.search import SearchState

        return SearchState(sweep, profile)
    return sweep.plan(profile)


@pytest.fixture
def zoo(monkeypatch):
    """Logged autoencoders to attack."""
    told = {"key": "abc", "start": pd.Timestamp("2026-01-01"), "version": "1", "diverged": 0.0, "unibound": 1.0}
    runs = [cell | told for cell in vae_zoo.SWEEP.plan(vae_zoo.SWEEP.profile("smoke")[1]).values()]
    monkeypatch.setattr(entanglement_attacks, "zoo_runs", lambda label: pd.DataFrame(runs))


@pytest.mark.parametrize("name", NAMES)
def test_a_value_that_a_setting_cannot_have_is_one_sentence(name, zoo):
    sweep = importlib.import_module(module_of(name)).SWEEP
    assert isinstance(sweep, Sweep)
    accepted = []
    for setting, value in sweep.profiles["smoke"]._settings.items():
        for bad in () if setting in LABELS else wrong(value, setting in sweep.ranges):
            try:
                planned(sweep, {setting: bad})
            except ValueError as error:
                told = str(error)
                word = bad.split(",")[-1]
                if len(told.splitlines()) > 1 or not (setting in told or word and word in told):
                    accepted.append(f"{setting}={bad}: {told}")
            else:
                accepted.append(f"{setting}={bad} is taken")
    assert not accepted


def test_no_sweep_is_missed():
    assert len(NAMES) > 15 and {"tune_critic", "information_sources"} <= set(NAMES)


@pytest.mark.parametrize(
    ("name", "settings", "told"),
    [
        ("tune_critic", {"widths": "64"}, "setting widths must be a lowest and a highest value, as in 1,2, got '64'"),
        ("tune_critic", {"widths": "64,16"}, "must be a lowest and a highest value"),
        (
            "information_sources",
            {"panels": "ful"},
            "unknown 'ful' in setting panels; valid are 1-bit, half, full, nats",
        ),
        ("information_sources", {"panels": "full,ful"}, "unknown 'ful' in setting panels"),
        ("information_sources", {"panels": "nats", "domains": "text"}, "has no cells under these settings"),
        ("information_sources", {"numbers": "2", "domains": "images"}, "has no cells under these settings"),
        (
            "critic_capacity",
            {"studies": "depth,wide"},
            "unknown 'wide' in setting studies; valid are depth, separable-",
        ),
        ("known_laws", {"methods": "ksg,ks"}, "unknown 'ks' in setting methods; valid are all, ksg"),
        ("known_laws", {"collections": "others"}, "unknown 'others' in setting collections; valid are beyond-normal"),
        ("embedding_networks", {"text": "imbd"}, "unknown pool 'imbd' for text; valid are auto, imdb-bert"),
        ("vae_zoo", {"seeds": "0,1,0"}, "setting seeds is '0,1,0'; it can list every value only once"),
    ],
)
def test_what_it_must_be_is_said(name, settings, told):
    with pytest.raises(ValueError) as raised:
        planned(importlib.import_module(module_of(name)).SWEEP, settings)
    assert told in str(raised.value)


def test_a_range_of_one_value_is_one():
    planned(importlib.import_module("sweeps.mi_benchmark.tune_critic").SWEEP, {"depths": "2,2", "widths": "8,16"})
