"""Terms of an information decomposition from one table q(labels | blocks), for which the chain rule is exact."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from infoscope.errors import InvalidInput, MissingValues, OutOfRange, UnknownName
from infoscope.estimators.result import Estimate, mean_of

Names = str | Iterable[str]


@dataclass(frozen=True)
class Calibration:
    """Calibration of the held-out probabilities of one joint classifier.

    expected_calibration_error  of calibrated probabilities; sqrt(bins / n) of it is noise
    slopes                      factors on the log odds, by fold: below 1 if overconfident, near 0 without information;
                                three with two labels: of each alone, and of their interaction
    families                    the family of each fold, where there was a choice
    """

    expected_calibration_error: float
    slopes: tuple[float, ...]
    families: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Information:
    """Entropies and mutual information of labels and blocks, usable by one predictive family; nats, not clipped.

    Methods take names of blocks and labels, one or a tuple; `pointwise_*` give values [n] whose mean is the term.
    Standard errors are robust to groups but omit training randomness: without information they can be 40 % too small.

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
        """I(a; b | given). At least one of a and b must be labels only.

        A lower bound up to sampling error unless blocks are given: then it is a difference that bounds nothing.
        """
        return self.estimate(self.pointwise(a, b, given))

    def co_information(self, a: Names, b: Names, target: Names, given: Names = ()) -> Estimate:
        """I(a; target) + I(b; target) - I(a, b; target), given `given`: redundancy above 0. No bound."""
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
            raise OutOfRange(f"a or b must be labels only, got {a!r} and {b!r}: blocks are compared with labels only.")
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
        """The mean of pointwise values [n] with its interval. ValueError unless each row has one finite value."""
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
            raise UnknownName(f"blocks must be among those fitted, {fitted} (see subsets), got {sorted(blocks)}.")
        return self.log_marginals[blocks]


def as_tuple(names: Names) -> tuple[str, ...]:
    """One name or several, as a tuple."""
    return (names,) if isinstance(names, str) else tuple(names)
