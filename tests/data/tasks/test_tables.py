"""Tables of known information: closed forms, large samples, and what is drawn."""

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from infoscope.data.tasks.tables import CHANNELS, EFFECTS, GRID, TABLES, KnownTable


def table(effects, channels, target="number", **settings):
    columns = {f"c{place}": one for place, one in enumerate(channels)}
    return KnownTable("made", 200_000, columns, effects, target, **settings)


@pytest.mark.parametrize("weights", [[1.0], [0.5], [0.6, 0.8], [0.3, 0.3, 0.3]])
def test_one_of_several_linear_effects(weights):
    """log(1 + w^2 / (1 + sum of the others' squares)) / 2, whatever increasing map shows the source."""
    effects = {source: ("line", weight) for source, weight in enumerate(weights)}
    made = table(effects, [(0, "normal"), (0, "skewed"), (0, "tails")])
    rest = sum(weight**2 for weight in weights[1:])
    truth = math.log1p(weights[0] ** 2 / (1 + rest)) / 2
    found = made.information()
    for name in made.columns:
        assert found[name, "target"] == pytest.approx(truth, rel=0.01)


@pytest.mark.parametrize(("channel", "sd"), [("noisy", 0.5), ("blurred", 1.0)])
def test_noise_on_a_column_is_noise_on_a_correlation(channel, sd):
    found = table({0: ("line", 0.8)}, [(0, channel), (0, "normal")]).information()
    squared = 0.8**2 / ((1 + 0.8**2) * (1 + sd**2))
    assert found["c0", "target"] == pytest.approx(-math.log1p(-squared) / 2, rel=0.01)
    assert found["c0", "c1"] == pytest.approx(math.log1p(1 / sd**2) / 2, rel=0.01)
    both = table({0: ("line", 0.8)}, [(0, channel), (0, channel)]).information()
    assert both["c0", "c1"] == pytest.approx(-math.log1p(-1 / (1 + sd**2) ** 2) / 2, rel=0.01)


def plugged_in(x, y):
    """Plug-in information of two discrete columns, nats, less its bias of first order."""
    joint = pd.crosstab(x, y).to_numpy() / len(x)
    expected = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    own = joint > 0
    bias = (joint.shape[0] - 1) * (joint.shape[1] - 1) / (2 * len(x))
    return (joint[own] * np.log(joint[own] / expected[own])).sum() - bias


@pytest.mark.parametrize("target", ["levels", "count", "label"])
@pytest.mark.parametrize("form", EFFECTS)
def test_discrete_pairs_are_those_of_a_large_sample(target, form):
    channels = [(0, "levels"), (0, "labels"), (0, "counts"), (0, "halves"), (1, "sites")]
    made = table({0: (form, 0.7), 1: ("line", 0.4)}, channels, target)
    sample, _ = made.sample(np.random.default_rng(0))
    for (x, y), truth in made.information().items():
        assert plugged_in(sample[x], sample[y]) == pytest.approx(truth, abs=0.004), (x, y)


def test_effects_have_mean_0_and_variance_1():
    for name, form in EFFECTS.items():
        values = form(np.linspace(0, 1, 200_001)[1:-1])
        assert values.mean() == pytest.approx(0, abs=0.003), name
        assert values.var() == pytest.approx(1, abs=0.003), name
        assert form(GRID).shape == GRID.shape


def test_channels_are_drawn_with_their_probabilities():
    u = np.full(100_000, GRID[250])
    for name, channel in CHANNELS.items():
        if channel.cells is None or channel.kind == "number":
            continue
        drawn = pd.Series(channel.draw(u, np.random.default_rng(0))).value_counts(normalize=True)
        chances = channel.cells(GRID[[250]])[0]
        assert np.sort(drawn)[::-1] == pytest.approx(np.sort(chances)[::-1][: len(drawn)], abs=0.01), name
        np.testing.assert_allclose(channel.cells(GRID).sum(axis=1), 1, atol=1e-3)  # counts end at 60


@pytest.mark.parametrize("name", TABLES)
def test_independent_pairs_are_not_there_and_copies_share_infinitely_much(name):
    made = TABLES[name]
    found = made.information()
    assert {column for column, other in found if other == "target"} == set(made.relevant)
    for pair in combinations(made.columns, 2):
        (one, first), (other, second) = (made.columns[column] for column in pair)
        copies = CHANNELS[first].cells is None and CHANNELS[second].cells is None
        assert (pair in found) == (one == other)
        assert found.get(pair, 1.0) > 0 and math.isinf(found.get(pair, 1.0)) == (copies and one == other)
    assert set(made.spare) <= set(made.relevant) and set(made.angles.values()) <= {360.0}


@pytest.mark.parametrize("name", TABLES)
def test_a_sample_has_its_columns_rows_and_holes(name):
    made = TABLES[name]
    sample, groups = made.sample(np.random.default_rng(0))
    again, _ = made.sample(np.random.default_rng(0))
    assert list(sample) == [*made.columns, "target"] and len(sample) == made.n
    pd.testing.assert_frame_equal(sample, again)
    assert sample.drop(columns="target").isna().to_numpy().mean() == pytest.approx(made.missing, abs=0.01)
    assert sample["target"].notna().all() and (groups is None) != made.grouped


def test_rows_of_a_group_are_alike_and_others_are_not():
    made = table({0: ("line", 1.0)}, [(0, "normal")], grouped=True)
    sample, groups = made.sample(np.random.default_rng(0))
    assert np.bincount(groups).tolist() == [5] * (made.n // 5)
    scores = sample["c0"].to_numpy().reshape(-1, 5)
    assert np.corrcoef(scores[:, 0], scores[:, 1])[0, 1] == pytest.approx(0.3, abs=0.02)
    assert np.corrcoef(scores[:-1, 0], scores[1:, 0])[0, 1] == pytest.approx(0, abs=0.02)
    assert scores.std() == pytest.approx(1, abs=0.02)
