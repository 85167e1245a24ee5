"""Are estimates accurate for the layers of a network? (the benchmark paper, section
5.7, figures 6 and 11)

Three random invertible networks, which do not change the mutual information, are placed
before the critic. They are normalised by the statistics of the current batch, as
published, so that the code of a sample depends on its batch, or by fixed statistics.
Then the critic is trained on every layer of a residual network that classifies the
images; no layer can contain more information than the one before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from infoscope.models import ResNet
from sweeps.mi_benchmark._benchmark import sweep, training_cells
from sweeps.mi_benchmark._cells import BenchmarkProfile, PairCell, for_laptop, for_smoke
from sweeps.mi_benchmark._decoding import decoding_cells
from sweeps.mi_benchmark._encoders import INVERTIBLE


@dataclass(frozen=True)
class LayerProfile(BenchmarkProfile):
    """The encoders, and the residual network whose layers are encoders too."""

    domains: tuple[str, ...] = ("images", "text")
    encoders: tuple[str, ...] = INVERTIBLE
    statistics: tuple[str, ...] = ("batch", "fixed")
    encoder_size: str = "published"
    network_depth: int = 50  # layers
    network_width: int = 64  # channels of the first layer
    network_steps: int = 5000  # of its training


PAPER = LayerProfile()
PROFILES = {
    "smoke": replace(
        for_smoke(PAPER),
        domains=("images",),
        encoders=("realnvp",),
        encoder_size="small",
        network_depth=18,
        network_width=8,
        network_steps=20,
        bounds=("js", "smile-inf"),
        schedule_bits=(2.0,),
        seeds=(0,),
    ),
    "laptop": replace(
        for_laptop(PAPER),
        encoder_size="small",
        network_depth=18,
        network_width=16,
        network_steps=1500,
        bounds=("dv", "js", "smile-5"),
        schedule_bits=(2.0, 6.0),
        steps=500,
    ),
    "paper": PAPER,
}


def cells(profile: LayerProfile) -> Iterator[PairCell]:
    """One cell per domain, encoder, use of its statistics or layer, estimator and seed."""
    no_layer = dict(layer="", layer_index=0)
    for domain in profile.domains:
        yield from training_cells(
            profile, domain, encoder="identity", statistics="none", **no_layer
        )
        yield from decoding_cells(profile, domain)
        yield from training_cells(
            profile,
            domain,
            encoder=list(profile.encoders),
            statistics=list(profile.statistics),
            encoder_size=profile.encoder_size,
            **no_layer,
        )
        if domain == "images":
            network = dict(
                encoder="resnet",
                statistics="none",
                network_depth=profile.network_depth,
                network_width=profile.network_width,
                network_steps=profile.network_steps,
            )
            shape = (1, profile.size, profile.size)
            layers = ResNet(
                shape, depth=profile.network_depth, width=profile.network_width
            ).layers()
            for index, layer in enumerate(layers):
                yield from training_cells(
                    profile, domain, layer=layer, layer_index=index, **network
                )


SWEEP = sweep(
    "layer-dependency",
    cells,
    PROFILES,
    axes=("encoders", "statistics"),
    share=("encoder", "statistics", "layer"),
)
