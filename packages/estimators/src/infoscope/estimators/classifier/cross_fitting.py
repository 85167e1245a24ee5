"""A decomposition of information from cross-fitted, calibrated joint classifiers.

For each set of blocks, one classifier predicts all labels jointly. Every term is
computed from its table q(labels | blocks), so terms add up exactly. Values are
V-information (Xu et al. 2020). I(blocks; labels | labels) is a lower bound on Shannon
information, up to sampling error. Terms given blocks, and co-information, are
differences: they are no bounds.

Calibration: the log odds against the class frequencies are a sum of parts, one for each
set of labels (Moebius inversion). Each part is multiplied by a slope. With one label
this is temperature scaling (Guo et al. 2017) around the class frequencies.
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
from infoscope.estimators.classifier.information import (
    Calibration,
    Information,
    Names,
    as_tuple,
)
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

CALIBRATION_BINS = 15  # at most
Array = NDArray[np.float64]


def log_odds_parts(logs: Array, prior: Array, joint: JointLabels) -> Array:
    """Parts [parts, m, classes] of the log odds log q / prior [m, classes].

    There is one part for every set of labels; their sum is the log odds.
    """
    probabilities = np.exp(logs)
    frequencies = np.exp(np.broadcast_to(prior, logs.shape))
    parts: dict[frozenset[str], Array] = {}
    for names, codes in label_sets(joint).items():
        indicators = np.eye(int(codes.max()) + 1)[codes]
        log_probabilities = np.log(probabilities @ indicators)
        log_odds = log_probabilities - np.log(frequencies @ indicators)
        subset_parts = [part for subset, part in parts.items() if subset < names]
        parts[names] = log_odds[:, codes] - sum(subset_parts)
    return np.stack(list(parts.values()))


def label_sets(joint: JointLabels) -> dict[frozenset[str], NDArray[np.int64]]:
    """Every set of labels, the smallest first, with codes [classes].

    A code is the joint value of the set's labels in a joint class.
    """
    codes = {}
    for size in range(1, len(joint.values) + 1):
        for names in combinations(joint.values, size):
            columns = [joint.values[name] for name in names]
            codes[frozenset(names)] = combined(columns)
    return codes


def calibrating_slopes(
    parts: Array, prior: Array, classes: NDArray[np.int64]
) -> tuple[Array, float]:
    """The slopes b [parts] with the least log loss, and this loss, nats.

    The loss is of q ~ prior * exp(sum of b * part), and convex in b. Shapes: parts
    [parts, m, classes], prior [m, classes] or [classes], classes [m].
    """
    features = parts.reshape(len(parts), -1).astype(np.float32)
    log_prior = np.asarray(prior, np.float32)
    _, m, count = parts.shape
    parts_of_class = np.take_along_axis(parts, classes[None, :, None], axis=2)
    observed = parts_of_class.mean(axis=(1, 2))

    def loss_and_gradient(slopes: Array) -> tuple[float, Array]:
        log_odds = slopes.astype(np.float32) @ features
        scores = log_prior + log_odds.reshape(m, count)
        scores -= scores.max(axis=1, keepdims=True)
        odds = np.exp(scores)
        totals = odds.sum(axis=1)
        losses = np.log(totals) - scores[np.arange(m), classes]
        probabilities = odds / totals[:, None]
        expected = features @ probabilities.ravel()
        gradient = expected.astype(np.float64) / m - observed
        return float(losses.mean(dtype=np.float64)), gradient

    start = np.ones(len(parts))
    # the slopes of separable labels have no finite optimum
    bounds = [(-1.0, 10.0)] * len(parts)
    with threads_for(parts.size):
        optimum = minimize(
            loss_and_gradient, start, jac=True, bounds=bounds, options={"ftol": 1e-8}
        )
    return optimum.x, float(optimum.fun)


def calibrating_slope(
    logs: Array, prior: Array, classes: NDArray[np.int64]
) -> tuple[float, float]:
    """The single slope b with the least log loss of q ~ prior * (q0 / prior)^b.

    Also returns this loss, nats. `logs` are log q0 [m, classes].
    """
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
    """Information with every term, from calibrated joint classifiers of all labels.

    There is one classifier for each set of blocks. The calibration of fold f is fitted
    on predictions for every other fold g, by classifiers trained without f and g.

    Parameters
    ----------
    blocks : mapping of name to array_like [n, d], or one array, called "z"
        Numbers.
    labels : mapping of name to array_like [n], or one array, called "y"
        Categories; joint classes are the combinations that occur.
    groups : array_like [n], optional
        Labels of dependent rows (patches of one patient), which share a fold.
    family : str, family or sequence of these
        "logistic", "gradient-boosting", "mlp", "knn", or what `families.as_family`
        takes; of several families, each fold uses the best.
    folds : int
        At least 3; each set of blocks costs folds (folds + 1) / 2 trainings.
    subsets : iterable of names, optional
        Sets of blocks to fit; None is each block alone, each block's complement, and
        all together.
    floor : float
        The smallest probability of a joint class (tables are mixed with the uniform
        distribution).
    generator : numpy.random.Generator, optional
        None is a new generator with seed 0.
    progress : callable, optional
        Called after each set of blocks with the share done, and its name.

    Returns
    -------
    Information

    Raises
    ------
    InfoscopeError
        Blocks and labels of different lengths; blocks that are not finite; labels of one
        class; a joint class in fewer than two groups; folds outside 3..groups; a floor
        outside (0, 1 / classes); unknown names.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.arange(60) % 2
    >>> z = 2.0 * y + np.random.default_rng(0).normal(size=60)
    >>> cross_fit(z, y).information("z", "y").n
    60
    """
    blocks = as_blocks(blocks)
    n = len(next(iter(blocks.values())))
    joint = as_joint_labels(labels, n)
    shared = set(blocks) & set(joint.values)
    if shared:
        raise Conflict(
            f"blocks and labels must have different names, got {sorted(shared)} in "
            "both."
        )
    if not 0.0 < floor * joint.count < 1.0:
        raise OutOfRange(
            f"floor must be between 0 and 1 / {joint.count} (joint classes), got "
            f"{floor!r}."
        )
    families = as_classifiers(family)
    row_groups = np.arange(n) if groups is None else coded("groups", groups, n)
    generator = generator_or_default(generator)
    fold_of_row = assign_folds(joint.classes, row_groups, folds, generator)
    seed = int(generator.integers(2**63))
    if subsets is None:
        subsets = default_subsets(blocks)
    name_sets = [frozenset(as_tuple(subset)) for subset in subsets]
    distinct_subsets = list(dict.fromkeys(name_sets))
    for subset in distinct_subsets:
        if not subset or not subset <= set(blocks):
            raise InvalidInput(
                f"subsets must be non-empty sets of {list(blocks)}, got "
                f"{sorted(subset)}."
            )

    task = Task(joint, row_groups, fold_of_row, families, floor)
    log_marginals = {frozenset(): row_marginals(task.priors(), joint)}
    calibration = {}
    for number, subset in enumerate(distinct_subsets, start=1):
        x = np.hstack([block for name, block in blocks.items() if name in subset])
        with threads_for(x.size * joint.count):
            logs, calibrations = task.posteriors(x, np.random.default_rng(seed))
        log_marginals[subset] = row_marginals(logs, joint)
        slopes = np.concatenate([fold.slopes for fold in calibrations])
        names = tuple(fold.family.name for fold in calibrations)
        error = expected_calibration_error(logs, joint.classes)
        calibration[subset] = Calibration(error, tuple(slopes.tolist()), names)
        if progress is not None:
            share = number / len(distinct_subsets)
            progress(share, f"classifier: {', '.join(sorted(subset))}")
    return Information(
        family=" or ".join(family.name for family in families),
        blocks=tuple(blocks),
        labels=tuple(joint.values),
        classes=joint.count,
        folds=fold_of_row,
        floor=floor,
        calibration=calibration,
        row_groups=row_groups,
        log_marginals=log_marginals,
    )


def default_subsets(blocks: Iterable[str]) -> list[tuple[str, ...]]:
    """Each block alone, each block's complement, and all together."""
    names = tuple(blocks)
    singles = list(combinations(names, 1))
    complements = []
    if len(names) > 1:
        complements = list(combinations(names, len(names) - 1))
        complements.reverse()
    return [*singles, *complements, names]


