"""Known distributions: what each of them states, and its information computed in another way."""

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import special, stats

from infoscope.data.information import table_information
from infoscope.data.tasks import beyond_normal, catalogue
from infoscope.data.tasks.cases import draws
from infoscope.data.tasks.numeric import frank_log_density, patients, shared_spread, shared_volatility
from infoscope.estimators import knn

REFERENCE = Path(__file__).parents[4] / "shared" / "reference" / "beyond_normal_tasks.csv"
GENERATED = [
    name for distributions in catalogue.COLLECTIONS.values() for name in distributions if not catalogue.needs_data(name)
]
EVERY = {name: catalogue.case(name) for name in GENERATED}


def drawn(name, n, seed=0):
    return catalogue.case(name).sample(n, np.random.default_rng(seed))


def columns(variable):
    return np.column_stack(list(variable.values()) if isinstance(variable, dict) else [variable])


def test_the_collections_of_the_exam():
    sizes = {name: len(distributions) for name, distributions in catalogue.COLLECTIONS.items()}
    assert sizes.pop("known-truth") > 10 and sizes == {
        "beyond-normal": 40, "everyday": 12, "late": 12, "later": 12, "latest": 12, "edges": 14, "unseen": 29,
        "resampled": 200, "reduction": 24, "real-tables": 10, "cost": 3,
    }  # fmt: skip
    names = [name for distributions in catalogue.COLLECTIONS.values() for name in distributions]
    assert len(names) == len(set(names))
    assert (
        len(GENERATED) == len(names) - 2 - 224
    )  # two distributions of everyday and those of resampled items read files
    for name in set(names) - set(GENERATED):
        assert 0 <= catalogue.case(name).truth()[0] < math.log(10)


@pytest.mark.parametrize("distribution", EVERY.values(), ids=EVERY)
def test_a_distribution_draws_what_it_states(distribution):
    """n finite rows that depend on the seed alone, y as declared, and a truth known to a few thousandths."""
    first, again, other = (distribution.sample(60, np.random.default_rng(seed)) for seed in (3, 3, 4))
    for one, two in zip(first, again):
        values = columns(one)
        assert len(values) == 60 and np.array_equal(values, columns(two))
        assert values.dtype.kind in "OSU" or np.isfinite(values.astype(float)).all()
    assert any(not np.array_equal(columns(one), columns(two)) for one, two in zip(first, other))
    assert (distribution.y == "numbers") == (np.asarray(first[1]).dtype.kind == "f")
    truth, error = distribution.truth()
    assert -0.7 < truth < 8 and 0 <= error < 0.003
    assert truth > -1e-6 or distribution.measure == "co-information"


def test_the_truths_of_beyond_normal_are_the_published_ones():
    if not REFERENCE.is_file():
        pytest.skip("no published table")
    with REFERENCE.open() as lines:
        published = {row["task"]: row for row in csv.DictReader(lines)}
    assert set(published) == set(beyond_normal.NAMES)
    for name, row in published.items():
        x, y = drawn(name, 7)
        assert catalogue.case(name).truth()[0] == pytest.approx(float(row["mi_nats"]), abs=1e-6)
        assert (x.shape, y.shape) == ((7, int(row["dim_x"])), (7, int(row["dim_y"])))


def test_maps_keep_the_ranks_of_what_they_move():
    """Maps of single columns are increasing; the swiss roll's radius and the spiral's norm are those of the base."""
    x, _ = drawn("multinormal-sparse-3-3-2-2.0", 50)
    for name in ("normal_cdf", "half_cube"):
        moved, _ = drawn(f"{name}-multinormal-sparse-3-3-2-2.0", 50)
        np.testing.assert_array_equal(moved.argsort(axis=0), x.argsort(axis=0))
    spiral, _ = drawn("spiral-multinormal-sparse-3-3-2-2.0", 50)
    np.testing.assert_allclose((spiral**2).sum(axis=1), (x**2).sum(axis=1))
    roll, _ = drawn("swissroll_x-normal_cdf-1v1-normal-0.75", 50)
    plain, _ = drawn("1v1-normal-0.75", 50)
    radius = 21 * np.hypot(*roll.T)
    np.testing.assert_allclose((radius / (1.5 * np.pi) - 1) / 2, stats.norm.cdf(plain[:, 0]), atol=1e-9)


