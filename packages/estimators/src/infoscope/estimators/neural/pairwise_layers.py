"""The joint critic's layers after the first, over all pairs of rows, with one pass over
memory between two products.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from infoscope.estimators.neural import _kernels as kernels

# numbers of the output of a ReLU in a block of scores without gradients (4 MiB of
# float32)
_BLOCK = 1 << 20


def _array(tensor: Tensor) -> np.ndarray:
    """The tensor's memory, of bfloat16 as bits."""
    tensor = tensor.detach()
    return (
        tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor
    ).numpy()


class _Layers:
    """The layers with weights in the type of their products, and the scores that they
    give to blocks of pairs.
    """

    def __init__(
        self, left: Tensor, right: Tensor, dtype: torch.dtype, layers: Sequence[Tensor]
    ) -> None:
        self.left, self.right = _array(left), _array(right)
        self.weights = [weight.detach().to(dtype) for weight in layers[:-2:2]]
        self.biases = [_array(bias) for bias in layers[1::2]]
        self.last = _array(layers[-2])[0]

    def score(self, rows: slice, outputs: Sequence[Tensor], scores: np.ndarray) -> None:
        """Fills the outputs [pairs, width] of every ReLU and the scores [pairs] of
        these rows of left.
        """
        h = _array(outputs[0])
        kernels.relu_of_sums(self.left[rows], self.right, h)
        for below, output, weight, bias in zip(
            outputs, outputs[1:], self.weights, self.biases
        ):
            h = _array(torch.mm(below, weight.T, out=output))
            kernels.add_and_relu(h, bias)
        kernels.scores_of(h, self.last, self.biases[-1], scores)


def pairwise_scores(
    left: Tensor, right: Tensor, dtype: torch.dtype, *layers: Tensor
) -> Tensor:
    """The scores of PairwiseLayers, without gradients and in the memory of two blocks."""
    n, (m, width) = len(left), right.shape
    scores, own, rows = (
        left.new_empty(n, m),
        _Layers(left, right, dtype, layers),
        max(1, _BLOCK // max(1, m * width)),
    )
    room = [left.new_empty(min(n, rows) * m, width, dtype=dtype) for _ in range(2)]
    for start in range(0, n, rows):
        of_block = scores[start : start + rows].view(-1).numpy()
        own.score(
            slice(start, start + rows),
            [one[: len(of_block)] for one in room] * len(layers),
            of_block,
        )
    return scores


class PairwiseLayers(torch.autograd.Function):
    """scores[i, j] = last(relu(... relu(hidden(relu(left_i + right_j))))) [n, m].

    left [n, width], right [m, width], the type of the hidden layers' products, then
    weight and bias of every hidden layer and of the last one ([1, width], [1]).
    """

    @staticmethod
    def forward(
        ctx, left: Tensor, right: Tensor, dtype: torch.dtype, *layers: Tensor
    ) -> Tensor:
        scores, own = (
            left.new_empty(len(left), len(right)),
            _Layers(left, right, dtype, layers),
        )
        outputs = [
            left.new_empty(scores.numel(), right.shape[1], dtype=dtype)
            for _ in layers[::2]
        ]
        own.score(slice(None), outputs, scores.view(-1).numpy())
        ctx.save_for_backward(*own.weights, layers[-2], *outputs)
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient: Tensor) -> tuple[Tensor | None, ...]:
        (n, m), depth = gradient.shape, len(ctx.saved_tensors) // 2 - 1
        weights, last, outputs = (
            ctx.saved_tensors[:depth],
            ctx.saved_tensors[depth],
            ctx.saved_tensors[depth + 1 :],
        )
        of_left, of_right = (
            gradient.new_empty(n, last.shape[1]),
            gradient.new_zeros(m, last.shape[1]),
        )
        of_weights = [torch.zeros_like(last)]  # from the last layer to the first
        of_biases = [
            gradient.sum().reshape(1),
            *(gradient.new_zeros(last.shape[1]) for _ in outputs),
        ]
        arrays, sums = (
            [_array(h) for h in outputs],
            [_array(one) for one in reversed(of_biases)],
        )
        # gradients before a ReLU
        flow, below = torch.empty_like(outputs[-1]), torch.empty_like(outputs[-1])
        kernels.scores_backward(
            _array(gradient.reshape(-1)),
            _array(last)[0],
            arrays[-1],
            _array(flow),
            _array(of_weights[0])[0],
            sums[-2],
        )
        for k in reversed(range(depth)):
            of_weights.append(torch.mm(flow.T, outputs[k]).to(gradient.dtype))
            flow, below = torch.mm(flow, weights[k], out=below), flow
            if k:
                kernels.relu_backward(_array(flow), arrays[k], sums[k])
        kernels.sums_backward(
            _array(flow), arrays[0], _array(of_left), _array(of_right)
        )
        layers = zip(reversed(of_weights), reversed(of_biases[:-1]))
        return of_left, of_right, None, *(one for layer in layers for one in layer)
