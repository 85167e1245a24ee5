"""Every measure on one representation: information of each block about each target,
with intervals.
"""

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
from infoscope.metrics.partition.blocks import BLOCKS
from infoscope.metrics.partition.scores import clipped
from infoscope.metrics.partition.terms import stacked
from infoscope.metrics.pid import (
    BRANCHES,
    Bounds,
    crossing_note,
    either_specific,
    is_low,
)
from infoscope.metrics.representation.result import (
    ALL,
    DOMAIN,
    TARGET,
    RepresentationReport,
    Row,
)
from infoscope.metrics.v_information.predictions import (
    Predictions,
    as_groups,
    fold_splits,
)
from infoscope.metrics.v_information.usable import (
    Extrapolated,
    Local,
    predictions,
    thinned,
    with_ignorance,
)
from infoscope.notes import Note

Codes = NDArray[np.int64]

WHOLE = "representation"  # the block of an array without names
CONSTANT = Note("Constant in all rows: it carries exactly 0.", "constant block")
RICHER = GradientBoosting(rounds=20, leaves=7, learning_rate=0.2, components=32)
# mixed by a validation set: many classes need little, many columns much
_PENALTIES = (1e-4, 1e-2, 1.0, 100.0)
_LINEAR: Mapping[str, tuple[Family, ...]] = {
    CLASSES: tuple(Logistic(penalty) for penalty in _PENALTIES),
    NUMBERS: tuple(Ridge(penalty) for penalty in _PENALTIES),
}
_SETTINGS = f"(penalty={', '.join(f'{penalty:g}' for penalty in _PENALTIES)}, mixed)"
_NAMES = {CLASSES: f"logistic{_SETTINGS}", NUMBERS: f"ridge{_SETTINGS}"}
# as pages and captions name it
LINEAR = ", ".join(f"{name} of {kind}" for kind, name in _NAMES.items())
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
    """Information of each block of a representation about each target, nats: what is
    there, and what families can use.

    Parameters
    ----------
    representation
        Name -> numbers [n, d]; or one block, an array or a data frame.
    targets
        Name -> [n] (a data frame's columns; one array is called "y"): floats are
        numbers, integers, booleans and strings classes; `Continuous` and `Discrete`
        decide.
    domain
        Classes [n]: information about it is leakage.
    groups
        [n], labels of dependent rows, which share folds and half-samples.
    label
        The target that z_y is meant for, in z_y, z_d, z_dy, z_x; None: the only one of
        classes.
    richer
        The family next to the linear one, as `families.as_family` takes it.
    rows
        At most, for fits; all are predicted.
    folds
        Of predictions.
    k, resamples, permutations
        Of the partition.

    Returns
    -------
    RepresentationReport
        Usable information is held out, of a mixture with the distribution without input
        (`Stacked`). An unavailable number is NaN, with a note.

    Raises
    ------
    ValueError
        Inputs that do not fit together or are not finite, fewer than 20 rows, no
        measurable target, an unknown label, a family that predicts neither.
    """
    blocks = representation
    if not isinstance(representation, Mapping):
        blocks = {WHOLE: representation}
    data = _data(blocks, targets, domain, groups, label)
    require_int("rows", rows, 20)
    require_int("permutations", permutations, 0)
    streams = iter(generator_or_default(generator).spawn(len(data.aims) + 3))
    few = _some_rows(data.codes, _READING_ROWS, next(streams))
    measure = _Measure(data, few, as_family(richer), rows, folds)
    if progress is None:
        progress = _no_progress
    table, unanswered = measure.table(streams, progress)
    next(streams)  # of scores that are a report of their own
    settings = {
        "folds": folds,
        "k": k,
        "resamples": resamples,
        "permutations": permutations,
        "generator": next(streams),
    }
    partition_report, partition_notes = _partition(data, few, settings)
    progress(1.0, "partition")
    return RepresentationReport(
        blocks={name: block.shape[1] for name, block in data.blocks.items()},
        n=data.n,
        groups=int(data.codes.max()) + 1,
        rows=table,
        partition=partition_report,
        settings=measure.settings | {"neighbours": k},
        notes=(*data.notes, *measure.notes, *_scores(data), *partition_notes),
        unanswered=unanswered,
        label=data.labels[0] if len(data.labels) == 1 else "",
    )


def _no_progress(share: float, what: str) -> None:
    """Ignores the progress."""


