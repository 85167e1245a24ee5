"""Does it matter which network embeds the text? (the benchmark paper, appendix D.1,
figure 8)

Compared are the published BERT and RoBERTa embeddings and those of any encoder that
transformers can load. It is fine-tuned to classify the sentiment of reviews, and pairs
are drawn from its sentence vectors. Without network access the encoders are small ones
built from a configuration.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sweeps.mi_benchmark._benchmark import sweep, training_cells
from sweeps.mi_benchmark._cells import BenchmarkProfile, PairCell, for_laptop, for_smoke
from sweeps.mi_benchmark._decoding import decoding_cells
from sweeps.mi_benchmark._pairs import text_pools


@dataclass(frozen=True)
class EmbeddingProfile(BenchmarkProfile):
    """The embeddings, names of pools or "auto", and the critics."""

    domains: tuple[str, ...] = ("text",)
    embeddings: tuple[str, ...] = (
        "imdb-bert",
        "imdb-roberta",
        "hub:distilbert-base-uncased",
    )
    critics: tuple[str, ...] = ("bilinear", "separable", "joint")


PAPER = EmbeddingProfile()
PROFILES = {
    "smoke": replace(
        for_smoke(PAPER),
        embeddings=("small-distilbert",),
        critics=("separable", "joint"),
        bounds=("js", "smile-inf"),
        schedule_bits=(2.0,),
        seeds=(0,),
    ),
    "laptop": replace(
        for_laptop(PAPER),
        embeddings=("auto",),
        critics=("separable", "joint"),
        bounds=("dv", "infonce", "js", "smile-5"),
        schedule_bits=(2.0, 6.0),
    ),
    "paper": PAPER,
}


def cells(profile: EmbeddingProfile) -> Iterator[PairCell]:
    """One cell per embedding, critic, estimator and seed, and one per embedding that
    decodes the classes.
    """
    for pool in text_pools(profile.embeddings):
        yield from training_cells(
            profile, "text", pool=pool, critic=list(profile.critics)
        )
        yield from decoding_cells(profile, "text", pool=pool)


SWEEP = sweep(
    "embedding-networks",
    cells,
    PROFILES,
    axes=("embeddings", "critics"),
    share=("pool", "critic"),
    choices={"domains": ("text",)},
)
