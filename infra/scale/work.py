"""The pieces of work whose cost is measured, each in a process of its own."""

from __future__ import annotations

import functools
import multiprocessing
import resource
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from infoscope.data import GaussianPairs
from infoscope.estimators import Training, estimate, knn, make_critic
from infoscope.metrics import pid

ALONE, DECOMPOSITION = "neighbours, the estimate alone", "Gaussian decomposition (PID)"
METHODS = {
    "neighbours, with interval": "ksg",
    "Gaussian copula": "gcmi",
    "logistic regression, cross-fitted": "classifier",
    "critic (SMILE), cross-fitted": "smile-5",
}
ESTIMATES = (ALONE, *METHODS, DECOMPOSITION)
STEPS, SIDE = 40, 20  # of critics in a pack: steps, and columns a side


def estimates(kind: str, rows: int, columns: int) -> Callable[[], Any]:
    """One estimate between normal columns, those of y correlated by .5 with those of x; classes are cells of y."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, columns))
    y = 0.5 * x + 0.75**0.5 * rng.standard_normal(x.shape)
    if kind == ALONE:
        return functools.partial(knn.mutual_information, x, y)
    if kind == DECOMPOSITION:
        return functools.partial(pid.gaussian_from_arrays, x[:, : columns // 2], x[:, columns // 2 :], y)
    if METHODS[kind] == "classifier":
        y = np.digitize(y[:, 0], np.linspace(-1.5, 1.5, 9))
    return functools.partial(estimate, x, y, method=METHODS[kind], generator=np.random.default_rng(0))


def packs(members: int) -> Callable[[], Any]:
    """Steps of critics of the width and batch of the profile laptop, which see the same pairs."""
    critic = make_critic("joint", SIDE, SIDE, depth=2, width=64, members=members)
    pairs = GaussianPairs(SIDE, mutual_information=2.0)
    training = Training(pairs, critic, "smile-5", STEPS, packed=True, learning_rate=5e-4)
    return functools.partial(training.advance, STEPS)


class Cost(NamedTuple):
    """Of one piece of work on one thread: processor seconds, and how far the peak of memory rose, MiB."""

    seconds: float
    mib: float


def cost_of(prepare: Callable[..., Callable[[], Any]], warm_up: Mapping, settings: Mapping) -> Cost:
    """Cost of `prepare(**settings)()` in a fresh process after a warm-up. Raises RuntimeError when that fails."""
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(send, prepare, dict(warm_up), dict(settings)))
    process.start()
    send.close()
    try:
        return receive.recv()
    except EOFError:
        raise RuntimeError(f"{prepare.__name__} with {dict(settings)} failed; see above.") from None
    finally:
        process.join()


def _child(send: Any, prepare: Callable[..., Callable[[], Any]], warm_up: dict, settings: dict) -> None:
    with threadpool_limits(1):
        prepare(**warm_up)()
        work = prepare(**settings)
        peak, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        work()
        seconds = time.process_time() - began
    send.send(Cost(seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) / 1024))