def test_bimodal_columns_have_the_stated_margins():
    """Kolmogorov-Smirnov at 1e-4 each."""
    for variable, parts in zip(drawn("1v1-bimodal-0.75", 4000), beyond_normal.BIMODAL):
        levels = sum(weight * stats.norm.cdf(variable[:, 0] - mean) for weight, mean in parts)
        assert stats.kstest(levels, "uniform").pvalue > 1e-4


# --- the mean of log p(x, y) / (p(x) p(y)) over draws: name -> (rows, its values from x and y) ---


def _added(noise):
    """y = x + noise, column by column: p(y) is the mean over normal x of differences of the noise's distribution."""

    def ratio(x, y):
        grid = np.linspace(-9, 9, 1801)
        step = grid[1] - grid[0]
        at = np.linspace(y.min() - 0.1, y.max() + 0.1, 300)
        shares = noise.cdf(at[:, None] - grid + step / 2) - noise.cdf(at[:, None] - grid - step / 2)
        density = shares @ stats.norm.pdf(grid)
        return (noise.logpdf(y - x) - np.log(np.interp(y, at, density))).sum(axis=1)

    return 30_000, ratio


def _two_bands(x, y):
    ends = [stats.norm.cdf(y - middle + 0.2) - stats.norm.cdf(y - middle - 0.2) for middle in (-0.7, 0.7)]
    assert np.abs(np.abs(y - x) - 0.7).max() <= 0.2 + 1e-12
    return -math.log(0.8) - np.log(sum(ends) / 0.8)


def _even_and_wider(x, y):
    grid, at = np.linspace(-8, 8, 8001), np.linspace(-7, 7, 281)
    width = 0.2 + 0.5 * np.abs(grid)
    density = [stats.norm.pdf(grid) @ ((np.abs(one - grid) < width / 2) / width) * 0.002 for one in at]
    return -np.log(0.2 + 0.5 * np.abs(x)) - np.log(np.interp(y, at, density))


def _below(x, y):
    assert (y < x).all()
    return -np.log(x) - np.log(-np.log(y))


def _disc(x, y):
    assert (x**2 + y**2 < 1).all()
    return -math.log(math.pi) - sum(np.log(2 / math.pi * np.sqrt(1 - one**2)) for one in (x, y))


def _clayton(x, y):
    u, v = np.exp(-x), np.exp(-y)
    return math.log(3) - 3 * np.log(u * v) - 2.5 * np.log(u**-2 + v**-2 - 1)


def _product_label(x, y):
    odds = 2 * x[:, 0] * x[:, 1] + x[:, 2]
    return -np.logaddexp(0, np.where(y == 1, -odds, odds)) + math.log(2)


def _grades(x, y):
    ends = np.concatenate([[-np.inf], [-1.5, -0.9, -0.3, 0.3, 0.9, 1.5], [np.inf]])
    behind = 0.8 * x[:, :3].sum(axis=1) / math.sqrt(3)
    low, high = ends[y.astype(int)], ends[y.astype(int) + 1]
    given = special.ndtr((high - behind) / 0.6) - special.ndtr((low - behind) / 0.6)
    return np.log(given) - np.log(special.ndtr(high) - special.ndtr(low))


def _censored(x, y):
    rest = math.sqrt(0.51)
    seen = stats.norm.logpdf(y, 0.7 * x, rest) - stats.norm.logpdf(y)
    return np.where(y == 0, special.log_ndtr(-0.7 * x / rest) - math.log(0.5), seen)


