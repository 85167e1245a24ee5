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

from infoscope.errors import Conflict, UnknownName
from infoscope.estimators.alignment import aligns, group_codes
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.result import Estimate
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics.disentanglement.dependence import FAMILY, BeyondFactor
from infoscope.metrics.disentanglement.measuring import (
    Inputs,
    measure_scores,
    streams_of,
    titled,
)
from infoscope.metrics.disentanglement.predictor_based import standardised
from infoscope.metrics.disentanglement.registry import SAYS, SCORES, ScoreSpec
from infoscope.metrics.disentanglement.verdict import (
    HOLDS,
    MISSING,
    SPREAD,
    TOGETHER,
    TRACE,
    Place,
    places_of,
    verdict,
)
from infoscope.metrics.factor_information.arrays import (
    Latents,
    from_arrays,
    mixed_with_subsets,
)
from infoscope.metrics.factor_information.inputs import (
    as_factors,
    categorical_mask,
    parts_of,
    random_items,
)
from infoscope.metrics.factor_information.result import FactorInformation
from infoscope.metrics.report import (
    Report,
    ReportRow,
    cell,
    draw_map,
    listed,
    percent,
    share,
)
from infoscope.notes import Note

Values = NDArray[np.float64]

if TYPE_CHECKING:
    from infoscope.metrics.factor_information import exact

ALL = "all columns"
SHARE = "share of H"  # of a factor, in a column
ATTACKED = (
    "unibound",
    "mig",
    "dci_disentanglement",
    "dci_completeness",
    "sap_thresholds",
    "sap",
)
NO_LIMIT = Note(
    "No dependence is detected; there is no known upper limit on the information in "
    "all columns together.",
    "no limit",
)
MAIN = "unibound"
HEADLINES = (
    MAIN,
    "shared/unique_low",
    "shared/unique_high",
    "shared/redundant_low",
    "shared/redundant_high",
    "shared/synergistic_low",
    "shared/synergistic_high",
    "mig",
    "dci_disentanglement",
    "dci_completeness",
    "dci_informativeness",
)


