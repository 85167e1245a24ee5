"""Results with their error.

Estimate, Estimates (an array), mean_of (robust to groups), undefined (no number).
"""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit  # scipy.stats takes two seconds to import

from infoscope.errors import Conflict, InvalidInput, OutOfRange
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.notebook import InNotebook, axes, intervals
from infoscope.notes import Note

Groups = NDArray[np.int64] | None
Values = NDArray[np.float64]
LEVEL = 0.95  # of intervals
NATS, BITS, SHARE = "nats", "bits", "1"  # units
UNPAIRED = Note(
    "Its standard error is unknown: the two estimates have no values by row that show "
    "how they depend.",
    "standard error unknown",
)
LARGEST = Note(
    "The dependence of numerator and denominator is unknown: the standard error is "
    "the largest possible one.",
    "largest standard error",
)


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(InNotebook, float):
    """An estimate: a float with its error, unit and provenance.

    The number is in `unit`; printed and drawn information is in bits. `a + b`, `a - b`,
    `2 * a`, `a / 2` and `-a` are estimates; all other arithmetic gives floats.

    Parameters
    ----------
    value : float
        Not clipped; nan where there is none (notes give the reason).
    standard_error : float
        0 for a closed form, nan where unknown.
    unit : str
        "nats", "bits", the name of a share, or "1".
    n : int, optional
        Rows.
    method : str
        The estimator, by its authors' names.
    notes : tuple of str
    settings : str
    units : int, optional
        Independent units (groups, runs) behind the error; None is the n rows.
    degrees : float
        Degrees of freedom of the Student t interval; inf is normal.
    interval : (float, float), optional
        95 %, where it is not value -+ quantile times standard_error.
    local : ndarray [rows], optional
        Values whose mean the estimate is; nan at rows left out.
    influence : ndarray [units], optional
        First-order contributions. Their root sum of squares is the standard error, also
        for sums and differences of estimates on the same rows.

    Examples
    --------
    >>> Estimate(0.5, 0.1, n=200) - Estimate(0.2, 0.0)
    0.43 ± 0.14 bits (95 %: 0.15 to 0.72, sampling error only)
    """

    value: float
    standard_error: float = math.nan
    unit: str = NATS
    n: int | None = None
    method: str = ""
    notes: tuple[str, ...] = ()
    settings: str = ""
    units: int | None = None
    degrees: float = math.inf
    interval: tuple[float, float] | None = None
    local: Values | None = None
    influence: Values | None = None

    def __new__(cls, value: float, *_: Any, **__: Any) -> Estimate:
        return super().__new__(cls, value)

    @property
    def low(self) -> float:
        """The lower end of the 95 % interval."""
        return self.value - self._margin if self.interval is None else self.interval[0]

    @property
    def high(self) -> float:
        """The upper end of the 95 % interval."""
        return self.value + self._margin if self.interval is None else self.interval[1]

    @property
    def _margin(self) -> float:
        return quantile(self.degrees) * self.standard_error

    @property
    def _unexplained_variance(self) -> float:
        variance = self.standard_error**2
        if self.influence is None:
            return variance
        explained = float(np.sum(self.influence**2))
        return 0.0 if variance <= explained * (1.0 + 1e-9) else variance - explained

    @property
    def bits(self) -> Estimate:
        """The estimate in bits. InvalidInput for shares, which have no such unit."""
        return self.as_unit(BITS)

    @property
    def nats(self) -> Estimate:
        """The estimate in nats. InvalidInput for shares, which have no such unit."""
        return self.as_unit(NATS)

    def as_unit(self, unit: str) -> Estimate:
        """The estimate in nats or bits.

        InvalidInput: another unit, or a share.
        """
        if unit not in (NATS, BITS) or self.unit not in (NATS, BITS):
            raise InvalidInput(
                f"unit must be nats or bits, from nats or bits, got {unit!r} from "
                f"{self.unit!r}."
            )
        if unit == self.unit:
            return self
        return self._in(unit)

    def _in(self, unit: str) -> Estimate:
        """The same in the other of nats and bits."""
        return replace(plain(self)._scaled(scale_to(unit)), unit=unit)

    def share_of(self, whole: Estimate, unit: str = SHARE) -> Estimate:
        """The ratio to another estimate, its error by the delta method.

        Uses the influence of both; where unknown, the largest possible error, with a
        note. ValueError: a whole that is not above 0, other units.
        """
        if not whole.value > 0 or whole.unit != self.unit:
            raise OutOfRange(
                f"whole must be above 0 and in {self.unit}, got {whole.value:g} "
                f"{whole.unit}."
            )
        share = self.value / whole.value
        notes = (*self.notes, *whole.notes)
        # first order, around 0
        deviation = plain(self) / whole.value - plain(whole) * (share / whole.value)
        error = deviation.standard_error
        if math.isnan(error):
            error = (
                self.standard_error + abs(share) * whole.standard_error
            ) / whole.value
            notes += (LARGEST,)
        interval = None
        if self.interval is not None:
            low, high = self.interval
            margin = quantile(self.degrees) * whole.standard_error / whole.value**2
            interval = (
                low / whole.value - abs(low) * margin,
                high / whole.value + abs(high) * margin,
            )
        return replace(
            deviation, value=share, standard_error=error, unit=unit, n=self.n, method=self.method,
            settings=self.settings, notes=tuple(dict.fromkeys(notes)), degrees=self.degrees, interval=interval,
            local=None,
        )  # fmt: skip

    def __add__(self, other: float) -> Estimate:
        return self._plus(other, 1.0)

    __radd__ = __add__

    def __sub__(self, other: float) -> Estimate:
        return self._plus(other, -1.0)

    def __rsub__(self, other: float) -> Estimate:
        return -self + other

    def __neg__(self) -> Estimate:
        return self._scaled(-1.0)

    def __mul__(self, factor: float) -> Any:
        if isinstance(factor, Estimate):
            return float(self) * float(factor)
        return self._scaled(factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> Any:
        if isinstance(divisor, Estimate):
            return float(self) / float(divisor)
        return self._scaled(1.0 / divisor)

    def _scaled(self, factor: float) -> Estimate:
        interval, local, influence = self.interval, self.local, self.influence
        if interval is not None:
            low, high = interval
            interval = tuple(sorted([factor * low, factor * high]))
        if local is not None:
            local = factor * local
        if influence is not None:
            influence = factor * influence
        return replace(
            plain(self),
            value=factor * self.value,
            standard_error=abs(factor) * self.standard_error,
            interval=interval,
            local=local,
            influence=influence,
        )

    def _shifted(self, shift: float) -> Estimate:
        interval, local = self.interval, self.local
        if interval is not None:
            low, high = interval
            interval = (low + shift, high + shift)
        if local is not None:
            local = local + shift
        return replace(
            plain(self), value=self.value + shift, interval=interval, local=local
        )

    def _plus(self, other: float, sign: float) -> Estimate:
        if not isinstance(other, Estimate):
            return self._shifted(sign * other)
        if other.unit != self.unit:
            raise Conflict(
                f"units of a sum or difference must be equal, got {self.unit!r} and "
                f"{other.unit!r}."
            )
        influence = _sum_of_arrays(self.influence, other.influence, sign)
        # variance that the influence does not explain is possible bias
        if influence is not None:
            explained = float(np.sum(influence**2))
            error = math.sqrt(
                explained + self._unexplained_variance + other._unexplained_variance
            )
        elif self.standard_error == 0.0 or other.standard_error == 0.0:
            error = max(self.standard_error, other.standard_error)
        else:
            error = math.nan
        notes = (*self.notes, *other.notes)
        if math.isnan(error):
            notes += (UNPAIRED,)
        methods = [method for method in (self.method, other.method) if method]
        return Estimate(
            self.value + sign * other.value,
            error,
            self.unit,
            self.n if self.n == other.n else None,
            " and ".join(dict.fromkeys(methods)),
            tuple(dict.fromkeys(notes)),
            self.settings if self.settings == other.settings else "",
            self.units if self.units == other.units else None,
            min(self.degrees, other.degrees),
            local=_sum_of_arrays(self.local, other.local, sign),
            influence=influence,
        )

    def __repr__(self) -> str:
        if math.isnan(self.value):
            reasons = "; ".join([*self.notes, *self._origin()])
            return f"no value ({reasons or 'no reason given'})"
        if self.unit == NATS:
            return repr(plain(self).bits)
        is_exact = self.standard_error == 0.0 and not self.n
        has_error = math.isfinite(self.standard_error) and not is_exact
        places = (
            decimals(self.standard_error, 2)
            if has_error and self.standard_error
            else decimals(self.value, 3)
        )
        text = f"{self.value:,.{places}f}"
        details = []
        if has_error:
            text += f" ± {self.standard_error:,.{places}f}"
        if self.unit == BITS:
            text += f" {self.unit}"
        elif self.unit != SHARE:
            details.append(self.unit)
        if is_exact:
            details.append("exact")
        elif not has_error:
            details.append("standard error not known")
        if math.isfinite(self.low) and math.isfinite(self.high) and not is_exact:
            caveat = ", sampling error only" if self.interval is None else ""
            details.append(
                f"{100 * LEVEL:.0f} %: {self.low:,.{places}f} to "
                f"{self.high:,.{places}f}{caveat}"
            )
        return f"{text} ({'; '.join([*details, *self._origin()])})"

    def _origin(self) -> list[str]:
        parts = [part for part in (self.method, self.settings, self._size()) if part]
        return [", ".join(parts)] if parts else []

    def _size(self) -> str:
        if not self.n:
            return ""
        units = "" if self.units in (None, self.n) else f" in {self.units:,} units"
        return f"n = {self.n:,}{units}"

    def __str__(self) -> str:
        notes = () if math.isnan(self.value) else self.notes
        return "\n".join([repr(self), *(f"  {note}" for note in notes)])

    def plot(self, ax: Any = None) -> Any:
        """Draws the estimate and its interval as a row of `ax`; returns the axes.

        Rows on one `ax` must have the same unit.
        """
        ax = axes(ax, (6.4, 2.4))
        lines = [line for line in (self.method, self._size()) if line]
        intervals(ax, ["\n".join(lines) or "estimate"], [self])
        return ax

    def __format__(self, spec: str) -> str:
        return float.__format__(self, spec) if spec else str(self)


# `__new__` hides the fields
Estimate.__signature__ = inspect.Signature(
    list(inspect.signature(Estimate.__init__).parameters.values())[1:]
)


@dataclass(frozen=True, eq=False, repr=False)
class Estimates:
    """Estimates with one unit, sample size and method.

    value and standard_error are arrays of one shape.
    """

    value: Values
    standard_error: Values
    n: int | None
    unit: str = NATS
    method: str = ""

    def __getitem__(self, place: Any) -> Estimate | Estimates:
        value = self.value[place]
        error = self.standard_error[place]
        if np.ndim(value):
            return Estimates(value, error, self.n, self.unit, self.method)
        return Estimate(float(value), float(error), self.unit, self.n, self.method)

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.value.shape))
        lines = [
            f"  {list(index)} {self[index]!r}" for index in np.ndindex(self.value.shape)
        ]
        return "\n".join([f"{shape} estimates:", *lines])


