"""Processes of the prior: reproducible, stationary, with truths that a second route confirms."""

import numpy as np
import pytest
from scipy import special, stats

from infoscope.data.prior import chain_processes, normal_processes, processes
from infoscope.data.prior.chains import Chain
from infoscope.data.prior.dynamics import COUPLING_SHARES, Coupling
from infoscope.data.prior.mixture_processes import RegimePair
from infoscope.data.prior.normal_processes import Autoregression, FractionalPair
from infoscope.data.prior.processes import FAMILIES, TYPES, is_exact, process
from infoscope.data.prior.transitions import CountTransition, NumberTransition
from infoscope.data.prior.windows import NOTHING, NormalMixture, Truth, Window, mixture_truth, normal_truth
from tests.data.common import plug_in
from tests.refusals import refused

NUMBERS = range(10)
MAKERS = {name: maker for name, (maker, *_) in processes.MAKERS.items()}


def generator(*seed):
    return np.random.default_rng([53, *seed])


@pytest.fixture(scope="module")
def several():
    return [process(number) for number in NUMBERS]


def test_the_same_number_gives_the_same_process(several):
    first, again = several[3], process(3)
    assert (first.description, first.truth) == (again.description, again.truth)
    for one_series, same_series in zip(first.sample(60, generator()), again.sample(60, generator())):
        np.testing.assert_array_equal(one_series.numbers, same_series.numbers)
        np.testing.assert_array_equal(one_series.labels, same_series.labels)


def test_processes_have_their_columns_types_and_accurate_truths(several):
    for example in several:
        samples = example.sample(50, generator(1))
        assert example.family in FAMILIES and example.type in TYPES
        assert example.coupling.kind in COUPLING_SHARES
        assert example.history >= 1
        assert is_exact(example.truth)
        assert np.isnan(example.memory) or 0 <= example.memory < 1
        for sample, columns in zip(samples, example.columns):
            values = np.hstack([sample.numbers, sample.labels])
            assert values.shape == (50, columns)
            assert np.isfinite(values).all()
            if example.type == "counts":
                assert (values == np.round(values)).all() and values.min() >= 0


@pytest.mark.parametrize(
    ("family", "drawn", "kind"),
    [("counts", "driver", "forward"), ("labels", "driver", "driver"), ("linear", "driver", "driver")]
    + [("regimes", "both", "driver"), ("regimes", "backward", "driver"), ("regimes", "forward", "forward")],
)
def test_a_kind_of_coupling_that_a_family_lacks_is_replaced(family, drawn, kind):
    coupling = processes.available(Coupling(drawn, 0.5), family)
    assert (coupling.kind, coupling.strength) == (kind, 0.5)


@pytest.mark.parametrize("number", [-1, 1.5, True])
def test_numbers_are_whole_and_not_negative(number):
    with refused("number", "range"):
        process(number)


@pytest.mark.parametrize("family", FAMILIES)
def test_series_without_coupling_share_nothing(family):
    dynamics = MAKERS[family](Coupling("none", 0.5), generator(2))
    assert dynamics.truth(generator(3)) == NOTHING
    x, y = dynamics.draw(4_000, generator(4))
    lagged = np.corrcoef(x[:-1, 0], y[1:, 0])[0, 1]
    assert abs(lagged) < 4.5 / np.sqrt(_effective_rows(x[:, 0], y[:, 0]))


def _effective_rows(x, y):
    """Rows of independent values whose correlation has the variance of that of two series (Bartlett)."""
    total = 1.0
    for lag in range(1, 200):
        total += 2 * np.corrcoef(x[:-lag], x[lag:])[0, 1] * np.corrcoef(y[:-lag], y[lag:])[0, 1]
    return len(x) / max(total, 1)


CHAINS = ("threshold", "nonlinear", "volatility", "counts", "events", "labels", "mixed")


@pytest.mark.parametrize("family", [*CHAINS, "linear", "long_memory", "seasonal", "regimes"])
def test_many_series_have_the_same_moments_at_the_first_and_the_last_time(family):
    """Means and variances of 150 short series at both ends, within 4.5 standard errors."""
    dynamics = MAKERS[family](Coupling("both", 0.4), generator(5))
    if family in CHAINS:
        halves = np.split(dynamics.draw(6_000, generator(6))[1][:, 0], 2)
        batches = [half.reshape(20, -1) for half in halves]
    else:
        series = [dynamics.draw(12, generator(6, seed))[1][:, 0] for seed in range(150)]
        batches = [np.stack(series)[:, [0]], np.stack(series)[:, [-1]]]
    for moment in (lambda v: v, lambda v: (v - batches[0].mean()) ** 2):
        first, last = (moment(batch).mean(axis=1) for batch in batches)
        error = np.sqrt(first.var() / len(first) + last.var() / len(last))
        assert abs(first.mean() - last.mean()) < 4.5 * error


