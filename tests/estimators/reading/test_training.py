"""Networks as arrays, training and calibration on left-out families, readers as files and modules; made-up figures."""

import numpy as np
import pandas as pd
import pytest
import torch

from infoscope.estimators.reading import figures, reader, simulated, training
from infoscope.estimators.reading.module import ReaderModule
from infoscope.estimators.reading.networks import DEGREES, Networks, Prediction
from tests.refusals import refused

FAMILIES = ("linear", "curved", "nothing")
SETS = 450


def of_known_error(noise=0.05, sets=SETS, seed=0):
    """Data sets whose figures are the true information with noise."""
    generator = np.random.default_rng(seed)
    truth = generator.gamma(1.0, 0.6, sets) * (generator.random(sets) > 0.15)
    rows = generator.normal(size=(sets, len(figures.NAMES)))
    rows[:, figures.NAMES.index(reader.BASELINE)] = truth * (1 + noise * generator.normal(size=sets)) + 0.002
    rows[:, figures.NAMES.index("chao_shen")] = np.nan
    facts = pd.DataFrame({
        "number": np.arange(sets), "n": 500, "type": np.where(np.arange(sets) % 4, "numbers", "labels"),
        "families": [FAMILIES[place % 3] + "+linear" * (place % 5 == 0 and place % 3 > 0) for place in range(sets)],
        "columns_x": 1, "columns_y": 1, "tied": False, "idle": 0, "truth": truth, "truth_error": 0.0,
    })  # fmt: skip
    return simulated.Simulated(facts, rows.astype(np.float32))


@pytest.fixture(scope="module")
def trained():
    return training.train(of_known_error(), np.random.default_rng(0))


def test_a_network_is_the_mean_of_its_members_in_numpy():
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(300, 6))
    rows[generator.random(rows.shape) < 0.1] = np.nan
    target = np.nan_to_num(rows[:, 0])
    wanted = np.stack([target, target > 1], axis=1)
    network = training.fitted(rows, wanted, 2, np.random.default_rng(1))
    mode = network(rows).mode
    assert np.corrcoef(mode, target)[0, 1] > 0.9
    alone = [Networks(network.inputs, [(w[[one]], b[[one]]) for w, b in network.layers])(rows) for one in range(2)]
    np.testing.assert_allclose(mode, np.mean([one.mode for one in alone], axis=0), atol=1e-5)
    apart = np.abs(alone[0].mode - alone[1].mode) / 2
    wider = np.hypot(np.sqrt(alone[0].below * alone[1].below), apart)  # by what they differ
    np.testing.assert_allclose(network(rows).below, wider, rtol=1e-3)
    again = training.fitted(rows, wanted, 2, np.random.default_rng(1))(rows).mode
    np.testing.assert_allclose(mode, again, atol=1e-4)  # the same generator


def test_scales_follow_the_noise_above_and_below_and_the_frequency_of_no_information():
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(2000, 3))
    noise = np.abs(generator.normal(size=2000))
    above = generator.random(2000) < 0.5
    wanted = np.where(above, np.exp(rows[:, 1]), -0.3) * noise
    predicted = training.fitted(rows, np.stack([wanted, rows[:, 2] > 1], axis=1), 1, generator)(rows)
    assert np.corrcoef(np.log(predicted.above), rows[:, 1])[0, 1] > 0.9
    assert predicted.below.mean() < 0.6
    assert predicted.nothing[rows[:, 2] > 1.5].min() > 0.5 > predicted.nothing[rows[:, 2] < 0.5].max()


@pytest.mark.parametrize("below, above", [(0.2, 0.2), (0.1, 0.7), (2.0, 0.3)])
def test_the_median_halves_the_distribution(below, above):
    """Of draws: a variable by its share of the scales, then half of a Student t."""
    generator = np.random.default_rng(0)
    sizes = np.abs(generator.standard_t(DEGREES, 200_000))
    draws = 1.0 + np.where(generator.random(len(sizes)) < below / (below + above), -below, above) * sizes
    predicted = Prediction(*(np.array([value]) for value in (1.0, below, above, 0.0)))
    assert np.mean(draws < predicted.median()) == pytest.approx(0.5, abs=0.005)


def test_where_no_information_is_more_probable_the_estimate_is_zero():
    parts = np.array([0.1, 0.1]), np.full(2, 0.1), np.full(2, 0.2), np.array([0.4, 0.6])
    rows = np.zeros((2, len(figures.NAMES)))
    rows[:, figures.NAMES.index(reader.BASELINE)] = 0.5
    value, low, high = reader.interval(rows, Prediction(*parts), (2.0, 2.0))
    assert low[0] > 0 and value[1] == low[1] == 0 and high[0] == high[1] > value[0]
    assert value[0] == pytest.approx(0.55 * np.exp(Prediction(*parts).median()[0]) - 0.05)