def _sum_of_arrays(
    first: Values | None, second: Values | None, sign: float
) -> Values | None:
    """first + sign * second; None if one is missing or they differ in length."""
    if first is None or second is None or len(first) != len(second):
        return None
    return first + sign * second


def scale_to(unit: str) -> float:
    """The factor from nats to bits, or from bits to nats."""
    return 1 / NATS_PER_BIT if unit == BITS else NATS_PER_BIT


def plain(estimate: Estimate) -> Estimate:
    """The estimate without the fields of its subclass."""
    if type(estimate) is Estimate:
        return estimate
    return Estimate(
        *(getattr(estimate, name) for name in Estimate.__dataclass_fields__)
    )


def mean_of(
    values: ArrayLike, groups: Groups = None, unit: str = NATS, method: str = "",
    notes: tuple[str, ...] = (), settings: str = "",
) -> Estimate:  # fmt: skip
    """The mean of values [n], with a standard error that is robust to groups.

    Groups have codes 0, 1, ... [n]; the interval is Student's t with groups - 1 degrees
    of freedom.

    One group, or one row, has no error: nan. A nan among the values makes the mean nan.
    """
    values = np.asarray(values, dtype=np.float64)
    influence = mean_influence(values, groups)
    error = root_sum_squares(influence)
    units = len(influence)
    return Estimate(
        float(values.mean()), error, unit, len(values), method, notes, settings, units, units - 1,
        local=values, influence=influence,
    )  # fmt: skip


