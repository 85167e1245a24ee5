"""Processes of the prior: reproducible, stationary, with truths that a second route
confirms.
"""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from pytest import approx
from scipy import special, stats

from infoscope.data.prior import chain_processes, normal_processes, processes
from infoscope.data.prior.chains import Chain
from infoscope.data.prior.dynamics import COUPLING_SHARES, Coupling
from infoscope.data.prior.normal_processes import Autoregression
from infoscope.data.prior.processes import FAMILIES, TYPES, is_exact, process
from infoscope.data.prior.transitions import CountTransition, NumberTransition
from infoscope.data.prior.windows import NOTHING, Truth, Window, mixture_truth
from tests.data.common import plug_in

LN2 = np.log(2)


def generator(*seed):
    return np.random.default_rng([53, *seed])


def dynamics_of(family, coupling, *seed):
    maker = processes.MAKERS[family][0]
    return maker(coupling, generator(*seed))


@pytest.fixture(scope="module")
def ten_processes():
    return [process(number) for number in range(10)]


def test_the_same_number_gives_the_same_process(ten_processes):
    first = ten_processes[3]
    again = process(3)
    assert first.description == again.description
    assert first.truth == again.truth
    series = first.sample(60, generator())
    same_series = again.sample(60, generator())
    for variable, same in zip(series, same_series):
        assert_array_equal(variable.numbers, same.numbers)
        assert_array_equal(variable.labels, same.labels)


def test_processes_have_their_columns_types_and_accurate_truths(ten_processes):
    for example in ten_processes:
        assert example.family in FAMILIES
        assert example.type in TYPES
        assert example.coupling.kind in COUPLING_SHARES
        assert example.history >= 1
        assert is_exact(example.truth)
        assert np.isnan(example.memory) or 0 <= example.memory < 1
        samples = example.sample(50, generator(1))
        for sample, columns in zip(samples, example.columns):
            values = np.hstack([sample.numbers, sample.labels])
            assert values.shape == (50, columns)
            assert np.isfinite(values).all()
            if example.type == "counts":
                assert_array_equal(values, np.round(values))
                assert values.min() >= 0


@pytest.mark.parametrize(
    ("family", "drawn", "kind"),
    [
        ("counts", "driver", "forward"),
        ("linear", "driver", "driver"),
        ("regimes", "both", "driver"),
        ("regimes", "forward", "forward"),
    ],
)
def test_a_kind_of_coupling_that_a_family_lacks_is_replaced(family, drawn, kind):
    coupling = processes.available(Coupling(drawn, 0.5), family)
    assert coupling == Coupling(kind, 0.5)


def effective_rows(x, y):
    """Rows of independent values whose correlation has the variance of that of two
    series (Bartlett).
    """
    total = 1.0
    for lag in range(1, 200):
        of_x = np.corrcoef(x[:-lag], x[lag:])
        of_y = np.corrcoef(y[:-lag], y[lag:])
        total += 2 * of_x[0, 1] * of_y[0, 1]
    return len(x) / max(total, 1)


@pytest.mark.parametrize("family", FAMILIES)
def test_series_without_coupling_share_nothing(family):
    dynamics = dynamics_of(family, Coupling("none", 0.5), 2)
    assert dynamics.truth(generator(3)) == NOTHING
    series_x, series_y = dynamics.draw(4_000, generator(4))
    x = series_x[:, 0]
    y = series_y[:, 0]
    correlation = np.corrcoef(x[:-1], y[1:])[0, 1]
    assert abs(correlation) < 4.5 / np.sqrt(effective_rows(x, y))


CHAINS = ("threshold", "nonlinear", "volatility", "counts", "events", "labels", "mixed")


def batches_of_both_ends(family):
    """Values [batches, values] of y from early and from late times: of one long chain,
    or of 150 short series.
    """
    dynamics = dynamics_of(family, Coupling("both", 0.4), 5)
    if family in CHAINS:
        _, y = dynamics.draw(6_000, generator(6))
        early, late = np.split(y[:, 0], 2)
        return early.reshape(20, -1), late.reshape(20, -1)
    series = []
    for seed in range(150):
        _, y = dynamics.draw(12, generator(6, seed))
        series.append(y[:, 0])
    series = np.stack(series)
    return series[:, [0]], series[:, [-1]]


@pytest.mark.parametrize(
    "family", [*CHAINS, "linear", "long_memory", "seasonal", "regimes"]
)
def test_series_have_the_same_moments_at_early_and_at_late_times(family):
    """Means and variances, within 4.5 standard errors."""
    early, late = batches_of_both_ends(family)
    centre = early.mean()
    for moment in (1, 2):
        first = ((early - centre) ** moment).mean(axis=1)
        last = ((late - centre) ** moment).mean(axis=1)
        error = np.sqrt(first.var() / len(first) + last.var() / len(last))
        assert abs(first.mean() - last.mean()) < 4.5 * error


