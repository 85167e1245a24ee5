"""The reading of I(x; y | z): a calibrated estimate of what x and y share given z, with an interval and a grade."""

from __future__ import annotations

import functools
from dataclasses import replace
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from infoscope.errors import NoVariation
from infoscope.estimators.alignment import aligned, complete_rows
from infoscope.estimators.column_types import as_variable
from infoscope.estimators.columns import single_columns
from infoscope.estimators.diagnosis import without_derived_columns
from infoscope.estimators.pairs import as_pairs
from infoscope.estimators.reading import figures
from infoscope.estimators.reading.figures_conditional import Triples, as_conditions
from infoscope.estimators.reading.figures_conditional import figures as conditional_figures
from infoscope.estimators.reading.reader import Reader, load
from infoscope.estimators.reading.result import GROUP_DRAWS, MIN_GROUPS, Reading, answered

PACKAGED = "reader_given.npz"


def as_triples(x: Any, y: Any, given: Any, groups: ArrayLike | None = None) -> Triples:
    """x, y and the columns of `given` as a checked sample; accepted inputs and errors as in `estimate`.

    Every column of `given` has its own type; constant ones are left out. NoVariation: all are constant.
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
    notes = (*moved, *missing, *pairs.notes, *(note for each in conditions for note in each.notes))
    return Triples(replace(pairs, notes=tuple(dict.fromkeys(notes))), as_conditions(conditions))


@functools.cache
def packaged() -> Reader:
    """The reader of triples of this release."""
    with resources.as_file(resources.files(__package__) / PACKAGED) as path:
        return load(path)


def read_given(triples: Triples, generator: np.random.Generator, reader: Reader | None = None) -> Reading:
    """The reading of a checked sample, nats; with groups, of figures that are means over samples of one row each."""
    reader = packaged() if reader is None else reader
    pairs = triples.pairs
    groups = 0 if pairs.groups is None else int(pairs.groups.max()) + 1
    few = 0 < groups < MIN_GROUPS
    drawn = [triples.take(generator.permutation(pairs.n))]
    if groups and not few:
        drawn = []
        for _ in range(GROUP_DRAWS):
            order = generator.permutation(pairs.n)
            rows = order[np.unique(pairs.groups[order], return_index=True)[1]]
            drawn.append(triples.take(rows))
    row = figures.mean_of_known(np.array([conditional_figures(each, generator) for each in drawn]))
    count = sum(max(variable.dim, 1) for variable in triples.conditions)
    reading = answered(row, reader, pairs, few)
    about = f"{reading.variables} given {count} condition{'s' if count > 1 else ''}"
    return replace(reading, units=groups or None, variables=about)