@dataclass(frozen=True, eq=False)
class FoldCalibration:
    """The family with the least calibrated loss (nats) for one fold.

    slopes  [parts], of its log odds
    """

    family: Family
    slopes: Array
    loss: float


@dataclass(frozen=True, eq=False)
class Task:
    """The arguments that all sets of blocks share."""

    joint: JointLabels
    groups: np.ndarray
    folds: np.ndarray
    families: tuple[Family, ...]
    floor: float

    def priors(self) -> np.ndarray:
        """Log frequencies [n, classes] of the joint classes among training rows.

        The training rows of a row are in other folds. The floor is included.
        """
        logs = np.empty((len(self.folds), self.joint.count))
        for fold in range(int(self.folds.max()) + 1):
            logs[self.folds == fold] = self.log_frequencies(self.folds != fold)
        return logs

    def posteriors(
        self, x: np.ndarray, generator: np.random.Generator
    ) -> tuple[Array, list[FoldCalibration]]:
        """Held-out calibrated log q(class | x) [n, classes], and every calibration."""
        calibrations = self.calibrations(x, generator)
        logs = np.empty((len(x), self.joint.count))
        for family in self.families:
            folds = []
            for fold, calibration in enumerate(calibrations):
                if calibration.family is family:
                    folds.append(fold)
            trainings = [self.folds != fold for fold in folds]
            fits = self.fits(family, x, trainings, generator)
            for fold, training, fit in zip(folds, trainings, fits):
                prior = self.log_frequencies(training)
                parts = self.predicted_parts(fit, x[~training], prior)
                log_odds = np.tensordot(calibrations[fold].slopes, parts, 1)
                calibrated = log_softmax(prior + log_odds, axis=1)
                logs[~training] = floored(calibrated, self.floor)
        return logs, calibrations

    def calibrations(
        self, x: np.ndarray, generator: np.random.Generator
    ) -> list[FoldCalibration]:
        """The calibration of every fold.

        It is fitted to predictions for each other fold, by fits without both folds.
        """
        count = int(self.folds.max()) + 1
        pairs = list(combinations(range(count), 2))
        trainings = [~np.isin(self.folds, pair) for pair in pairs]
        part_count = 2 ** len(self.joint.values) - 1
        shape = (len(x), self.joint.count)
        best: dict[int, FoldCalibration] = {}
        for family in self.families:
            parts = np.empty((count, part_count, *shape), np.float32)
            priors = np.empty((count, *shape), np.float32)
            fits = self.fits(family, x, trainings, generator)
            for (first, second), training, fit in zip(pairs, trainings, fits):
                prior = self.log_frequencies(training)
                for fold, other in ((first, second), (second, first)):
                    rows = self.folds == other
                    parts[fold][:, rows] = self.predicted_parts(fit, x[rows], prior)
                    priors[fold, rows] = prior
            for fold in range(count):
                rows = self.folds != fold
                classes = self.joint.classes[rows]
                slopes, loss = calibrating_slopes(
                    parts[fold][:, rows], priors[fold, rows], classes
                )
                if fold not in best or loss < best[fold].loss:
                    best[fold] = FoldCalibration(family, slopes, loss)
        return [best[fold] for fold in range(count)]

    def predicted_parts(
        self, fit: ClassPredictor, x: np.ndarray, prior: np.ndarray
    ) -> Array:
        """Parts [parts, m, classes] of the log odds that a fit predicts for x [m, d]."""
        logs = floored(fit.log_probabilities(x), self.floor)
        return log_odds_parts(logs, prior, self.joint)

    def fits(
        self,
        family: Family,
        x: np.ndarray,
        trainings: Sequence[np.ndarray],
        generator: np.random.Generator,
    ) -> list[ClassPredictor]:
        """A predictor of all joint classes for each training set (a mask [n])."""
        classes = self.joint.classes
        if any(np.ptp(classes[rows]) == 0 for rows in trainings):
            raise NoVariation(
                "labels must have several joint classes in every training set, got "
                "one; use fewer folds."
            )
        return fit_each(
            family, x, classes, trainings, self.joint.count, self.groups, generator
        )

    def log_frequencies(self, rows: np.ndarray) -> np.ndarray:
        """Log frequencies [classes] of joint classes in `rows` (a mask), with the floor."""
        counts = np.bincount(self.joint.classes[rows], minlength=self.joint.count)
        with np.errstate(divide="ignore"):
            return floored(np.log(counts / counts.sum()), self.floor)


