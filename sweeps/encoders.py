"""The encoders that the benchmark puts before the critic, built once per process; trained networks are kept on disk."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import torch
from filelock import FileLock
from safetensors.torch import load_file, save_file
from torch import nn

from infoscope import data, models
from infoscope.tracking.store import home
from sweeps.streams import stream

INVERTIBLE = ("maf", "realnvp", "irevnet")
CALIBRATION = 1024  # samples that set the statistics of a fixed map
LARGEST = 4096  # features of a layer, by averaging over places: the benchmark's images have as many


def encoded(source: data.LabelledSource, cell: Mapping[str, Any]) -> data.PairSource:
    """The pairs of a cell's source as its encoder shows them to the critic."""
    name = cell["encoder"]
    if name == "identity":
        return source
    if name == "resnet":
        shape = (cell.get("channels", 1), cell["size"], cell["size"])
        network = resnet(source, shape, cell["network_depth"], cell["network_width"], cell["network_steps"])
        layer = models.LayerEncoder(network, cell["layer"], pool=largest(network, cell["layer"]))
        return data.EncodedPairs(source, layer)
    return data.EncodedPairs(source, invertible(name, source, cell["statistics"], cell["encoder_size"]))


def invertible(name: str, source: data.PairSource, statistics: str, size: str) -> nn.Module:
    """A random invertible network; with fixed statistics, those of both sides of the source's pairs."""
    network = untrained(name, source.dim_x, statistics, size)
    if statistics == "fixed" and not network.calibrated:
        network.calibrate(torch.cat(source.sample(CALIBRATION // 2, stream(0, "calibration"))))
    return network


@functools.lru_cache(maxsize=2)
def untrained(name: str, features: int, statistics: str, size: str) -> nn.Module:
    """An encoder of "published" or "small" size. Raises ValueError for an unknown name or size."""
    sizes = {"published": 512, "small": 64}
    if name not in INVERTIBLE or size not in sizes:
        valid = f"{', '.join(INVERTIBLE)} and {' or '.join(sizes)}"
        raise ValueError(f"unknown encoder {name!r} of size {size!r}; valid are {valid}")
    generator = stream(0, f"encoder {name}")
    if name == "irevnet":
        blocks = models.IREVNET_BLOCKS[size]
        side = 2 ** (len(blocks) + 1)
        while 3 * side**2 < features:
            side *= 2
        return models.IRevNet(features, (3, side, side), blocks, statistics=statistics, generator=generator)
    flow = models.MaskedAutoregressiveFlow if name == "maf" else models.RealNVP
    return flow(features, hidden=sizes[size], statistics=statistics, generator=generator)


def largest(network: models.ResNet, layer: str) -> int | None:
    """To how many features a layer is averaged: none of the benchmark's critics takes more than its images have."""
    channels = models.LayerEncoder(network, layer, pool="mean").features
    return max(LARGEST, channels)


def resnet(source: data.LabelledSource, shape: tuple[int, ...], depth: int, width: int, steps: int) -> models.ResNet:
    """A residual network that tells the patch labels of the source's images, trained once per working tree: whoever
    comes first trains it, the others wait.
    """
    # the labels of x do not depend on the crossover, nor do the images
    asked = [source.pool.name, list(source.grid), list(shape), depth, width, steps]
    return _resnet(json.dumps(asked), source)


@functools.lru_cache(maxsize=1)
def _resnet(asked: str, source: data.LabelledSource) -> models.ResNet:
    _, _, shape, depth, width, steps = json.loads(asked)
    path = home() / "encoders" / f"resnet-{sha256(asked.encode()).hexdigest()[:16]}.safetensors"
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):
        if not path.exists():
            network = models.fit_resnet(
                lambda n, generator: source.sample_labelled(n, generator)[::2],
                shape,
                stream(0, "resnet"),
                labels=source.sources,
                depth=depth,
                width=width,
                steps=steps,
            )
            save_file(network.state_dict(), path.with_suffix(".tmp"))
            path.with_suffix(".tmp").replace(path)
    network = models.ResNet(shape, source.sources, depth=depth, width=width)
    network.load_state_dict(load_file(path))
    return network.eval()