@dataclass(frozen=True, eq=False)
class _Data:
    """Checked inputs: blocks, targets and domain by name, groups (codes [n]), targets
    of z_y.
    """

    blocks: Mapping[str, NDArray[np.float64]]
    aims: Mapping[str, _Aim]
    codes: Codes
    is_grouped: bool
    labels: Sequence[str]

    @property
    def n(self) -> int:
        return len(self.codes)

    @property
    def notes(self) -> list[Note]:
        """What to doubt about the types of targets."""
        notes = []
        for name, aim in self.aims.items():
            for note in aim.variable.notes:
                notes.append(
                    Note(note.rstrip("."), getattr(note, "code", "target type"), name)
                )
        return notes

    def groups(self, rows: Codes) -> Codes | None:
        """The groups of some rows; None if rows are independent."""
        return self.codes[rows] if self.is_grouped else None


def _data(
    blocks: Mapping[str, Any], targets: Any, domain: Any, groups: Any, label: str | None
) -> _Data:
    """The inputs, checked; InfoscopeError where they do not fit together."""
    numbers = as_blocks(blocks)
    if ALL in numbers:
        raise Conflict(
            f"blocks must not be called {ALL!r}, which is the row of them together: "
            "give it another name."
        )
    n = len(next(iter(numbers.values())))
    if n < _MIN_ROWS:
        raise TooFew(f"representation must have at least {_MIN_ROWS} rows, got {n}.")
    aims = _aims(targets, domain, n)
    if label is not None and label not in aims:
        raise UnknownName(
            f"label must be one of the targets {list(aims)}, got {label!r}."
        )
    labels = [] if label is None else [label]
    if label is None:
        for name, aim in aims.items():
            if aim.role == TARGET and aim.outcome.classes:
                labels.append(name)
    return _Data(numbers, aims, as_groups(groups, n), groups is not None, labels)


def _scores(data: _Data) -> list[Note]:
    """Where the scores of disentanglement are, if there are factors to compute them of."""
    factors = [name for name, aim in data.aims.items() if aim.role == TARGET]
    if len(factors) < 2:
        return []
    advice = (
        f"which column holds which of {', '.join(factors)}: disentanglement.report, "
        "make disentangle."
    )
    return [Note(advice, "disentanglement")]


@dataclass(frozen=True, eq=False)
class _Aim:
    """A target or the domain: as neighbours and as families take it."""

    variable: Variable
    outcome: Outcome
    role: str

    @property
    def values(self) -> Codes:
        """Codes [n] of its values, or of the parts that numbers are cut into."""
        if self.outcome.classes is None:
            return parts_of(self.outcome.values)
        return self.outcome.values


def _aims(targets: Any, domain: Any, n: int) -> dict[str, _Aim]:
    """The targets and the domain, checked, by name; InfoscopeError where they do not
    fit together.
    """
    named = targets if isinstance(targets, Mapping | pd.DataFrame) else {"y": targets}
    values = {str(name): named[name] for name in named}
    if not values:
        raise UnknownName("targets must name at least one, got none.")
    roles = dict.fromkeys(values, TARGET)
    if domain is not None:
        if "domain" in values:
            raise Conflict(
                "targets must not be called 'domain' where a domain is given."
            )
        values["domain"] = Discrete(domain)
        roles["domain"] = DOMAIN
    aims = {name: _aim(name, values[name], role, n) for name, role in roles.items()}
    if domain is not None:
        _require_another_domain(aims)
    return aims


def _aim(name: str, values: Any, role: str, n: int) -> _Aim:
    """One target, or the domain, checked."""
    variable = as_variable(f"target {name!r}" if role == TARGET else name, values)
    if variable.n != n:
        raise WrongLength(
            f"{name} must have one value for each of the {n} rows, got {variable.n}."
        )
    if variable.kind == "mixed":
        raise Conflict(
            f"target {name!r} must be classes or numbers, got columns of both: give "
            "them apart."
        )
    if variable.kind != "discrete":
        return _Aim(variable, Outcome(variable.continuous, None), role)
    bare = np.asarray(values.values if isinstance(values, Discrete) else values)
    assert variable.codes is not None
    first_rows = np.unique(variable.codes, return_index=True)[1]
    labels = bare.reshape(n, -1)[first_rows]
    if labels.shape[1] == 1:
        labels = labels[:, 0]
    return _Aim(variable, Outcome(variable.codes.astype(np.int64), labels), role)


