"""Do products of bfloat16 numbers change the benchmark's tables? (its sections 5.2 and
5.3, tables 2 and 3)

The joint critic is trained twice with the same pairs and initial weights: with products
of float32 numbers, and of numbers that are rounded to bfloat16. Two studies: all
estimators at depth 2 while the true mutual information rises (table 3), and smile-inf
by depth at the first true mutual information (table 2). The profile paper is table 3 at
2 bits. All other settings are those of the tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sweeps.mi_benchmark._benchmark import sweep, training_cells
from sweeps.mi_benchmark._cells import (
    BenchmarkProfile,
    TrainingCell,
    for_laptop,
    for_smoke,
)
from sweeps.mi_benchmark.settings import PRECISIONS

STUDIES = ("estimators", "depth")


@dataclass(frozen=True)
class PrecisionProfile(BenchmarkProfile):
    """The studies, the depths of the second one, and the precisions of products."""

    studies: tuple[str, ...] = STUDIES
    depths: tuple[int, ...] = (1, 2, 3, 4, 5)  # hidden layers
    precision: tuple[str, ...] = PRECISIONS


BOTH = PrecisionProfile()
PROFILES = {
    "smoke": replace(
        for_smoke(BOTH),
        domains=("gaussian",),
        bounds=("js", "smile-inf"),
        schedule_bits=(2.0,),
        depths=(1, 2),
    ),
    "laptop": replace(
        for_laptop(BOTH), schedule_bits=(2.0, 6.0, 10.0), seeds=tuple(range(10))
    ),
    "paper": replace(
        BOTH, schedule_bits=(2.0,), studies=STUDIES[:1], seeds=tuple(range(10))
    ),
}


def cells(profile: PrecisionProfile) -> Iterator[TrainingCell]:
    """One cell per study, domain, precision, size, estimator and seed."""
    for domain in profile.domains:
        both = dict(precision=list(profile.precision))
        if "estimators" in profile.studies:
            yield from training_cells(profile, domain, study="estimators", **both)
        if "depth" in profile.studies:
            yield from training_cells(
                profile,
                domain,
                study="depth",
                schedule_bits=profile.schedule_bits[:1],
                depth=list(profile.depths),
                bound="smile-inf",
                **both,
            )


SWEEP = sweep(
    "precision",
    cells,
    PROFILES,
    axes=("studies", "depths", "precision"),
    choices={"studies": STUDIES},
    share=("study", "depth", "precision"),
    version=1,
)
