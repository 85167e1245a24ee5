"""The reader: predicts the information of a sample, with an interval and a grade, from
its figures.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infoscope.errors import UnreadableFile
from infoscope.estimators.reading import figures, figures_conditional
from infoscope.estimators.reading.networks import Networks, Prediction
from infoscope.estimators.result import LEVEL
from infoscope.files import read_arrays, reading

A, B, C = "A", "B", "C"
# largest half width of grade A: nats, or share of the estimate
NARROW, NARROW_SHARE = 0.1, 0.25
BASELINE = "lower_bound"  # the figure that is corrected
# errors are relative above 5 nats / rows, within these limits
RELATIVE_ROWS, RELATIVE_ABOVE = 5.0, (0.001, 0.05)
FEW_COLUMNS, MANY_COLUMNS = 11, 60  # most columns of "few" and of "many" (`columns_of`)
FEW_ROWS, SOME_ROWS = 300, 1000  # most rows of "few" and of "some"
STRONG = 2.0  # nats; larger estimates of rows are calibrated apart
ALL = "all"  # the cell of every sample
# begins the type of a sample whose rows are in the order of time
SERIES_TYPE = "series of "
NEAREST = 5  # simulated data sets whose mean distance measures how unusual a sample is
MOST_LOG_RATIO = 20.0  # of an upper limit
PREDICTION = "mixture"  # what the networks of a reader file predict
MAX_DISTANCE = 5.0  # standard deviations that a single figure can add to a distance
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Read:
    """The reading of one sample, nats, and the names of its most unusual figures."""

    value: float
    low: float
    high: float
    grade: str
    unusual: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Simulated data sets of one cell in the space of scaled figures, to measure how
    unusual a sample is.

    columns    int16 [c], the figures that are known in this cell
    centre, spread  float32 [c], their mean and standard deviation
    points     float16 [m, c], scaled
    limit      float64 [], the distance that 1 % of the simulated data sets exceed
    """

    columns: NDArray[np.int16]
    centre: NDArray[np.float32]
    spread: NDArray[np.float32]
    points: NDArray[np.float16]
    limit: Values

    def scaled(self, rows: Values) -> Values:
        """Figures [m, p] in standard deviations [m, c], bounded; what is missing is at
        the mean.
        """
        scaled = (rows[:, self.columns] - self.centre) / self.spread
        return np.clip(np.nan_to_num(scaled), -MAX_DISTANCE, MAX_DISTANCE)

    def distances(self, rows: Values) -> Values:
        """Mean distance [m] to the nearest simulated data sets; a row that is one of
        these is not its own neighbour.
        """
        points = self.points.astype(np.float32)
        means = []
        for row in self.scaled(rows).astype(np.float32):
            distances = np.sqrt(np.mean((points - row) ** 2, axis=1))
            others = np.sort(distances[distances > 1e-3])
            means.append(float(others[:NEAREST].mean()))
        return np.array(means)

    def unusual(
        self, row: Values, names: Sequence[str], count: int = 3
    ) -> tuple[str, ...]:
        """The `names` of the figures in which a sample is farthest from the nearest
        simulated data sets.
        """
        scaled = self.scaled(row[None])[0]
        distances = np.mean((self.points - scaled) ** 2, axis=1)
        nearest = np.argsort(distances)[:NEAREST]
        centre = self.points[nearest].astype(float).mean(axis=0)
        farthest = np.argsort(-np.abs(centre - scaled))[:count]
        return tuple(names[column] for column in self.columns[farthest])


