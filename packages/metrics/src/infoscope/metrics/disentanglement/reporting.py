"""The report of disentanglement: where each factor is, and every score."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from infoscope.errors import UnknownName
from infoscope.estimators.alignment import aligns
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.result import Estimate
from infoscope.estimators.uncertainty.subsampling import group_codes
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics.disentanglement.dependence import FAMILY, BeyondFactor
from infoscope.metrics.disentanglement.measuring import Inputs, measure_scores, streams_of, titled
from infoscope.metrics.disentanglement.predictor_based import standardised
from infoscope.metrics.disentanglement.registry import SAYS, SCORES, ScoreSpec
from infoscope.metrics.disentanglement.verdict import HOLDS, MISSING, SPREAD, TOGETHER, TRACE, Place, places_of, verdict
from infoscope.metrics.factor_information.arrays import Latents, from_arrays, mixed_with_subsets
from infoscope.metrics.factor_information.inputs import as_factors, categorical_mask, random_items
from infoscope.metrics.factor_information.result import FactorInformation
from infoscope.metrics.report import Report, ReportRow, draw_map, listed, share
from infoscope.notes import Note

if TYPE_CHECKING:
    from infoscope.metrics.factor_information import exact

ALL = "all columns"
SHARE = "share of H"  # of a factor, in a column
ATTACKED = ("unibound", "mig", "dci_disentanglement", "dci_completeness", "sap_thresholds", "sap")
NO_LIMIT = Note("Nothing is found; what all columns together could hold has no known upper limit.", "no limit")
NEARLY_ALL = 0.9  # share of a factor's bits that needs no remark
HEADLINES = (
    "unibound", "shared/unique_low", "shared/unique_high", "shared/redundant_low", "shared/redundant_high",
    "shared/synergistic_low", "shared/synergistic_high", "mig", "dci_disentanglement", "dci_completeness",
    "dci_informativeness",
)  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class DisentanglementReport(Report):
    """Where each factor is among the columns of a representation, and its scores.

    information  of columns about factors; numbers cut into parts if `parts`
    scores       by title of a score, its row
    places       one for each factor; none where factors have no entropy
    attacked     scores after attacks; may be empty
    parts        factors of numbers that were cut into parts
    limits       by factor, the most that each column could hold [L], nats; of factors that are found in no column
    pairs        whether pairs of columns were searched for these
    """

    information: FactorInformation
    scores: Sequence[ReportRow]
    places: Sequence[Place]
    n: int
    groups: int = 0
    attacked: Sequence[ReportRow] = ()
    parts: Sequence[str] = ()
    limits: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    pairs: bool = False

    @property
    def answers(self) -> list[str]:
        """The verdict in a sentence, what qualifies it, and what "holds" means."""
        if not self.places:
            return ["No verdict: factors of numbers have no entropy, of which columns could hold a share."]
        through = [
            f"{column} informs about {place.factor} only as far as {other} does."
            for place in self.places
            for column, other in place.through.items()
        ]
        return [verdict(self.places), *through, *self._amounts(), *self._empty(), *self._attacks(), self._rule()]

    def _amounts(self) -> list[str]:
        """How much of the factors the columns carry."""
        missing = [place.factor for place in self.places if place.kind == MISSING]
        weak = [place.factor for place in self.places if place.kind in (MISSING, TRACE)]
        there = [place for place in self.places if place.kind != MISSING]
        less = [place for place in there if place.share.value < NEARLY_ALL]
        lines = [self._undetected(weak)] if weak else []
        if less:
            parts = [share(place.share, f"the bits of {place.factor}") for place in less]
            rest = f", and more than {100 * NEARLY_ALL:.0f} % of each other factor" * (len(less) < len(there))
            lines.append(f"Together the columns carry {listed(parts)}{rest}.")
        elif there:
            least = min(99, math.floor(100 * min(place.share.low for place in there)))
            which = "each other factor" if missing else "each factor"
            lines.append(f"Together the columns carry at least {least} % of the bits of {which} (95 %).")
        return lines

    def _undetected(self, weak: Sequence[str]) -> str:
        """Where factors of which little is found were looked for, and what a column could hold all the same."""
        looked = "single columns and all columns together were looked at, not pairs"
        if self.pairs:
            looked = "single columns, pairs and all columns together were looked at"
        found = "nothing" if len(weak) == len(self.limits) else "next to nothing"
        sentence = f"Predictors find {found} about {listed(weak)}: {looked}."
        most = []
        for place, entropy in zip(self.places, self.information.entropy):
            if place.factor in self.limits:
                bits = min(self.limits[place.factor].max(), entropy) / NATS_PER_BIT
                most.append(f"{bits:.2f} of the {entropy / NATS_PER_BIT:.2f} bits of {place.factor}")
        return f"{sentence} A column alone could still hold at most {listed(most)} (95 %)." if most else sentence

    def _empty(self) -> list[str]:
        """Columns that no factor needs."""
        used = {column for place in self.places for column in (*place.columns, *place.through)}
        empty = [name for name in self.information.latents if name not in used]
        if not empty or len(used) == 0 or any(not place.columns and place.kind != MISSING for place in self.places):
            return []
        return [f"{listed(empty)} {'holds' if len(empty) == 1 else 'hold'} no factor."]

    def _attacks(self) -> list[str]:
        """How each score changes under each attack."""
        before = {row.what: row.estimate for row in self.scores}
        sentences = []
        for attack in dict.fromkeys(row.of["attack"] for row in self.attacked):
            rows = [row for row in self.attacked if row.of["attack"] == attack]
            changes = [f"{row.what} from {before[row.what]:z.2f} to {row.estimate:z.2f}" for row in rows]
            sentences.append(f"After an attack by {attack}: {', '.join(changes)}.")
        return sentences

    def _rule(self) -> str:
        pairs = self.information.alone.size
        cut = f" {listed(self.parts)}: numbers, cut into at most 10 parts of about equal size." if self.parts else ""
        return (
            f"Rule: a column holds a factor if it alone carries more than {100 * HOLDS:.0f} % of the factor's bits on "
            f"held-out rows, at 95 % confidence for all {pairs} pairs at once (n = {self.size}).{cut}"
        )

    @cached_property
    def shares(self) -> list[ReportRow]:
        """The share of each factor's bits in each column and in all of them."""
        if not self.places:
            return []
        values, deviations = self.information.shares()
        errors = np.sqrt((deviations**2).sum(axis=0))
        count, rows = len(self.information.latents), []
        for k, factor in enumerate(self.information.factors):
            for name, place in (*zip(self.information.latents, range(count)), (ALL, 2 * count)):
                one = Estimate(float(values[k, place]), float(errors[k, place]), f"share of H({factor})", self.n,
                               self.information.method)  # fmt: skip
                if factor in self.limits:
                    one = self._limited(one, factor, place)
                rows.append(ReportRow(SHARE, one, {"factor": factor, "column": name}))
        return rows

    def _limited(self, share: Estimate, factor: str, place: int) -> Estimate:
        """A share of a factor that is found in no column: up to its limit; unknown for all columns together."""
        if place >= len(self.information.latents):
            return replace(share, standard_error=math.nan, notes=(NO_LIMIT,))
        entropy = self.information.entropy[self.information.factors.index(factor)]
        most = min(1.0, float(self.limits[factor][place]) / float(entropy))
        return replace(share, interval=(min(share.low, 0.0), max(share.high, most)))

    @property
    def record(self) -> list[ReportRow]:
        """Every score, then every share."""
        return [*self.scores, *self.attacked, *self.shares]

    @property
    def text(self) -> pd.DataFrame:
        """The scores, each with what it says in a few words."""
        lines = []
        for row in (*self.scores, *self.attacked):
            after = f", after {row.of['attack']}" if row.of else ""
            line = replace(row, what=f"{row.what}{after}", of={}).cells()
            line["unit"] = line["unit"].replace("H(y)", "H(factor), mean over factors")
            lines.append(line | {"n": f"{row.estimate.n:,}"})
        return pd.DataFrame(lines).rename(columns={"what": "score"})

    @property
    def caption(self) -> str:
        return (
            "Scores of disentanglement with 95 % intervals; unique, redundant and synergistic: of the best column of "
            "each factor against all others, mean over factors."
        )

    @property
    def more(self) -> Mapping[str, pd.DataFrame | list[str]]:
        """Every factor with its place and its best column."""
        lines = [
            {"factor": place.factor, "place": place.kind, "columns": listed(place.columns),
             "share of H(factor)": "none found" if place.factor in self.limits else share(place.share),
             "H (bits)": f"{entropy / NATS_PER_BIT:.2f}"}
            for place, entropy in zip(self.places, self.information.entropy)
        ]  # fmt: skip
        return {"Factors": pd.DataFrame(lines)}

    @property
    def doubts(self) -> list[str]:
        notes = dict.fromkeys(note for row in self.scores for note in row.estimate.notes)
        return [
            "Held-out predictions are a lower bound on the information: a column or several together may carry more "
            "than these predictors find.",
            "Intervals are over rows (or groups of rows), for these columns; other trainings are not included.",
            *notes,
        ]

    def plot(self, ax: Any = None) -> Any:
        """Draws column x factor: the share of H(factor), with its 95 % interval; the matplotlib axes."""
        if not self.places:
            return self.information.plot(ax)
        cells = {(row.of["column"], row.of["factor"]): row.estimate for row in self.shares}
        return draw_map(ax, cells, "share of H(factor), 95 % interval")