def _both_censored(x, y):
    of_x, of_y = (special.log_ndtr(-0.8 * one / 0.6) + math.log(2) for one in (y, x))
    within = stats.norm.logpdf(y, 0.8 * x, 0.6) - stats.norm.logpdf(y)
    neither = math.log(1 + 2 * math.asin(0.8) / math.pi)
    return np.where(x == 0, np.where(y == 0, neither, of_x), np.where(y == 0, of_y, within))


def _clipped(x, y):
    below, above = (special.log_ndtr((-1 - sign * 0.8 * x) / 0.6) - special.log_ndtr(-1) for sign in (1, -1))
    within = stats.norm.logpdf(y, 0.8 * x, 0.6) - stats.norm.logpdf(y)
    return np.where(y == -1, below, np.where(y == 1, above, within))


def _hermite(count):
    points, weights = np.polynomial.hermite_e.hermegauss(count)
    return points, weights / weights.sum()


def _amounts(x, y):
    points, weights = _hermite(80)
    spent = y > 0
    logs = np.log(y[spent])
    alone = stats.norm.pdf(logs[:, None], 0.5 * points, 0.7) @ (special.expit(1.5 * points) * weights)
    local = special.log_expit(-1.5 * x) + math.log(2)
    local[spent] = special.log_expit(1.5 * x[spent]) + stats.norm.logpdf(logs, 0.5 * x[spent], 0.7) - np.log(alone)
    return local


def _counts(x, y):
    rates, weights = np.exp(0.8 * np.linspace(-7, 7, 2001)), stats.norm.pdf(np.linspace(-7, 7, 2001))
    counts, which = np.unique(y, return_inverse=True)
    alone = np.log(stats.poisson.pmf(counts[:, None], rates) @ weights / weights.sum())
    return stats.poisson.logpmf(y, np.exp(0.8 * x[:, 0])) - alone[which]


