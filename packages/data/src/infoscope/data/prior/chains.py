"""Markov chains of two series with finitely many states, or numbers on a grid: transfer
entropy by enumeration.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import linalg

from infoscope.data.information import table_information
from infoscope.data.prior.draws import Array
from infoscope.data.prior.windows import Truth

# pairs of states up to which the stationary distribution is solved for directly
DENSE = 256
MAX_ITERATIONS = 1_000  # of the Arnoldi method


@dataclass(frozen=True, eq=False)
class Chain:
    """A Markov chain of states of x and y that move independently given the present
    pair.

    to_x       [next x, x, y], probabilities that sum to 1 over the next x
    to_y       [next y, x, y], probabilities that sum to 1 over the next y
    emission   [observation, x], probabilities of what is observed of x; None: x itself
    """

    to_x: Array
    to_y: Array
    emission: Array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of states of x and of y."""
        return len(self.to_x), len(self.to_y)

    def advanced(self, pairs: Array) -> Array:
        """Probabilities [x, y] of pairs of states one step later."""
        size = pairs.size
        from_pairs = (self.to_x * pairs).reshape(-1, size)
        return from_pairs @ self.to_y.reshape(-1, size).T

    def stationary(self) -> tuple[Array, float]:
        """Stationary probabilities [x, y], and the modulus of the second eigenvalue of
        the transitions.

        ArpackNoConvergence: the chain hardly leaves a part of its states.
        """
        size = self.shape[0] * self.shape[1]

        def step(flat):
            return self.advanced(flat.reshape(self.shape)).ravel()

        if size <= DENSE:
            columns = [step(pair) for pair in np.eye(size)]
            values, vectors = np.linalg.eig(np.stack(columns, axis=1))
        else:
            operator = linalg.LinearOperator((size, size), matvec=step, dtype=float)
            start = np.full(size, 1 / size)
            values, vectors = linalg.eigs(
                operator, k=2, v0=start, tol=1e-10, maxiter=MAX_ITERATIONS
            )
        order = np.argsort(-np.abs(values))
        weights = np.abs(vectors[:, order[0]].real)
        pairs = weights.reshape(self.shape) / weights.sum()
        return pairs, float(np.abs(values[order[1]]))

    def truth(self, history: int) -> tuple[Truth, float]:
        """The truth for a history, and the modulus of the second eigenvalue."""
        pairs, memory = self.stationary()
        of_y = self.window(pairs, history, with_x=False, with_y=True)
        of_x = self.window(pairs, history, with_x=True, with_y=False)
        if self.emission is None:
            of_both = (self.to_y * pairs).reshape(len(self.to_y), -1).T
        else:
            of_both = self.window(pairs, history, with_x=True, with_y=True)
        transfer = conditional_entropy(of_y) - conditional_entropy(of_both)
        return Truth(transfer, table_information(of_x)), memory

    def window(self, pairs: Array, history: int, with_x: bool, with_y: bool) -> Array:
        """Probabilities [pasts, y now] of what was observed of x, of y or of both in
        `history` steps and of y now.
        """
        emission = self.emission
        if not with_x:
            emission = np.ones((1, self.shape[0]))
        emitted, seen = ("", "x") if emission is None else ("sx,", "s")
        if with_y:
            seen += "y"
        operands = [] if emission is None else [emission]
        carried = pairs[None]
        for _ in range(history - 1):
            rule = f"wxy,{emitted}axy,bxy->w{seen}ab"
            moved = np.einsum(
                rule, carried, *operands, self.to_x, self.to_y, optimize="greedy"
            )
            carried = moved.reshape(-1, *self.shape)
        rule = f"wxy,{emitted}bxy->w{seen}b"
        table = np.einsum(rule, carried, *operands, self.to_y, optimize="greedy")
        return table.reshape(-1, len(self.to_y))


def conditional_entropy(table: Array) -> float:
    """Entropy of the columns given the rows of a table of probabilities, nats."""
    rows = table.sum(axis=1, keepdims=True)
    filled = table > 0
    shares = np.divide(table, rows, out=np.ones_like(table), where=filled)
    return -float((table * np.log(shares)).sum())