@aligns("representation", "factors", "groups")
def report(
    representation: Any,
    factors: ArrayLike,
    measured: exact.Measured | FactorInformation | None = None,
    method: str = "classifier",
    draws: int = 10_000,
    items: int | None = 10_000,
    categorical: Sequence[int] = (),
    generator: np.random.Generator | None = None,
    progress: Callable[[float, str], None] | bool = False,
    *,
    groups: ArrayLike | None = None,
    scores: Collection[str] | None = None,
    factor_names: Sequence[str] | None = None,
    attack: float = 0.0,
) -> DisentanglementReport:
    """Where each factor is, in a sentence with the bits behind it; and scores with 95 % intervals.

    representation  a posterior, an array [N, L] or a data frame, whose columns have names. Of a posterior, "uni-bound"
                    takes draws; "disentanglement-lib", the discretised MIG, SAP and DCI take means, which omit noise
    factors         [N, K], K >= 2, as `inputs.as_factors` takes them; numbers are cut into ten parts, but for SAP and
                    DCI ("knn": they have bits and no shares)
    measured        the information, if known; None: `exact.measure` with `draws`, or `from_arrays` by `method`
    items           random items that are used of an array; None: all
    categorical     numbers of an array's latents that are categories
    progress        called with the share done and what was done last
    groups          [N], dependent rows of an array
    factor_names    default: those of a data frame
    scores          keys of SCORES to compute; None: all but the slow ones, which are `extra`
    attack          strength of both entanglement attacks on an array, after which scores are computed again; 0: none

    A score that cannot be computed is nan, with a note. InfoscopeError: shapes that do not fit, values that are not
    finite, a factor of one value, fewer than two factors, unknown names.

    >>> rng = np.random.default_rng(0)
    >>> size, shape = rng.integers(0, 3, (2, 120))
    >>> z = pd.DataFrame({"a": size + 0.1 * rng.normal(size=120), "b": shape + 0.1 * rng.normal(size=120)})
    >>> report(z, pd.DataFrame({"size": size, "shape": shape}), scores=["unibound"]).answers[0]
    'Each factor is in one column of its own: size in a and shape in b.'
    """
    specs = _specs(scores)
    generator = generator_or_default(generator)
    tell = progress if callable(progress) else None
    known = as_factors(factors, factor_names, least=2, numbers=True)
    latent_names = list(map(str, representation)) if isinstance(representation, pd.DataFrame) else None
    settings = {"method": method, "groups": groups, "latent_names": latent_names, "family": FAMILY}
    cut = method == "classifier" and not hasattr(representation, "draw")
    inputs = Inputs(
        representation=representation, factors=factors, draws=draws, stream=streams_of(generator), items=items,
        categorical=categorical, factor_names=known.names, measured=measured,
        from_arrays=partial(_of_classes if cut else from_arrays, **settings),
    )  # fmt: skip
    found = measure_scores(inputs, specs, tell)
    rows = [ReportRow(titled(SCORES[key], inputs), one, {}, _says(key, one)) for key, one in found.items()]
    information = inputs.information
    places, limits, pairs = [], {}, False
    if (information.entropy > 0).all():
        beyond = _beyond(inputs, groups)
        places = [_in_pairs(place, k, beyond, information) for k, place in enumerate(places_of(information, beyond))]
        limits = {place.factor: beyond.limits[k] for k, place in enumerate(places) if place.kind == MISSING}
        pairs = beyond.searches_pairs
    attacked = _attacked(inputs, specs, attack) if attack else []
    numbers = [name for name, number in zip(known.names, known.numbers) if number and cut]
    units = known.n if groups is None else len(np.unique(groups))
    return DisentanglementReport(information, rows, places, known.n, units, attacked, numbers, limits, pairs)


