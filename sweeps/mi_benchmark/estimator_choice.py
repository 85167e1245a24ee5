"""Which estimator is the most accurate? (the benchmark paper, section 5.3, table 3)

In each domain every estimator trains the joint critic of depth 2 while the true mutual
information rises from 2 to 10 bits. A classifier also decodes the labels of unseen
items, to determine how much of the nominal information the items really contain.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sweeps.mi_benchmark._benchmark import sweep, training_cells
from sweeps.mi_benchmark._cells import BenchmarkProfile, PairCell, for_laptop, for_smoke
from sweeps.mi_benchmark._decoding import decoding_cells

PAPER = BenchmarkProfile(seeds=(0, 1, 2, 3))
PROFILES = {
    "smoke": replace(
        for_smoke(PAPER),
        bounds=("js", "infonce", "smile-inf"),
        schedule_bits=(2.0, 6.0),
    ),
    "laptop": replace(
        for_laptop(PAPER), schedule_bits=(2.0, 6.0, 10.0), seeds=(0, 1, 2)
    ),
    "paper": PAPER,
    "paper-4bits": replace(PAPER, schedule_bits=(2.0, 4.0), seeds=(0, 1)),
}


def cells(profile: BenchmarkProfile) -> Iterator[PairCell]:
    """One cell per domain, estimator and seed, and one that decodes the labels of a
    domain.
    """
    for domain in profile.domains:
        yield from training_cells(profile, domain)
        yield from decoding_cells(profile, domain)


SWEEP = sweep("estimator-choice", cells, PROFILES, axes=(), share=())
