"""The quality of a partition from samples: identities, truths, errors of dependent
rows, tests, comparisons.
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.testing import assert_allclose
from pytest import approx

from infoscope.estimators import npeet
from infoscope.estimators.result import Estimate
from infoscope.metrics.partition.evaluation import evaluate, holm
from infoscope.metrics.partition.report import NullTest, compare
from tests.metrics.closed_forms import sign_information
from tests.refusals import refused

LEAK = 0.6
N = 500
BIT = np.log(2)
QUICK = {"resamples": 10, "permutations": 0}
ROUTES = ("neighbours", "classifier")


def sample(n, seed, leak=LEAK):
    """Two classes in two domains, independent: signs y and d in Gaussian noise; some d
    leaks into z_y.
    """
    rng = default_rng(seed)
    y, d = rng.integers(0, 2, (2, n))
    noise = rng.normal(size=(5, n))
    of_class = 2 * y - 1 + noise[0]
    of_domain = leak * (2 * d - 1) + noise[1]
    blocks = {
        "z_y": np.column_stack([of_class, of_domain]),
        "z_x": noise[2],
        "z_dy": 2 * (y ^ d) - 1 + noise[3],
        "z_d": 2 * d - 1 + noise[4],
    }
    return blocks, y, d


@pytest.fixture(scope="module")
def case():
    return sample(N, 0)


@pytest.fixture(scope="module")
def report(case):
    return evaluate(*case, resamples=10, permutations=99)


def value(report, name, route="classifier"):
    return report.figures[route][name].value


def error(report, name):
    return report.figures["classifier"][name].standard_error


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(
    ("name", "truth"),
    [
        ("I(z_y;Y|D)", sign_information(1)),
        ("I(z_y;D|Y)", sign_information(LEAK)),
        ("I(z_d;Y|D)", 0.0),
        ("I(z_x;Y,D)", 0.0),
        ("I(z_dy;Y|D)", sign_information(1)),
    ],
)
def test_both_routes_find_the_truth(report, route, name, truth):
    """Gaussian classes of one variance, for which a linear joint classifier is the
    right family, also of XOR in z_dy.

    Four standard errors (a false alarm of 6e-5 each) and .02 for bias of neighbours and
    cost of fitting.
    """
    estimate = report.figures[route][name]
    assert estimate.value == approx(truth, abs=4 * estimate.standard_error + 0.02)


@pytest.mark.parametrize("block", ["z_y", "z_x", "z_dy", "z_d"])
def test_terms_add_up_by_the_classifier(report, block):
    of_y = value(report, f"I({block};Y)")
    of_y_given_d = value(report, f"I({block};Y|D)")
    of_d = value(report, f"I({block};D)")
    of_d_given_y = value(report, f"I({block};D|Y)")
    joint = value(report, f"I({block};Y,D)")
    assert joint == approx(of_y + of_d_given_y, abs=1e-12)
    assert joint == approx(of_d + of_y_given_d, abs=1e-12)
    assert value(report, f"co-information({block};Y;D)") == approx(
        of_y - of_y_given_d, abs=1e-12
    )
    assert value(report, f"chain-rule gap of {block}") == approx(0, abs=1e-12)


@pytest.mark.parametrize("route", ROUTES)
def test_scores_follow_their_definitions(report, route):
    scores = report.scores(route)

    def term(name):
        return value(report, name, route)

    of_y = (term("I(z_y;Y|D)") - term("I(z_x,z_dy,z_d;Y|D)")) / term("H(Y|D)")
    of_d = (term("I(z_d;D|Y)") - term("I(z_y,z_x;D|Y)")) / term("H(D|Y)")
    assert scores["unique_y_raw"].value == approx(of_y)
    assert scores["unique_y"].value == max(0, of_y)
    assert scores["unique_d_raw_without_z_dy"].value == approx(of_d)
    product = max(0, scores["unique_y_raw_without_z_dy"].value) * max(0, of_d)
    assert scores["unique_without_z_dy"].value == approx(np.sqrt(product))
    assert scores["sufficiency"].value == approx(
        term("I(z_y,z_x,z_dy,z_d;Y,D)") / term("H(Y,D)")
    )
    shared = 0.5 * (
        term("I(z_dy;Y)")
        - term("I(z_dy;Y|D)")
        + term("I(z_dy;D)")
        - term("I(z_dy;D|Y)")
    )
    residual = term("I(z_x;Y)") + term("I(z_x;D|Y)")
    wanted = term("I(z_y;Y|D)"), term("I(z_d;D|Y)"), shared
    unwanted = term("I(z_y;D|Y)"), term("I(z_d;Y|D)"), residual
    total = np.maximum(wanted, 0).sum() - np.maximum(unwanted, 0).sum()
    assert scores["seed"].value == approx(total / 7.5)
    assert scores["seed_bits"].value == approx(total / 7.5 / BIT)


def test_error_of_a_ratio_is_that_of_the_bootstrap(report):
    """Delta method against 2,000 resamples of rows of the pointwise values: the ratio
    of two errors is within 8 %.
    """
    pointwise = []
    for name in ("I(z_y,z_x,z_dy,z_d;Y,D)", "H(Y,D)"):
        term = report.figures["classifier"][name]
        pointwise.append(
            term.value + term.influence * np.sqrt(report.n * (report.n - 1))
        )
    above, below = pointwise
    rows = default_rng(1).integers(0, len(above), (2000, len(above)))
    resampled = above[rows].mean(axis=1) / below[rows].mean(axis=1)
    assert report.scores()["sufficiency"].standard_error == approx(
        resampled.std(), rel=0.08
    )


def test_leakage_is_shown_where_it_is(report):
    """I(z_y;D|Y) is .16 nats, so the smallest p. The others are 0: two of three p up to
    .02 have a chance of .0012.
    """
    tests = dict(report.tests)
    leak = tests.pop("I(z_y;D|Y)")
    assert leak.p_value == 0.01
    assert leak.p_holm == 0.04
    assert leak.exchanged.endswith("of equal Y")
    significant = [name for name, test in tests.items() if test.p_value <= 0.02]
    assert len(significant) < 2


def test_copies_of_rows_add_no_information():
    """Four near copies of 100 rows as groups: errors as of 100 rows, not of 400, and
    tests exchange within groups.
    """
    blocks, y, d = sample(100, 2)
    rng = default_rng(3)
    rows = np.repeat(np.arange(100), 4)
    copies = {}
    for name in ("z_y", "z_x"):
        block = blocks[name][rows]
        copies[name] = block + 1e-3 * rng.normal(size=block.shape)
    # so that d varies within groups
    domains = np.where(np.arange(400) % 4 == 0, 1 - d[rows], d[rows])
    grouped = evaluate(
        copies, y[rows], domains, groups=rows, resamples=10, permutations=3
    )
    single = evaluate(copies, y[rows], domains, **QUICK)
    assert grouped.groups == 100
    assert single.groups == 400
    assert "within a group" in grouped.tests["I(z_x;D|Y)"].exchanged
    assert "whole groups" in grouped.tests["I(z_x;Y)"].exchanged
    ratio = error(grouped, "I(z_y;Y|D)") / error(single, "I(z_y;Y|D)")
    assert ratio == approx(2, rel=0.25)  # copies are nearly equal: the square root of 4


def test_absent_and_constant_blocks():
    blocks, y, d = sample(200, 4)
    model_blocks = {
        "z_y": blocks["z_y"],
        "z_d": blocks["z_d"],
        "z_x": np.ones((200, 3)),
        "z_dy": None,
    }
    model = SimpleNamespace(blocks=lambda: model_blocks)
    report = evaluate(model, y, d, **QUICK)
    for route in ROUTES:
        assert np.isnan(value(report, "I(z_dy;Y)", route))
        # where Newton steps end
        assert value(report, "I(z_x;Y,D)", route) == approx(0, abs=1e-7)
    scores = report.scores()
    assert np.isfinite(scores["unique"].value)
    assert "unique_without_z_dy" not in scores
    assert report.blocks == {"z_y": 2, "z_x": 3, "z_d": 1}


def test_inactive_units_are_not_ties():
    """Rectified blocks with most rows at 0: measured in one pass, with a remark, near
    the truth of the discrete distribution.

    z_y = [y and a coin], so I = log 2 - 3/4 H(1/3); its error at 1,000 rows is about
    .015 (tolerance 4 of them).
    """
    rng = default_rng(5)
    y, d, coin = rng.integers(0, 2, (3, 1000))
    active = (y & coin)[:, None] * (5.0 + rng.random((1000, 2)))
    report = evaluate({"z_y": active}, y, d, **QUICK)
    estimate = report.figures["neighbours"]["I(z_y;Y)"]
    entropy = -(np.log(1 / 3) + 2 * np.log(2 / 3)) / 3
    assert estimate.value == approx(BIT - 0.75 * entropy, abs=0.06)
    assert any("z_y repeat" in note for note in estimate.notes)


def test_names_of_classes_matter_only_where_they_are_taken_for_numbers():
    """The classes lie in order on a line; numbered in another order their codes have
    less information.
    """
    rng = default_rng(6)
    y = rng.integers(0, 4, 500)
    d = rng.integers(0, 2, 500)
    z = 50 * (0.7 * y + 0.3 * rng.normal(size=500))
    plain = evaluate({"z_y": z}, y, d, **QUICK)
    renumbered = evaluate({"z_y": z}, np.array([2, 0, 3, 1])[y], d, **QUICK)
    named = evaluate({"z_y": z}, np.array(["c", "a", "d", "b"])[y], d, **QUICK)
    for route in ROUTES:
        expected = value(plain, "I(z_y;Y|D)", route)
        assert value(named, "I(z_y;Y|D)", route) == approx(expected, abs=1e-9)
    ordered, unordered = (
        value(each, "I(z_y;Y|D)", "labels-as-numbers") for each in (plain, renumbered)
    )
    assert ordered - unordered > 0.15


def test_labels_as_numbers_is_the_estimate_of_npeet(case, report):
    """Up to the noise that breaks ties, of which some remain as codes are whole
    numbers.
    """
    blocks, y, d = case
    numbers_y = y[:, None].astype(float)
    numbers_d = d[:, None].astype(float)
    bits = npeet.mi(blocks["z_y"], numbers_y, numbers_d, 5)
    estimate = report.figures["labels-as-numbers"]["I(z_y;Y|D)"]
    assert estimate.value == approx(bits * BIT, abs=0.01)
    assert np.isnan(estimate.standard_error)
    assert set(report.scores("labels-as-numbers")) == {"seed", "seed_bits"}


def test_a_domain_determined_by_the_class():
    """H(D|Y) = 0: no share of it, and nothing to test."""
    rng = default_rng(11)
    y = rng.integers(0, 3, 150)
    z_y = np.eye(3)[y] + 0.5 * rng.normal(size=(150, 3))
    z_d = y[:, None] + 0.5 * rng.normal(size=(150, 1))
    report = evaluate({"z_y": z_y, "z_d": z_d}, y, y == 0, resamples=10, permutations=9)
    for route in ROUTES:
        assert np.isnan(report.scores(route)["unique_d_raw"].value)
    finite = [name for name, test in report.tests.items() if np.isfinite(test.p_value)]
    assert len(finite) == 1


def test_models_are_compared_row_by_row(case, report):
    """The second model leaks less. It shares everything else, so the paired error is
    well below the unpaired one.
    """
    other = evaluate(*sample(N, 0, leak=0.2), **QUICK)  # the same folds
    comparison = compare({"a": report, "b": other}).set_index("quantity")
    leak = comparison.loc["I(z_y;D|Y)"]
    assert leak["difference"] == approx(
        value(report, "I(z_y;D|Y)") - value(other, "I(z_y;D|Y)")
    )
    assert leak["low"] > 0
    assert leak["p_holm"] < 1e-3
    paired = comparison.loc["I(z_y;Y|D)", "standard_error"]
    unpaired = np.hypot(error(report, "I(z_y;Y|D)"), error(other, "I(z_y;Y|D)"))
    assert paired < 0.5 * unpaired
    assert not {"I(z_x;Y,D)", "H(Y)"} & set(comparison.index)  # the same in both
    assert (comparison["p_holm"] >= comparison["p_value"]).all()


def test_comparisons_need_two_reports_of_the_same_rows(report):
    other_rows = replace(report, items=report.items._replace(y=1 - report.items.y))
    with refused("reports", "range"):
        compare({"a": report})
    with refused("reports", "conflict"):
        compare({"a": report, "c": other_rows})
    with refused("route", "name"):
        report.scores("exact")


def test_the_default_generator_has_seed_0():
    blocks, y, d = sample(80, 8)
    settings = {"resamples": 10, "permutations": 3}
    first = evaluate({"z_y": blocks["z_y"]}, y, d, **settings)
    second = evaluate(
        {"z_y": blocks["z_y"]}, y, d, generator=default_rng(0), **settings
    )
    np.testing.assert_array_equal(first.table["value"], second.table["value"])


@pytest.mark.parametrize(
    ("low", "near", "p", "leak"),
    [
        (0.01, 0.02, 1.0, "0.02 of"),  # the main route's interval lies above 0
        # a significant test alone, with an interval that barely excludes 0
        (-0.01, 0.02, 0.01, None),
        # neighbours detect what the classifier cannot use
        (-0.01, 0.2, 0.01, "0.20 of"),
        (-0.01, 0.2, 0.5, None),
    ],
)
def test_a_leak_has_an_interval_above_0(report, low, near, p, leak):
    name = "I(z_d;Y|D)"
    nothing = dict.fromkeys(("I(z_y;D|Y)", name, "I(z_x;Y,D)"), Estimate(0.0, 0.001))
    figures = {route: terms | nothing for route, terms in report.figures.items()}
    figures["classifier"][name] = Estimate(0.02 * BIT, interval=(low * BIT, 0.05 * BIT))
    figures["neighbours"][name] = Estimate(near * BIT, 0.009 * BIT)
    changed = replace(report, figures=figures, tests={name: NullTest(p, p, "Y")})
    expected = (
        "No leak is detected: z_d" if leak is None else f"Leak: z_d also carries {leak}"
    )
    assert str(changed).startswith(expected)


def test_holm():
    """By hand: .005 x 4, .01 x 3, .03 x 2, and .04 no less than the one before. NaN is
    no test.
    """
    assert_allclose(
        holm([0.01, 0.04, np.nan, 0.03, 0.005]), [0.03, 0.06, np.nan, 0.06, 0.02]
    )


def test_a_leak_of_z_x_that_only_neighbours_detect_is_reported():
    """y is the exclusive or of two signs in z_x: a linear classifier finds nothing."""
    rng = default_rng(0)
    signs = rng.integers(0, 2, (400, 2))
    y = signs[:, 0] ^ signs[:, 1]
    d = rng.integers(0, 2, 400)
    blocks = {
        "z_y": rng.normal(size=(400, 1)),
        "z_x": signs + 0.1 * rng.normal(size=(400, 2)),
    }
    answers = evaluate(blocks, y, d, resamples=10, permutations=99).answers
    assert any(line.startswith("Leak: z_x") for line in answers)
