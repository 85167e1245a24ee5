"""The three domains of the benchmark as sources of pairs, on real data where there is some and on the embedded default
elsewhere.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import torch

from infoscope import data
from infoscope.models import fit_sentence_encoder

DOMAINS = ("gaussian", "images", "text")
IMAGE_POOLS = ("mnist", "digits")
TEXT_POOLS = ("imdb-bert", "imdb-roberta", "generated-sentences")
IMAGE_CLASSES = (0, 1)
SENTENCES_SEED = 0


def pool_of(domain: str, images: str, text: str) -> str:
    """The name of the pool a domain draws from. "auto" is the real data of INFOSCOPE_DATA, or the embedded default
    where it is unset.

    Raises ValueError for an unknown domain or pool.
    """
    real = data.data_root() is not None
    choices = {
        "gaussian": ("gaussian", ("gaussian",)),
        "images": (images if images != "auto" else IMAGE_POOLS[0 if real else -1], IMAGE_POOLS),
        "text": (text if text != "auto" else TEXT_POOLS[0 if real else -1], TEXT_POOLS),
    }
    if domain not in choices:
        raise ValueError(f"unknown domain {domain!r}; valid are {', '.join(DOMAINS)}")
    chosen, valid = choices[domain]
    if chosen not in valid:
        raise ValueError(f"unknown pool {chosen!r} for {domain}; valid are auto, {', '.join(valid)}")
    return chosen


def data_set(domain: str, pool: str) -> str:
    """What a run records as its data set."""
    if domain == "gaussian":
        return "gaussian (generated)"
    items = patches(pool) if domain == "images" else embeddings(pool)
    return items.name + (" (synthetic)" if items.synthetic else "")


@functools.lru_cache(maxsize=32)
def pairs(domain: str, pool: str, bits: float, sources: int, size: int = 64, rows: int = 2) -> data.PairSource:
    """Pairs of a domain with a true mutual information of `bits`, carried by `sources` binary labels (or Gaussian
    components).

    Images are composed of rows x (sources / rows) patches and resized to size x size. Raises ValueError when `bits`
    exceeds the sources.
    """
    nats = bits * math.log(2)
    if domain == "gaussian":
        return data.GaussianPairs(sources, mutual_information=nats)
    crossover = data.crossover_for(nats, sources)
    if domain == "text":
        return data.TextPairs(embeddings(pool), sources, crossover)
    if sources % rows:
        raise ValueError(f"sources is {sources}, which is not a multiple of the {rows} rows of patches")
    return data.ImagePairs(patches(pool), (1, rows, sources // rows), size, crossover)


def labels(domain: str, bits: float, sources: int) -> data.PairSource:
    """The same information without the items that carry it, with its exact log density ratio: what the oracle critic
    sees.
    """
    nats = bits * math.log(2)
    if domain == "gaussian":
        return data.GaussianPairs(sources, mutual_information=nats)
    return data.ChannelPairs(sources, data.crossover_for(nats, sources))


@functools.cache
def patches(pool: str) -> data.ImagePool:
    """The images of two easily told classes, zeros and ones. Raises FileNotFoundError when the data is not there."""
    return (data.mnist() if pool == "mnist" else data.digits()).restrict(IMAGE_CLASSES)


@functools.cache
def embeddings(pool: str) -> data.EmbeddingPool:
    """Sentence embeddings of two classes; the generated sentences are embedded by an encoder that is trained here."""
    if pool != "generated-sentences":
        return data.imdb_embeddings(pool.removeprefix("imdb-"))
    generator = torch.Generator().manual_seed(SENTENCES_SEED)
    texts, classes = data.sentences(generator=generator)
    encoder = fit_sentence_encoder(texts, classes, generator)
    return data.EmbeddingPool(encoder.encode(texts), classes, pool, synthetic=True)


def stream(seed: int, purpose: str) -> torch.Generator:
    """An independent random stream for each purpose ("pairs", "critic", ...) of a seed; cells that share a seed share
    their streams.
    """
    words = np.random.SeedSequence([seed, *purpose.encode()]).generate_state(2, np.uint32)
    return torch.Generator().manual_seed(int(words[0]) << 31 | int(words[1]) >> 1)
