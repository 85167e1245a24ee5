"""The remaining time of a sweep, estimated from the durations of its packs.

Duration = declared cost * rate; the log rate is linear in the pack's traits with normal priors (Bayesian linear
regression, Bishop 2006, section 3.3). Waiting packs are assigned to slots in order. The posterior spread determines
whether there is no estimate, a range, or a figure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace

import numpy as np

from infoscope.tracking.sweep import Cell, text, varying

_MOST_VALUES = 12  # of a field; one with more, such as a seed, is no trait
_RATE_SD, _TRAIT_SD = 10.0, 0.6  # priors of logarithms: nothing is known of the rate, traits matter by a factor of 2
_PACK_SD = 0.25  # by how much packs of one kind differ, before any have been seen
_ROUGH_SECONDS = 1.0  # of start-up and the like in every measurement
_START_SECONDS = 10.0  # of a slot without a pack, which are not counted as what lies between packs
_KNOWN_SD, _ROUGH_SD = 0.3, 0.8  # of the logarithm of what is left: above them it is a range, and not known yet
_TENTH = 1.28  # standard deviations, beyond which lies a tenth on each side
_CALM_SECONDS, _CALM_SHARE = 5.0, 0.1  # in which a new estimate takes over: so long, or this share of what has passed


@dataclass(frozen=True)
class Left:
    """Seconds that are left: the estimate, and between which it lies with a chance of eight in ten."""

    seconds: float
    low: float
    high: float

    @property
    def told(self) -> bool:
        """Whether it says enough to be told."""
        return self.high <= self.low * math.exp(2 * _TENTH * _ROUGH_SD)

    def __str__(self) -> str:
        if self.high <= self.low * math.exp(2 * _TENTH * _KNOWN_SD):
            return f"about {duration(self.seconds)} left"
        return f"{duration(self.low)} to {duration(self.high)} left"


@dataclass
class _Pack:
    cost: float
    traits: tuple[str, ...]
    begun: bool = False
    seconds: float = 0.0  # that it has taken so far
    fraction: float = 0.0
    told: float = 0.0  # when that was


class Remaining:
    """The packs of a sweep, by number, and the time for the rest; all times are seconds of one clock.

    later: packs not known yet, each of cost 1 and without traits. slots: concurrent packs.
    """

    def __init__(self, slots: int = 1, later: int = 0):
        self.slots, self.later = max(1, slots), later
        self._packs: dict[int, _Pack] = {}
        self._places: dict[str, int] = {}
        self._ended = 0
        self._busy = 0.0  # seconds of the packs that have ended
        self._first: float | None = None
        self._observed: list[tuple[tuple[str, ...], float, float]] = []  # traits, log rate, variance
        self._shown: tuple[float, float] | None = None  # when, and how many seconds were left

    def add(self, number: int, cost: float, traits: Sequence[str] = ()) -> None:
        """A pack that is to run."""
        self.later = max(0, self.later - 1)
        self._packs[number] = _Pack(max(cost, 1e-300), tuple(traits))

    def begin(self, number: int, now: float) -> None:
        """A pack runs."""
        pack = self._packs[number]
        pack.begun, pack.seconds, pack.fraction, pack.told = True, 0.0, 0.0, now
        self._first = now if self._first is None else self._first

    def tell(self, number: int, fraction: float, seconds: float, now: float) -> None:
        """A running pack has got to a fraction of its work in so many seconds."""
        pack = self._packs[number]
        pack.fraction, pack.seconds, pack.told = min(max(fraction, 0.0), 1.0), max(seconds, 0.0), now

    def back(self, number: int) -> None:
        """A pack that ran waits again."""
        pack = self._packs[number]
        pack.begun, pack.seconds, pack.fraction = False, 0.0, 0.0

    def end(self, number: int, seconds: float | None) -> None:
        """A pack is over, and has taken so long; None when that says nothing of others, as of one that failed."""
        pack = self._packs.pop(number)
        self._ended += 1
        self._busy += pack.seconds if seconds is None else seconds
        if seconds is not None:
            self._observed.append((pack.traits, *_measured(seconds, pack.cost, 1.0)))

    def left(self, now: float) -> Left | None:
        """The seconds left at a time; None while too little is known. What it says changes calmly from call to call."""
        fresh = self._estimate(now)
        if fresh is None:
            return None
        seconds, sd = fresh
        if self._shown is not None:
            before, shown = self._shown
            expected = max(shown - (now - before), 0.1 * shown, 0.1)
            elapsed = now - self._first
            share = 1 - math.exp(-(now - before) / max(_CALM_SECONDS, _CALM_SHARE * elapsed))
            seconds = math.exp((1 - share) * math.log(expected) + share * math.log(max(seconds, 0.1)))
        self._shown = (now, seconds)
        return Left(seconds, seconds * math.exp(-_TENTH * sd), seconds * math.exp(_TENTH * sd))

    def _estimate(self, now: float) -> tuple[float, float] | None:
        """Seconds left and the standard deviation of their logarithm, of this moment alone."""
        if self._first is None:
            return None
        running = {number: pack for number, pack in self._packs.items() if pack.begun}
        waiting = [pack for pack in self._packs.values() if not pack.begun]
        observed = list(self._observed)
        for pack in running.values():
            if pack.fraction > 0 and pack.seconds > 0:
                traits, rate, variance = pack.traits, *_measured(pack.seconds / pack.fraction, pack.cost, pack.fraction)
                observed.append((traits, rate, variance))
        if not observed:
            return None
        mean, covariance, pack_sd = self._fit(observed)

        def predicted(pack: _Pack) -> float:
            return pack.cost * math.exp(min(mean[self._of(pack.traits)].sum() + pack_sd**2 / 2, 600.0))

        gap = self._gap(running.values(), now)
        busy, weights = [], np.zeros(len(mean))
        own = 0.0  # variance that is a pack's alone
        for pack in running.values():
            so_far, expected = pack.seconds + max(now - pack.told, 0.0), predicted(pack)
            trust = 0.0
            if pack.fraction > 0 and pack.seconds > 0:  # its own pace, the more the further it is
                _, variance = _measured(pack.seconds / pack.fraction, pack.cost, pack.fraction)
                trust = pack_sd**2 / (pack_sd**2 + variance)
                expected = math.exp((1 - trust) * math.log(expected) + trust * math.log(pack.seconds / pack.fraction))
                rest = (1 - pack.fraction) * expected - max(now - pack.told, 0.0)
            else:
                rest = expected - so_far
            rest = max(rest, 0.05 * expected * (1 - pack.fraction), 0.0) + gap
            busy.append(rest)
            weights[self._of(pack.traits)] += (1 - trust) * rest
            own += ((1 - trust) * pack_sd * rest) ** 2
        dealt = []
        for pack in waiting:
            seconds = predicted(pack) + gap
            dealt.append(seconds)
            weights[self._of(pack.traits)] += seconds
            own += (pack_sd * seconds) ** 2
        if self.later:
            each = math.exp(mean[0] + pack_sd**2 / 2) + gap
            dealt += [each] * self.later
            weights[0] += each * self.later
            own += self.later * (pack_sd * each) ** 2
        total = sum(busy) + sum(dealt)
        if total <= 0:
            return 0.1, 0.0
        variance = (weights @ covariance @ weights + own) / total**2
        return max(_dealt(busy, dealt, max(self.slots, len(busy))), 0.1), math.sqrt(variance)

    def _of(self, traits: Iterable[str]) -> list[int]:
        return [0, *(self._places.setdefault(trait, len(self._places) + 1) for trait in traits)]

    def _fit(self, observed: Sequence[tuple[tuple[str, ...], float, float]]) -> tuple[np.ndarray, np.ndarray, float]:
        """The coefficients' posterior mean and covariance, and by how much packs of one kind differ."""
        for pack in self._packs.values():
            self._of(pack.traits)
        rows = [self._of(traits) for traits, _, _ in observed]
        design = np.zeros((len(rows), len(self._places) + 1))
        for row, places in zip(design, rows):
            row[places] = 1.0
        rate = np.array([rate for _, rate, _ in observed])
        rough = np.array([variance for _, _, variance in observed])
        prior = np.full(design.shape[1], _TRAIT_SD**-2)
        prior[0] = _RATE_SD**-2
        pack_sd = _PACK_SD
        for _ in range(2):  # with the spread that is assumed, then with the one that is found
            weight = 1 / (rough + pack_sd**2)
            covariance = np.linalg.inv((design.T * weight) @ design + np.diag(prior))
            mean = covariance @ (design.T @ (weight * rate))
            off = (rate - design @ mean) ** 2
            sure = _PACK_SD**2 / (_PACK_SD**2 + rough)
            pack_sd = math.sqrt((3 * _PACK_SD**2 + (sure * off).sum()) / (3 + sure.sum()))
        return mean, covariance, pack_sd

    def _gap(self, running: Iterable[_Pack], now: float) -> float:
        """Seconds of a slot between two packs: what packs of a moment take most of."""
        taken = self._busy + sum(pack.seconds + max(now - pack.told, 0.0) for pack in running)
        idle = self.slots * (now - self._first) - taken - self.slots * _START_SECONDS
        return max(0.0, idle) / (self._ended + 3)


