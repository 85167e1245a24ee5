"""A decomposition of information from cross-fitted, calibrated joint classifiers.

For each set of blocks one classifier of all labels jointly gives every term from its table q(labels | blocks), so terms
add up exactly. Values are V-information (Xu et al. 2020). I(blocks; labels | labels) is a lower bound on Shannon
information up to sampling error; terms given blocks, and co-information, are differences and bound nothing.

Calibration: the log odds against the class frequencies are a sum over sets of labels (Moebius inversion), each part
with a factor; with one label this is temperature scaling (Guo et al. 2017) around the class frequencies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from infoscope.errors import Conflict, InvalidInput, NoVariation, OutOfRange
from infoscope.estimators.alignment import aligns
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.classifier.information import Calibration, Information, Names, as_tuple
from infoscope.estimators.classifier.inputs import (
    JointLabels,
    as_blocks,
    as_joint_labels,
    assign_folds,
    coded,
    combined,
)
from infoscope.estimators.families.protocol import ClassPredictor, Family, fit_each
from infoscope.estimators.families.registry import as_classifiers
from infoscope.estimators.threads import threads_for

Array = NDArray[np.float64]


def log_odds_parts(logs: Array, prior: Array, joint: JointLabels) -> Array:
    """Log odds log q / prior [m, classes] as a sum of parts [parts, m, classes], one for every set of labels."""
    table, frequencies = np.exp(logs), np.exp(np.broadcast_to(prior, logs.shape))
    parts: dict[tuple[str, ...], Array] = {}
    for size in range(1, len(joint.values) + 1):
        for names in combinations(joint.values, size):
            value = combined([joint.values[name] for name in names])
            belongs = np.eye(int(value.max()) + 1)[value]
            odds = (np.log(table @ belongs) - np.log(frequencies @ belongs))[:, value]
            parts[names] = odds - sum(part for of, part in parts.items() if set(of) < set(names))
    return np.stack(list(parts.values()))


def calibrating_slopes(parts: Array, prior: Array, classes: NDArray[np.int64]) -> tuple[Array, float]:
    """The slopes b [parts] that minimise the log loss of q ~ prior * exp(sum of b * part), and that loss, nats.

    parts [parts, m, classes], prior [m, classes] or [classes], classes [m]. The loss is convex in b.
    """
    features, start = parts.reshape(len(parts), -1).astype(np.float32), np.asarray(prior, np.float32)
    m, count = parts.shape[1:]
    chosen = np.take_along_axis(parts, classes[None, :, None], axis=2).mean(axis=(1, 2))

    def loss(slopes: Array) -> tuple[float, Array]:
        scores = start + (slopes.astype(np.float32) @ features).reshape(m, count)
        scores -= scores.max(axis=1, keepdims=True)
        odds = np.exp(scores)
        totals = odds.sum(axis=1)
        value = float((np.log(totals) - scores[np.arange(m), classes]).mean(dtype=np.float64))
        expected = (features @ (odds / totals[:, None]).ravel()).astype(np.float64) / m
        return value, expected - chosen

    limits = [(-1.0, 10.0)] * len(parts)  # with separable labels slopes would be unbounded
    with threads_for(parts.size):
        found = minimize(loss, np.ones(len(parts)), jac=True, bounds=limits, options={"ftol": 1e-8})
    return found.x, float(found.fun)


def calibrating_slope(logs: Array, prior: Array, classes: NDArray[np.int64]) -> tuple[float, float]:
    """The one slope b that minimises the log loss of q ~ prior * (q0 / prior)^b for rows of log q0 [m, classes]."""
    slopes, loss = calibrating_slopes((logs - prior)[None], prior, classes)
    return float(slopes[0]), loss


@aligns("blocks", "labels", "groups")
def cross_fit(
    blocks: ArrayLike | Mapping[str, ArrayLike],
    labels: ArrayLike | Mapping[str, ArrayLike],
    groups: ArrayLike | None = None,
    family: Any = "logistic",
    folds: int = 5,
    subsets: Iterable[Names] | None = None,
    floor: float = 1e-6,
    generator: np.random.Generator | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> Information:
    """Information with every term, from one calibrated joint classifier of all labels for each set of blocks.

    blocks   name -> [n, d] numbers, or one array, called "z"
    labels   name -> [n] categories, or one array, called "y"; classes are the combinations that occur
    groups   [n], dependent rows (patches of one patient), which share a fold
    family   "logistic", "gradient-boosting", "mlp", "knn", or what `families.as_family` takes; several: chosen by fold
    folds    at least 3; each set of blocks costs folds (folds + 1) / 2 trainings
    subsets  the sets of blocks to fit; None: each block alone, each block's complement, and all together
    floor    the least probability of a joint class (tables are mixed with the uniform distribution)
    generator  None is a fresh one with seed 0
    progress   called after each set of blocks with the share done, and its name

    The calibration of fold f is fitted on predictions for other folds g by classifiers trained without f and g.
    ValueError for blocks or labels that do not fit together, are not finite or have one class only, a joint class in
    fewer than two groups, folds outside 3..groups, a floor outside (0, 1 / classes), unknown names.
    """
    blocks = as_blocks(blocks)
    n = len(next(iter(blocks.values())))
    joint = as_joint_labels(labels, n)
    shared = set(blocks) & set(joint.values)
    if shared:
        raise Conflict(f"blocks and labels must have different names, got {sorted(shared)} in both.")
    if not 0.0 < floor * joint.count < 1.0:
        raise OutOfRange(f"floor must be between 0 and 1 / {joint.count} (joint classes), got {floor!r}.")
    families = as_classifiers(family)
    row_groups = np.arange(n) if groups is None else coded("groups", groups, n)
    generator = generator_or_default(generator)
    fold_of = assign_folds(joint.classes, row_groups, folds, generator)
    seed = int(generator.integers(2**63))
    wanted = default_subsets(blocks) if subsets is None else subsets
    distinct = list(dict.fromkeys(frozenset(as_tuple(subset)) for subset in wanted))
    for subset in distinct:
        if not subset or not subset <= set(blocks):
            raise InvalidInput(f"subsets must be non-empty sets of {list(blocks)}, got {sorted(subset)}.")

    task = Task(joint, row_groups, fold_of, families, floor)
    log_marginals = {frozenset(): row_marginals(task.priors(), joint)}
    calibration = {}
    for done, subset in enumerate(distinct):
        x = np.hstack([block for name, block in blocks.items() if name in subset])
        with threads_for(x.size * joint.count):
            logs, chosen = task.posteriors(x, np.random.default_rng(seed))
        log_marginals[subset] = row_marginals(logs, joint)
        calibration[subset] = Calibration(
            expected_calibration_error(logs, joint.classes),
            tuple(float(slope) for _, slopes in chosen for slope in slopes),
            tuple(family.name for family, _ in chosen),
        )
        if progress is not None:
            progress((done + 1) / len(distinct), f"classifier: {', '.join(sorted(subset))}")
    return Information(
        family=" or ".join(family.name for family in families),
        blocks=tuple(blocks),
        labels=tuple(joint.values),
        classes=joint.count,
        folds=fold_of,
        floor=floor,
        calibration=calibration,
        row_groups=row_groups,
        log_marginals=log_marginals,
    )


def default_subsets(blocks: Iterable[str]) -> list[tuple[str, ...]]:
    """Each block alone, each block's complement, and all together."""
    names = tuple(blocks)
    complements = [tuple(other for other in names if other != name) for name in names]
    return [(name,) for name in names] + [c for c in complements if c] + [names]


