"""Decompositions of variables discretised into clusters; nats."""

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
from infoscope.estimators.column_types import as_variables
from infoscope.estimators.knn import mutual_information
from infoscope.estimators.result import Estimate
from infoscope.estimators.variables import Variable, join, joint_codes
from infoscope.metrics.pid.normal import jackknifed
from infoscope.metrics.pid.tables import broja, discrete_shared_exclusion
from infoscope.metrics.pid.terms import Decomposition, without_unique
from infoscope.notes import Note

MAX_CELLS = 1_000  # more take minutes


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
    clusters      of the standardised numbers of each variable; a note quantifies the information lost within them
    groups, blocks, generator  as in `uncertainty.leave_one_out`: the jackknife gives bias and error

    ValueError: as `broja`; different lengths; more than 1,000 cells.
    """
    return _decompose_clusters(
        lambda table: broja(table, tolerance), without_unique, "BROJA", (a, b, target), clusters, groups, blocks,
        generator,
    )  # fmt: skip


def discrete_shared_exclusion_from_arrays(
    a: Any, b: Any, target: Any, clusters: int = 5, groups: ArrayLike | None = None, blocks: int = 20,
    generator: np.random.Generator | None = None,
) -> Decomposition:  # fmt: skip
    """`discrete_shared_exclusion` of the table of k-means clusters, as `broja_from_arrays`; depends on the cluster
    sizes.
    """
    return _decompose_clusters(
        discrete_shared_exclusion, lambda terms: np.empty((0, 4)), "shared exclusions", (a, b, target), clusters,
        groups, blocks, generator,
    )  # fmt: skip


def _decompose_clusters(
    decompose_table: Callable[[NDArray[np.float64]], Decomposition],
    branches: Callable[[Decomposition], NDArray[np.float64]], method: str, variables: tuple[Any, Any, Any],
    clusters: int, groups: ArrayLike | None, blocks: int, generator: np.random.Generator | None,
) -> Decomposition:  # fmt: skip
    """A decomposition of the table of clusters of a, b and the target with its `branches`, as Estimates."""
    a, b, target = variables
    found, groups = as_variables(groups, a=a, b=b, target=target)
    ordered = {name: found[name] for name in ("target", "a", "b")}
    n, generator = found["target"].n, generator_or_default(generator)
    require_int("clusters", clusters, 2)
    codes = [_codes(one, clusters, generator) for one in ordered.values()]
    shape = tuple(int(of.max()) + 1 for of in codes)
    if np.prod(shape) > MAX_CELLS:
        raise OutOfRange(f"clusters must give at most {MAX_CELLS:,} cells, got {' x '.join(map(str, shape))}.")
    cells = np.ravel_multi_index(codes, shape)

    def decompose(rows: NDArray[np.int64]) -> tuple[Decomposition, NDArray[np.float64]]:
        counts = np.bincount(cells[rows], minlength=int(np.prod(shape)))
        terms = decompose_table((counts / len(rows)).reshape(shape))
        return terms, branches(terms)

    numbers = [name for name, one in ordered.items() if one.dim]
    if not numbers:
        return jackknifed(decompose, n, groups, blocks, generator, method)
    settings = f"{clusters} clusters of {', '.join(numbers)}"
    terms = jackknifed(decompose, n, groups, blocks, generator, f"{method} of clusters", settings)
    note = _lost_information(terms.informations[2], join(found["a"], found["b"]), found["target"], groups)
    return terms._replace(**{name: replace(term, notes=note) for name, term in zip(terms._fields[:4], terms)})


def _lost_information(kept: Estimate, sources: Variable, target: Variable, groups: ArrayLike | None) -> tuple[str, ...]:
    """A note where clusters keep significantly less of I(target; a, b) than the nearest-neighbour estimate."""
    try:
        whole = mutual_information(sources, target, groups=groups)
    except ValueError as reason:
        return (f"The information lost by clusters is unknown, as nearest neighbours give no estimate: {reason}",)
    if not whole.low > kept.value:
        return ()
    sentence = (
        f"Clusters keep {kept.bits.value:.2f} bits of I(target; a, b), which is {whole.bits.value:.2f} bits by nearest "
        "neighbours; the terms decompose the part they keep. Use more clusters if there are enough rows."
    )
    return (Note(sentence, "lost by clusters", "clusters"),)


def _codes(one: Variable, clusters: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """The combination of cluster and category of each row [n]."""
    if not one.dim:
        return one.codes
    rows = one.standardised().continuous
    count = min(clusters, len(np.unique(rows, axis=0)))
    labels = KMeans(count, n_init=4, random_state=int(generator.integers(2**31))).fit_predict(rows)
    return joint_codes([labels] if one.codes is None else [labels, one.codes])[0]
