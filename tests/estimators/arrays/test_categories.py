"""Categories against categories: known tables, sparse ones, and what must not change an estimate."""

import numpy as np
import pytest
from scipy.special import gammaln, polygamma

from infoscope.estimators import discrete, knn
from infoscope.estimators.arrays import estimate
from infoscope.estimators.columns import Discrete
from tests.estimators.samples import draws
from tests.refusals import refused

NAMES = ("plug-in", "miller-madow", "grassberger", "chao-shen", "shrinkage", "nsb")
TABLE = np.array([[0.3, 0.1, 0.0], [0.05, 0.1, 0.15], [0.1, 0.1, 0.1]])


def sample(table, n, seed=0):
    cells = draws(seed).choice(table.size, n, p=table.ravel())
    return Discrete(cells // table.shape[1]), Discrete(cells % table.shape[1])


def information(table):
    independent = np.outer(table.sum(axis=1), table.sum(axis=0))
    return (table[table > 0] * np.log((table / independent)[table > 0])).sum()


def exactly(table, n):
    """Categories whose frequencies are those of a table."""
    cells = np.repeat(np.arange(table.size), np.round(table.ravel() * n).astype(int))
    return Discrete(cells // table.shape[1]), Discrete(cells % table.shape[1])


SQUARE = np.array([[0.4, 0.1], [0.1, 0.4]])
SQUARE_X, SQUARE_Y = exactly(SQUARE, 20)
WEIGHT = (1 - 2 * (0.16 + 0.01)) / (19 * 4 * 0.15**2)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("plug-in", information(SQUARE)),
        ("miller-madow", information(SQUARE) - (4 - 2 - 2 + 1) / 40),
        ("grassberger", knn.mutual_information(SQUARE_X, SQUARE_Y).value),
        ("chao-shen", 2 * discrete.chao_shen([10, 10]) - discrete.chao_shen([8, 2, 2, 8])),
        ("shrinkage", information((1 - WEIGHT) * SQUARE + WEIGHT / 4)),
    ],
)
def test_small_tables_by_hand(method, expected):
    assert estimate(SQUARE_X, SQUARE_Y, method) == pytest.approx(expected)


@pytest.mark.parametrize(("counts", "categories"), [((5, 3, 1, 1), 6), ((2, 1), 40)])
def test_nsb_is_the_posterior_mean(counts, categories):
    """Against 100,000 draws of pseudocounts and shares, weighted: its own error is below .01."""
    g, counts = draws(), np.array(counts, float)
    b = np.exp(g.uniform(np.log(1e-6), np.log(1e4), 100_000))
    prior = np.log((categories * polygamma(1, categories * b + 1) - polygamma(1, b + 1)) * b)
    evidence = gammaln(categories * b) - gammaln(counts.sum() + categories * b)
    evidence += sum(gammaln(count + b) - gammaln(b) for count in counts)
    weights = np.exp(prior + evidence - (prior + evidence).max())
    padded = np.append(counts, np.zeros(categories - len(counts)))
    shares = np.maximum(g.gamma(padded + b[:, None]), 1e-290)
    shares /= shares.sum(axis=1, keepdims=True)
    entropies = -(shares * np.log(shares)).sum(axis=1)
    mean = np.average(entropies, weights=weights)
    assert discrete.nsb(counts, categories)[0] == pytest.approx(mean, abs=0.03)


def test_slopes_of_nsb_are_those_of_more_rows():
    """With 4,000 rows one more is a small step."""
    counts = np.array([2000.0, 1500.0, 400.0, 100.0])
    mean, slopes = discrete.nsb(counts, 10)
    for place in range(4):
        more = discrete.nsb(counts + (np.arange(4) == place), 10)[0] - mean
        assert more == pytest.approx(slopes[place], rel=0.02, abs=1e-7)


def test_nsb_of_extremes():
    """No two rows alike, a single category, a million rows: finite, and between 0 and ln K."""
    assert discrete.nsb([7])[0] == 0.0
    for counts, categories in (([1] * 50, 10_000), ([10**6] * 3, 3), ([10**6, 1], 10**6), ([5], 100)):
        assert 0 < discrete.nsb(counts, categories)[0] < np.log(categories) + 1e-9


X, Y = sample(TABLE, 400)
ORDER = draws(1).permutation(400)


@pytest.mark.parametrize("method", NAMES)
@pytest.mark.parametrize(
    ("x", "y"),
    [
        (Discrete(np.array(["c", "a", "b"])[X.values]), Discrete(7 - 3 * Y.values)),
        (Discrete(X.values[ORDER]), Discrete(Y.values[ORDER])),
        (Y, X),
    ],
    ids=["names", "order", "sides"],
)
def test_names_orders_and_sides_do_not_matter(method, x, y):
    expected = estimate(X, Y, method)
    found = estimate(x, y, method)
    assert found.units == 400
    assert found.value == pytest.approx(expected.value)
    assert found.standard_error == pytest.approx(expected.standard_error, rel=1e-6)


@pytest.mark.parametrize("method", NAMES)
def test_intervals_cover_and_errors_are_the_spread_of_estimates(method):
    """40 samples of 600 rows: 95 % covered; fewer than 32 in one of 5,000 runs. The spread is known to an eighth."""
    found = [estimate(*sample(TABLE, 600, seed), method) for seed in range(40)]
    assert sum(one.low <= information(TABLE) <= one.high for one in found) >= 32
    assert np.mean([one.standard_error for one in found]) == pytest.approx(np.std(found), rel=0.45)


def test_possible_cells_are_said():
    x, y = sample(TABLE, 100)
    assert "K = 10 x 20" in estimate(x, y, "nsb", categories=(10, 20)).settings
    assert "equal cells" in estimate(x, y, "shrinkage").settings


@pytest.mark.parametrize("method", ["nsb", "shrinkage"])
@pytest.mark.parametrize(("categories", "code"), [((2, 3), "range"), (9, "type"), ((0, 3), "range")])
def test_impossible_numbers_of_categories_are_refused(method, categories, code):
    with refused("categories", code):
        estimate(*sample(TABLE, 100), method, categories=categories)


ROOM = {"miller-madow": 1e-6, "chao-shen": 1e-3, "shrinkage": 1e-6, "nsb": 1e-6}  # corrected as of 200 rows


@pytest.mark.parametrize("method", NAMES)
def test_copies_in_groups_are_no_rows(method):
    """200 rows, each five times: the error is that of 200 rows, to a fifth."""
    x, y = sample(TABLE, 200)
    groups = np.repeat(np.arange(200), 5)
    once = estimate(x, y, method)
    five = estimate(Discrete(x.values[groups]), Discrete(y.values[groups]), method, groups=groups)
    assert five.units == 200
    assert five.standard_error == pytest.approx(once.standard_error, rel=0.2)
    if method in ROOM:
        assert five.value == pytest.approx(once.value, abs=ROOM[method])
    if method != "grassberger":
        assert any("200 independent rows" in note for note in five.notes)
