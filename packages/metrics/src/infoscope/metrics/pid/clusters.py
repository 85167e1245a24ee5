"""Decomposition of clusters of each variable; nats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.cluster import KMeans

from infoscope.checks import require_int
from infoscope.errors import OutOfRange
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.knn import mutual_information
from infoscope.estimators.result import Estimate
from infoscope.estimators.variables import Variable, as_variables, join, joint_codes
from infoscope.metrics.pid.normal import jackknifed
from infoscope.metrics.pid.tables import broja, discrete_shared_exclusion
from infoscope.metrics.pid.terms import Decomposition, without_unique

MOST_CELLS = 1_000  # beyond which one solution takes minutes


def broja_from_arrays(
    a: Any,
    b: Any,
    target: Any,
    clusters: int = 5,
    tolerance: float = 1e-6,
    groups: ArrayLike | None = None,
    blocks: int = 20,
    generator: np.random.Generator | None = None,
) -> Decomposition:
    """`broja` of the table of k-means clusters (BATCH, Liang et al. 2023), Estimates in nats.

    a, b, target  typed as `knn` types them; categories stay
    clusters      of the numbers of each, standardised; information within them is lost, and a note quantifies it
    groups, blocks, generator  as of `uncertainty.leave_one_out`: the jackknife gives bias and error

    ValueError: as `broja`; rows that do not fit; more than 1,000 cells.
    """
    sides = a, b, target
    return _of_clusters(
        lambda table: broja(table, tolerance), without_unique, "BROJA", sides, clusters, groups, blocks, generator
    )


def discrete_shared_exclusion_from_arrays(
    a: Any, b: Any, target: Any, clusters: int = 5, groups: ArrayLike | None = None, blocks: int = 20,
    generator: np.random.Generator | None = None,
) -> Decomposition:  # fmt: skip
    """`discrete_shared_exclusion` of the table of k-means clusters, as `broja_from_arrays`; depends on the cluster
    sizes.
    """
    sides = a, b, target
    return _of_clusters(
        discrete_shared_exclusion, lambda found: np.empty((0, 4)), "shared exclusions", sides, clusters, groups, blocks,
        generator,
    )  # fmt: skip


def _of_clusters(
    of_table: Callable[[NDArray[np.float64]], Decomposition],
    branches: Callable[[Decomposition], NDArray[np.float64]], method: str, variables: tuple[Any, Any, Any],
    clusters: int, groups: ArrayLike | None, blocks: int, generator: np.random.Generator | None,
) -> Decomposition:  # fmt: skip
    """A decomposition of the table of clusters of a, b and the target, with its `branches`, Estimates."""
    a, b, target = variables
    found, groups = as_variables(groups, a=a, b=b, target=target)
    sides = {name: found[name] for name in ("target", "a", "b")}
    n, generator = sides["target"].n, generator_or_default(generator)
    require_int("clusters", clusters, 2)
    codes = [_codes(side, clusters, generator) for side in sides.values()]
    shape = tuple(int(of.max()) + 1 for of in codes)
    if np.prod(shape) > MOST_CELLS:
        raise OutOfRange(f"clusters must give at most {MOST_CELLS:,} cells, got {' x '.join(map(str, shape))}.")
    cells = np.ravel_multi_index(codes, shape)

    def decompose(rows: NDArray[np.int64]) -> tuple[Decomposition, NDArray[np.float64]]:
        counts = np.bincount(cells[rows], minlength=int(np.prod(shape)))
        found = of_table((counts / len(rows)).reshape(shape))
        return found, branches(found)

    numbers = [name for name, side in sides.items() if side.dim]
    if not numbers:
        return jackknifed(decompose, n, groups, blocks, generator, method)
    settings = f"{clusters} clusters of {', '.join(numbers)}"
    found = jackknifed(decompose, n, groups, blocks, generator, f"{method} of clusters", settings)
    note = _lost(found.informations[2], sides["a"], sides["b"], sides["target"], groups)
    return found._replace(**{name: replace(term, notes=note) for name, term in zip(found._fields[:4], found)})


def _lost(kept: Estimate, a: Variable, b: Variable, target: Variable, groups: ArrayLike | None) -> tuple[str, ...]:
    """That clusters keep less of I(target; a, b) than nearest neighbours find, where these are sure of it."""
    try:
        near = mutual_information(join(a, b), target, groups=groups)
    except ValueError as reason:
        return (f"What clusters lose is not known, as nearest neighbours do not say: {reason}",)
    if not near.low > kept.value:
        return ()
    return (
        f"Clusters keep {kept.value:.2f} of the {near.value:.2f} nats that nearest neighbours find between a, b and "
        "the target, and the terms are of what they keep: take more clusters where rows allow.",
    )


def _codes(side: Variable, clusters: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """The cluster and category of each row [n]."""
    if not side.dim:
        return side.codes
    rows = side.standardised().continuous
    count = min(clusters, len(np.unique(rows, axis=0)))
    labels = KMeans(count, n_init=4, random_state=int(generator.integers(2**31))).fit_predict(rows)
    return joint_codes([labels] if side.codes is None else [labels, side.codes])[0]
