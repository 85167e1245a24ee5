"""What lies between the products of the joint critic's layers, each in one pass over
memory, in compiled code.

Arrays of bfloat16 come as their bits, uint16; sums are float32. What is not a number
stays so: a critic that diverged must show it.
"""

from __future__ import annotations

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

# sums in any order, but nothing is taken for finite
_FAST = {"reassoc", "contract", "nsz"}


@intrinsic
def loaded(typingctx, value):
    """A stored number as one to compute with: float32 of the bits of a bfloat16, the
    number itself of a float.
    """
    if value != types.uint16:
        return value(value), lambda context, builder, signature, args: args[0]

    def codegen(context, builder, signature, args):
        wide = builder.zext(args[0], ir.IntType(32))
        return builder.bitcast(
            builder.shl(wide, ir.Constant(ir.IntType(32), 16)), ir.FloatType()
        )

    return types.float32(value), codegen


@intrinsic
def stored(typingctx, like, value):
    """A number as an element of the array `like`; of the two nearest bfloat16 the even
    one at equal distance.
    """
    kind = like.dtype
    if kind != types.uint16:
        return kind(
            like, value
        ), lambda context, builder, signature, args: context.cast(
            builder, args[1], value, kind
        )

    def codegen(context, builder, signature, args):
        word = ir.IntType(32)
        bits = builder.bitcast(args[1], word)
        odd = builder.and_(
            builder.lshr(bits, ir.Constant(word, 16)), ir.Constant(word, 1)
        )
        rounded = builder.add(bits, builder.add(odd, ir.Constant(word, 0x7FFF)))
        undefined = builder.fcmp_unordered("uno", args[1], args[1])
        rounded = builder.select(undefined, ir.Constant(word, 0x7FC0 << 16), rounded)
        return builder.trunc(
            builder.lshr(rounded, ir.Constant(word, 16)), ir.IntType(16)
        )

    return kind(like, types.float32), codegen


@numba.njit(cache=True, nogil=True)
def relu_of_sums(left, right, out):
    """out[i m + j] = relu(left[i] + right[j]); left [n, width], right [m, width], out
    [n m, width].
    """
    for i in range(len(left)):
        for j in range(len(right)):
            row, one, other = out[i * len(right) + j], left[i], right[j]
            for c in range(len(row)):
                value = one[c] + other[c]
                row[c] = stored(out, type(value)(0) if value <= 0 else value)


@numba.njit(cache=True, nogil=True)
def add_and_relu(z, bias):
    """z = relu(z + bias) in place; z [rows, width], bias [width]."""
    for r in range(len(z)):
        row = z[r]
        for c in range(len(row)):
            value = loaded(row[c]) + bias[c]
            row[c] = stored(z, type(value)(0) if value <= 0 else value)


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def scores_of(h, weight, bias, scores):
    """scores[r] = h[r] . weight + bias[0]."""
    for r in range(len(h)):
        row, total = h[r], bias[0]
        for c in range(len(row)):
            total += loaded(row[c]) * weight[c]
        scores[r] = total


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def scores_backward(gradient, weight, h, flow, of_weight, of_bias):
    """flow[r] = the gradient before the last ReLU, whose output is h [rows, width];
    adds its sum over the rows to of_bias, and the gradient of the scores' weight to
    of_weight [width].
    """
    for r in range(len(h)):
        row, out, own = h[r], flow[r], gradient[r]
        for c in range(len(row)):
            value, passed = loaded(row[c]), own * weight[c]
            passed = type(passed)(0) if value <= 0 else passed
            of_weight[c] += own * value
            of_bias[c] += passed
            out[c] = stored(flow, passed)


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def relu_backward(flow, h, of_bias):
    """flow = 0 where the ReLU gave h = 0, in place; adds its sum over the rows to
    of_bias [width].
    """
    for r in range(len(h)):
        row, out = h[r], flow[r]
        for c in range(len(row)):
            passed = loaded(out[c])
            passed = type(passed)(0) if loaded(row[c]) <= 0 else passed
            of_bias[c] += passed
            out[c] = stored(flow, passed)


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def sums_backward(flow, h, of_left, of_right):
    """of_left[i] = the sum over j, of_right[j] += the sum over i, of flow where h is
    not 0, as `relu_of_sums`.
    """
    of_left[:] = 0
    for i in range(len(of_left)):
        left = of_left[i]
        for j in range(len(of_right)):
            row, out, right = (
                h[i * len(of_right) + j],
                flow[i * len(of_right) + j],
                of_right[j],
            )
            for c in range(len(row)):
                passed = loaded(out[c])
                passed = type(passed)(0) if loaded(row[c]) <= 0 else passed
                left[c] += passed
                right[c] += passed
