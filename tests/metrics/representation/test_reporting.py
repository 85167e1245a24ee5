"""The report of a representation against closed forms, and its notes where figures are undefined."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import integrate

from infoscope.estimators.families import GradientBoosting, Logistic
from infoscope.metrics import pid
from infoscope.metrics.factor_information import toy
from infoscope.metrics.factor_information.inputs import parts_of
from infoscope.metrics.representation import report, reporting
from infoscope.metrics.representation.reporting import TERMS, sharing
from infoscope.metrics.representation.result import ALL, DOMAIN, MEASURES
from infoscope.metrics.v_information.usable import Local, with_ignorance
from tests.refusals import refused

LINES = {"richer": Logistic(), "resamples": 10, "permutations": 0}
QUICK = LINES | {"richer": GradientBoosting(rounds=5, leaves=4)}
SIGN = integrate.quad(  # I(sign; sign + N(0, 1)), nats
    lambda x: np.exp(-0.5 * (x - 1) ** 2) / np.sqrt(2 * np.pi) * (np.log(2) - np.logaddexp(0, -2 * x)), -10, 10
)[0]
HELD = {  # the signs, of the target y and of the domain d, that z_y and z_d hold
    "ideal": ("y", "d"),
    "swapped": ("d", "y"),
    "duplicated": ("yd", "yd"),
    "constant": ("", "d"),
}


def near(one, truth):
    """Within two more standard errors of the 95 % interval, about four: a false alarm of 1e-4 for a normal estimate;
    .002 nats for what is 0 and has next to no error.
    """
    spare = 2 * one.standard_error if np.isfinite(one.standard_error) else 0.0
    return one.low - spare - 0.002 <= truth <= one.high + spare + 0.002


def shares(a, b, t):
    """Bounds and the decomposition of Williams & Beer of two sources with equal specific information."""
    least = min(a, b)
    return pid.bounds(a, b, t)._asdict() | dict(zip(TERMS, (a - least, least, t - a - b + least)))


def partition(kind, n, rng):
    """Blocks of two signs in noise, the targets, the domain, and by block and target the information of the block, of
    the other, and of both.
    """
    values = dict(zip("yd", rng.integers(0, 2, (2, n))))
    seen = {sign: 2 * value - 1 + rng.normal(size=n) for sign, value in values.items()}
    blocks, truths = {}, {}
    for block, held, other in zip(("z_y", "z_d"), HELD[kind], reversed(HELD[kind])):
        columns = [seen[sign] for sign in held] or [np.zeros(n)]
        blocks[block] = np.column_stack(columns)
        for target, sign in (("y", "y"), (DOMAIN, "d")):
            truths[block, target] = [SIGN * (sign in signs) for signs in (held, other, held + other)]
    return blocks, {"y": values["y"]}, values["d"], truths


def toy_model(attack, n, rng):
    """The same of the toy model of Tokui & Sato 2021: two factors in noise of .5, an attack of strength 1."""
    alpha = 0.0 if attack == "none" else 1.0
    truth, spread = toy.exact(attack, 2, 0.5, alpha), toy.covariance(attack, 2, 0.5, alpha)
    drawn = rng.multivariate_normal(np.zeros(len(spread)), spread, size=n)
    blocks, truths = {}, {}
    for place, name in enumerate(truth.latents):
        blocks[name] = drawn[:, [2 + place]]
        for k in range(2):
            truths[name, f"y{k}"] = truth.alone[k, place], truth.rest[k, place], truth.joint[k]
    return blocks, {f"y{k}": drawn[:, k] for k in range(2)}, None, truths


@pytest.fixture(scope="module")
def kept_apart():
    blocks, targets, domain, truths = partition("ideal", 300, np.random.default_rng(0))
    return report(blocks, targets, domain, **QUICK), truths


def has_closed_forms(found, truths):
    for (block, target), (alone, rest, joint) in truths.items():
        row = found.row(block, target)
        for measure in MEASURES:
            assert near(getattr(row, measure), alone), (block, target, measure)
        low, high = row.between
        assert low - 0.02 <= alone <= high + 0.02
        for name, share in shares(alone, rest, joint).items():
            assert near(row.sharing[name], share), (block, target, name)


def test_an_ideal_partition_has_its_closed_forms(kept_apart):
    found, truths = kept_apart
    has_closed_forms(found, truths)
    assert found.row("z_y", "y").ceiling.value == pytest.approx(np.log(2), abs=0.01)
    assert found.row("z_d", "domain").role == DOMAIN
    assert near(found.partition.scores()["unique_y_raw"], SIGN / np.log(2))


@pytest.mark.parametrize(("example", "kind"), [(partition, "duplicated"), (partition, "constant"), (toy_model, "none")])
def test_copies_constants_and_numbers_have_their_closed_forms(example, kind):
    blocks, targets, _, truths = example(kind, 300, np.random.default_rng(1))
    found = report(blocks, targets, **LINES)
    has_closed_forms(found, {place: truth for place, truth in truths.items() if place[1] in targets})
    if kind == "constant":
        nothing = found.row("z_y", "y")
        assert nothing.richer == nothing.linear == 0.0 == nothing.richer.high
        assert nothing.reading == 0.0 and nothing.between == (0.0, 0.0)
        assert reporting.CONSTANT in str(found)
    if kind == "none":
        assert found.rows[0].ceiling is None


@pytest.mark.slow  # twenty minutes in all
@pytest.mark.parametrize(
    ("example", "kind"),
    [*((partition, kind) for kind in HELD), *((toy_model, attack) for attack in ("none", "redundancy", "synergy"))],
)
def test_intervals_cover_the_truth(example, kind):
    """Of 100 data sets: of an interval that covers in 95 % of data sets fewer than 90 do once in 87 times, fewer than
    80 never. Neighbours have no interval of a constant.
    """
    covered = {}
    for seed in range(100):
        blocks, targets, domain, truths = example(kind, 500, np.random.default_rng(100 + seed))
        settings = QUICK | {"resamples": 20}
        found = report(blocks, targets, domain, generator=np.random.default_rng(seed), **settings)
        for (block, target), (alone, rest, joint) in truths.items():
            row = found.row(block, target)
            intervals = {"linear": (row.linear, alone), "richer": (row.richer, alone)}
            if row.reading is not None and math.isfinite(row.reading.low):
                intervals["reading"] = row.reading, alone
            of_all = shares(alone, rest, joint)
            intervals |= {name: (one, of_all[name]) for name, one in row.sharing.items()}
            for name, (one, true) in intervals.items():
                covered.setdefault((block, target, name), []).append(one.low - 1e-9 <= true <= one.high + 1e-9)
            low, high = row.between
            covered.setdefault((block, target, "both sides"), []).append(low - 1e-9 <= alone <= high + 1e-9)
    found = pd.Series({key: np.mean(inside) for key, inside in covered.items() if len(inside) > 50})
    print(example.__name__, kind, found.groupby(level=2).agg(["min", "mean"]), sep="\n")
    assert (found < 0.9).mean() <= 0.1 and found.min() >= 0.8, found[found < 0.9]


def test_a_page_has_every_part_and_no_nan(kept_apart):
    found, _ = kept_apart
    assert "nan" not in str(found) and "nan" not in found.text.to_string()
    assert str(found).startswith(found.leaks[0]) and reporting.LINEAR in str(found)
    page = found._repr_html_()
    parts = (found.leaks[0], "<table", "Every measure", "Partition")
    assert sorted(parts, key=page.index) == list(parts)
    row = found.table.set_index(["what", "block", "target"]).loc[("richer", "z_y", "y")]
    assert row["low"] <= row["value"] <= row["high"] and row["unit"] == "bits"
    assert row["value"] == pytest.approx(found.row("z_y", "y").richer.bits.value)
    assert "unique" in set(found.table["what"][found.table["route"] == "classifier"])  # of the partition
    for estimate in (found.row("z_y", "y").richer, found.row("z_y", "y").reading):
        text = f"{estimate.bits.value:.2f} ({estimate.bits.low:.2f} to {estimate.bits.high:.2f})"
        assert text in found.text.to_string()  # a value stands beside its own interval only


def test_a_richer_family_uses_what_lines_cannot():
    """The exclusive or of two exact signs: trees find most of log 2."""
    rng = np.random.default_rng(3)
    signs = rng.integers(0, 2, (300, 2))
    seen = 2 * signs - 1 + 0.1 * rng.normal(size=(300, 2))
    trees = GradientBoosting(rounds=30, leaves=7, learning_rate=0.3)
    (row,) = report(seen, signs[:, 0] ^ signs[:, 1], **LINES | {"richer": trees}).rows
    assert row.linear < 0.05 and row.richer > 0.3


def test_factors_are_referred_to_the_report_of_disentanglement():
    factors = np.random.default_rng(5).integers(0, 3, (60, 2))
    targets = {"shape": factors[:, 0], "missing": np.array([f"item {i}" for i in range(60)])}
    found = report(factors + 0.1, targets, **LINES)
    assert not found.row("representation", "shape").sharing and set(found.unanswered) == {"missing"}
    codes = {note.code: note.argument for note in found.notes}
    assert codes == {"disentanglement": "", "partition": ""}


def test_equal_seeds_give_equal_figures():
    y = np.random.default_rng(6).integers(0, 2, 200)
    z = 2.0 * y + 0.1 * np.random.default_rng(7).normal(size=200)
    found, again = (report(z, y, rows=100, **QUICK) for _ in range(2))
    pd.testing.assert_frame_equal(found.table, again.table)


def test_copies_of_rows_add_no_information():
    rng = np.random.default_rng(9)
    y, four = rng.integers(0, 2, 100), np.repeat(np.arange(100), 4)
    z = 2 * y - 1 + rng.normal(size=100)
    copies = z[four] + 1e-3 * rng.normal(size=400)
    grouped, single = (report(copies, y[four], groups=groups, **LINES) for groups in (four, None))
    errors = [found.rows[0].richer.standard_error for found in (grouped, single)]
    assert grouped.groups == 100 and 1.5 < errors[0] / errors[1] < 2.7


def test_more_blocks_never_have_less_information():
    """Block informations that are smaller only by noise are raised."""
    rng = np.random.default_rng(10)
    good, noisy = rng.normal(0.3, 1, 900), rng.normal(-0.5, 1, 900)
    a, ab = frozenset("a"), frozenset("ab")
    mixed = with_ignorance({a: Local(good, good), ab: Local(noisy, noisy)}, np.arange(900) % 3)
    assert mixed[ab].full.mean() > mixed[a].full.mean() - 0.01 > noisy.mean()


def test_intervals_cover_the_terms_of_two_blocks_of_nearly_equal_information():
    """Readings of a sign that are wrong in 20 and 21 % of the rows, by exact posteriors: 32 of 40 intervals must cover
    each term, which 95 % intervals fail once in 3,000 times."""
    rates, hits = (0.2, 0.21), np.zeros(3, int)
    table = np.einsum("ta,tb->tab", *(np.where(np.eye(2, dtype=bool), 1 - rate, rate) for rate in rates)) / 2
    truth = pid.williams_beer(table)
    together = np.log(2 * table / table.sum(axis=0))
    for seed in range(40):
        place = np.random.default_rng(seed).choice(8, 500, p=table.ravel())
        y, a, b = np.unravel_index(place, table.shape)
        single = [np.log(2 * np.where(side == y, 1 - rate, rate)) for side, rate in zip((a, b), rates)]
        parts = [Local(of, of) for of in (*single, together[y, a, b])]
        found = sharing(*parts, y, np.arange(500))
        for place, (name, true) in enumerate(zip(("unique", "redundant", "synergistic"), (truth[0], *truth[2:4]))):
            hits[place] += found[name].low <= true <= found[name].high
    assert (hits >= 32).all()


def test_blocks_that_inform_about_different_values_share_nothing():
    """Each block tells of one of two values: their specific information has the minimum 0 for both."""
    values = np.arange(400) % 2
    first, second, both = (values == 0).astype(float), (values == 1).astype(float), np.ones(400)
    terms = sharing(*(Local(of, of) for of in (first, second, both)), values, np.arange(400))
    assert [float(terms[name]) for name in TERMS] == pytest.approx([0.5, 0.0, 0.0])


def parts_of_one(column):
    return parts_of(column[:, None])


def test_equal_numbers_share_a_part_whatever_the_order_of_rows():
    """Cut by their position, rows of equal numbers had other terms when they were sorted."""
    rng = np.random.default_rng(11)
    plain = rng.normal(size=997)
    assert np.ptp(np.bincount(parts_of_one(plain))) <= 1 and len(np.unique(parts_of_one(plain))) == 10
    for numbers in (rng.integers(0, 5, 1000) / 4.0, rng.poisson(8, 1000).astype(float), np.round(plain, 1)):
        parts, order = parts_of_one(numbers), rng.permutation(len(numbers))
        assert (parts_of_one(numbers[order]) == parts[order]).all()
        assert (np.diff(parts[np.argsort(numbers)]) >= 0).all() and set(parts) == set(range(parts.max() + 1))
    assert (parts_of_one(np.repeat([3.0, 1.0, 2.0], [1, 90, 9])) == np.repeat([2, 0, 1], [1, 90, 9])).all()
    mostly = np.concatenate([np.zeros(800), 1 + rng.random(200)])  # four fifths are one value: the rest has two parts
    assert np.bincount(parts_of_one(mostly)).tolist() == [800, 100, 100]


@pytest.mark.parametrize(("columns", "parts"), [(2, 9), (3, 8), (4, 1)])
def test_no_column_of_a_target_is_preferred(columns, parts):
    numbers = np.random.default_rng(12).normal(size=(900, columns))
    found, turned = parts_of(numbers), parts_of(numbers[:, ::-1])
    assert found.max() + 1 == turned.max() + 1 == parts
    assert len(np.unique(np.stack([found, turned]), axis=1).T) == parts  # the same parts under other names


@pytest.mark.parametrize("count", [5, 2])
def test_a_rare_class_has_its_figures(count):
    """Of 100 rows, of which a third is held out."""
    rng = np.random.default_rng(13)
    y = (rng.permutation(100) < count).astype(int)
    found = report(2 * y + rng.normal(size=100), y, **QUICK)
    (row,) = found.rows
    share = count / 100
    truth_at_most = -share * np.log(share) - (1 - share) * np.log(1 - share)
    assert not found.unanswered and row.ceiling == pytest.approx(truth_at_most)
    assert np.isfinite([row.richer.low, row.richer.high, row.linear.low, row.linear.high]).all()
    assert row.richer <= truth_at_most


def test_a_class_of_one_row_or_of_all_rows_has_a_sentence_with_its_count():
    rows = np.arange(60)
    targets = {"y": rows % 2, "site": np.where(rows < 1, "far", "near"), "only": np.zeros(60, int)}
    found = report(np.random.default_rng(0).normal(size=60), targets, **LINES)
    assert {row.target for row in found.rows} == {"y"}
    assert "'far' has 1 of 60" in found.unanswered["site"] and "all 60 rows" in found.unanswered["only"]
    assert found.unanswered["site"] in str(found).splitlines()[0]


def test_more_columns_than_rows():
    """Classes and numbers have their figures in the time of the rows."""
    rng = np.random.default_rng(14)
    y, shape = rng.integers(0, 2, (2, 90))
    z = rng.normal(size=(90, 120))
    z[:, 0] += 10 * y
    sizes = {"size": z[:, 1] + z[:, 2] + rng.normal(size=90), "noise": rng.normal(size=90)}
    found = report(z, {"y": y, "shape": shape} | sizes, **LINES)
    size, noise = (found.row("representation", name) for name in sizes)
    assert near(size.linear, math.log(3) / 2) and near(noise.linear, 0.0)
    assert noise.reading.high <= noise.linear.high  # nothing sure was read: as much as there can be
    assert found.row("representation", "y").richer > 0.1 and near(found.row("representation", "shape").richer, 0.0)


def test_one_of_many_columns_is_within_the_interval():
    """30 columns of which one makes a number (truth log(2) / 2), 200 rows: of 7 intervals 5 must cover it, which 95 %
    intervals fail once in 270 times.
    """
    held = 0
    for seed in range(7):
        x = np.random.default_rng(seed).normal(size=(200, 31))
        (row,) = report(x[:, :30], x[:, 3] + x[:, 30], **LINES).rows
        held += row.linear.low <= math.log(2) / 2 <= row.linear.high
    assert held >= 5


def test_many_classes_are_within_the_interval():
    """20 classes a standard deviation apart in one column, 400 rows."""
    places, seen = np.arange(20.0), np.arange(-8, 28, 0.01)
    chances = np.exp(-0.5 * (seen[:, None] - places) ** 2) / math.sqrt(2 * math.pi)
    truth = (chances * np.log(chances / chances.mean(axis=1, keepdims=True))).sum() * 0.01 / 20
    rng = np.random.default_rng(0)
    y = rng.integers(0, 20, 400)
    (row,) = report(y + rng.normal(size=400), y, **QUICK).rows
    assert row.linear.low <= truth <= row.linear.high and row.richer.low <= truth <= row.richer.high


def test_an_interval_is_limited_by_the_entropy():
    """A sign in 30 columns and 90 rows, where the second half of the rows improves the prediction much."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 90)
    x = rng.normal(size=(90, 30)) + (2 * y - 1)[:, None]
    (row,) = report(x, y, **QUICK).rows
    assert row.linear.high <= row.ceiling.high and row.richer.high <= row.ceiling.high
    assert row.between[1] <= row.ceiling.high
    noise = np.random.default_rng(2).normal(-0.05, 0.01, 300)
    terms = sharing(*[Local(noise, noise)] * 3, y[np.arange(300) % 90], np.arange(300))
    assert all(terms[name].high >= 0.0 for name in pid.Bounds._fields)  # nothing is less than 0


IMAGES = np.zeros((40, 3, 8, 8), np.float32)
ROWS = np.arange(40)


@pytest.mark.parametrize(
    ("change", "argument", "code"),
    [
        ({"representation": {ALL: np.eye(40)}}, "blocks", "conflict"),
        ({"domain": np.where(ROWS % 2, "a", "b")}, "domain", "conflict"),
        ({"label": "x"}, "label", "name"),
        ({"targets": {}}, "targets", "name"),
        ({"targets": {"domain": ROWS % 2}, "domain": ROWS % 2}, "targets", "conflict"),
        ({"targets": np.zeros(40, int)}, "targets", "invalid"),
        ({"targets": ROWS < 3, "groups": np.where(ROWS < 3, 0, ROWS)}, "targets", "invalid"),
        ({"representation": np.zeros((5, 2)), "targets": [0, 1, 0, 1, 0]}, "representation", "few"),
        ({"representation": IMAGES}, None, "shape"),
        ({"richer": "none"}, "family", "name"),
    ],
)
def test_bad_input_is_refused(change, argument, code):
    given = {"representation": np.random.default_rng(0).normal(size=(40, 2)), "targets": ROWS % 2} | change
    with refused(argument, code):
        report(**given)
