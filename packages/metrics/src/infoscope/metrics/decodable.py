"""Decodable information: a lower bound on the information of pairs that share labels,
from decoders of the labels.

The nominal information of a binary symmetric channel, sources * (ln 2 - H(crossover))
(Lee & Rhee 2024, section 4.5), assumes labels that can be decoded without error. With a
held-out decoder's posteriors q_s(x), r_s(y) of label 1, the log density ratio is the
sum over s of log(1 + (1 - 2 b) u v), u = 2 q - 1, v = 2 r - 1, b the crossover. Its
mean over pairs minus the log of its mean exponential over independent pairs (the
normaliser) is a lower bound on I(X; Y) (Donsker & Varadhan 1983). Means are over all
pairs of held-out items, weighted by 1 - b and b.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from scipy import stats
from torch import Tensor, nn
from torch.nn import functional

from infoscope.checks import one_of, require_int, require_number
from infoscope.errors import (
    InvalidInput,
    NoVariation,
    OutOfRange,
    WrongLength,
    WrongShape,
    WrongType,
)
from infoscope.estimators.alignment import aligns
from infoscope.estimators.classifier.cross_fitting import calibrating_slope, cross_fit
from infoscope.estimators.families.logistic import Logistic
from infoscope.estimators.families.networks import fully_connected
from infoscope.estimators.result import Estimate, mean_of, root_sum_squares
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics.accuracy import replicated
from infoscope.sources import LabelledSource

# one is chosen in each fold
PENALTIES = (Logistic(1.0), Logistic(30.0), Logistic(1000.0))
FLOOR = 1e-4  # least posterior of a label
HIDDEN = {"linear": (), "mlp": (256,)}  # decoder -> widths of its hidden layers
PAIRS_AT_ONCE = 1 << 20  # 8 MiB of float64
# multiplied before the log is taken; each lies within [1e-12, 2], so the product is a
# float64
FACTORS_PER_LOG = 16


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DecodableInformation(Estimate):
    """Decodable information at one crossover, a lower bound on I(X; Y); nats.
    standard_error: over items (identical ones once), or folds.

    nominal     sources * (ln 2 - H(crossover)), the information without decoding errors
    normaliser  mean exponential of the log ratio over independent pairs, all sources; 1 if calibrated
    """

    crossover: float
    nominal: float
    normaliser: float


@dataclass(frozen=True)
class Decoding:
    """Decodable information at several crossovers, from one set of decoders, and their
    quality.

    information  one for each crossover
    accuracy     share of labels decoded correctly, with its standard error
    log_loss     after calibration, nats; ln 2 for a guess
    n            held-out items, or pairs
    """

    information: tuple[DecodableInformation, ...]
    accuracy: float
    accuracy_standard_error: float
    log_loss: float
    n: int


@aligns("vectors", "labels")
def decodable_information_of_items(
    vectors: ArrayLike,
    labels: ArrayLike,
    crossovers: Sequence[float],
    sources: int,
    family: Any = PENALTIES,
    folds: int = 5,
    generator: np.random.Generator | None = None,
) -> Decoding:
    """Decodable information of pairs x, y of `sources` random items each, from a pool
    of labelled items.

    Parameters
    ----------
    vectors
        Numbers [n, d]; equal rows share a fold.
    labels
        [n], of two classes.
    crossovers
        Probabilities in [0, 1/2] that a label of y differs from that of x.
    sources
        Items in x, and in y.
    family, folds
        The decoder and the folds of its calibrated predictions; see
        `classifier.cross_fit`.

    Returns
    -------
    Decoding
        Means over pairs of distinct items are exact; the error is the infinitesimal
        jackknife of a U-statistic over items.

    Raises
    ------
    ValueError
        Labels not of two classes, a crossover outside [0, 1/2], sources < 1, and as
        `classifier.cross_fit`.
    """
    crossovers = [require_number("crossovers", b, most=0.5) for b in crossovers]
    require_int("sources", sources, 1)
    vectors = np.asarray(vectors)
    bits = np.unique(np.asarray(labels), return_inverse=True)[1]
    if bits.max() != 1:
        raise WrongType(f"labels must have exactly two classes, got {bits.max() + 1}.")
    copies = equal_rows(vectors)
    fit = cross_fit(
        {"item": vectors},
        {"label": bits},
        copies,
        family,
        folds,
        floor=FLOOR,
        generator=generator,
    )
    surprise = fit.pointwise_entropy("label", "item")
    agreement = 2.0 * np.exp(-surprise) - 1.0
    accuracy = fit.estimate(agreement > 0)
    information = [
        information_of_items(agreement, bits, copies, crossover, sources)
        for crossover in crossovers
    ]
    return Decoding(
        information=tuple(information),
        accuracy=accuracy.value,
        accuracy_standard_error=accuracy.standard_error,
        log_loss=float(surprise.mean()),
        n=fit.n,
    )


def information_of_items(
    agreement: np.ndarray,
    bits: np.ndarray,
    copies: np.ndarray,
    crossover: float,
    sources: int,
) -> DecodableInformation:
    """Exact means over all pairs of distinct items, and their sampling error.

    agreement [n] is 2 q(own label) - 1, negated where labels differ; copies [n] codes
    equal rows.
    """
    contrast = 1.0 - 2.0 * crossover
    classes = [np.flatnonzero(bits == label) for label in (0, 1)]
    log_ratio = np.empty(len(bits))  # of every item, averaged over its partners
    exponent = np.empty(len(bits))
    for rows, other_rows in zip(classes, reversed(classes)):
        a = agreement[rows]
        b = agreement[other_rows]
        partners = len(a) - 1
        same_label = (
            log_factor_sums(a, a, contrast) - np.log1p(contrast * a**2)
        ) / partners
        other_label = log_factor_sums(a, -b, contrast) / len(b)
        log_ratio[rows] = (1 - crossover) * same_label + crossover * other_label
        mean_of_partners = (a.sum() - a) / partners
        exponent[rows] = contrast * a * (mean_of_partners - b.mean()) / 2
    normaliser = 1.0 + float(np.mean([exponent[rows].mean() for rows in classes]))
    mean_log_ratio = float(np.mean([log_ratio[rows].mean() for rows in classes]))
    value = mean_log_ratio - math.log(normaliser)
    # A label has probability 1/2 and an item is in x and in y: the factors 1/2 and 2
    # cancel.
    influence = log_ratio - exponent / normaliser
    for rows in classes:
        influence[rows] = (influence[rows] - influence[rows].mean()) / len(rows)
    influence_of_copies = np.bincount(copies, weights=influence)
    units = len(influence_of_copies)
    influence_of_copies *= sources * math.sqrt(units / (units - 1))
    return DecodableInformation(
        sources * value,
        root_sum_squares(influence_of_copies),
        n=len(bits),
        method="classifiers of items",
        units=units,
        degrees=units - 1,
        influence=influence_of_copies,
        crossover=crossover,
        nominal=sources * channel_information(crossover),
        normaliser=normaliser**sources,
    )


def decodable_information(
    folds: Sequence[tuple[LabelledSource, LabelledSource]],
    crossovers: Sequence[float],
    decoder: str = "linear",
    shared: bool = False,
    samples: int = 2000,
    steps: int = 1000,
    batch: int = 128,
    generator: torch.Generator | None = None,
) -> Decoding:
    """Decodable information of the pairs that sources draw together with their labels.

    Parameters
    ----------
    folds
        At least two pairs (training source, held-out source); the sources of a pair
        must share no item.
    crossovers
        Probabilities in [0, 1/2] that a label of y differs from that of x.
    decoder
        "linear" or "mlp" (256 ReLU units), trained by AdamW on `steps` fresh batches.
    shared
        One decoder for x and y, which must be of one kind.
    samples
        Pairs drawn from every held-out source.

    Returns
    -------
    Decoding
        Log odds are calibrated on the other folds' held-out items. Each label is
        decoded from its own part of x and y. The standard error is the spread between
        folds over sqrt(folds).

    Raises
    ------
    ValueError
        Fewer than two folds, another decoder, settings out of range, labels all equal,
        unequal lengths when shared, different label counts.
    """
    crossovers = [require_number("crossovers", b, most=0.5) for b in crossovers]
    if len(folds) < 2:
        raise OutOfRange(
            "folds must have at least two (training, held-out) pairs of sources, got "
            f"{len(folds)}."
        )
    one_of("decoder", decoder, HIDDEN)
    for setting, value in {"samples": samples, "steps": steps, "batch": batch}.items():
        require_int(setting, value, 1)
    generator = torch.Generator().manual_seed(0) if generator is None else generator
    held_out_pairs = []
    for training, held_out in folds:
        decode_x, decode_y = train_decoders(
            training, HIDDEN[decoder], shared, steps, batch, generator
        )
        x, y, labels_x, labels_y = held_out.sample_labelled(samples, generator)
        decoded_x = Decoded(decode_x(x), as_bits(labels_x))
        decoded_y = Decoded(decode_y(y), as_bits(labels_y))
        held_out_pairs.append((decoded_x, decoded_y))
    counts = set()
    for decoded_x, decoded_y in held_out_pairs:
        counts |= {decoded_x.bits.shape[1], decoded_y.bits.shape[1]}
    if len(counts) > 1:
        raise WrongLength(
            f"folds must all have the same number of sources, got {sorted(counts)}."
        )
    (sources,) = counts
    agreements = []
    for fold, (decoded_x, decoded_y) in enumerate(held_out_pairs):
        others = held_out_pairs[:fold] + held_out_pairs[fold + 1 :]
        slope_x = calibrated_slope([x for x, _ in others])
        slope_y = calibrated_slope([y for _, y in others])
        agreements.append((decoded_x.agreement(slope_x), decoded_y.agreement(slope_y)))
    correct = []
    log_losses = []
    for of_x, of_y in agreements:
        correct.append(np.mean([(of_x > 0).mean(), (of_y > 0).mean()]))
        log_losses.append(-np.log((1 + of_x) / 2).mean())
        log_losses.append(-np.log((1 + of_y) / 2).mean())
    accuracy = replicated(correct)
    information = []
    for crossover in crossovers:
        information.append(
            information_of_folds(held_out_pairs, agreements, crossover, sources)
        )
    return Decoding(
        information=tuple(information),
        accuracy=accuracy.value,
        accuracy_standard_error=accuracy.standard_error,
        log_loss=float(np.mean(log_losses)),
        n=samples * len(folds),
    )


def train_decoders(
    source: LabelledSource,
    hidden: Sequence[int],
    shared: bool,
    steps: int,
    batch: int,
    generator: torch.Generator,
) -> list[Callable[[Tensor], np.ndarray]]:
    """Decoders of x and of y (the same one twice if shared): [n, dim] -> log odds of
    label 1 [n, sources], float64.
    """
    x, y, labels, _ = source.sample_labelled(max(batch, 1000), generator)
    if shared and x.shape != y.shape:
        raise WrongLength(
            f"shared must be False for x and y of different lengths, got {x.shape[1]} "
            f"and {y.shape[1]}."
        )
    examples = [torch.cat([x, y])] if shared else [x, y]
    scalings = [scaling(inputs) for inputs in examples]
    networks = []
    parameters = []
    for inputs in examples:
        width = inputs.shape[1]
        network = fully_connected([width, *hidden, labels.shape[1]], generator)
        # AdamW changes every weight equally, and a linear score is a sum of `width` of
        # them
        rate = 1e-3 if hidden else 0.3 / width**0.5
        networks.append(network)
        parameters.append({"params": network.parameters(), "lr": rate})
    optimiser = torch.optim.AdamW(parameters, weight_decay=1e-2)
    decay = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, total_iters=steps)
    for _ in range(steps):
        x, y, labels_x, labels_y = source.sample_labelled(batch, generator)
        batches = [(x, labels_x), (y, labels_y)]
        if shared:
            batches = [(torch.cat([x, y]), torch.cat([labels_x, labels_y]))]
        optimiser.zero_grad()
        for network, scaled, (inputs, bits) in zip(networks, scalings, batches):
            log_odds = network(scaled(inputs))
            functional.binary_cross_entropy_with_logits(
                log_odds, bits.to(inputs.dtype)
            ).backward()
        optimiser.step()
        decay.step()

    @torch.no_grad()
    def decode(
        network: nn.Module, scaled: Callable[[Tensor], Tensor], inputs: Tensor
    ) -> np.ndarray:
        return network(scaled(inputs)).double().numpy()

    decoders = [
        partial(decode, network, scaled) for network, scaled in zip(networks, scalings)
    ]
    return decoders * 2 if shared else decoders


def scaling(examples: Tensor) -> Callable[[Tensor], Tensor]:
    """A map of inputs [n, dim] to mean 0 per column and mean variance 1 over columns;
    ValueError if all are equal.
    """
    mean = examples.mean(0)
    scale = examples.var(0).mean().sqrt()
    if not scale > 0:
        raise NoVariation(
            f"pairs must vary, but the standard deviation of {len(examples)} draws is "
            f"{scale.item()}."
        )
    return lambda inputs: (inputs - mean) / scale


@dataclass(frozen=True, eq=False)
class Decoded:
    """x or y of held-out pairs: the decoder's log odds of label 1 and the labels, both
    [n, sources].
    """

    log_odds: np.ndarray
    bits: np.ndarray

    def agreement(self, slope: float) -> np.ndarray:
        """2 q(own label) - 1 [n, sources], q the calibrated posteriors, none below
        `FLOOR`.
        """
        log_odds = np.where(self.bits == 1, self.log_odds, -self.log_odds)
        return (1.0 - 2.0 * FLOOR) * np.tanh(slope * log_odds / 2.0)


def calibrated_slope(folds: Sequence[Decoded]) -> float:
    """The factor on the log odds that minimises the log loss of all these labels."""
    log_odds = np.concatenate([fold.log_odds.ravel() for fold in folds])
    bits = np.concatenate([fold.bits.ravel() for fold in folds])
    log_posterior = -np.logaddexp(0.0, np.stack([log_odds, -log_odds], axis=1))
    log_prior = np.full(2, -NATS_PER_BIT)
    return calibrating_slope(log_posterior, log_prior, bits)[0]


def information_of_folds(
    pairs: Sequence[tuple[Decoded, Decoded]],
    agreements: Sequence[tuple[np.ndarray, np.ndarray]],
    crossover: float,
    sources: int,
) -> DecodableInformation:
    """The mean over folds of the sum over sources."""
    values = np.empty((len(pairs), sources))
    log_normalisers = np.empty((len(pairs), sources))
    for fold, ((x, y), (agreement_x, agreement_y)) in enumerate(zip(pairs, agreements)):
        for s in range(sources):
            x_classes = [agreement_x[x.bits[:, s] == label, s] for label in (0, 1)]
            y_classes = [agreement_y[y.bits[:, s] == label, s] for label in (0, 1)]
            values[fold, s], log_normalisers[fold, s] = information_of_source(
                x_classes, y_classes, crossover
            )
    summary = mean_of(values.sum(axis=1), method="decoders of pairs, over folds")
    return DecodableInformation(
        **vars(summary),
        crossover=crossover,
        nominal=sources * channel_information(crossover),
        normaliser=float(np.exp(log_normalisers.sum(axis=1)).mean()),
    )


def information_of_source(
    x_classes: Sequence[np.ndarray], y_classes: Sequence[np.ndarray], crossover: float
) -> tuple[float, float]:
    """The bound of one source and the log of its normaliser, nats, from the agreements
    of each label in x and y.
    """
    if not all(map(len, (*x_classes, *y_classes))):
        raise InvalidInput(
            "held-out labels must take both values at every source; draw more samples."
        )
    contrast = 1.0 - 2.0 * crossover
    log_ratio = 0.0
    for label in (0, 1):
        x = x_classes[label]
        y_same = y_classes[label]
        y_other = y_classes[1 - label]
        same_label = log_factor_sums(x, y_same, contrast)
        other_label = log_factor_sums(x, -y_other, contrast)
        log_ratio += (1 - crossover) / 2 * same_label.mean() / len(y_same)
        log_ratio += crossover / 2 * other_label.mean() / len(y_other)
    u = (x_classes[1].mean() - x_classes[0].mean()) / 2
    v = (y_classes[1].mean() - y_classes[0].mean()) / 2
    log_normaliser = math.log1p(contrast * u * v)
    return float(log_ratio) - log_normaliser, log_normaliser


def log_factor_sums(a: np.ndarray, b: np.ndarray, contrast: float) -> np.ndarray:
    """sum over j of log(1 + contrast * a_i b_j), [len(a)]."""
    length = math.ceil(len(b) / FACTORS_PER_LOG) * FACTORS_PER_LOG
    padded = np.zeros(length)  # factors of 1
    padded[: len(b)] = contrast * b
    columns = padded.reshape(FACTORS_PER_LOG, -1)
    sums = []
    for part in np.array_split(a, math.ceil(len(a) * len(b) / PAIRS_AT_ONCE)):
        products = (1.0 + np.multiply.outer(part, columns)).prod(axis=1)
        sums.append(np.log(products).sum(axis=1))
    return np.concatenate(sums)


def equal_rows(vectors: np.ndarray) -> np.ndarray:
    """One code for all equal rows of vectors [n, d], int64 [n]."""
    contents = np.array([row.tobytes() for row in vectors], dtype=object)
    return pd.factorize(contents)[0]


def as_bits(labels: Tensor) -> np.ndarray:
    """Labels as int64 [n, sources]; ValueError unless all are 0 or 1."""
    bits = labels.numpy().astype(np.int64)
    if bits.ndim != 2 or not np.isin(bits, (0, 1)).all():
        raise WrongShape(
            "labels of a source must be 0 or 1, [n, sources], got shape "
            f"{list(bits.shape)}."
        )
    return bits


def channel_information(crossover: float) -> float:
    """ln 2 - H(crossover), nats: the information of a fair bit and its copy, flipped
    with this probability.
    """
    return NATS_PER_BIT - float(stats.entropy([crossover, 1.0 - crossover]))