# --- normal processes ------------------------------------------------------------------------------------------------
def residual_variance(target, *predictors):
    """Variance of what a linear regression leaves."""
    design = np.stack(predictors, axis=1)
    design = design - design.mean(axis=0)
    centred = target - target.mean()
    weights = np.linalg.lstsq(design, centred, rcond=None)[0]
    return np.var(centred - design @ weights)


def pasts(series, history):
    """Values 1, ..., history steps before, each [n - history]."""
    n = len(series)
    return [series[history - lag : n - lag] for lag in range(1, history + 1)]


@pytest.mark.parametrize(
    ("family", "kind", "seed"),
    [("linear", "forward", 1), ("linear", "both", 7), ("linear", "driver", 3), ("long_memory", "both", 1)]
    + [("long_memory", "driver", 2), ("long_memory", "backward", 3)],
)
def test_normal_truths_are_those_of_regressions(family, kind, seed, monkeypatch):
    monkeypatch.setattr(normal_processes, "draw_persistence", lambda g: g.uniform(0, 0.9))
    dynamics = MAKERS[family](Coupling(kind, 0.8), generator(seed))
    x, y = dynamics.draw(80_000, generator(seed, 1))
    history = dynamics.history
    past_x = [past for series in x.T for past in pasts(series, history)]
    past_y = [past for series in y.T for past in pasts(series, history)]
    now = y[history:]
    chained = []
    transfer, shared = 0.0, 0.0
    for target in now.T:  # the chain rule over columns of y
        own = [*past_y, *chained]
        transfer += np.log(residual_variance(target, *own) / residual_variance(target, *own, *past_x)) / 2
        alone = residual_variance(target, *chained) if chained else np.var(target)
        shared += np.log(alone / residual_variance(target, *chained, *past_x)) / 2
        chained.append(target)
    truth = dynamics.truth(generator())
    assert truth.transfer_entropy == pytest.approx(transfer, abs=0.004 + 0.01 * transfer)
    assert truth.information == pytest.approx(shared, abs=0.006 + 0.02 * shared)


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9, 0.99])
def test_one_series_informs_about_its_next_value_by_its_autocorrelation(phi):
    series = Autoregression(np.full((1, 1, 1), phi), np.ones(1))
    covariance = series.autocovariances(1)[[0, 1]][:, 0, 0]
    pair = np.array([[covariance[0], covariance[1]], [covariance[1], covariance[0]]])
    window = Window(np.array([0]), np.empty(0, int), np.array([1]))
    assert normal_truth(pair, window).information == pytest.approx(-0.5 * np.log(1 - phi**2), abs=1e-9)


@pytest.mark.parametrize(("phi", "slope"), [(0.0, 0.5), (0.6, 1.0), (0.9, 0.2)])
def test_white_x_gives_the_capacity_of_a_normal_channel(phi, slope):
    """y = phi y' + slope x' + e with white x: transfer entropy is ln(1 + slope^2) / 2 for any history."""
    coefficients = np.array([[[0.0, 0.0], [slope, phi]]])
    system = Autoregression(coefficients, np.ones(2))
    for history in (1, 3):
        truth = system.truth(1, 1, history)
        assert truth.transfer_entropy == pytest.approx(np.log1p(slope**2) / 2, abs=1e-10)
    partial = slope / np.sqrt(1 + slope**2)
    assert system.truth(1, 1, 1).transfer_entropy == pytest.approx(-0.5 * np.log(1 - partial**2), abs=1e-10)
    assert system.truth(1, 1, 2).information == pytest.approx(
        -0.5 * np.log(1 - slope**2 * (1 - phi**2) * (1 + phi**2) / (1 + slope**2)), abs=1e-10
    )


def test_fractional_noise_has_its_autocovariances_and_y_follows_at_its_lag():
    gamma = normal_processes.fractional_autocovariances(0.3, 40)
    draws = np.stack([normal_processes.draw_stationary(gamma, 40, generator(seed)) for seed in range(4_000)])
    np.testing.assert_allclose(draws.T @ draws[:, 0] / len(draws), gamma[:40], atol=0.08)
    pair = FractionalPair(np.zeros(2), np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([[0, 0], [2, 0]]))
    assert pair.truth(1).information == pytest.approx(0, abs=1e-12)
    assert pair.truth(2).transfer_entropy == pytest.approx(np.log(2) / 2, abs=1e-12)


