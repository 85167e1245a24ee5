"""The report of a representation against closed forms, and its notes where values are
undefined.
"""

import math

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng
from pytest import approx

from infoscope.estimators.families import GradientBoosting, Logistic
from infoscope.metrics import pid
from infoscope.metrics.factor_information import toy
from infoscope.metrics.factor_information.inputs import parts_of
from infoscope.metrics.representation import report, reporting
from infoscope.metrics.representation.reporting import TERMS, sharing
from infoscope.metrics.representation.result import ALL, DOMAIN
from infoscope.metrics.v_information.usable import Local, with_ignorance
from tests.metrics.closed_forms import sign_information
from tests.refusals import refused

LINES = {"richer": Logistic(), "resamples": 10, "permutations": 0}
QUICK = LINES | {"richer": GradientBoosting(rounds=5, leaves=4)}
MEASURES = ("reading", "linear", "richer")
SIGN = sign_information(1.0)
SIGNS_IN = {  # the signs, of the target y and of the domain d, in z_y and z_d
    "ideal": ("y", "d"),
    "swapped": ("d", "y"),
    "duplicated": ("yd", "yd"),
    "constant": ("", "d"),
}


def is_near(estimate, truth):
    """Within two more standard errors of the 95 % interval, about four: a false alarm
    of 1e-4 for a normal estimate; .002 nats for what is 0 and has next to no error.
    """
    margin = 0.002
    if np.isfinite(estimate.standard_error):
        margin += 2 * estimate.standard_error
    return estimate.low - margin <= truth <= estimate.high + margin


def covers(estimate, truth):
    return estimate.low <= truth <= estimate.high


def shared_terms(a, b, joint):
    """Bounds and the decomposition of Williams & Beer of two sources with equal
    specific information.
    """
    redundant = min(a, b)
    decomposition = a - redundant, redundant, joint - a - b + redundant
    return pid.bounds(a, b, joint)._asdict() | dict(zip(TERMS, decomposition))


def partition(kind, n, rng):
    """Blocks of two signs in noise, the targets, the domain, and by block and target
    the information of the block, of the other, and of both.
    """
    signs = dict(zip("yd", rng.integers(0, 2, (2, n))))
    noisy = {}
    for name, sign in signs.items():
        noisy[name] = 2 * sign - 1 + rng.normal(size=n)
    signs_in_y, signs_in_d = SIGNS_IN[kind]
    blocks = {"z_y": block_of(noisy, signs_in_y, n)}
    blocks["z_d"] = block_of(noisy, signs_in_d, n)
    truths = {}
    for target, sign in (("y", "y"), (DOMAIN, "d")):
        in_y = SIGN * (sign in signs_in_y)
        in_d = SIGN * (sign in signs_in_d)
        joint = max(in_y, in_d)
        truths["z_y", target] = in_y, in_d, joint
        truths["z_d", target] = in_d, in_y, joint
    return blocks, {"y": signs["y"]}, signs["d"], truths


def block_of(noisy, signs, n):
    """The columns of these signs; a constant if there are none."""
    if not signs:
        return np.zeros((n, 1))
    return np.column_stack([noisy[name] for name in signs])


def toy_model(attack, n, rng):
    """The same of the toy model of Tokui & Sato 2021: two factors in noise of .5, an
    attack of strength 1.
    """
    alpha = 0.0 if attack == "none" else 1.0
    exact = toy.exact(attack, 2, 0.5, alpha)
    covariance = toy.covariance(attack, 2, 0.5, alpha)
    origin = np.zeros(len(covariance))
    rows = rng.multivariate_normal(origin, covariance, size=n)
    targets = {"y0": rows[:, 0], "y1": rows[:, 1]}
    blocks = {}
    truths = {}
    for place, name in enumerate(exact.latents):
        blocks[name] = rows[:, [2 + place]]
        for k, target in enumerate(targets):
            alone = exact.alone[k, place]
            rest = exact.rest[k, place]
            truths[name, target] = alone, rest, exact.joint[k]
    return blocks, targets, None, truths


@pytest.fixture(scope="module")
def ideal():
    blocks, targets, domain, truths = partition("ideal", 300, default_rng(0))
    return report(blocks, targets, domain, **QUICK), truths


def assert_closed_forms(result, truths):
    for (block, target), informations in truths.items():
        alone = informations[0]
        row = result.row(block, target)
        for measure in ("reading", "linear", "richer"):
            assert is_near(getattr(row, measure), alone), (block, target, measure)
        low, high = row.between
        assert low - 0.02 <= alone <= high + 0.02
        for name, share in shared_terms(*informations).items():
            assert is_near(row.sharing[name], share), (block, target, name)


