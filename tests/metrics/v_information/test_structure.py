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
    weight = 0.0
    for child, parent in enumerate(parents):
        if parent >= 0:
            weight += weights[parent, child]
    return weight


def random_weights(rng, m):
    """Ties, missing edges and all."""
    weights = rng.normal(size=(m, m))
    if rng.random() < 0.5:
        weights = rng.integers(-5, 6, (m, m)).astype(float)
    missing = rng.choice([0.0, 0.3, 0.6, 0.8])
    weights[rng.random((m, m)) < missing] = -np.inf
    np.fill_diagonal(weights, -np.inf)
    return weights


def trees_of(m, root):
    """The parents of every tree of m nodes, or of those with this root."""
    for parents in itertools.product(range(-1, m), repeat=m):
        if parents.count(-1) != 1 or root is not None and parents[root] != -1:
            continue
        graph = nx.DiGraph()
        graph.add_nodes_from(range(m))
        for child, parent in enumerate(parents):
            if parent >= 0:
                graph.add_edge(parent, child)
        if nx.is_arborescence(graph):
            yield parents


def test_no_tree_has_a_larger_total():
    """Every tree of 2 to 4 nodes is tried; where none has all its edges, none is found."""
    rng = default_rng(0)
    trees = {}
    for m, root in itertools.product((2, 3, 4), (None, 1)):
        trees[m, root] = list(trees_of(m, root))
    without_tree = 0
    for _ in range(150):
        m, root = list(trees)[rng.integers(len(trees))]
        weights = random_weights(rng, m)
        largest = max(total(weights, parents) for parents in trees[m, root])
        if largest == -np.inf:
            without_tree += 1
            with refused("weights", "range"):
                maximum_arborescence(weights, root)
            continue
        parents = maximum_arborescence(weights, root)
        assert tuple(parents) in trees[m, root]
        assert total(weights, parents) == approx(largest)
    assert 20 < without_tree < 100
    assert maximum_arborescence([[5.0]]).tolist() == [-1]


def test_cycles_may_nest_deeper_than_calls():
    """Nodes 0 and 1 are a cycle, the two of them one with 2, these with 3, and so on;
    only the last node, which nothing enters, breaks them, by an edge that costs more
    than any other. The chain from there is the only tree.
    """
    m = 150
    weights = np.full((m, m), -np.inf)
    for place in range(1, m - 1):
        weights[place - 1, place] = 10.0 * m - place
        weights[place, place - 1] = 5.0 * m - place
    weights[m - 1, 0] = -10.0 * m**2
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 100)
    try:
        parents = maximum_arborescence(weights)
    finally:
        sys.setrecursionlimit(limit)
    assert parents.tolist() == [m - 1, *range(m - 2), -1]


def test_symmetric_weights_give_the_tree_of_chow_and_liu():
    weights = default_rng(0).random((15, 15))
    weights = weights + weights.T
    np.fill_diagonal(weights, 0.0)
    kruskal = nx.maximum_spanning_tree(nx.from_numpy_array(weights))
    expected = {frozenset(edge) for edge in kruskal.edges}
    for root in (None, 3):
        parents = maximum_arborescence(weights, root)
        edges = {frozenset(edge) for edge in edges_of("parents", parents)}
        assert edges == expected


def test_weights_of_any_size_are_distinguished():
    """Weights around 1e12 that differ by 1."""
    weights = 1e12 + np.array([[0, 2, 0], [0, 0, 1], [3, 0, 0.0]])
    assert maximum_arborescence(weights).tolist() == [2, 0, -1]


def test_weights_are_the_estimates_of_every_pair():
    """One of them fitted alone on the same folds."""
    x = default_rng(2).normal(size=(200, 3)).cumsum(axis=1)
    weights = weights_by(Gaussian(), x, generator=default_rng(3))
    alone = estimate(Gaussian(), x[:, 0], x[:, 1])
    assert weights.value[0, 1] == approx(alone.value, abs=0.02)
    assert weights.standard_error[0, 1] == approx(alone.standard_error, rel=0.1)
    assert np.isneginf(np.diag(weights.value)).all()
    framed = weights_by(Gaussian(), pd.DataFrame(x), generator=default_rng(3))
    np.testing.assert_array_equal(framed.value, weights.value)


def test_in_sample_weights_of_tables_are_shannon_s_information():
    """Of the frequencies, nats, and symmetric."""
    discrete = discrete_star(500, 4, 3, default_rng(2)).variables
    weights = weights_by(Table(), discrete, "in-sample", floor=0.0)
    off = ~np.eye(4, dtype=bool)
    assert weights.value[off] == approx(weights.value.T[off])
    truth = mutual_info_score(discrete[:, 1], discrete[:, 2])
    assert weights.value[1, 2] == approx(truth)
    assert np.isnan(weights.standard_error).all()


def test_a_row_of_weights_is_of_the_predictor():
    """A number 0 to 3 determines its parity; a line explains one fifth of the number's
    variance by parity.
    """
    number = np.arange(40.0) % 4
    parity = number % 2
    families = [Gaussian(), Table()]
    weights = weights_by(families, [number, parity], "in-sample", floor=0.0)
    assert weights.value[0, 1] == approx(np.log(2))
    assert weights.value[1, 0] == approx(-np.log(0.8) / 2)


def test_wrong_edges_are_counted():
    assert wrong_edges([-1, 0, 1], [-1, 0, 0]) == 0.5
    turned = [1, 2, -1]
    truth = [-1, 0, 1]
    assert wrong_edges(turned, truth) == 1.0
    assert wrong_edges(turned, truth, directed=False) == 0.0
