"""Networks as arrays, training and calibration on left-out families, readers as files and modules; made-up figures."""

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.random import default_rng
from numpy.testing import assert_allclose
from pytest import approx

from infoscope.estimators.reading import figures, reader, simulated, training
from infoscope.estimators.reading.module import ReaderModule
from infoscope.estimators.reading.networks import Networks, Prediction
from tests.refusals import refused

FAMILIES = ("linear", "curved", "nothing")
SETS = 450


def of_known_error(noise=0.05, sets=SETS, seed=0):
    """Data sets whose figures are the true information with noise."""
    generator = default_rng(seed)
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
    return training.train(of_known_error(), default_rng(0))


def test_a_network_has_the_components_of_its_members_in_numpy():
    generator = default_rng(0)
    rows = generator.normal(size=(300, 6))
    rows[generator.random(rows.shape) < 0.1] = np.nan
    target = np.nan_to_num(rows[:, 0])
    wanted = np.stack([target, target > 1], axis=1)
    network = training.fitted(rows, wanted, 2, default_rng(1))
    predicted = network(rows)
    mean = (predicted.weights * predicted.centres).sum(axis=1)
    some = target <= 1
    assert np.corrcoef(mean[some], target[some])[0, 1] > 0.9
    members = [Networks(network.inputs, [(w[[at]], b[[at]]) for w, b in network.layers])(rows) for at in range(2)]
    assert_allclose(predicted.centres, np.hstack([member.centres for member in members]), atol=1e-5)
    assert_allclose(predicted.weights.sum(axis=1), 1.0)
    assert_allclose(predicted.nothing, np.mean([member.nothing for member in members], axis=0), atol=1e-5)
    again = training.fitted(rows, wanted, 2, default_rng(1))(rows)
    assert_allclose(predicted.centres, again.centres, atol=1e-4)  # the same generator


def test_quantiles_follow_the_noise_above_and_below_and_the_frequency_of_no_information():
    generator = default_rng(0)
    rows = generator.normal(size=(2000, 3))
    noise = np.abs(generator.normal(size=2000))
    above = generator.random(2000) < 0.5
    wanted = np.where(above, np.exp(rows[:, 1]), -0.3) * noise
    predicted = training.fitted(rows, np.stack([wanted, rows[:, 2] > 1], axis=1), 1, generator)(rows)
    least = np.full(2000, -9.0)
    low, high = predicted.quantile(-2.0, least), predicted.quantile(2.0, least)
    something = rows[:, 2] < 0.5
    assert np.corrcoef(np.log(high[something]), rows[something, 1])[0, 1] > 0.9
    assert low[something].min() > -1.0
    assert predicted.nothing[rows[:, 2] > 1.5].min() > 0.5 > predicted.nothing[rows[:, 2] < 0.5].max()


def of_components(nothing, rows=1):
    """A prediction of two logistic components."""
    parts = [0.3, 0.7], [-0.5, 1.0], [0.1, 0.4]
    return Prediction(*(np.tile(part, (rows, 1)) for part in parts), np.full(rows, nothing))


@pytest.mark.parametrize("nothing", [0.0, 0.2, 0.9])
@pytest.mark.parametrize("log_odds", [-3.0, 0.0, 3.0])
def test_quantiles_are_those_of_draws(nothing, log_odds):
    generator = default_rng(0)
    predicted, least = of_components(nothing), np.array([-9.0])
    component = generator.choice(2, 200_000, p=predicted.weights[0])
    draws = generator.logistic(predicted.centres[0, component], predicted.scales[0, component])
    draws = np.where(generator.random(len(draws)) < nothing, -9.0, draws)
    share = 1 / (1 + np.exp(-log_odds))
    quantile = predicted.quantile(log_odds, least)
    assert np.mean(draws <= quantile) == approx(max(share, nothing), abs=0.004)
    if share > nothing:
        assert predicted.log_odds(quantile) == approx(log_odds, abs=1e-6)


def test_the_likelihood_is_that_of_the_mixture_and_of_nothing():
    outputs = torch.tensor([[np.log(0.3), np.log(0.7), -0.5, 1.0, np.log(0.1), np.log(0.4), -1.0]])
    places, step = np.linspace(-8, 12, 20_001, retstep=True)
    wanted = torch.tensor(np.stack([places, np.zeros_like(places)], axis=1))
    densities = torch.exp(-torch.stack([training.negative_log_likelihood(outputs, row[None]) for row in wanted[::4]]))
    something = 1 - 1 / (1 + np.exp(1.0))
    assert float(densities.sum() * step * 4) == approx(something, abs=1e-4)
    nothing = training.negative_log_likelihood(outputs, torch.tensor([[5.0, 1.0]]))
    assert float(torch.exp(-nothing)) == approx(1 - something, abs=1e-6)


def test_where_nothing_is_more_probable_the_estimate_is_zero():
    rows = np.zeros((2, len(figures.NAMES)))
    rows[:, figures.NAMES.index(reader.BASELINE)] = 0.5
    some, none = (reader.interval(rows, of_components(nothing, 2), (0.5, 1.0)) for nothing in (0.01, 0.6))
    value, low, high = some
    assert (low > 0).all() and (low < value).all() and (value < high).all()
    assert none[0].max() == none[1].max() == 0 and (none[2] > 0).all()
    assert_allclose(reader.log_ratio(rows, value), of_components(0.01, 2).quantile(0.0, np.full(2, -9.0)))
    wider = reader.interval(rows, of_components(0.01, 2), (0.5, 1.0), level=0.999)
    assert (wider[1] < low).all() and (wider[2] > high).all()


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
    scores = np.sort(default_rng(0).random(2000))
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
        assert_allclose(value, [found.value, found.low, found.high])
    with refused("type", "range"):
        again(torch.as_tensor(new.figures), torch.tensor([9]))


def test_files_of_simulated_data_sets(tmp_path):
    of = of_known_error(sets=20)
    of.save(tmp_path / "a.parquet")
    of.where(np.arange(20) < 10).save(tmp_path / "b.parquet")
    found = simulated.load([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    assert_allclose(found.figures, of.figures, rtol=2**-simulated.BITS)  # rounded
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
