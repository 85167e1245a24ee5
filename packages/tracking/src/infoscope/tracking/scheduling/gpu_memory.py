"""The share of a GPU for each pack, measured by running the beginning of one pack of every shape alone.

Ray does not limit the GPU memory of a process, so the requested share must be large enough.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from infoscope.tracking.store.store import first_line
from infoscope.tracking.sweep import AnyCell, Pack, Report, canonical, plain

log = logging.getLogger(__name__)

_MARGIN = 1.2  # factor for memory needed after the first report, such as larger batches for evaluation
_CONTEXT_BYTES = 600 * 2**20  # of every process, not counted by torch: CUDA's context and kernels


class Memory(NamedTuple):
    """Bytes of a GPU: the largest amount reserved by torch since the probe began, and the total."""

    peak: int
    total: int


def read() -> Memory:
    """The memory of the current CUDA device, in a process that began with the probe."""
    import torch

    return Memory(torch.cuda.max_memory_reserved(), torch.cuda.mem_get_info()[1])


class _Reached(BaseException):
    """Raised at the first report of progress; no Exception, so that no trial catches it."""


class Probe(Report):
    """A report that records nothing and ends the trial at its first report of progress."""

    def progress(self, fraction: float, **metrics: float) -> None:
        raise _Reached


def measure(trial: Callable[[Pack, Report], None], pack: Pack, read: Callable[[], Memory] = read) -> Memory | str:
    """The memory that a pack's trial needs until its first report of progress, or its error message."""
    try:
        trial(pack, Probe())
    except _Reached:
        pass
    except Exception as error:  # the pack will fail in the same way and be recorded
        return f"{type(error).__name__}: {first_line(error)}"
    return read()


def share(memory: Memory) -> float:
    """The smallest share 1/k of a GPU, k whole, for the measured memory, CUDA's context and a margin; at most 1."""
    return 1 / max(1, math.floor(memory.total / ((memory.peak + _CONTEXT_BYTES) * _MARGIN)))


def shape(cells: Mapping[str, AnyCell]) -> tuple[str, ...]:
    """The values on which a pack's memory depends: those of its cells, except the seeds."""
    return tuple(sorted(canonical({**plain(cell), "seed": None}) for cell in cells.values()))


def shares(
    packs: Sequence[Mapping[str, AnyCell]], gpus: int, probe: Callable[[list[Pack]], list[Memory | str]]
) -> list[float]:
    """The share of a GPU of each pack; 1 if the probe fails. probe: packs -> `measure` of each."""
    if len(packs) <= gpus:
        return [1.0] * len(packs)
    examples = {shape(pack): Pack(tuple(pack.values()), "cuda") for pack in packs}
    fractions = {}
    for key, found in zip(examples, probe(list(examples.values())), strict=True):
        if isinstance(found, str):
            log.warning("the measurement of GPU memory failed, so its packs get a whole GPU each: %s", found)
        fractions[key] = 1.0 if isinstance(found, str) else share(found)
    return [fractions[shape(pack)] for pack in packs]


def probe_on_gpus(
    trial: Callable[[Pack, Report], None],
    packs: Sequence[Pack],
    cpus: float,
    gpus: float = 1,
    read: Callable[[], Memory] = read,
) -> list[Memory | str]:
    """`measure` of every pack on a Ray worker with `cpus` cores and `gpus` GPUs, or an error message.

    With several types of GPU: the largest need of a pack and the smallest total.
    """
    import ray

    @ray.remote(num_cpus=cpus, num_gpus=gpus, max_calls=1, max_retries=1)  # a new process; a machine may be lost
    def probe(pack: Pack) -> Memory | str:
        return measure(trial, pack, read)

    types = _gpu_types(ray.nodes(), cpus, gpus)
    tasks = [[probe.options(resources={name: 0.001} if name else {}).remote(pack) for name in types] for pack in packs]
    return [_worst([_result(task) for task in pack_tasks]) for pack_tasks in tasks]


def _gpu_types(nodes: Iterable[Mapping[str, Any]], cpus: float, gpus: float) -> list[str]:
    """Ray's names of the types of GPU on machines that are large enough for a trial; "" for unnamed ones."""
    resources = [node["Resources"] for node in nodes if node["Alive"]]
    fits = [machine for machine in resources if machine.get("GPU", 0) >= gpus and machine.get("CPU", 0) >= cpus]
    return sorted({next((name for name in machine if name.startswith("accelerator_type:")), "") for machine in fits})


def _result(task: Any) -> Memory | str:
    import ray

    try:
        return ray.get(task)
    except ray.exceptions.RayError as error:  # its process died twice, for instance out of memory
        return f"{type(error).__name__}: {first_line(error)}"


def _worst(found: Sequence[Memory | str]) -> Memory | str:
    failed = next((one for one in found if isinstance(one, str)), None)
    return failed or Memory(max(one.peak for one in found), min(one.total for one in found))
