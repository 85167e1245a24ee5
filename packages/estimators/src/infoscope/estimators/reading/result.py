"""The reading of I(x; y): a calibrated estimate, its interval and grade."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import chndtrinc, xlogy

from infoscope.estimators.discrete import label_entropy
from infoscope.estimators.pairs import Pairs
from infoscope.estimators.reading import figures
from infoscope.estimators.reading.order import in_canonical_order
from infoscope.estimators.reading.reader import (
    SERIES_TYPE,
    A,
    B,
    C,
    Read,
    Reader,
    is_narrow,
    kind_of,
    load,
)
from infoscope.estimators.reading.sentences import (
    SERIES_CODE,
    at_most,
    headline,
    in_series,
    p_in_words,
    places_of,
)
from infoscope.estimators.result import (
    LEVEL,
    NATS,
    Estimate,
    quantile,
    scale_to,
)
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.estimators.variables import Variable, row_codes
from infoscope.notes import Note

# types of a pair
NUMBERS, LABELS, CATEGORIES, MIXED = "numbers", "labels", "categories", "mixed"
METHOD, PACKAGED = "reading", "reader.npz"
SERIES = Note(
    "The rows are a series: this interval was calibrated on independent rows, so how "
    "often it covers the true value "
    "here is not known; `infoscope.estimators.series` reads series.",
    SERIES_CODE,
)
WEAK = 60.0  # 2 n x information, up to which it is weak
MIN_GROUPS = 100  # rows of the smallest simulated sample
GROUP_DRAWS = 5  # draws of one row per group
FEW_GROUPS = Note(
    f"Fewer than {MIN_GROUPS} groups: intervals were calibrated on at least "
    f"{MIN_GROUPS} independent rows, so how "
    "often one covers the true value here is not known.",
    "few groups",
    "groups",
)


@dataclass(frozen=True, eq=False, repr=False)
class Reading(Estimate):
    """The mutual information of two variables, with an interval and a grade.

    The interval is for the true value: 95 % of such intervals cover it, by calibration
    on simulated distributions of families that were held out. standard_error is half
    the interval divided by 1.96. A reading prints on one line.

    p_value    of `independence_test`; nan without a test, as for series, whose rows are dependent
    grade      A: half of the interval is at most 0.1 nats or 25 %; B: wider; C: the data differ from everything
               simulated
    variables  what x and y are, in words
    reader     version of the reader
    figures    by name; `table` shows them
    given      whether the information is conditional on a third variable
    history    past values that a reading of series uses, in words
    """

    p_value: float = math.nan
    grade: str = ""
    variables: str = ""
    reader: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)
    given: bool = False
    history: str = ""

    def _in(self, unit: str) -> Reading:
        factor = scale_to(unit)
        ends = self.low * factor, self.high * factor
        return replace(
            self,
            value=self.value * factor,
            standard_error=self.standard_error * factor,
            interval=ends,
            unit=unit,
        )

    @property
    def table(self) -> pd.DataFrame:
        """Figures of the sample, with name, value (information in bits) and meaning."""
        rows = []
        kind = kind_of(self.given)
        for name, value in self.figures.items():
            if np.isfinite(value):
                shown = value / NATS_PER_BIT if name in kind.INFORMATION else value
                rows.append((name, shown, kind.MEANING[name]))
        return pd.DataFrame(rows, columns=["figure", "value", "meaning"])

    folded_table = (
        "Single estimators and other figures of the sample (information in bits)"
    )

    def _size(self) -> str:
        return f"grade {self.grade}, {super()._size()}"

    def __repr__(self) -> str:
        if self.unit == NATS:
            return repr(self.bits)
        places = places_of(self, 2)
        size = f"n = {self.n:,}"
        if self.units not in (None, self.n):
            size += f" in {self.units:,} groups"
        facts = [f"grade {self.grade}", size, self.history, self.variables]
        start = headline(self, self.p_value)
        if not start and self.p_value >= 0:
            facts.insert(0, f"independence: {p_in_words(self.p_value)}")
        about = "; ".join(filter(None, facts))
        value = f"{self.value:.{places}f} {self.unit}"
        if self.low == 0 and not in_series(self):
            value = at_most(self)
        level = f"{100 * LEVEL:.0f} %"
        interval = f"{level} interval {self.low:.{places}f} to {self.high:.{places}f}"
        line = f"{value}, {interval} ({about})"
        return f"{start}: {line}" if start else line


@functools.cache
def packaged(name: str = PACKAGED) -> Reader:
    """The reader of this release, of pairs, or of triples (`given.PACKAGED`)."""
    folder = resources.files("infoscope.estimators.reading")
    with resources.as_file(folder / name) as path:
        return load(path)


def type_of(pairs: Pairs) -> str:
    """The type of a pair, by which intervals are calibrated."""
    kinds = {pairs.x.kind, pairs.y.kind}
    if "mixed" in kinds:
        return MIXED
    if len(kinds) == 2:
        return LABELS
    return NUMBERS if "continuous" in kinds else CATEGORIES


def read(
    pairs: Pairs,
    generator: Generator,
    series: bool = False,
    reader: Reader | None = None,
) -> Reading:
    """The reading of a checked sample, nats.

    Rows in a series, or few groups, have the interval of grade C. The order of rows and
    the names of categories and groups do not matter (`order`). Equal rows of a group
    are used once. With groups of several rows, figures are means over samples of one
    row per group, which are independent like the simulated rows.
    """
    reader = packaged() if reader is None else reader
    groups = 0 if pairs.groups is None else int(pairs.groups.max()) + 1
    bare, generator = in_canonical_order(without_copies(pairs), generator)
    few = bare.groups is not None and groups < MIN_GROUPS
    samples = [bare]
    if bare.groups is not None and not few:
        samples = [one_row_each(bare, generator) for _ in range(GROUP_DRAWS)]
    rows = [figures.figures(sample, generator) for sample in samples]
    row: NDArray[np.float64] = figures.mean_of_finite(np.array(rows))
    doubts = [SERIES] * series + [FEW_GROUPS] * few
    reading = answered(row, reader, bare, doubts)
    p = math.nan if series else p_value(bare)
    variables = f"{described(pairs.x)} against {described(pairs.y)}"
    return replace(reading, units=groups or None, p_value=p, variables=variables)


def answered(
    row: NDArray[np.float64],
    reader: Reader,
    pairs: Pairs,
    doubts: Sequence[Note],
    type: str = "",
    level: float = LEVEL,
) -> Reading:
    """The reading of a sample by its figures [p], nats, without a test.

    doubts   reasons why the coverage of the interval is unknown; with any the grade is C
    type     by which the interval is calibrated; empty: the type of the pair
    level    of the interval
    """
    type = type or type_of(pairs)
    answer = reader.read(row, type, C if doubts else None, level)
    if not reader.given and not type.startswith(SERIES_TYPE):
        answer = at_least_tested(answer, pairs)
    answer = capped(answer, pairs)
    notes = (*pairs.notes, *doubts)
    if answer.unusual:
        names = "; ".join(reader.kind.MEANING[name] for name in answer.unusual)
        text = f"These data differ from everything simulated, mostly in: {names}."
        notes += (Note(text, "unusual data"),)
    return Reading(
        answer.value,
        (answer.high - answer.low) / (2 * quantile()),
        n=pairs.n,
        method=METHOD,
        notes=notes,
        interval=(answer.low, answer.high),
        grade=answer.grade,
        variables=f"{described(pairs.x)} against {described(pairs.y)}",
        reader=str(reader.card.get("version", "")),
        figures=dict(zip(reader.kind.NAMES, row)),
        given=reader.given,
    )


def at_least_tested(reading: Read, pairs: Pairs) -> Read:
    """The reading, with an upper limit that is at least `limit_of_test`."""
    high = max(reading.high, limit_of_test(pairs))
    grade = reading.grade
    if grade == A and not is_narrow(reading.value, reading.low, high):
        grade = B
    return replace(reading, high=high, grade=grade)


def limit_of_test(pairs: Pairs) -> float:
    """The upper limit, nats, of weak information of two labels; 0 for other samples.

    It is by the likelihood-ratio test. The test's statistic, 2 n x the plug-in estimate, has a noncentral chi-squared
    distribution about 2 n I (Wilks 1938) where the information is weak and every
    expected count is at least 5 (Cochran 1954).
    """
    x, y, n = pairs.x, pairs.y, pairs.n
    if x.dim or y.dim or x.codes is None or y.codes is None or pairs.groups is not None:
        return 0.0
    table = np.histogram2d(x.codes, y.codes, bins=[x.categories, y.categories])[0]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    free = (x.categories - 1) * (y.categories - 1)
    statistic = 2 * float(xlogy(table, table / expected).sum())
    if expected.min() < 5 or statistic > free + WEAK:
        return 0.0
    noncentrality = float(chndtrinc(statistic, free, (1 - LEVEL) / 2))
    return max(noncentrality, 0.0) / (2 * n)


def capped(reading: Read, pairs: Pairs) -> Read:
    """The reading, with value and limits at most the entropies of x and y if labels."""
    value = reading.value
    low = reading.low
    high = reading.high
    for variable in (pairs.x, pairs.y):
        if not variable.dim and variable.codes is not None:
            entropy = label_entropy(variable.codes, pairs.groups)
            value = min(value, entropy.value)
            low = min(low, max(entropy.low, 0.0))
            high = min(high, entropy.high)
    grade = reading.grade
    if high < reading.high and grade != C:
        grade = A if is_narrow(value, low, high) else B
    return replace(reading, value=value, low=low, high=high, grade=grade)


def p_value(pairs: Pairs) -> float:
    """The p-value of `independence_test`; nan where there is no test."""
    # imports scikit-learn
    from infoscope.estimators.independence.arrays import p_value_of

    return p_value_of(pairs.x, pairs.y, pairs.groups)


def without_copies(pairs: Pairs) -> Pairs:
    """The sample with equal rows of a group once; groups None if each has one row."""
    groups = pairs.groups
    if groups is None:
        return pairs
    codes = np.stack([row_codes(pairs.x, pairs.y), groups])
    _, first_rows = np.unique(codes, axis=1, return_index=True)
    distinct = pairs.take(np.sort(first_rows))
    if groups.max() + 1 == distinct.n:
        return replace(distinct, groups=None)
    return distinct


def one_row_each(pairs: Pairs, generator: Generator) -> Pairs:
    """A random row of every group."""
    rows = np.sort(rows_of_groups(pairs.units, generator))
    return replace(pairs.take(rows), groups=None)


def rows_of_groups(groups: NDArray[np.int64], generator: Generator) -> NDArray[np.intp]:
    """A random row (index) of every group, by the code of the group; groups [n]."""
    order = generator.permutation(len(groups))
    _, first = np.unique(groups[order], return_index=True)
    return order[first]


def described(variable: Variable) -> str:
    """A variable in words."""
    words = []
    if variable.dim:
        words.append(
            f"{variable.dim:,} numeric column{'s' if variable.dim > 1 else ''}"
        )
    if variable.categories > 1:
        words.append(f"a label of {variable.categories:,} categories")
    return " and ".join(words)
