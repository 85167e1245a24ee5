"""Every public function that takes a user's arrays, asked the same: rows of pandas in
another order, tables of other libraries, bad input, few rows, other types and units.
Each gives the number it should, or an InfoscopeError that names an argument.
"""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from numpy.testing import assert_allclose
from pytest import approx

from infoscope.errors import InfoscopeError
from infoscope.estimators import (
    Angle,
    Continuous,
    Discrete,
    classifier,
    diagnose,
    estimate,
    independence,
    knn,
    normalised,
    uncertainty,
)
from infoscope.metrics import (
    disentanglement,
    factor_information,
    partition,
    pid,
    representation,
)
from infoscope.metrics.v_information import labels, measures, pvi

N = 120
RNG = default_rng(0)
LABELS = np.repeat([0, 1], N // 2)
X = LABELS + 0.5 * RNG.normal(size=N)
NUMBERS = X + 0.8 * RNG.normal(size=N)
OTHER = X + RNG.normal(size=N)
ROWS = pd.Index([f"row {number}" for number in RNG.permutation(N)])


def beside(x):
    """Another variable of the rows of x: of pandas by their names."""
    if isinstance(x, pd.Series):
        return pd.Series(OTHER, ROWS)
    if isinstance(x, np.ndarray) and x.ndim == 1:
        return OTHER[: len(x)]
    return OTHER


def figures(result):
    """The result of a function as a vector of numbers [m]."""
    if isinstance(result, pd.Series):
        return result.to_numpy()
    if isinstance(result, pd.DataFrame):
        return result.select_dtypes("number").to_numpy().ravel()
    numbers = result if isinstance(result, tuple) else (result,)
    return np.array([float(number) for number in numbers])


def blocks_of(x):
    return {"z_y": x, "z_d": beside(x)}


# Of numbers x and numbers y. What draws does so from its default generator of one seed.
OF_NUMBERS = {
    "estimate": estimate,
    "estimate gcmi": partial(estimate, method="gcmi"),
    "diagnose": lambda x, y: knn.mutual_information(
        diagnose(x, y).pairs.x, diagnose(x, y).pairs.y
    ),
    "knn.mutual_information": knn.mutual_information,
    "knn.conditional": lambda x, y: knn.conditional_mutual_information(x, y, beside(x)),
    "knn.total_correlation": lambda x, y: knn.total_correlation([x, y]),
    "knn.co_information": lambda x, y: knn.co_information(x, beside(x), y),
    "subsample": lambda x, y: uncertainty.subsample(x, y, resamples=10),
    "permutation_test": lambda x, y: (
        uncertainty.permutation_test(x, y, permutations=9).observed
    ),
    "independence_test": lambda x, y: independence.independence_test(x, y).observed,
    "independence_test given": lambda x, y: (
        independence.independence_test(x, y, beside(x)).observed
    ),
    "pid.gaussian": lambda x, y: tuple(
        pid.gaussian_from_arrays(x, beside(x), y, blocks=8)
    )[:4],
}
# Of numbers x and labels y.
OF_LABELS = {
    "estimate labels": estimate,
    "normalised": normalised,
    "cross_fit": lambda x, y: classifier.cross_fit(x, y, folds=3).information("z", "y"),
    "partition": lambda x, y: tuple(
        partition.evaluate(blocks_of(x), y, y, resamples=10, permutations=0, folds=3)
        .figures["neighbours"]
        .values()
    ),
    "pvi": lambda x, y: pvi.pointwise("logistic", x, y, folds=3).pvi_bits.mean(),
    "v_information": lambda x, y: measures.estimate("logistic", x, y, folds=3),
    "labels.report": lambda x, y: labels.report(y, x).table["value"],
}
# Slow ones, of which bad input alone is asked in full.
REPORTS = {
    "representation.report": lambda x, y: (
        representation.report(
            {"z": x}, {"y": y}, folds=3, resamples=10, permutations=0
        ).table
    ),
    "factor_information": lambda x, y: tuple(
        factor_information.from_arrays(
            frame(x), frame(y), method="knn", resamples=None
        ).joint
    ),
    "disentanglement.report": lambda x, y: (
        disentanglement.report(frame(x), frame(y), method="knn").table
    ),
}


def frame(variable):
    """Two columns of the rows of a variable; of pandas, keeping its index."""
    if isinstance(variable, pd.Series):
        return pd.concat([variable, variable], axis=1, keys=["a", "b"])
    return variable


def target_of(call):
    if call in OF_NUMBERS.values():
        return NUMBERS
    return LABELS


def entries(*kinds):
    return [
        pytest.param(call, id=name) for kind in kinds for name, call in kind.items()
    ]


@pytest.mark.parametrize("call", entries(OF_NUMBERS, OF_LABELS, REPORTS))
def test_rows_of_pandas_are_paired_by_their_index(call):
    """A shuffled Series gives the numbers of the rows in order, and not about 0."""
    x = pd.Series(X, ROWS)
    y = pd.Series(target_of(call), ROWS)
    expected = figures(call(x, y))
    shuffled = y.sample(frac=1, random_state=3)
    assert_allclose(figures(call(x, shuffled)), expected, rtol=1e-9, equal_nan=True)


LIBRARIES = {
    "polars": lambda one: pl.from_pandas(one, include_index=False),
    "pyarrow": lambda one: (
        pa.Table.from_pandas(one, preserve_index=False)
        if one.ndim == 2
        else pa.chunked_array([pa.array(one)])
    ),
    "record batch": lambda one: (
        pa.RecordBatch.from_pandas(one, preserve_index=False)
        if one.ndim == 2
        else pa.array(one)
    ),
}


@pytest.mark.parametrize("call", entries(OF_NUMBERS, OF_LABELS))
@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_of_other_libraries_are_taken(call, library):
    y = target_of(call)
    converted = LIBRARIES[library]
    x_column = converted(pd.Series(X))
    y_column = converted(pd.Series(y))
    np.testing.assert_array_equal(
        figures(call(x_column, y_column)), figures(call(X, y))
    )


def test_rows_without_an_index_are_paired_by_position():
    """Also with a pandas object whose index is another order of 0, 1, ...: it says
    nothing about them.
    """
    order = pd.Index(RNG.permutation(N))
    for call in (OF_NUMBERS["estimate gcmi"], OF_LABELS["pvi"], OF_LABELS["cross_fit"]):
        y = target_of(call)
        expected = figures(call(X, y))
        assert_allclose(
            figures(call(pd.Series(X, order), pl.Series(y))), expected, rtol=1e-9
        )
        assert_allclose(
            figures(call(pl.Series(X), pd.Series(y, order))), expected, rtol=1e-9
        )


COLUMNS = {
    "numbers": lambda rng: rng.normal(size=N),
    "whole numbers": lambda rng: rng.integers(-3, 1000, N),
    "float32": lambda rng: rng.normal(size=N).astype(np.float32),
    "booleans": lambda rng: rng.normal(size=N) > 0,
    "texts": lambda rng: np.array(["b", "a", "c"])[rng.integers(0, 3, N)],
    "categories": lambda rng: pd.Categorical(
        np.array(["b", "a", "c"])[rng.integers(0, 3, N)]
    ),
    "constant": lambda rng: np.ones(N),
    "numbers as texts": lambda rng: np.array(
        [f"{value:.3f}" for value in rng.normal(size=N)]
    ),
    "times": lambda rng: pd.date_range("2020-01-01", periods=N, unit="us"),
}


@settings(max_examples=60, deadline=None)
@given(
    kinds=st.lists(st.sampled_from(list(COLUMNS)), min_size=1, max_size=3),
    missing=st.sampled_from([None, None, 5]),
    library=st.sampled_from(list(LIBRARIES)),
    seed=st.integers(0, 2**16),
)
def test_a_table_of_any_library_gives_the_same_estimate_or_refusal(
    kinds, missing, library, seed
):
    rng = default_rng(seed)
    table = pd.DataFrame(
        {f"{place} {kind}": COLUMNS[kind](rng) for place, kind in enumerate(kinds)}
    )
    if missing:
        table[table.columns[0]] = table[table.columns[0]].where(np.arange(N) != missing)

    def outcome(x, y):
        try:
            estimated = estimate(x, y, "ksg")
        except InfoscopeError as error:
            return type(error), str(error)
        return estimated.value, estimated.low, estimated.high, estimated.notes

    y = pd.Series(NUMBERS, name="y")
    assert outcome(LIBRARIES[library](table), LIBRARIES[library](y)) == outcome(
        table, y
    )


BAD = {
    "NaN": np.where(np.arange(N) == 3, np.nan, X),
    "infinite": np.where(np.arange(N) == 3, np.inf, X),
    "masked": np.ma.masked_less(X, 0),
    "missing": pd.array([*X[1:], None], dtype="Float64"),
    "complex": X + 1j,
    "dates": pd.date_range("2020-01-01", periods=N),
    "numbers as texts": np.array([f"{value:.3f}" for value in X]),
    "three axes": X.reshape(2, 2, -1),
    "one number": 3.0,
    "none": [],
    "no columns": np.empty((N, 0)),
    "ragged": [[1.0, 2.0], [3.0]] * (N // 2),
    "longer": np.r_[X, X],
    "beyond squares": X * 1e200,
    "meta tensor": torch.zeros(N, device="meta"),
    "lazy table": pl.LazyFrame({"x": X}),
    "repeated names": pa.table([X, X], names=["a", "a"]),
}
MISSING = ("NaN", "missing")
LEAVES_ROWS_OUT = [
    OF_NUMBERS[name] for name in ("estimate", "estimate gcmi", "diagnose")
]
LEAVES_ROWS_OUT += [OF_LABELS[name] for name in ("estimate labels", "normalised")]


@pytest.mark.parametrize("call", LEAVES_ROWS_OUT)
@pytest.mark.parametrize("what", MISSING)
def test_rows_with_missing_values_are_left_out(call, what):
    y = target_of(call)
    x = BAD[what]
    present = ~pd.isna(x)
    assert float(call(x, y)) == float(call(np.asarray(x[present], float), y[present]))


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("call", entries(OF_NUMBERS, OF_LABELS, REPORTS))
def test_bad_input_is_one_sentence_about_an_argument(call):
    y = target_of(call)
    accepted = MISSING if call in LEAVES_ROWS_OUT else ()
    if call == OF_LABELS["labels.report"]:
        accepted = ("numbers as texts",)  # texts like others
    for what in BAD.keys() - accepted:
        with pytest.raises(InfoscopeError) as caught:
            call(BAD[what], y)
            pytest.fail(f"{what} is accepted")
        assert caught.value.argument and "\n" not in str(caught.value), what


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    n=st.integers(1, 5),
    seed=st.integers(0, 2**16),
    name=st.sampled_from([*OF_NUMBERS, *OF_LABELS]),
    whole=st.booleans(),
)
def test_few_rows_give_a_number_or_a_sentence(n, seed, name, whole):
    rng = default_rng(seed)
    x = rng.integers(0, 3, n) if whole else rng.normal(size=n)
    y = rng.integers(0, 2, n) if name in OF_LABELS else rng.normal(size=n)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            figures((OF_NUMBERS | OF_LABELS)[name](x, y))
        except InfoscopeError as error:
            assert error.argument


QUICK = ["ksg", "ksg-2", "gcmi", "gaussian", "reduced-ksg", "student-copula"]
TYPES = [np.float32, np.longdouble, "list", "tensor", "pandas", "Float64", "column"]


def typed(values, kind):
    """The same numbers as another type."""
    wide = np.asarray(values, np.float32).astype(float)  # float32 holds them exactly
    return {
        "list": wide.tolist,
        "tensor": lambda: torch.tensor(wide, requires_grad=True),
        "pandas": lambda: pd.Series(wide),
        "Float64": lambda: pd.Series(wide, dtype="Float64"),
        "column": lambda: wide[:, None],
    }.get(kind, lambda: wide.astype(kind))()


@settings(max_examples=25, deadline=None)
@given(
    method=st.sampled_from(QUICK),
    kind=st.sampled_from(TYPES),
    seed=st.integers(0, 2**16),
)
def test_types_and_the_order_of_rows_change_nothing(method, kind, seed):
    x = np.asarray(X, np.float32).astype(float)
    y = np.asarray(NUMBERS, np.float32).astype(float)
    expected = estimate(x, y, method, generator=default_rng(0))
    estimated = estimate(
        typed(x, kind), typed(y, kind), method, generator=default_rng(0)
    )
    assert estimated.value == approx(expected.value, abs=1e-9)
    order = default_rng(seed).permutation(N)
    moved = estimate(x[order], y[order], method, generator=default_rng(0))
    # its folds are drawn by place
    tolerance = 1e-9 if method != "student-copula" else 0.15
    assert moved.value == approx(expected.value, abs=tolerance)


@settings(max_examples=25, deadline=None)
@given(
    method=st.sampled_from(QUICK),
    unit=st.floats(-120, 120).map(lambda power: 10.0**power),
    shift=st.floats(-10, 10),
)
def test_the_unit_of_a_column_changes_nothing(method, unit, shift):
    expected = estimate(X, NUMBERS, method, generator=default_rng(0))
    rescaled = estimate(X, (NUMBERS + shift) * unit, method, generator=default_rng(0))
    assert rescaled.value == approx(expected.value, abs=1e-6)
    assert rescaled.low == approx(expected.low, abs=1e-6)


@settings(max_examples=25, deadline=None)
@given(
    names=st.permutations(["a", "b", "c"]),
    period=st.sampled_from([180.0, 360.0, 24.0]),
    turns=st.integers(-3, 3),
)
def test_names_of_categories_and_turns_of_angles_change_nothing(names, period, turns):
    classes = np.digitize(X, [0.2, 0.8])
    for y in (NUMBERS, LABELS):
        expected = knn.mutual_information(Discrete(classes), y)
        assert knn.mutual_information(np.array(names)[classes], y) == approx(
            expected, abs=1e-12
        )
    angles = 100 * X
    expected = knn.mutual_information(Angle(angles, period), NUMBERS)
    turned = knn.mutual_information(Angle(angles + turns * period, period), NUMBERS)
    assert turned == approx(expected, abs=1e-6)


@settings(max_examples=10, deadline=None)
@given(place=st.integers(0, 2), value=st.floats(-1e6, 1e6))
def test_a_constant_column_changes_nothing_but_a_note(place, value):
    narrow = np.column_stack([X, OTHER])
    wide = np.insert(narrow, place, value, axis=1)
    expected = estimate(narrow, NUMBERS, "ksg")
    padded = estimate(wide, NUMBERS, "ksg")
    assert padded.value == expected.value
    assert any("constant" in note for note in padded.notes)
    assert estimate(Continuous(wide), NUMBERS, "ksg").value == expected.value