def means_of(values: Values, method: str = "") -> Estimates:
    """The means of the columns of values [n, d], rows independent; see `mean_of`."""
    errors = root_sum_squares(mean_influence(values))
    return Estimates(values.mean(axis=0), errors, len(values), NATS, method)


def undefined(
    reason: str, unit: str = NATS, n: int | None = None, method: str = ""
) -> Estimate:
    """An estimate without a value, and the reason."""
    return Estimate(math.nan, math.nan, unit, n, method, (reason,))


def mean_influence(values: Values, groups: Groups = None) -> Values:
    """Influence [groups] of a mean of values [n] in groups (codes [n]).

    The standard error is then robust to groups (Liang & Zeger 1986).
    """
    sums: Any = values - values.mean(axis=0)  # numpy types weighted counts as whole
    if groups is not None:
        sums = np.bincount(groups, weights=sums)
    count = len(sums)
    scale = math.sqrt(count / (count - 1.0)) / len(values) if count > 1 else math.nan
    return sums * scale


def clustered_error(values: Values, groups: Groups = None) -> float:
    """The standard error of the mean of values [n]; see `mean_influence`."""
    return root_sum_squares(mean_influence(values, groups))


def root_sum_squares(deviations: Values) -> Any:
    """The root of the sum of squares over the first axis.

    A float for a vector, else an array.
    """
    roots = np.sqrt(np.square(deviations).sum(axis=0))
    return float(roots) if np.ndim(roots) == 0 else roots


def quantile(degrees: float = math.inf, level: float = LEVEL) -> float:
    """Half-width of an interval of this level, in standard errors.

    Student's t; normal for degrees = inf.
    """
    share = (1.0 + level) / 2.0
    return float(ndtri(share) if math.isinf(degrees) else stdtrit(degrees, share))


def decimals(number: float, significant: int) -> int:
    """Decimals that show so many significant digits; for 0 the number of digits."""
    if not math.isfinite(number) or number == 0.0:
        return significant
    return max(0, significant - 1 - math.floor(math.log10(abs(number))))