def test_a_mixture_of_equal_windows_is_a_normal_window_and_distant_ones_add_their_labels():
    covariance = np.eye(3) + 0.4 * (1 - np.eye(3))
    window = Window(np.array([0]), np.array([1]), np.array([2]))
    equal = NormalMixture(np.array([0.3, 0.7]), np.zeros((2, 3)), np.stack([covariance] * 2))
    truth, exact = mixture_truth(equal, window, generator()), normal_truth(covariance, window)
    assert truth.transfer_entropy == pytest.approx(exact.transfer_entropy, abs=1e-9)
    means = np.array([[0.0, 0.0, 0.0], [60.0, 0.0, 60.0]])
    distant = NormalMixture(np.full(2, 0.5), means, np.stack([np.eye(3)] * 2))
    truth = mixture_truth(distant, window, generator())
    assert truth.transfer_entropy == pytest.approx(np.log(2), abs=4 * truth.transfer_entropy_error + 1e-6)
    assert truth.information == pytest.approx(np.log(2), abs=4 * truth.information_error + 1e-6)


def test_windows_of_regimes_have_the_moments_of_their_series():
    pair = RegimePair(
        np.array([0.9, 0.8]), 0.5, np.array([0, 1.0]), np.array([1.0, -1]), np.array([0.8, -0.2]), np.array([1.0, 0.5])
    )
    x, y = (series[:, 0] for series in pair.draw(50_000, generator()))
    pooled = pair.mixture(1).pooled()
    windows = np.stack([x[:-1], y[:-1], x[1:], y[1:]])
    np.testing.assert_allclose(np.cov(windows), pooled.covariances[0], atol=0.04)
    np.testing.assert_allclose(windows.mean(axis=1), pooled.means[0], atol=0.04)


# --- chains ----------------------------------------------------------------------------------------------------------
EVENTS_AFTER_EVENTS = 6  # a seed for which x is events, too


def codes_of(columns):
    """One code for each row of several columns of labels."""
    return np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)[1].ravel()


@pytest.mark.parametrize(
    ("family", "kind", "seed"),
    [("labels", "forward", 1), ("labels", "both", 2), ("labels", "driver", 5), ("events", "both", EVENTS_AFTER_EVENTS)],
)
def test_chains_have_the_information_of_their_tables(family, kind, seed):
    dynamics = MAKERS[family](Coupling(kind, 1.0), generator(seed))
    x, y = dynamics.draw(60_000, generator(seed, 1))
    assert dynamics.kinds == ("labels", "labels")
    past_x = codes_of(pasts(x[:, 0], dynamics.history))
    past_y = codes_of(pasts(y[:, 0], dynamics.history))
    now = codes_of([y[dynamics.history :, 0]])
    both = codes_of([past_x, past_y])
    transfer = plug_in(both, now) - plug_in(past_y, now)
    truth = dynamics.truth(generator())
    assert truth.transfer_entropy == pytest.approx(transfer, abs=0.006)
    assert truth.information == pytest.approx(plug_in(past_x, now), abs=0.006)


def test_a_copied_label_informs_about_all_of_y():
    copied = np.broadcast_to(np.eye(2)[:, :, None], (2, 2, 2))
    fair = np.full((2, 2, 2), 0.5)
    truth, memory = Chain(fair, copied).truth(2)
    assert truth == Truth(pytest.approx(np.log(2)), pytest.approx(np.log(2)))
    assert memory == pytest.approx(0, abs=1e-6)
    noisy = np.array([[0.9, 0.1], [0.1, 0.9]])
    truth, _ = Chain(fair, copied, noisy).truth(1)
    channel = np.log(2) + 0.9 * np.log(0.9) + 0.1 * np.log(0.1)
    assert truth.transfer_entropy == pytest.approx(channel)