def _require_another_domain(aims: Mapping[str, _Aim]) -> None:
    """Conflict where the domain has the classes of a target in every row."""
    domain = by_first_appearance(aims["domain"].outcome.values)
    if not domain.any():
        return
    for name, aim in aims.items():
        if aim.role == DOMAIN or aim.outcome.classes is None:
            continue
        if (by_first_appearance(aim.outcome.values) == domain).all():
            raise Conflict(
                f"domain must not be a target, too, got the classes of {name!r} in "
                "every row: a block "
                "that should carry the target cannot leak it; leave one of them out."
            )


def _require_classes(outcome: Outcome, groups: Codes) -> None:
    """ValueError for one class only, and for one that some training set must be
    without.
    """
    if outcome.classes is None:
        return
    if outcome.classes == 1:
        raise ValueError(f"the target has only one class in all {outcome.n:,} rows.")
    members = np.unique(np.stack([outcome.values, groups]), axis=1)[0]
    lone = np.flatnonzero(np.bincount(members) < 2)
    if not len(lone):
        return
    assert outcome.labels is not None
    rows = int((outcome.values == lone[0]).sum())
    numbers = ""
    if np.asarray(outcome.labels).dtype.kind in "iu":
        numbers = f"; for numbers, {AS_NUMBERS}"
    more = ""
    if len(lone) > 1:
        more = f" (as {len(lone) - 1:,} more of its {outcome.classes:,} classes)"
    raise ValueError(
        f"its class {str(outcome.labels[lone[0]])!r} has {rows:,} of {outcome.n:,} "
        f"rows, in a single group{more}; "
        "training and validation need each class in at least 2 groups (or rows): "
        f"merge or drop it{numbers}."
    )


def _some_rows(codes: Codes, most: int, generator: np.random.Generator) -> Codes:
    """Rows of random groups, at most about `most`, in their order."""
    all_rows = np.ones(len(codes), bool)
    splits = thinned([(all_rows, all_rows)], codes, min(most, len(codes)), generator)
    return np.flatnonzero(splits[0][0])


@dataclass(frozen=True, eq=False)
class _Fits:
    """Held-out values of sets of blocks, by the mixture of families and by its linear
    part.
    """

    richer: Mapping[frozenset[str], Local]
    linear: Mapping[frozenset[str], Local]
    methods: tuple[str, str]  # of the mixture, of the linear part