@dataclass(frozen=True, eq=False, repr=False)
class DisentanglementReport(Report):
    """Where each factor is among the columns of a representation, and its scores.

    information  of columns about factors
    scores       by title of a score, its row
    places       one for each factor; none where factors have no entropy
    attacked     scores after attacks; may be empty
    read         how each factor was read: as 3 categories, as numbers in 10 parts
    limits       by factor, the most that each column could hold [L], nats; of factors that are found in no column
    pairs        whether pairs of columns were searched for these
    """

    information: FactorInformation
    scores: Sequence[ReportRow]
    places: Sequence[Place]
    n: int
    groups: int = 0
    attacked: Sequence[ReportRow] = ()
    read: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, Values] = field(default_factory=dict)
    pairs: bool = False

    @property
    def answers(self) -> list[str]:
        """The verdict in a sentence, what qualifies it, and what "holds" means."""
        if not self.places:
            return [
                "No verdict: it needs factors that are categories, as shares are of "
                "the entropy of a factor."
            ]
        sentences = [verdict(self.places), *self._through()]
        weak = [place.factor for place in self.places if place.kind in (MISSING, TRACE)]
        if weak:
            sentences.append(self._undetected(weak))
        return [
            *sentences,
            *self._empty(),
            *self._main(),
            *self._attacks(),
            self._rule(),
        ]

    def _through(self) -> list[str]:
        """Columns that inform about a factor only because it depends on another."""
        sentences = []
        for place in self.places:
            for column, other in place.through.items():
                about = f"{place.factor} ({percent(place.shares[column])})"
                sentences.append(
                    f"{column} informs about {about} only because {other} does."
                )
        return sentences

    def _main(self) -> list[str]:
        """The score to quote, and why this one."""
        sentences = []
        for row in self.scores:
            if row.what == SCORES[MAIN].title and math.isfinite(row.estimate.value):
                sentences.append(
                    f"Main score: {row.what}, {cell(row.estimate)}: the bits in one "
                    "column and in no other; "
                    "copies and mixtures lower it, and 1 is perfect."
                )
        return sentences

    def _undetected(self, weak: Sequence[str]) -> str:
        """Where factors of which little is found were looked for, and what a column
        could hold all the same.
        """
        searched = "single columns and all columns together were looked at, not pairs"
        if self.pairs:
            searched = "single columns, pairs and all columns together were looked at"
        amount = "nothing" if len(weak) == len(self.limits) else "next to nothing"
        sentence = f"Predictors find {amount} about {listed(weak)}: {searched}."
        limits = []
        for place, entropy in zip(self.places, self.information.entropy):
            if place.factor in self.limits:
                nats = min(self.limits[place.factor].max(), entropy)
                bits = (
                    f"{nats / NATS_PER_BIT:.2f} of the {entropy / NATS_PER_BIT:.2f} "
                    "bits"
                )
                limits.append(f"{bits} of {place.factor}")
        if not limits:
            return sentence
        return (
            f"{sentence} A column alone could still hold at most {listed(limits)} (95 "
            "%)."
        )

    def _empty(self) -> list[str]:
        """Columns that no factor needs."""
        used = set()
        for place in self.places:
            used.update(place.columns, place.through)
            if not place.columns and place.kind != MISSING:
                return []
        empty = [name for name in self.information.latents if name not in used]
        if not empty or not used:
            return []
        return [f"{listed(empty)} {'holds' if len(empty) == 1 else 'hold'} no factor."]

    def _attacks(self) -> list[str]:
        """How each score changes under each attack."""
        before = {row.what: row.estimate for row in self.scores}
        sentences = []
        for attack in dict.fromkeys(row.of["attack"] for row in self.attacked):
            rows = [row for row in self.attacked if row.of["attack"] == attack]
            changes = [
                f"{row.what} from {before[row.what]:z.2f} to {row.estimate:z.2f}"
                for row in rows
            ]
            sentences.append(f"After an attack by {attack}: {', '.join(changes)}.")
        return sentences

    def _rule(self) -> str:
        return (
            "Rule: a column holds a factor if it alone carries more than "
            f"{100 * HOLDS:.0f} % of the factor's bits, at "
            f"95 % confidence for all {self.information.alone.size} pairs at once (n "
            f"= {self._used}). Percentages are "
            "such shares, by predictions of held-out rows."
        )

    @property
    def _used(self) -> str:
        """The rows that shares are computed on."""
        n = self.information.n
        return f"{n:,} of {self.size}" if n and n < self.n else self.size

    @cached_property
    def shares(self) -> list[ReportRow]:
        """The share of each factor's bits in each column and in all of them."""
        rows = []
        for place in self.places:
            columns = [*place.shares.items(), (ALL, place.joint)]
            for column, (name, share_of_entropy) in enumerate(columns):
                estimate = replace(share_of_entropy, unit=f"share of H({place.factor})")
                if place.factor in self.limits:
                    estimate = self._limited(estimate, place.factor, column)
                rows.append(
                    ReportRow(SHARE, estimate, {"factor": place.factor, "column": name})
                )
        return rows

    def _limited(self, share: Estimate, factor: str, column: int) -> Estimate:
        """A share of a factor that is found in no column: up to its limit; unknown for
        all columns together.
        """
        if column == len(self.information.latents):
            return replace(share, standard_error=math.nan, notes=(NO_LIMIT,))
        entropy = self.information.entropy[self.information.factors.index(factor)]
        limit = min(1.0, float(self.limits[factor][column]) / float(entropy))
        return replace(share, interval=(min(share.low, 0.0), max(share.high, limit)))

    @property
    def record(self) -> list[ReportRow]:
        """Every score, then every share."""
        return [*self.scores, *self.attacked, *self.shares]

    @property
    def text(self) -> pd.DataFrame:
        """Every factor: how it was read, where it is, and its share there; without
        places the scores.
        """
        lines = []
        for place, entropy in zip(self.places, self.information.entropy):
            columns = [f"{name} {share(place.shares[name])}" for name in place.columns]
            line = {
                "factor": place.factor,
                "read": self.read[place.factor],
                "bits": f"{entropy / NATS_PER_BIT:.2f}",
                "found": place.kind,
                "share of its bits in each column": "; ".join(columns) or "none",
                "in all columns": "none found"
                if place.factor in self.limits
                else share(place.joint),
            }
            lines.append(line)
        return pd.DataFrame(lines) if lines else self._score_table

    @property
    def further(self) -> dict[str, pd.DataFrame]:
        """The scores, where `text` has the factors."""
        return {"Scores": self._score_table} if self.places else {}

    @property
    def _score_table(self) -> pd.DataFrame:
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
            "Where each factor is. Scores have 95 % intervals; unique, redundant and "
            "synergistic: of the best column "
            "of each factor against all others, mean over factors."
        )

    @property
    def doubts(self) -> list[str]:
        notes = {
            getattr(note, "code", note): note
            for row in self.scores
            for note in row.estimate.notes
        }
        return [
            "Held-out predictions are a lower bound on the information: a column or "
            "several together may carry more "
            "than these predictors find.",
            "Intervals are over rows (or groups of rows), for these columns; other "
            "trainings are not included.",
            *(note.replace("H(y)", "H(factor)") for note in notes.values()),
        ]

    def plot(self, ax: Any = None) -> Any:
        """Draws column x factor: the share of H(factor), with its 95 % interval; the
        matplotlib axes.
        """
        if not self.places:
            return self.information.plot(ax)
        cells = {
            (row.of["column"], row.of["factor"]): row.estimate for row in self.shares
        }
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
    """Where each factor is, in a sentence with the bits behind it; and scores with 95 %
    intervals.

    Parameters
    ----------
    representation
        A posterior, an array [N, L] or a data frame, whose columns have names. Of a
        posterior, "uni-bound" takes draws; "disentanglement-lib", the discretised MIG,
        SAP and DCI take means, which omit noise.
    factors
        [N, K], K >= 2, as `inputs.as_factors` takes them; numbers are cut into ten
        parts, but for SAP and DCI ("knn": they have bits and no shares).
    measured
        The information, if known; None: `exact.measure` with `draws`, or `from_arrays`
        by `method`.
    items
        Random items that are used of an array; None: all.
    categorical
        Indices of an array's latents that are categories.
    progress
        Called with the share done and what was done last.
    groups
        [N], labels of dependent rows of an array.
    scores
        Keys of SCORES to compute; None: all but the slow ones, which are `extra`.
    factor_names
        Default: those of a data frame.
    attack
        Strength of both entanglement attacks on an array, after which scores are
        computed again; 0: none.

    Returns
    -------
    DisentanglementReport
        A score that cannot be computed is NaN, with a note.

    Raises
    ------
    InfoscopeError
        Shapes that do not fit, values that are not finite, a factor of one value, fewer
        than two factors, unknown names.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> size, shape = rng.integers(0, 3, (2, 120))
    >>> z = pd.DataFrame({"a": size + 0.1 * rng.normal(size=120), "b": shape + 0.1 * rng.normal(size=120)})
    >>> report(z, pd.DataFrame({"size": size, "shape": shape}), scores=["unibound"]).answers[0]
    'Each factor is in one column of its own: size wholly in a (100 %) and shape wholly in b (100 %).'
    """
    specs = _specs(scores)
    generator = generator_or_default(generator)
    latent_names = None
    if isinstance(representation, pd.DataFrame):
        latent_names = [str(name) for name in representation]
    is_posterior = hasattr(representation, "draw")
    if attack and is_posterior:
        raise Conflict(
            f"attack must be 0 for a posterior, got {attack}: give the means or draws "
            "as an array."
        )
    measure = from_arrays
    if method == "classifier" and not is_posterior:
        measure = _of_classes
    inputs = Inputs(
        representation=representation,
        factors=factors,
        draws=draws,
        stream=streams_of(generator),
        items=items,
        categorical=categorical,
        measured=measured,
        factor_names=as_factors(factors, factor_names, least=2, numbers=True).names,
        from_arrays=partial(
            measure,
            method=method,
            groups=groups,
            latent_names=latent_names,
            family=FAMILY,
        ),
    )
    return _measured(
        inputs, specs, groups, attack, progress if callable(progress) else None
    )