@dataclass(frozen=True, eq=False)
class Reader:
    """A trained reader.

    network  predicts the log ratio of the information to the baseline
    around   by cell of the calibration (`cells`), the simulated data sets
    factors  by cell, then grade: the log odds of the lower and the upper limit, in those of a central interval of the
             predicted distribution; no A where coverage is not assured
    card     facts about the training: version, simulated data sets, types, families
    """

    network: Networks
    around: Mapping[str, Surroundings]
    factors: Mapping[str, Mapping[str, Sequence[float]]]
    card: Mapping[str, Any] = field(default_factory=dict)

    @property
    def given(self) -> bool:
        """Whether it reads what x and y share given a third variable."""
        return bool(self.card.get("given"))

    @property
    def kind(self) -> ModuleType:
        """The module of its figures."""
        return kind_of(self.given)

    def read(
        self, row: Values, type: str, grade: str | None = None, level: float = LEVEL
    ) -> Read:
        """The reading of one sample, by its figures [p] and the type of the pair.

        grade   whose interval is given; None: by how narrow and how unusual it is
        level   of the interval
        """
        rows = np.asarray(row, np.float32).astype(np.float64)[None]
        predicted = self.network(rows)
        (cell,) = cells(rows, [type], self.given)
        around = self.around.get(cell)
        far = around is None or bool(around.distances(rows)[0] > around.limit)
        factors = self.factors_of(rows, type, predicted)
        grades = [A, B] if A in factors else [B]
        if far:
            grades = [C]
        if grade is not None:
            grades = [grade]
        grade = grades[0]
        if len(grades) > 1 and not is_narrow(*interval(rows, predicted, factors[A])):
            grade = B
        value, low, high = (
            limit.item() for limit in interval(rows, predicted, factors[grade], level)
        )
        unusual = around.unusual(rows[0], self.kind.NAMES) if far and around else ()
        return Read(value, low, high, grade, unusual)

    def factors_of(
        self, rows: Values, type: str, predicted: Prediction
    ) -> Mapping[str, Sequence[float]]:
        """The factors of the narrowest cell of a sample, figures [1, p], that was
        calibrated.
        """
        (nested,) = nested_cells(rows, [type], median(rows, predicted), self.given)
        return next(self.factors[cell] for cell in nested if cell in self.factors)

    def save(self, path: Path) -> None:
        """Writes one compressed file of arrays and a JSON text."""
        text, arrays = parts_of(self)
        np.savez_compressed(path, text=np.array(text), **arrays)


def load(path: Path) -> Reader:
    """A saved reader; nothing of the file is executed. UnreadableFile: not a reader, or
    one of other figures.
    """
    start = f"path must be the file of a reader, got {path}"
    stored = read_arrays(path, start=start)
    with reading(path, "", start):
        return of_parts(str(stored.pop("text")), stored)


def parts_of(reader: Reader) -> tuple[str, dict[str, NDArray[Any]]]:
    """The reader as a JSON text and arrays by name."""
    text = json.dumps(
        {
            "factors": reader.factors,
            "card": reader.card,
            "figures": reader.kind.VERSION,
            "prediction": PREDICTION,
        }
    )
    arrays = reader.network.arrays()
    for cell, around in reader.around.items():
        arrays |= {
            f"around/{cell}/{name}": value for name, value in vars(around).items()
        }
    return text, arrays


def of_parts(text: str, arrays: Mapping[str, NDArray[Any]]) -> Reader:
    """The reader of `parts_of`. KeyError, ValueError: no parts of a reader;
    UnreadableFile: one of other figures.
    """
    facts = json.loads(text)
    if facts.get("prediction") != PREDICTION:
        raise UnreadableFile(
            f"path must be a reader that predicts a {PREDICTION}, got one of an earlier version."
        )
    version = kind_of(facts["card"].get("given")).VERSION
    if facts["figures"] != version:
        raise UnreadableFile(
            f"path must be a reader of figures of version {version}, got {facts['figures']}."
        )
    parts = list(Surroundings.__dataclass_fields__)
    cell_names = dict.fromkeys(
        name.split("/")[1] for name in arrays if name.startswith("around/")
    )
    around = {
        cell: Surroundings(*(arrays[f"around/{cell}/{part}"] for part in parts))
        for cell in cell_names
    }
    return Reader(Networks.of_arrays(arrays), around, facts["factors"], facts["card"])


def kind_of(given: bool) -> ModuleType:
    """The module of the figures of pairs, or of triples."""
    return figures_conditional if given else figures


def baseline(rows: Values) -> Values:
    """The figure that the reader corrects [m], nats: the largest of the plain
    estimates.
    """
    return np.maximum(np.nan_to_num(rows[:, figures.NAMES.index(BASELINE)]), 0.0)


def relative_above(rows: Values) -> Values:
    """The information [m], nats, above which the errors of samples are relative: it
    falls with their rows.
    """
    least = np.log(RELATIVE_ROWS) - log_rows(rows)
    return np.exp(np.clip(least, *np.log(RELATIVE_ABOVE)))


