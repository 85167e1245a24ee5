"""The terms of a coherent information decomposition, all read from the same joint classifiers.

Every term is a difference of log q(labels | blocks, other labels), in which each q is a marginal or a conditional of
one table q(all labels | blocks). So the chain rule and the equality of the two forms of co-information hold for every
row, not only in the limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from infoscope.errors import InvalidInput, MissingValues, OutOfRange, UnknownName
from infoscope.estimators.result import Estimate, mean_of

Names = str | Iterable[str]


@dataclass(frozen=True)
class Calibration:
    """How far the held-out probabilities of one joint classifier can be taken at their word.

    log_loss_before             mean -log q of the joint class before calibration, nats
    log_loss_after              the same after it
    log_loss_standard_error     of log_loss_after, robust to groups, nats
    expected_calibration_error  mean |share right - top probability| over up to 15 bins of equally many rows (Guo et al.
                                2017); about sqrt(bins / n) of it is noise
    slopes                      the factors on the log odds against the class frequencies, fold after fold: below 1
                                where the family was overconfident, near 0 where it found nothing. With two labels
                                three in each fold: of the first alone, of the second, of both beyond that
    families                    the family of each fold, where there was a choice of several
    """

    log_loss_before: float
    log_loss_after: float
    log_loss_standard_error: float
    expected_calibration_error: float
    slopes: tuple[float, ...]
    families: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Information:
    """Entropies and mutual information of labels and blocks, as usable by one predictive family; nats.

    Standard errors are robust to dependence within groups. What the training sets' own randomness adds is not in them
    (the folds' classifiers share most of their training rows); where an input is useless they can be 40 % too small.

    Every method names blocks and labels, one by its name or several in a tuple. Nothing is clipped: an estimate below
    zero is an estimate of little or nothing. `pointwise_*` give a value for each row [n], whose mean is the term.

    family       the predictive family with its settings
    blocks       names of the blocks
    labels       names of the label variables
    classes      how many combinations of label values occur
    folds        the fold in which each row was held out, int64 [n]
    floor        the least probability of a joint class
    calibration  for each set of blocks that was fitted
    row_groups   the group of each row, codes int64 [n]
    """

    family: str
    blocks: tuple[str, ...]
    labels: tuple[str, ...]
    classes: int
    folds: np.ndarray
    floor: float
    calibration: Mapping[frozenset[str], Calibration]
    row_groups: np.ndarray
    # log q(labels | blocks) of the labels that each row has: set of blocks -> set of labels -> [n].
    log_marginals: Mapping[frozenset[str], Mapping[frozenset[str], np.ndarray]]

    def __repr__(self) -> str:
        return (
            f"information of labels {', '.join(self.labels)} and blocks {', '.join(self.blocks)}, as usable by "
            f"{self.family}, {int(self.folds.max()) + 1} folds, n = {self.n:,} in {self.groups:,} groups"
        )

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.row_groups)

    @property
    def groups(self) -> int:
        """Number of groups; n when every row is its own."""
        return int(self.row_groups.max()) + 1

    def entropy(self, target: Names, given: Names = ()) -> Estimate:
        """H(target | given): target labels, given blocks and labels. With blocks, a cross-entropy of the family."""
        return self.estimate(self.pointwise_entropy(target, given))

    def information(self, a: Names, b: Names, given: Names = ()) -> Estimate:
        """I(a; b | given). At least one of a and b must be labels only; a and b may change places.

        A lower bound up to sampling error, and that of the class frequencies, unless blocks are given: then it is a
        difference of two usable informations and bounds nothing.
        """
        return self.estimate(self.pointwise(a, b, given))

    def co_information(self, a: Names, b: Names, target: Names, given: Names = ()) -> Estimate:
        """I(a; target) + I(b; target) - I(a, b; target), all given `given`: positive = redundancy, negative = synergy.

        The same as I(a; target) - I(a; target | b), and for labels the same whichever of the three is the target. A
        difference of usable informations: no bound on that of Shannon.
        """
        return self.estimate(self.pointwise_co_information(a, b, target, given))

    def pointwise_entropy(self, target: Names, given: Names = ()) -> np.ndarray:
        """-log q(target | given) of every row [n], nats."""
        target_blocks, target_labels = self._parts("target", target)
        if target_blocks or not target_labels:
            raise InvalidInput(f"target must be some of the labels {list(self.labels)}, got {target!r}.")
        blocks, labels = self._parts("given", given)
        marginals = self._marginals(blocks)
        return marginals[labels] - marginals[labels | target_labels]

    def pointwise(self, a: Names, b: Names, given: Names = ()) -> np.ndarray:
        """log q(b | a, given) - log q(b | given) of every row [n], nats (pointwise mutual information)."""
        (blocks_a, labels_a), (blocks_b, labels_b) = self._parts("a", a), self._parts("b", b)
        blocks, labels = self._parts("given", given)
        if not blocks_a | labels_a or not blocks_b | labels_b:
            raise OutOfRange(f"a and b must each name at least one block or label, got {a!r} and {b!r}.")
        if blocks_a and blocks_b:
            raise OutOfRange(
                f"a or b must be labels only, got {a!r} and {b!r}: a classifier measures what blocks share with "
                "labels, not with one another."
            )
        if blocks_b:
            blocks_a, labels_a, labels_b = blocks_b, labels_b, labels_a
        predicted = labels_b | labels
        without, with_a = self._marginals(blocks), self._marginals(blocks | blocks_a)
        return (with_a[predicted | labels_a] - with_a[labels | labels_a]) - (without[predicted] - without[labels])

    def pointwise_co_information(self, a: Names, b: Names, target: Names, given: Names = ()) -> np.ndarray:
        """The co-information of every row [n], nats."""
        both = (*as_tuple(a), *as_tuple(b))
        return self.pointwise(a, target, given) + self.pointwise(b, target, given) - self.pointwise(both, target, given)

    def estimate(self, values: np.ndarray) -> Estimate:
        """The mean of pointwise values [n] with its interval: for sums and differences of terms, also across models.

        ValueError unless there is one finite value for each row.
        """
        values = np.asarray(values, dtype=np.float64)
        if values.shape != (self.n,) or not np.isfinite(values).all():
            raise MissingValues(
                f"values must be {self.n} finite numbers, one for each row, got shape {list(values.shape)} with "
                f"{int((~np.isfinite(values)).sum())} that are not finite."
            )
        return mean_of(values, self.row_groups, method=self.family, settings=f"{int(self.folds.max()) + 1} folds")

    def _parts(self, argument: str, names: Names) -> tuple[frozenset[str], frozenset[str]]:
        """The blocks and the labels among names."""
        names = frozenset(as_tuple(names))
        unknown = names - set(self.blocks) - set(self.labels)
        if unknown:
            raise UnknownName(
                f"{argument} must name blocks {list(self.blocks)} or labels {list(self.labels)}, got {sorted(unknown)}."
            )
        return names & set(self.blocks), names & set(self.labels)

    def _marginals(self, blocks: frozenset[str]) -> Mapping[frozenset[str], np.ndarray]:
        if blocks not in self.log_marginals:
            fitted = sorted(sorted(subset) for subset in self.calibration)
            raise ValueError(f"no classifier was fitted on the blocks {sorted(blocks)}, only on {fitted}; see subsets.")
        return self.log_marginals[blocks]


def as_tuple(names: Names) -> tuple[str, ...]:
    """One name or several, as a tuple."""
    return (names,) if isinstance(names, str) else tuple(names)
