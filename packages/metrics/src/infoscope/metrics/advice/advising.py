"""How much information, and by which estimator? An answer from simulated data sets, or a refusal with its reason.

The same statistics are computed on the data and on simulations of each family (`statistics`, `twins`). Families that do
not behave as the data are excluded; the others give possible levels (`inversion`). Candidates are judged by their error
on the nearest simulations. Information in patterns finer than the rows resolve is not detected.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from infoscope.errors import OutOfRange, TooFew, UnknownName
from infoscope.estimators.arrays.certified import Certified
from infoscope.estimators.arrays.diagnosis import diagnose
from infoscope.estimators.arrays.protocol import Described, Method, Pairs
from infoscope.estimators.arrays.registry import as_method
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.result import Estimate, quantile, undefined
from infoscope.estimators.serial import SerialDependence
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.estimators.variables import Variable, factorise
from infoscope.metrics.advice import inversion
from infoscope.metrics.advice.odds import Trees
from infoscope.metrics.advice.realism import told_apart
from infoscope.metrics.advice.statistics import Statistics, observed
from infoscope.metrics.advice.twins import Family, Mixture, families

Floats = NDArray[np.float64]
Say = Callable[[str], None]
ANSWERED, NOTHING, REFUSED = "answered", "nothing found", "refused"
WIDEST, WIDEST_SHARE = 0.1, 0.25  # nats, and of the value: half an interval that is still an answer
FEWEST = 200  # rows
LEAST_SECONDS = 10
_SCREENED = 1000  # rows, on which families are tried first
_LEVELS, _DRAWS = 7, 2  # at which every family is tried, and twins of each
_FREE = 4  # more twins than statistics, at least
_NULLS = 16
_FINER = 5  # levels about what is possible
_MORE = (8, 20)  # twins of each, at least and at most, as time allows
_EXPECTED = 3  # families that are tried again, as far as rows are planned
_HIGHEST = 3.0  # nats, from which the search for levels begins
_ROUNDS = 3  # at most, in which possible levels run on
_KEPT = 3.0  # times the limit: families that are tried at finer levels
_SURPRISE = 0.998  # of Student's law
_JUDGED = (4, 8)  # twins of each family on which candidates are judged, at least and at most, as time allows
_NUMBERS = ("ksg", "gcmi", "student-copula", "gaussian-mixture", "reduced-ksg")
_LABELLED = ("ksg", "gcmi", "classifier", "reduced-ksg")  # and trees
_MIXED = ("ksg", "fitted-law")
_CATEGORIES = ("grassberger", "chao-shen", "shrinkage")
_PATIENT = ("infonce-anchor", "smile-5")  # asked where there is time
_SECONDS = {"student-copula": 0.7, "gaussian-mixture": 0.8, "fitted-law": 1.0, "classifier": 0.1,
            **dict.fromkeys(_PATIENT, 9.0)}  # fmt: skip
_WIDE = 50  # columns
_CERTIFYING = 500  # steps of the critic of the certified limit
_SHARE_OF_ONE = 0.2  # of the time, for one candidate on the data and on twins
_SHARE = 0.4  # of the time, for trying all families


@dataclass(frozen=True, eq=False)
class Candidate:
    """An estimator and its estimate on the data; no value and the reason where it cannot be used."""

    name: str
    method: Method
    estimate: Estimate


@dataclass(frozen=True, eq=False)
class Tried:
    """A family of simulations after it was tried.

    levels, profiles  nats [t], and their statistics [t, statistics]
    fit               the levels at which simulations behave as the data
    counts            whether the family is included
    possible          the least and the greatest possible level, nats; nan where excluded
    apart             share of rows that trees tell from a simulation's, with its error; half is chance
    judged            estimates of candidates at the nearest level [twins, candidates], nan: refused
    truths            of those simulations, nats
    """

    name: str
    levels: Floats
    profiles: Floats
    fit: inversion.Fit
    rows: int
    counts: bool = False
    possible: tuple[float, float] = (math.nan, math.nan)
    apart: Estimate | None = None
    judged: Floats | None = None
    truths: Floats | None = None

    @property
    def off(self) -> Floats:
        """Estimates less the truth at the nearest level [twins, candidates], nats."""
        return self.judged - self.truths[:, None]

    def surprised(self, said: Floats) -> bool:
        """Whether a candidate's estimate lies outside the predictive interval from simulations [candidates]."""
        apart = np.abs(said - self.judged.mean(axis=0))
        level = (self.possible[1] - self.possible[0]) / 4  # a standard deviation, about
        spread = np.sqrt(self.judged.var(axis=0, ddof=1) * (1 + 1 / len(self.judged)) + level**2)
        return bool((apart > quantile(len(self.judged) - 1, _SURPRISE) * spread).any())  # no value, no surprise

    @property
    def errors(self) -> Floats:
        """Root mean square of every candidate's error at the nearest level, nats."""
        return np.sqrt((self.off**2).mean(axis=0))