def log_rows(rows: Values) -> Values:
    """The log [m] of the number of rows of each sample."""
    return np.nan_to_num(rows[:, figures.NAMES.index("log_rows")])


def log_ratio(rows: Values, information: Values) -> Values:
    """The log ratio [m] of information, nats, to the baseline: what the networks
    predict.
    """
    least = relative_above(rows)
    return np.log((information + least) / (baseline(rows) + least))


def columns_of(rows: Values, given: bool = False) -> Values:
    """The number of numeric columns of x and y together [m]; of triples, with the
    columns of z.
    """
    names = ["numbers_more", "numbers_fewer"]
    if given:
        names.append("conditions")
    places = [kind_of(given).NAMES.index(name) for name in names]
    log_counts = np.nan_to_num(rows[:, places])
    return np.rint(np.expm1(log_counts)).sum(axis=1)


def cells(rows: Values, types: Sequence[str], given: bool = False) -> list[str]:
    """The cell of the surroundings of each sample [m]: the type of the pair, and few or
    many columns.
    """
    words = np.where(columns_of(rows, given) <= FEW_COLUMNS, "few", "many")
    return [f"{type}, {word} columns" for type, word in zip(types, words)]


def nested_cells(
    rows: Values, types: Sequence[str], estimates: Values, given: bool = False
) -> list[tuple[str, ...]]:
    """The cells of the calibration of each sample [m], the narrowest first: by type,
    columns, rows and estimate, nats.

    The last cell but one is by the estimate alone: strong dependence never has the
    factors of grade A of other samples. Strong series are too few for cells of their
    own.
    """
    columns = columns_of(rows, given)
    count = log_rows(rows)
    of_columns = np.select(
        [columns <= FEW_COLUMNS, columns <= MANY_COLUMNS], ["few", "many"], "very many"
    )
    of_rows = np.select(
        [count <= np.log(FEW_ROWS), count <= np.log(SOME_ROWS)], ["few", "some"], "many"
    )
    of_estimate = np.where(estimates > STRONG, "strong", "not strong")
    nested = []
    for type, wide, long, strength in zip(types, of_columns, of_rows, of_estimate):
        every = ALL
        if type.startswith(SERIES_TYPE):
            every = f"{SERIES_TYPE}{ALL}"
            strength = "any estimate"
        of_all = f"{every}, {strength}"
        of_width = f"{every}, {wide} columns, {strength}"
        of_type = f"{type}, {wide} columns, {strength}"
        nested.append((f"{of_type}, {long} rows", of_type, of_width, of_all, every))
    return nested


def median(rows: Values, predicted: Prediction) -> Values:
    """The predicted median [m], nats, of samples with figures [m, p]: the estimate."""
    nothing = log_ratio(rows, np.zeros(len(rows)))
    return information(rows, predicted.quantile(0.0, nothing))


def interval(
    rows: Values, predicted: Prediction, factors: Sequence[float], level: float = LEVEL
) -> tuple[Values, Values, Values]:
    """Estimate and limits [m], nats, of samples with figures [m, p].

    They are the predicted median, and the quantiles with the log odds of a central
    interval of this level x factors (below, above).
    """
    central = central_log_odds(level)
    nothing = log_ratio(rows, np.zeros(len(rows)))
    below, above = factors
    limits = []
    for log_odds in (0.0, -below * central, above * central):
        log_ratios = predicted.quantile(log_odds, nothing)
        limits.append(information(rows, log_ratios))
    value, low, high = limits
    return value, low, high


def central_log_odds(level: float) -> float:
    """The log odds of the upper limit of a central interval of this level."""
    return math.log((1 + level) / (1 - level))


def information(rows: Values, log_ratios: Values) -> Values:
    """The information [m], nats, of log ratios to the baseline: the inverse of
    `log_ratio`.
    """
    least = relative_above(rows)
    start = baseline(rows) + least
    values = start * np.exp(np.minimum(log_ratios, MOST_LOG_RATIO)) - least
    is_positive = log_ratios > np.log(least / start)
    return np.where(is_positive, np.maximum(values, 0.0), 0.0)


def is_narrow(value: Any, low: Any, high: Any) -> Any:
    """Whether an interval is narrow enough for grade A."""
    return (high - low) / 2 <= np.maximum(NARROW, NARROW_SHARE * value)
