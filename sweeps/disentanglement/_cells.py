"""What the cells of autoencoders consist of."""

from __future__ import annotations

from dataclasses import dataclass

from infoscope.tracking import Cell


@dataclass(frozen=True, kw_only=True)
class ImagesCell(Cell):
    """The images of a cell."""

    data: str  # one of `_vaes.DATA`
    resolution: int  # pixels per side
    every_orientation: int  # 1: all orientations, 2: every second one
    every_position: int


@dataclass(frozen=True, kw_only=True)
class Effort(Cell):
    """The effort of an evaluation."""

    draws: int  # Monte Carlo draws of each mutual information
    votes: int  # of the BetaVAE and FactorVAE scores
    items: int  # images of the scores that fit predictors
    protocols: tuple[str, ...]  # some of infoscope.metrics.disentanglement.PROTOCOLS


@dataclass(frozen=True, kw_only=True)
class TrainingCell(Effort, ImagesCell):
    """The training of an autoencoder and its evaluation. Fields that only some models
    have are None elsewhere, and what a search has not yet suggested is None.
    """

    latents: int  # dimensions
    channels: tuple[int, ...]  # of each convolution
    hidden: int  # units of the layer behind them
    model: str  # one of MODELS
    batch: int  # images in a step
    learning_rate: float  # of Adam
    weight: float | None = None  # beta or gamma of the objective
    discriminator_width: int | None = None
    discriminator_depth: int | None = None
    discriminator_learning_rate: float | None = None
    capacity_real: float | None = None  # nats of all latents that are numbers
    capacity_categorical: float | None = None  # nats of all categories
    # of the steps, until the capacities are reached
    capacity_share: float | None = None
    steps: int
    seed: int  # of initial weights and the order of images
