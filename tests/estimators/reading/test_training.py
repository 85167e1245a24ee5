"""Networks as arrays, training and calibration on left-out families, readers as files
and modules; made-up figures.
"""

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.random import default_rng
from numpy.testing import assert_allclose, assert_array_equal
from pytest import approx

from infoscope.estimators.reading import figures, reader, simulated, training
from infoscope.estimators.reading.module import ReaderModule
from infoscope.estimators.reading.networks import Networks, Prediction
from tests.refusals import refused

FAMILIES = ("linear", "curved", "nothing")
SETS = 450
BASELINE = figures.NAMES.index(reader.BASELINE)


def simulated_sets(sets=SETS, seed=0):
    """Data sets whose figures are the true information with noise of 5 %."""
    rng = default_rng(seed)
    truth = rng.gamma(1.0, 0.6, sets) * (rng.random(sets) > 0.15)
    rows = rng.normal(size=(sets, len(figures.NAMES)))
    rows[:, BASELINE] = truth * (1 + 0.05 * rng.normal(size=sets)) + 0.002
    rows[:, figures.NAMES.index("chao_shen")] = np.nan
    number = np.arange(sets)
    families = []
    for place in number:
        family = FAMILIES[place % 3]
        if place % 5 == 0 and family != "linear":
            family += "+linear"
        families.append(family)
    facts = {
        "number": number,
        "n": 500,
        "type": np.where(number % 4, "numbers", "labels"),
        "families": families,
        "columns_x": 1,
        "columns_y": 1,
        "tied": False,
        "idle": 0,
        "truth": truth,
        "truth_error": 0.0,
    }
    return simulated.Simulated(pd.DataFrame(facts), rows.astype(np.float32))


@pytest.fixture(scope="module")
def trained():
    """A reader, and what it reads of the families that were left out."""
    return training.train(simulated_sets(), default_rng(0))


def test_a_network_has_the_components_of_its_members_in_numpy():
    rng = default_rng(0)
    rows = rng.normal(size=(300, 6))
    rows[rng.random(rows.shape) < 0.1] = np.nan
    target = np.nan_to_num(rows[:, 0])
    is_nothing = target > 1
    wanted = np.column_stack([target, is_nothing])
    network = training.fitted(rows, wanted, 2, default_rng(1))
    predicted = network(rows)
    mean = (predicted.weights * predicted.centres).sum(axis=1)
    assert np.corrcoef(mean[~is_nothing], target[~is_nothing])[0, 1] > 0.9
    members = []
    for place in range(2):
        layers = [(weight[[place]], bias[[place]]) for weight, bias in network.layers]
        member = Networks(network.inputs, layers)
        members.append(member(rows))
    first, second = members
    centres = np.hstack([first.centres, second.centres])
    assert_allclose(predicted.centres, centres, atol=1e-5)
    nothing = (first.nothing + second.nothing) / 2
    assert_allclose(predicted.nothing, nothing, atol=1e-5)
    assert_allclose(predicted.weights.sum(axis=1), 1.0)
    again = training.fitted(rows, wanted, 2, default_rng(1))(rows)
    assert_allclose(predicted.centres, again.centres, atol=1e-4)


def two_components(nothing, rows=1):
    """A prediction of two logistic components."""
    parts = [np.tile(part, (rows, 1)) for part in ([0.3, 0.7], [-0.5, 1.0], [0.1, 0.4])]
    return Prediction(*parts, np.full(rows, nothing))


@pytest.mark.parametrize(
    ("nothing", "log_odds"),
    [(0.0, -3.0), (0.0, 3.0), (0.2, 0.0), (0.9, 0.0), (0.9, 3.0)],
)
def test_quantiles_are_those_of_draws(nothing, log_odds):
    rng = default_rng(0)
    predicted = two_components(nothing)
    component = rng.choice(2, 200_000, p=predicted.weights[0])
    centres = predicted.centres[0, component]
    scales = predicted.scales[0, component]
    draws = rng.logistic(centres, scales)
    draws[rng.random(200_000) < nothing] = -9.0
    share = 1 / (1 + np.exp(-log_odds))
    quantile = predicted.quantile(log_odds, np.array([-9.0]))
    assert np.mean(draws <= quantile) == approx(max(share, nothing), abs=0.004)
    if share > nothing:
        assert predicted.log_odds(quantile) == approx(log_odds, abs=1e-6)


def test_the_likelihood_is_that_of_the_mixture_and_of_nothing():
    """Integrated over the values of something, and of nothing: their probabilities."""
    logits = np.log([0.3, 0.7])
    log_scales = np.log([0.1, 0.4])
    outputs = torch.tensor([[*logits, -0.5, 1.0, *log_scales, -1.0]])
    values, step = np.linspace(-8, 12, 5001, retstep=True)

    def likelihood(value, is_nothing):
        target = torch.tensor([[value, is_nothing]])
        loss = training.negative_log_likelihood(outputs, target)
        return float(torch.exp(-loss))

    integral = step * sum(likelihood(value, 0.0) for value in values)
    nothing = 1 / (1 + np.exp(1.0))
    assert integral == approx(1 - nothing, abs=1e-4)
    assert likelihood(5.0, 1.0) == approx(nothing, abs=1e-6)


