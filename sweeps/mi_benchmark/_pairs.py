"""The domains of the benchmark as sources of pairs, from real data if available,
otherwise from bundled data.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from infoscope import data
from infoscope.errors import OutOfRange, UnknownName
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.tracking.datasets import DataSet
from infoscope.tracking.sweep import plain
from sweeps import datasets
from sweeps.embedding import HUB, TRANSFORMERS, WORDS, embed, needs_fine_tuning
from sweeps.mi_benchmark._cells import BenchmarkProfile, DecodingCell, PairCell
from sweeps.mi_benchmark.settings import DOMAINS
from sweeps.streams import stream

IMAGE_POOLS = ("mnist", "digits")
TEXT_POOLS = ("imdb-bert", "imdb-roberta", WORDS, *TRANSFORMERS)
BACKGROUNDS = ("cifar10", "generated-textures")
IMAGE_CLASSES = (0, 1)
TRAINING, HELD_OUT = "training", "held out"  # the parts of a pool
HELD_OUT_SHARE = 0.2  # of the items of data without a test set
TEXTURES = 500
# fields of a source
DATA_FIELDS = (
    "domain",
    "pool",
    "sources",
    "size",
    "rows",
    "nuisance",
    "backgrounds",
    "channels",
)


def pool_of(domain: str, images: str, text: str) -> str:
    """The name of a domain's pool; "auto": data in INFOSCOPE_DATA or the default.
    ValueError: unknown name.
    """
    match domain:
        case "gaussian":
            return "gaussian"
        case "images":
            return _chosen("images", images, IMAGE_POOLS, embedded=-1)
        case "text":
            return _chosen("text", text, TEXT_POOLS, embedded=2)
        case "mixture":
            return f"{pool_of('images', images, text)}+{pool_of('text', images, text)}"
    raise UnknownName(
        f"domain must be one of {', '.join((*DOMAINS, 'mixture'))}, got {domain!r}"
    )


def text_pools(names: Sequence[str]) -> list[str]:
    """The pools of the study of embeddings; "auto" stands for all that are available
    without a download.
    """
    available = TRANSFORMERS if data.data_root() is None else TEXT_POOLS[:2]
    chosen = {}
    for name in names:
        chosen |= dict.fromkeys(available if name == "auto" else (name,))
    return [pool_of("text", "auto", name) for name in chosen]


def backgrounds_of(name: str) -> str:
    """The name of the pool of backgrounds, "auto" as in `pool_of`."""
    return _chosen("backgrounds", name, BACKGROUNDS, embedded=-1)


def _chosen(what: str, name: str, valid: Sequence[str], embedded: int) -> str:
    if name == "auto":
        return valid[0 if data.data_root() is not None else embedded]
    if name not in valid and not (what == "text" and name.startswith(HUB)):
        raise UnknownName(
            f"pool of {what} must be one of auto, {', '.join(valid)}, got {name!r}"
        )
    return name


def data_sets(cell: PairCell) -> tuple[DataSet, ...]:
    """The distribution, or the items of the pairs with backgrounds; all items if labels
    are decoded.
    """
    if cell.domain == "gaussian":
        return (
            datasets.distribution(
                "gaussian (generated)", dim=cell.sources, bits=cell.schedule_bits
            ),
        )
    pools = cell.pool.split("+")
    if cell.nuisance:
        assert cell.backgrounds is not None
        pools.append(cell.backgrounds)
    parts = (None,) if isinstance(cell, DecodingCell) else (TRAINING, HELD_OUT)
    return tuple(
        _data_set(pool, part) for pool, part in itertools.product(pools, parts)
    )


@functools.cache
def _data_set(pool: str, part: str | None) -> DataSet:
    read = (
        functools.partial(items, pool, part)
        if part
        else functools.partial(full_pool, pool)
    )
    if needs_fine_tuning(pool):
        synthetic = not pool.startswith(HUB)
        name = pool
    else:
        synthetic = full_pool(pool).synthetic
        name = full_pool(pool).name
    if synthetic:
        name += " (synthetic)"
    return datasets.items(name, read, part or "cross-fitting", synthetic)


class Fold(NamedTuple):
    """A part of a pool for cross-fitting: one of `count` folds (held_out), or the items
    outside of it.
    """

    number: int
    count: int
    held_out: bool


def pair_fields(profile: BenchmarkProfile, domain: str) -> dict[str, Any]:
    """The fields of the pairs of a domain, as a profile has them."""
    fields = dict(
        domain=domain,
        pool=pool_of(domain, profile.images, profile.text),
        schedule_bits=profile.schedule_bits,
        sources=profile.sources,
    )
    if domain in ("images", "mixture"):
        fields["rows"] = 2
    if domain == "images":
        fields["size"] = profile.size
    return fields


def pairs_of(
    cell: PairCell, bits: float, part: str | Fold = TRAINING
) -> data.KnownPairSource:
    """The pairs of a cell with a true mutual information of `bits`, from one part of
    its pool.

    Raises ValueError if the sources cannot carry `bits`, FileNotFoundError for missing
    data.
    """
    values = plain(cell)
    fields = {name: values[name] for name in DATA_FIELDS if name in values}
    return pairs(bits=bits, part=part, **fields)


def folds_of(
    cell: PairCell, count: int
) -> list[tuple[data.LabelledSource, data.LabelledSource]]:
    """For each of `count` folds, the pairs of the items outside of it and the pairs of
    its items.
    """
    bits = cell.schedule_bits[0]
    folds = []
    for number in range(count):
        outside = pairs_of(cell, bits, Fold(number, count, held_out=False))
        inside = pairs_of(cell, bits, Fold(number, count, held_out=True))
        folds.append((outside, inside))
    return folds


@functools.lru_cache(maxsize=64)
def pairs(
    domain: str,
    pool: str,
    bits: float,
    sources: int,
    size: int = 64,
    rows: int = 2,
    nuisance: float = 0.0,
    backgrounds: str | None = None,
    channels: int = 1,
    part: str | Fold = TRAINING,
) -> data.KnownPairSource:
    """Pairs of a domain with a true mutual information of `bits`, carried by `sources`
    binary labels or Gaussian components. Images are composed of rows x (sources / rows)
    patches and resized to size x size.
    """
    nats = bits * NATS_PER_BIT
    if domain == "gaussian":
        return data.GaussianPairs(sources, mutual_information=nats)
    crossover = data.crossover_for(nats, sources)
    if domain == "text":
        return data.TextPairs(items(pool, part), sources, crossover)
    if sources % rows:
        raise OutOfRange(
            f"sources must be a multiple of the {rows} rows of patches, got {sources}"
        )
    grid = (1, rows, sources // rows)
    if domain == "mixture":
        images, text = pool.split("+")
        return data.MixedPairs(
            items(images, part), items(text, part), grid, crossover=crossover
        )
    behind = items(backgrounds, part) if nuisance else None
    return data.ImagePairs(
        items(pool, part), grid, size, crossover, nuisance, behind, channels
    )


def labels(domain: str, bits: float, sources: int) -> data.KnownPairSource:
    """Labels with the same mutual information and exact log density ratio, for the
    oracle critic.
    """
    nats = bits * NATS_PER_BIT
    if domain == "gaussian":
        return data.GaussianPairs(sources, mutual_information=nats)
    return data.ChannelPairs(sources, data.crossover_for(nats, sources))


@functools.cache
def items(pool: str, part: str | Fold) -> data.ImagePool | data.EmbeddingPool:
    """The items of a part of a pool. MNIST and CIFAR-10 have test sets; a fifth of the
    others is held out.
    """
    if isinstance(part, Fold):
        folds = full_pool(pool).folds(part.count, stream(0, f"folds of {pool}"))
        return folds[part.number][part.held_out]
    if pool == "mnist":
        return data.mnist("train" if part == TRAINING else "test").restrict(
            IMAGE_CLASSES
        )
    if pool == "cifar10":
        return data.cifar10("train" if part == TRAINING else "test")
    training, unseen = full_pool(pool).split(
        HELD_OUT_SHARE, stream(0, f"parts of {pool}")
    )
    return unseen if part == HELD_OUT else training


@functools.cache
def full_pool(pool: str) -> data.ImagePool | data.EmbeddingPool:
    """All items of a pool; images are those of two classes, zeros and ones."""
    match pool:
        case "mnist":
            return data.mnist().restrict(IMAGE_CLASSES)
        case "digits":
            return data.digits().restrict(IMAGE_CLASSES)
        case "cifar10":
            return data.cifar10()
        case "generated-textures":
            return data.textures(TEXTURES, generator=stream(0, "textures"))
        case "imdb-bert" | "imdb-roberta":
            return data.imdb_embeddings(pool.removeprefix("imdb-"))
    return embed(pool)
