"""Tables of known information: closed forms, large samples, and what is drawn."""

import math

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng
from pytest import approx

from infoscope.data.tasks.tables import CHANNELS, EFFECTS, TABLES, KnownTable
from tests.data.common import plug_in

DISCRETE = ("levels", "halves", "counts", "spikes", "labels", "sites")


def table(effects, channels, n=100_000, **settings):
    """A table with a column for each channel (source, kind)."""
    columns = {f"c{place}": channel for place, channel in enumerate(channels)}
    return KnownTable(n, columns, effects, **settings)


def sampled(known_table):
    return known_table.sample(default_rng(0))


@pytest.mark.parametrize("weights", [[1.0], [0.6, 0.8], [0.3, 0.3, 0.3]])
def test_one_of_several_linear_effects(weights):
    """log(1 + w^2 / (1 + sum of the others' squares)) / 2, whatever increasing map
    shows the source.
    """
    effects = {}
    for source, weight in enumerate(weights):
        effects[source] = ("line", weight)
    known_table = table(effects, [(0, "normal"), (0, "skewed"), (0, "tails")])
    first, *others = np.square(weights)
    truth = math.log1p(first / (1 + sum(others))) / 2
    for nats in known_table.information().values():
        assert nats == approx(truth, rel=0.01)


@pytest.mark.parametrize("name", ["normal", "skewed", "tails", "angle"])
def test_columns_without_noise_are_increasing_maps_of_their_source(name):
    levels = np.linspace(0.001, 0.999, 999)
    column = CHANNELS[name].draw(levels, default_rng(0))
    assert (np.diff(column) > 0).all()


@pytest.mark.parametrize(("channel", "sd"), [("noisy", 0.5), ("blurred", 1.0)])
def test_noise_on_a_column_is_noise_on_a_correlation(channel, sd):
    known_table = table({0: ("line", 0.8)}, [(0, channel)])
    explained = 0.8**2 / (1 + 0.8**2)
    squared = explained / (1 + sd**2)
    truth = -math.log1p(-squared) / 2
    assert known_table.information()["c0"] == approx(truth, rel=0.01)


@pytest.mark.parametrize("form", EFFECTS)
def test_information_of_discrete_columns_is_that_of_a_large_sample(form):
    channels = [(0, channel) for channel in DISCRETE]
    channels.append((1, "sites"))
    effects = {0: (form, 0.7), 1: ("line", 0.4)}
    known_table = table(effects, channels, 200_000, label=True)
    sample, _ = sampled(known_table)
    target, _ = pd.factorize(sample["target"])
    for name, truth in known_table.information().items():
        codes, _ = pd.factorize(sample[name])
        assert plug_in(codes, target) == approx(truth, abs=0.004), name


@pytest.mark.parametrize("form", EFFECTS.values(), ids=EFFECTS)
def test_effects_have_mean_0_and_variance_1(form):
    values = form(np.linspace(0, 1, 200_001)[1:-1])
    assert values.mean() == approx(0, abs=0.003)
    assert values.var() == approx(1, abs=0.003)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_drawn_as_it_is_stated(name):
    known_table = TABLES[name]
    information = known_table.information()
    assert list(information) == known_table.relevant
    assert all(nats > 0 for nats in information.values())
    assert set(known_table.spare) <= set(information)
    assert bool(known_table.spare) == (name in ("redundant-small", "grouped"))
    sample, groups = sampled(known_table)
    again, _ = sampled(known_table)
    pd.testing.assert_frame_equal(sample, again)
    assert list(sample) == [*known_table.columns, "target"]
    assert len(sample) == known_table.n
    assert sample.notna().all(axis=None)
    assert (groups is None) != known_table.grouped
    for column in known_table.angles:
        assert sample[column].between(0, 360).all()


def test_rows_of_a_group_are_alike_and_others_are_not():
    known_table = table({0: ("line", 1.0)}, [(0, "normal")], 200_000, grouped=True)
    sample, groups = sampled(known_table)
    assert (np.bincount(groups) == 5).all()
    scores = sample["c0"].to_numpy().reshape(-1, 5)
    assert scores.std() == approx(1, abs=0.02)
    first, second, *_ = scores.T
    within_groups = np.corrcoef(first, second)[0, 1]
    between_groups = np.corrcoef(first[:-1], first[1:])[0, 1]
    assert within_groups == approx(0.3, abs=0.02)
    assert between_groups == approx(0, abs=0.02)
