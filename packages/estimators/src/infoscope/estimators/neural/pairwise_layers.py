"""The joint critic's layers after the first, over all pairs of rows, in blocks that stay in a CPU's cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from infoscope.estimators.matmul import add_product_, product, rectified


def blocks(n: int, m: int) -> Iterator[tuple[slice, slice]]:
    """Slices of the n rows, and of their n m pairs in row-major order, that cover them in blocks."""
    rows = max(1, 1024 // m)  # 1 MiB of float32 at width 256, about a second-level cache
    for start in range(0, n, rows):
        stop = min(n, start + rows)
        yield slice(start, stop), slice(start * m, stop * m)


def _hidden_outputs(left: Tensor, right: Tensor, layers: Sequence[Tensor]) -> Iterator[Tensor]:
    """The output [n m, width] of every ReLU, for left [n, width], right [m, width] and hidden weights and biases."""
    h = (left.unsqueeze(1) + right).flatten(0, 1).relu_()
    yield h
    for weight, bias in zip(layers[::2], layers[1::2]):
        h = rectified(h, weight, bias)
        yield h


def _relu_backward_(gradient: Tensor, output: Tensor) -> Tensor:
    return torch.ops.aten.threshold_backward.grad_input(gradient, output, 0, grad_input=gradient)


def pairwise_scores(left: Tensor, right: Tensor, *layers: Tensor) -> Tensor:
    """The scores of PairwiseLayers, without gradients and in the memory of one block."""
    *hidden, weight, bias = layers
    n, m = len(left), len(right)
    scores = left.new_empty(n * m)
    for rows, pairs in blocks(n, m):
        for h in _hidden_outputs(left[rows], right, hidden):
            last = h
        torch.addmv(bias, last, weight[0], out=scores[pairs])
    return scores.view(n, m)


class PairwiseLayers(torch.autograd.Function):
    """scores[i, j] = last(relu(... relu(hidden(relu(left_i + right_j))))) [n, m].

    left [n, width], right [m, width], then weight and bias of every hidden layer and of the last one ([1, width], [1]).
    """

    @staticmethod
    def forward(ctx, left: Tensor, right: Tensor, *layers: Tensor) -> Tensor:
        *hidden, weight, bias = layers
        n, m = len(left), len(right)
        outputs: list[Tensor] = []  # of every ReLU, block by block; the backward pass needs no more
        scores = left.new_empty(n * m)
        for rows, pairs in blocks(n, m):
            outputs += _hidden_outputs(left[rows], right, hidden)
            torch.addmv(bias, outputs[-1], weight[0], out=scores[pairs])
        ctx.depth = len(hidden) // 2
        ctx.save_for_backward(*layers[::2], *outputs)
        return scores.view(n, m)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, ...]:
        n, m = gradient.shape
        layers = ctx.depth + 1
        weights, outputs = ctx.saved_tensors[:layers], iter(ctx.saved_tensors[layers:])
        gradient = gradient.reshape(-1)
        width = weights[-1].shape[1]
        of_left, of_right = gradient.new_empty(n, width), gradient.new_zeros(m, width)
        of_weights = [torch.zeros_like(weight) for weight in weights]
        of_biases = [weight.new_zeros(len(weight)) for weight in weights]
        for rows, pairs in blocks(n, m):
            own, outputs_of_block = gradient[pairs], [next(outputs) for _ in range(layers)]
            of_biases[-1] += own.sum()
            of_weights[-1][0].addmv_(outputs_of_block[-1].T, own)
            flow = torch.outer(own, weights[-1][0])
            for k in range(ctx.depth - 1, -1, -1):
                _relu_backward_(flow, outputs_of_block[k + 1])
                of_biases[k] += flow.sum(0)
                add_product_(of_weights[k], flow.T, outputs_of_block[k])
                flow = product(flow, weights[k])
            pairwise = _relu_backward_(flow, outputs_of_block[0]).unflatten(0, (-1, m))
            torch.sum(pairwise, 1, out=of_left[rows])
            of_right += pairwise.sum(0)
        return of_left, of_right, *(g for layer in zip(of_weights, of_biases) for g in layer)