def test_an_ideal_partition_has_its_closed_forms(ideal):
    result, truths = ideal
    assert_closed_forms(result, truths)
    assert result.row("z_y", "y").ceiling.value == approx(np.log(2), abs=0.01)
    assert result.row("z_d", "domain").role == DOMAIN
    assert is_near(result.partition.scores()["unique_y_raw"], SIGN / np.log(2))


def test_a_constant_block_carries_nothing():
    blocks, targets, _, truths = partition("constant", 300, default_rng(1))
    result = report(blocks, targets, **LINES)
    truths_of_y = {}
    for place, truth in truths.items():
        if place[1] == "y":
            truths_of_y[place] = truth
    assert_closed_forms(result, truths_of_y)
    constant = result.row("z_y", "y")
    assert constant.richer == constant.linear == constant.reading == 0.0
    assert constant.richer.high == 0.0
    assert constant.between == (0.0, 0.0)
    assert reporting.CONSTANT in str(result)


def test_numbers_have_their_closed_forms():
    blocks, targets, _, truths = toy_model("none", 300, default_rng(1))
    result = report(blocks, targets, **LINES)
    assert_closed_forms(result, truths)
    assert result.rows[0].ceiling is None


@pytest.mark.slow  # twenty minutes in all
@pytest.mark.parametrize(
    ("example", "kind"),
    [
        *((partition, kind) for kind in SIGNS_IN),
        *((toy_model, attack) for attack in ("none", "redundancy", "synergy")),
    ],
)
def test_intervals_cover_the_truth(example, kind):
    """Of 100 data sets: of an interval that covers in 95 % of data sets fewer than 90
    do once in 87 times, fewer than 80 never. Neighbours have no interval of a constant.
    """
    hits = {}
    for seed in range(100):
        blocks, targets, domain, truths = example(kind, 500, default_rng(100 + seed))
        settings = QUICK | {"resamples": 20, "generator": default_rng(seed)}
        result = report(blocks, targets, domain, **settings)
        for (block, target), informations in truths.items():
            row = result.row(block, target)
            for name, low, high, truth in intervals_of(row, informations):
                covered = low - 1e-9 <= truth <= high + 1e-9
                hits.setdefault((block, target, name), []).append(covered)
    coverage = pd.Series(hits)
    coverage = coverage[coverage.map(len) > 50].map(np.mean)
    print(example.__name__, kind)
    print(coverage.groupby(level=2).agg(["min", "mean"]))
    assert (coverage < 0.9).mean() <= 0.1
    assert coverage.min() >= 0.8, coverage[coverage < 0.9]


def intervals_of(row, informations):
    """Every interval of a row: its name, ends and true value."""
    alone = informations[0]
    yield "both sides", *row.between, alone
    for measure in MEASURES:
        estimate = getattr(row, measure)
        if estimate is not None and math.isfinite(estimate.low):
            yield measure, estimate.low, estimate.high, alone
    terms = shared_terms(*informations)
    for name, estimate in row.sharing.items():
        yield name, estimate.low, estimate.high, terms[name]


def test_a_report_begins_with_the_leak_and_has_values_in_bits_and_no_nan(ideal):
    result, _ = ideal
    assert str(result).startswith(result.leaks[0])
    assert "nan" not in str(result)
    rows = result.table.set_index(["what", "block", "target"])
    row = rows.loc["richer", "z_y", "y"]
    bits = result.row("z_y", "y").richer.bits
    assert row["value"] == approx(bits.value)
    assert row["low"] == approx(bits.low)
    assert row["high"] == approx(bits.high)
    assert row["unit"] == "bits"


def test_a_richer_family_uses_what_lines_cannot():
    """The exclusive or of two exact signs: trees find most of log 2."""
    rng = default_rng(3)
    signs = rng.integers(0, 2, (300, 2))
    noisy = 2 * signs - 1 + 0.1 * rng.normal(size=(300, 2))
    parity = signs[:, 0] ^ signs[:, 1]
    trees = GradientBoosting(rounds=30, leaves=7, learning_rate=0.3)
    (row,) = report(noisy, parity, **LINES | {"richer": trees}).rows
    assert row.linear < 0.05
    assert row.richer > 0.3


def test_factors_are_referred_to_the_report_of_disentanglement():
    factors = default_rng(5).integers(0, 3, (60, 2))
    names = np.array([f"item {i}" for i in range(60)])
    targets = {"shape": factors[:, 0], "missing": names}
    result = report(factors + 0.1, targets, **LINES)
    assert not result.row("representation", "shape").sharing
    assert set(result.unanswered) == {"missing"}
    assert {note.code for note in result.notes} == {"disentanglement", "partition"}