@dataclass(frozen=True, eq=False)
class Task:
    """Shared by all sets of blocks: joint classes, groups, folds, families to choose from, and the floor."""

    joint: JointLabels
    groups: np.ndarray
    folds: np.ndarray
    families: tuple[Family, ...]
    floor: float

    def priors(self) -> np.ndarray:
        """log frequencies of the joint classes among each row's training rows, with the floor [n, classes]."""
        logs = np.empty((len(self.folds), self.joint.count))
        for fold in range(int(self.folds.max()) + 1):
            logs[self.folds == fold] = self.log_frequencies(self.folds != fold)
        return logs

    def posteriors(
        self, x: np.ndarray, generator: np.random.Generator
    ) -> tuple[np.ndarray, list[tuple[Family, np.ndarray]]]:
        """Held-out calibrated log q(class | x) [n, classes]; the family and slopes of every fold."""
        calibrations = self.calibrations(x, generator)
        logs = np.empty((len(x), self.joint.count))
        for chosen in self.families:
            own = [fold for fold, (family, _) in enumerate(calibrations) if family is chosen]
            fits = self.fits(chosen, x, [self.folds != fold for fold in own], generator)
            for fold, fit in zip(own, fits):
                held = self.folds == fold
                prior = self.log_frequencies(~held)
                raw = floored(fit.log_probabilities(x[held]), self.floor)
                odds = np.tensordot(calibrations[fold][1], log_odds_parts(raw, prior, self.joint), 1)
                logs[held] = floored(log_softmax(prior + odds, axis=1), self.floor)
        return logs, calibrations

    def calibrations(self, x: np.ndarray, generator: np.random.Generator) -> list[tuple[Family, np.ndarray]]:
        """The best family of every fold and its slopes, from predictions of each other fold by fits without both."""
        count = int(self.folds.max()) + 1
        pairs = list(combinations(range(count), 2))
        tries: list[list[tuple[np.ndarray, float]]] = [[] for _ in range(count)]
        for family in self.families:
            parts = np.empty((count, 2 ** len(self.joint.values) - 1, len(x), self.joint.count), np.float32)
            priors = np.empty((count, len(x), self.joint.count), np.float32)
            trainings = [~np.isin(self.folds, pair) for pair in pairs]
            for pair, trained, fit in zip(pairs, trainings, self.fits(family, x, trainings, generator)):
                prior = self.log_frequencies(trained)
                for fold, other in (pair, pair[::-1]):
                    other_rows = self.folds == other
                    predicted = floored(fit.log_probabilities(x[other_rows]), self.floor)
                    parts[fold][:, other_rows] = log_odds_parts(predicted, prior, self.joint)
                    priors[fold, other_rows] = prior
            for fold in range(count):
                rest = self.folds != fold
                found = calibrating_slopes(parts[fold][:, rest], priors[fold, rest], self.joint.classes[rest])
                tries[fold].append(found)
        best = [min(range(len(tried)), key=lambda choice: tried[choice][1]) for tried in tries]
        return [(self.families[choice], tried[choice][0]) for choice, tried in zip(best, tries)]

    def fits(
        self, family: Family, x: np.ndarray, trainings: Sequence[np.ndarray], generator: np.random.Generator
    ) -> list[ClassPredictor]:
        """A predictor of all joint classes for each training set (a mask [n])."""
        if any(np.ptp(self.joint.classes[rows]) == 0 for rows in trainings):
            raise NoVariation("labels must have several joint classes in every training set, got one; use fewer folds.")
        return fit_each(family, x, self.joint.classes, trainings, self.joint.count, self.groups, generator)

    def log_frequencies(self, rows: np.ndarray) -> np.ndarray:
        """log frequencies [classes] of the joint classes among `rows` (a mask), with the floor."""
        counts = np.bincount(self.joint.classes[rows], minlength=self.joint.count)
        with np.errstate(divide="ignore"):
            return floored(np.log(counts / counts.sum()), self.floor)