def _measured(
    inputs: Inputs,
    specs: Sequence[ScoreSpec],
    groups: ArrayLike | None,
    attack: float,
    progress: Callable[[float, str], None] | None,
) -> DisentanglementReport:
    """The report of these inputs."""
    rows = []
    for key, score in measure_scores(inputs, specs, progress).items():
        title = titled(SCORES[key], inputs)
        rows.append(ReportRow(title, score, {}, _says(key, score)))
    places, limits, pairs = _places(inputs, groups)
    n = len(inputs.codes)
    return DisentanglementReport(
        information=inputs.information,
        scores=rows,
        places=places,
        n=n,
        groups=n if groups is None else len(np.unique(groups)),
        attacked=_attacked(inputs, specs, attack) if attack else [],
        read=_read(inputs),
        limits=limits,
        pairs=pairs,
    )


def _places(
    inputs: Inputs, groups: ArrayLike | None
) -> tuple[list[Place], dict[str, Values], bool]:
    """The place of each factor, limits of those found nowhere, whether pairs of columns
    were searched.
    """
    information = inputs.information
    if not (information.entropy > 0).all():
        return [], {}, False
    beyond = _beyond(inputs, groups)
    places = []
    limits = {}
    for k, single in enumerate(places_of(information, beyond)):
        place = _in_pairs(single, k, beyond, information)
        places.append(place)
        if place.kind == MISSING:
            limits[place.factor] = beyond.limits[k]
    return places, limits, beyond.searches_pairs