def test_equal_seeds_give_equal_values():
    y = default_rng(6).integers(0, 2, 200)
    z = 2.0 * y + 0.1 * default_rng(7).normal(size=200)
    first = report(z, y, rows=100, **QUICK)
    second = report(z, y, rows=100, **QUICK)
    pd.testing.assert_frame_equal(first.table, second.table)


def test_copies_of_rows_add_no_information():
    rng = default_rng(9)
    y = rng.integers(0, 2, 100)
    rows = np.repeat(np.arange(100), 4)
    z = 2 * y - 1 + rng.normal(size=100)
    copies = z[rows] + 1e-3 * rng.normal(size=400)
    grouped = report(copies, y[rows], groups=rows, **LINES)
    single = report(copies, y[rows], **LINES)
    error = grouped.rows[0].richer.standard_error
    error_of_single_rows = single.rows[0].richer.standard_error
    assert grouped.groups == 100
    assert 1.5 < error / error_of_single_rows < 2.7


def test_more_blocks_never_have_less_information():
    """Block informations that are smaller only by noise are raised."""
    rng = default_rng(10)
    good = rng.normal(0.3, 1, 900)
    noisy = rng.normal(-0.5, 1, 900)
    a = frozenset("a")
    ab = frozenset("ab")
    local = {a: Local(good, good), ab: Local(noisy, noisy)}
    mixed = with_ignorance(local, np.arange(900) % 3)
    assert mixed[ab].full.mean() > mixed[a].full.mean() - 0.01


def test_intervals_cover_the_terms_of_two_blocks_of_nearly_equal_information():
    """Readings of a sign that are wrong in 20 and 21 % of the rows, by exact
    posteriors: 32 of 40 intervals must cover each term, which 95 % intervals fail once
    in 3,000 times.
    """
    same = np.eye(2, dtype=bool)
    channel_a = np.where(same, 0.8, 0.2)
    channel_b = np.where(same, 0.79, 0.21)
    table = np.einsum("ta,tb->tab", channel_a, channel_b) / 2
    truth = pid.williams_beer(table)
    joint_ratio = np.log(2 * table / table.sum(axis=0))
    hits = dict.fromkeys(TERMS, 0)
    for seed in range(40):
        outcome = default_rng(seed).choice(8, 500, p=table.ravel())
        y, a, b = np.unravel_index(outcome, table.shape)
        ratio_a = np.log(2 * channel_a[y, a])
        ratio_b = np.log(2 * channel_b[y, b])
        terms = shared_by_rows(ratio_a, ratio_b, joint_ratio[y, a, b], y)
        values = truth.unique_a, truth.redundant, truth.synergistic
        for name, value in zip(TERMS, values):
            hits[name] += covers(terms[name], value)
    assert min(hits.values()) >= 32


def shared_by_rows(ratio_a, ratio_b, ratio_of_both, y):
    """The terms of two blocks whose log ratios are exact."""
    a = Local(ratio_a, ratio_a)
    b = Local(ratio_b, ratio_b)
    both = Local(ratio_of_both, ratio_of_both)
    return sharing(a, b, both, y, np.arange(len(y)))


def test_blocks_that_inform_about_different_values_share_nothing():
    """Each block tells of one of two values: their specific information has the minimum
    0 for both.
    """
    values = np.arange(400) % 2
    zeros = (values == 0).astype(float)
    ones = (values == 1).astype(float)
    terms = shared_by_rows(zeros, ones, np.ones(400), values)
    assert [float(terms[name]) for name in TERMS] == approx([0.5, 0.0, 0.0])


def test_equal_numbers_share_a_part_whatever_the_order_of_rows():
    """Cut by their position, rows of equal numbers had other terms when they were
    sorted.
    """
    rng = default_rng(11)
    plain = rng.normal(size=(997, 1))
    assert np.ptp(np.bincount(parts_of(plain))) <= 1
    rounded = np.round(plain, 1)
    parts = parts_of(rounded)
    order = rng.permutation(len(rounded))
    np.testing.assert_array_equal(parts_of(rounded[order]), parts[order])
    ascending = parts[np.argsort(rounded[:, 0])]
    assert (np.diff(ascending) >= 0).all()
    mostly_zero = np.concatenate([np.zeros(800), 1 + rng.random(200)])
    counts = np.bincount(parts_of(mostly_zero[:, None]))
    assert counts.tolist() == [800, 100, 100]


@pytest.mark.parametrize(("columns", "count"), [(2, 9), (4, 1)])
def test_no_column_of_a_target_is_preferred(columns, count):
    numbers = default_rng(12).normal(size=(900, columns))
    parts = parts_of(numbers)
    reversed_parts = parts_of(numbers[:, ::-1])
    assert parts.max() + 1 == reversed_parts.max() + 1 == count
    pairs = np.unique(np.stack([parts, reversed_parts]), axis=1)
    assert pairs.shape[1] == count  # the same parts under other names