def floored(logs: np.ndarray, floor: float) -> np.ndarray:
    """Log probabilities [..., classes] mixed with the uniform distribution, so that none is below `floor`."""
    return np.log((1.0 - logs.shape[-1] * floor) * np.exp(logs) + floor)


def row_marginals(logs: np.ndarray, joint: JointLabels) -> dict[frozenset[str], np.ndarray]:
    """log of the probability of each row's own values, for every set of labels [n], from log q(class) [n, classes]."""
    table = np.exp(logs)
    marginals = {frozenset(): np.zeros(len(table))}
    for size in range(1, len(joint.values) + 1):
        for names in combinations(joint.values, size):
            value = combined([joint.values[name] for name in names])
            sums = table @ np.eye(int(value.max()) + 1)[value]
            marginals[frozenset(names)] = np.log(sums[np.arange(len(table)), value[joint.classes]])
    return marginals


def expected_calibration_error(logs: np.ndarray, classes: np.ndarray) -> float:
    """Expected calibration error of held-out log q [n, classes], over up to 15 bins of equally many rows (Guo et al.
    2017).
    """
    top = logs.max(axis=1)
    gap = (logs.argmax(axis=1) == classes) - np.exp(top)
    misses = np.bincount(_equal_bins(top, min(15, len(classes))), gap)
    return float(np.abs(misses).sum() / len(classes))


def _equal_bins(values: np.ndarray, number: int) -> np.ndarray:
    """Bins [n] of equally many values in order; equal values share the bin of their middle, in any order of rows."""
    _, of, counts = np.unique(values, return_inverse=True, return_counts=True)
    bin_of_place = np.repeat(np.arange(number), [len(part) for part in np.array_split(values, number)])
    return bin_of_place[(np.cumsum(counts) - (counts + 1) // 2)[of]]