def _clouds(x, y):
    signs = 2 * np.column_stack([y // 2, y % 2]) - 1
    return 2 * math.log(2) - np.logaddexp(0, -2.4 * signs * x[:, :2]).sum(axis=1)


def _changing_scale(x, y):
    points, weights = _hermite(100)
    alone = np.log(stats.norm.pdf(y[:, None], 0, np.exp(0.7 * points)) @ weights)
    return stats.norm.logpdf(y, 0, np.exp(0.7 * x)) - alone


def _shared_volatility(x, y):
    points, weights = _hermite(60)
    scale = np.exp(0.8 * points)

    def density(rows):
        return np.log((stats.norm.pdf(rows[:, :, None] / scale) / scale).prod(axis=1) @ weights)

    return density(np.hstack([x, y])) - density(x) - density(y)


def _mixed_columns(x, y):
    means = dict(zip("abc", (-2.0, 0.0, 1.5)))
    centre = np.array([means[kind] for kind in x["kind"]])
    marginal = np.mean([stats.norm.pdf(y, mean, np.hypot(0.8, 0.7)) for mean in means.values()], axis=0)
    return stats.norm.logpdf(y, centre + 0.8 * x["size"], 0.7) - np.log(marginal)


DENSITY_RATIOS = {
    "even-noise-0.8": _added(stats.uniform(0, 0.8)),
    "even-noise-0.2": _added(stats.uniform(0, 0.2)),
    "even-noise-of-2-columns": _added(stats.uniform(0, 1)),
    "exponential-noise": _added(stats.expon(0, 0.5)),
    "arcsine-noise": _added(stats.arcsine(0, 0.9)),
    "gamma-noise": _added(stats.gamma(3, 0, 0.35)),
    "logistic-noise": _added(stats.logistic(0, 0.4)),
    "bounded-noise": _added(stats.beta(4, 4, 0, 2)),
    "skewed-noise-of-2-columns": _added(stats.gumbel_r(0, 0.7)),
    "two-bands": (100_000, _two_bands),
    "even-and-wider": (100_000, _even_and_wider),
    "below": (100_000, _below),
    "disc": (100_000, _disc),
    "in-order": (100_000, lambda x, y: math.log(2) - np.log(2 * (1 - x)) - np.log(2 * y)),
    "triangle": (100_000, lambda x, y: math.log(2) - np.log(2 * x) - np.log(2 * (1 - y))),
    "waiting-times-3-of-6": (40_000, lambda x, y: (-(y - x[:, :3]) - (np.log(y) - y)).sum(axis=1)),
    "clayton-2": (100_000, _clayton),
    "product-label-5": (100_000, _product_label),
    "grades-3-of-6": (100_000, _grades),
    "censored": (100_000, _censored),
    "both-censored": (100_000, _both_censored),
    "clipped": (100_000, _clipped),
    "amounts": (50_000, _amounts),
    "counts-of-1-of-3": (100_000, _counts),
    "frank-8": (100_000, lambda x, y: frank_log_density(stats.t.cdf(x, 3), y, 8.0)),
    "four-clouds-of-8": (100_000, _clouds),
    "changing-scale": (30_000, _changing_scale),
    "shared-volatility-3-3": (4000, _shared_volatility),
    "mixed-columns": (100_000, _mixed_columns),
}


@pytest.mark.parametrize("name", DENSITY_RATIOS)
def test_the_mean_log_density_ratio_of_draws_is_the_truth(name):
    """Within 4.5 standard errors, a false alarm of 7e-6, and a thousandth for the grids of the densities."""
    n, ratio = DENSITY_RATIOS[name]
    local = ratio(*drawn(name, n))
    assert abs(local.mean() - catalogue.case(name).truth()[0]) < 4.5 * local.std() / math.sqrt(n) + 1e-3


# --- nearest neighbours, where their own bias is small; of many columns, on the number that y depends on ---
SUFFICIENT = {
    "radius-of-3": lambda x: np.linalg.norm(x, axis=1),
    "square-of-1-of-12": lambda x: x[:, 6] ** 2,
    "regimes-of-5": lambda x: np.where(x[:, 0] > 0, 1.5 * x[:, 1], 0.5 * x[:, 2]),
}


@pytest.mark.parametrize(
    "name",
    [
        *("cubic-wave", "lobes", "five-classes-8", "rings", "counts", "questionnaire", "asked-again", "nothing-6-6"),
        *("little-1-of-4", "triangle", "clayton-2", "crossed", "angles", "confusion-of-8", "unlike-and-apart-4-3"),
        *("gaussian-2", "mixture-2", "uniform-beside-label", "zero-inflated-poisson", "rounded-gaussian"),
        *("independent-1", "gaussian-given-1", "reported-ages", *SUFFICIENT),
    ],
)
def test_neighbours_find_it_in_many_rows(name):
    of, n = catalogue.case(name), 4000
    x, *others = of.sample(n, draws(0, name, n))[: 3 if of.measure == "cmi" else 2]
    variables = [SUFFICIENT[name](x) if name in SUFFICIENT else x, *others]
    measure = knn.conditional_mutual_information if of.measure == "cmi" else knn.mutual_information
    found = measure(*(knn.Discrete(one) if one.dtype.kind in "iU" else knn.Continuous(one) for one in variables))
    assert abs(found - of.truth()[0]) < 4.5 * found.standard_error + 0.03


# --- correlations, tables and symmetries ---


def test_normal_columns_have_the_information_of_their_determinants():
    a, b = np.linspace(0.3, 0.9, 6), np.linspace(0.8, 0.4, 4)
    logs = [np.linalg.slogdet(np.eye(len(c)) + np.outer(c, c))[1] for c in (a, b, np.concatenate([a, b]))]
    assert catalogue.case("one-factor-6-4").truth()[0] == pytest.approx(0.5 * (logs[0] + logs[1] - logs[2]), abs=1e-12)
    x, y = drawn("next-steps-5-3", 50_000)
    logs = [np.linalg.slogdet(np.corrcoef(one.T))[1] for one in (x, y, np.hstack([x, y]))]
    assert catalogue.case("next-steps-5-3").truth()[0] == pytest.approx(0.5 * (logs[0] + logs[1] - logs[2]), abs=0.015)


def test_limits_of_shared_scales():
    """Without correlation, a shared spread is the Student distribution of Beyond Normal; without spread, I = 0."""
    assert shared_spread(3, 3, 2.0, 0.0).truth()[0] == pytest.approx(0.29092192268276484, abs=1e-9)
    assert abs(shared_volatility(3, 0.01).truth()[0]) < 1e-3


def test_frank_has_kendalls_tau():
    x, y = drawn("frank-8", 8000)
    points = (np.arange(4000) + 0.5) / 500
    debye = (points / np.expm1(points)).mean()  # of order 1 at 8
    assert stats.kendalltau(x, y).statistic == pytest.approx(1 - (1 - debye) / 2, abs=0.03)


def of_table(a, b):
    """Plug-in information of codes, and about its bias."""
    joint = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(joint, (a, b), 1.0)
    bias = ((joint > 0).sum() - (joint.sum(0) > 0).sum() - (joint.sum(1) > 0).sum() + 1) / (2 * len(a))
    return table_information(joint / len(a)) - bias


def test_tables_have_the_information_of_their_draws():
    x, y = (variable.astype(int) for variable in drawn("sparse-table", 400_000))
    assert of_table(x, y) == pytest.approx(catalogue.case("sparse-table").truth()[0], abs=0.01)
    assert len(np.unique(x * 40 + y)) > 1000
    x, y = (np.unique(one, return_inverse=True)[1] for one in drawn("survey", 200_000))
    assert of_table(x, y) == pytest.approx(catalogue.case("survey").truth()[0], abs=5e-3)


def test_parity_depends_on_two_columns_and_on_neither_alone():
    x, y = drawn("parity-of-signs", 400_000)
    signs = (x[:, :2] > 0).astype(int)
    assert of_table(signs @ [1, 2], y) == pytest.approx(catalogue.case("parity-of-signs").truth()[0], abs=0.006)
    for column in range(2):
        assert abs(of_table(signs[:, column], y)) < 1e-4


def test_monstrous_tails_are_a_normal_distribution_behind_their_map():
    n = 400_000
    x, y = drawn("monstrous-tails-3", n)
    assert np.abs(x).max() > 1e6  # of 1.2 million values; |v| > 3.8 is sure to be among them
    back = [np.sign(variable) * np.sqrt(np.log1p(np.abs(variable))) for variable in (x, y)]
    for column in range(3):
        found = np.corrcoef(back[0][:, column], back[1][:, column])[0, 1]
        assert found == pytest.approx(0.7, abs=4.5 * (1 - 0.49) / np.sqrt(n))
    assert catalogue.case("monstrous-tails-3").truth()[0] == pytest.approx(-1.5 * np.log(1 - 0.49))


def test_rows_of_a_patient_are_alike_and_any_row_is_normal():
    n = 400_000
    x, y, patient = drawn("patients", n)
    assert (np.bincount(patient) == 10).all() and catalogue.case("patients").grouped
    error = 4.5 * 3 / np.sqrt(n / 10)  # rows of a patient are far from independent
    assert np.corrcoef(x, y)[0, 1] == pytest.approx(0.7, abs=error)
    assert (x.mean(), x.std()) == (pytest.approx(0, abs=error), pytest.approx(1, abs=error))
    grouped = x.reshape(-1, 10)
    assert np.corrcoef(grouped[:, 0], grouped[:, 1])[0, 1] == pytest.approx(0.6, abs=error)
    assert patients(rows=4).sample(10, np.random.default_rng(0))[2].tolist() == [0] * 4 + [1] * 4 + [2] * 2
    *_, who = drawn("asked-again", 100)
    assert (np.bincount(who) == 4).all()
    assert catalogue.case("asked-again").truth()[0] == pytest.approx(0.5 * math.log(1 + 1 / 0.64))