def floored(logs: np.ndarray, floor: float) -> np.ndarray:
    """Log probabilities [..., classes], mixed with the uniform distribution.

    No probability is then below `floor`.
    """
    weight = 1.0 - logs.shape[-1] * floor
    return np.log(weight * np.exp(logs) + floor)


def row_marginals(
    logs: np.ndarray, joint: JointLabels
) -> dict[frozenset[str], np.ndarray]:
    """Log probability [n] of the observed values of every set of labels.

    `logs` are log q(class) [n, classes].
    """
    probabilities = np.exp(logs)
    rows = np.arange(len(logs))
    marginals: dict[frozenset[str], np.ndarray] = {frozenset(): np.zeros(len(logs))}
    for names, codes in label_sets(joint).items():
        indicators = np.eye(int(codes.max()) + 1)[codes]
        sums = probabilities @ indicators
        observed = codes[joint.classes]
        marginals[names] = np.log(sums[rows, observed])
    return marginals


def expected_calibration_error(logs: np.ndarray, classes: np.ndarray) -> float:
    """Expected calibration error (Guo et al. 2017) of held-out log q [n, classes].

    The bins have equal numbers of rows.
    """
    log_confidence = logs.max(axis=1)
    is_correct = logs.argmax(axis=1) == classes
    bins = _equal_bins(log_confidence, min(CALIBRATION_BINS, len(classes)))
    gaps = np.bincount(bins, is_correct - np.exp(log_confidence))
    return float(np.abs(gaps).sum() / len(classes))


def _equal_bins(values: np.ndarray, number: int) -> np.ndarray:
    """Bins [n] of values; each bin has the same number of values.

    Equal values share the bin of their middle, for any order of rows.
    """
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    sizes = [len(part) for part in np.array_split(values, number)]
    bin_of_place = np.repeat(np.arange(number), sizes)
    middles = np.cumsum(counts) - (counts + 1) // 2
    return bin_of_place[middles[codes]]
