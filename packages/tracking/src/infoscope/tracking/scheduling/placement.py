"""How many packs share a GPU, measured by running the start of one pack of every shape alone.

Ray does not limit a process's GPU memory, so the requested fraction has to be one that fits.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
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


class Reader:
    """Reads the memory of the current CUDA device."""

    def begin(self) -> None:
        import torch

        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()

    def read(self) -> Memory:
        import torch

        return Memory(torch.cuda.max_memory_reserved(), torch.cuda.mem_get_info()[1])


class _Reached(BaseException):
    """The first report of progress. Not an Exception, so that no trial takes it for a failure of its own."""


class Probe(Report):
    """Records nothing, and ends the trial at its first report of progress."""

    def progress(self, fraction: float, **metrics: float) -> None:
        raise _Reached


def measure(trial: Callable[[Pack, Report], None], pack: Pack, reader: Reader) -> Memory | str:
    """The memory that a pack's trial needs up to its first report of progress, or its error message."""
    reader.begin()
    try:
        trial(pack, Probe())
    except _Reached:
        pass
    except Exception as error:  # the pack itself will fail in the same way, and be recorded
        return f"{type(error).__name__}: {first_line(error)}"
    return reader.read()


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
    trial: Callable[[Pack, Report], None], packs: list[Pack], reader: Reader, cpus: float, gpus: float = 1
) -> list[Memory | str]:
    """`measure` of every pack on Ray workers with `cpus` cores and `gpus` GPUs each; the largest over GPU types."""
    import ray

    found = [_probe_on(kind, room, trial, packs, reader, cpus, gpus) for kind, room in _room(ray.nodes(), cpus, gpus)]
    return [worst(of_a_pack) for of_a_pack in zip(*found, strict=True)]


def worst(found: Sequence[Memory | str]) -> Memory | str:
    """The most a pack needs and the least it gets, of measurements on several GPUs; a failure if there is one."""
    failed = next((one for one in found if isinstance(one, str)), None)
    return failed or Memory(max(one.peak for one in found), min(one.total for one in found))


def _room(nodes: Sequence[Mapping[str, Any]], cpus: float, gpus: float) -> list[tuple[str, int]]:
    """The types of GPU, as Ray names them ("" where it does not), and how many probes have room on each at once."""
    room: Counter[str] = Counter()
    for resources in (node["Resources"] for node in nodes if node["Alive"]):
        kind = next((name for name in resources if name.startswith("accelerator_type:")), "")
        room[kind] += int(min(resources.get("GPU", 0) / gpus, resources.get("CPU", 0) / cpus))
    return [(kind, count) for kind, count in sorted(room.items()) if count]


def _probe_on(
    kind: str,
    room: int,
    trial: Callable[[Pack, Report], None],
    packs: list[Pack],
    reader: Reader,
    cpus: float,
    gpus: float,
) -> list[Memory | str]:
    import ray
    from ray.util import ActorPool

    @ray.remote(
        num_gpus=gpus,
        num_cpus=cpus,
        resources={kind: 0.001} if kind else None,
        max_restarts=-1,
        max_task_retries=1,  # its machine may have been lost
    )
    class Prober:
        def measure(self, pack: Pack) -> Memory | str:
            return measure(trial, pack, reader)

    actors, found = [Prober.remote() for _ in range(min(room, len(packs)))], []
    pool = ActorPool(actors)
    try:
        for pack in packs:
            pool.submit(lambda actor, pack: actor.measure.remote(pack), pack)
        while pool.has_next():
            try:
                found.append(pool.get_next())
            except ray.exceptions.RayError as error:  # its process died twice, as of too little memory
                found.append(f"{type(error).__name__}: {first_line(error)}")
    finally:
        for actor in actors:
            ray.kill(actor)
    return found
