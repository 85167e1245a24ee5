"""Truths of the held-out distributions, against what a fine table of many draws says.

Most density ratios depend on one number of x and one of y (a score, a radius, a sum):
the table of these numbers has all of the information, so it checks what is drawn and
the truth together.
"""

import numpy as np
import pytest
from numpy.random import default_rng
from pytest import approx
from scipy import stats

from infoscope.data.tasks import unseen
from infoscope.data.tasks.unseen import UNSEEN
from tests.data.common import plug_in

ROWS = 200_000
TOLERANCE = 0.015  # nats: what a table loses by its cells, and 4 standard errors


def cells(column, count):
    """Which of `count` equally filled parts; atoms and labels have parts of their own."""
    values, repeats = np.unique(column, return_counts=True)
    if len(values) <= count:
        return np.searchsorted(values, column)
    atoms = values[repeats > len(column) / (2 * count)]
    is_atom = np.isin(column, atoms)
    levels = np.arange(1, count) / count
    edges = np.quantile(column[~is_atom], levels)
    codes = np.searchsorted(edges, column, side="right")
    for code, atom in enumerate(atoms):
        codes[column == atom] = count + code
    return codes


def table(x, y, count):
    """The information of the table of two columns, less its first-order bias."""
    codes_x = cells(np.ravel(x), count)
    codes_y = cells(np.ravel(y), count)
    return plug_in(codes_x, codes_y)


def drawn(name):
    return UNSEEN[name].sample(ROWS, default_rng(11))


def truth(name):
    nats, _ = UNSEEN[name].truth()
    return nats


def check_mean_log_ratio(name, log_ratio):
    error = log_ratio.std() / np.sqrt(ROWS)
    assert log_ratio.mean() == approx(truth(name), abs=5 * error)


def check_uniform(values):
    """Kolmogorov-Smirnov at 1e-4."""
    assert stats.kstest(values[:20_000], "uniform").pvalue > 1e-4


def same(v):
    return v


def squares(v):
    return (v**2).sum(axis=1)


def total(v):
    return v.sum(axis=1)


ENOUGH = {  # one number of x, one of y, parts of the table
    "clayton-exponential": (same, same, 60),
    "weibull-frailty-2-1": (lambda x: (x**3).sum(axis=1), same, 60),
    "gumbel-laplace": (same, same, 60),
    "frank-gamma": (same, same, 60),
    "growing-noise": (same, same, 80),
    "circle": (same, same, 80),
    "crossed-corners": (*[lambda v: np.tanh(2 * v).prod(axis=1)] * 2, 60),
    "probit-label-2": (lambda x: x @ [1.5, -1.0], same, 100),
    "ordinal-label-4": (lambda x: x @ [1.0, 1.0, -1.0, 0.5], same, 100),
    "classes-on-a-ring": (lambda x: np.arctan2(x[:, 1], x[:, 0]), same, 100),
    "zero-or-gamma": (same, same, 80),
    "both-censored-below": (same, same, 60),
    "centred-angles": (same, same, 60),
    "successes": (same, same, 100),
    "product-noise": (np.abs, np.abs, 100),
    "shared-volatility-2": (squares, squares, 60),
    "pareto-3": (total, total, 60),
    "product-among-4": (lambda x: x[:, 0] * x[:, 1], same, 200),
    "sign-parity-3-of-6": (lambda x: x[:, :3].prod(axis=1) > 0, same, 2),
    "squared-length-8": (squares, same, 200),
    "largest-of-6": (lambda x: x.max(axis=1), same, 500),
}


@pytest.mark.parametrize("name", ENOUGH)
def test_a_fine_table_of_draws_has_the_information(name):
    number_x, number_y, count = ENOUGH[name]
    x, y = drawn(name)
    nats = table(number_x(x), number_y(y), count)
    assert nats == approx(truth(name), abs=TOLERANCE)


