"""Every measure of the house on one representation: what it holds, where, for whom, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from infoscope.checks import require_int
from infoscope.errors import Conflict, InvalidInput, TooFew, UnknownName, WrongLength
from infoscope.estimators.alignment import aligns
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.classifier.inputs import as_blocks, by_first_appearance
from infoscope.estimators.column_types import as_variable
from infoscope.estimators.columns import Continuous, Discrete, as_matrix
from infoscope.estimators.discrete import label_entropy
from infoscope.estimators.families.closed_form import Ridge
from infoscope.estimators.families.logistic import Logistic
from infoscope.estimators.families.protocol import CLASSES, NUMBERS, Family, Outcome
from infoscope.estimators.families.registry import as_family
from infoscope.estimators.families.scikit import GradientBoosting
from infoscope.estimators.families.stacked import Stacked
from infoscope.estimators.guesses import AS_NUMBERS
from infoscope.estimators.pairs import as_pairs
from infoscope.estimators.reading.result import read
from infoscope.estimators.result import Estimate, mean_of, undefined
from infoscope.estimators.variables import Variable
from infoscope.metrics import partition
from infoscope.metrics.disentanglement import SCORES, Inputs, measure_scores
from infoscope.metrics.disentanglement.measuring import streams_of, titled
from infoscope.metrics.factor_information import FactorInformation
from infoscope.metrics.factor_information.inputs import as_factors, parts_of
from infoscope.metrics.factor_information.result import TERMS
from infoscope.metrics.partition.scores import clipped
from infoscope.metrics.partition.terms import BLOCKS, stacked
from infoscope.metrics.pid import BRANCHES, Bounds, crossing_note, either_specific, is_low
from infoscope.metrics.report import COLUMNS, row
from infoscope.metrics.representation.result import ALL, DOMAIN, TARGET, RepresentationReport, Row
from infoscope.metrics.v_information import pvi
from infoscope.metrics.v_information.predictions import Predictions, as_groups, fold_splits
from infoscope.metrics.v_information.pvi import hardest as hardest_of
from infoscope.metrics.v_information.usable import Local, Term, predictions, thinned, with_ignorance

WHOLE = "representation"  # the block of an array without names
CONSTANT = "Constant in all rows: it carries exactly 0."
RICHER = GradientBoosting(rounds=20, leaves=7, learning_rate=0.2, components=32)
_PENALTIES = (1e-4, 1e-2, 1.0, 100.0)  # rows aside say how much of each: many classes need little, many columns much
_LINEAR: Mapping[str, tuple[Family, ...]] = {
    CLASSES: tuple(Logistic(penalty) for penalty in _PENALTIES),
    NUMBERS: tuple(Ridge(penalty) for penalty in _PENALTIES),
}
_NAMES = {
    kind: f"{name}(penalty={', '.join(f'{penalty:g}' for penalty in _PENALTIES)}, mixed)"
    for kind, name in ((CLASSES, "logistic"), (NUMBERS, "ridge"))
}
LINEAR = ", ".join(f"{name} of {kind}" for kind, name in _NAMES.items())  # as pages and captions name it
_READING_ROWS = 2000  # rows that readings, tests and scores are computed on
_MIN_ROWS = 20  # rows of a report
_MAX_SCORED_COLUMNS = 1000  # 2,800 columns of 300 rows take two minutes, all else of the report five seconds
_SCORES = ("mig", "unibound", "informativeness")  # of blocks; their bounds are in the table

Progress = Callable[[float, str], None]


@aligns("representation", "targets", "domain", "groups", "items")
def report(
    representation: Any,
    targets: Mapping[str, Any] | pd.DataFrame | ArrayLike,
    domain: Any = None,
    groups: ArrayLike | None = None,
    items: Sequence[Any] | None = None,
    *,
    blocks: Mapping[str, Sequence[Any]] | None = None,
    label: str | None = None,
    richer: Any = RICHER,
    rows: int = 4000,
    folds: int = 3,
    k: int = 5,
    resamples: int = 60,
    permutations: int = 99,
    hardest: int = 5,
    generator: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> RepresentationReport:
    """Information of each block of a representation about each target, nats: what is there, and what families can use.

    representation  numbers [n, d], or name -> [n, d]; a data frame or array with `blocks`: name -> its columns
    targets         name -> [n] (a data frame's columns; one array is called "y"): floats are numbers, integers,
                    booleans and strings classes; `Continuous` and `Discrete` decide
    domain          classes [n]: information about it is leakage
    groups, items   [n], dependent rows, which share folds and half-samples; names of the rows
    label           the target that z_y is meant for, in z_y, z_d, z_dy, z_x; None: the only one of classes
    richer          the family next to the linear one, as `families.as_family` takes it
    rows            at most, for fits; all are predicted
    k, resamples, permutations  of the partition; folds: of predictions; hardest: items named for each target

    Usable information is held out, of a mixture with the distribution without input (`Stacked`). What is not available
    is nan, with a note. ValueError: inputs that do not fit together or are not finite, fewer than 20 rows, no
    measurable target, an unknown label, a family that predicts neither.
    """
    numbers = as_blocks(named_blocks(representation, blocks))
    if ALL in numbers:
        raise Conflict(f"blocks must not be called {ALL!r}, which is the row of them together: give it another name.")
    n = len(next(iter(numbers.values())))
    if n < _MIN_ROWS:
        raise TooFew(f"representation must have at least {_MIN_ROWS} rows, got {n}.")
    aims = _aims(targets, domain, n)
    codes = as_groups(groups, n)
    names = np.arange(n) if items is None else np.asarray(items)
    if names.shape != (n,):
        raise WrongLength(f"items must be {n} names, one for each row, got shape {list(names.shape)}.")
    for name, value, least in (("rows", rows, 20), ("hardest", hardest, 0), ("permutations", permutations, 0)):
        require_int(name, value, least)
    if label is not None and label not in aims:
        raise UnknownName(f"label must be one of the targets {list(aims)}, got {label!r}.")
    generator, tell = generator_or_default(generator), progress or (lambda share, what: None)
    streams = iter(generator.spawn(len(aims) + 3))
    few = _some_rows(codes, _READING_ROWS, next(streams))
    measure = _Measure(numbers, codes, None if groups is None else codes, few, as_family(richer), rows, folds, k,
                       resamples)  # fmt: skip
    found, pvis, unanswered = [], [], {}
    notes = [note.rstrip(".") for aim in aims.values() for note in aim.variable.notes]
    known: dict[str, dict[frozenset[str], Local]] = {}
    for done, ((name, aim), stream) in enumerate(zip(aims.items(), streams)):
        stage = lambda share, what, done=done: tell(0.9 * (done + share) / len(aims), what)  # noqa: E731
        try:
            some, known[name], said = measure.rows_of(name, aim, stream, stage)
        except ValueError as error:
            unanswered[name] = str(error)
            continue
        found += some
        if hardest and aim.role == TARGET and said is not None:
            table = hardest_of(pvi.table(said, aim.outcome), hardest)
            pvis.append(table.drop(columns=["H_yb", "H_yxb", "fold"]).assign(target=name, item=names[table.index]))
    if not found:
        raise InvalidInput(f"targets must be measurable, got none that is: {_nothing(*next(iter(unanswered.items())))}")
    if rows < n * (folds - 1) / folds:
        notes.append(f"what families learn from more than {rows:,} rows, which were drawn at random (rows=).")
    if len(few) < n:
        notes.append(f"readings, tests and scores are of {len(few):,} rows, drawn at random.")
    scores, why = _scores(numbers, aims, known, codes, next(streams))
    tell(0.95, "disentanglement")
    labels = [name for name, aim in aims.items() if aim.role == TARGET and aim.outcome.classes]
    labels = labels if label is None else [label]
    divided, unsaid = _partition(numbers, aims, labels, few, measure, permutations, next(streams))
    tell(1.0, "partition")
    order = ["target", "item"]
    hard = pd.concat(pvis, ignore_index=True) if pvis else pd.DataFrame(columns=[*order, "pvi_bits"])
    settings = {
        "linear family": LINEAR, "richer family": measure.richer.name, "training rows at most": rows, "folds": folds,
        "neighbours": k,
    }  # fmt: skip
    return RepresentationReport(
        {name: block.shape[1] for name, block in numbers.items()}, n, int(codes.max()) + 1, found,
        hard[[*order, *(column for column in hard if column not in order)]], scores, divided, settings,
        (*(_nothing(name, reason) for name, reason in unanswered.items()), *notes, *why, *unsaid), unanswered,
        labels[0] if len(labels) == 1 else "",
    )  # fmt: skip


def _nothing(name: str, why: str) -> str:
    return f"nothing about {name}: {why}"


@dataclass(frozen=True, eq=False)
class _Aim:
    """A target or the domain: as neighbours and as families take it."""

    variable: Variable
    outcome: Outcome
    role: str

    @property
    def values(self) -> NDArray[np.int64]:
        """Codes [n] of its values, or of the parts that numbers are cut into."""
        return self.outcome.values if self.outcome.classes is not None else parts_of(self.outcome.values)


def named_blocks(representation: Any, blocks: Mapping[str, Sequence[Any]] | None) -> dict[str, Any]:
    """Blocks by name, of a mapping, an array, or named columns. ValueError for unknown columns or duplicate blocks."""
    if isinstance(representation, Mapping):
        if blocks is not None:
            raise Conflict("blocks must be None where the representation is a mapping of them.")
        return dict(representation)
    if blocks is None:
        return {WHOLE: representation}
    frame = representation
    if not isinstance(frame, pd.DataFrame):
        frame = pd.DataFrame(as_matrix("representation", representation))
    for name, chosen in blocks.items():
        missing = [column for column in chosen if column not in frame]
        if missing or not len(chosen):
            raise UnknownName(f"blocks must name columns of the representation, got {missing} in block {name!r}.")
    return {name: frame[list(chosen)] for name, chosen in blocks.items()}


def _aims(targets: Any, domain: Any, n: int) -> dict[str, _Aim]:
    named = targets if isinstance(targets, Mapping | pd.DataFrame) else {"y": targets}
    given = {str(name): (named[name], TARGET) for name in named}
    if not given:
        raise UnknownName("targets must name at least one, got none.")
    if domain is not None:
        if "domain" in given:
            raise Conflict("targets must not be called 'domain' where a domain is given.")
        given["domain"] = (Discrete(domain), DOMAIN)
    found = {}
    for name, (values, role) in given.items():
        variable = as_variable(f"target {name!r}" if role == TARGET else name, values)
        if variable.n != n:
            raise WrongLength(f"{name} must have one value for each of the {n} rows, got {variable.n}.")
        if variable.kind == "mixed":
            raise Conflict(f"target {name!r} must be classes or numbers, got columns of both: give them apart.")
        if variable.kind == "discrete":
            bare = np.asarray(values.values if isinstance(values, Discrete) else values)
            labels = bare.reshape(n, -1)[np.unique(variable.codes, return_index=True)[1]]
            outcome = Outcome(variable.codes.astype(np.int64), labels[:, 0] if labels.shape[1] == 1 else labels)
        else:
            outcome = Outcome(variable.continuous, None)
        found[name] = _Aim(variable, outcome, role)
    if domain is not None:
        site = by_first_appearance(found["domain"].outcome.values)
        for name, aim in found.items():
            if aim.role == DOMAIN or aim.outcome.classes is None or not site.any():
                continue
            if (by_first_appearance(aim.outcome.values) == site).all():
                raise Conflict(
                    f"domain must not be a target, too, got the classes of {name!r} in every row: a block "
                    "that should carry the target cannot leak it; leave one of them out."
                )
    return found


def _require_classes(outcome: Outcome, groups: NDArray[np.int64]) -> None:
    """ValueError for one class only, and for one that some training set must be without."""
    if outcome.classes is None:
        return
    if outcome.classes == 1:
        raise ValueError(f"it is one class in all {outcome.n:,} rows, about which there is nothing to tell.")
    members = np.unique(np.stack([outcome.values, groups]), axis=1)[0]
    lone = np.flatnonzero(np.bincount(members) < 2)
    if len(lone):
        rows = int((outcome.values == lone[0]).sum())
        numbers = f"; for numbers, {AS_NUMBERS}" if np.asarray(outcome.labels).dtype.kind in "iu" else ""
        more = f" (as {len(lone) - 1:,} more of its {outcome.classes:,} classes)" if len(lone) > 1 else ""
        raise ValueError(
            f"its class {str(outcome.labels[lone[0]])!r} has {rows:,} of {outcome.n:,} rows, in a single group{more}; "
            f"each must be in at least 2 groups (or rows) to be both learnt and asked: merge or drop it{numbers}."
        )


def _some_rows(codes: NDArray[np.int64], most: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Rows of random groups, at most about `most`, in their order."""
    everything = np.ones(len(codes), bool)
    return np.flatnonzero(thinned([(everything, everything)], codes, min(most, len(codes)), generator)[0][0])


@dataclass(frozen=True, eq=False)
class _Measure:
    """What all targets share: blocks, groups, rows for neighbours, families and settings."""

    blocks: Mapping[str, NDArray[np.float64]]
    codes: NDArray[np.int64]
    groups: NDArray[np.int64] | None
    few: NDArray[np.int64]
    richer: Family
    rows: int
    folds: int
    k: int
    resamples: int

    def rows_of(
        self, name: str, aim: _Aim, generator: np.random.Generator, tell: Progress
    ) -> tuple[list[Row], dict[frozenset[str], Local], Predictions | None]:
        """A row for each block and all of them; local values of every set of blocks; predictions from all, or None."""
        _require_classes(aim.outcome, self.codes)
        everything = frozenset(self.blocks)
        alone = [frozenset([block]) for block in self.blocks]
        rests = [everything - block for block in alone if len(self.blocks) > 1]
        sets = list(dict.fromkeys([*alone, *rests, everything]))
        kind = NUMBERS if aim.outcome.classes is None else CLASSES
        linear_families = _LINEAR[kind]
        families = (*linear_families, self.richer) if kind in self.richer.outcomes else linear_families
        mixture = Stacked(families, len(linear_families))
        method = _NAMES[kind]
        if mixture.families != linear_families:
            method = f"{method}, {self.richer.name}"
        splits = fold_splits(aim.outcome, self.codes, self.folds, generator)
        splits = thinned(splits, self.codes, self.rows, generator)
        seed = int(generator.integers(2**63))
        held_out, richer, linear = {}, {}, {}
        for done, names in enumerate(sets):
            x = stacked(self.blocks, [block for block in self.blocks if block in names])
            richer[names] = linear[names] = Local(np.zeros(len(x)), np.zeros(len(x)))
            if x.size:
                of_set = np.random.default_rng(seed)
                whole, half, *linear_parts = predictions(mixture, x, aim.outcome, splits, self.codes, of_set)
                held_out[names] = whole
                richer[names] = _local(whole, half)
                linear[names] = _local(*linear_parts)
            tell((done + 1) / len(sets), f"{name}: {', '.join(sorted(names))}")
        if everything in held_out:  # not every block is constant
            richer = with_ignorance(richer, held_out[everything].fold)
        ceiling = label_entropy(aim.outcome.values, self.codes) if kind == CLASSES else None
        rows = []
        for names in dict.fromkeys((*alone, everything)):
            reading = self._reading(names, aim, generator)
            terms = (
                richer[names].term(self.codes, f"usable by a mixture of {method} and no input"),
                linear[names].term(self.codes, f"usable by a mixture of {_NAMES[kind]} and no input"),
            )
            usable_richer, usable_linear = (_up_to_what_is_there(term, reading, ceiling) for term in terms)
            shared = {}
            if names != everything:
                parts = richer[names], richer[everything - names], richer[everything]
                shared = sharing(*parts, aim.values, self.codes)
            block = ALL if len(names) > 1 else next(iter(names))
            width = sum(self.blocks[member].shape[1] for member in names)
            rows.append(
                Row(
                    block, width, name, aim.role, aim.outcome.classes, reading, usable_linear, usable_richer, ceiling,
                    shared,
                )
            )  # fmt: skip
        return rows, richer, held_out.get(everything)

    def _reading(self, names: Iterable[str], aim: _Aim, generator: np.random.Generator) -> Estimate:
        """The reading of some blocks, 0 of constant ones, or why there is none."""
        x = stacked({name: self.blocks[name][self.few] for name in names}, sorted(names))
        if not x.size:
            return mean_of(np.zeros(len(self.codes)), self.codes, method="of a constant", notes=(CONSTANT,))
        groups = None if self.groups is None else self.groups[self.few]
        try:
            return read(as_pairs(Continuous(x), aim.variable.take(self.few), groups), generator)
        except ValueError as error:
            return undefined(str(error))


def _local(whole: Predictions, half: Predictions) -> Local:
    return Local(whole.informed - whole.null, half.informed - half.null)


def sharing(
    alone: Local, rest: Local, joint: Local, values: NDArray[np.int64], groups: NDArray[np.int64]
) -> dict[str, Estimate]:
    """Unique, redundant and synergistic information of a block and all others about a target, nats: the six bounds by
    their names in `pid.Bounds`, and the terms by Williams & Beer 2010, from local values.

    values [n] are codes of the target. Intervals include both branches where they are close; crossing bounds are noted.
    """
    parts = [local.term(groups) for local in (alone, rest, joint)]
    found = {}
    for name in Bounds._fields:
        branches = [_linear(row, parts).estimate for row in getattr(BRANCHES, name) if any(row)]
        if is_low(name):  # the larger of 0 and the second branch
            found[name] = clipped(branches[0])
        else:
            least = min(branches, key=float)
            ends = min(one.low for one in branches), max(0.0, min(one.high for one in branches))  # no term is below 0
            found[name] = replace(least, interval=ends)
    widths = [_linear(row, parts) for name in Bounds._fields if not is_low(name) for row in getattr(BRANCHES, name)]
    width = min(widths, key=lambda term: term.found.value).found
    note = crossing_note(-width.value, width.standard_error, "nats")
    if note:
        found = {name: replace(one, notes=(*one.notes, note)) for name, one in found.items()}
    branches = [
        Local(np.where(rows, rest.found, alone.found), np.where(rows, rest.half, alone.half)).term(groups)
        for rows in either_specific(alone.found, rest.found, values)
    ]
    own = min(branches, key=lambda term: term.found.value)
    possible = [term for term in branches if (term.found - own.found).low <= 0.0]
    concrete = [_concrete(parts, both) for both in (own, *possible)]
    for name, terms in zip(TERMS, zip(*concrete)):
        ends = min(one.low for one in terms), max(one.high for one in terms)
        found[name] = replace(terms[0], interval=ends)
    return found


def _concrete(parts: Sequence[Term], both: Term) -> list[Estimate]:
    """Unique, redundant and synergistic of the terms of a, of the rest and of both, and the redundancy."""
    a, b, t = parts
    terms = a + -1.0 * both, both, t + -1.0 * a + -1.0 * b + both
    return [term.estimate for term in terms]


def _linear(row: Sequence[int], parts: Sequence[Term]) -> Term:
    """The sum of the parts that count, each times its factor."""
    first, *others = [float(factor) * part for factor, part in zip(row, parts) if factor]
    return sum(others, first)


def _up_to_what_is_there(term: Term, reading: Estimate, ceiling: Estimate | None) -> Estimate:
    """Usable information with an interval that extends to the reading's upper limit if none is detected.

    It extends at least to where more training rows lead (`Term`) and to 0, and at most to H(target).
    """
    usable = term.estimate
    high = max(usable.high, 0.0)
    if term.found.low <= 0.0 and reading.high > high:
        high = reading.high
    if ceiling is not None:
        high = min(high, max(ceiling.high, usable.value))
    return replace(usable, interval=(min(usable.low, high), high))


def _scores(
    blocks: Mapping[str, NDArray[np.float64]],
    aims: Mapping[str, _Aim],
    known: Mapping[str, Mapping[frozenset[str], Local]],
    groups: NDArray[np.int64],
    generator: np.random.Generator,
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Disentanglement of single columns and of blocks, and why scores are missing."""
    columns = ["score", "better", *COLUMNS]
    factors = [name for name, aim in aims.items() if aim.role == TARGET and aim.outcome.classes and name in known]
    left = [name for name, aim in aims.items() if aim.role == TARGET and not aim.outcome.classes]
    said = "which is numbers: disentanglement.report has the scores that take them"
    notes = [f"disentanglement of {', '.join(left)}, {said}."] * bool(left)
    if len(factors) < 2:
        return pd.DataFrame(columns=columns), (
            *notes, f"scores of disentanglement, which compare two categorical targets or more; here: {len(factors)}."
        )  # fmt: skip
    if not stacked(blocks, blocks).size:
        return pd.DataFrame(columns=columns), (*notes, "scores of disentanglement, where every block is constant.")
    codes = np.column_stack([aims[name].outcome.values for name in factors])
    information = None
    if len(blocks) > 1:
        everything = frozenset(blocks)
        sets = [*(frozenset([one]) for one in blocks), *(everything - {one} for one in blocks), everything]
        pointwise = np.stack([[known[name][one].found for one in sets] for name in factors]).transpose(2, 0, 1)
        surprisal = as_factors(codes, factors).surprisal
        information = FactorInformation.from_pointwise(
            tuple(factors), tuple(blocks), surprisal.mean(axis=0), pointwise, "usable by the richer family", surprisal,
            groups,
        )  # fmt: skip
    else:
        notes.append("MIG and UniBound, which compare blocks: name blocks, single columns may be.")
    inputs = Inputs(
        representation=stacked(blocks, blocks), factors=codes, stream=streams_of(generator), items=_READING_ROWS,
        factor_names=factors, measured=information,
    )  # fmt: skip
    columns_of = sum(block.shape[1] for block in blocks.values())
    if columns_of > _MAX_SCORED_COLUMNS:
        notes.append(
            f"scores of disentanglement of columns, of which there are {columns_of:,}, more than "
            f"{_MAX_SCORED_COLUMNS:,}: disentanglement.report has them, in minutes."
        )
    specs = [
        spec for spec in SCORES.values()
        if spec.takes in ("representation", "codes") and not spec.extra and columns_of <= _MAX_SCORED_COLUMNS
        or (information is not None and spec.key in _SCORES)
    ]  # fmt: skip
    found = measure_scores(inputs, specs)
    of = {"information": "blocks"}
    lines = [
        {"score": f"{titled(spec, inputs)} of {of.get(spec.takes, 'columns')}", "better": spec.better} | row(found[key])
        for key, spec in SCORES.items()
        if key in found
    ]
    return pd.DataFrame(lines, columns=columns), tuple(notes)


def _partition(
    blocks: Mapping[str, NDArray[np.float64]],
    aims: Mapping[str, _Aim],
    labels: Sequence[str],
    few: NDArray[np.int64],
    measure: _Measure,
    permutations: int,
    generator: np.random.Generator,
) -> tuple[partition.PartitionReport | None, tuple[str, ...]]:
    """The scores of a partition into z_y, z_d, z_dy and z_x, or why there are none."""
    if not set(blocks) <= set(BLOCKS):
        return None, (f"scores of a partition, which are of blocks called {', '.join(BLOCKS)}.",)
    if "domain" not in aims or len(labels) != 1:
        return None, (
            f"scores of a partition, which need a domain and one label of classes (label=): got {len(labels)} labels "
            f"and {'a' if 'domain' in aims else 'no'} domain.",
        )
    y, d = (aims[name].outcome.values[few] for name in (labels[0], "domain"))
    try:
        return partition.evaluate(
            {name: block[few] for name, block in blocks.items()}, y, d,
            None if measure.groups is None else measure.groups[few], folds=measure.folds, k=measure.k,
            resamples=measure.resamples, permutations=permutations, generator=generator,
        ), ()  # fmt: skip
    except ValueError as error:
        return None, (f"scores of the partition: {error}",)
