"""Information of each latent, of all others and of all latents about each factor; PID bounds and scores from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from infoscope.errors import OutOfRange, TooFew, UnknownName
from infoscope.estimators.result import NATS, Estimate, Estimates, quantile, root_sum_squares, undefined
from infoscope.metrics.pid import BRANCHES, ROUNDING, TERMS, Bounds, crossing_note, finite, is_low
from infoscope.metrics.report import draw_map

OF_ENTROPY, SHARE = "share of H(y)", "share"


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
        """From pointwise values [n, K, 2 L + 1]: alone, rest and joint are their means."""
        means, count = pointwise.mean(axis=0), len(latents)
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
        return np.concatenate([self.alone, self.rest, np.asarray(self.joint)[:, None]], axis=1)

    def standard_errors(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of alone [K, L], rest [K, L] and joint [K], nats."""
        errors, count = root_sum_squares(self.deviations), len(self.latents)
        return errors[:, :count], errors[:, count : 2 * count], errors[:, 2 * count]

    def shares(self) -> tuple[np.ndarray, np.ndarray]:
        """`parts` as shares of H(y_k) [K, 2 L + 1], with their deviations by independent group [g, K, 2 L + 1]."""
        return self._normalised(self.parts, self.deviations)

    def bounds(self) -> Bounds:
        """The six PID bounds [K, L] of a latent against all others (Tokui & Sato 2021, Eq. 7), nats.

        Standard errors are those of maxima of correlated normal variables (Clark 1961). Near a kink the bias of a bound
        is outwards, at most 0.4 standard errors of the difference of its branches.
        """
        return Bounds(*[
            Estimates(*self._bound(name, False)[:2], self.n, NATS, self.method) for name in Bounds._fields
        ])  # fmt: skip

    def excess(self) -> Estimates:
        """Lower minus upper bound [K, L] of a term, -min(a, b, t - a, t - b): above 0 where bounds cross."""
        branches = [(1, 0, 0), (0, 1, 0), (-1, 0, 1), (0, -1, 1)]
        values = np.stack([self._branch(coefficients, self.parts) for coefficients in branches])
        least = values.argmin(axis=0)[None]
        errors = np.stack([root_sum_squares(self._branch(coefficients, self.deviations)) for coefficients in branches])
        value, error = [-np.take_along_axis(values, least, 0)[0], np.take_along_axis(errors, least, 0)[0]]
        return Estimates(value, error, self.n, NATS, self.method)

    def aggregated(self, latent: str | None = None, normalised: bool = True) -> Bounds:
        """Each bound's mean over factors, as an Estimate, with a note where the bounds of a term cross.

        latent None: the maximum over latents of each bound (Eq. 6), whose terms do not add up. "alone": all six at the
        latent with the largest I(y_k; z_l). Errors take the latent as given; ties bias a maximum upwards.
        """
        if latent not in (None, "alone"):
            raise UnknownName(f"latent must be None or 'alone', got {latent!r}.")
        found = {}
        for term in TERMS:
            names = f"{term}_low", f"{term}_high"
            (low, of_low), (high, of_high) = parts = [self._aggregate(name, latent, normalised) for name in names]
            error = root_sum_squares(of_low - of_high)
            note = crossing_note(float(low - high), error, "of H(y)" if normalised else "nats")
            for name, part in zip(names, parts):
                found[name] = replace(self._estimate(*part, normalised), notes=(note,) if note else ())
        return Bounds(**found)

    def _aggregate(self, name: str, latent: str | None, normalised: bool) -> tuple[float, np.ndarray]:
        """One bound's mean over factors and its deviations [g]; see `aggregated`."""
        value, _, deviation = self._bound(name, normalised)
        if latent is not None:
            best = self.best_latent()
        elif is_low(name):
            best = self._branch(getattr(BRANCHES, name)[1], self.parts).argmax(axis=1)
        else:
            best = value.argmax(axis=1)
        k = np.arange(len(self.factors))
        return value[k, best].mean(), deviation[:, k, best].mean(axis=1)

    def best_latent(self) -> np.ndarray:
        """The index of the latent with the largest I(y_k; z_l) for each factor [K]."""
        return np.argmax(self.alone, axis=1)

    def unibound(self, normalised: bool = True) -> Estimate:
        """Mean over factors of the largest lower bound of unique information (Tokui & Sato 2021, Eq. 6)."""
        return self._estimate(*self._aggregate("unique_low", None, normalised), normalised)

    def mig(self, normalised: bool = True) -> Estimate:
        """Mean over factors of the largest minus the second-largest I(y_k; z_l) (Chen et al. 2018). ValueError: one
        latent.
        """
        if len(self.latents) < 2:
            raise TooFew(f"latents must be at least two columns for mig, got {self.latents[0]!r} only.")
        second, first = np.argsort(self.alone, axis=1)[:, -2:].T
        k = np.arange(len(self.factors))
        gap = self.alone[k, first] - self.alone[k, second]
        deviation = self.deviations[:, k, first] - self.deviations[:, k, second]
        if normalised:
            gap, deviation = self._normalised(gap, deviation)
        return self._estimate(gap.mean(), deviation.mean(axis=1), normalised)

    def informativeness(self, normalised: bool = True) -> Estimate:
        """Mean over factors of I(y_k; z), as a share of H(y_k) if normalised."""
        value, deviation = self.joint, self.deviations[:, :, -1]
        if normalised:
            value, deviation = self._normalised(value, deviation)
        return self._estimate(value.mean(), deviation.mean(axis=1), normalised)

    def sufficiency(self) -> Estimate:
        """Mean over factors of the largest I(y_k; z_l) / H(y_k), 1 where I(y_k; rest | z_l) = 0 (Almudévar & Ortega
        2024).

        The latent is taken as given: with ties the largest estimate is a little too high.
        """
        share, deviation = self._normalised(self.alone, self.deviations[..., : len(self.latents)])
        k, best = np.arange(len(self.factors)), self.best_latent()
        return self._estimate(share[k, best].mean(), deviation[:, k, best].mean(axis=1), True)

    def modularity(self) -> Estimate:
        """InfoM: 1 if each latent carries information about one factor only, 0 if equally about all (Hsu et al. 2023).

        With s = I(y_k; z_l) / H(y_k): the sum over latents of the largest s over the sum of all s, rescaled. The
        largest is chosen on a random half of the rows. NaN where the sum is not above 0 by its 95 % interval.
        ValueError for a single factor.
        """
        return self._concentration(0, "factors")

    def compactness(self) -> Estimate:
        """InfoC: 1 if the information about each factor is in one latent; as `modularity`. ValueError: one latent."""
        return self._concentration(1, "latents")

    def _concentration(self, axis: int, what: str) -> Estimate:
        share, deviation = self._normalised(self.alone, self.deviations[..., : len(self.latents)])
        count = share.shape[axis]
        if count < 2:
            raise OutOfRange(f"{what} must be two or more for this score, got one.")
        total, of_total = share.sum(), deviation.sum(axis=(1, 2))
        if not total > quantile() * root_sum_squares(of_total):
            sum_text = f"{total:.3g} ± {root_sum_squares(of_total):.2g}"
            why = f"The sum of I(y_k; z_l) / H(y_k) is {sum_text}, not above 0: shares of it are undefined."
            return undefined(why, SHARE, self.n, self.method)
        order = np.random.default_rng(0).permutation(len(deviation))  # rows may be ordered by factors
        largest, of_largest = 0.0, np.empty(len(deviation))
        for half, other in ((order[::2], order[1::2]), (order[1::2], order[::2])):
            chosen = np.expand_dims((share + 2 * deviation[half].sum(axis=0)).argmax(axis=axis), axis)
            read = share + 2 * deviation[other].sum(axis=0)
            largest += np.take_along_axis(read, chosen, axis).sum() / 2
            each = np.take_along_axis(deviation[other], chosen[None], axis + 1).sum(axis=(1, 2))
            of_largest[other] = each - each.mean() if len(each) > 1 else each
        ratio = largest / total
        of_ratio = (of_largest - ratio * of_total) / total
        found = self._estimate((count * ratio - 1) / (count - 1), count / (count - 1) * of_ratio)
        return replace(found, unit=SHARE)

    def table(self) -> pd.DataFrame:
        """One row per factor and latent: alone, rest, joint, six bounds and their excess, nats, with standard errors
        and notes.
        """
        k, count = self.alone.shape
        rows = {"factor": np.repeat(self.factors, count), "latent": np.tile(self.latents, k)}
        rows["entropy"] = np.repeat(self.entropy, count)
        for name, error in zip(("alone", "rest", "joint"), self.standard_errors()):
            times = count if name == "joint" else 1
            rows[name], rows[f"{name}_error"] = np.repeat(getattr(self, name), times), np.repeat(error, times)
        for name, estimate in {**self.bounds()._asdict(), "excess": self.excess()}.items():
            rows[name], rows[f"{name}_error"] = estimate.value.ravel(), estimate.standard_error.ravel()
        rows["notes"] = [crossing_note(*pair, "nats") for pair in zip(rows["excess"], rows["excess_error"])]
        return pd.DataFrame(rows)

    @cached_property
    def deviations(self) -> np.ndarray:
        """Deviations by independent group [g, K, 2 L + 1]; their products sum to the covariances of the parts."""
        return self._deviations(self.pointwise, self.parts)

    def _deviations(self, pointwise: np.ndarray | None, mean: np.ndarray) -> np.ndarray:
        if pointwise is None:  # a closed form (n None) has no error, other sources an unknown one
            return np.full((1, *mean.shape), 0.0 if self.n is None else np.nan)
        sums = pointwise - mean
        if self.clusters is not None:
            labels, codes = np.unique(self.clusters, return_inverse=True)
            by_cluster = np.zeros((len(labels), *mean.shape))
            np.add.at(by_cluster, codes, sums)
            sums = by_cluster
        groups = len(sums)
        # The sandwich variance of a mean over clusters (Liang & Zeger 1986); unknown for one group.
        return sums * (np.sqrt(groups / (groups - 1.0)) / self.n if groups > 1 else np.nan)

    def _estimate(self, value: float, deviation: np.ndarray, normalised: bool = False) -> Estimate:
        unit = OF_ENTROPY if normalised else NATS
        error, units = root_sum_squares(deviation), None if self.pointwise is None else len(self.deviations)
        return Estimate(float(value), error, unit, self.n, self.method, units=units, influence=deviation)

    def _estimates(self) -> Estimates:
        """`parts` with their errors [K, 2 L + 1]."""
        return Estimates(self.parts, root_sum_squares(self.deviations), self.n, NATS, self.method)

    def plot(self, ax: Any = None) -> Any:
        """Draws I(y_k; z_l) of every latent and factor, bits, with 95 % intervals; returns the axes."""
        cells, shares = {}, {}
        parts, largest = self._estimates(), max(float(self.alone.max()), ROUNDING)
        for (k, place), value in np.ndenumerate(self.alone):
            name = self.latents[place], self.factors[k]
            cells[name] = parts[k, place].bits
            shares[name] = value / (self.entropy[k] if self.entropy[k] > 0 else largest)  # numbers have no entropy
        return draw_map(ax, cells, "bits about the factor, 95 % interval; colour: share of H(factor)", shares)

    def _bound(self, name: str, normalised: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Value, standard error [K, L] and deviations [g, K, L] of one bound."""
        branches = []
        for coefficients in getattr(BRANCHES, name):
            value, deviation = [self._branch(coefficients, x) for x in (self.parts, self.deviations)]
            branches.append(self._normalised(value, deviation) if normalised else (value, deviation))
        sign = 1.0 if is_low(name) else -1.0
        return clark_maximum(*[(sign * value, sign * deviation) for value, deviation in branches], sign=sign)

    def _branch(self, coefficients: tuple[int, int, int], parts: np.ndarray) -> np.ndarray:
        """A linear term in (a, b, t) of parts [..., K, 2 L + 1]: [..., K, L]."""
        (a, b, t), count = coefficients, len(self.latents)
        return a * parts[..., :count] + b * parts[..., count:-1] + t * parts[..., -1:]

    def _normalised(self, value: np.ndarray, deviation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Shares of H(y_k), first axis of value [K, ...], with deviations, including those of the entropy."""
        for name, entropy in zip(self.factors, self.entropy, strict=True):
            if not entropy > 0:
                found = "numbers" if np.isnan(entropy) else f"{entropy:g}"
                raise OutOfRange(f"factor {name!r} must have an entropy above 0 for shares of H(y), got {found}.")
        wide = (..., *[None] * (value.ndim - 1))
        share = value / self.entropy[wide]
        if self.surprisal is None:
            return share, deviation / self.entropy[wide]
        of_entropy = self._deviations(self.surprisal, self.entropy)[wide]
        return share, (deviation - share * of_entropy) / self.entropy[wide]


def clark_maximum(
    one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray], sign: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The elementwise maximum of two estimates (value [...], deviations [g, ...]) times sign, its error and deviations.

    Clark 1961, Eq. 2-4; deviations are those of the larger estimate, scaled to the standard error.
    """
    (x, dx), (y, dy) = one, other
    sx, sy, apart = root_sum_squares(dx), root_sum_squares(dy), root_sum_squares(dx - dy)
    gap = np.divide(x - y, apart, out=np.where(x >= y, np.inf, -np.inf), where=apart > 0)
    over, density = ndtr(gap), np.where(np.isfinite(gap), np.exp(-(gap**2) / 2.0) / np.sqrt(2 * np.pi), 0.0)
    best = np.maximum(x, y)
    x0, y0 = x - best, y - best  # relative to the larger, against cancellation
    mean = x0 * over + y0 * (1 - over) + apart * density
    square = (x0**2 + sx**2) * over + (y0**2 + sy**2) * (1 - over) + (x0 + y0) * apart * density
    error = np.sqrt(np.maximum(square - mean**2, 0.0))
    active = np.where((x >= y) & (sx > 0) | (sy == 0), dx, dy)
    size = root_sum_squares(active)
    return sign * best, error, sign * active * np.divide(error, size, out=np.zeros_like(error), where=size > 0)


def added(latents: tuple[str, ...]) -> tuple[str, ...]:
    """Names of attacked and added latents."""
    return (*latents, *[f"{name} added" for name in latents])
