"""The encoders before the critic, built once per process; trained networks are stored
on disk.
"""

from __future__ import annotations

import functools
import json
from hashlib import sha256
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import nn

from infoscope import data, models
from infoscope.checks import one_of
from infoscope.tracking.checks import undamaged
from sweeps.embedding import stored_tensors
from sweeps.mi_benchmark._cells import TrainingCell
from sweeps.streams import stream

INVERTIBLE = ("maf", "realnvp", "irevnet")
SIZES = {"published": 512, "small": 64}  # hidden units of the flows
CALIBRATION = 1024  # samples for the statistics of a fixed map
VERSION = 1  # of the training; with a new one the networks are trained again


def encoded(
    source: data.LabelledSource, cell: TrainingCell, training: data.LabelledSource
) -> data.KnownPairSource:
    """The pairs of a source, encoded by the cell's encoder, which is trained on pairs
    of `training` only.
    """
    name = cell.encoder
    if name == "identity":
        return source
    if name == "resnet":
        assert cell.size is not None and cell.network_depth is not None
        assert cell.network_width is not None and cell.network_steps is not None
        shape = (cell.channels or 1, cell.size, cell.size)
        network = resnet(
            training, shape, cell.network_depth, cell.network_width, cell.network_steps
        )
        return data.EncodedPairs(source, models.LayerEncoder(network, cell.layer))
    return data.EncodedPairs(
        source,
        invertible(name, training, cell.pool, cell.statistics, cell.encoder_size),
    )


def check_encoder(cell: TrainingCell) -> None:
    """Raises ValueError for an unknown encoder, kind of statistics or size, without
    building it.
    """
    valid = {
        "encoder": (*INVERTIBLE, "identity", "resnet"),
        "statistics": ("batch", "fixed", "none"),
        "encoder_size": tuple(SIZES),
    }
    for name, choices in valid.items():
        value = getattr(cell, name)
        if value is not None:
            one_of(name, value, choices)


@functools.lru_cache(maxsize=2)
def _untrained(
    name: str, features: int, pool: str, statistics: str, size: str
) -> nn.Module:
    generator = stream(0, f"encoder {name}")
    if name == "irevnet":
        blocks = models.IREVNET_BLOCKS[size]
        side = 2 ** (len(blocks) + 1)
        while 3 * side**2 < features:
            side *= 2
        return models.IRevNet(
            features,
            (3, side, side),
            blocks,
            statistics=statistics,
            generator=generator,
        )
    flow = models.MaskedAutoregressiveFlow if name == "maf" else models.RealNVP
    return flow(
        features, hidden=SIZES[size], statistics=statistics, generator=generator
    )


def invertible(
    name: str, training: data.KnownPairSource, pool: str, statistics: str, size: str
) -> nn.Module:
    """A random invertible network; fixed statistics are those of x and y of the
    training pairs of its pool.
    """
    network = _untrained(name, training.dim_x, pool, statistics, size)
    if statistics == "fixed" and not network.calibrated:
        network.calibrate(
            torch.cat(training.sample(CALIBRATION // 2, stream(0, "calibration")))
        )
    return network


def resnet(
    training: data.LabelledSource,
    shape: tuple[int, ...],
    depth: int,
    width: int,
    steps: int,
) -> models.ResNet:
    """A residual network trained on the patch labels of the training images, once per
    working folder.
    """
    # without the crossover, on which neither the images nor the labels of x depend
    settings = [training.pool.name, training.grid, shape, depth, width, steps, VERSION]

    def weights() -> dict[str, torch.Tensor]:
        network = models.fit_resnet(
            lambda n, generator: training.sample_labelled(n, generator)[::2],
            shape,
            stream(0, "resnet"),
            labels=training.sources,
            depth=depth,
            width=width,
            steps=steps,
            device="cuda" if torch.cuda.is_available() else "cpu",
        )
        return network.cpu().state_dict()

    digest = sha256(json.dumps(settings).encode()).hexdigest()[:16]
    path = stored_tensors(f"resnet-{digest}", weights)
    return _stored(path, shape, training.sources, depth, width)


@functools.lru_cache(maxsize=1)
def _stored(
    path: Path, shape: tuple[int, ...], labels: int, depth: int, width: int
) -> models.ResNet:
    network = models.ResNet(shape, labels, depth=depth, width=width)
    with undamaged(
        path, "the complete weights of a ResNet (delete it to make it again)"
    ):
        network.load_state_dict(load_file(path))
    return network.eval()
