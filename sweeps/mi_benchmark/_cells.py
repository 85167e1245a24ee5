"""What a cell of the benchmark consists of, and its settings with their published
values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from infoscope.tracking import Cell, Profile
from sweeps.mi_benchmark.settings import DECODING, DOMAINS, ESTIMATORS, PRECISIONS

Settings = TypeVar("Settings", bound="BenchmarkProfile")


@dataclass(frozen=True, kw_only=True)
class PairCell(Cell):
    """The pairs of a cell. Fields that only some sweeps or domains have are None
    elsewhere.
    """

    domain: str  # gaussian, images, text or mixture (of an image and a text)
    pool: str  # the name of the items, as in `_pairs.pool_of`
    schedule_bits: tuple[float, ...]  # true mutual information of each segment, in bits
    sources: int  # Gaussian components or binary labels that carry it
    rows: int | None = None  # of patches in an image
    size: int | None = None  # pixels per side of an image
    nuisance: float | None = None  # weight eta of the background, 0 to 1
    backgrounds: str | None = None  # the name of the background images
    channels: int | None = None  # colours of an image; None: 1


@dataclass(frozen=True, kw_only=True)
class TrainingCell(PairCell):
    """The training of a critic. What a search has not yet suggested is None."""

    study: str | None = None  # of a sweep with several
    # network before the critic: identity, resnet or one of `_encoders.INVERTIBLE`
    encoder: str | None = None
    statistics: str | None = None  # by which it normalises: batch, fixed or none
    encoder_size: str | None = None  # of an invertible network: published or small
    layer: str | None = None  # of a residual network; "": the images themselves
    layer_index: int | None = None  # place of the layer, from 0
    network_depth: int | None = None  # layers of the residual network
    network_width: int | None = None  # its channels in the first layer
    network_steps: int | None = None  # of its training
    steps: int  # of training, in a segment
    critic: str  # one of CRITICS
    width: int  # hidden units of a layer
    depth: int  # hidden layers of the critic
    precision: str | None = None  # of products; None: float32
    batch: int  # pairs in a step
    learning_rate: float  # of Adam
    bound: str  # the estimator, one of infoscope.estimators.BOUNDS
    seed: int  # of pairs and initial weights


@dataclass(frozen=True, kw_only=True)
class DecodingCell(PairCell):
    """The decoding of the labels of unseen items."""

    kind: str = DECODING  # tells the recorded cells from those of a training
    decoder: str  # logistic or mlp
    decoder_steps: int  # of its training
    seed: int = 0


@dataclass(frozen=True)
class BenchmarkProfile(Profile):
    """The settings of all sweeps of the benchmark, as published."""

    domains: tuple[str, ...] = DOMAINS
    bounds: tuple[str, ...] = ESTIMATORS
    seeds: tuple[int, ...] = (0, 1, 2)
    schedule_bits: tuple[float, ...] = (2.0, 4.0, 6.0, 8.0, 10.0)
    steps: int = 4000  # in a segment
    width: int = 256
    batch: int = 64
    learning_rate: float = 5e-4
    precision: str = PRECISIONS[0]
    sources: int = 10
    size: int = 64  # pixels per side
    images: str = "mnist"  # pool, as in `_pairs.pool_of`
    text: str = "imdb-bert"
    decoder_steps: int = 2000


def at_truth(figures: Mapping[str, float], bits: float) -> dict[str, float]:
    """Figures by the names of their metrics at one true mutual information in bits,
    such as `mse_bits2 at 2 bits`.
    """
    return {f"{name} at {bits:g} bits": value for name, value in figures.items()}


def for_laptop(profile: Settings) -> Settings:
    """A narrower critic, fewer and cheaper steps, real data if available."""
    return replace(
        profile,
        steps=800,
        width=64,
        size=32,
        images="auto",
        text="auto",
        decoder_steps=1000,
    )


def for_smoke(profile: Settings) -> Settings:
    """The settings of `for_laptop` with steps for seconds."""
    return replace(
        for_laptop(profile), steps=30, seeds=(0, 1), width=16, size=16, decoder_steps=30
    )
