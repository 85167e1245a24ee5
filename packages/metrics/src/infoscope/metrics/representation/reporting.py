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
from infoscope.estimators.columns import Continuous, Discrete
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
from infoscope.metrics.factor_information.inputs import parts_of
from infoscope.metrics.factor_information.result import TERMS
from infoscope.metrics.partition.scores import clipped
from infoscope.metrics.partition.terms import BLOCKS, stacked
from infoscope.metrics.pid import BRANCHES, Bounds, crossing_note, either_specific, is_low
from infoscope.metrics.representation.result import ALL, DOMAIN, TARGET, RepresentationReport, Row
from infoscope.metrics.v_information.predictions import Predictions, as_groups, fold_splits
from infoscope.metrics.v_information.usable import Local, Term, predictions, thinned, with_ignorance
from infoscope.notes import Note

WHOLE = "representation"  # the block of an array without names
CONSTANT = Note("Constant in all rows: it carries exactly 0.", "constant block")
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

Progress = Callable[[float, str], None]


@aligns("representation", "targets", "domain", "groups")
def report(
    representation: Any,
    targets: Mapping[str, Any] | pd.DataFrame | ArrayLike,
    domain: Any = None,
    groups: ArrayLike | None = None,
    *,
    label: str | None = None,
    richer: Any = RICHER,
    rows: int = 4000,
    folds: int = 3,
    k: int = 5,
    resamples: int = 60,
    permutations: int = 99,
    generator: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> RepresentationReport:
    """Information of each block of a representation about each target, nats: what is there, and what families can use.

    representation  name -> numbers [n, d]; or one block, an array or a data frame
    targets         name -> [n] (a data frame's columns; one array is called "y"): floats are numbers, integers,
                    booleans and strings classes; `Continuous` and `Discrete` decide
    domain          classes [n]: information about it is leakage
    groups          [n], dependent rows, which share folds and half-samples
    label           the target that z_y is meant for, in z_y, z_d, z_dy, z_x; None: the only one of classes
    richer          the family next to the linear one, as `families.as_family` takes it
    rows            at most, for fits; all are predicted
    k, resamples, permutations  of the partition; folds: of predictions

    Usable information is held out, of a mixture with the distribution without input (`Stacked`). What is not available
    is nan, with a note. ValueError: inputs that do not fit together or are not finite, fewer than 20 rows, no
    measurable target, an unknown label, a family that predicts neither.
    """
    blocks = representation if isinstance(representation, Mapping) else {WHOLE: representation}
    data = _data(blocks, targets, domain, groups, label)
    require_int("rows", rows, 20)
    require_int("permutations", permutations, 0)
    streams = iter(generator_or_default(generator).spawn(len(data.aims) + 3))
    few = _some_rows(data.codes, _READING_ROWS, next(streams))
    measure = _Measure(data, few, as_family(richer), rows, folds)
    tell = progress or (lambda share, what: None)
    table, unanswered = measure.table(streams, tell)
    next(streams)  # of scores that are a report of their own
    part = {"folds": folds, "k": k, "resamples": resamples, "permutations": permutations, "generator": next(streams)}
    divided, undivided = _partition(data, few, part)
    tell(1.0, "partition")
    return RepresentationReport(
        blocks={name: block.shape[1] for name, block in data.blocks.items()},
        n=data.n,
        groups=int(data.codes.max()) + 1,
        rows=table,
        partition=divided,
        settings=measure.settings | {"neighbours": k},
        notes=(*data.notes, *measure.notes, *_scores(data), *undivided),
        unanswered=unanswered,
        label=data.labels[0] if len(data.labels) == 1 else "",
    )


@dataclass(frozen=True, eq=False)
class _Data:
    """Checked inputs: blocks, targets and domain by name, groups (codes [n]), targets of z_y."""

    blocks: Mapping[str, NDArray[np.float64]]
    aims: Mapping[str, _Aim]
    codes: NDArray[np.int64]
    is_grouped: bool
    labels: Sequence[str]

    @property
    def n(self) -> int:
        return len(self.codes)

    @property
    def notes(self) -> list[Note]:
        """What to doubt about the types of targets."""
        return [
            Note(note.rstrip("."), getattr(note, "code", "target type"), name)
            for name, aim in self.aims.items()
            for note in aim.variable.notes
        ]

    def groups(self, rows: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """The groups of some rows; None if rows are independent."""
        return self.codes[rows] if self.is_grouped else None


def _data(blocks: Mapping[str, Any], targets: Any, domain: Any, groups: Any, label: str | None) -> _Data:
    """The inputs, checked; InfoscopeError where they do not fit together."""
    numbers = as_blocks(blocks)
    if ALL in numbers:
        raise Conflict(f"blocks must not be called {ALL!r}, which is the row of them together: give it another name.")
    n = len(next(iter(numbers.values())))
    if n < _MIN_ROWS:
        raise TooFew(f"representation must have at least {_MIN_ROWS} rows, got {n}.")
    aims = _aims(targets, domain, n)
    if label is not None and label not in aims:
        raise UnknownName(f"label must be one of the targets {list(aims)}, got {label!r}.")
    labels = [name for name, aim in aims.items() if aim.role == TARGET and aim.outcome.classes]
    labels = labels if label is None else [label]
    return _Data(numbers, aims, as_groups(groups, n), groups is not None, labels)


def _scores(data: _Data) -> list[Note]:
    """Where the scores of disentanglement are, if there are factors to compute them of."""
    factors = [name for name, aim in data.aims.items() if aim.role == TARGET]
    how = f"which column holds which of {', '.join(factors)}: disentanglement.report, make disentangle."
    return [Note(how, "disentanglement")] if len(factors) > 1 else []


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
class _Fits:
    """Held-out values of sets of blocks, by the mixture of families and by its linear part."""

    richer: Mapping[frozenset[str], Local]
    linear: Mapping[frozenset[str], Local]
    methods: tuple[str, str]  # of the mixture, of the linear part


@dataclass(frozen=True, eq=False)
class _Measure:
    """What all targets share: the data, rows for readings, families and settings."""

    data: _Data
    few: NDArray[np.int64]
    richer: Family
    rows: int
    folds: int

    @property
    def settings(self) -> dict[str, object]:
        """What a reader needs to repeat the fits."""
        families = {"linear family": LINEAR, "richer family": self.richer.name}
        return families | {"training rows at most": self.rows, "folds": self.folds}

    @property
    def notes(self) -> list[Note]:
        """Notes on rows that were drawn."""
        notes = []
        if self.rows < self.data.n * (self.folds - 1) / self.folds:
            what = f"what families learn from more than {self.rows:,} rows, which were drawn at random (rows=)."
            notes.append(Note(what, "rows drawn", "rows"))
        if len(self.few) < self.data.n:
            what = f"readings, tests and scores are of {len(self.few):,} rows, drawn at random."
            notes.append(Note(what, "rows drawn"))
        return notes

    def table(self, streams: Iterable[np.random.Generator], tell: Progress) -> tuple[list[Row], dict[str, str]]:
        """The rows of all targets, and why others have none. InvalidInput: no target can be measured."""
        rows, unanswered, count = [], {}, len(self.data.aims)
        for done, (name, stream) in enumerate(zip(self.data.aims, streams)):
            stage = lambda share, what, done=done: tell(0.9 * (done + share) / count, what)  # noqa: E731
            try:
                rows += self.rows_of(name, stream, stage)
            except ValueError as error:
                unanswered[name] = str(error)
        if not rows:
            name, why = next(iter(unanswered.items()))
            raise InvalidInput(f"targets must be measurable, got none that is: nothing about {name}: {why}")
        return rows, unanswered

    def rows_of(self, name: str, generator: np.random.Generator, tell: Progress) -> list[Row]:
        """A row of one target for each block and all of them. ValueError: it cannot be measured."""
        aim, codes = self.data.aims[name], self.data.codes
        _require_classes(aim.outcome, codes)
        fits = self._fits(name, aim, generator, tell)
        ceiling = None if aim.outcome.classes is None else label_entropy(aim.outcome.values, codes)
        everything = frozenset(self.data.blocks)
        rows = []
        for names in dict.fromkeys((*(frozenset([block]) for block in self.data.blocks), everything)):
            reading = self._reading(names, aim, generator)
            of_richer, of_linear = (
                local[names].term(codes, f"usable by a mixture of {method} and no input")
                for local, method in zip((fits.richer, fits.linear), fits.methods)
            )
            shared = {}
            if names != everything:
                parts = (fits.richer[some] for some in (names, everything - names, everything))
                shared = sharing(*parts, aim.values, codes)
            block = ALL if len(names) > 1 else next(iter(names))
            width = sum(self.data.blocks[member].shape[1] for member in names)
            usable = [_up_to_what_is_there(term, reading, ceiling) for term in (of_linear, of_richer)]
            rows.append(Row(block, width, name, aim.role, aim.outcome.classes, reading, *usable, ceiling, shared))
        return rows

    def _fits(self, name: str, aim: _Aim, generator: np.random.Generator, tell: Progress) -> _Fits:
        """Fits of every block, of all others of each, and of all of them."""
        kind = NUMBERS if aim.outcome.classes is None else CLASSES
        families, method = _LINEAR[kind], _NAMES[kind]
        mixture = Stacked(families, len(families))
        if kind in self.richer.outcomes:
            mixture = Stacked((*families, self.richer), len(families))
            method = f"{method}, {self.richer.name}"
        codes, blocks = self.data.codes, self.data.blocks
        splits = fold_splits(aim.outcome, codes, self.folds, generator)
        splits = thinned(splits, codes, self.rows, generator)
        seed = int(generator.integers(2**63))
        richer, linear, fold = {}, {}, None
        sets = self._sets()
        for done, names in enumerate(sets):
            x = stacked(blocks, [block for block in blocks if block in names])
            richer[names] = linear[names] = Local(np.zeros(len(x)), np.zeros(len(x)))
            if x.size:
                held_out = predictions(mixture, x, aim.outcome, splits, codes, np.random.default_rng(seed))
                richer[names], linear[names] = _local(*held_out[:2]), _local(*held_out[2:])
                fold = held_out[0].fold
            tell((done + 1) / len(sets), f"{name}: {', '.join(sorted(names))}")
        if fold is not None:  # not every block is constant
            richer = with_ignorance(richer, fold)
        return _Fits(richer, linear, (method, _NAMES[kind]))

    def _sets(self) -> list[frozenset[str]]:
        """Each block, all others of each, and all together."""
        everything = frozenset(self.data.blocks)
        alone = [frozenset([block]) for block in self.data.blocks]
        rests = [everything - block for block in alone if len(alone) > 1]
        return list(dict.fromkeys([*alone, *rests, everything]))

    def _reading(self, names: Iterable[str], aim: _Aim, generator: np.random.Generator) -> Estimate:
        """The reading of some blocks, 0 of constant ones, or why there is none."""
        x = stacked({name: self.data.blocks[name][self.few] for name in names}, sorted(names))
        if not x.size:
            return mean_of(np.zeros(self.data.n), self.data.codes, method="of a constant", notes=(CONSTANT,))
        try:
            pairs = as_pairs(Continuous(x), aim.variable.take(self.few), self.data.groups(self.few))
            return read(pairs, generator)
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


def _partition(
    data: _Data, few: NDArray[np.int64], settings: Mapping[str, Any]
) -> tuple[partition.PartitionReport | None, list[Note]]:
    """The scores of a partition into z_y, z_d, z_dy and z_x, or why there are none."""
    if not set(data.blocks) <= set(BLOCKS):
        return None, [Note(f"scores of a partition, which are of blocks called {', '.join(BLOCKS)}.", "partition")]
    if "domain" not in data.aims or len(data.labels) != 1:
        domain = "a" if "domain" in data.aims else "no"
        why = (
            f"which need a domain and one label of classes (label=): got {len(data.labels)} labels and {domain} domain."
        )
        return None, [Note(f"scores of a partition, {why}", "partition")]
    y, d = (data.aims[name].outcome.values[few] for name in (data.labels[0], "domain"))
    blocks = {name: block[few] for name, block in data.blocks.items()}
    try:
        return partition.evaluate(blocks, y, d, data.groups(few), **settings), []
    except ValueError as error:
        return None, [Note(f"scores of the partition: {error}", "partition")]
