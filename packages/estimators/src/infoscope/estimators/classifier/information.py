"""Terms of an information decomposition from one table q(labels | blocks).

The chain rule is exact.
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
    """Calibration of the held-out probabilities of one joint classifier.

    Parameters
    ----------
    expected_calibration_error : float
        Of calibrated probabilities; sqrt(bins / n) of it is noise.
    slopes : tuple of float
        Factors on the log odds, by fold: below 1 if overconfident, near 0 without
        information. Two labels have three: one for each alone, and one for their
        interaction.
    families : tuple of str
        The family of each fold.
    """

    expected_calibration_error: float
    slopes: tuple[float, ...]
    families: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Information:
    """Entropies and mutual information of labels and blocks, nats, not clipped.

    They measure what one predictive family can use.

    Methods take names of blocks and labels, one or a tuple; `pointwise_*` give values
    [n] whose mean is the term. Standard errors are robust to groups but omit training
    randomness: without information they can be 40 % too small.

    Parameters
    ----------
    family : str
        Name of the predictive family.
    blocks, labels : tuple of str
        Names.
    classes : int
        How many combinations of label values occur.
    folds : ndarray of int64 [n]
        The fold in which each row was held out.
    floor : float
        The least probability of a joint class.
    calibration : mapping of set of blocks to Calibration
        For each set of blocks that was fitted.
    row_groups : ndarray of int64 [n]
        The group of each row, as a code.
    log_marginals : mapping of set of blocks to mapping of set of labels to ndarray [n]
        log q(labels | blocks) of the labels that each row has, nats.
    """

    family: str
    blocks: tuple[str, ...]
    labels: tuple[str, ...]
    classes: int
    folds: np.ndarray
    floor: float
    calibration: Mapping[frozenset[str], Calibration]
    row_groups: np.ndarray
    log_marginals: Mapping[frozenset[str], Mapping[frozenset[str], np.ndarray]]

    def __repr__(self) -> str:
        variables = (
            f"labels {', '.join(self.labels)} and blocks {', '.join(self.blocks)}"
        )
        sample = f"{self._settings}, n = {self.n:,} in {self.groups:,} groups"
        return f"information of {variables}, as usable by {self.family}, {sample}"

    @property
    def _settings(self) -> str:
        return f"{int(self.folds.max()) + 1} folds"

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.row_groups)

    @property
    def groups(self) -> int:
        """Number of groups; n when every row is its own."""
        return int(self.row_groups.max()) + 1

    def entropy(self, target: Names, given: Names = ()) -> Estimate:
        """H(target | given) of target labels, given blocks and labels.

        With blocks it is a cross-entropy of the family.
        """
        return self.estimate(self.pointwise_entropy(target, given))

    def information(self, a: Names, b: Names, given: Names = ()) -> Estimate:
        """I(a; b | given). At least one of a and b must be labels only.

        A lower bound up to sampling error unless blocks are given: then it is a
        difference that bounds nothing.
        """
        return self.estimate(self.pointwise(a, b, given))

    def co_information(
        self, a: Names, b: Names, target: Names, given: Names = ()
    ) -> Estimate:
        """I(a; target) + I(b; target) - I(a, b; target), each given `given`.

        Above 0: redundancy. It is no bound.
        """
        return self.estimate(self.pointwise_co_information(a, b, target, given))

    def pointwise_entropy(self, target: Names, given: Names = ()) -> np.ndarray:
        """-log q(target | given) of every row [n], nats."""
        target_blocks, target_labels = self._parts("target", target)
        if target_blocks or not target_labels:
            raise InvalidInput(
                f"target must be some of the labels {list(self.labels)}, got "
                f"{target!r}."
            )
        blocks, labels = self._parts("given", given)
        marginals = self._marginals(blocks)
        return marginals[labels] - marginals[labels | target_labels]

    def pointwise(self, a: Names, b: Names, given: Names = ()) -> np.ndarray:
        """Pointwise mutual information [n], nats.

        It is log q(b | a, given) - log q(b | given) in every row.
        """
        blocks_a, labels_a = self._parts("a", a)
        blocks_b, labels_b = self._parts("b", b)
        blocks, labels = self._parts("given", given)
        if not blocks_a | labels_a or not blocks_b | labels_b:
            raise OutOfRange(
                f"a and b must each name at least one block or label, got {a!r} and "
                f"{b!r}."
            )
        if blocks_a and blocks_b:
            raise OutOfRange(
                f"a or b must be labels only, got {a!r} and {b!r}: blocks are "
                "compared with labels only."
            )
        if blocks_b:
            blocks_a, labels_a, labels_b = blocks_b, labels_b, labels_a
        marginals = self._marginals(blocks)
        marginals_a = self._marginals(blocks | blocks_a)
        log_q_with_a = (
            marginals_a[labels_b | labels | labels_a] - marginals_a[labels | labels_a]
        )
        log_q_without_a = marginals[labels_b | labels] - marginals[labels]
        return log_q_with_a - log_q_without_a

    def pointwise_co_information(
        self, a: Names, b: Names, target: Names, given: Names = ()
    ) -> np.ndarray:
        """The co-information of every row [n], nats."""
        names = (*as_tuple(a), *as_tuple(b))
        separate = self.pointwise(a, target, given) + self.pointwise(b, target, given)
        return separate - self.pointwise(names, target, given)

    def estimate(self, values: np.ndarray) -> Estimate:
        """The mean of pointwise values [n] with its interval.

        ValueError: a row without a finite value.
        """
        values = np.asarray(values, dtype=np.float64)
        not_finite = int((~np.isfinite(values)).sum())
        if values.shape != (self.n,) or not_finite:
            raise MissingValues(
                f"values must be {self.n} finite numbers, one for each row, got shape "
                f"{list(values.shape)} with "
                f"{not_finite} that are not finite."
            )
        return mean_of(
            values, self.row_groups, method=self.family, settings=self._settings
        )

    def _parts(
        self, argument: str, names: Names
    ) -> tuple[frozenset[str], frozenset[str]]:
        """The blocks and the labels among names."""
        names = frozenset(as_tuple(names))
        unknown = names - set(self.blocks) - set(self.labels)
        if unknown:
            raise UnknownName(
                f"{argument} must name blocks {list(self.blocks)} or labels "
                f"{list(self.labels)}, got {sorted(unknown)}."
            )
        return names & set(self.blocks), names & set(self.labels)

    def _marginals(self, blocks: frozenset[str]) -> Mapping[frozenset[str], np.ndarray]:
        if blocks not in self.log_marginals:
            fitted = sorted(sorted(subset) for subset in self.calibration)
            raise UnknownName(
                f"blocks must be among those fitted, {fitted} (see subsets), got "
                f"{sorted(blocks)}."
            )
        return self.log_marginals[blocks]


def as_tuple(names: Names) -> tuple[str, ...]:
    """One name or several, as a tuple."""
    return (names,) if isinstance(names, str) else tuple(names)
