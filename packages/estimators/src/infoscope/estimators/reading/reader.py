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
    """Simulated data sets of one cell, to measure how unusual a sample is.

    columns    int16 [c], places of the figures that most data sets of this cell have
    centre, spread  float32 [c], their mean and standard deviation
    points     float16 [m, c], the figures of the data sets, scaled
    limit      the distance that 1 % of the simulated data sets exceed
    """

    columns: NDArray[np.int16]
    centre: NDArray[np.float32]
    spread: NDArray[np.float32]
    points: NDArray[np.float16]
    limit: Values | np.float64

    def scaled(self, rows: Values) -> Values:
        """Figures [m, p] in standard deviations [m, c], bounded; missing ones are 0."""
        scaled = (rows[:, self.columns] - self.centre) / self.spread
        return np.clip(np.nan_to_num(scaled), -MAX_DISTANCE, MAX_DISTANCE)

    def distances(self, rows: Values) -> Values:
        """Mean distance [m] of figures [m, p] to the nearest simulated data sets.

        A simulated data set is not its own neighbour.
        """
        points = self.points.astype(np.float32)
        means = []
        for row in self.scaled(rows).astype(np.float32):
            squares = np.mean((points - row) ** 2, axis=1)
            distances = np.sqrt(squares)
            others = np.sort(distances[distances > 1e-3])
            means.append(float(others[:NEAREST].mean()))
        return np.array(means)

    def unusual(self, row: Values, names: Sequence[str]) -> tuple[str, ...]:
        """Names of the three most unusual figures of a sample, the farthest first.

        They are compared with the nearest simulated data sets.
        """
        (scaled,) = self.scaled(row[None])
        distances = np.mean((self.points - scaled) ** 2, axis=1)
        nearest = self.points[np.argsort(distances)[:NEAREST]]
        deviations = np.abs(nearest.astype(float).mean(axis=0) - scaled)
        farthest = np.argsort(-deviations)[:3]
        return tuple(names[int(column)] for column in self.columns[farthest])


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
        """Whether the reader is one of triples: of what x and y share given z."""
        return bool(self.card.get("given"))

    @property
    def kind(self) -> ModuleType:
        """The module of its figures."""
        return kind_of(self.given)

    def read(
        self, row: Values, type: str, grade: str | None = None, level: float = LEVEL
    ) -> Read:
        """The reading of one sample, by its figures [p] and the type of the pair.

        grade   of the interval; None: C for an unusual sample, else A for a narrow interval, else B
        level   of the interval
        """
        rows = np.asarray(row, np.float32).astype(np.float64)[None]
        predicted = self.network(rows)
        (cell,) = cells(rows, [type], self.given)
        around = self.around.get(cell)
        is_far = around is None or around.distances(rows)[0] > around.limit
        unusual = ()
        if around is not None and is_far:
            unusual = around.unusual(rows[0], self.kind.NAMES)
        factors = self.factors_of(rows, type, predicted)
        if grade is None:
            grade = C if is_far else B
            if grade == B and A in factors:
                limits = interval(rows, predicted, factors[A])
                grade = A if is_narrow(*limits) else B
        value, low, high = interval(rows, predicted, factors[grade], level)
        return Read(value.item(), low.item(), high.item(), grade, unusual)

    def factors_of(
        self, rows: Values, type: str, predicted: Prediction
    ) -> Mapping[str, Sequence[float]]:
        """Factors by grade of the narrowest calibrated cell, for figures [1, p]."""
        estimates = median(rows, predicted)
        (nested,) = nested_cells(rows, [type], estimates, self.given)
        return next(self.factors[cell] for cell in nested if cell in self.factors)

    def save(self, path: Path) -> None:
        """Writes one compressed file of arrays and a JSON text."""
        text, arrays = parts_of(self)
        stored: dict[str, Any] = {"text": np.array(text), **arrays}
        np.savez_compressed(path, **stored)


