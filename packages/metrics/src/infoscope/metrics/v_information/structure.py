"""Structure learning: the directed tree of largest V-information (Xu et al. 2020,
section 4).

The maximum spanning arborescence (Chu & Liu 1965, Edmonds 1967) of I_V(X_i -> X_j); for
symmetric weights the tree of Chow & Liu 1968. A tree is an array of parents [m]; -1 for
the root.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from infoscope.checks import one_of
from infoscope.errors import OutOfRange, WrongLength, WrongShape, WrongType
from infoscope.estimators.alignment import aligns
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.families.protocol import as_outcome
from infoscope.estimators.families.registry import as_family, is_several
from infoscope.metrics.v_information.measures import (
    CROSS_FITTED,
    ESTIMATORS,
    splits_of,
    summary,
)
from infoscope.metrics.v_information.predictions import (
    FLOOR,
    check_length,
    fit_nulls,
    predict,
)


def maximum_arborescence(weights: ArrayLike, root: int | None = None) -> np.ndarray:
    """The parents of the spanning arborescence of largest total weight, int64 [m].

    The parent of the root is -1. The result is deterministic.

    Parameters
    ----------
    weights
        [m, m], at [i, j] the weight of the edge from i to j; -inf: no edge.
    root
        A node; None: the best root.

    Raises
    ------
    ValueError
        Weights that are not square, NaN or +inf, an unknown root, nodes that no root
        reaches.

    Examples
    --------
    >>> maximum_arborescence([[0, 2, 1], [0, 0, 2], [0, 0, 0]]).tolist()
    [-1, 0, 1]
    """
    import networkx as nx  # slow to import

    weights = np.array(weights, dtype=np.float64)
    if weights.ndim != 2 or weights.shape[0] != weights.shape[1] or not len(weights):
        raise WrongShape(
            f"weights must be a square matrix, got shape {list(weights.shape)}."
        )
    m = len(weights)
    np.fill_diagonal(weights, -np.inf)
    if np.isnan(weights).any() or (weights == np.inf).any():
        raise WrongType(
            "weights must be numbers, or -inf for no edge, got NaN or +inf."
        )
    if root is not None:
        is_whole = isinstance(root, int | np.integer) and not isinstance(root, bool)
        if not is_whole or not 0 <= root < m:
            raise OutOfRange(
                f"root must be None or a node from 0 to {m - 1}, got {root!r}."
            )
        weights[:, root] = -np.inf
    # Exact fractions, raised so far that one more edge outweighs any choice among the
    # others: the best branching is then a spanning arborescence, if there is one
    # (networkx's own function raises floats by a fixed amount).
    edges = np.argwhere(np.isfinite(weights)).tolist()
    fractions = [Fraction(weights[i, j]) for i, j in edges]
    raised = 1 + 2 * m * max(map(abs, fractions), default=0)
    graph = nx.DiGraph()
    for (i, j), weight in zip(edges, fractions):
        graph.add_edge(i, j, weight=raised + weight)
    parents = np.full(m, -1)
    for parent, child in nx.maximum_branching(graph).edges:
        parents[child] = parent
    if (parents < 0).sum() > 1:
        start = "any root" if root is None else f"root {root}"
        raise OutOfRange(
            f"weights must have a path from {start} to every node, but there is no "
            "spanning arborescence."
        )
    return parents


@dataclass(frozen=True, eq=False)
class Weights:
    """I_V(X_i -> X_j) of all ordered pairs [m, m], nats (diagonal -inf), with standard
    errors (NaN in-sample).
    """

    value: np.ndarray
    standard_error: np.ndarray


@aligns("variables")
def weights_by(
    family: Any,
    variables: Sequence[ArrayLike] | np.ndarray | pd.DataFrame,
    estimator: str = CROSS_FITTED,
    folds: int = 5,
    floor: float = FLOOR,
    generator: np.random.Generator | None = None,
) -> Weights:
    """The V-information of all ordered pairs of variables, nats: weights of edges.

    Parameters
    ----------
    family
        One family, or one for each predicted variable.
    variables
        m arrays, each [n] or [n, d], or the columns of one array or data frame.

    Other parameters and errors are as in `v_information.estimate`.
    """
    columns: list[Any]
    if isinstance(variables, pd.DataFrame):
        columns = [variables[name] for name in variables]
    elif isinstance(variables, np.ndarray) and variables.ndim == 2:
        columns = list(variables.T)
    else:
        columns = list(variables)
    families = family if is_several(family) else [family] * len(columns)
    families = list(map(as_family, families))
    if len(columns) < 2 or len(families) != len(columns):
        raise OutOfRange(
            f"variables must be at least 2, with one family each, got {len(columns)} "
            f"and {len(families)}."
        )
    one_of("estimator", estimator, ESTIMATORS)
    generator = generator_or_default(generator)
    n = len(columns[0])
    m = len(columns)
    codes = np.arange(n)
    value = np.full((m, m), -np.inf)
    error = np.full((m, m), np.nan)
    seed = int(generator.integers(2**63))
    for j, family_of_j in enumerate(families):
        outcome = as_outcome(family_of_j, columns[j])
        splits = splits_of(
            estimator, outcome, codes, folds, None, np.random.default_rng(seed)
        )
        trainings = [training for training, _ in splits]
        nulls = fit_nulls(family_of_j, outcome, trainings, codes, generator)
        for i, x in enumerate(columns):
            check_length(x, n)
            if i == j:
                continue
            held_out = predict(
                family_of_j, x, outcome, splits, codes, floor, generator, nulls
            )
            information = summary(
                held_out, estimator, family_of_j.name, codes[held_out.rows], floor, None
            )
            value[i, j] = information.value
            if information.standard_error is not None:
                error[i, j] = information.standard_error
    return Weights(value, error)


def wrong_edges(
    parents: Sequence[int] | np.ndarray, truth: Sequence[int] | np.ndarray,
    directed: bool = True,
) -> float:  # fmt: skip
    """The share of the m - 1 edges of a tree that are not in the true tree; undirected:
    in neither direction.
    """
    edges = edges_of("parents", parents)
    expected = edges_of("truth", truth)
    if len(edges) != len(expected):
        raise WrongLength(
            f"parents and truth must be trees of the same size, got {len(edges) + 1} "
            f"and {len(expected) + 1} nodes."
        )
    if not directed:
        expected |= {(child, parent) for parent, child in expected}
    return len(edges - expected) / len(edges)


def edges_of(name: str, parents: Sequence[int] | np.ndarray) -> set[tuple[int, int]]:
    """The (parent, child) pairs of a tree; OutOfRange unless it has one root and no
    cycle.
    """
    import networkx as nx  # slow to import

    edges = {
        (int(parent), child) for child, parent in enumerate(parents) if parent >= 0
    }
    if (
        not edges
        or len(edges) != len(parents) - 1
        or not nx.is_arborescence(nx.DiGraph(edges))
    ):
        raise OutOfRange(
            f"{name} must be the parents of a tree of at least 2 nodes with one -1, "
            f"got {parents!r}."
        )
    return edges