@dataclass(frozen=True, eq=False)
class _Measure:
    """What all targets share: the data, rows for readings, families and settings."""

    data: _Data
    few: Codes
    richer: Family
    rows: int
    folds: int

    @property
    def settings(self) -> dict[str, object]:
        """What a reader needs to repeat the fits."""
        return {
            "linear family": LINEAR,
            "richer family": self.richer.name,
            "training rows at most": self.rows,
            "folds": self.folds,
        }

    @property
    def notes(self) -> list[Note]:
        """Notes on rows that were drawn."""
        notes = []
        if self.rows < self.data.n * (self.folds - 1) / self.folds:
            what = (
                f"predictors trained on more than {self.rows:,} rows (rows=), which "
                "were drawn at random."
            )
            notes.append(Note(what, "rows drawn", "rows"))
        if len(self.few) < self.data.n:
            what = (
                f"readings, tests and scores on more than {len(self.few):,} rows, "
                "which were drawn at random."
            )
            notes.append(Note(what, "rows drawn"))
        return notes

    def table(
        self, streams: Iterable[np.random.Generator], progress: Progress
    ) -> tuple[list[Row], dict[str, str]]:
        """The rows of all targets, and why others have none. InvalidInput: no target
        can be measured.
        """
        rows = []
        unanswered = {}
        count = len(self.data.aims)
        for number, (name, stream) in enumerate(zip(self.data.aims, streams)):

            def progress_of_target(
                share: float, what: str, before: int = number
            ) -> None:
                progress(0.9 * (before + share) / count, what)

            try:
                rows += self.rows_of(name, stream, progress_of_target)
            except ValueError as error:
                unanswered[name] = str(error)
        if not rows:
            name, why = next(iter(unanswered.items()))
            raise InvalidInput(
                f"targets must include one that can be measured, got none: {name}: "
                f"{why}"
            )
        return rows, unanswered

    def rows_of(
        self, name: str, generator: np.random.Generator, progress: Progress
    ) -> list[Row]:
        """A row of one target for each block and all of them. ValueError: it cannot be
        measured.
        """
        aim = self.data.aims[name]
        codes = self.data.codes
        classes = aim.outcome.classes
        _require_classes(aim.outcome, codes)
        fits = self._fits(name, aim, generator, progress)
        ceiling = None if classes is None else label_entropy(aim.outcome.values, codes)
        everything = frozenset(self.data.blocks)
        sets = [frozenset([block]) for block in self.data.blocks]
        rows = []
        for names in dict.fromkeys([*sets, everything]):
            reading = self._reading(names, aim, generator)
            richer = fits.richer[names].mean(codes, fits.methods[0])
            linear = fits.linear[names].mean(codes, fits.methods[1])
            shared = {}
            if names != everything:
                others = fits.richer[everything - names]
                shared = sharing(
                    fits.richer[names],
                    others,
                    fits.richer[everything],
                    aim.values,
                    codes,
                )
            row = Row(
                block=ALL if len(names) > 1 else next(iter(names)),
                columns=sum(self.data.blocks[member].shape[1] for member in names),
                target=name,
                role=aim.role,
                classes=classes,
                reading=reading,
                linear=_with_upper_limit(linear, reading, ceiling),
                richer=_with_upper_limit(richer, reading, ceiling),
                ceiling=ceiling,
                sharing=shared,
            )
            rows.append(row)
        return rows

    def _fits(
        self, name: str, aim: _Aim, generator: np.random.Generator, progress: Progress
    ) -> _Fits:
        """Fits of every block, of all others of each, and of all of them."""
        kind = NUMBERS if aim.outcome.classes is None else CLASSES
        families = _LINEAR[kind]
        method = _NAMES[kind]
        mixture = Stacked(families, len(families))
        if kind in self.richer.outcomes:
            mixture = Stacked((*families, self.richer), len(families))
            method = f"{method}, {self.richer.name}"
        codes = self.data.codes
        blocks = self.data.blocks
        splits = fold_splits(aim.outcome, codes, self.folds, generator)
        splits = thinned(splits, codes, self.rows, generator)
        seed = int(generator.integers(2**63))
        richer = {}
        linear = {}
        folds_of_rows = None
        sets = self._sets()
        for done, names in enumerate(sets, 1):
            x = stacked(blocks, [block for block in blocks if block in names])
            if x.size:
                held_out = predictions(
                    mixture, x, aim.outcome, splits, codes, np.random.default_rng(seed)
                )
                richer_full, richer_half, linear_full, linear_half = held_out
                richer[names] = _local(richer_full, richer_half)
                linear[names] = _local(linear_full, linear_half)
                folds_of_rows = richer_full.fold
            else:
                zero = np.zeros(len(x))
                richer[names] = linear[names] = Local(zero, zero)
            progress(done / len(sets), f"{name}: {', '.join(sorted(names))}")
        if folds_of_rows is not None:  # at least one block varies
            richer = with_ignorance(richer, folds_of_rows)
        methods = (
            f"usable by a mixture of {method} and no input",
            f"usable by a mixture of {_NAMES[kind]} and no input",
        )
        return _Fits(richer, linear, methods)

    def _sets(self) -> list[frozenset[str]]:
        """Each block, all others of each, and all together."""
        everything = frozenset(self.data.blocks)
        alone = [frozenset([block]) for block in self.data.blocks]
        rests = [everything - block for block in alone if len(alone) > 1]
        return list(dict.fromkeys([*alone, *rests, everything]))

    def _reading(
        self, names: Iterable[str], aim: _Aim, generator: np.random.Generator
    ) -> Estimate:
        """The reading of some blocks, 0 of constant ones, or why there is none."""
        blocks = {name: self.data.blocks[name][self.few] for name in names}
        x = stacked(blocks, sorted(names))
        if not x.size:
            zero = np.zeros(self.data.n)
            method = "of a constant"
            return mean_of(zero, self.data.codes, method=method, notes=(CONSTANT,))
        y = aim.variable.take(self.few)
        try:
            pairs = as_pairs(Continuous(x), y, self.data.groups(self.few))
            return read(pairs, generator)
        except ValueError as error:
            return undefined(str(error))


def _local(full: Predictions, half: Predictions) -> Local:
    """Local values from predictions of fits to all training rows, and to half of them."""
    return Local(full.informed - full.null, half.informed - half.null)


