"""Structure learning: arborescences against all trees and Kruskal; weights; simulated
trees.
"""

import inspect
import itertools
import sys

import networkx as nx
import numpy as np
import pandas as pd
from numpy.random import default_rng
from pytest import approx
from sklearn.metrics import mutual_info_score

from infoscope.data.tasks.simulators import discrete_star
from infoscope.estimators.families.closed_form import Gaussian, Table
from infoscope.metrics.v_information.measures import estimate
from infoscope.metrics.v_information.structure import (
    edges_of,
    maximum_arborescence,
    weights_by,
    wrong_edges,
)
from tests.refusals import refused


def total(weights, parents):
    return sum(
        weights[parent, child] for child, parent in enumerate(parents) if parent >= 0
    )


def random_weights(rng, m):
    """Ties, missing edges and all."""
    weights = (
        rng.integers(-5, 6, (m, m)).astype(float)
        if rng.random() < 0.5
        else rng.normal(size=(m, m))
    )
    weights[rng.random((m, m)) < rng.choice([0.0, 0.3, 0.6, 0.8])] = -np.inf
    np.fill_diagonal(weights, -np.inf)
    return weights


def trees_of(m, root):
    """The parents of every tree of m nodes, or of those with this root."""
    for parents in itertools.product(range(-1, m), repeat=m):
        if parents.count(-1) == 1 and (root is None or parents[root] == -1):
            graph = nx.DiGraph(
                (parent, child) for child, parent in enumerate(parents) if parent >= 0
            )
            graph.add_nodes_from(range(m))
            if nx.is_arborescence(graph):
                yield parents


def test_no_tree_has_a_larger_total():
    """Every tree of 2 to 4 nodes is tried; where none has all its edges, none is found."""
    rng = default_rng(0)
    trees = {
        (m, root): list(trees_of(m, root)) for m in (2, 3, 4) for root in (None, 1)
    }
    found = none = 0
    for _ in range(150):
        m, root = list(trees)[rng.integers(len(trees))]
        weights = random_weights(rng, m)
        best = max(total(weights, parents) for parents in trees[m, root])
        if best == -np.inf:
            none += 1
            with refused("weights", "range"):
                maximum_arborescence(weights, root)
            continue
        found += 1
        own = maximum_arborescence(weights, root)
        assert tuple(own) in trees[m, root]
        assert total(weights, own) == approx(best)
    assert found > 50 and none > 20
    assert maximum_arborescence([[5.0]]).tolist() == [-1]


def test_cycles_may_nest_deeper_than_calls():
    """Nodes 0 and 1 are a cycle, the two of them one with 2, these with 3, and so on;
    only the last node, which nothing enters, breaks them, by an edge that costs more
    than any other. The chain from there is the only tree.
    """
    m = 150
    weights, places = np.full((m, m), -np.inf), np.arange(1, m - 1)
    weights[places - 1, places], weights[places, places - 1] = (
        10.0 * m - places,
        5.0 * m - places,
    )
    weights[m - 1, 0] = -10.0 * m**2
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 100)
    try:
        found = maximum_arborescence(weights)
    finally:
        sys.setrecursionlimit(limit)
    assert found.tolist() == [m - 1, *range(m - 2), -1]


def test_symmetric_weights_give_the_tree_of_chow_and_liu():
    for seed in range(3):
        weights = default_rng(seed).random((15, 15))
        weights = weights + weights.T
        graph = nx.from_numpy_array(weights - np.diag(np.diag(weights)))
        kruskal = {frozenset(edge) for edge in nx.maximum_spanning_tree(graph).edges}
        for root in (None, 3):
            found = maximum_arborescence(weights, root)
            assert {frozenset(edge) for edge in edges_of("found", found)} == kruskal


def test_weights_of_any_size_are_distinguished():
    """Weights around 1e12 that differ by 1."""
    weights = 1e12 + np.array([[0, 2, 0], [0, 0, 1], [3, 0, 0.0]])
    assert maximum_arborescence(weights).tolist() == [2, 0, -1]


def test_weights_are_the_estimates_of_every_pair():
    """One of them fitted alone on the same folds; in-sample tables are Shannon's
    information, and symmetric.
    """
    rng = default_rng(2)
    x = rng.normal(size=(200, 3)).cumsum(axis=1)
    found = weights_by(Gaussian(), x, generator=default_rng(3))
    alone = estimate(Gaussian(), x[:, 0], x[:, 1])
    assert found.value[0, 1] == approx(alone.value, abs=0.02)
    assert found.standard_error[0, 1] == approx(alone.standard_error, rel=0.1)
    assert np.isneginf(np.diag(found.value)).all()
    framed = weights_by(Gaussian(), pd.DataFrame(x), generator=default_rng(3))
    np.testing.assert_array_equal(framed.value, found.value)
    discrete = discrete_star(500, 4, 3, rng).variables
    tables = weights_by(Table(), discrete, "in-sample", floor=0.0)
    off = ~np.eye(4, dtype=bool)
    assert tables.value[off] == approx(tables.value.T[off])
    # of the frequencies, nats
    truth = mutual_info_score(discrete[:, 1], discrete[:, 2])
    assert tables.value[1, 2] == approx(truth)
    assert np.isnan(tables.standard_error).all()


def test_a_row_of_weights_is_of_the_predictor():
    """A number 0 to 3 determines its parity; a line explains one fifth of the number's
    variance by parity.
    """
    number = np.arange(40.0) % 4
    parity = number % 2
    weights = weights_by(
        [Gaussian(), Table()], [number, parity], "in-sample", floor=0.0
    )
    assert weights.value[0, 1] == approx(np.log(2))
    assert weights.value[1, 0] == approx(-np.log(0.8) / 2)


def test_wrong_edges_are_counted():
    assert wrong_edges([-1, 0, 1], [-1, 0, 0]) == 0.5
    assert wrong_edges([1, 2, -1], [-1, 0, 1]) == 1.0
    assert wrong_edges([1, 2, -1], [-1, 0, 1], directed=False) == 0.0