@pytest.mark.parametrize("history", [1, 2])
def test_a_linear_chain_on_a_grid_has_the_truth_of_the_autoregression(history):
    def transition(own, other):
        return NumberTransition(lambda a, b: own * a + other * b, chain_processes.constant(1.0))

    pair = chain_processes.ChainPair(transition(0.7, 0.3), transition(0.5, -0.4))
    truth, memory = pair.chain(60, pair.pilot(generator())).truth(history)
    system = Autoregression(np.array([[[0.7, 0.3], [-0.4, 0.5]]]), np.ones(2))
    exact = system.truth(1, 1, history)
    assert truth.transfer_entropy == pytest.approx(exact.transfer_entropy, abs=1e-4)
    assert truth.information == pytest.approx(exact.information, abs=1e-4)
    assert memory == pytest.approx(system.largest_root(), abs=1e-3)


@pytest.mark.parametrize("shape", [np.inf, 2.0])
def test_counts_have_the_information_of_their_table(shape):
    independent = chain_processes.label_transition(np.zeros((2, 2)), chain_processes.by_label(np.zeros((60, 2))), 0.0)
    rates = np.array([0.5, 3.0])
    counting = CountTransition(lambda own, other: rates[np.asarray(other, int)] + 0.0 * own, shape)
    pair = chain_processes.ChainPair(independent, counting)
    truth, _ = pair.chain(60, pair.pilot(generator())).truth(1)
    g = generator(1)
    cause = g.integers(2, size=200_000)
    rate = rates[cause] * (1.0 if np.isinf(shape) else g.gamma(shape, 1 / shape, size=len(cause)))
    assert truth.transfer_entropy == pytest.approx(plug_in(cause, g.poisson(rate)), abs=0.004)
    assert truth.transfer_entropy == pytest.approx(truth.information, abs=1e-6)


@pytest.mark.parametrize(
    ("family", "seed"), [("threshold", 1), ("nonlinear", 4), ("volatility", 5), ("counts", 1), ("mixed", 3)]
)
def test_information_of_chains_is_what_fine_tables_find(family, seed, monkeypatch):
    """I(x before; y now) of 60,000 steps in cells: not above the truth, and not far below."""
    monkeypatch.setattr(chain_processes, "_history", lambda g: 1)
    monkeypatch.setattr(chain_processes, "draw_persistence", lambda g: g.uniform(0, 0.7))
    dynamics = MAKERS[family](Coupling("forward", 1.2), generator(seed))
    x, y = dynamics.draw(60_000, generator(seed, 1))
    codes = []
    for series in (x[:-1, 0], y[1:, 0]):
        cuts = np.unique(np.quantile(series, np.arange(1, 24) / 24))
        codes.append(np.searchsorted(cuts, series))
    truth = dynamics.truth(generator())
    measured = plug_in(*codes)
    assert measured - 0.008 < truth.information < 1.12 * measured + 0.012


# --- a second route to transfer entropy ------------------------------------------------------------------------------
PARTICLES, PATHS = 1_000, 250


def normal_density(value, mean, scale):
    return np.exp(-0.5 * ((value - mean) / scale) ** 2) / scale


def density(transition, values, present, other):
    """Densities, up to a factor, or probabilities [values, particles] of next values given present ones."""
    if transition.kind == "labels":
        return special.softmax(transition.logits(present, other), axis=-1)[..., values.astype(int)].T
    values = values[:, None]
    if transition.kind == "counts":
        rate, shape = transition.rate(present, other), transition.shape
        poisson = np.exp(values * np.log(rate) - rate - special.gammaln(values + 1))
        return poisson if np.isinf(shape) else stats.nbinom.pmf(values, shape, shape / (shape + rate))
    mean, scale = transition.mean(present, other), transition.scale(present, other)
    shift = transition.gap * scale
    return normal_density(values, mean - shift, scale) + normal_density(values, mean + shift, scale)


def weights_of_hidden(past, seen_rule, hidden_rule, present, hidden):
    """Particles of the hidden series at the end of a past of the seen one, and their weights given that past."""
    weights = np.ones(len(hidden))
    for step, value in enumerate(past):
        weights *= density(seen_rule, np.array([value]), present, hidden)[0]
        hidden = hidden_rule.draw(hidden, present, generator(90, step))
        present = np.full(len(hidden), value)
    return hidden, weights


def divergence(first, second):
    """Kullback-Leibler divergence of two densities on the same values."""
    first, second = first / first.sum(), second / second.sum()
    return special.rel_entr(first, second).sum()