def _read(inputs: Inputs) -> dict[str, str]:
    """How each factor was read: as 3 categories; as numbers in 10 parts, where these
    have an entropy.
    """
    has_entropy = inputs.information.entropy > 0
    factors = as_factors(inputs.factors, inputs.factor_names, numbers=True)
    read = {}
    for k, (name, number) in enumerate(zip(factors.names, factors.numbers)):
        values = parts_of(factors.values[:, [k]]) if number else factors.codes[:, k]
        count = values.max() + 1
        read[name] = f"as {count} categories"
        if number:
            read[name] = (
                f"as numbers in {count} parts" if has_entropy[k] else "as numbers"
            )
    return read


def _says(key: str, score: Estimate) -> str:
    """What a score says in a few words, and what a perfect code has if that is not 1."""
    meaning = SAYS.get(key, "")
    perfect = getattr(score, "perfect", np.nan)
    if np.isfinite(perfect):
        meaning += f"; a perfect code: {perfect:.2f}"
    return meaning


def _specs(scores: Collection[str] | None) -> list[ScoreSpec]:
    """The scores to compute. UnknownName for a key that is none."""
    if scores is None:
        return [spec for spec in SCORES.values() if not spec.extra]
    if not set(scores) <= set(SCORES):
        raise UnknownName(
            f"scores must be some of {', '.join(SCORES)}, got {list(scores)}."
        )
    return [SCORES[key] for key in scores]


def _of_classes(
    codes: Values, factors: Any, factor_names: Sequence[str], **settings: Any
) -> Any:
    """`from_arrays` of factors whose numbers are cut into parts, more latents with no
    less information.
    """
    classes = as_factors(factors, factor_names, numbers=True).as_classes.codes
    information = from_arrays(codes, classes, factor_names=factor_names, **settings)
    return mixed_with_subsets(information, settings["generator"])


def _beyond(inputs: Inputs, groups: ArrayLike | None) -> BeyondFactor:
    """Whether a column informs about a factor beyond another; of a posterior's typical
    codes.
    """
    factors = as_factors(inputs.factors, inputs.factor_names, numbers=True)
    rows = np.sort(random_items(factors.n, inputs.items, inputs.stream("dependence")))
    categories = categorical_mask(inputs.categorical, inputs.codes.shape[1])
    clusters = None
    if groups is not None:
        clusters = group_codes(factors.n, groups)[1][rows]
    latents = Latents(inputs.codes[rows], categories)
    return BeyondFactor(latents, factors.as_classes.take(rows), clusters, HOLDS)


def _in_pairs(
    place: Place, k: int, beyond: BeyondFactor, information: FactorInformation
) -> Place:
    """The same place, or the two columns that together hold more of a factor than is
    found in all columns.
    """
    in_no_column = (
        place.kind in (MISSING, TRACE) or place.kind == SPREAD and not place.columns
    )
    pair_and_share = beyond.pair_of(k) if in_no_column else None
    if pair_and_share is None:
        return place
    pair, joint = pair_and_share
    if joint.low <= place.joint.high:
        return place
    columns = tuple(information.latents[column] for column in pair)
    return replace(place, kind=TOGETHER, columns=columns, joint=joint)


def _attacked(
    inputs: Inputs, specs: Sequence[ScoreSpec], strength: float
) -> list[ReportRow]:
    """Scores after each entanglement attack on the standardised columns, by the method
    and the groups of the report.
    """
    # with torch, which takes seconds
    from infoscope.metrics.factor_information import attacks

    generator = inputs.stream("attacks")
    codes = standardised(inputs.codes)
    specs = [spec for spec in specs if spec.key in ATTACKED]
    rows = []
    kinds = {
        "redundancy": attacks.redundancy_attack,
        "synergy": attacks.synergy_attack,
    }
    for name, attack in kinds.items():
        attacked = Inputs(
            representation=attack(codes, strength, generator),
            factors=inputs.factors,
            items=inputs.items,
            stream=streams_of(generator),
            factor_names=inputs.factor_names,
            from_arrays=partial(inputs.from_arrays, latent_names=None),
        )
        for key, score in measure_scores(attacked, specs).items():
            title = titled(SCORES[key], attacked)
            rows.append(ReportRow(title, score, {"attack": name}))
    return rows