@dataclass(frozen=True, eq=False)
class Advice:
    """The answer: information with an interval and the estimator to use, or why there is none.

    verdict     answered, nothing found (no dependence detected) or refused
    estimate    nats: the nearest level, and the interval of possible ones; nan without an answer
    reasons     why there is no answer, one sentence each
    certified   a lower limit that holds for every distribution, if there is one
    """

    verdict: str
    estimate: Estimate
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    tried: tuple[Tried, ...]
    asked: tuple[str, ...]
    observed: Floats
    certified: Estimate
    seconds: float

    @property
    def counted(self) -> tuple[Tried, ...]:
        """The families that are included."""
        return tuple(one for one in self.tried if one.counts)

    @cached_property
    def chosen(self) -> str:
        """The candidate whose worst error among families that count is least; "" without an answer."""
        return str(self.table["method"][0]) if self.verdict == ANSWERED else ""

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row for every candidate, best first, those without a value last: its estimate and interval, and the bias
        with its standard error and the error (root mean square) that it has in the worst family that counts. Nats."""
        rows = []
        for place, one in enumerate(self.candidates):
            found = one.estimate
            row = {"method": one.name, "estimate": found.value, "standard_error": found.standard_error,
                   "low": found.low, "high": found.high}  # fmt: skip
            judged = [each for each in self.counted if each.judged is not None]
            if judged:
                worst = max(judged, key=lambda each, place=place: _last(each.errors[place]))
                off = worst.off[:, place]
                row |= {"bias": off.mean(), "bias_error": off.std(ddof=1) / math.sqrt(len(off)),
                        "error": worst.errors[place], "worst_twins": worst.name, "twins": len(off)}  # fmt: skip
            rows.append(row)
        table = pd.DataFrame(rows)
        if "error" not in table:
            return table
        order = np.argsort(table["error"].where(table["estimate"].notna()), kind="stable")
        return table.iloc[order].reset_index(drop=True)

    @property
    def families(self) -> pd.DataFrame:
        """A row for every family: distance from the data, whether it is included, and possible levels. Nats."""
        return pd.DataFrame([
            {"family": one.name, "counts": one.counts, "distance": one.fit.distance, "limit": one.fit.limit,
             "best": one.fit.best, "low": one.possible[0], "high": one.possible[1], "twins": len(one.levels),
             "rows": one.rows, "told_apart": math.nan if one.apart is None else one.apart.value,
             "told_apart_error": math.nan if one.apart is None else one.apart.standard_error,
             "farthest": self.asked[one.fit.worst[0]], "deviations": one.fit.worst[1]}
            for one in self.tried
        ])  # fmt: skip

    def __str__(self) -> str:
        if self.verdict != ANSWERED:
            return " ".join((f"{self.verdict.capitalize()}:", *self.reasons))
        best, low, high = self.table.iloc[0], self.estimate.low, self.estimate.high
        like = " and ".join(one.name for one in self.counted)
        return (
            f"I(x; y) is {self.estimate.value:.3f} nats, between {low:.3f} and {high:.3f} at 95 %, as far as twins of "
            f"these {self.estimate.n:,} rows tell ({like}). Of {len(self.candidates)} estimators {self.chosen} is the "
            f"one to use: it says {best['estimate']:.3f}, and is off by {best['error']:.3f} nats on such twins."
        )


def advise(
    x: Any,
    y: Any,
    groups: ArrayLike | None = None,
    seconds: float = 120.0,
    methods: Sequence[Method | str] | None = None,
    generator: np.random.Generator | None = None,
    progress: Say | None = None,
) -> Advice:
    """How much x and y share, and which estimator to use, from simulated data sets.

    x, y, groups  as of `infoscope.estimators.estimate`; at least 200 rows
    seconds       about what it may take on two idle cores; planned beforehand, so a seed gives one answer
    methods       candidates; None: by the types of x and y
    generator     None is a fresh one with seed 0

    Series without groups are refused (`estimators.serial`). ValueError: as of `estimate`; fewer than 200 rows; seconds
    below 10; no methods, or one that takes other types.
    """
    began, generator = time.monotonic(), generator_or_default(generator)
    say = progress or (lambda text: None)
    if not seconds >= LEAST_SECONDS:
        raise OutOfRange(f"seconds must be at least {LEAST_SECONDS}, got {seconds!r}.")
    diagnosis = diagnose(x, y, groups)
    whole = diagnosis.pairs
    if whole.n < FEWEST:
        raise TooFew(f"x and y must have at least {FEWEST} rows to be advised about, got {whole.n}.")
    chosen = _candidates(whole, methods, seconds)
    first, most = _planned(whole, seconds, chosen)
    pairs = _some(whole, most, generator)
    notes = list(whole.notes)
    if pairs.n < whole.n:
        notes.append(f"seconds = {seconds:g} allow twins of {pairs.n:,} of {whole.n:,} rows: the answer is of these.")
    asked, profile = observed(pairs)
    wider = _of_groups(pairs)
    say("estimates of the data")
    candidates = tuple(Candidate(one.name, one, _answer(one, pairs, generator)) for one in chosen)
    # Twins of a series have no memory, so that nothing follows from them.
    left = _screened(pairs, first, wider, generator, say) if diagnosis.serial is None else set()
    made = {one.name: one for one in families(pairs, generator) if left is None or one.name in left}
    tried = []
    for family in made.values():
        say(f"twins: {family.name}")
        if drawn := _first(family, asked, generator):
            tried.append(Tried(family.name, *drawn, inversion.fitted(*drawn, profile, wider), pairs.n))
    more, judges = _shared_out(pairs, seconds, chosen, sum(one.fit.near(_KEPT) for one in tried))
    for place, one in enumerate(tried):
        if one.fit.near(_KEPT):
            say(f"more twins: {one.name}")
            tried[place] = _finer(one, made[one.name], asked, profile, wider, more, generator)
    tried = _counted(tried)
    for place, one in enumerate(tried):
        if one.counts:
            say(f"estimators on twins: {one.name}")
            tried[place] = _judged(one, made[one.name], pairs, candidates, judges, generator)
    said = np.array([one.estimate.value for one in candidates])
    tried = [replace(one, counts=not one.surprised(said)) if one.counts else one for one in tried]
    say("certified lower limit")
    certified = _answer(Certified(steps=_CERTIFYING), pairs, generator)
    verdict, estimate, reasons = _concluded(tried, pairs, certified, diagnosis.serial)
    return Advice(
        verdict, estimate, reasons, tuple(notes), candidates, tuple(tried), tuple(asked.asked),
        profile, certified, time.monotonic() - began,
    )  # fmt: skip


def _candidates(pairs: Pairs, methods: Sequence[Method | str] | None, seconds: float) -> list[Method]:
    if methods is not None:
        if not len(methods):
            raise UnknownName("methods must name an estimator at least, got none.")
        chosen = [as_method(one) for one in methods]
        for one in chosen:
            if isinstance(one, Described):
                one.require(pairs)
        return chosen
    kinds = pairs.x.kind, pairs.y.kind
    if kinds == ("discrete", "discrete"):
        return [as_method(name) for name in _CATEGORIES]
    names = _MIXED if "mixed" in kinds else _LABELLED if "discrete" in kinds else _NUMBERS
    names = [name for name in names if name != "reduced-ksg" or max(pairs.x.dim, pairs.y.dim) > 1]
    longest = _SHARE_OF_ONE * seconds / (_EXPECTED * _JUDGED[1])  # of one estimate
    quick = [name for name in (*names, *_PATIENT) if name not in _SECONDS or _seconds_of(name, pairs) <= longest]
    found = [as_method(name) for name in quick]
    return [*found, Trees()] if "discrete" in kinds else found


def _seconds_of(name: str, pairs: Pairs) -> float:
    """About what one estimate takes on one thread."""
    growth = pairs.n / 1000 * (1 + (pairs.x.dim + pairs.y.dim) / 50)
    return _SECONDS.get(name, 0.05) * (growth if name not in _PATIENT else 1.0)


def _seconds_of_profile(n: int, pairs: Pairs) -> float:
    """About what all statistics of n rows take on one thread."""
    dim = sum(min(side.dim, _WIDE) for side in (pairs.x, pairs.y))  # beyond it components are measured
    return 0.02 + 1e-9 * n**2 * dim + 3e-6 * n * dim


def _planned(pairs: Pairs, seconds: float, chosen: Sequence[Method]) -> tuple[int, int]:
    """Rows on which all families are tried first, and those on which some are tried again, within the time."""
    first, most = min(pairs.n, _SCREENED), pairs.n
    judging = _JUDGED[1] * sum(_seconds_of(one.name, pairs) for one in chosen)
    while (
        most > first
        and _EXPECTED * (_FINER * _MORE[0] * _seconds_of_profile(most, pairs) + judging * most / pairs.n)
        > (1 - _SHARE) * seconds
    ):
        most = max(first, round(0.7 * most))
    return first, first if most < 1.5 * first else most


def _shared_out(pairs: Pairs, seconds: float, chosen: Sequence[Method], near: int) -> tuple[int, int]:
    """How many more twins of a level, and how many to judge candidates on, each of so many families has."""
    left = (1 - _SHARE) * seconds / max(near, 1)
    judging = sum(_seconds_of(one.name, pairs) for one in chosen)
    judges = int(np.clip(left / 2 / judging, *_JUDGED))
    more = (left - judges * judging) / (_FINER * _seconds_of_profile(pairs.n, pairs))
    return int(np.clip(more, *_MORE)), judges


def _some(pairs: Pairs, count: int, generator: np.random.Generator) -> Pairs:
    """About so many rows of the data, whole groups of them."""
    if count >= pairs.n:
        return pairs
    order = generator.permutation(int(pairs.units.max()) + 1)
    sizes = np.bincount(pairs.units)[order]
    taken = order[: max(1, int(np.searchsorted(np.cumsum(sizes), count, "right")))]
    rows = np.flatnonzero(np.isin(pairs.units, taken))
    groups = None if pairs.groups is None else factorise(pairs.groups[rows])[0]
    return replace(pairs, x=_varying(pairs.x.take(rows)), y=_varying(pairs.y.take(rows)), groups=groups)


def _varying(side: Variable) -> Variable:
    """Without columns that have one value, as may be among fewer rows."""
    kept = np.ptp(side.continuous, axis=0) > 0 if side.dim else np.zeros(0, bool)
    return replace(side, continuous=side.continuous[:, kept])


def _of_groups(pairs: Pairs) -> float:
    """How many times groups widen the standard error of neighbours; at least 1."""
    if pairs.groups is None:
        return 1.0
    method = as_method("ksg")
    kept, alone = (_answer(method, one, np.random.default_rng(0)) for one in (pairs, replace(pairs, groups=None)))
    ratio = kept.standard_error / alone.standard_error
    return max(1.0, ratio) if math.isfinite(ratio) else 1.0


def _answer(method: Method, pairs: Pairs, generator: np.random.Generator) -> Estimate:
    try:
        return method.estimate(pairs, generator)
    except ValueError as error:
        return undefined(str(error), n=pairs.n, method=method.name)


def _screened(pairs: Pairs, first: int, wider: float, generator: np.random.Generator, say: Say) -> set[str] | None:
    """The names of families that may be like the data, from fewer rows; None where there are not many more."""
    if pairs.n <= first:
        return None
    some = _some(pairs, first, generator)
    (asked, profile), found = observed(some), set()
    for family in families(some, generator):
        say(f"twins of {some.n:,} rows: {family.name}")
        tried = _first(family, asked, generator)
        if tried and inversion.fitted(*tried, profile, wider).near(_KEPT):
            found.add(family.name)
    return found


def _first(family: Family, asked: Statistics, generator: np.random.Generator) -> tuple[Floats, Floats] | None:
    levels = inversion.levels_of(family.least, family.reach, _LEVELS, _HIGHEST)
    return _drawn(family, levels, _DRAWS if len(levels) > 1 else _NULLS, asked, generator)


def _drawn(
    family: Family, levels: Iterable[float], count: int, asked: Statistics, generator: np.random.Generator
) -> tuple[Floats, Floats] | None:
    """The levels [t] and profiles [t, statistics] of `count` simulations at each of some levels, without failures."""
    truths, profiles = [], []
    for level in levels:
        for _ in range(count):
            twin = family.draw(float(level), generator)
            try:
                profiles.append(asked.of(twin.pairs))
            except ValueError:
                continue
            truths.append(twin.truth)
    return (np.array(truths), np.array(profiles)) if len(truths) > len(asked.asked) + _FREE else None


def _finer(
    tried: Tried,
    family: Family,
    asked: Statistics,
    profile: Floats,
    wider: float,
    more: int,
    generator: np.random.Generator,
) -> Tried:
    """A family at finer levels, about those that are possible."""
    drawn, fit = (tried.levels, tried.profiles), tried.fit
    for _ in range(_ROUNDS):
        if not fit.near(_KEPT) or family.reach - family.least < 1e-6:
            break
        levels = inversion.around(fit, family.least, family.reach, _FINER)
        finer = _drawn(family, levels, more, asked, generator)
        if finer is None:
            break
        kept = (drawn[0] >= levels[0] - 1e-9) & (drawn[0] <= levels[-1] + 1e-9)
        drawn = tuple(np.concatenate([old[kept], new]) for old, new in zip(drawn, finer))
        fit = inversion.fitted(*drawn, profile, wider)
        possible, ends = fit.possible(), (fit.levels[0], fit.levels[-1])
        runs_on = possible[0] == ends[0] > family.least + 1e-3, possible[-1] == ends[1] < family.reach - 1e-3
        if not any(runs_on):
            break
    return replace(tried, levels=drawn[0], profiles=drawn[1], fit=fit)


def _counted(tried: Sequence[Tried]) -> list[Tried]:
    """Families in order; those like the data and not much farther than the nearest are included."""
    like = [one.fit.distance for one in tried if one.fit.like]
    found = []
    for one in tried:
        possible = one.fit.possible(min(like)) if one.fit.like else ()
        ends = (float(possible[0]), float(possible[-1])) if len(possible) else one.possible
        found.append(replace(one, counts=bool(len(possible)), possible=ends))
    return found


def _judged(
    tried: Tried,
    family: Family,
    pairs: Pairs,
    candidates: Sequence[Candidate],
    judges: int,
    generator: np.random.Generator,
) -> Tried:
    """With what candidates say of twins at the nearest level, and with how well trees tell a twin from the data."""
    twins = [family.draw(tried.fit.best, generator) for _ in range(judges)]
    judged = [[_answer(one.method, twin.pairs, generator).value for one in candidates] for twin in twins]
    return replace(
        tried, judged=np.array(judged), truths=np.array([twin.truth for twin in twins]),
        apart=told_apart(pairs, twins[0], generator),
    )  # fmt: skip


def _last(error: float) -> float:
    """For sorting: no error is the greatest."""
    return math.inf if math.isnan(error) else error


def _said(*nats: float) -> str:
    """Information in words, in either unit."""
    bits = " to ".join(f"{one / NATS_PER_BIT:.3f}" for one in nats)
    return f"{' to '.join(f'{one:.3f}' for one in nats)} nats ({bits} bits)"


def _concluded(
    tried: Sequence[Tried], pairs: Pairs, certified: Estimate, serial: SerialDependence | None
) -> tuple[str, Estimate, tuple[str, ...]]:
    """The verdict, the answer over all families that count, and why there is none."""
    counted, n = [one for one in tried if one.counts], pairs.n
    none = undefined("refused", n=n, method="twins")
    if serial is not None:
        return REFUSED, none, (f"{serial}.",)
    if not tried:
        return REFUSED, none, (
            "no twin could be asked what the data were asked.", "Fewer categories or columns may help.",
        )  # fmt: skip
    if not counted:
        nearest = min(tried, key=lambda one: one.fit.distance / one.fit.limit)
        why = f"T² = {nearest.fit.distance:.0f} where {nearest.fit.limit:.0f} is the limit"
        if nearest.fit.like:
            why = "but an estimator says of the data what it does not say of these twins"
        return REFUSED, none, (
            "no twin of the data behaves as they do, so no estimator can be judged on one; the nearest are "
            f"{nearest.name}, {why}.",
            "Fewer or other columns may help: what carries the dependence, not bent with idle ones.",
        )  # fmt: skip
    low, high = min(one.possible[0] for one in counted), max(one.possible[1] for one in counted)
    spans = f"{_said(low, high)} ({', '.join(one.name for one in counted)})"
    if any(one.name == "null" for one in counted):
        return NOTHING, none, (
            f"these {n:,} rows behave as rows put together at random do. If there is a dependence of a kind that was "
            f"tried, it holds at most {_said(high)}; one that is finer than {n:,} rows resolve would look the same.",
        )  # fmt: skip
    if math.isfinite(certified.low) and certified.low > high:
        return REFUSED, none, (
            f"a critic on unseen rows certifies at least {_said(certified.low)}, and twins that are like the data "
            f"hold {spans}: there is more than twins can show.",
        )  # fmt: skip
    if [one.name for one in counted] == [Mixture.name]:
        return REFUSED, none, (
            f"only twins of a fitted mixture behave as the data do, {spans}; a mixture smooths sharp edges, so there "
            "may be more.",
            "Fewer or other columns may bring in other twins.",
        )  # fmt: skip
    weights = np.exp([-0.5 * (one.fit.distance - min(each.fit.distance for each in counted)) for one in counted])
    value = float(np.average([one.fit.best for one in counted], weights=weights))
    if (high - low) / 2 > max(WIDEST, WIDEST_SHARE * value):
        return REFUSED, none, (
            f"twins that behave as the data do hold {spans}, which is too wide to be of use.",
            "More rows would narrow it, and so would fewer columns.",
        )  # fmt: skip
    return ANSWERED, Estimate(value, math.nan, n=n, method="twins", interval=(low, high)), ()