@pytest.mark.parametrize(
    "name, dim, pairs, count",
    [("woven-frank-6", 6, 3, 60), ("woven-circles-10", 10, 4, 150)],
)
def test_a_hidden_pair_of_a_woven_distribution_has_its_share(name, dim, pairs, count):
    """The first hidden columns of x and y, turned back."""
    g = default_rng([dim, pairs])
    hidden = []
    for variable in drawn(name):
        drawn_map = g.normal(size=(dim, dim))
        rotation, _ = np.linalg.qr(drawn_map)
        turned_back = variable @ rotation.T
        hidden.append(turned_back[:, 0])
    share = table(*hidden, count)
    assert share == approx(truth(name) / pairs, abs=TOLERANCE)


def test_a_correlation_that_moves_leaves_y_normal():
    """Mean log density ratio of draws; y is standard normal for any v."""
    x, y = drawn("moving-correlation")
    correlation = 0.95 * np.sin(np.pi * x[:, 1])
    noise = np.sqrt(1 - correlation**2)
    given_x = stats.norm.logpdf(y, correlation * x[:, 0], noise)
    check_mean_log_ratio("moving-correlation", given_x - stats.norm.logpdf(y))
    quarters = cells(x[:, 1], 4)
    for quarter in range(4):
        check_uniform(stats.norm.cdf(y[quarters == quarter]))


def test_a_composition_has_the_mean_density_ratio_of_its_draws():
    """Over the sums of x and of y, which are parts of a Dirichlet of three."""
    x, y = map(total, drawn("composition"))
    parts = np.array([x, y, 1 - x - y])
    parts = parts / parts.sum(axis=0)
    joint = stats.dirichlet([3.5, 4.0, 0.7]).logpdf(parts)
    margin_x = stats.beta.logpdf(x, 3.5, 4.7)
    margin_y = stats.beta.logpdf(y, 4.0, 4.2)
    check_mean_log_ratio("composition", joint - margin_x - margin_y)


def test_a_surface_of_more_noise_is_that_of_a_table():
    distribution = unseen.surface(0.1)
    x, y = distribution.sample(ROWS, default_rng(14))
    signal = x[:, 0] * x[:, 1] + x[:, 2]
    truth, _ = distribution.truth()
    assert table(signal, y, 100) == approx(truth, abs=TOLERANCE)


def test_a_complex_square_of_more_noise_is_that_of_a_histogram():
    """Entropy of a histogram of y less that of the noise."""
    distribution = unseen.complex_square(0.2)
    _, y = distribution.sample(ROWS, default_rng(15))
    counts, edges, other_edges = np.histogram2d(*y.T, bins=80)
    log_area = np.log(np.ptp(edges) * np.ptp(other_edges) / 80**2)
    bias = np.count_nonzero(counts) / (2 * ROWS)
    entropy = stats.entropy(counts.ravel()) + log_area + bias
    entropy_of_noise = np.log(2 * np.pi * np.e * 0.2**2)
    truth, _ = distribution.truth()
    assert entropy - entropy_of_noise == approx(truth, abs=TOLERANCE)


def test_the_parts_of_coarse_and_fine_add_up():
    """Information of the cells, by a table; places uniform within a window of a tenth,
    whatever the cells.
    """
    x, y = drawn("coarse-and-fine")
    moved = (y - x) % 1
    assert moved.max() < 0.1 + 1e-9
    correlations = np.corrcoef(moved, x % 1)
    assert abs(correlations[0, 1]) < 5 / np.sqrt(ROWS)
    for part in (10 * moved, x % 1, y % 1):
        check_uniform(part)
    nats = table(np.floor(x), np.floor(y), 30)
    shown = nats + np.log(10)
    assert shown == approx(truth("coarse-and-fine"), abs=TOLERANCE)


def test_a_rare_event_has_the_stated_information():
    """Which square, by a table; inside the rare one y lies within a thousandth of x, in
    the other anywhere.
    """
    x, y = drawn("rare-event")
    event = x > 1.5
    np.testing.assert_array_equal(event, y > 1.5)
    moved = (y - x) % 1
    check_uniform(1000 * moved[event])
    check_uniform(moved[~event])
    nats = table(event, event, 2) + event.mean() * np.log(1000)
    tolerance = 5 * 0.14 * 11 / np.sqrt(ROWS)
    assert nats == approx(truth("rare-event"), abs=tolerance)