# --- normal processes ------------------------------------------------------------------------------------------------
def log_residual_variance(target, predictors):
    """Logarithm of the variance that a linear regression leaves."""
    residual = target - target.mean()
    if predictors:
        design = np.stack(predictors, axis=1)
        design = design - design.mean(axis=0)
        weights, *_ = np.linalg.lstsq(design, residual, rcond=None)
        residual = residual - design @ weights
    return np.log(np.var(residual))


def pasts(series, history):
    """Values [n - history] of every column of series [n, columns] at 1, ..., history
    steps before.
    """
    n = len(series)
    past = []
    for column in series.T:
        for lag in range(1, history + 1):
            past.append(column[history - lag : n - lag])
    return past


def close(value, expected, constant, share):
    return value == approx(expected, abs=constant + share * expected)


@pytest.mark.parametrize(
    ("family", "kind", "seed"),
    [
        ("linear", "forward", 1),
        ("linear", "both", 7),
        ("linear", "driver", 3),
        ("long_memory", "both", 1),
        ("long_memory", "driver", 2),
        ("long_memory", "backward", 3),
    ],
)
def test_normal_truths_are_those_of_regressions(family, kind, seed, monkeypatch):
    monkeypatch.setattr(
        normal_processes, "draw_persistence", lambda g: g.uniform(0, 0.9)
    )
    dynamics = dynamics_of(family, Coupling(kind, 0.8), seed)
    x, y = dynamics.draw(80_000, generator(seed, 1))
    past_x = pasts(x, dynamics.history)
    past_y = pasts(y, dynamics.history)
    chained = []  # columns of y before this one, by the chain rule
    transfer = 0.0
    information = 0.0
    for target in y[dynamics.history :].T:
        without_x = log_residual_variance(target, [*past_y, *chained])
        with_x = log_residual_variance(target, [*past_y, *chained, *past_x])
        transfer += (without_x - with_x) / 2
        alone = log_residual_variance(target, chained)
        given_x = log_residual_variance(target, [*chained, *past_x])
        information += (alone - given_x) / 2
        chained.append(target)
    truth = dynamics.truth(generator())
    assert close(truth.transfer_entropy, transfer, 0.004, 0.01)
    assert close(truth.information, information, 0.006, 0.02)


# --- chains ----------------------------------------------------------------------------------------------------------
EVENTS_AFTER_EVENTS = 6  # a seed for which x is events, too


def codes_of(columns):
    """One code for each row of several columns of labels."""
    rows = np.stack(columns, axis=1)
    _, codes = np.unique(rows, axis=0, return_inverse=True)
    return codes.ravel()


@pytest.mark.parametrize(
    ("family", "kind", "seed"),
    [
        ("labels", "forward", 1),
        ("labels", "both", 2),
        ("labels", "driver", 5),
        ("events", "both", EVENTS_AFTER_EVENTS),
    ],
)
def test_chains_of_labels_have_the_information_of_their_tables(family, kind, seed):
    dynamics = dynamics_of(family, Coupling(kind, 1.0), seed)
    assert dynamics.kinds == ("labels", "labels")
    x, y = dynamics.draw(60_000, generator(seed, 1))
    past_x = codes_of(pasts(x[:, [0]], dynamics.history))
    past_y = codes_of(pasts(y[:, [0]], dynamics.history))
    past_both = codes_of([past_x, past_y])
    now = codes_of([y[dynamics.history :, 0]])
    transfer = plug_in(past_both, now) - plug_in(past_y, now)
    truth = dynamics.truth(generator())
    assert truth.transfer_entropy == approx(transfer, abs=0.006)
    assert truth.information == approx(plug_in(past_x, now), abs=0.006)


TRANSITIONS = {
    "two normals": NumberTransition(
        chain_processes.constant(1.0), chain_processes.constant(0.5), gap=1.2
    ),
    "Poisson": CountTransition(chain_processes.constant(3.0)),
    "negative binomial": CountTransition(chain_processes.constant(3.0), shape=2.0),
}


@pytest.mark.parametrize("name", TRANSITIONS)
def test_draws_of_a_transition_have_the_moments_of_its_densities(name):
    """Within 5 standard errors."""
    transition = TRANSITIONS[name]
    present = np.zeros(100_000)
    drawn = transition.draw(present, present, generator())
    values = transition.values(drawn, 200)
    weights = transition.weights(values, present[:1], present[:1])[:, 0]
    for power in (1, 2):
        moment = np.average(values**power, weights=weights)
        error = np.std(drawn**power) / np.sqrt(len(drawn))
        assert np.mean(drawn**power) == approx(moment, abs=5 * error)


