"""The joint critic's layers after the first, over all pairs of rows, in blocks that stay in a CPU's cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from infoscope.estimators.neural import _kernels as kernels

_BLOCK = 1 << 20  # numbers of the output of a ReLU in a block (4 MiB of float32)


def blocks(n: int, m: int, width: int) -> Iterator[tuple[slice, slice]]:
    """Slices of the n rows, and of their n m pairs in row-major order, that cover them in blocks."""
    rows = max(1, _BLOCK // (m * width))
    for start in range(0, n, rows):
        stop = min(n, start + rows)
        yield slice(start, stop), slice(start * m, stop * m)


def _array(tensor: Tensor) -> np.ndarray:
    """The tensor's memory, of bfloat16 as bits."""
    tensor = tensor.detach()
    return (tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor).numpy()


class _Layers:
    """The layers with weights in the type of their products, and the scores that they give to blocks of pairs."""

    def __init__(self, left: Tensor, right: Tensor, dtype: torch.dtype, layers: Sequence[Tensor]) -> None:
        self.left, self.right = _array(left), _array(right)
        self.weights = [weight.detach().to(dtype) for weight in layers[:-2:2]]
        self.biases = [_array(bias) for bias in layers[1::2]]
        self.last = _array(layers[-2])[0]

    def score(self, rows: slice, outputs: Sequence[Tensor], scores: np.ndarray) -> None:
        """Fills the outputs [pairs, width] of every ReLU and the scores [pairs] of these rows of left."""
        h = _array(outputs[0])
        kernels.relu_of_sums(self.left[rows], self.right, h)
        for below, output, weight, bias in zip(outputs, outputs[1:], self.weights, self.biases):
            h = _array(torch.mm(below, weight.T, out=output))
            kernels.add_and_relu(h, bias)
        kernels.scores_of(h, self.last, self.biases[-1], scores)


def pairwise_scores(left: Tensor, right: Tensor, dtype: torch.dtype, *layers: Tensor) -> Tensor:
    """The scores of PairwiseLayers, without gradients and in the memory of one block."""
    n, (m, width) = len(left), right.shape
    scores, own = left.new_empty(n, m), _Layers(left, right, dtype, layers)
    room = [left.new_empty(min(n * m, max(m, _BLOCK // width)), width, dtype=dtype) for _ in layers[::2]]
    for rows, pairs in blocks(n, m, width):
        own.score(rows, [one[: pairs.stop - pairs.start] for one in room], scores.numpy().reshape(-1)[pairs])
    return scores


class PairwiseLayers(torch.autograd.Function):
    """scores[i, j] = last(relu(... relu(hidden(relu(left_i + right_j))))) [n, m].

    left [n, width], right [m, width], the type of the hidden layers' products, then weight and bias of every hidden
    layer and of the last one ([1, width], [1]).
    """

    @staticmethod
    def forward(ctx, left: Tensor, right: Tensor, dtype: torch.dtype, *layers: Tensor) -> Tensor:
        n, (m, width) = len(left), right.shape
        scores, own = left.new_empty(n, m), _Layers(left, right, dtype, layers)
        outputs = [left.new_empty(n * m, width, dtype=dtype) for _ in layers[::2]]  # all that the gradients need
        for rows, pairs in blocks(n, m, width):
            own.score(rows, [h[pairs] for h in outputs], scores.numpy().reshape(-1)[pairs])
        ctx.save_for_backward(*own.weights, layers[-2], *outputs)
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient: Tensor) -> tuple[Tensor | None, ...]:
        n, m = gradient.shape
        depth = len(ctx.saved_tensors) // 2 - 1
        weights, last, outputs = ctx.saved_tensors[:depth], ctx.saved_tensors[depth], ctx.saved_tensors[depth + 1 :]
        width = last.shape[1]
        of_left, of_right = gradient.new_empty(n, width), gradient.new_zeros(m, width)
        of_last, of_bias = torch.zeros_like(last), gradient.sum().reshape(1)
        of_biases = [gradient.new_zeros(width) for _ in outputs]  # the first is of the maps before
        flows = [torch.empty_like(h) for h in outputs]  # gradients before every ReLU
        of_scores, arrays = gradient.reshape(-1).numpy(), [[_array(one) for one in of] for of in (outputs, flows)]
        sums = [_array(one) for one in of_biases]
        for rows, pairs in blocks(n, m, width):
            (*hs, h), (*gs, flow) = ([one[pairs] for one in of] for of in arrays)
            kernels.scores_backward(of_scores[pairs], _array(last)[0], h, flow, _array(of_last)[0], sums[-1])
            for k in reversed(range(depth)):
                torch.mm(flows[k + 1][pairs], weights[k], out=flows[k][pairs])
                if k:
                    kernels.relu_backward(gs[k], hs[k], sums[k])
            first = (*gs, flow)[0], (*hs, h)[0]
            kernels.sums_backward(*first, _array(of_left)[rows], _array(of_right))
        of_weights = [torch.mm(flow.T, h).to(gradient.dtype) for flow, h in zip(flows[1:], outputs)]
        layers = zip((*of_weights, of_last), (*of_biases[1:], of_bias))
        return of_left, of_right, None, *(one for layer in layers for one in layer)
