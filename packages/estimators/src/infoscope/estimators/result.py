"""Results with their error: Estimate, Estimates (an array), mean_of (robust to groups), undefined (no number)."""

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

LEVEL = 0.95
NATS, BITS, SHARE = "nats", "bits", "1"
UNPAIRED = Note(
    "Its standard error is unknown: the two estimates have no values by row that show how they depend.",
    "standard error unknown",
)
LARGEST = Note(
    "The dependence of numerator and denominator is unknown: the standard error is the largest possible one.",
    "largest standard error",
)


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(InNotebook, float):
    """An estimate: a float with its error, unit and provenance.

    value           not clipped; nan where there is none (notes give the reason)
    standard_error  0 for a closed form, nan where unknown
    unit            "nats", "bits", what a share is of, or "1"
    units           independent units (groups, runs) behind the error; None: the n rows
    method          the estimator, by its authors' names
    degrees         of freedom of the Student t interval; inf: normal
    interval        95 %, where it is not value -+ quantile times standard_error
    local           [rows] values whose mean it is; nan at rows left out
    influence       [units] first-order contributions; their root sum of squares is the standard error, also of sums and
                    differences of estimates on the same rows

    The number is in its unit, nats of information unless it says otherwise; what is printed or drawn is in bits.
    `a + b`, `a - b`, `2 * a`, `a / 2` and `-a` are estimates; any other arithmetic is that of floats.
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
    local: NDArray[np.float64] | None = None
    influence: NDArray[np.float64] | None = None

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
        explained = float(np.sum(self.influence**2))
        return 0.0 if self.standard_error**2 <= explained * (1.0 + 1e-9) else self.standard_error**2 - explained

    @property
    def bits(self) -> Estimate:
        """The same in bits. InvalidInput for shares, which have no such unit."""
        return self.as_unit(BITS)

    @property
    def nats(self) -> Estimate:
        """The same in nats. InvalidInput for shares, which have no such unit."""
        return self.as_unit(NATS)

    def as_unit(self, unit: str) -> Estimate:
        """The same in nats or bits. InvalidInput for another unit, and for shares, which have none."""
        if unit not in (NATS, BITS) or self.unit not in (NATS, BITS):
            raise InvalidInput(f"unit must be nats or bits, from nats or bits, got {unit!r} from {self.unit!r}.")
        if unit == self.unit:
            return self
        return self._in(unit)

    def _in(self, unit: str) -> Estimate:
        """The same in the other of nats and bits."""
        return replace(plain(self)._scaled(scale_to(unit)), unit=unit)

    def share_of(self, whole: Estimate, unit: str = SHARE) -> Estimate:
        """The ratio to another estimate, its error by the delta method.

        Uses the influence of both; where unknown, the largest possible error, with a note. ValueError: a whole that is
        not above 0, other units.
        """
        if not whole.value > 0 or whole.unit != self.unit:
            raise OutOfRange(f"whole must be above 0 and in {self.unit}, got {whole.value:g} {whole.unit}.")
        share, notes = self.value / whole.value, (*self.notes, *whole.notes)
        part = plain(self) / whole.value - plain(whole) * (share / whole.value)  # first order, around 0
        error, ends = part.standard_error, None
        if math.isnan(error):
            error = (self.standard_error + abs(share) * whole.standard_error) / whole.value
            notes += (LARGEST,)
        if self.interval is not None:
            wider = quantile(self.degrees) * whole.standard_error / whole.value**2
            low, high = self.interval
            ends = low / whole.value - abs(low) * wider, high / whole.value + abs(high) * wider
        return replace(
            part, value=share, standard_error=error, unit=unit, n=self.n, method=self.method, settings=self.settings,
            notes=tuple(dict.fromkeys(notes)), degrees=self.degrees, interval=ends, local=None,
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
        return float(self) * float(factor) if isinstance(factor, Estimate) else self._scaled(factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> Any:
        return float(self) / float(divisor) if isinstance(divisor, Estimate) else self._scaled(1.0 / divisor)

    def _scaled(self, factor: float) -> Estimate:
        ends = None if self.interval is None else tuple(sorted(factor * end for end in self.interval))
        return replace(
            plain(self),
            value=factor * self.value,
            standard_error=abs(factor) * self.standard_error,
            interval=ends,
            local=None if self.local is None else factor * self.local,
            influence=None if self.influence is None else factor * self.influence,
        )

    def _plus(self, other: float, sign: float) -> Estimate:
        if not isinstance(other, Estimate):
            shift = sign * other
            return replace(
                plain(self),
                value=self.value + shift,
                interval=None if self.interval is None else (self.interval[0] + shift, self.interval[1] + shift),
                local=None if self.local is None else self.local + shift,
            )
        if other.unit != self.unit:
            raise Conflict(f"units of a sum or difference must be equal, got {self.unit!r} and {other.unit!r}.")
        paired = self.influence is not None and other.influence is not None
        paired = paired and len(self.influence) == len(other.influence)
        influence = self.influence + sign * other.influence if paired else None
        error = math.nan
        if paired:  # what the influence does not explain is possible bias
            error = math.sqrt(float(np.sum(influence**2)) + self._unexplained_variance + other._unexplained_variance)
        elif self.standard_error == 0.0 or other.standard_error == 0.0:
            error = max(self.standard_error, other.standard_error)
        local = None
        if self.local is not None and other.local is not None and len(self.local) == len(other.local):
            local = self.local + sign * other.local
        notes = (*self.notes, *other.notes, *((UNPAIRED,) if math.isnan(error) else ()))
        return Estimate(
            self.value + sign * other.value,
            error,
            self.unit,
            self.n if self.n == other.n else None,
            " and ".join(dict.fromkeys(filter(None, (self.method, other.method)))),
            tuple(dict.fromkeys(notes)),
            self.settings if self.settings == other.settings else "",
            self.units if self.units == other.units else None,
            min(self.degrees, other.degrees),
            local=local,
            influence=influence,
        )

    def __repr__(self) -> str:
        if math.isnan(self.value):
            return f"no value ({'; '.join((*self.notes, *self._origin())) or 'no reason given'})"
        if self.unit == NATS:
            return repr(plain(self).bits)
        exact = self.standard_error == 0.0 and not self.n
        known = math.isfinite(self.standard_error) and not exact
        places = decimals(self.standard_error, 2) if known and self.standard_error else decimals(self.value, 3)
        unit = f" {self.unit}" if self.unit == BITS else ""
        error = f" ± {self.standard_error:,.{places}f}" if known else ""
        sure = [self.unit] if self.unit not in (BITS, SHARE) else []
        sure += ["exact"] if exact else [] if known else ["standard error not known"]
        if math.isfinite(self.low) and math.isfinite(self.high) and not exact:
            error_of = ", sampling error only" if self.interval is None else ""
            interval = f"{self.low:,.{places}f} to {self.high:,.{places}f}{error_of}"
            sure.append(f"{LEVEL:.0%}: {interval}".replace("%", " %"))
        return f"{self.value:,.{places}f}{error}{unit} ({'; '.join([*sure, *self._origin()])})"

    def _origin(self) -> list[str]:
        text = ", ".join(part for part in (self.method, self.settings, self._size()) if part)
        return [text] if text else []

    def _size(self) -> str:
        units = f" in {self.units:,} units" if self.units not in (None, self.n) else ""
        return f"n = {self.n:,}{units}" if self.n else ""

    def __str__(self) -> str:
        notes = () if math.isnan(self.value) else self.notes
        return "\n".join([repr(self), *(f"  {note}" for note in notes)])

    def plot(self, ax: Any = None) -> Any:
        """Draws the estimate with its interval as a row, below others of one unit on `ax`; the matplotlib axes."""
        ax = axes(ax, (6.4, 2.4))
        intervals(ax, ["\n".join(filter(None, (self.method, self._size()))) or "estimate"], [self])
        return ax

    def __format__(self, spec: str) -> str:
        return float.__format__(self, spec) if spec else str(self)


# `__new__` hides the fields
Estimate.__signature__ = inspect.Signature(list(inspect.signature(Estimate.__init__).parameters.values())[1:])


@dataclass(frozen=True, eq=False, repr=False)
class Estimates:
    """Estimates of one unit, sample size and method: value and standard_error are arrays of one shape."""

    value: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    n: int | None
    unit: str = NATS
    method: str = ""

    def __getitem__(self, place: Any) -> Estimate | Estimates:
        value, error = self.value[place], self.standard_error[place]
        if np.ndim(value):
            return Estimates(value, error, self.n, self.unit, self.method)
        return Estimate(float(value), float(error), self.unit, self.n, self.method)

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.value.shape))
        each = (f"  {list(at)} {self[at]!r}" for at in np.ndindex(self.value.shape))
        return "\n".join([f"{shape} estimates:", *each])


def scale_to(unit: str) -> float:
    """The factor from nats to bits, or from bits to nats."""
    return 1 / NATS_PER_BIT if unit == BITS else NATS_PER_BIT


def plain(estimate: Estimate) -> Estimate:
    """The estimate without the fields of its subclass."""
    if type(estimate) is Estimate:
        return estimate
    return Estimate(*(getattr(estimate, name) for name in Estimate.__dataclass_fields__))


def mean_of(
    values: ArrayLike, groups: NDArray[np.int64] | None = None, unit: str = NATS, method: str = "",
    notes: tuple[str, ...] = (), settings: str = "",
) -> Estimate:  # fmt: skip
    """The mean of values [n], its standard error robust to groups (codes 0, 1, ... [n]), Student t with groups - 1.

    One group, or one row, has no error: nan. A nan among the values makes the mean nan.
    """
    values = np.asarray(values, dtype=np.float64)
    influence = mean_influence(values, groups)
    units = len(influence)
    return Estimate(
        float(values.mean()), root_sum_squares(influence), unit, len(values), method, notes, settings, units, units - 1,
        local=values, influence=influence,
    )  # fmt: skip


def means_of(values: NDArray[np.float64], method: str = "") -> Estimates:
    """The means of the columns of values [n, d], rows independent; see `mean_of`."""
    return Estimates(values.mean(axis=0), root_sum_squares(mean_influence(values)), len(values), NATS, method)


def undefined(reason: str, unit: str = NATS, n: int | None = None, method: str = "") -> Estimate:
    """An estimate without a value, and the reason."""
    return Estimate(math.nan, math.nan, unit, n, method, (reason,))


def mean_influence(values: NDArray[np.float64], groups: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
    """Influence [groups] of a mean of values [n] in groups (codes [n]), robust to groups (Liang & Zeger 1986)."""
    sums = values - values.mean(axis=0)
    if groups is not None:
        sums = np.bincount(groups, weights=sums)
    count = len(sums)
    return sums * (math.sqrt(count / (count - 1.0)) / len(values) if count > 1 else math.nan)


def clustered_error(values: NDArray[np.float64], groups: NDArray[np.int64] | None = None) -> float:
    """The standard error of the mean of values [n]; see `mean_influence`."""
    return root_sum_squares(mean_influence(values, groups))


def root_sum_squares(deviations: NDArray[np.float64]) -> Any:
    """The root of the sum of squares over the first axis: a float of a vector, else an array."""
    found = np.sqrt(np.square(deviations).sum(axis=0))
    return float(found) if np.ndim(found) == 0 else found


def quantile(degrees: float = math.inf, level: float = LEVEL) -> float:
    """Half-width of an interval of that level in standard errors: Student t, or normal for inf."""
    share = (1.0 + level) / 2.0
    return float(ndtri(share) if math.isinf(degrees) else stdtrit(degrees, share))


def decimals(number: float, significant: int) -> int:
    """Decimals that show so many significant digits; as many for 0."""
    if not math.isfinite(number) or number == 0.0:
        return significant
    return max(0, significant - 1 - math.floor(math.log10(abs(number))))