def load(path: Path) -> Reader:
    """A saved reader; nothing of the file is executed.

    UnreadableFile: not a reader, or one of figures of another version.
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
        for name, value in vars(around).items():
            arrays[f"around/{cell}/{name}"] = value
    return text, arrays


def of_parts(text: str, arrays: Mapping[str, NDArray[Any]]) -> Reader:
    """The reader from its parts (`parts_of`).

    KeyError, ValueError: not the parts of a reader; UnreadableFile: figures of another
    version.
    """
    facts = json.loads(text)
    if facts.get("prediction") != PREDICTION:
        raise UnreadableFile(
            f"path must be a reader that predicts a {PREDICTION}, got one of an "
            "earlier version."
        )
    version = kind_of(facts["card"].get("given")).VERSION
    if facts["figures"] != version:
        raise UnreadableFile(
            f"path must be a reader of figures of version {version}, got "
            f"{facts['figures']}."
        )
    cell_names = dict.fromkeys(
        name.split("/")[1] for name in arrays if name.startswith("around/")
    )
    around = {}
    for cell in cell_names:
        values = [
            arrays[f"around/{cell}/{part}"]
            for part in Surroundings.__dataclass_fields__
        ]
        around[cell] = Surroundings(*values)
    return Reader(Networks.of_arrays(arrays), around, facts["factors"], facts["card"])


def kind_of(given: bool) -> ModuleType:
    """The module of the figures of pairs, or of triples."""
    return figures_conditional if given else figures


def baseline(rows: Values) -> Values:
    """The largest of the plain estimates [m], which the reader corrects, nats."""
    return np.maximum(_figure(rows, BASELINE), 0.0)


def relative_above(rows: Values) -> Values:
    """The information [m], nats, above which errors are relative; it falls with n."""
    log_least = np.log(RELATIVE_ROWS) - log_rows(rows)
    return np.exp(np.clip(log_least, *np.log(RELATIVE_ABOVE)))


def log_rows(rows: Values) -> Values:
    """The log [m] of the number of rows of each sample."""
    return _figure(rows, "log_rows")


def _figure(rows: Values, name: str) -> Values:
    """A figure [m] that pairs and triples have in the same place; 0 where missing."""
    place = figures.NAMES.index(name)
    return np.nan_to_num(rows[:, place])


def log_ratio(rows: Values, information: Values) -> Values:
    """The log ratio [m] of information, nats, to the baseline; networks predict it."""
    least = relative_above(rows)
    return np.log((information + least) / (baseline(rows) + least))


def columns_of(rows: Values, given: bool = False) -> Values:
    """Number of numeric columns of x and y [m]; of triples, with the columns of z."""
    names = ["numbers_more", "numbers_fewer"]
    if given:
        names.append("conditions")
    places = [kind_of(given).NAMES.index(name) for name in names]
    log_counts = np.nan_to_num(rows[:, places])
    return np.rint(np.expm1(log_counts)).sum(axis=1)


def cells(rows: Values, types: Sequence[str], given: bool = False) -> list[str]:
    """The cell [m] of each sample's surroundings: its type, and few or many columns."""
    widths = np.where(columns_of(rows, given) <= FEW_COLUMNS, "few", "many")
    return [f"{type}, {width} columns" for type, width in zip(types, widths)]


def nested_cells(
    rows: Values, types: Sequence[str], estimates: Values, given: bool = False
) -> list[tuple[str, ...]]:
    """The cells of the calibration of each sample [m], the narrowest first.

    Cells are by type, columns, rows and estimate, nats. The last cell but one is by the
    estimate alone: strong dependence never has the factors of grade A of other samples.
    Strong series are too few for cells of their own.
    """
    columns = columns_of(rows, given)
    is_few = columns <= FEW_COLUMNS
    is_many = columns <= MANY_COLUMNS
    widths = np.select([is_few, is_many], ["few", "many"], "very many")
    log_counts = log_rows(rows)
    is_short = log_counts <= np.log(FEW_ROWS)
    is_medium = log_counts <= np.log(SOME_ROWS)
    lengths = np.select([is_short, is_medium], ["few", "some"], "many")
    strengths = np.where(estimates > STRONG, "strong", "not strong")
    nested = []
    for type, width, length, strength in zip(types, widths, lengths, strengths):
        every = ALL
        if type.startswith(SERIES_TYPE):
            every = f"{SERIES_TYPE}{ALL}"
            strength = "any estimate"
        of_all = f"{every}, {strength}"
        of_width = f"{every}, {width} columns, {strength}"
        of_type = f"{type}, {width} columns, {strength}"
        of_length = f"{of_type}, {length} rows"
        nested.append((of_length, of_type, of_width, of_all, every))
    return nested


def median(rows: Values, predicted: Prediction) -> Values:
    """The predicted median [m], nats, of samples with figures [m, p]: the estimate."""
    nothing = log_ratio(rows, np.zeros(len(rows)))
    return information(rows, predicted.quantile(0.0, nothing))


def interval(
    rows: Values, predicted: Prediction, factors: Sequence[float], level: float = LEVEL
) -> tuple[Values, Values, Values]:
    """Estimate and limits [m], nats, of samples with figures [m, p].

    The estimate is the predicted median. The limits are quantiles: their log odds are
    the log odds of a central interval of this level, times factors (below, above).
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
    """The information [m], nats, with these log ratios: the inverse of `log_ratio`."""
    least = relative_above(rows)
    start = baseline(rows) + least
    ratios = np.exp(np.minimum(log_ratios, MOST_LOG_RATIO))
    values = start * ratios - least
    is_positive = log_ratios > np.log(least / start)
    return np.where(is_positive, np.maximum(values, 0.0), 0.0)


def is_narrow(value: Any, low: Any, high: Any) -> Any:
    """Whether an interval is narrow enough for grade A."""
    return (high - low) / 2 <= np.maximum(NARROW, NARROW_SHARE * value)
