"""The quality of a partition from samples: identities, truths, errors of dependent rows, tests, comparisons."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import integrate

from infoscope.estimators import npeet
from infoscope.estimators.result import Estimate
from infoscope.metrics.partition.evaluation import evaluate, holm
from infoscope.metrics.partition.report import NullTest, compare
from tests.refusals import refused

LEAK, N = 0.6, 500
QUICK = {"resamples": 10, "permutations": 0}
BLOCKS = ("z_y", "z_x", "z_dy", "z_d")


def sample(n, seed, leak=LEAK):
    """Two classes in two domains, independent: signs y and d, seen in Gaussian noise; some d leaks into z_y."""
    rng = np.random.default_rng(seed)
    y, d = rng.integers(0, 2, (2, n))
    seen = rng.normal(size=(5, n))
    z_y = np.column_stack([2 * y - 1 + seen[0], leak * (2 * d - 1) + seen[1]])
    blocks = {
        "z_y": z_y,
        "z_x": seen[2],
        "z_dy": 2 * (y ^ d) - 1 + seen[3],
        "z_d": 2 * d - 1 + seen[4],
    }
    return blocks, y, d


def sign_information(amplitude):
    """I(sign; amplitude * sign + N(0, 1)), nats, by quadrature."""

    def integrand(x):
        density = np.exp(-0.5 * (x - amplitude) ** 2) / np.sqrt(2 * np.pi)
        return density * (np.log(2) - np.logaddexp(0, -2 * amplitude * x))

    return integrate.quad(integrand, -10, 10)[0]


@pytest.fixture(scope="module")
def case():
    return sample(N, 0)


@pytest.fixture(scope="module")
def report(case):
    return evaluate(*case, resamples=10, permutations=99)


def value(report, name, route="classifier"):
    return report.figures[route][name].value


def test_both_routes_find_the_truth(report):
    """Gaussian classes of one variance, for which a linear joint classifier is the right family, also of XOR in z_dy.

    Four standard errors (a false alarm of 6e-5 for each of 12) and .02 for bias of neighbours and cost of fitting.
    """
    truths = {
        "I(z_y;Y|D)": sign_information(1), "I(z_y;D|Y)": sign_information(LEAK), "I(z_d;D|Y)": sign_information(1),
        "I(z_d;Y|D)": 0.0, "I(z_x;Y,D)": 0.0, "I(z_dy;Y|D)": sign_information(1),
    }  # fmt: skip
    for route in ("neighbours", "classifier"):
        for name, truth in truths.items():
            figure = report.figures[route][name]
            assert figure.value == pytest.approx(truth, abs=4 * figure.standard_error + 0.02), (route, name)


def test_terms_add_up_by_the_classifier(report):
    for block in BLOCKS:
        assert value(report, f"chain-rule gap of {block}") == pytest.approx(0, abs=1e-12)
        joint = value(report, f"I({block};Y,D)")
        assert joint == pytest.approx(value(report, f"I({block};Y)") + value(report, f"I({block};D|Y)"), abs=1e-12)
        assert joint == pytest.approx(value(report, f"I({block};D)") + value(report, f"I({block};Y|D)"), abs=1e-12)
        co_information = value(report, f"I({block};Y)") - value(report, f"I({block};Y|D)")
        assert value(report, f"co-information({block};Y;D)") == pytest.approx(co_information, abs=1e-12)


@pytest.mark.parametrize("route", ["neighbours", "classifier"])
def test_scores_follow_their_definitions(report, route):
    v, found = (lambda name: value(report, name, route)), report.scores(route)
    of_y = (v("I(z_y;Y|D)") - v("I(z_x,z_dy,z_d;Y|D)")) / v("H(Y|D)")
    of_d = (v("I(z_d;D|Y)") - v("I(z_y,z_x;D|Y)")) / v("H(D|Y)")
    assert found["unique_y_raw"].value == pytest.approx(of_y) and found["unique_y"].value == max(0, of_y)
    assert found["unique_d_raw_without_z_dy"].value == pytest.approx(of_d)
    kept = [max(0, found[f"unique_{label}_raw_without_z_dy"].value) for label in "yd"]
    assert found["unique_without_z_dy"].value == pytest.approx(np.sqrt(np.prod(kept)))
    assert found["sufficiency"].value == pytest.approx(v("I(z_y,z_x,z_dy,z_d;Y,D)") / v("H(Y,D)"))
    shared = 0.5 * (v("I(z_dy;Y)") - v("I(z_dy;Y|D)") + v("I(z_dy;D)") - v("I(z_dy;D|Y)"))
    residual = v("I(z_x;Y)") + v("I(z_x;D|Y)")
    signed = [v("I(z_y;Y|D)"), v("I(z_d;D|Y)"), shared], [v("I(z_y;D|Y)"), v("I(z_d;Y|D)"), residual]
    total = sum(max(0, t) for t in signed[0]) - sum(max(0, t) for t in signed[1])
    assert found["seed"].value == pytest.approx(total / 7.5)
    assert found["seed_bits"].value == pytest.approx(total / 7.5 / np.log(2))


def test_error_of_a_ratio_is_that_of_the_bootstrap(report):
    """Delta method against 2,000 resamples of rows of the pointwise values: the ratio of two errors is within 8 %."""
    figures, rng = report.figures["classifier"], np.random.default_rng(1)
    above, below = (
        figures[name].value + figures[name].influence * np.sqrt(report.n * (report.n - 1))
        for name in ("I(z_y,z_x,z_dy,z_d;Y,D)", "H(Y,D)")
    )
    rows = rng.integers(0, len(above), (2000, len(above)))
    resampled = above[rows].mean(axis=1) / below[rows].mean(axis=1)
    assert report.scores()["sufficiency"].standard_error == pytest.approx(resampled.std(), rel=0.08)


def test_leakage_is_shown_where_it_is(report):
    """I(z_y;D|Y) is .16 nats, so the smallest p. The others are 0: two of three p up to .02 have a chance of .0012."""
    tests = report.tests
    leak = tests["I(z_y;D|Y)"]
    assert leak.p_value == 0.01 and leak.p_holm == 0.04 and leak.exchanged.endswith("of equal Y")
    assert sum(test.p_value <= 0.02 for name, test in tests.items() if name != "I(z_y;D|Y)") < 2
    table = report.table.set_index(["route", "what"])
    assert table.loc[("neighbours", "I(z_y;D|Y)"), "says"].startswith("= 0: p = 0.01, 0.04 after Holm")
    assert table.loc[("classifier", "I(z_y;D|Y)"), "says"] == ""


def test_copies_of_rows_add_no_information():
    """Four near copies of 100 rows as groups: errors as of 100 rows, not of 400, and tests exchange within groups."""
    blocks, y, d = sample(100, 2)
    rng, four = np.random.default_rng(3), np.repeat(np.arange(100), 4)
    copies = {name: blocks[name][four] + 1e-3 * rng.normal(size=blocks[name][four].shape) for name in ("z_y", "z_x")}
    domains = np.where(np.arange(400) % 4 == 0, 1 - d[four], d[four])  # so that d varies within groups
    grouped = evaluate(copies, y[four], domains, groups=four, resamples=10, permutations=3)
    single = evaluate(copies, y[four], domains, **QUICK)
    assert grouped.groups == 100 and single.groups == 400
    assert "within a group" in grouped.tests["I(z_x;D|Y)"].exchanged
    assert "whole groups" in grouped.tests["I(z_x;Y)"].exchanged
    name = "I(z_y;Y|D)"
    together, apart = (r.figures["classifier"][name].standard_error for r in (grouped, single))
    assert together / apart == pytest.approx(2, rel=0.25)  # copies are nearly equal: the square root of 4


def test_absent_and_constant_blocks():
    blocks, y, d = sample(200, 4)
    given = {"z_y": blocks["z_y"], "z_d": blocks["z_d"], "z_x": np.ones((200, 3)), "z_dy": None}
    report = evaluate(SimpleNamespace(blocks=lambda: given), y, d, **QUICK)  # an object may give the blocks
    for route in ("neighbours", "classifier"):
        assert np.isnan(value(report, "I(z_dy;Y)", route))
        assert "no z_dy" in report.figures[route]["I(z_dy;Y)"].notes[0]
        assert value(report, "I(z_x;Y,D)", route) == pytest.approx(0, abs=1e-7)  # where Newton steps end
    assert "constant" in report.figures["neighbours"]["I(z_x;Y,D)"].notes[0]
    assert np.isfinite(report.scores()["unique"].value) and "unique_without_z_dy" not in report.scores()
    assert report.blocks == {"z_y": 2, "z_x": 3, "z_d": 1}


def test_inactive_units_are_not_ties():
    """Rectified blocks with most rows at 0: measured in one pass, with a remark, near the truth of the discrete
    distribution.

    z_y = [y and a coin], so I = log 2 - 3/4 H(1/3); its error at 1,000 rows is about .015 (tolerance 4 of them).
    """
    rng = np.random.default_rng(5)
    y, d, coin = rng.integers(0, 2, (3, 1000))
    on = (y & coin)[:, None] * (5.0 + rng.random((1000, 2)))
    report = evaluate({"z_y": on}, y, d, **QUICK)
    figure = report.figures["neighbours"]["I(z_y;Y)"]
    thirds = -(np.log(1 / 3) + 2 * np.log(2 / 3)) / 3
    assert figure.value == pytest.approx(np.log(2) - 0.75 * thirds, abs=0.06)
    assert any("z_y repeat" in note for note in figure.notes)


def test_names_of_classes_matter_only_where_they_are_taken_for_numbers():
    """The classes lie in order on a line; numbered in another order their codes have less information."""
    rng = np.random.default_rng(6)
    y, d = rng.integers(0, 4, 500), rng.integers(0, 2, 500)
    z = 50 * (0.7 * y[:, None] + 0.3 * rng.normal(size=(500, 1)))
    order, names = np.array([2, 0, 3, 1]), np.array(["c", "a", "d", "b"])
    plain, renumbered = (evaluate({"z_y": z}, labels, d, **QUICK) for labels in (y, order[y]))
    named = evaluate({"z_y": z}, names[y], d, **QUICK)
    for route in ("neighbours", "classifier"):
        assert value(plain, "I(z_y;Y|D)", route) == pytest.approx(value(named, "I(z_y;Y|D)", route), abs=1e-9)
    numbers = [value(r, "I(z_y;Y|D)", "labels-as-numbers") for r in (plain, renumbered)]
    assert numbers[0] - numbers[1] > 0.15


def test_labels_as_numbers_is_the_estimate_of_npeet(case, report):
    """Up to the noise that breaks ties, of which some remain as codes are whole numbers."""
    blocks, y, d = case
    theirs = npeet.cmi(blocks["z_y"], y[:, None].astype(float), d[:, None].astype(float), 5, compat=True) * np.log(2)
    figure = report.figures["labels-as-numbers"]["I(z_y;Y|D)"]
    assert figure.value == pytest.approx(theirs, abs=0.01)
    assert np.isnan(figure.standard_error) and "taken as numbers" in figure.notes[0]
    assert set(report.scores("labels-as-numbers")) == {"seed", "seed_bits"}


def test_a_domain_determined_by_the_class():
    """H(D|Y) = 0: no share of it, nothing to test, and no disagreement of routes over rounding."""
    rng = np.random.default_rng(11)
    y = rng.integers(0, 3, 150)
    blocks = {
        "z_y": np.eye(3)[y] + 0.5 * rng.normal(size=(150, 3)),
        "z_d": y[:, None] + 0.5 * rng.normal(size=(150, 1)),
    }
    report = evaluate(blocks, y, (y == 0).astype(int), resamples=10, permutations=9)
    for route in ("neighbours", "classifier"):
        share = report.scores(route)["unique_d_raw"]
        assert np.isnan(share.value) and "not above 0" in share.notes[0]
    assert report.text.set_index("what")["says"].str.contains("not be tested")["I(z_y;D|Y)"]
    assert sum(np.isfinite(test.p_value) for test in report.tests.values()) == 1


def test_models_are_compared_row_by_row(case, report):
    """The second model leaks less. It shares everything else, so the paired error is well below the unpaired one."""
    a, b = report, evaluate(*sample(N, 0, leak=0.2), **QUICK)  # the same folds
    found = compare({"a": a, "b": b}).set_index("quantity")
    row = found.loc["I(z_y;D|Y)"]
    assert row["difference"] == pytest.approx(value(a, "I(z_y;D|Y)") - value(b, "I(z_y;D|Y)"))
    assert row["difference"] > 0 and row["p_holm"] < 1e-3 and row["low"] > 0
    paired = found.loc["I(z_y;Y|D)", "standard_error"]
    unpaired = np.hypot(*(r.figures["classifier"]["I(z_y;Y|D)"].standard_error for r in (a, b)))
    assert paired < 0.5 * unpaired
    assert "I(z_x;Y,D)" not in found.index and "H(Y)" not in found.index  # the same in both
    assert (found["p_holm"] >= found["p_value"]).all()
    assert compare({"a": a, "same": a}).empty
    elsewhere = replace(a, items=a.items._replace(y=1 - a.items.y))
    for reports, code in (({"a": a}, "range"), ({"a": a, "c": elsewhere}, "conflict")):
        with refused("reports", code):
            compare(reports)


def test_same_seed_same_numbers():
    blocks, y, d = sample(80, 8)
    settings = {"resamples": 10, "permutations": 3}
    first = evaluate({"z_y": blocks["z_y"]}, y, d, **settings)
    again = evaluate({"z_y": blocks["z_y"]}, y, d, generator=np.random.default_rng(0), **settings)
    np.testing.assert_array_equal(first.table["value"], again.table["value"])


def test_a_report_is_a_table_and_words(report):
    assert report.n == report.groups == N
    rows = report.table.set_index(["route", "what"])
    assert np.isnan(rows.loc[("labels-as-numbers", "seed"), "standard_error"])
    says = report.text.set_index("what")["says"]
    assert "synergy" in says["co-information(z_dy;Y;D)"] and "after Holm" in says["I(z_y;D|Y)"]
    assert set(report.details) == {"Every quantity and score", "What to doubt"} and "logistic" in report.caption
    with refused("route", "name"):
        report.scores("exact")
    row = rows.loc[("classifier", "I(z_y;D|Y)")]
    assert row["value"] == pytest.approx(value(report, "I(z_y;D|Y)") / np.log(2)) and row["unit"] == "bits"


@pytest.mark.parametrize(
    ("low", "near", "p", "leak"),
    [
        (0.01, 0.02, 1.0, "0.02 of"),  # the main route's interval lies above 0
        (-0.01, 0.02, 0.01, None),  # a significant test alone, with an interval that barely excludes 0
        (-0.01, 0.2, 0.01, "0.20 of"),  # neighbours detect what the classifier cannot use
        (-0.01, 0.2, 0.5, None),
        (-0.01, -0.02, 1.0, None),
    ],
)
def test_a_leak_has_an_interval_above_0(report, low, near, p, leak):
    bits = np.log(2)
    names = ("I(z_y;D|Y)", "I(z_d;Y|D)", "I(z_x;Y,D)")
    nothing = Estimate(0.0, 0.001)
    figures = {route: {**of, **dict.fromkeys(names, nothing)} for route, of in report.figures.items()}
    figures["classifier"][names[1]] = Estimate(0.02 * bits, interval=(low * bits, 0.05 * bits))
    figures["neighbours"][names[1]] = Estimate(near * bits, 0.009 * bits)
    changed = replace(report, figures=figures, tests={names[1]: NullTest(p, p, "Y")})
    first = str(changed).splitlines()[0]
    expected = "No leak is detected: z_d" if leak is None else f"Leak: z_d also carries {leak}"
    assert first.startswith(expected)


def test_holm():
    """By hand: .005 x 4, .01 x 3, .03 x 2, and .04 no less than the one before. NaN is no test."""
    np.testing.assert_allclose(holm([0.01, 0.04, np.nan, 0.03, 0.005]), [0.03, 0.06, np.nan, 0.06, 0.02])