def test_a_copied_label_informs_about_all_of_y():
    copied = np.broadcast_to(np.eye(2)[:, :, None], (2, 2, 2))
    fair = np.full((2, 2, 2), 0.5)
    truth, memory = Chain(fair, copied).truth(2)
    assert truth == Truth(approx(LN2), approx(LN2))
    assert memory == approx(0, abs=1e-6)
    noise = np.array([[0.9, 0.1], [0.1, 0.9]])
    truth, _ = Chain(fair, copied, noise).truth(1)
    capacity = LN2 + 0.9 * np.log(0.9) + 0.1 * np.log(0.1)
    assert truth.transfer_entropy == approx(capacity)


@pytest.mark.parametrize("history", [1, 2])
def test_a_linear_chain_on_a_grid_has_the_truth_of_the_autoregression(history):
    scale = chain_processes.constant(1.0)
    x = NumberTransition(lambda before, other: 0.7 * before + 0.3 * other, scale)
    y = NumberTransition(lambda before, other: 0.5 * before - 0.4 * other, scale)
    pair = chain_processes.ChainPair(x, y)
    chain = pair.chain(60, pair.pilot(generator()))
    truth, memory = chain.truth(history)
    coefficients = np.array([[[0.7, 0.3], [-0.4, 0.5]]])
    system = Autoregression(coefficients, np.ones(2))
    exact = system.truth(1, 1, history)
    assert truth.transfer_entropy == approx(exact.transfer_entropy, abs=1e-4)
    assert truth.information == approx(exact.information, abs=1e-4)
    assert memory == approx(system.largest_root(), abs=1e-3)


X_BEFORE, Y_BEFORE, Y_NOW = range(3)
PLACES = np.array([0, 1, 3])  # of x before, y before and y now in a window of one step


def grid_of(mixture, window):
    """Probabilities of the cells of a grid of x before, y before and y now, around the
    values `window` [n, 3].
    """
    axes = []
    for values in window.T:
        margin = 0.4 * np.ptp(values)
        low = values.min() - margin
        high = values.max() + margin
        axes.append(np.linspace(low, high, 48))
    grid = np.meshgrid(*axes, indexing="ij")
    points = np.stack(grid, axis=-1)
    cells = np.zeros(points.shape[:3])
    for weight, mean, covariance in zip(
        mixture.weights, mixture.means, mixture.covariances
    ):
        of_window = covariance[np.ix_(PLACES, PLACES)]
        normal = stats.multivariate_normal(mean[PLACES], of_window)
        cells += weight * normal.pdf(points)
    return cells / cells.sum()


@pytest.mark.parametrize("family", ["seasonal", "regimes"])
def test_mixtures_have_the_entropies_of_a_fine_grid(family):
    """The grid's moments are those of a simulated path."""
    dynamics = dynamics_of(family, Coupling("forward", 0.9), 8)
    mixture = dynamics.draw.__self__.mixture(1)
    x, y = dynamics.draw(30_000, generator(9))
    window = np.hstack([x[:-1, [0]], y[:-1, [0]], y[1:, [0]]])
    (pooled,) = mixture.pooled().covariances
    covariance = pooled[np.ix_(PLACES, PLACES)]
    tolerance = 0.1 * covariance.max()
    np.testing.assert_allclose(np.cov(window.T), covariance, atol=tolerance)
    cells = grid_of(mixture, window)

    def entropy_without(*axes):
        return special.entr(cells.sum(axis=axes)).sum()

    given_past_y = entropy_without(X_BEFORE) - entropy_without(X_BEFORE, Y_NOW)
    given_both = entropy_without() - entropy_without(Y_NOW)
    given_past_x = entropy_without(Y_BEFORE) - entropy_without(Y_BEFORE, Y_NOW)
    alone = entropy_without(X_BEFORE, Y_BEFORE)
    transfer = given_past_y - given_both
    information = alone - given_past_x
    truth = mixture_truth(mixture, Window.of(1, 1, 2, 1), generator())
    tolerance = 4 * truth.transfer_entropy_error + 1e-4
    assert truth.transfer_entropy == approx(transfer, abs=tolerance)
    tolerance = 4 * truth.information_error + 1e-4
    assert truth.information == approx(information, abs=tolerance)


# --- maps ------------------------------------------------------------------------------------------------------------
def test_maps_keep_the_order_of_values_and_so_the_truth():
    pilot = generator().normal(size=(500, 2))
    variable = processes.Variable("numbers", pilot, True, generator(1))
    series = generator(2).normal(size=(300, 2))
    mapped = variable.sample(series).numbers
    for before, after in zip(series.T, mapped.T):
        assert_array_equal(np.argsort(before), np.argsort(after))