@pytest.mark.parametrize("count", [5, 2])
def test_a_rare_class_has_its_values(count):
    """Of 100 rows, of which a third is held out."""
    rng = default_rng(13)
    y = (rng.permutation(100) < count).astype(int)
    result = report(2 * y + rng.normal(size=100), y, **QUICK)
    (row,) = result.rows
    share = count / 100
    entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
    assert not result.unanswered
    assert row.ceiling == approx(entropy)
    for estimate in (row.richer, row.linear):
        assert math.isfinite(estimate.low)
        assert math.isfinite(estimate.high)
    assert row.richer <= entropy


def test_a_class_of_one_row_or_of_all_rows_is_named_with_its_count():
    rows = np.arange(60)
    targets = {
        "y": rows % 2,
        "site": np.where(rows < 1, "far", "near"),
        "only": np.zeros(60, int),
    }
    result = report(default_rng(0).normal(size=60), targets, **LINES)
    assert {row.target for row in result.rows} == {"y"}
    assert "'far' has 1 of 60" in result.unanswered["site"]
    assert "all 60 rows" in result.unanswered["only"]


def test_more_columns_than_rows():
    """Classes and numbers have their values in the time of the rows."""
    rng = default_rng(14)
    y, shape = rng.integers(0, 2, (2, 90))
    z = rng.normal(size=(90, 120))
    z[:, 0] += 10 * y
    size = z[:, 1] + z[:, 2] + rng.normal(size=90)
    noise = rng.normal(size=90)
    targets = {"y": y, "shape": shape, "size": size, "noise": noise}
    result = report(z, targets, **LINES)
    of_size = result.row("representation", "size")
    of_noise = result.row("representation", "noise")
    assert is_near(of_size.linear, math.log(3) / 2)
    assert is_near(of_noise.linear, 0.0)
    # no certain reading: as much as there can be
    assert of_noise.reading.high <= of_noise.linear.high
    assert result.row("representation", "y").richer > 0.1
    assert is_near(result.row("representation", "shape").richer, 0.0)


def test_one_of_many_columns_is_within_the_interval():
    """30 columns of which one makes a number (truth log(2) / 2), 200 rows: of 7
    intervals 5 must cover it, which 95 % intervals fail once in 270 times.
    """
    hits = 0
    for seed in range(7):
        x = default_rng(seed).normal(size=(200, 31))
        (row,) = report(x[:, :30], x[:, 3] + x[:, 30], **LINES).rows
        hits += covers(row.linear, math.log(2) / 2)
    assert hits >= 5


def test_an_interval_is_limited_by_the_entropy():
    """A sign in 30 columns and 90 rows, where the second half of the rows improves the
    prediction much.
    """
    rng = default_rng(1)
    y = rng.integers(0, 2, 90)
    x = rng.normal(size=(90, 30)) + (2 * y - 1)[:, None]
    (row,) = report(x, y, **QUICK).rows
    for high in (row.linear.high, row.richer.high, row.between[1]):
        assert high <= row.ceiling.high
    ratio = default_rng(2).normal(-0.05, 0.01, 300)
    terms = shared_by_rows(ratio, ratio, ratio, np.arange(300) % 2)
    for name in pid.Bounds._fields:
        assert terms[name].high >= 0.0  # nothing is less than 0


ROWS = np.arange(40)
CLASSES = ROWS % 2
SMALL_GROUP = np.where(ROWS < 3, 0, ROWS)
DOMAIN_TWICE = {"targets": {"domain": CLASSES}, "domain": CLASSES}
FIVE_ROWS = {"representation": np.zeros((5, 2)), "targets": CLASSES[:5]}


@pytest.mark.parametrize(
    ("change", "argument", "code"),
    [
        ({"representation": {ALL: np.eye(40)}}, "blocks", "conflict"),
        ({"domain": np.where(ROWS % 2, "a", "b")}, "domain", "conflict"),
        ({"label": "x"}, "label", "name"),
        ({"targets": {}}, "targets", "name"),
        (DOMAIN_TWICE, "targets", "conflict"),
        ({"targets": ROWS < 3, "groups": SMALL_GROUP}, "targets", "invalid"),
        (FIVE_ROWS, "representation", "few"),
        ({"representation": np.zeros((40, 3, 8, 8), np.float32)}, None, "shape"),
        ({"richer": "none"}, "family", "name"),
    ],
)
def test_bad_input_is_refused(change, argument, code):
    normal = default_rng(0).normal(size=(40, 2))
    arguments = {"representation": normal, "targets": CLASSES} | change
    with refused(argument, code):
        report(**arguments)
