"""Metamorphic checks of estimators of mutual information, which need no true value.

Invariance to scale, names and order of columns; symmetry; at most H(y); 0 for
independence; data processing; chain rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from infoscope.checks import require_int
from infoscope.errors import UnknownName
from infoscope.estimators.checks import generator_or_default

Estimator = Callable[[NDArray, NDArray], float]
_HOLDS = "holds"
_FAILS = "fails"
_NOT_OFFERED = "not offered"
_EXACT = 0.01  # nats, tolerance of identities: rounding and jitter
# nats, tolerance of properties that hold in expectation: an acceptable bias
_STATISTICAL = 0.1
_CLASSES = 4  # of the labels
_DIM = 6  # columns of x with labels


@dataclass(frozen=True)
class Check:
    """One property of an estimator, by name; y: `labels` (integers) or `numbers`.

    violation, error  nats: the largest over data sets for an identity; mean and standard error for a property that
                      holds in expectation; NaN where the estimator raised an error,
                      which is in `note`
    verdict           holds; fails (beyond the tolerance, for a mean by two standard errors; or no number); not offered
    """

    name: str
    y: str
    violation: float
    error: float
    tolerance: float
    verdict: str
    note: str = ""


def audit(
    estimator: Estimator,
    y: Iterable[str] = ("labels", "numbers"),
    n: int = 600,
    repeats: int = 5,
    generator: np.random.Generator | None = None,
) -> tuple[Check, ...]:
    """The checks of an estimator of mutual information.

    Parameters
    ----------
    estimator
        A function (x [n, d] float64, y) -> nats.
    y
        `labels`, int64 [n] (or [n, m]), and `numbers`, float64 [n, d]. If the estimator
        raises an error on untransformed data, the check is not offered.
    n
        Rows of each data set.
    repeats
        Number of data sets of each kind.

    Raises
    ------
    ValueError
        An unknown kind of y, n < 100, repeats < 2.

    Examples
    --------
    >>> checks = audit(lambda x, y: 0.0, ["numbers"])
    >>> print({check.verdict for check in checks})
    {'holds'}
    """
    require_int("n", n, 100)
    require_int("repeats", repeats, 2)
    kinds = list(y)
    if not kinds or not set(kinds) <= set(_CHECKS):
        raise UnknownName(f"y must be some of {', '.join(_CHECKS)}, got {kinds}.")
    generator = generator_or_default(generator)
    checks = []
    for kind in kinds:
        for name in _CHECKS[kind]:
            checks.append(_run_check(name, kind, estimator, n, repeats, generator))
    return tuple(checks)


def _run_check(
    name: str,
    kind: str,
    estimator: Estimator,
    n: int,
    repeats: int,
    generator: np.random.Generator,
) -> Check:
    """One check over its data sets; an error on transformed data alone is a failure."""
    check, tolerance = _CHECKS[kind][name]

    def finite_estimate(x: NDArray, y: NDArray) -> float:
        value = float(estimator(np.ascontiguousarray(x), np.ascontiguousarray(y)))
        if not np.isfinite(value):
            raise ArithmeticError(f"the estimate is {value}")
        return value

    violations = []
    verdict = _NOT_OFFERED
    try:
        for draw in generator.spawn(repeats):
            data = _DATA[kind](n, draw)
            if not violations:
                finite_estimate(*data)
                verdict = _FAILS
            violations.append(check(finite_estimate, data, draw))
    except Exception as error:  # noqa: BLE001
        if (kind, name) in _ANOTHER_INPUT and not isinstance(error, ArithmeticError):
            verdict = _NOT_OFFERED
        first_line = str(error).partition("\n")[0]
        return Check(
            name,
            kind,
            np.nan,
            np.nan,
            tolerance,
            verdict,
            f"{type(error).__name__}: {first_line}",
        )
    if tolerance == _EXACT:
        violation = float(np.max(violations))
        error = np.nan
        least = violation
    else:
        violation = float(np.mean(violations))
        error = float(np.std(violations, ddof=1) / np.sqrt(repeats))
        least = violation - 2 * error
    verdict = _FAILS if least > tolerance else _HOLDS
    return Check(name, kind, violation, error, tolerance, verdict)


def labelled(n: int, g: np.random.Generator) -> tuple[NDArray, NDArray]:
    """Four Gaussian classes in six dimensions, which differ in three: I(x; y) is about
    0.9 of 1.39 nats.
    """
    y = g.integers(0, _CLASSES, n)
    x = g.normal(size=(n, _DIM))
    x[:, :3] += 2 * np.eye(_CLASSES, 3)[y]
    return x, y


def paired(n: int, g: np.random.Generator) -> tuple[NDArray, NDArray]:
    """x of two columns and y of one, jointly Gaussian: I(x; y) is 0.83 nats."""
    x = g.normal(size=(n, 2))
    return x, 0.9 * x[:, :1] + np.sqrt(0.19) * g.normal(size=(n, 1))


_DATA = {"labels": labelled, "numbers": paired}


def unchanged_by(transform: Callable) -> Callable:
    """The check that the estimate does not change when `transform` changes (x, y)."""

    def check(
        estimate: Estimator, data: tuple[NDArray, NDArray], g: np.random.Generator
    ) -> float:
        return abs(estimate(*transform(*data, g)) - estimate(*data))

    return check


def _permuted(
    x: NDArray, y: NDArray, g: np.random.Generator
) -> tuple[NDArray, NDArray]:
    order = g.permutation(len(x))
    return x[order], y[order]


def _below_entropy(
    estimate: Estimator, data: tuple[NDArray, NDArray], g: np.random.Generator
) -> float:
    """Well separated classes: the estimate must not exceed H(y)."""
    x, y = data
    frequencies = np.bincount(y) / len(y)
    entropy = -np.sum(frequencies * np.log(frequencies))
    separated = x + 20 * np.eye(_CLASSES, _DIM)[y]
    return max(0.0, estimate(separated, y) - entropy)


def _chain_rule(
    estimate: Estimator, data: tuple[NDArray, NDArray], g: np.random.Generator
) -> float:
    """I(x; y, d) = I(x; y) + sum over y of p(y) I(x; d | y), for a second label d that
    shifts x.
    """
    x, y = data
    d = g.integers(0, 3, len(y))
    x = x + 1.5 * np.eye(_DIM)[-3:][d]
    conditional = 0
    for label in range(_CLASSES):
        rows = y == label
        conditional += np.mean(rows) * estimate(x[rows], d[rows])
    return abs(estimate(x, np.column_stack([y, d])) - estimate(x, y) - conditional)


def _data_processing(
    estimate: Estimator, data: tuple[NDArray, NDArray], g: np.random.Generator
) -> float:
    """Noise on x cannot add information."""
    x, y = data
    noisy = x + 0.5 * g.normal(size=x.shape)
    return max(0.0, estimate(noisy, y) - estimate(x, y))


def _independence(
    estimate: Estimator, data: tuple[NDArray, NDArray], g: np.random.Generator
) -> float:
    x, y = data
    return abs(estimate(x, g.permutation(y)))


def _first_column_rescaled(
    x: NDArray, y: NDArray, g: np.random.Generator
) -> tuple[NDArray, NDArray]:
    scale = np.ones(x.shape[1])
    scale[0] = 100.0
    return x * scale, y


def _with_noise_columns(
    x: NDArray, y: NDArray, g: np.random.Generator
) -> tuple[NDArray, NDArray]:
    noise = g.normal(size=(len(x), _DIM))
    return np.hstack([x, noise]), y


_ANY = {
    "permute rows": (unchanged_by(_permuted), _EXACT),
    "rescale x and y": (unchanged_by(lambda x, y, g: (1000 * x, 1000 * y)), _EXACT),
    "rescale x alone": (unchanged_by(lambda x, y, g: (100 * x, y)), _EXACT),
    "rescale one column": (unchanged_by(_first_column_rescaled), _EXACT),
    "permute columns": (unchanged_by(lambda x, y, g: (x[:, ::-1], y)), _EXACT),
    "swap x and y": (
        lambda estimate, data, g: abs(estimate(*data) - estimate(*data[::-1])),
        _EXACT,
    ),
    "duplicate rows": (
        unchanged_by(
            lambda x, y, g: (np.repeat(x, 2, axis=0), np.repeat(y, 2, axis=0))
        ),
        _STATISTICAL,
    ),
    "add noise columns": (unchanged_by(_with_noise_columns), _STATISTICAL),
    "independence": (_independence, _STATISTICAL),
    "data processing": (_data_processing, _STATISTICAL),
}  # name -> (check, tolerance in nats)
_LABELS = {
    "rename labels": (
        unchanged_by(lambda x, y, g: (x, 3 + 7 * g.permutation(_CLASSES)[y])),
        _EXACT,
    ),
    "one-hot labels": (
        unchanged_by(lambda x, y, g: (x, np.eye(_CLASSES, dtype=np.int64)[y])),
        _EXACT,
    ),
    "at most H(y)": (_below_entropy, _STATISTICAL),
    "chain rule": (_chain_rule, _STATISTICAL),
}
_CHECKS = {"labels": _ANY | _LABELS, "numbers": _ANY}
# Labels as x, and several columns of labels: an estimator need not take them.
_ANOTHER_INPUT = {
    ("labels", "swap x and y"),
    ("labels", "one-hot labels"),
    ("labels", "chain rule"),
}
