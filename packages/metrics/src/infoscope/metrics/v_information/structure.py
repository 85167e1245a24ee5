"""Structure learning: the directed tree of most usable information (Xu et al. 2020, section 4).

The maximum spanning arborescence (Chu & Liu 1965, Edmonds 1967) of I_V(X_i -> X_j); for symmetric weights the tree of
Chow & Liu 1968. A tree is an array of parents [m]: -1 for the root.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.metrics import roc_auc_score

from infoscope.checks import one_of
from infoscope.errors import NoVariation, OutOfRange, WrongLength, WrongShape, WrongType
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.families.protocol import as_outcome
from infoscope.estimators.families.registry import as_family, is_several
from infoscope.estimators.variables import aligns
from infoscope.metrics.v_information.measures import CROSS_FITTED, ESTIMATORS, splits_of, summary
from infoscope.metrics.v_information.predictions import FLOOR, as_groups, check_length, fit_nulls, predict


def maximum_arborescence(weights: ArrayLike, root: int | None = None) -> np.ndarray:
    """The parents, int64 [m], of the spanning arborescence of largest total weight; -1 for its root.

    weights [m, m]: [i, j] of the edge from i to j; -inf where there is none. root None: the best. Deterministic.
    ValueError: weights that are not square, nan or +inf, an unknown root, nodes that no root reaches.
    """
    weights = np.array(weights, dtype=np.float64)
    if weights.ndim != 2 or weights.shape[0] != weights.shape[1] or not len(weights):
        raise WrongShape(f"weights must be a square matrix, got shape {list(weights.shape)}.")
    m = len(weights)
    np.fill_diagonal(weights, -np.inf)
    if np.isnan(weights).any() or (weights == np.inf).any():
        raise WrongType("weights must be numbers, or -inf for no edge, but some are nan or +inf.")
    if root is not None and (isinstance(root, bool) or not isinstance(root, int | np.integer) or not 0 <= root < m):
        raise OutOfRange(f"root must be None or a node from 0 to {m - 1}, got {root!r}.")
    # A virtual root with an edge to every node that may be the root. These edges count first, as few of them as
    # possible, and weights second: in pairs, compared in that order, no large constant drowns a weight.
    first = np.where(np.isinf(weights), -np.inf, 0.0)
    first, second = (np.pad(part, (0, 1), constant_values=-np.inf) for part in (first, weights))
    allowed = np.arange(m) if root is None else np.array([root])
    first[m, allowed], second[m, allowed] = -1.0, 0.0
    parents = arborescence(first, np.where(np.isinf(first), 0.0, second), m)[:m]
    if (parents == m).sum() > 1 or (parents < 0).any():
        start = "any root" if root is None else f"root {root}"
        raise OutOfRange(f"weights must have a path from {start} to every node; there is no spanning arborescence.")
    return np.where(parents == m, -1, parents)


def arborescence(first: np.ndarray, second: np.ndarray, root: int) -> np.ndarray:
    """The parents of the best arborescence under weights (first, second) [m, m], compared in that order.

    first is -inf where there is no edge; -1 for the root and unreachable nodes. Cycles are contracted, then reopened.
    """
    contracted = []
    while True:
        parents = best_sources(first, second)
        parents[root] = -1
        cycle = find_cycle(parents)
        if cycle is None:
            break
        step, first, second = contract(first, second, parents, cycle)
        contracted.append(step)
        root = int(np.flatnonzero(step.kept == root)[0])
    for step in reversed(contracted):
        parents = step.opened(parents)
    return parents


@dataclass(frozen=True, eq=False)
class Contraction:
    """A cycle that became one node, the last after the `kept` ones.

    `replaced`: parents within the cycle; `entered` and `leaving`: for each kept node the place in the cycle of its
    edges.
    """

    kept: np.ndarray
    cycle: np.ndarray
    replaced: np.ndarray
    entered: np.ndarray
    leaving: np.ndarray

    def opened(self, found: np.ndarray) -> np.ndarray:
        """Parents of the contracted nodes as parents of all; -1 for all if nothing enters the cycle."""
        parents = np.full(len(self.kept) + len(self.cycle), -1)
        if found[-1] < 0:
            return parents
        # The edge into the cycle replaces the cycle's own edge into the node that it enters.
        parents[self.cycle] = self.replaced
        parents[self.cycle[self.entered[found[-1]]]] = self.kept[found[-1]]
        names = np.append(self.kept, -1)  # -1, the last, is of nodes without a parent
        outer = names[np.where(found[:-1] < len(self.kept), found[:-1], -1)]
        parents[self.kept] = np.where(found[:-1] == len(self.kept), self.cycle[self.leaving], outer)
        return parents


def contract(
    first: np.ndarray, second: np.ndarray, parents: np.ndarray, cycle: np.ndarray
) -> tuple[Contraction, np.ndarray, np.ndarray]:
    """A cycle of best edges as one node, and the weights between the nodes that are left."""
    kept = np.setdiff1d(np.arange(len(first)), cycle)
    replaced = parents[cycle]
    into = [part[np.ix_(kept, cycle)] - part[replaced, cycle] for part in (first, second)]
    out_of = [part[np.ix_(cycle, kept)] for part in (first, second)]
    entered = best_sources(*(part.T for part in into), empty=0)
    leaving = best_sources(*out_of, empty=0)
    smaller = [np.full((len(kept) + 1,) * 2, -np.inf) for _ in range(2)]
    for matrix, whole_matrix, inner, outer in zip(smaller, (first, second), into, out_of):
        matrix[:-1, :-1] = whole_matrix[np.ix_(kept, kept)]
        matrix[:-1, -1] = inner[np.arange(len(kept)), entered]
        matrix[-1, :-1] = outer[leaving, np.arange(len(kept))]
    return Contraction(kept, cycle, replaced, entered, leaving), *smaller


def best_sources(first: np.ndarray, second: np.ndarray, empty: int = -1) -> np.ndarray:
    """For every column the row of the largest (first, second), the lowest of equals; `empty` where there is no edge."""
    top = first.max(axis=0)
    rows = np.where(first == top, second, -np.inf).argmax(axis=0)
    return np.where(np.isinf(top), empty, rows)


def find_cycle(parents: np.ndarray) -> np.ndarray | None:
    """The nodes of one cycle among parents [m], each after the one it is the parent of; None if there is no cycle."""
    seen = np.full(len(parents), -1)
    for start in range(len(parents)):
        node = start
        while node >= 0 and seen[node] < 0:
            seen[node] = start
            node = parents[node]
        if node >= 0 and seen[node] == start:
            cycle = [node]
            while (node := parents[node]) != cycle[0]:
                cycle.append(node)
            return np.array(cycle)
    return None


@dataclass(frozen=True, eq=False)
class Weights:
    """I_V(X_i -> X_j) of all ordered pairs [m, m], nats (diagonal -inf), with standard errors (nan in-sample)."""

    value: np.ndarray
    standard_error: np.ndarray
    family: str
    estimator: str
    n: int


@aligns("variables", "groups")
def weights_by(
    family: Any,
    variables: Sequence[ArrayLike] | np.ndarray,
    estimator: str = CROSS_FITTED,
    folds: int = 5,
    groups: ArrayLike | None = None,
    floor: float = FLOOR,
    generator: np.random.Generator | None = None,
) -> Weights:
    """The weights of structure learning.

    variables: m arrays, each [n] or [n, d], or the columns of one array or data frame; family: one, or one for each
    predicted variable. Other arguments and errors as `v_information.estimate`.
    """
    if isinstance(variables, pd.DataFrame):
        columns = [variables[name] for name in variables]
    else:
        columns = list(variables.T if isinstance(variables, np.ndarray) and variables.ndim == 2 else variables)
    families = [as_family(own) for own in (family if is_several(family) else [family] * len(columns))]
    if len(columns) < 2 or len(families) != len(columns):
        raise OutOfRange(f"variables must be at least 2, with one family each, got {len(columns)} and {len(families)}.")
    one_of("estimator", estimator, ESTIMATORS)
    generator = generator_or_default(generator)
    n, m = len(columns[0]), len(columns)
    codes = as_groups(groups, n)
    value, error = np.full((m, m), -np.inf), np.full((m, m), np.nan)
    seed = int(generator.integers(2**63))
    for j, own in enumerate(families):
        outcome = as_outcome(own, columns[j])
        splits = splits_of(estimator, outcome, codes, folds, None, np.random.default_rng(seed))
        nulls = fit_nulls(own, outcome, [training for training, _ in splits], codes, generator)
        for i in range(m):
            check_length(columns[i], n)
            if i != j:
                found = predict(own, columns[i], outcome, splits, codes, floor, generator, nulls)
                term = summary(found, estimator, own.name, codes[found.rows], floor, None)
                value[i, j] = term.value
                error[i, j] = math.nan if term.standard_error is None else term.standard_error
    names = dict.fromkeys(own.name for own in families)
    return Weights(value, error, " or ".join(names), estimator, n)


def wrong_edges(parents: ArrayLike, truth: ArrayLike, directed: bool = True) -> float:
    """The share of the tree's m - 1 edges that the true tree lacks; undirected: in neither direction."""
    edges, expected = edges_of("parents", parents), edges_of("truth", truth)
    if len(edges) != len(expected):
        raise WrongLength(
            f"parents and truth must be trees of equally many nodes, got {len(edges) + 1} and {len(expected) + 1}."
        )
    if not directed:
        expected |= {(child, parent) for parent, child in expected}
    return len(edges - expected) / len(edges)


