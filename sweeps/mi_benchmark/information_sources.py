"""How many independent sources may the information be spread over? (the benchmark
paper, section 5.4, figure 4)

The joint critic is trained at one true mutual information (MI) on 1 to 100 sources: 1
bit in total, half a bit per source, and one bit per source, in every domain. The
paper's figure compares Gaussian pairs with one nat per source, text with one bit per
source and images with one bit in total; these cells are also run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from infoscope.estimators.units import NATS_PER_BIT
from sweeps.mi_benchmark._benchmark import sweep, training_cells
from sweeps.mi_benchmark._cells import BenchmarkProfile, PairCell, for_laptop, for_smoke
from sweeps.mi_benchmark._decoding import decoding_cells

PANELS = ("1-bit", "half", "full", "nats")
SOURCES = (1, 2, 3, 4, 9, 16, 25, 36, 49, 64, 81, 100)


@dataclass(frozen=True)
class SourcesProfile(BenchmarkProfile):
    """The numbers of sources, and how much information they carry."""

    numbers: tuple[int, ...] = SOURCES
    panels: tuple[str, ...] = PANELS
    side: int = 60  # pixels of an image
    steps: int = 20_000


PAPER = SourcesProfile()
PROFILES = {
    "smoke": replace(
        for_smoke(PAPER),
        bounds=("js", "smile-inf"),
        numbers=(1, 4),
        panels=("1-bit", "full", "nats"),
        seeds=(0,),
        side=20,
    ),
    "laptop": replace(
        for_laptop(PAPER),
        bounds=("dv", "infonce", "js", "smile-5", "smile-inf"),
        numbers=(1, 4, 16, 36),
        steps=600,
        side=40,
    ),
    "paper": PAPER,
}


def cells(profile: SourcesProfile) -> Iterator[PairCell]:
    """One cell per domain, number of sources, true MI, estimator and seed; one per
    number that decodes the labels.
    """
    for domain in profile.domains:
        for number in profile.numbers:
            fields = {"sources": number}
            if domain == "images":
                rows = math.isqrt(number)
                if rows**2 != number:
                    continue
                fields |= {"rows": rows, "size": profile.side}
            levels = sorted(informations(profile.panels, number, domain))
            for bits in levels:
                yield from training_cells(
                    profile, domain, schedule_bits=(bits,), **fields
                )
            if levels:  # nats are for Gaussian pairs
                yield from decoding_cells(
                    profile, domain, schedule_bits=tuple(levels), **fields
                )


def informations(panels: tuple[str, ...], number: int, domain: str) -> set[float]:
    """The true MI (bits) of `number` sources in each panel; binary sources cannot carry
    a nat.
    """
    bits = {"1-bit": 1.0, "half": number / 2, "full": float(number)}
    if domain == "gaussian":
        bits["nats"] = number / NATS_PER_BIT
    return {bits[panel] for panel in panels if panel in bits}


SWEEP = sweep(
    "information-sources",
    cells,
    PROFILES,
    axes=("numbers", "panels"),
    share=("sources", "schedule_bits"),
    choices={"panels": PANELS},
)
