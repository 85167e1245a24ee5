"""How many packs share a GPU, measured by running the start of one pack of every shape alone.

Ray does not limit a process's GPU memory, so the requested fraction has to be one that fits.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from infoscope.tracking.store.store import first_line
from infoscope.tracking.sweep import Cell, Pack, Report, canonical

log = logging.getLogger(__name__)

_MARGIN = 1.2  # what a trial may come to need after its first report, such as larger batches for evaluation
_CONTEXT_BYTES = 600 * 2**20  # of every process on a GPU, outside of what torch counts: CUDA's context and kernels


class Memory(NamedTuple):
    """Bytes of a GPU: the most that torch has held since the probe began, and all that the GPU has."""

    peak: int
    total: int


def read() -> Memory:
    """That of the current CUDA device, of a process that began with the probe."""
    import torch

    return Memory(torch.cuda.max_memory_reserved(), torch.cuda.mem_get_info()[1])


class _Reached(BaseException):
    """The first report of progress. Not an Exception, so that no trial takes it for a failure of its own."""


class Probe(Report):
    """Records nothing, and ends the trial at its first report of progress."""

    def progress(self, fraction: float, **metrics: float) -> None:
        raise _Reached


def measure(trial: Callable[[Pack, Report], None], pack: Pack, read: Callable[[], Memory] = read) -> Memory | str:
    """The memory that a pack's trial needs up to its first report of progress, or its error message."""
    try:
        trial(pack, Probe())
    except _Reached:
        pass
    except Exception as error:  # the pack itself will fail in the same way, and be recorded
        return f"{type(error).__name__}: {first_line(error)}"
    return read()


def share(memory: Memory) -> float:
    """The fraction 1/k of a GPU, k whole, that holds what was measured, the process's own part and a margin; or 1."""
    return 1 / max(1, math.floor(memory.total / ((memory.peak + _CONTEXT_BYTES) * _MARGIN)))


def shape(cells: Mapping[str, Cell]) -> tuple[str, ...]:
    """The values on which a pack's memory depends: the values of its cells, seeds aside."""
    return tuple(sorted(canonical({**cell, "seed": None}) for cell in cells.values()))


def shares(
    packs: Sequence[Mapping[str, Cell]], gpus: int, probe: Callable[[list[Pack]], list[Memory | str]]
) -> list[float]:
    """The fraction of a GPU that each pack asks for; 1 where the probe fails. probe: packs -> `measure` of each."""
    if len(packs) <= gpus:
        return [1.0] * len(packs)
    examples = {shape(pack): Pack(tuple(pack.values()), "cuda") for pack in packs}
    fractions = {}
    for key, found in zip(examples, probe(list(examples.values())), strict=True):
        if isinstance(found, str):
            log.warning("a probe of GPU memory failed, its packs get a whole GPU each: %s", found)
        fractions[key] = 1.0 if isinstance(found, str) else share(found)
    return [fractions[shape(pack)] for pack in packs]


def probe_on_gpus(
    trial: Callable[[Pack, Report], None],
    packs: Sequence[Pack],
    cpus: float,
    gpus: float = 1,
    read: Callable[[], Memory] = read,
) -> list[Memory | str]:
    """`measure` of every pack on a Ray worker with `cpus` cores and `gpus` GPUs; of several types of GPU, the most that
    a pack needs and the least it gets, or a failure.
    """
    import ray

    @ray.remote(num_cpus=cpus, num_gpus=gpus, max_calls=1, max_retries=1)  # a fresh process; a machine may be lost
    def probe(pack: Pack) -> Memory | str:
        return measure(trial, pack, read)

    kinds = _kinds(ray.nodes(), cpus, gpus)
    asked = [[probe.options(resources={kind: 0.001} if kind else {}).remote(pack) for kind in kinds] for pack in packs]
    return [_worst([_answer(one) for one in of_a_pack]) for of_a_pack in asked]


def _kinds(nodes: Iterable[Mapping[str, Any]], cpus: float, gpus: float) -> list[str]:
    """The types of GPU on which a trial has room, as Ray names them; "" where it does not."""
    resources = [node["Resources"] for node in nodes if node["Alive"]]
    fits = [of for of in resources if of.get("GPU", 0) >= gpus and of.get("CPU", 0) >= cpus]
    return sorted({next((name for name in of if name.startswith("accelerator_type:")), "") for of in fits})


def _answer(asked: Any) -> Memory | str:
    import ray

    try:
        return ray.get(asked)
    except ray.exceptions.RayError as error:  # its process died twice, as of too little memory
        return f"{type(error).__name__}: {first_line(error)}"


def _worst(found: Sequence[Memory | str]) -> Memory | str:
    failed = next((one for one in found if isinstance(one, str)), None)
    return failed or Memory(max(one.peak for one in found), min(one.total for one in found))
