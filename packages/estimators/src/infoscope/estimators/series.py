"""Information that the past of one series carries about another, with intervals.

Transfer entropy, and information by lag. Rows are equally spaced moments of x and of y.
The intervals are calibrated on simulated processes of known transfer entropy, from
families that were held out in training (`infoscope.data.prior.processes`).

>>> import numpy as np
>>> from infoscope.estimators import series
>>> generator = np.random.default_rng(0)
>>> x = generator.normal(size=2000)
>>> y = np.roll(x, 1) + generator.normal(size=2000)
>>> answer = series.transfer_entropy(x, y, history=1).bits  # the truth: half a bit
>>> answer.low < 0.5 < answer.high
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from infoscope.checks import require_int
from infoscope.errors import Conflict, InvalidInput, NoVariation, TooFew, WrongLength
from infoscope.estimators.alignment import (
    aligned,
    group_codes,
    rows_with_missing_values,
    take_rows,
)
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.column_types import as_variables
from infoscope.estimators.reading import figures_memory
from infoscope.estimators.reading.figures_conditional import left_out
from infoscope.estimators.reading.figures_sample import prepared
from infoscope.estimators.reading.given import PACKAGED as GIVEN_READER
from infoscope.estimators.reading.given import with_p_value
from infoscope.estimators.reading.lagged import Lagged, figures_of, lagged, rows_before
from infoscope.estimators.reading.reader import C
from infoscope.estimators.reading.result import Reading, answered, packaged
from infoscope.estimators.reading.sentences import (
    NOT_DECIDED_CODE,
    amount,
    at_most,
    has_note,
)
from infoscope.estimators.result import LEVEL
from infoscope.estimators.variables import Variable
from infoscope.notebook import InNotebook, axes
from infoscope.notes import Note

HISTORIES = (1, 2, 3, 4, 6, 8, 12)  # candidates
MIN_ROWS = 50  # moments with a whole past
MIN_INDEPENDENT = 50  # rows that the memory leaves
MOST_DRIFT = 0.8  # share of the variance between successive tenths
GAP = 1.5  # usual steps; after a longer step another series begins
USUAL = 0.9  # share of the steps up to the usual step, which includes weekends


@dataclass(frozen=True, eq=False)
class Series:
    """Two checked series in the order of time.

    x, y    values [n]
    units   int [n], the series of each row: groups, divided where moments are missing
    notes   changes of the values
    """

    x: Variable
    y: Variable
    units: NDArray[np.intp]
    notes: tuple[Note, ...] = ()

    @property
    def reversed(self) -> Series:
        """The two series with x and y exchanged."""
        return replace(self, x=self.y, y=self.x)


def as_series(
    x: Any, y: Any, time: Any = None, groups: ArrayLike | None = None
) -> Series:
    """x and y as checked series.

    x, y     values [n] or [n, d], numbers or categories as in `estimate`; rows in the order of time, or by `time`
    time     moments [n], numbers or dates; after a step 1.5 times longer than 9 of 10 steps, another series begins
    groups   names [n] of groups (a panel), one series each; numbers are taken relative to the group's mean

    Raises WrongLength, WrongType, NoVariation as `estimate`; InvalidInput: a moment
    that occurs twice in a group; TooFew: fewer than 50 rows.
    """
    values, notes = aligned(x=x, y=y, time=time, groups=groups)
    time, groups = values.pop("time"), values.pop("groups")
    missing = rows_with_missing_values(values)
    n = len(missing)
    if n < MIN_ROWS:
        raise TooFew(f"x and y must have at least {MIN_ROWS} rows as series, got {n}.")
    names = np.zeros(n, np.intp)
    if groups is not None:
        _, names = group_codes(n, groups)
    moments = np.arange(n)
    if time is not None:
        moments = as_moments(time, n)
    order = np.lexsort((moments, names))
    units = units_in_order(names[order], moments[order], missing[order])
    complete = ~missing[order]
    order, units = order[complete], units[complete]
    ordered = {name: take_rows(value, order) for name, value in values.items()}
    variables, _ = as_variables(**ordered)
    if groups is not None:
        for name, variable in variables.items():
            variables[name] = within_units(name, variable, names[order])
        sentence = "Numbers are taken relative to the mean of their group."
        notes.append(Note(sentence, "unit means", "groups"))
    gaps = len(np.unique(units)) - len(np.unique(names[order]))
    if gaps:
        sentence = (
            f"{gaps:,} gaps in time or missing values: another series begins after "
            "each."
        )
        notes.append(Note(sentence, "gaps"))
    x, y = variables["x"], variables["y"]
    notes = tuple(dict.fromkeys([*notes, *x.notes, *y.notes]))
    return Series(replace(x, notes=()), replace(y, notes=()), units, notes)


def within_units(name: str, variable: Variable, names: NDArray[np.intp]) -> Variable:
    """The variable with its numbers relative to the mean of each group (codes [n]).

    NoVariation: a column that is constant within groups.
    """
    by_group = pd.DataFrame(variable.continuous).groupby(names)
    means = by_group.transform("mean")
    numbers = variable.continuous - means.to_numpy()
    varies = np.ptp(numbers, axis=0) > 0
    if variable.codes is not None:
        categories = pd.Series(variable.codes).groupby(names).nunique()
        varies = np.append(varies, categories.max() > 1)
    if not varies.all():
        raise NoVariation(
            f"{name} must vary within groups, got columns that are constant in each "
            "group."
        )
    return replace(variable, continuous=numbers)


def as_moments(time: Any, n: int) -> NDArray[np.float64]:
    """Moments [n] as numbers; dates become days."""
    moments = pd.Series(np.asarray(time))
    if len(moments) != n:
        raise WrongLength(
            f"time must have one entry for each of the {n} rows, got {len(moments)}."
        )
    first = moments.iloc[0]
    if moments.dtype.kind not in "iufMm":
        moments = pd.to_datetime(moments, errors="coerce", format="mixed")
    if moments.dtype.kind == "M":
        moments = moments - moments.min()
    if moments.dtype.kind == "m":
        moments = moments / pd.Timedelta(days=1)
    if not np.isfinite(moments).all():
        raise InvalidInput(
            f"time must have a number or a date in each row, got {first!r} in the "
            f"first of {n} rows."
        )
    return moments.to_numpy(float)


def units_in_order(
    names: NDArray[np.intp], moments: NDArray[Any], missing: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """The series [n] of each of the sorted rows.

    Another series begins at each new name, after a gap, and after a row with missing
    values. InvalidInput: a moment that occurs twice in a group.
    """
    same = names[1:] == names[:-1]
    steps = np.diff(moments)
    repeated = same & (steps == 0)
    if repeated.any():
        raise InvalidInput(
            f"time must not repeat within a series, got {moments[1:][repeated][0]:g} "
            "twice: give a series of its own "
            "to each group (groups=)."
        )
    by_group = pd.Series(steps[same]).groupby(names[1:][same])
    usual = by_group.transform(lambda group_steps: group_steps.quantile(USUAL))
    begins = ~same | missing[:-1]
    begins[same] |= steps[same] > GAP * usual.to_numpy()
    return np.concatenate([[0], np.cumsum(begins)])


def information(
    x: Any,
    y: Any,
    lags: int | Sequence[int] | None = None,
    *,
    time: Any = None,
    groups: ArrayLike | None = None,
    generator: np.random.Generator | None = None,
) -> Reading:
    """The information of the past of x about y now, I(x[t - lags]; y[t]), as a `Reading`.

    lags   past values of x: 1 to this number, or these lags; None: as many as help to predict y (`chosen_history`)

    Other arguments and errors as `as_series`. Information at longer lags is not
    included. Units: nats (`.bits`); the number of moments is `.n`.
    """
    series = as_series(x, y, time, groups)
    places = _lags(lags, series)
    return read_lagged(series, places, False, generator)


def transfer_entropy(
    x: Any,
    y: Any,
    history: int | None = None,
    *,
    time: Any = None,
    groups: ArrayLike | None = None,
    generator: np.random.Generator | None = None,
) -> Reading:
    """The transfer entropy of x to y, I(past of x; y now | past of y), as a `Reading`.

    history   past values of x and of y; None: as many as help to predict y (`chosen_history`)

    The p-value is for independence of the past of x and y now, given the past of y.
    Other arguments and errors as `as_series`. Units: nats (`.bits`). Source: Schreiber
    2000.
    """
    series = as_series(x, y, time, groups)
    return read_lagged(series, _lags(history, series), True, generator)


def _lags(lags: int | Sequence[int] | None, series: Series) -> list[int]:
    """The lags: 1 to a number, given lags, or chosen lags for None."""
    if lags is None:
        lags = chosen_history(series)
    if np.ndim(lags) == 0:
        return list(range(1, require_int("lags", lags, 1) + 1))
    places = sorted({require_int("lags", lag, 0) for lag in lags})
    if not places:
        raise InvalidInput(
            "lags must be a number from 1 or whole numbers from 0, got none."
        )
    return places


def chosen_history(series: Series) -> int:
    """The smallest history with which linear predictions of y are nearly the best.

    A history is a number of past values of x and y; the candidates are HISTORIES. Its
    loss must be within one standard error of the smallest loss. Each row is left out of
    the regression that predicts it.
    """
    require_moments(series, 1)
    longest = int(np.bincount(series.units).max())
    candidates = [1]
    for history in HISTORIES[1:]:
        if longest >= 20 * history:
            candidates.append(history)
    x = prepared(series.x).linear
    y = prepared(series.y).linear
    earlier, now = rows_before(series.units, range(1, candidates[-1] + 1))
    columns = np.hstack([x, y])
    past = np.stack([columns[rows] for rows in earlier], axis=1)  # [n, lags, columns]
    losses = []
    for history in candidates:
        predictors = past[:, :history].reshape(len(now), -1)
        residuals, _ = left_out(predictors, y[now])
        losses.append((residuals**2).sum(axis=1))
    mean_losses = [loss.mean() for loss in losses]
    best = losses[int(np.argmin(mean_losses))]
    for history, loss in zip(candidates, losses):
        more = loss - best
        if more.mean() <= more.std() / np.sqrt(len(more)):
            return history
    return candidates[-1]


def require_moments(series: Series, longest: int) -> None:
    """TooFew unless MIN_ROWS moments have a whole past of this many lags."""
    sizes = np.bincount(series.units)
    left = int(np.maximum(sizes - longest, 0).sum())
    if left < MIN_ROWS:
        raise TooFew(
            f"lags must leave {MIN_ROWS} moments with a whole past, got {longest}: "
            f"{left} are left."
        )


def read_lagged(
    series: Series,
    lags: Sequence[int],
    given: bool,
    generator: np.random.Generator | None = None,
    level: float = LEVEL,
) -> Reading:
    """The reading of the values of x at some lags and y now.

    given   whether the values of y at these lags are conditions
    level   of the interval
    """
    generator = generator_or_default(generator)
    if given and 0 in lags:
        raise Conflict("lags must be at least 1 where the past of y is given, got 0.")
    require_moments(series, max(lags))
    sample = lagged(series.x, series.y, lags, series.units)
    reading = read_rows(sample, given, generator, level)
    notes = (*series.notes, *reading.notes)
    reading = replace(reading, notes=notes, history=_past(lags))
    return with_p_value(reading, sample.triples) if given else reading


def read_rows(
    sample: Lagged,
    given: bool,
    generator: np.random.Generator,
    level: float = LEVEL,
) -> Reading:
    """The reading of rows in the order of time, without a test.

    It has the interval of grade C if the memory is too long (`too_long_memory`).

    given   whether the sample's conditions are used
    """
    reader = packaged(GIVEN_READER) if given else packaged()
    row = figures_of(sample, given, generator)
    memory = {}
    for name in figures_memory.NAMES:
        place = reader.kind.NAMES.index(name)
        memory[name] = float(row[place])
    notes = too_long_memory(memory, sample, given)
    return answered(row, reader, sample.pairs, notes, sample.type, level)


def too_long_memory(
    memory: dict[str, float], sample: Lagged, given: bool
) -> list[Note]:
    """The reasons why the coverage of intervals is unknown.

    The level wanders, or there are too few independent rows.
    """
    wander = memory["drift_more"]
    if wander > MOST_DRIFT:
        sentence = (
            f"The level wanders: successive tenths explain {100 * wander:.0f} % of "
            "the variance. Differences of "
            "successive values may be stationary."
        )
        return [Note(sentence, "not stationary")]
    inflation = memory["innovation_memory" if given else "memory_inflation"]
    rows = sample.pairs.n / np.exp(inflation)
    if rows < MIN_INDEPENDENT:
        sentence = (
            f"The memory is long: {sample.pairs.n:,} moments are worth about "
            f"{rows:.0f} independent ones."
        )
        return [Note(sentence, "memory")]
    return []


def _past(lags: Sequence[int]) -> str:
    """Lags in words: 3 past values, or lag 2, 5."""
    if list(lags) == list(range(1, len(lags) + 1)):
        return f"{len(lags)} past value{'s' if len(lags) > 1 else ''}"
    return f"lag {', '.join(map(str, lags))}"


@dataclass(frozen=True, eq=False)
class LagCurve(InNotebook):
    """Information of x at each lag about y now, and of y about x.

    The intervals cover the true values of all lags together.

    table   a row for each cause, effect and lag: bits, low, high, grade, n
    """

    table: pd.DataFrame

    def __str__(self) -> str:
        sentences = []
        by_direction: Any = self.table.groupby(["cause", "effect"], sort=False)
        for (cause, effect), rows in by_direction:
            sure = rows[(rows["low"] > 0) & (rows["grade"] != C)]
            if len(sure):
                best = sure.loc[sure["bits"].idxmax()]
                later = f"{best['lag']} steps later"
                if best["lag"] == 1:
                    later = "one step later"
                sentences.append(
                    f"{cause} carries most information about {effect} {later}: "
                    f"{best['bits']:.2f} bits "
                    f"(95 % for all lags together: {best['low']:.2f} to "
                    f"{best['high']:.2f})."
                )
            else:
                most = rows["high"].max()
                sentences.append(
                    f"At each lag {cause} carries at most {most:.2f} bits about "
                    f"{effect} (95 %, all lags together)."
                )
        return "\n".join(sentences)

    def plot(self, ax: Any = None) -> Any:
        """Draws bits by lag with the intervals, both directions."""
        ax = axes(ax)
        by_direction: Any = self.table.groupby(["cause", "effect"], sort=False)
        for (cause, effect), rows in by_direction:
            label = f"{cause} to {effect}"
            lag, low, high = rows["lag"], rows["low"], rows["high"]
            (line,) = ax.plot(lag, rows["bits"], marker="o", label=label)
            color = line.get_color()
            ax.fill_between(lag, low, high, color=color, alpha=0.2, linewidth=0)
        ax.set(xlabel="lag (steps)", ylabel="information (bits)", ylim=(0, None))
        ax.legend()
        return ax


def lag_curve(
    x: Any,
    y: Any,
    lags: int = 10,
    *,
    time: Any = None,
    groups: ArrayLike | None = None,
    names: tuple[str, str] = ("x", "y"),
    generator: np.random.Generator | None = None,
) -> LagCurve:
    """Bits that x shares with y some steps later, and y with x, for each lag.

    lags    the longest lag
    names   names of the two series

    The 95 % intervals are simultaneous: each has the level 1 - 0.05 / (2 lags)
    (Bonferroni). Other arguments and errors as `as_series`.
    """
    series = as_series(x, y, time, groups)
    longest = require_int("lags", lags, 1)
    level = 1 - (1 - LEVEL) / (2 * longest)
    rows = []
    for pair, (cause, effect) in ((series, names), (series.reversed, names[::-1])):
        for lag in range(1, longest + 1):
            reading = read_lagged(pair, [lag], False, generator, level=level)
            bits = reading.bits
            numbers = (bits.value, bits.low, bits.high, reading.grade, bits.n)
            rows.append((cause, effect, lag, *numbers))
    columns = ["cause", "effect", "lag", "bits", "low", "high", "grade", "n"]
    return LagCurve(pd.DataFrame(rows, columns=columns))


def direction(
    forward: Reading, backward: Reading, names: tuple[str, str] = ("x", "y")
) -> str:
    """The two transfer entropies, x to y and y to x, in one sentence."""
    x, y = names
    sentence = f"{_adds(forward, x, y)}; {_adds(backward, y, x)}."
    return sentence[0].upper() + sentence[1:]


def _adds(reading: Reading, cause: str, effect: str) -> str:
    """A clause: what the past of the cause adds about the effect."""
    answer = reading.bits
    if reading.grade == C:
        return (
            f"how much the past of {cause} adds about the next value of {effect} is "
            f"uncertain, {amount(answer)}"
        )
    if answer.low > 0:
        return (
            f"the past of {cause} adds {amount(answer)} about the next value of "
            f"{effect} beyond the past of {effect}"
        )
    if has_note(reading, NOT_DECIDED_CODE):
        return (
            f"whether the past of {cause} adds to the next value of {effect} is not "
            f"decided, {at_most(answer)}"
        )
    if reading.p_value <= 0.05:
        return (
            f"the past of {cause} adds little about the next value of {effect}, "
            f"{at_most(answer)}"
        )
    return (
        f"the past of {cause} adds no detected information about the next value of "
        f"{effect}, {at_most(answer)}"
    )
