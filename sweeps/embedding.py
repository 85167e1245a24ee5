"""Pools of sentence vectors: an encoder is trained to classify texts, then embeds them."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import torch
from filelock import FileLock
from safetensors.torch import load_file, save_file

from infoscope import data, models
from infoscope.errors import UnknownName
from infoscope.tracking.checks import undamaged
from infoscope.tracking.home import made_home
from sweeps.streams import stream

# built from a configuration, nothing downloaded
TRANSFORMERS = ("small-bert", "small-roberta", "small-distilbert")
# for a bag-of-words encoder, which is trained within seconds
WORDS = "generated-sentences"
SENTENCES = 1000  # generated per class for a transformer
VERSION = 2  # of the method; with a new one the vectors are made again
HUB = "hub:"  # prefix of a name on the Hugging Face hub, or of a folder


def embed(pool: str) -> data.EmbeddingPool:
    """The vectors and labels of a pool: generated-sentences, small-<architecture> or
    hub:<model> (of IMDB reviews).

    Made once per working folder and node. Raises ValueError for another name,
    FileNotFoundError when the reviews are missing.
    """
    name = f"{pool.replace(':', '-').replace('/', '-')}-{digest(pool)}"
    path = stored_tensors(
        name, lambda: dict(zip(("vectors", "labels"), fine_tuned(pool)))
    )
    with undamaged(path, "vectors and their labels (delete it to make it again)"):
        stored = load_file(path)
        return data.EmbeddingPool(
            stored["vectors"],
            stored["labels"],
            pool,
            synthetic=not pool.startswith(HUB),
        )


def stored_tensors(name: str, make: Callable[[], dict[str, torch.Tensor]]) -> Path:
    """The file with the tensors that `make` returns; made by the first process of a
    working folder that needs it.
    """
    path = made_home() / "encoders" / f"{name}.safetensors"
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):
        if not path.exists():
            save_file(make(), path.with_suffix(".tmp"))
            path.with_suffix(".tmp").replace(path)
    return path


def digest(pool: str) -> str:
    """A hash of a pool's name and version: file names cannot have all characters of the
    name.
    """
    return sha256(f"{pool}|{VERSION}".encode()).hexdigest()[:8]


def needs_fine_tuning(pool: str) -> bool:
    """Whether the vectors of a pool need a training."""
    return pool in (WORDS, *TRANSFORMERS) or pool.startswith(HUB)


def fine_tuned(pool: str) -> tuple[torch.Tensor, torch.Tensor]:
    """The vectors [n, d] and labels [n] of a pool."""
    if pool == WORDS:
        generator = stream(0, "sentences")
        texts, labels = data.sentences(generator=generator)
        return models.fit_sentence_encoder(texts, labels, generator).encode(
            texts
        ), labels
    generator = stream(0, f"embedding {pool}")
    if pool in TRANSFORMERS:
        texts, labels = data.sentences(SENTENCES, generator=generator)
        encoder = models.small_encoder(texts, pool.removeprefix("small-"), generator)
        settings = dict(epochs=1, learning_rate=1e-3)
    elif pool.startswith(HUB):
        reviews = data.imdb()
        texts = reviews.texts
        labels = reviews.labels
        encoder = models.pretrained_encoder(pool.removeprefix(HUB), generator=generator)
        settings = {}
    else:
        raise UnknownName(
            f"pool must be one of {', '.join((WORDS, *TRANSFORMERS))}, {HUB}<model> "
            f"for texts, got {pool!r}"
        )
    device = "cuda" if torch.cuda.is_available() else "cpu"
    trained = models.fine_tune(
        texts, labels, encoder, generator, device=device, **settings
    )
    return trained.encoder.embed(texts).float(), labels
