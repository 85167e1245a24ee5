"""The quality of a partition from samples: identities, truths, errors of dependent rows, tests, comparisons."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import integrate

from infoscope.estimators import npeet
from infoscope.metrics.partition.evaluation import evaluate, holm
from infoscope.metrics.partition.report import compare
from tests.refusals import refused

LEAK = 0.6
QUICK = {"resamples": 40, "permutations": 0}


def sample(n, seed, leak=LEAK, noise=1.0):
    """Two classes in two domains, independent: signs y and d, seen in Gaussian noise; some d leaks into z_y."""
    rng = np.random.default_rng(seed)
    y, d = rng.integers(0, 2, (2, n))
    seen = lambda: noise * rng.normal(size=n)  # noqa: E731
    z_y = np.column_stack([(2 * y - 1) + seen(), leak * (2 * d - 1) + seen()])
    blocks = {
        "z_y": z_y,
        "z_x": rng.normal(size=(n, 1)),
        "z_dy": (2 * (y ^ d) - 1) + seen(),
        "z_d": (2 * d - 1) + seen(),
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
    return sample(1500, 0)


@pytest.fixture(scope="module")
def report(case):
    return evaluate(*case, resamples=60, permutations=99)


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
    for block in ("z_y", "z_x", "z_dy", "z_d"):
        assert value(report, f"chain-rule gap of {block}") == pytest.approx(0, abs=1e-12)
        joint = value(report, f"I({block};Y,D)")
        assert joint == pytest.approx(value(report, f"I({block};Y)") + value(report, f"I({block};D|Y)"), abs=1e-12)
        assert joint == pytest.approx(value(report, f"I({block};D)") + value(report, f"I({block};Y|D)"), abs=1e-12)
        co_information = value(report, f"I({block};Y)") - value(report, f"I({block};Y|D)")
        assert value(report, f"co-information({block};Y;D)") == pytest.approx(co_information, abs=1e-12)
    for pair, (one, other) in {"I(Y;D)": ("H(Y)", "H(Y|D)"), "H(Y,D)": ("H(Y|D)", "H(D)")}.items():
        sign = -1 if pair == "I(Y;D)" else 1
        assert value(report, pair) == pytest.approx(value(report, one) + sign * value(report, other), abs=1e-12)


def test_scores_are_what_they_say(report):
    """The definitions, once more from the table."""
    for route in ("neighbours", "classifier"):
        v, found = (lambda name: value(report, name, route)), report.scores(route)  # noqa: B023
        of_y = (v("I(z_y;Y|D)") - v("I(z_x,z_dy,z_d;Y|D)")) / v("H(Y|D)")
        of_d = (v("I(z_d;D|Y)") - v("I(z_y,z_x;D|Y)")) / v("H(D|Y)")
        assert found["unique_y_raw"].value == pytest.approx(of_y) and found["unique_y"].value == max(0, of_y)
        assert found["unique_d_raw_without_z_dy"].value == pytest.approx(of_d)
        kept = [max(0, found[f"unique_{label}_raw_without_z_dy"].value) for label in "yd"]
        assert found["unique_without_z_dy"].value == pytest.approx(np.sqrt(np.prod(kept)))
        assert found["leakage_of_d_in_z_y"].value == pytest.approx(v("I(z_y;D|Y)") / v("H(D|Y)"))
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
        for name in ("I(z_y;D|Y)", "H(D|Y)")
    )
    rows = rng.integers(0, len(above), (2000, len(above)))
    resampled = above[rows].mean(axis=1) / below[rows].mean(axis=1)
    assert report.scores()["leakage_of_d_in_z_y"].standard_error == pytest.approx(resampled.std(), rel=0.08)


def test_leakage_is_shown_where_it_is(report):
    """I(z_y;D|Y) is .16 nats, so the smallest p. The others are 0: two of three p up to .02 have a chance of .0012."""
    tests = report.tests
    assert tests["I(z_y;D|Y)"].p_value == 0.01 and tests["I(z_y;D|Y)"].p_holm == 0.04
    assert tests["I(z_y;D|Y)"].exchanged == "D among rows of equal Y"
    assert sum(test.p_value <= 0.02 for name, test in tests.items() if name != "I(z_y;D|Y)") < 2
    table = report.table().set_index(["route", "quantity"])
    assert table.loc[("neighbours", "I(z_y;D|Y)"), "p_value"] == 0.01
    assert "p by permuting D among rows of equal Y" in table.loc[("neighbours", "I(z_y;D|Y)"), "note"]
    assert np.isnan(table.loc[("classifier", "I(z_y;D|Y)"), "p_value"])


def test_copies_of_rows_say_no_more_than_the_rows():
    """Four near copies of 300 rows as groups: errors as of 300 rows, not of 1,200, and tests exchange within groups."""
    blocks, y, d = sample(300, 2)
    rng, four = np.random.default_rng(3), np.repeat(np.arange(300), 4)
    copies = {
        name: np.asarray(b)[four] + 1e-3 * rng.normal(size=np.asarray(b)[four].shape) for name, b in blocks.items()
    }
    domains = np.where(np.arange(1200) % 4 == 0, 1 - d[four], d[four])  # so that d varies within groups
    options = {"resamples": 40, "permutations": 19}
    grouped = evaluate(copies, y[four], domains, groups=four, **options)
    single = evaluate(copies, y[four], domains, **options)
    assert grouped.groups == 300 and single.groups == 1200
    assert grouped.tests["I(z_x;D|Y)"].exchanged == "D among rows within a group of equal Y"
    assert grouped.tests["I(z_x;Y)"].exchanged == "Y among whole groups"
    name = "I(z_y;Y|D)"
    together, apart = (r.figures["classifier"][name].standard_error for r in (grouped, single))
    assert together / apart == pytest.approx(2, rel=0.25)  # copies are nearly equal: the square root of 4
    assert (grouped.table()["groups"] == 300).all()


def test_absent_and_constant_blocks():
    blocks, y, d = sample(400, 4)
    report = evaluate(
        {"z_y": blocks["z_y"], "z_d": blocks["z_d"], "z_x": np.ones((400, 3)), "z_dy": None}, y, d, **QUICK
    )
    for route in ("neighbours", "classifier"):
        assert np.isnan(value(report, "I(z_dy;Y)", route))
        assert report.figures[route]["I(z_dy;Y)"].notes == ("not applicable: there is no z_dy.",)
        assert value(report, "I(z_x;Y,D)", route) == pytest.approx(0, abs=1e-7)  # where Newton steps end
    assert report.figures["neighbours"]["I(z_x;Y,D)"].notes == ("the block is constant: it shares nothing.",)
    assert np.isfinite(report.scores()["unique"].value) and "unique_without_z_dy" not in report.scores()
    assert report.blocks == {"z_y": 2, "z_x": 3, "z_d": 1}


def test_units_that_are_off_are_not_ties():
    """Rectified blocks with most rows at 0: measured in one pass, with a remark, near the truth of the discrete law.

    z_y = [y and a coin], so I = log 2 - 3/4 H(1/3); its error at 1,000 rows is about .015 (tolerance 4 of them).
    """
    rng = np.random.default_rng(5)
    y, d, coin = rng.integers(0, 2, (3, 1000))
    on = (y & coin)[:, None] * (5.0 + rng.random((1000, 2)))
    report = evaluate({"z_y": on}, y, d, **QUICK)
    figure = report.figures["neighbours"]["I(z_y;Y)"]
    thirds = -(np.log(1 / 3) + 2 * np.log(2 / 3)) / 3
    assert figure.value == pytest.approx(np.log(2) - 0.75 * thirds, abs=0.06)
    assert any("rows of z_y repeat" in note for note in figure.notes)


def test_names_of_classes_matter_only_where_they_are_taken_for_numbers():
    """The classes lie in order on a line; numbered in another order their codes say less of it."""
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


def test_the_own_way_of_the_seed_is_npeet(case, report):
    """Up to the noise that breaks ties, of which some remain as codes are whole numbers."""
    blocks, y, d = case
    theirs = npeet.cmi(blocks["z_y"], y[:, None].astype(float), d[:, None].astype(float), 5, compat=True) * np.log(2)
    figure = report.figures["labels-as-numbers"]["I(z_y;Y|D)"]
    assert figure.value == pytest.approx(theirs, abs=0.01)
    assert np.isnan(figure.standard_error) and "taken as numbers" in figure.notes[0]
    assert set(report.scores("labels-as-numbers")) == {"seed", "seed_bits"}


def test_labels_of_any_container():
    """Strings, mixed objects, tensors of any precision and pandas columns name the same classes."""
    blocks, y, d = sample(120, 10)
    given = {"z_y": blocks["z_y"]}
    named = np.array(["cat", "dog"])[y]
    plain = evaluate(given, y, d, resamples=10, permutations=0)
    for labels, domains in (
        (named.tolist(), torch.tensor(d).bool()),
        (np.array(["cat", 7], dtype=object)[y], torch.tensor(d).bfloat16()),
        (pd.DataFrame({"animal": named}), pd.Series(d, dtype="Int64")),
    ):
        again = evaluate(given, labels, domains, resamples=10, permutations=0)
        for route in ("neighbours", "classifier"):
            assert value(again, "I(z_y;Y|D)", route) == pytest.approx(value(plain, "I(z_y;Y|D)", route), abs=1e-9)


def test_a_domain_that_the_class_tells():
    """H(D|Y) = 0: no share of it, nothing to test, and no disagreement of routes over rounding."""
    rng = np.random.default_rng(11)
    y = rng.integers(0, 3, 150)
    blocks = {
        "z_y": np.eye(3)[y] + 0.5 * rng.normal(size=(150, 3)),
        "z_d": y[:, None] + 0.5 * rng.normal(size=(150, 1)),
    }
    report = evaluate(blocks, y, (y == 0).astype(int), resamples=10, permutations=9)
    for route in ("neighbours", "classifier"):
        leak = report.scores(route)["leakage_of_d_in_z_y"]
        assert np.isnan(leak.value)
        assert leak.notes == ("H(D|Y) is 0.0000, not above 0: there is nothing to know a share of.",)
    words = report.summary()
    assert "I(z_y;D|Y) = 0 could not be tested" in words and "after Holm over 1 test (" in words
    assert "I(z_y;D|Y): neighbours" not in words and "none (not applicable: there is no z_dy.)." in words


def test_what_cannot_be_classified_fails_before_neighbours_are_sought():
    blocks, y, d = sample(60, 12)
    y[:], y[7] = 0, 1
    told = []
    with pytest.raises(ValueError, match="1 of the 3 joint classes of labels, such as that of row 7, lie in a single"):
        evaluate(blocks, y, d, **QUICK, progress=lambda done, what: told.append(what))
    assert not told


def test_models_are_compared_row_by_row(case, report):
    """The second model leaks less. It shares everything else, so the paired error is well below the unpaired one."""
    a, b = report, evaluate(*sample(1500, 0, leak=0.2), resamples=60, permutations=0)  # the same folds
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
    elsewhere = evaluate(*sample(120, 1), resamples=10, permutations=0)
    for reports, words in (({"a": a}, "at least two"), ({"a": a, "c": elsewhere}, "same rows")):
        with pytest.raises(ValueError, match=words):
            compare(reports)


def test_same_seed_same_numbers_and_progress():
    blocks, y, d = sample(300, 8)
    steps = []
    first = evaluate(blocks, y, d, resamples=20, permutations=9, progress=lambda done, what: steps.append((done, what)))
    again = evaluate(blocks, y, d, resamples=20, permutations=9, generator=np.random.default_rng(0))
    np.testing.assert_array_equal(first.table()["value"], again.table()["value"])
    shares = [done for done, _ in steps]
    assert shares == sorted(shares) and shares[-1] == pytest.approx(1)
    assert {what.split(":")[0] for _, what in steps} == {"neighbours", "classifier", "permutations"}


def test_a_report_is_plain_values_and_words(report):
    plain = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert plain["n"] == plain["groups"] == 1500 and plain["settings"]["folds"] == 5
    rows = {(row["route"], row["quantity"]): row for row in plain["rows"]}
    assert rows["classifier", "I(z_y;D|Y)"]["value"] == value(report, "I(z_y;D|Y)")
    assert rows["labels-as-numbers", "seed"]["standard_error"] is None
    for words in ("Score unique", "Score seed (labels-as-numbers)", "it is there", "Not shown", "synergy prevails"):
        assert words in report.summary()
    with refused("route", "name"):
        report.scores("exact")


def test_an_object_may_give_the_blocks():
    blocks, y, d = sample(300, 9)

    class Encoded:
        def blocks(self):
            return {"z_y": blocks["z_y"]}

    assert evaluate(Encoded(), y, d, **QUICK).blocks == {"z_y": 2}


def test_holm():
    """By hand: .005 x 4, .01 x 3, .03 x 2, and .04 no less than the one before. NaN is no test."""
    np.testing.assert_allclose(holm([0.01, 0.04, np.nan, 0.03, 0.005]), [0.03, 0.06, np.nan, 0.06, 0.02])


@pytest.mark.parametrize(("change", "words"), [
    ({"blocks": {"z_q": np.zeros((60, 1))}}, "named among"),
    ({"blocks": {"z_y": None}}, "at least one of"),
    ({"blocks": 3}, "mapping of names"),
    ({"blocks": {"z_y": np.full((60, 1), np.nan)}}, "must be finite"),
    ({"blocks": {"z_y": np.zeros((60, 1)), "z_d": np.zeros((50, 1))}}, "equally long"),
    ({"y": np.zeros(60, int)}, "one class only"),
    ({"d": np.zeros(50, int)}, "one category for each row"),
    ({"groups": np.zeros(50, int)}, "one category for each row"),
    ({"k": 30}, "k must be below"),
    ({"resamples": 9}, "resamples must be"),
    ({"folds": 2}, "folds must be"),
    ({"permutations": -1}, "permutations must be"),
])  # fmt: skip
def test_bad_input_is_one_sentence(change, words):
    rng = np.random.default_rng(0)
    given = {"blocks": {"z_y": rng.normal(size=(60, 2))}, "y": np.arange(60) % 2, "d": np.arange(60) // 2 % 2}
    with pytest.raises(ValueError, match=words):
        evaluate(**{**given, "resamples": 10, "permutations": 0, **change})


def test_a_block_is_tested_for_what_it_tells_beyond_the_one_that_is_to_hold_a_label():
    """z_d with a part of y that z_y has not is found; noise in z_x, and what z_y has of d from z_d itself, are not."""
    blocks, y, d = sample(300, 5, leak=0.0)
    g = np.random.default_rng(6)
    blocks["z_y"] = np.column_stack([blocks["z_y"][:, 0], blocks["z_d"] + g.normal(size=300)])
    blocks["z_d"] = np.column_stack([blocks["z_d"], 2 * y - 1 + g.normal(size=300)])
    report = evaluate(blocks, y, d, resamples=10, permutations=0, given_blocks=59)
    tests, figures = report.tests, report.figures["neighbours"]
    assert list(tests) == ["I(z_d;Y|z_y)", "I(z_x;Y|z_y)", "I(z_y;D|z_d)", "I(z_x;D|z_d)"]
    assert tests["I(z_d;Y|z_y)"].p_value == 1 / 60
    assert all(test.p_value > 0.05 for name, test in tests.items() if name != "I(z_d;Y|z_y)")
    assert tests["I(z_x;Y|z_y)"].exchanged == "rows of z_x among the 5 nearest in z_y"
    assert figures["I(z_d;Y|z_y)"].low > 0 and "rows of z_d among" in report.summary()
    row = report.table().set_index(["quantity", "route"]).loc[("I(z_d;Y|z_y)", "neighbours")]
    assert row["p_value"] == 1 / 60 and row["unit"] == "nats"
    constant = evaluate({**blocks, "z_y": np.ones((300, 1))}, y, d, resamples=10, permutations=0, given_blocks=9)
    assert constant.tests["I(z_d;Y|z_y)"].exchanged == "z_y is constant." and "I(z_d;Y|z_y)" not in constant.figures


def test_scores_of_many_columns_and_few_rows_say_what_was_not_taught():
    """30 columns of which two count, 200 rows: 90 weights cost .28 nats of 160 rows, and the scores say so; of two
    columns and 2,000 rows they cost next to nothing.
    """
    for columns, n, told in ((15, 200, True), (1, 2000, False)):
        rng = np.random.default_rng(0)
        y, d = rng.integers(0, 2, (2, n))
        blocks = {name: rng.normal(size=(n, columns)) for name in ("z_y", "z_d")}
        for name, sign in zip(blocks, (y, d)):
            blocks[name][:, 0] += 2 * sign - 1
        found = evaluate(blocks, y, d, resamples=10, permutations=0)
        words = "what so few rows do not teach: 90 weights (30 columns, 4 combinations of Y and D) learnt from 160 rows"
        assert (f"Not shown: {words} or groups cost up to about 0.28 nats" in str(found)) == told
        table = found.table().set_index(["route", "quantity"])["note"]
        assert (words in table["classifier", "sufficiency"]) == (words in table["classifier", "unique_y"]) == told
        assert words not in table["neighbours", "sufficiency"]
