"""What a training step and its data cost beside the least they can.

The least is measured in the same run on one thread: the step's matrix products alone,
one pass over the output of every ReLU in each direction, and torch's own Adam on as
many numbers. A step must reach 85 % of that speed (in bf16 beside the calls that a
float32 step has, too), and 80 % of its own with its data. Blocks of all are
interleaved; what counts is the median of their ratios of processor time, which is the
wall time of one undisturbed thread.
"""

from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from infoscope.data import (
    EmbeddingPool,
    GaussianPairs,
    ImagePairs,
    ImagePool,
    TextPairs,
)
from infoscope.estimators import BOUNDS, Training, make_critic, share_training
from infoscope.estimators.neural.precision import PRECISIONS, has_bf16, products_in
from tests.benchmarks.timing import seconds, show

pytestmark = pytest.mark.bench

BATCH = 64
SOURCES = 10
CROSSOVER = 0.243
WIDTH = 256
DEPTH = 2
ROUNDS, STEPS_OF_ROUND = 9, 5
STEPS = 1 + ROUNDS * STEPS_OF_ROUND
BOUND = BOUNDS["smile-inf"]
ESTIMATORS = ("nwj", "js", "infonce", "dv", "mine", "smile-1", "smile-5", "smile-inf")
# of the least time; of a step in a step with its data
STEP_SHARE, DATA_SHARE = 0.85, 0.8


class FixedPairs:
    """The same batch at every step, so that only the step is measured."""

    mutual_information = 0.0

    def __init__(self, x, y):
        self.pairs = x, y
        self.dim_x, self.dim_y = x.shape[1], y.shape[1]

    def sample(self, n, generator, device="cpu"):
        return self.pairs


class Least:
    """What a step cannot do without, on memory of the sizes that it has."""

    def __init__(self, dim_x, dim_y, precision):
        kind = torch.bfloat16 if precision == "bf16" else torch.float32
        self.precision = precision
        self.sides = [
            (torch.randn(BATCH, dim), torch.randn(WIDTH, dim)) for dim in (dim_x, dim_y)
        ]
        self.of_side = torch.randn(BATCH, WIDTH)
        self.outputs = [torch.randn(BATCH**2, WIDTH).to(kind) for _ in range(DEPTH + 1)]
        self.flows = [torch.randn(BATCH**2, WIDTH).to(kind) for _ in range(DEPTH + 1)]
        self.hidden = torch.randn(WIDTH, WIDTH).to(kind)
        parameters = [
            nn.Parameter(torch.randn(WIDTH, side.shape[1])) for side, _ in self.sides
        ]
        parameters += [nn.Parameter(torch.randn(WIDTH, WIDTH)) for _ in range(DEPTH)]
        for parameter in parameters:
            parameter.grad = torch.randn_like(parameter)
        self.adam = torch.optim.Adam(parameters, lr=1e-9, fused=True)

    def products(self):
        with products_in(self.precision), torch.no_grad():
            for side, weight in self.sides:
                side @ weight.T, self.of_side.T @ side
            for below, output in zip(self.outputs, self.outputs[1:]):
                torch.mm(below, self.hidden.T, out=output)
            for flow, of_below in zip(self.flows[:0:-1], self.flows[-2::-1]):
                torch.mm(flow, self.hidden, out=of_below)
            for flow, below in zip(self.flows[1:], self.outputs):
                flow.T @ below

    def passes(self):
        for values in (*self.outputs, *self.flows):
            values.abs_()

    def step(self):
        self.products()
        self.passes()
        self.adam.step()


def in_turns(calls):
    """Processor seconds of every call, by rounds in which they take turns."""
    times = {name: np.empty(ROUNDS) for name in calls}
    for number in range(ROUNDS):
        for name, call in calls.items():
            times[name][number] = seconds(call)
    return times


def seeded_rand(*shape):
    return torch.rand(shape, generator=torch.Generator().manual_seed(0))


def image_pairs():
    """Of random patches of MNIST's size: what a step costs does not depend on what they
    show.
    """
    pixels = (255 * seeded_rand(200, 28, 28)).byte()
    pool = ImagePool(pixels, torch.arange(200) % 2, "random patches", synthetic=True)
    return ImagePairs(pool, size=64, crossover=CROSSOVER)


def text_pairs():
    vectors = 2 * seeded_rand(200, 768) - 1
    pool = EmbeddingPool(vectors, torch.arange(200) % 2, "random vectors")
    return TextPairs(pool, SOURCES, CROSSOVER)


MAKERS = {
    "gaussian": lambda: GaussianPairs(SOURCES, mutual_information=1.4),
    "images": image_pairs,
    "text": text_pairs,
}


@pytest.mark.parametrize("domain", MAKERS)
def test_shares(domain):
    """Of a step in float32 and in bf16, alone and with its data; and of eight
    estimators that share their trainings.
    """
    source = MAKERS[domain]()
    fixed = FixedPairs(*source.sample(BATCH, torch.Generator().manual_seed(0)))
    rest = None
    for precision in PRECISIONS:
        if precision == "bf16" and not has_bf16(torch.device("cpu")):
            show(
                f"{domain}, {precision}",
                limit="this processor does not multiply bfloat16 numbers",
            )
            continue
        kinds = {
            "step": (fixed, BOUND),
            "with data": (source, BOUND),
            "eight": (source, share_training(ESTIMATORS)),
        }
        trainings = {}
        for name, (pairs, bound) in kinds.items():
            members = len(bound) if isinstance(bound, list) else 1
            critic = make_critic("joint", source.dim_x, source.dim_y, members=members)
            trainings[name] = Training(pairs, critic, bound, STEPS, precision=precision)
            trainings[name].advance(1)
        least = Least(source.dim_x, source.dim_y, precision)
        least.step()
        calls = {"products": least.products, "least": least.step}
        for name, training in trainings.items():
            calls[name] = partial(training.advance, STEPS_OF_ROUND)
        took = in_turns(calls)
        step, data, eight = (took[name] / STEPS_OF_ROUND for name in kinds)
        expected = took["least"]
        if rest is None:
            # of calls, in float32: the same in bf16
            rest = max(0.0, float(np.median(step - expected)))
        else:
            expected = expected + rest
        ratios = {
            "share": expected / step,
            "products": took["products"] / step,
            "with data": step / data,
            "shared": len(share_training(ESTIMATORS)) * step / eight,
        }
        median = {name: float(np.median(values)) for name, values in ratios.items()}
        show(f"{domain}, {precision}", ms=1e3 * float(np.median(step)), **median)
        assert median["share"] >= STEP_SHARE
        assert min(median["with data"], median["shared"]) >= DATA_SHARE
