"""Does it matter which network embeds the text? (the benchmark paper, appendix D.1, figure 8)

Compared are the published BERT and RoBERTa embeddings and those of any encoder that transformers can load. It is
fine-tuned to classify the sentiment of reviews, and pairs are drawn from its sentence vectors. Without network access
the encoders are small ones built from a configuration.
"""

from __future__ import annotations

from collections.abc import Iterator

from infoscope.tracking import Profile
from sweeps.mi_benchmark._benchmark import data_fields, profiles, sweep, training_cells
from sweeps.mi_benchmark._decoding import decoding_cells
from sweeps.mi_benchmark._pairs import text_pools

PROFILES = profiles(
    dict(embeddings=("auto",), critics=("bilinear", "separable", "joint"), domains=("text",)),
    smoke=dict(
        embeddings=("small-distilbert",), critics=("separable", "joint"), bounds=("js", "smile-inf"),
        schedule_bits=(2.0,), seeds=(0,),
    ),
    laptop=dict(bounds=("dv", "infonce", "js", "smile-5"), critics=("separable", "joint"), schedule_bits=(2.0, 6.0)),
    paper=dict(embeddings=("imdb-bert", "imdb-roberta", "hub:distilbert-base-uncased")),
)  # fmt: skip


def cells(profile: Profile) -> Iterator[dict]:
    """One cell per embedding, critic, estimator and seed, and one per embedding that decodes the classes."""
    for pool in text_pools(profile.embeddings):
        yield from training_cells(profile, "text", pool=pool, critic=list(profile.critics))
        yield from decoding_cells(profile, data_fields(profile, "text"), pool=pool)


SWEEP = sweep(
    "embedding-networks",
    cells,
    PROFILES,
    axes=("embeddings", "critics"),
    share=("pool", "critic"),
    choices={"domains": ("text",)},
)
