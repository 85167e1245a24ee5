"""The decodable part of the nominal mutual information: a decoder classifies unseen
items.

The information of the channel between the labels is known, but a critic sees only the
items. If their labels cannot be decoded without error, the items share less information
than the labels. From calibrated posteriors of the labels the log density ratio of a
pair follows in closed form, and its mean over pairs of unseen items is a lower bound of
their mutual information, which is tight for an optimal decoder
(`infoscope.metrics.decodable_information`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from infoscope.data import crossover_for
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics.decodable import (
    Decoding,
    decodable_information,
    decodable_information_of_items,
)
from infoscope.tracking import Report, grid
from sweeps.mi_benchmark._cells import BenchmarkProfile, DecodingCell, at_truth
from sweeps.mi_benchmark._pairs import folds_of, full_pool, pair_fields
from sweeps.streams import stream

FOLDS = 3


def decoding_cells(
    profile: BenchmarkProfile, domain: str, **fields: Any
) -> list[DecodingCell]:
    """Cells that decode the labels of a domain, one per combination of the lists in
    `fields`; none for Gaussian pairs.
    """
    if domain == "gaussian":
        return []
    decoder = "logistic" if domain == "text" else "mlp"
    shared = pair_fields(profile, domain) | dict(
        decoder=decoder, decoder_steps=profile.decoder_steps
    )
    return grid(DecodingCell, **shared | fields)


def decode(cell: DecodingCell, report: Report) -> None:
    """The decodable information at every true mutual information of the cell's
    schedule, from one set of decoders.
    """
    report.progress(0.0)
    decoding = decoded(cell)
    for bits, decodable in zip(cell.schedule_bits, decoding.information):
        figures = {
            "decodable_bits": decodable.value / NATS_PER_BIT,
            "decodable_bits_error": decodable.standard_error / NATS_PER_BIT,
            "decodable_low_bits": decodable.low / NATS_PER_BIT,
            "decodable_high_bits": decodable.high / NATS_PER_BIT,
            "decodable_normaliser": decodable.normaliser,
        }
        report.metrics(cell, at_truth(figures, bits))
    report.metrics(
        cell,
        {
            "accuracy": decoding.accuracy,
            "accuracy_error": decoding.accuracy_standard_error,
        },
    )
    report.metrics(cell, {"log_loss_bits": decoding.log_loss / NATS_PER_BIT})
    report.constants(cell, {"held_out_items": decoding.n})


def decoded(cell: DecodingCell) -> Decoding:
    """Decodes text vector by vector, and images in the composition that the critic
    sees.
    """
    crossovers = [
        crossover_for(bits * NATS_PER_BIT, cell.sources) for bits in cell.schedule_bits
    ]
    if cell.domain == "text":
        pool = full_pool(cell.pool)
        vectors = pool.vectors.numpy()
        labels = pool.labels.numpy()
        draws = np.random.default_rng(stream(0, "decoder").initial_seed())
        return decodable_information_of_items(
            vectors, labels, crossovers, cell.sources, generator=draws
        )
    return decodable_information(
        folds_of(cell, FOLDS),
        crossovers,
        decoder=cell.decoder,
        shared=cell.domain == "images",
        steps=cell.decoder_steps,
        generator=stream(0, "decoder"),
    )