def edges_of(name: str, parents: ArrayLike) -> set[tuple[int, int]]:
    """The (parent, child) pairs of a tree; ValueError unless exactly one node is the root and nothing is a cycle."""
    parents = np.asarray(parents)
    flat = parents.ndim == 1 and len(parents) > 1 and np.issubdtype(parents.dtype, np.integer)
    known = flat and (parents >= -1).all() and (parents < len(parents)).all() and (parents == -1).sum() == 1
    if not known or find_cycle(parents) is not None:
        raise OutOfRange(f"{name} must be the parents of a tree of at least 2 nodes with one -1, got {parents!r}.")
    return {(int(parent), child) for child, parent in enumerate(parents) if parent >= 0}


def edge_auc(weights: ArrayLike, adjacency: ArrayLike) -> float:
    """Area under the ROC curve of the weights [m, m] of all ordered pairs as scores of the edges of a graph [m, m]."""
    weights, adjacency = np.asarray(weights, dtype=np.float64), np.asarray(adjacency) != 0
    if weights.shape != adjacency.shape or weights.ndim != 2 or len(weights) != weights.shape[1]:
        raise WrongShape(f"weights and adjacency must be equal squares, got {weights.shape} and {adjacency.shape}.")
    pairs = ~np.eye(len(weights), dtype=bool)
    if adjacency[pairs].all() or not adjacency[pairs].any():
        raise NoVariation("adjacency must have both edges and missing edges.")
    return float(roc_auc_score(adjacency[pairs], weights[pairs]))
