"""Predictive families (Xu et al. 2020, definition 1).

A family is the set of models that may predict one variable from another.

I_V(x -> y) = H_V(y) - H_V(y | x), the drop of the least expected log loss. Every family
may ignore its input, so the least loss with an input is never above the one without;
imperfect fits may give negative values. Any object with the methods of `Family` is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike
from sklearn.preprocessing import PolynomialFeatures

from infoscope.errors import NoVariation, WrongType
from infoscope.estimators.columns import as_codes, as_matrix
from infoscope.estimators.families.complexity import Complexity

CLASSES, NUMBERS = "classes", "numbers"


class Predictor(Protocol):
    """One member of a family."""

    def log_density(self, x: Any | None, y: np.ndarray) -> np.ndarray:
        """log f[x](y) of every pair [n], nats.

        x has one item for each y; None for a member without input.
        """
        ...


@runtime_checkable
class ClassPredictor(Predictor, Protocol):
    """One member of a family that predicts classes."""

    def log_probabilities(self, x: Any | None) -> np.ndarray:
        """log f[x](class) [n, classes], nats; [1, classes] for x None."""
        ...


@runtime_checkable
class Family(Protocol):
    """A set of predictors, and the rule that chooses the predictor of least log loss."""

    @property
    def name(self) -> str:
        """The family with its settings, as results report it."""
        ...

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The kinds of outcome that it predicts: "classes", "numbers" or both."""
        ...

    def fit(
        self,
        x: Any | None,
        y: np.ndarray,
        classes: int | None = None,
        groups: np.ndarray | None = None,
        generator: np.random.Generator | None = None,
    ) -> Predictor:
        """The member that fits n pairs; with x None the best member without input.

        x        n items: an array [n, d], or any sequence that the family takes
        y        codes 0..classes-1 [n]; or numbers [n, q], with classes None
        groups   [n], rows that stay together where the family needs a validation set
        """
        ...


@runtime_checkable
class Bounded(Protocol):
    """A family with a known Rademacher complexity.

    The complexity bounds the error of an in-sample estimate.
    """

    def complexity(
        self,
        x: Any,
        y: np.ndarray,
        classes: int | None,
        floor: float,
        generator: np.random.Generator,
    ) -> Complexity | None:
        """The complexity of the family's log densities on n pairs.

        None if the log densities are unbounded.
        """
        ...


def fit_each(
    family: Family,
    x: Any,
    y: np.ndarray,
    subsets: Sequence[np.ndarray],
    classes: int | None,
    groups: np.ndarray,
    generator: np.random.Generator,
) -> list[Predictor]:
    """A predictor for each subset (a mask [n]) of the pairs."""
    return [
        family.fit(take(x, rows), y[rows], classes, groups[rows], generator)
        for rows in subsets
    ]


def take(x: Any, rows: np.ndarray) -> Any:
    """The items of x at `rows` (a mask or indices); a list if x is no array."""
    if hasattr(x, "iloc"):
        return x.iloc[np.flatnonzero(rows) if rows.dtype == bool else rows]
    if hasattr(x, "shape"):
        return x[rows]
    return [x[i] for i in (np.flatnonzero(rows) if rows.dtype == bool else rows)]


def needed(classes: int | None) -> int:
    """The number of classes; ValueError if the outcome is numbers."""
    if classes is None:
        raise WrongType("y must be classes for this family, got numbers.")
    return classes


@dataclass(frozen=True, eq=False)
class Outcome:
    """The predicted outcome: codes int64 [n] with labels, or numbers float64 [n, q].

    Labels are None for numbers.
    """

    values: np.ndarray
    labels: np.ndarray | None

    @property
    def classes(self) -> int | None:
        return None if self.labels is None else len(self.labels)

    @property
    def n(self) -> int:
        return len(self.values)


def as_outcome(family: Family, y: ArrayLike) -> Outcome:
    """y [n], or [n, q], as the family predicts it.

    Floats are numbers; other values are classes.

    ValueError for missing values, one class only, constant numbers, or a type that the
    family does not predict.
    """
    if CLASSES in family.outcomes and (
        NUMBERS not in family.outcomes
        or not np.issubdtype(np.asarray(y).dtype, np.floating)
    ):
        codes = as_codes("y", y).astype(np.int64)
        labels = np.asarray(y).reshape(-1)[np.unique(codes, return_index=True)[1]]
        if labels.dtype.kind == "f" and np.mod(labels, 1).any():
            raise WrongType(
                f"y must be classes for {family.name}, got numbers; a family of "
                "numbers predicts them."
            )
        if len(labels) < 2:
            raise NoVariation(
                f"y must take at least two values, got only {labels.tolist()!r}."
            )
        return Outcome(codes, labels)
    numbers = as_matrix("y", y)
    if not (np.ptp(numbers, axis=0) > 0).all():
        raise NoVariation("y must vary, but one of its columns is constant.")
    return Outcome(numbers, None)


@dataclass(frozen=True, eq=False)
class Features:
    """Powers and products of standardised inputs up to a degree, without a constant.

    It maps inputs [n, d] to features [n, p].
    """

    centre: np.ndarray
    scale: np.ndarray
    degree: int

    @classmethod
    def of(cls, x: np.ndarray, degree: int) -> Features:
        """Standardised by the rows of x [n, d]; a constant column stays 0."""
        centre, scale = x.mean(axis=0), x.std(axis=0)
        scale[scale <= 1e-12 * np.abs(centre)] = 1.0
        scale[scale == 0.0] = 1.0
        return cls(centre, scale, degree)

    def __call__(self, x: ArrayLike) -> np.ndarray:
        standard = (as_matrix("x", x) - self.centre) / self.scale
        if self.degree == 1:
            return standard
        return PolynomialFeatures(self.degree, include_bias=False).fit_transform(
            standard
        )