def sharing(
    alone: Local, rest: Local, joint: Local, values: Codes, groups: Codes
) -> dict[str, Estimate]:
    """Unique, redundant and synergistic information of a block and all others about a
    target, nats: the six bounds by their names in `pid.Bounds`, and the terms by
    Williams & Beer 2010, from local values.

    values [n] are codes of the target. Intervals include both branches where they are
    close; crossing bounds are noted.
    """
    a = alone.mean(groups)
    b = rest.mean(groups)
    t = joint.mean(groups)
    estimates = _bounds(a, b, t)
    branches = []
    for takes_rest in either_specific(alone.full, rest.full, values):
        full = np.where(takes_rest, rest.full, alone.full)
        half = np.where(takes_rest, rest.half, alone.half)
        branches.append(Local(full, half).mean(groups))
    redundancy = min(branches, key=lambda branch: branch.measured.value)
    close = [
        branch
        for branch in branches
        if (branch.measured - redundancy.measured).low <= 0.0
    ]
    decompositions = [
        _decomposition(a, b, t, branch) for branch in (redundancy, *close)
    ]
    for name, terms in zip(TERMS, zip(*decompositions)):
        low = min(term.low for term in terms)
        high = max(term.high for term in terms)
        estimates[name] = replace(terms[0], interval=(low, high))
    return estimates


def _bounds(a: Extrapolated, b: Extrapolated, t: Extrapolated) -> dict[str, Estimate]:
    """The six bounds by their names in `pid.Bounds`, from the information of a, of b
    and of both.
    """
    estimates = {}
    upper_branches = []
    for name in Bounds._fields:
        branches = []
        for coefficients in getattr(BRANCHES, name):
            if any(coefficients):
                branches.append(_linear(coefficients, a, b, t))
        if is_low(name):  # the larger of 0 and the second branch
            estimates[name] = clipped(branches[0].estimate)
            continue
        upper_branches += branches
        smaller = min([branch.estimate for branch in branches], key=float)
        low = min(branch.estimate.low for branch in branches)
        high = min(branch.estimate.high for branch in branches)
        # no term is below 0
        estimates[name] = replace(smaller, interval=(low, max(0.0, high)))
    excess = min([branch.measured for branch in upper_branches], key=float)
    note = crossing_note(-excess.value, excess.standard_error, "nats")
    if note:
        for name, estimate in estimates.items():
            estimates[name] = replace(estimate, notes=(*estimate.notes, note))
    return estimates


def _decomposition(
    a: Extrapolated, b: Extrapolated, t: Extrapolated, redundancy: Extrapolated
) -> list[Estimate]:
    """The unique, redundant and synergistic term of this redundancy."""
    unique = a + -1.0 * redundancy
    synergistic = t + -1.0 * a + -1.0 * b + redundancy
    return [unique.estimate, redundancy.estimate, synergistic.estimate]


def _linear(coefficients: Sequence[int], *parts: Extrapolated) -> Extrapolated:
    """The sum of the parts, each times its coefficient; parts of coefficient 0 are left
    out.
    """
    first, *others = [
        float(factor) * part for factor, part in zip(coefficients, parts) if factor
    ]
    return sum(others, first)


def _with_upper_limit(
    information: Extrapolated, reading: Estimate, ceiling: Estimate | None
) -> Estimate:
    """Usable information with an interval that extends to the reading's upper limit if
    none is detected.

    It extends at least to where more training rows lead (`Extrapolated`) and to 0, and at most
    to H(target).
    """
    usable = information.estimate
    high = max(usable.high, 0.0)
    if information.measured.low <= 0.0 and reading.high > high:
        high = reading.high
    if ceiling is not None:
        high = min(high, max(ceiling.high, usable.value))
    low = min(usable.low, high)
    return replace(usable, interval=(low, high))


def _partition(
    data: _Data, few: Codes, settings: Mapping[str, Any]
) -> tuple[partition.PartitionReport | None, list[Note]]:
    """The scores of a partition into z_y, z_d, z_dy and z_x, or why there are none."""
    if not set(data.blocks) <= set(BLOCKS):
        return None, [
            Note(
                f"scores of a partition, which need blocks called {', '.join(BLOCKS)}.",
                "partition",
            )
        ]
    if "domain" not in data.aims or len(data.labels) != 1:
        domain = "a" if "domain" in data.aims else "no"
        got = f"{len(data.labels)} labels and {domain} domain"
        reason = f"which need a domain and one label of classes (label=): got {got}."
        return None, [Note(f"scores of a partition, {reason}", "partition")]
    y = data.aims[data.labels[0]].outcome.values[few]
    d = data.aims["domain"].outcome.values[few]
    blocks = {name: block[few] for name, block in data.blocks.items()}
    try:
        return partition.evaluate(blocks, y, d, data.groups(few), **settings), []
    except ValueError as error:
        return None, [Note(f"scores of the partition: {error}", "partition")]