def test_where_nothing_is_more_probable_the_estimate_is_zero():
    rows = np.zeros((2, len(figures.NAMES)))
    rows[:, BASELINE] = 0.5
    probable = two_components(0.01, 2)
    value, low, high = reader.interval(rows, probable, (0.5, 1.0))
    assert (low > 0).all()
    assert (low < value).all()
    assert (value < high).all()
    quantile = probable.quantile(0.0, np.full(2, -9.0))
    assert_allclose(reader.log_ratio(rows, value), quantile)
    _, lower, higher = reader.interval(rows, probable, (0.5, 1.0), level=0.999)
    assert (lower < low).all()
    assert (higher > high).all()
    value, low, high = reader.interval(rows, two_components(0.6, 2), (0.5, 1.0))
    assert value.max() == low.max() == 0
    assert (high > 0).all()


def test_intervals_cover_families_that_were_left_out(trained):
    _, held_out = trained
    assert len(held_out) == SETS
    assert held_out["covered"].mean() > 0.93
    assert (held_out["low"] >= 0).all()
    assert (held_out["low"] <= held_out["value"]).all()
    assert (held_out["value"] <= held_out["high"]).all()


def test_a_family_is_read_without_all_its_distributions():
    sets = simulated_sets()
    without = training.without(sets, ["linear"])
    for families, in_training in zip(sets.families, without):
        assert ("linear" in families) != in_training
    main_families = training.own_family(sets)
    for family, families in zip(main_families, sets.families):
        assert family in families
    is_nothing = main_families == training.NOTHING
    held_out = training.held_out_family(sets)
    assert set(held_out[is_nothing]) == {"linear", "curved"}  # of no family: with any
    assert_array_equal(held_out[~is_nothing], main_families[~is_nothing])


def test_figures_far_from_all_simulated_are_grade_c(trained):
    far = ("log_rows", "tied_more", "local_spread")
    row = simulated_sets(sets=1, seed=3).figures[0].copy()
    row[[figures.NAMES.index(name) for name in far]] = 1000.0
    reading = trained[0].read(row, "numbers")
    assert reading.grade == "C"
    assert set(reading.unusual) & set(far)


def test_the_conformal_quantile_covers_with_confidence():
    scores = np.sort(default_rng(0).random(2000))
    quantile = training.upper_quantile(scores, np.nan)
    assert 0.975 < quantile < 0.987
    assert quantile in scores
    # too few for a quantile of their own
    assert training.upper_quantile(scores[:10], 3.0) == 3.0


def test_coverage_is_sure_or_it_is_not():
    """Clopper-Pearson: of 45 without a miss the lower 90 % limit is .95; of 100, 2
    misses leave it below.
    """
    set_number = np.arange(200)
    families = set_number % 5
    assert training.covers(np.ones(45, bool), families[:45])
    assert not training.covers(np.ones(44, bool), families[:44])
    assert not training.covers(set_number[:100] >= 2, families[:100])
    assert training.covers(set_number >= 5, families)


def test_coverage_is_not_sure_where_all_misses_are_of_one_family():
    """4 % of 2,000 are missed: over all of 20 families, or all in one of them."""
    set_number = np.arange(2000)
    families = set_number // 100
    assert training.covers(set_number % 100 >= 4, families)
    assert not training.covers(set_number >= 80, families)
    # no evidence on other families
    assert not training.covers(np.ones(500, bool), np.zeros(500, int))


def test_saved_and_logged_readers_read_alike(trained, tmp_path):
    of_training = trained[0]
    of_training.save(tmp_path / "reader.npz")
    saved = reader.load(tmp_path / "reader.npz")
    module = ReaderModule.of(of_training)
    logged = ReaderModule(**module.config)
    logged.load_state_dict(module.state_dict())
    rows = simulated_sets(sets=5, seed=9).figures
    place = of_training.card["types"].index("numbers")
    values = logged(torch.as_tensor(rows), torch.tensor([place])).numpy()
    for row, value in zip(rows, values):
        reading = of_training.read(row, "numbers")
        assert reading == saved.read(row, "numbers")
        assert_allclose(value, [reading.value, reading.low, reading.high])
    with refused("type", "range"):
        logged(torch.as_tensor(rows), torch.tensor([9]))


def test_files_of_simulated_data_sets(tmp_path):
    sets = simulated_sets(sets=20)
    first = tmp_path / "a.parquet"
    second = tmp_path / "b.parquet"
    sets.where(np.arange(20) < 10).save(first)
    sets.where(np.arange(20) >= 10).save(second)
    both = simulated.load([first, second])
    assert_allclose(both.figures, sets.figures, rtol=2**-simulated.BITS)  # rounded
    assert both.families == sets.families


@pytest.mark.parametrize("read", [lambda path: simulated.load([path]), reader.load])
def test_other_files_are_refused(read, tmp_path):
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    (tmp_path / "text.npz").write_text("no archive")
    np.savez(
        tmp_path / "pickled.npz", text=np.array([{}], dtype=object), allow_pickle=True
    )
    for name in ("other", "text", "pickled"):
        with refused("path", "file"):
            read(tmp_path / f"{name}.npz")
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "missing.npz")


@pytest.mark.parametrize(("pair", "estimates", "shared"), [
    ("numbers", (1.9, 2.1), False),
    ("numbers", (0.0, 1.9), True),
    ("series of numbers", (0.09, 3.0), True),
])  # fmt: skip
def test_weak_and_strong_estimates_of_rows_share_only_the_widest_cell(
    pair, estimates, shared
):
    rows = simulated_sets(sets=2).figures.astype(float)
    weak, strong = reader.nested_cells(rows, [pair, pair], np.array(estimates))
    assert weak[-1] == strong[-1]
    assert (weak[-2] == strong[-2]) is shared
