"""Are estimates accurate for the layers of a network? (the benchmark paper, section 5.7, figures 6 and 11)

Three random invertible networks, which do not change the mutual information, are placed before the critic. They are
normalised by the statistics of the current batch, as published, so that the code of a sample depends on its batch, or
by fixed statistics. Then the critic is trained on every layer of a residual network that classifies the images; no
layer can contain more information than the one before it.
"""

from __future__ import annotations

from collections.abc import Iterator

from infoscope.models import ResNet
from infoscope.tracking import Profile
from sweeps.mi_benchmark._benchmark import data_fields, profiles, sweep, training_cells
from sweeps.mi_benchmark._decoding import decoding_cells
from sweeps.mi_benchmark._encoders import INVERTIBLE

PROFILES = profiles(
    dict(
        domains=("images", "text"),
        encoders=INVERTIBLE,
        statistics=("batch", "fixed"),
        encoder_size="published",
        network_depth=50,
        network_width=64,
        network_steps=5000,
    ),
    smoke=dict(
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
    laptop=dict(
        encoder_size="small",
        network_depth=18,
        network_width=16,
        network_steps=1500,
        bounds=("dv", "js", "smile-5"),
        schedule_bits=(2.0, 6.0),
        steps=500,
    ),
)


def cells(profile: Profile) -> Iterator[dict]:
    """One cell per domain, encoder, use of its statistics or layer, estimator and seed."""
    whole = dict(layer="", layer_index=0)
    for domain in profile.domains:
        yield from training_cells(profile, domain, encoder="identity", statistics="none", **whole)
        yield from decoding_cells(profile, data_fields(profile, domain))
        size = dict(encoder_size=profile.encoder_size)
        yield from training_cells(
            profile, domain, encoder=list(profile.encoders), statistics=list(profile.statistics), **size, **whole
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
            layers = ResNet(shape, depth=profile.network_depth, width=profile.network_width).layers()
            for index, layer in enumerate(layers):
                yield from training_cells(profile, domain, layer=layer, layer_index=index, **network)


SWEEP = sweep(
    "layer-dependency",
    cells,
    PROFILES,
    axes=("encoders", "statistics"),
    share=("encoder", "statistics", "layer"),
)