def _measured(seconds: float, cost: float, fraction: float) -> tuple[float, float]:
    """The logarithm of a rate, and its variance, from a pack that would take so long by what a fraction of it took."""
    seconds = max(seconds, 1e-3)
    extrapolated = _PACK_SD**2 * (1 / max(fraction, 1e-3) - 1)
    return math.log(seconds / cost), extrapolated + min(_ROUGH_SECONDS / (seconds * max(fraction, 1e-3)), 2.0) ** 2 / 4


def _dealt(busy: Sequence[float], waiting: Sequence[float], slots: int) -> float:
    """When the last is done of what waits, dealt to slots in its order, each when it is free."""
    free = [*busy, *[0.0] * (slots - len(busy))]
    heapify(free)
    for seconds in waiting:
        heapreplace(free, free[0] + seconds)
    return max(free)


def traits(packs: Sequence[Mapping[str, Cell]]) -> list[tuple[str, ...]]:
    """What may decide how long each pack takes, beside its cost: the fields in which the packs differ, seeds aside."""
    fields = [name for name in varying(cell for pack in packs for cell in pack.values()) if name != "seed"]
    shown = [{name: "|".join(sorted({text(cell.get(name)) for cell in pack.values()})) for name in fields}
             for pack in packs]  # fmt: skip
    kept = [name for name in fields if 1 < len({of[name] for of in shown}) <= _MOST_VALUES]
    return [tuple(f"{name}={of[name]}" for name in kept) for of in shown]


def one_of_each_first(packs: Sequence[Mapping[str, Cell]]) -> list[Mapping[str, Cell]]:
    """The packs with one of every kind at the front, else in their order: what each kind takes is known soon."""
    seen: set[tuple[str, ...]] = set()
    first, others = [], []
    for pack, kind in zip(packs, traits(packs), strict=True):
        (others if kind in seen else first).append(pack)
        seen.add(kind)
    return first + others


def duration(seconds: float) -> str:
    """A time in words, as exact as an estimate is: "40 s", "7 min", "2 h 10 min"."""
    if seconds < 95:
        return f"{max(5, 5 * round(seconds / 5))} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours, minutes = divmod(10 * round(minutes / 10), 60)
    return f"{hours} h {minutes:02d} min" if hours < 24 else f"{round(seconds / 3600)} h"
