"""GPU placement without a GPU: the arithmetic, what is probed, and that a probe stops where it should."""

import inspect
import os
import signal
import sys

import pytest

from infoscope.tracking import Report, grid
from infoscope.tracking.scheduling.gpu_memory import Memory, Probe, measure, probe_on_gpus, share, shares
from infoscope.tracking.scheduling.worker import RecordedReport
from infoscope.tracking.sweep import REPORTED, Pack
from tests.sweeps.keeper import Keeper
from tests.sweeps.recorder import Recorder

GIB = 2**30


class Held:
    """Counts what a trial says it holds, instead of asking CUDA."""

    bytes = 0


def read():
    return Memory(Held.bytes, 16 * GIB)


def trial(pack, report):
    """Holds a GiB per unit of width and cell until its first report of progress, and ten times as much after it."""
    assert report.restore() is None
    for cell in pack.cells:
        if cell["width"] == 0:
            raise MemoryError("no width")
        if cell["width"] < 0 and on_the_small_gpu():
            os.kill(os.getpid(), signal.SIGKILL)
        Held.bytes += cell["width"] * GIB
        with report.member(cell):
            report.metrics(cell, {"loss": 1.0})
    report.save(lambda: {})
    report.progress(0.5, loss=1.0)
    Held.bytes *= 10


@pytest.mark.parametrize(
    ("peak", "expected"),
    [
        (0, 1 / 22),  # CUDA's own part only: 16 / (0.586 * 1.2) = 22.8
        (2, 1 / 5),  # 16 / ((2 + 0.586) * 1.2) = 5.16
        (6, 1 / 2),  # 16 / ((6 + 0.586) * 1.2) = 2.02
        (7, 1.0),  # 1.76 would fit
        (15, 1.0),
    ],
)
def test_a_share_is_the_largest_whole_part_that_fits(peak, expected):
    assert share(Memory(peak * GIB, 16 * GIB)) == expected


def test_a_probe_ends_at_the_first_progress_and_records_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pack = Pack(tuple(grid(width=3, seed=[0, 1])))
    Held.bytes = 0
    assert measure(trial, pack, read) == Memory(6 * GIB, 16 * GIB)
    assert measure(trial, Pack(({"width": 0, "seed": 0},)), read) == "MemoryError: no width"
    assert not list(tmp_path.iterdir())

    def without_progress(pack, report):
        Held.bytes = 5

    assert measure(without_progress, Pack(({"width": 1},)), read).peak == 5


@pytest.mark.parametrize("kind", [Probe, RecordedReport, Recorder, Keeper])
def test_every_report_takes_what_the_protocol_takes(kind):
    """With the same arguments: else a trial would fail in its probe, or in its test, only."""
    for name in REPORTED:
        of_kind, of_protocol = (list(inspect.signature(getattr(of, name)).parameters) for of in (kind, Report))
        assert of_kind == of_protocol, name


def packs(*widths, seeds=(0,)):
    return [{f"{width} {seed}": {"width": width, "seed": seed}} for width in widths for seed in seeds]


def test_one_pack_of_every_shape_is_probed():
    probed = []

    def probe(examples):
        found = []
        for pack in examples:
            probed.append(pack)
            Held.bytes = 0
            found.append(measure(trial, pack, read))
        return found

    assert shares(packs(2, 6, 0, seeds=(0, 1)), 1, probe) == [1 / 5] * 2 + [1 / 2] * 2 + [1.0] * 2
    assert [pack.cells[0]["width"] for pack in probed] == [2, 6, 0]  # seeds do not change the memory
    assert {pack.device for pack in probed} == {"cuda"}
    assert shares(packs(2, 6), 2, None) == [1.0, 1.0]  # nothing is probed where every pack has a GPU of its own


def read_one_of_two():
    """A GPU of 16 GiB where Ray has given out a part of the type "small", else one of 80 GiB."""
    return Memory(Held.bytes, (16 if on_the_small_gpu() else 80) * GIB)


def on_the_small_gpu():
    import ray

    return any("small" in name for name in ray.get_runtime_context().get_assigned_resources())


@pytest.mark.system
def test_on_gpus_of_several_types_the_smallest_counts():
    """Through Ray, on two nodes, whose GPUs are only counted. The answers come in the order asked; one takes its
    process down there.
    """
    import ray
    from ray.cluster_utils import Cluster

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    cluster = Cluster()
    try:
        cluster.add_node(num_cpus=2, num_gpus=1, resources={"accelerator_type:large": 1}, include_dashboard=False)
        cluster.add_node(num_cpus=2, num_gpus=2, resources={"accelerator_type:small": 1})
        ray.init(address=cluster.address, log_to_driver=False)
        examples = [Pack(({"width": width, "seed": 0},)) for width in (3, -1, 0, 5)]
        first, killed, *others = probe_on_gpus(trial, examples, cpus=1, read=read_one_of_two)
    finally:
        ray.shutdown()
        cluster.shutdown()
        ray.cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    assert first == Memory(3 * GIB, 16 * GIB) and killed.startswith("WorkerCrashed")
    assert others == ["MemoryError: no width", Memory(5 * GIB, 16 * GIB)]


@pytest.mark.gpu
def test_a_real_gpu_is_measured_and_shared():
    """What a tensor of 64 MiB takes on the device, through Ray."""
    import ray
    import torch

    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")

    def holds(pack, report):
        held = torch.ones(pack.mebibytes, 2**18, device=pack.device)
        report.progress(0.1, loss=float(held[0, 0]))
        raise AssertionError("not ended")

    cells = [Pack(({"mebibytes": size},), "cuda") for size in (64, 128)]
    ray.init(address="local", num_cpus=1, num_gpus=1, include_dashboard=False, log_to_driver=False)
    try:
        small, large = probe_on_gpus(holds, cells, cpus=1)
    finally:
        ray.shutdown()
    assert small.total == torch.cuda.mem_get_info()[1]
    assert 64 * 2**20 <= small.peak < 96 * 2**20 and 128 * 2**20 <= large.peak < 160 * 2**20
    assert 0 < share(small) < 1