def _says(key: str, score: Estimate) -> str:
    """What a score says in a few words, and what a perfect code has if that is not 1."""
    perfect = getattr(score, "perfect", np.nan)
    return SAYS.get(key, "") + (f"; a perfect code: {perfect:.2f}" if np.isfinite(perfect) else "")


def _specs(scores: Collection[str] | None) -> list[ScoreSpec]:
    """The scores to compute. UnknownName for a key that is none."""
    if scores is None:
        return [spec for spec in SCORES.values() if not spec.extra]
    if not set(scores) <= set(SCORES):
        raise UnknownName(f"scores must be some of {', '.join(SCORES)}, got {list(scores)}.")
    return [SCORES[key] for key in scores]


def _of_classes(codes: NDArray[np.float64], factors: Any, factor_names: Sequence[str], **settings: Any) -> Any:
    """`from_arrays` of factors whose numbers are cut into parts, more latents with no less information."""
    known = as_factors(factors, factor_names, numbers=True)
    found = from_arrays(codes, known.as_classes.codes, factor_names=factor_names, **settings)
    return mixed_with_subsets(found, settings["generator"])


def _beyond(inputs: Inputs, groups: ArrayLike | None) -> BeyondFactor:
    """Whether a column informs about a factor beyond another; of a posterior's typical codes."""
    known = as_factors(inputs.factors, inputs.factor_names, numbers=True)
    rows = np.sort(random_items(known.n, inputs.items, inputs.stream("dependence")))
    categories = categorical_mask(inputs.categorical, inputs.codes.shape[1])
    clusters = None if groups is None else group_codes(known.n, groups)[1][rows]
    latents = Latents(inputs.codes[rows], categories)
    return BeyondFactor(latents, known.as_classes.take(rows), clusters, HOLDS)


