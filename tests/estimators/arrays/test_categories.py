"""Categories against categories: known tables, sparse ones, and what must not change an
estimate.
"""

import numpy as np
import pytest
from pytest import approx
from scipy.special import entr, gammaln, polygamma, rel_entr

from infoscope.estimators import discrete, knn
from infoscope.estimators.arrays import estimate
from infoscope.estimators.columns import Discrete
from tests.estimators.samples import covering, draws, mean_standard_error
from tests.refusals import refused

NAMES = ("plug-in", "miller-madow", "grassberger", "chao-shen", "shrinkage", "nsb")
TABLE = np.array([[0.3, 0.1, 0.0], [0.05, 0.1, 0.15], [0.1, 0.1, 0.1]])


def variables_of(cells):
    """x and y [n] of codes of cells of a table."""
    x, y = np.divmod(cells, TABLE.shape[1])
    return Discrete(x), Discrete(y)


def sample(n, seed=0):
    cells = draws(seed).choice(TABLE.size, n, p=TABLE.ravel())
    return variables_of(cells)


def information(table):
    independent = np.outer(table.sum(axis=1), table.sum(axis=0))
    return rel_entr(table, independent).sum()


SQUARE = np.array([[0.4, 0.1], [0.1, 0.4]])
SQUARE_X = Discrete(np.repeat([0, 1], 10))


SQUARE_Y = Discrete(np.repeat([0, 1, 0, 1], [8, 2, 2, 8]))


def shrunk_square():
    """The shares of the table, shrunk to equal ones by the published weight."""
    spread = ((SQUARE - 0.25) ** 2).sum()
    weight = (1 - (SQUARE**2).sum()) / (19 * spread)
    return (1 - weight) * SQUARE + weight / 4


def chao_shen_of_square():
    margin = discrete.chao_shen([10, 10])
    return 2 * margin - discrete.chao_shen([8, 2, 2, 8])


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("plug-in", information(SQUARE)),
        ("miller-madow", information(SQUARE) - 1 / 40),
        ("grassberger", knn.mutual_information(SQUARE_X, SQUARE_Y).value),
        ("chao-shen", chao_shen_of_square()),
        ("shrinkage", information(shrunk_square())),
    ],
)
def test_small_tables_by_hand(method, expected):
    assert estimate(SQUARE_X, SQUARE_Y, method) == approx(expected)


@pytest.mark.parametrize(("counts", "categories"), [((5, 3, 1, 1), 6), ((2, 1), 40)])
def test_nsb_is_the_posterior_mean(counts, categories):
    """Against 100,000 draws of pseudocounts and shares, weighted: its own error is
    below .01.
    """
    g = draws()
    padded = np.zeros(categories)
    padded[: len(counts)] = counts
    b = np.exp(g.uniform(np.log(1e-6), np.log(1e4), 100_000))
    total = categories * b
    prior = categories * polygamma(1, total + 1) - polygamma(1, b + 1)
    log_weights = np.log(prior * b)
    log_weights += gammaln(total) - gammaln(sum(counts) + total)
    for count in counts:
        log_weights += gammaln(count + b) - gammaln(b)
    weights = np.exp(log_weights - log_weights.max())
    shares = np.maximum(g.gamma(padded + b[:, None]), 1e-290)
    shares /= shares.sum(axis=1, keepdims=True)
    entropies = entr(shares).sum(axis=1)
    mean, _ = discrete.nsb(counts, categories)
    assert mean == approx(np.average(entropies, weights=weights), abs=0.03)


def test_slopes_of_nsb_are_those_of_more_rows():
    """With 4,000 rows one more is a small step."""
    counts = np.array([2000.0, 1500.0, 400.0, 100.0])
    mean, slopes = discrete.nsb(counts, 10)
    for place in range(4):
        counts_with_one_more = counts + np.eye(4)[place]
        following, _ = discrete.nsb(counts_with_one_more, 10)
        assert following - mean == pytest.approx(slopes[place], rel=0.02, abs=1e-7)


@pytest.mark.parametrize(
    ("counts", "categories"),
    [([1] * 50, 10_000), ([10**6] * 3, 3), ([10**6, 1], 10**6), ([5], 100)],
)
def test_nsb_of_extremes(counts, categories):
    """No two rows alike, a single category, a million rows: finite, and between 0 and
    ln K.
    """
    entropy, _ = discrete.nsb(counts, categories)
    assert 0 < entropy < np.log(categories) + 1e-9


X, Y = sample(400)
ORDER = draws(1).permutation(400)


NAMED_X = np.array(["c", "a", "b"])[X.values]


@pytest.mark.parametrize("method", NAMES)
@pytest.mark.parametrize(
    ("x", "y"),
    [
        (Discrete(NAMED_X), Discrete(7 - 3 * Y.values)),
        (Discrete(X.values[ORDER]), Discrete(Y.values[ORDER])),
        (Y, X),
    ],
    ids=["names", "order", "sides"],
)
def test_names_orders_and_sides_do_not_matter(method, x, y):
    expected = estimate(X, Y, method)
    estimated = estimate(x, y, method)
    assert estimated.value == approx(expected.value)
    assert estimated.standard_error == approx(expected.standard_error, rel=1e-6)


@pytest.mark.parametrize("method", NAMES)
def test_intervals_cover_and_errors_are_the_spread_of_estimates(method):
    """40 samples of 600 rows: 95 % covered; fewer than 32 in one of 5,000 runs. The
    spread is known to an eighth.
    """
    truth = information(TABLE)
    estimates = [estimate(*sample(600, seed), method) for seed in range(40)]
    assert covering(estimates, truth) >= 32
    assert mean_standard_error(estimates) == approx(np.std(estimates), rel=0.45)


@pytest.mark.parametrize("method", ["nsb", "shrinkage"])
@pytest.mark.parametrize(
    ("categories", "code"), [((2, 3), "range"), (9, "type"), ((0, 3), "range")]
)
def test_impossible_numbers_of_categories_are_refused(method, categories, code):
    with refused("categories", code):
        estimate(X, Y, method, categories=categories)


@pytest.mark.parametrize("method", NAMES)
def test_copies_in_groups_are_no_rows(method):
    """200 rows, each five times: the error is that of 200 rows, to a fifth."""
    x, y = sample(200)
    groups = np.repeat(np.arange(200), 5)
    once = estimate(x, y, method)
    repeated_x = Discrete(x.values[groups])
    repeated_y = Discrete(y.values[groups])
    five_times = estimate(repeated_x, repeated_y, method, groups=groups)
    assert five_times.units == 200
    assert five_times.standard_error == approx(once.standard_error, rel=0.2)
    if method not in ("plug-in", "grassberger"):  # which are not corrected for 200 rows
        assert five_times.value == approx(once.value, abs=1e-3)