@pytest.mark.parametrize(
    ("family", "seed"),
    [("threshold", 1), ("nonlinear", 4), ("volatility", 5), ("counts", 1), ("mixed", 3), ("events", 2), ("labels", 1)],
)
def test_chains_have_the_mean_divergences_of_predictions_along_paths(family, seed):
    """p(y | x past, y past) is the transition; weighted particles give p(y | y past) and p(y | x past)."""
    dynamics = MAKERS[family](Coupling("both", 0.8), generator(seed))
    pair = dynamics.draw.__self__
    start = pair.pilot(generator(seed, 1))
    x0, y0 = (series[:PARTICLES] for series in start)
    values = pair.y.values(start[1], 60)
    alone = density(pair.y, values, y0, x0).mean(axis=1)
    path = [tuple(series[-PATHS:] for series in start)]
    for step in range(dynamics.history):
        path.append(pair.step(*path[-1], generator(seed, 2, step)))
    xs, ys = (np.stack(series, axis=1) for series in zip(*path[1:]))
    divergences = []
    for x, y in zip(xs, ys):
        both = density(pair.y, values, y[-1:], x[-1:])[:, 0]
        hidden_x, weights = weights_of_hidden(y, pair.y, pair.x, y0, x0)
        given_y = density(pair.y, values, np.full(PARTICLES, y[-1]), hidden_x) @ weights
        hidden_y, weights = weights_of_hidden(x, pair.x, pair.y, x0, y0)
        given_x = density(pair.y, values, hidden_y, np.full(PARTICLES, x[-1])) @ weights
        divergences.append((divergence(both, given_y), divergence(given_x, alone)))
    transfer, shared = np.mean(divergences, axis=0)
    errors = np.std(divergences, axis=0) / np.sqrt(PATHS)
    truth = dynamics.truth(generator())
    assert truth.transfer_entropy == pytest.approx(transfer, abs=4 * errors[0] + 0.003)
    assert truth.information == pytest.approx(shared, abs=4 * errors[1] + 0.003)


def entropy_on_grid(density_of_cells, *axes):
    """Entropy of a density on a grid, summed over `axes`, up to the logarithm of a cell."""
    cells = density_of_cells.sum(axis=axes)
    filled = cells[cells > 0]
    return -(filled * np.log(filled)).sum()


@pytest.mark.parametrize("family", ["seasonal", "regimes"])
def test_mixtures_have_the_entropies_of_a_fine_grid(family):
    """Sums over a grid of x before, y before and y now, whose moments are those of a simulated path."""
    dynamics = MAKERS[family](Coupling("forward", 0.9), generator(8))
    pair = dynamics.draw.__self__
    mixture = pair.mixture(1)
    x, y = (series[:, 0] for series in dynamics.draw(30_000, generator(9)))
    window = np.stack([x[:-1], y[:-1], y[1:]], axis=1)
    pooled = mixture.pooled()
    places = np.array([0, 1, 3])
    covariance = pooled.covariances[0][np.ix_(places, places)]
    np.testing.assert_allclose(np.cov(window.T), covariance, atol=0.1 * covariance.max())
    axes = []
    for values in window.T:
        margin = 0.4 * np.ptp(values)
        axes.append(np.linspace(values.min() - margin, values.max() + margin, 48))
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    cells = np.zeros(points.shape[:3])
    for weight, mean, block in zip(mixture.weights, mixture.means, mixture.covariances):
        normal = stats.multivariate_normal(mean[places], block[np.ix_(places, places)])
        cells += weight * normal.pdf(points)
    cells /= cells.sum()
    x_y, y_now, y_alone = entropy_on_grid(cells, 2), entropy_on_grid(cells, 0), entropy_on_grid(cells, 0, 2)
    transfer = x_y + y_now - y_alone - entropy_on_grid(cells)
    x_alone, now_alone = entropy_on_grid(cells, 1, 2), entropy_on_grid(cells, 0, 1)
    shared = x_alone + now_alone - entropy_on_grid(cells, 1)
    truth = mixture_truth(mixture, Window.of(1, 1, 2, 1), generator())
    assert truth.transfer_entropy == pytest.approx(transfer, abs=4 * truth.transfer_entropy_error + 1e-4)
    assert truth.information == pytest.approx(shared, abs=4 * truth.information_error + 1e-4)


# --- maps ------------------------------------------------------------------------------------------------------------
def test_maps_keep_the_order_of_values_and_so_the_truth():
    pilot = generator().normal(size=(500, 2))
    variable = processes.Variable("numbers", pilot, True, generator(1))
    series = generator(2).normal(size=(300, 2))
    mapped = variable.sample(series).numbers
    for before, after in zip(series.T, mapped.T):
        np.testing.assert_array_equal(np.argsort(before), np.argsort(after))
