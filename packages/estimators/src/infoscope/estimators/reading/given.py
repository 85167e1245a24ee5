"""The reading of I(x; y | z): a calibrated estimate, its interval and grade."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from infoscope.errors import NoVariation
from infoscope.estimators.alignment import aligned, complete_rows
from infoscope.estimators.column_types import as_variable
from infoscope.estimators.columns import single_columns
from infoscope.estimators.diagnosis import without_derived_columns
from infoscope.estimators.pairs import as_pairs
from infoscope.estimators.reading import figures, figures_conditional
from infoscope.estimators.reading.figures_conditional import (
    MAX_ROWS,
    Triples,
    as_conditions,
    left_out,
)
from infoscope.estimators.reading.figures_sample import prepared
from infoscope.estimators.reading.reader import Reader
from infoscope.estimators.reading.result import (
    FEW_GROUPS,
    GROUP_DRAWS,
    MIN_GROUPS,
    SERIES,
    Reading,
    answered,
    packaged,
    rows_of_groups,
)
from infoscope.estimators.reading.sentences import in_series
from infoscope.estimators.serial import serial_dependence
from infoscope.estimators.variables import Variable
from infoscope.notes import Note

PACKAGED = "reader_given.npz"


def as_triples(x: Any, y: Any, given: Any, groups: ArrayLike | None = None) -> Triples:
    """x, y and the columns of `given` as a checked sample.

    `estimate` lists accepted inputs and errors. Every column of `given` has its own
    type; constant columns are left out. NoVariation: all are constant.
    """
    values, moved = aligned(x=x, y=y, given=given, groups=groups)
    groups = values.pop("groups")
    values, groups, missing = complete_rows(values, groups)
    conditions = []
    for column in single_columns("given", values["given"]):
        try:
            conditions.append(as_variable("given", column))
        except NoVariation:
            continue
    if not conditions:
        raise NoVariation("given must have a column that varies, got constant ones.")
    pairs = without_derived_columns(as_pairs(values["x"], values["y"], groups))
    notes = [*moved, *missing, *pairs.notes]
    for condition in conditions:
        notes.extend(condition.notes)
    pairs = replace(pairs, notes=tuple(dict.fromkeys(notes)))
    return Triples(pairs, as_conditions(conditions))


def read_given(
    triples: Triples, generator: np.random.Generator, reader: Reader | None = None
) -> Reading:
    """The reading of a checked sample, nats, without a test.

    With groups, figures are means over samples of one row of each group. A series
    (`is_series`), and few groups, have the interval of grade C.
    """
    reader = packaged(PACKAGED) if reader is None else reader
    pairs = triples.pairs
    groups = 0 if pairs.groups is None else int(pairs.groups.max()) + 1
    few = 0 < groups < MIN_GROUPS
    if few or not groups:
        samples = [triples.take(generator.permutation(pairs.n))]
    else:
        samples = []
        for _ in range(GROUP_DRAWS):
            rows = rows_of_groups(pairs.units, generator)
            samples.append(triples.take(rows))
    rows = [figures_conditional.figures(sample, generator) for sample in samples]
    doubts = [SERIES] * is_series(triples) + [FEW_GROUPS] * few
    reading = answered(figures.mean_of_finite(np.array(rows)), reader, pairs, doubts)
    notes = reading.notes
    if (groups or pairs.n) > MAX_ROWS:
        text = f"Read on {MAX_ROWS:,} of these rows, drawn at random."
        notes += (Note(text, "rows drawn"),)
    count = sum(max(variable.dim, 1) for variable in triples.conditions)
    variables = f"{reading.variables} given {count} condition{'s' if count > 1 else ''}"
    return replace(reading, units=groups or None, notes=notes, variables=variables)


def with_p_value(reading: Reading, triples: Triples) -> Reading:
    """The reading with the p-value of independence given z, of at most 5,000 rows.

    A series has none. If the test is not decided, the p-value is nan and a note says
    why.
    """
    # imports scikit-learn
    from infoscope.estimators.independence.arrays import NOT_DECIDED, conditional_test

    if in_series(reading):
        return reading
    n = triples.pairs.n
    if n > MAX_ROWS:
        rows = np.random.default_rng(0).permutation(n)[:MAX_ROWS]
        triples = triples.take(np.sort(rows))
    pairs = triples.pairs
    test = conditional_test(pairs.x, pairs.y, triples.conditions, pairs.groups)
    if test is None:
        return reading
    if math.isnan(test.p):
        return replace(reading, notes=(*reading.notes, NOT_DECIDED))
    return replace(reading, p_value=test.p)


def is_series(triples: Triples) -> bool:
    """Whether rows without groups are dependent in the residuals of x and of y.

    Each variable is fitted by linear functions of z and of the other variable. A series
    given enough of its past has independent residuals: it is no series here.
    """
    pairs = triples.pairs
    if pairs.groups is not None:
        return False
    z = np.hstack([prepared(condition).linear for condition in triples.conditions])
    x = prepared(pairs.x).linear
    y = prepared(pairs.y).linear
    residuals = []
    for target, other in ((x, y), (y, x)):
        columns, _ = left_out(np.hstack([z, other]), target)
        residuals.append(Variable(columns, None, 1))
    return serial_dependence(*residuals) is not None