def _in_pairs(place: Place, k: int, beyond: BeyondFactor, information: FactorInformation) -> Place:
    """The same place, or the two columns that together hold more of a factor than is found in all columns."""
    nowhere = place.kind in (MISSING, TRACE) or place.kind == SPREAD and not place.columns
    found = beyond.pair_of(k) if nowhere else None
    if found is None or found[1].low <= place.share.high:
        return place
    pair, share = found
    return replace(place, kind=TOGETHER, columns=tuple(information.latents[column] for column in pair), share=share)


def _attacked(inputs: Inputs, specs: Sequence[ScoreSpec], strength: float) -> list[ReportRow]:
    """Scores after each entanglement attack on the standardised columns."""
    from infoscope.metrics.factor_information import attacks  # with torch, which takes seconds

    generator = inputs.stream("attacks")
    codes = standardised(inputs.codes)
    rows = []
    for name, attack in (("redundancy", attacks.redundancy_attack), ("synergy", attacks.synergy_attack)):
        after = Inputs(
            representation=attack(codes, strength, generator), factors=inputs.factors, items=inputs.items,
            stream=streams_of(generator), factor_names=inputs.factor_names, from_arrays=_of_classes,
        )  # fmt: skip
        chosen = [spec for spec in specs if spec.key in ATTACKED]
        for key, one in measure_scores(after, chosen).items():
            rows.append(ReportRow(titled(SCORES[key], after), one, {"attack": name}))
    return rows
