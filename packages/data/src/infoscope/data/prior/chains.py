"""Markov chains of two series, with transfer entropy by enumeration of their states.

The states are finitely many, or numbers on a grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import linalg

from infoscope.data.information import table_information
from infoscope.data.prior.draws import Array
from infoscope.data.prior.windows import Truth

arpack: Any = linalg  # scipy.sparse has no types
# pairs of states up to which all eigenvalues are computed
DENSE = 256
MAX_ITERATIONS = 1_000  # of the Arnoldi method


@dataclass(frozen=True, eq=False)
class Chain:
    """A Markov chain of pairs of states; given a pair, x and y move independently.

    to_x       [next x, x, y], probabilities that sum to 1 over the next x
    to_y       [next y, x, y], probabilities that sum to 1 over the next y
    emission   [observation, x], probabilities of observations of x; None: x is observed
    """

    to_x: Array
    to_y: Array
    emission: Array | None = None

    def step(self, pairs: Array) -> Array:
        """Probabilities [x * y] of pairs of states one step after `pairs` [x * y]."""
        size = pairs.size
        weights = pairs.reshape(self.to_x.shape[1:])
        moved = self.to_x * weights
        to_y = self.to_y.reshape(-1, size)
        later = moved.reshape(-1, size) @ to_y.T
        return later.ravel()

    def stationary(self) -> tuple[Array, float]:
        """Stationary probabilities [x, y], and the modulus of the second eigenvalue.

        scipy raises ArpackNoConvergence if the chain hardly leaves some of its states.
        """
        shape = self.to_x.shape[1:]
        size = self.to_x[0].size
        operator = arpack.LinearOperator((size, size), matvec=self.step, dtype=float)
        if size <= DENSE:
            matrix = operator @ np.eye(size)
            values, vectors = np.linalg.eig(matrix)
        else:
            start = np.full(size, 1 / size)
            values, vectors = arpack.eigs(
                operator, k=2, v0=start, tol=1e-10, maxiter=MAX_ITERATIONS
            )
        moduli = np.abs(values)
        first, second = np.argsort(-moduli)[:2]
        weights = np.abs(np.real(vectors[:, first]))
        weights /= weights.sum()
        return weights.reshape(shape), float(moduli[second])

    def truth(self, history: int) -> tuple[Truth, float]:
        """The truth for a history, and the modulus of the second eigenvalue."""
        pairs, memory = self.stationary()
        of_y = self.window(pairs, history, with_x=False, with_y=True)
        of_x = self.window(pairs, history, with_x=True, with_y=False)
        if self.emission is None:
            weights = self.to_y * pairs
            of_both = weights.reshape(len(weights), -1).T
        else:
            of_both = self.window(pairs, history, with_x=True, with_y=True)
        given_y = conditional_entropy(of_y)
        given_both = conditional_entropy(of_both)
        information = table_information(of_x)
        return Truth(given_y - given_both, information), memory

    def window(self, pairs: Array, history: int, with_x: bool, with_y: bool) -> Array:
        """Probabilities [past, y now] of pasts of `history` steps and of y now.

        A past holds the observations of x, the states of y, or both.
        """
        emission = self.emission
        if not with_x:
            emission = np.ones((1, len(self.to_x)))
        operands = []
        emitted = ""
        observed = "x"
        if emission is not None:
            operands.append(emission)
            emitted = "sx,"
            observed = "s"
        if with_y:
            observed += "y"
        pasts = pairs[None]
        for _ in range(history - 1):
            rule = f"wxy,{emitted}axy,bxy->w{observed}ab"
            moved = np.einsum(
                rule, pasts, *operands, self.to_x, self.to_y, optimize="greedy"
            )
            pasts = moved.reshape(-1, *pairs.shape)
        rule = f"wxy,{emitted}bxy->w{observed}b"
        table = np.einsum(rule, pasts, *operands, self.to_y, optimize="greedy")
        return table.reshape(-1, len(self.to_y))


def conditional_entropy(table: Array) -> float:
    """Entropy of the columns given the rows of a table of probabilities, nats."""
    rows = table.sum(axis=1, keepdims=True)
    shares = np.ones_like(table)
    np.divide(table, rows, out=shares, where=table > 0)
    entropies = table * np.log(shares)
    return -float(entropies.sum())