def test_intervals_cover_families_that_were_left_out(trained):
    held_out = trained[1]
    assert len(held_out) == SETS
    assert held_out["covered"].mean() > 0.93
    assert (held_out["low"] <= held_out["value"]).all() and (held_out["value"] <= held_out["high"]).all()
    assert (held_out["low"] >= 0).all()


def test_a_family_is_read_without_all_its_distributions():
    of = of_known_error()
    without = training.without(of, ["linear"])
    assert not any("linear" in families for families, kept in zip(of.families, without) if kept)
    assert all("linear" in families for families, kept in zip(of.families, without) if not kept)
    own = training.own_family(of)
    assert all(family in families for family, families in zip(own, of.families))
    nothing = own == training.NOTHING
    assert set(training.held_out_family(of)[nothing]) == {"linear", "curved"}  # of no family: with any
    np.testing.assert_array_equal(training.held_out_family(of)[~nothing], own[~nothing])


def test_figures_far_from_all_simulated_are_grade_c(trained):
    row = of_known_error(sets=1, seed=3).figures[0].copy()
    row[[figures.NAMES.index(name) for name in ("log_rows", "tied_more", "local_spread")]] = 1000.0
    found = trained[0].read(row, "numbers")
    assert found.grade == "C" and set(found.unusual) & {"log_rows", "tied_more", "local_spread"}


def test_the_conformal_quantile_covers_with_confidence():
    scores = np.sort(np.random.default_rng(0).random(2000))
    found = training.upper_quantile(scores, np.nan)
    assert 0.975 < found < 0.987 and found in scores
    assert training.upper_quantile(scores[:10], 3.0) == 3.0  # too few for a quantile of their own


def test_coverage_is_sure_or_it_is_not():
    """Clopper-Pearson: of 45 without a miss the lower 90 % limit is .95; of 100, 2 misses leave it below."""
    families = np.arange(200) % 5
    assert training.covers(np.ones(45, bool), families[:45])
    assert not training.covers(np.ones(44, bool), families[:44])
    assert not training.covers(np.arange(100) >= 2, families[:100]) and training.covers(np.arange(200) >= 5, families)


def test_coverage_is_not_sure_where_all_misses_are_of_one_family():
    """4 % of 2,000 are missed: over all of 20 families, or all in one of them."""
    families, places = np.repeat(np.arange(20), 100), np.arange(2000)
    assert training.covers(places % 100 >= 4, families)
    assert not training.covers(places >= 80, families)
    assert not training.covers(np.ones(500, bool), np.zeros(500, int))  # of other families nothing is known


def test_saved_and_logged_readers_read_alike(trained, tmp_path):
    of = trained[0]
    of.save(tmp_path / "reader.npz")
    module = ReaderModule.of(of)
    again = ReaderModule(**module.config)
    again.load_state_dict(module.state_dict())
    new = of_known_error(sets=5, seed=9)
    place = of.card["types"].index("numbers")
    values = again(torch.as_tensor(new.figures), torch.tensor([place])).numpy()
    for row, value in zip(new.figures, values):
        found = of.read(row, "numbers")
        assert found == reader.load(tmp_path / "reader.npz").read(row, "numbers")
        np.testing.assert_allclose(value, [found.value, found.low, found.high])
    with refused("type", "range"):
        again(torch.as_tensor(new.figures), torch.tensor([9]))


def test_files_of_simulated_data_sets(tmp_path):
    of = of_known_error(sets=20)
    of.save(tmp_path / "a.parquet")
    of.where(np.arange(20) < 10).save(tmp_path / "b.parquet")
    found = simulated.load([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    np.testing.assert_allclose(found.figures, of.figures, rtol=2**-simulated.BITS)  # rounded
    assert found.families == of.families and len(found) == 20


@pytest.mark.parametrize("read", [lambda path: simulated.load([path]), reader.load])
def test_other_files_are_refused(read, tmp_path):
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    (tmp_path / "text.npz").write_text("no archive")
    np.savez(tmp_path / "pickled.npz", text=np.array([{}], dtype=object), allow_pickle=True)
    for name in ("other", "text", "pickled"):
        with refused("path", "file"):
            read(tmp_path / f"{name}.npz")
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "missing.npz")
