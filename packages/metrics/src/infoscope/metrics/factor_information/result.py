"""Information of each latent, of all others and of all latents about each factor; PID
bounds and scores from it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from infoscope.errors import OutOfRange, TooFew, UnknownName
from infoscope.estimators.result import (
    NATS,
    Estimate,
    Estimates,
    quantile,
    root_sum_squares,
    undefined,
)
from infoscope.metrics.pid import (
    BRANCHES,
    ROUNDING,
    TERMS,
    Bounds,
    crossing_note,
    finite,
    is_low,
)
from infoscope.metrics.report import draw_map

OF_ENTROPY = "share of H(y)"
SHARE = "share"


@dataclass(frozen=True, eq=False, kw_only=True)
class FactorInformation:
    """Mutual informations of K factors y and L latents z, nats.

    entropy    [K]      H(y_k); NaN for a factor of numbers
    alone, rest  [K, L]   a = I(y_k; z_l), and b = I(y_k; all latents but z_l)
    joint      [K]      t = I(y_k; z)
    pointwise  [n, K, 2 L + 1]  local values of alone (L), rest (L) and joint (1), for standard errors
    surprisal  [n, K]   -log p(y_k); None where the entropy is known
    clusters   [n]      labels of dependent draws or rows; None: independent
    """

    factors: tuple[str, ...]
    latents: tuple[str, ...]
    entropy: np.ndarray
    alone: np.ndarray
    rest: np.ndarray
    joint: np.ndarray
    n: int | None
    method: str
    pointwise: np.ndarray | None = None
    surprisal: np.ndarray | None = None
    clusters: np.ndarray | None = None

    def __post_init__(self) -> None:
        finite(alone=self.alone, rest=self.rest, joint=self.joint)

    @classmethod
    def from_pointwise(
        cls,
        factors: tuple[str, ...],
        latents: tuple[str, ...],
        entropy: np.ndarray,
        pointwise: np.ndarray,
        method: str,
        surprisal: np.ndarray | None = None,
        clusters: np.ndarray | None = None,
    ) -> FactorInformation:
        """The information whose alone, rest and joint are means of pointwise values [n,
        K, 2 L + 1].
        """
        means = pointwise.mean(axis=0)
        count = len(latents)
        return cls(
            factors=factors,
            latents=latents,
            entropy=np.asarray(entropy, dtype=np.float64),
            alone=means[:, :count],
            rest=means[:, count : 2 * count],
            joint=means[:, 2 * count],
            n=len(pointwise),
            method=method,
            pointwise=pointwise,
            surprisal=surprisal,
            clusters=clusters,
        )

    @property
    def parts(self) -> np.ndarray:
        """alone, rest and joint, nats [K, 2 L + 1]."""
        joint = np.asarray(self.joint)[:, None]
        return np.concatenate([self.alone, self.rest, joint], axis=1)

    @cached_property
    def deviations(self) -> np.ndarray:
        """Deviations by independent group [g, K, 2 L + 1]; their products sum to the
        covariances of the parts.
        """
        return self._deviations(self.pointwise, self.parts)

    def standard_errors(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Standard errors of alone [K, L], rest [K, L] and joint [K], nats."""
        count = len(self.latents)
        errors = root_sum_squares(self.deviations)
        alone = errors[:, :count]
        others = errors[:, count:-1]
        return alone, others, errors[:, -1]

    def shares(self) -> tuple[np.ndarray, np.ndarray]:
        """`parts` as shares of H(y_k) [K, 2 L + 1], with their deviations by
        independent group [g, K, 2 L + 1].
        """
        return self._normalised(self.parts, self.deviations)

    def bounds(self) -> Bounds:
        """Six PID bounds [K, L] of each latent against all others, nats (Tokui & Sato
        2021, Eq. 7).

        Standard errors are those of maxima of correlated normal variables (Clark 1961).
        Near a kink the bias of a bound is outwards, at most 0.4 standard errors of the
        difference of its branches.
        """
        estimates = []
        for name in Bounds._fields:
            value, error, _ = self._bound(name, normalised=False)
            estimates.append(Estimates(value, error, self.n, NATS, self.method))
        return Bounds(*estimates)

    def excess(self) -> Estimates:
        """Lower minus upper bound [K, L] of a term, -min(a, b, t - a, t - b): above 0
        where bounds cross.
        """
        values = []
        errors = []
        branches = (*BRANCHES.redundant_high, *BRANCHES.synergistic_high)
        for coefficients in branches:
            deviation = self._branch(coefficients, self.deviations)
            values.append(self._branch(coefficients, self.parts))
            errors.append(root_sum_squares(deviation))
        smallest = np.argmin(values, axis=0)
        value = -np.choose(smallest, values)
        error = np.choose(smallest, errors)
        return Estimates(value, error, self.n, NATS, self.method)

    def aggregated(self, latent: str | None = None, normalised: bool = True) -> Bounds:
        """Mean over factors of each PID bound, with a note where the bounds of a term
        cross.

        Parameters
        ----------
        latent
            None: the maximum over latents of each bound (Tokui & Sato 2021, Eq. 6),
            whose terms do not add up. "alone": all six bounds at the latent with the
            largest I(y_k; z_l). Errors treat the latent as fixed; ties bias a maximum
            upwards.
        normalised
            Shares of H(y_k) instead of nats.

        Raises
        ------
        UnknownName
            Another latent.
        """
        if latent not in (None, "alone"):
            raise UnknownName(f"latent must be None or 'alone', got {latent!r}.")
        unit = "of H(y)" if normalised else "nats"
        bounds = {}
        for term in TERMS:
            low, deviation_low = self._aggregate(f"{term}_low", latent, normalised)
            high, deviation_high = self._aggregate(f"{term}_high", latent, normalised)
            error = root_sum_squares(deviation_low - deviation_high)
            note = crossing_note(float(low - high), error, unit)
            notes = (note,) if note else ()
            estimate_low = self._estimate(low, deviation_low, normalised)
            estimate_high = self._estimate(high, deviation_high, normalised)
            bounds[f"{term}_low"] = replace(estimate_low, notes=notes)
            bounds[f"{term}_high"] = replace(estimate_high, notes=notes)
        return Bounds(**bounds)

    def best_latent(self) -> np.ndarray:
        """The index of the latent with the largest I(y_k; z_l) for each factor [K]."""
        return np.argmax(self.alone, axis=1)

    def unibound(self, normalised: bool = True) -> Estimate:
        """Mean over factors of the largest lower bound of unique information (Tokui &
        Sato 2021, Eq. 6).
        """
        value, deviation = self._aggregate("unique_low", None, normalised)
        return self._estimate(value, deviation, normalised)

    def mig(self, normalised: bool = True) -> Estimate:
        """Mean over factors of the largest minus the second-largest I(y_k; z_l) (Chen
        et al. 2018).

        Raises
        ------
        TooFew
            A single latent.
        """
        count = len(self.latents)
        if count < 2:
            raise TooFew(
                "latents must be at least two columns for mig, got "
                f"{self.latents[0]!r} only."
            )
        order = np.argsort(self.alone, axis=1)
        first = order[:, -1]
        second = order[:, -2]
        gap = _at_latent(self.alone, first) - _at_latent(self.alone, second)
        deviation_first = _at_latent(self.deviations, first)
        deviation_second = _at_latent(self.deviations, second)
        deviation = deviation_first - deviation_second
        return self._mean_over_factors(gap, deviation, normalised)

    def informativeness(self, normalised: bool = True) -> Estimate:
        """Mean over factors of I(y_k; z), as a share of H(y_k) if normalised."""
        return self._mean_over_factors(
            self.joint, self.deviations[:, :, -1], normalised
        )

    def sufficiency(self) -> Estimate:
        """Mean over factors of the largest I(y_k; z_l) / H(y_k) (Almudévar & Ortega
        2024).

        It is 1 where I(y_k; rest | z_l) = 0. Its error treats the latent as fixed: with
        ties the largest estimate is a little too high.
        """
        share, deviation = self._shares_alone()
        best = self.best_latent()
        value = _at_latent(share, best).mean()
        deviation = _at_latent(deviation, best).mean(axis=1)
        return self._estimate(value, deviation, normalised=True)

    def modularity(self) -> Estimate:
        """InfoM: 1 if each latent carries information about one factor only, 0 if
        equally about all (Hsu et al. 2023).

        With s = I(y_k; z_l) / H(y_k): the sum over latents of the largest s over the
        sum of all s, rescaled. The largest s is chosen on a random half of the rows.
        NaN where the 95 % interval of the sum includes 0.

        Raises
        ------
        OutOfRange
            A single factor.
        """
        return self._concentration(0, "factors")

    def compactness(self) -> Estimate:
        """InfoC: 1 if the information about each factor is in one latent; see
        `modularity`.

        Raises
        ------
        OutOfRange
            A single latent.
        """
        return self._concentration(1, "latents")

    def table(self) -> pd.DataFrame:
        """Rows of factor and latent: alone, rest, joint, six bounds and their excess,
        nats, with errors and notes.
        """
        factors, latents = self.alone.shape
        columns = {
            "factor": np.repeat(self.factors, latents),
            "latent": np.tile(self.latents, factors),
            "entropy": np.repeat(self.entropy, latents),
        }
        for name, error in zip(("alone", "rest", "joint"), self.standard_errors()):
            repeats = latents if name == "joint" else 1
            columns[name] = np.repeat(getattr(self, name), repeats)
            columns[f"{name}_error"] = np.repeat(error, repeats)
        estimates = self.bounds()._asdict()
        estimates["excess"] = self.excess()
        for name, estimate in estimates.items():
            columns[name] = estimate.value.ravel()
            columns[f"{name}_error"] = estimate.standard_error.ravel()
        notes = []
        for excess, error in zip(columns["excess"], columns["excess_error"]):
            notes.append(crossing_note(excess, error, "nats"))
        columns["notes"] = notes
        return pd.DataFrame(columns)

    def plot(self, ax: Any = None) -> Any:
        """Draws I(y_k; z_l) of every latent and factor, bits, with 95 % intervals;
        returns the axes.
        """
        cells = {}
        shares = {}
        errors = root_sum_squares(self.deviations)
        estimates = Estimates(self.parts, errors, self.n, NATS, self.method)
        largest = max(float(self.alone.max()), ROUNDING)
        for (k, latent), value in np.ndenumerate(self.alone):
            name = self.latents[latent], self.factors[k]
            entropy = self.entropy[k]
            full_colour = entropy if entropy > 0 else largest  # numbers have no entropy
            estimate = estimates[k, latent]
            assert isinstance(estimate, Estimate)
            cells[name] = estimate.bits
            shares[name] = value / full_colour
        return draw_map(
            ax,
            cells,
            "bits about the factor, 95 % interval; colour: share of H(factor)",
            shares,
        )

    def _deviations(self, pointwise: np.ndarray | None, mean: np.ndarray) -> np.ndarray:
        """Deviations by independent group [g, ...] of a mean [...] of pointwise values
        [n, ...].
        """
        if pointwise is None:
            is_closed_form = self.n is None
            error = 0.0 if is_closed_form else np.nan
            return np.full((1, *mean.shape), error)
        sums = pointwise - mean
        if self.clusters is not None:
            labels, codes = np.unique(self.clusters, return_inverse=True)
            by_cluster = np.zeros((len(labels), *mean.shape))
            np.add.at(by_cluster, codes, sums)
            sums = by_cluster
        groups = len(sums)
        scale = np.nan  # unknown for one group
        # the sandwich variance of a mean over clusters (Liang & Zeger 1986)
        if groups > 1:
            scale = np.sqrt(groups / (groups - 1.0)) / self.n
        return sums * scale

    def _normalised(
        self, value: np.ndarray, deviation: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Shares of H(y_k), first axis of value [K, ...], with deviations, including
        those of the entropy.
        """
        for name, entropy in zip(self.factors, self.entropy, strict=True):
            if not entropy > 0:
                got = "numbers" if np.isnan(entropy) else f"{entropy:g}"
                raise OutOfRange(
                    f"factor {name!r} must have an entropy above 0 for shares of "
                    f"H(y), got {got}."
                )
        broadcast = (..., *[None] * (value.ndim - 1))
        entropy = self.entropy[broadcast]
        share = value / entropy
        if self.surprisal is None:
            return share, deviation / entropy
        deviation_entropy = self._deviations(self.surprisal, self.entropy)[broadcast]
        return share, (deviation - share * deviation_entropy) / entropy

    def _shares_alone(self) -> tuple[np.ndarray, np.ndarray]:
        """I(y_k; z_l) / H(y_k) [K, L] with deviations [g, K, L]."""
        deviations = self.deviations[..., : len(self.latents)]
        return self._normalised(self.alone, deviations)

    def _estimate(
        self, value: float, deviation: np.ndarray, normalised: bool = False
    ) -> Estimate:
        """A value with its deviations [g] as an Estimate."""
        unit = OF_ENTROPY if normalised else NATS
        error = root_sum_squares(deviation)
        groups = None if self.pointwise is None else len(self.deviations)
        return Estimate(
            float(value),
            error,
            unit,
            self.n,
            self.method,
            units=groups,
            influence=deviation,
        )

    def _mean_over_factors(
        self, value: np.ndarray, deviation: np.ndarray, normalised: bool
    ) -> Estimate:
        """Mean over factors of values [K] with deviations [g, K]."""
        if normalised:
            value, deviation = self._normalised(value, deviation)
        return self._estimate(value.mean(), deviation.mean(axis=1), normalised)

    def _branch(
        self, coefficients: tuple[int, int, int], parts: np.ndarray
    ) -> np.ndarray:
        """A linear term in (a, b, t) of parts [..., K, 2 L + 1]: [..., K, L]."""
        a, b, t = coefficients
        count = len(self.latents)
        alone = parts[..., :count]
        others = parts[..., count:-1]
        joint = parts[..., -1:]
        return a * alone + b * others + t * joint

    def _bound(
        self, name: str, normalised: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Value, standard error [K, L] and deviations [g, K, L] of one bound."""
        sign = 1.0 if is_low(name) else -1.0
        branches = []
        for coefficients in getattr(BRANCHES, name):
            value = self._branch(coefficients, self.parts)
            deviation = self._branch(coefficients, self.deviations)
            if normalised:
                value, deviation = self._normalised(value, deviation)
            branches.append((sign * value, sign * deviation))
        maximum, error, deviation = clark_maximum(*branches)
        return sign * maximum, error, sign * deviation

    def _aggregate(
        self, name: str, latent: str | None, normalised: bool
    ) -> tuple[float, np.ndarray]:
        """One bound's mean over factors and its deviations [g]; see `aggregated`."""
        value, _, deviation = self._bound(name, normalised)
        if latent is not None:
            best = self.best_latent()
        elif is_low(name):
            difference = getattr(BRANCHES, name)[1]
            best = self._branch(difference, self.parts).argmax(axis=1)
        else:
            best = value.argmax(axis=1)
        mean = _at_latent(value, best).mean()
        return mean, _at_latent(deviation, best).mean(axis=1)

    def _concentration(self, axis: int, argument: str) -> Estimate:
        """The largest share along an axis (0: factors, 1: latents) over the sum of
        shares; see `modularity`.
        """
        share, deviation = self._shares_alone()
        count = share.shape[axis]
        if count < 2:
            raise OutOfRange(f"{argument} must be two or more for this score, got one.")
        total = share.sum()
        deviation_total = deviation.sum(axis=(1, 2))
        error_total = root_sum_squares(deviation_total)
        if not total > quantile() * error_total:
            sum_text = f"{total:.3g} ± {error_total:.2g}"
            reason = (
                f"The sum of I(y_k; z_l) / H(y_k) is {sum_text}, not above 0: shares "
                "of it are undefined."
            )
            return undefined(reason, SHARE, self.n, self.method)
        # rows may be ordered by factors
        order = np.random.default_rng(0).permutation(len(deviation))
        halves = order[::2], order[1::2]
        largest = 0.0
        deviation_largest = np.empty(len(deviation))
        for choosing, reading in (halves, halves[::-1]):
            chosen_by = share + 2 * deviation[choosing].sum(axis=0)
            chosen = np.expand_dims(chosen_by.argmax(axis=axis), axis)
            read = share + 2 * deviation[reading].sum(axis=0)
            largest += np.take_along_axis(read, chosen, axis).sum() / 2
            deviations = np.take_along_axis(deviation[reading], chosen[None], axis + 1)
            of_groups = deviations.sum(axis=(1, 2))
            if len(of_groups) > 1:
                of_groups = of_groups - of_groups.mean()
            deviation_largest[reading] = of_groups
        ratio = largest / total
        deviation_ratio = (deviation_largest - ratio * deviation_total) / total
        value = (count * ratio - 1) / (count - 1)
        scale = count / (count - 1)
        score = self._estimate(value, scale * deviation_ratio)
        return replace(score, unit=SHARE)


def _at_latent(values: np.ndarray, latents: np.ndarray) -> np.ndarray:
    """Values [..., K, L] at one latent of each factor [K]: [..., K]."""
    return values[..., np.arange(len(latents)), latents]


def clark_maximum(
    first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The elementwise maximum of two estimates (value [...], deviations [g, ...]), its
    error and deviations.

    Clark 1961, Eq. 2-4; deviations are those of the larger estimate, scaled to the
    standard error.
    """
    x, deviation_x = first
    y, deviation_y = second
    error_x = root_sum_squares(deviation_x)
    error_y = root_sum_squares(deviation_y)
    error_gap = root_sum_squares(deviation_x - deviation_y)
    certain = np.where(x >= y, np.inf, -np.inf)
    gap = np.divide(x - y, error_gap, out=certain, where=error_gap > 0)
    p_x = ndtr(gap)  # the probability that x is larger
    p_y = 1 - p_x
    density = np.exp(-(gap**2) / 2.0) / np.sqrt(2 * np.pi)
    larger = np.maximum(x, y)
    x0 = x - larger  # relative to the larger, against cancellation
    y0 = y - larger
    mean = x0 * p_x + y0 * p_y + error_gap * density
    square_x = (x0**2 + error_x**2) * p_x
    square_y = (y0**2 + error_y**2) * p_y
    square = square_x + square_y + (x0 + y0) * error_gap * density
    variance = square - mean**2
    error = np.sqrt(np.maximum(variance, 0.0))
    use_x = (x >= y) & (error_x > 0) | (error_y == 0)
    active = np.where(use_x, deviation_x, deviation_y)
    size = root_sum_squares(active)
    scale = np.divide(error, size, out=np.zeros_like(error), where=size > 0)
    return larger, error, active * scale


def added(latents: tuple[str, ...]) -> tuple[str, ...]:
    """Names of attacked and added latents."""
    new = [f"{name} added" for name in latents]
    return (*latents, *new)
