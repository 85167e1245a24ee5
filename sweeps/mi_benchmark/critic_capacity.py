"""Does a larger critic estimate mutual information better? (the benchmark paper,
section 5.2, table 2 and D.3)

Three studies vary one dimension of the critic each: the depth of the joint critic in
every domain, the depth of the separable critic, and the width of both on 20 Gaussian
sources. All other settings are the published ones.
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

STUDIES = ("depth", "separable-depth", "width")
JS_TRAINED = ("js", "smile-1", "smile-5", "smile-inf")  # one training


@dataclass(frozen=True)
class CapacityProfile(BenchmarkProfile):
    """The studies, and the sizes of the critic in them."""

    studies: tuple[str, ...] = STUDIES
    depths: tuple[int, ...] = (1, 2, 3, 4, 5)  # hidden layers
    widths: tuple[int, ...] = (8, 32, 128, 512, 1024, 2048)  # hidden units of a layer


PAPER = CapacityProfile()
TABLE_2 = replace(PAPER, studies=("depth",), bounds=JS_TRAINED, seeds=(0, 1))
PROFILES = {
    # two sources and a larger learning rate, so that critics are trained within a
    # minute
    "smoke": replace(
        for_smoke(PAPER),
        studies=("depth",),
        depths=(1, 2, 3),
        bounds=("js", "smile-inf"),
        schedule_bits=(2.0,),
        steps=500,
        sources=2,
        size=8,
        width=64,
        learning_rate=0.002,
    ),
    "laptop": replace(
        for_laptop(PAPER),
        widths=(8, 32, 128, 512),
        bounds=("infonce", *JS_TRAINED),
        schedule_bits=(2.0,),
    ),
    "paper-2bits": replace(TABLE_2, schedule_bits=(2.0,)),
    "paper-4bits": replace(TABLE_2, schedule_bits=(2.0, 4.0)),
    "paper": PAPER,
}


def cells(profile: CapacityProfile) -> Iterator[TrainingCell]:
    """One cell per study, domain, size, estimator and seed."""
    depths = list(profile.depths)
    widths = list(profile.widths)
    for domain in profile.domains:
        if "depth" in profile.studies:
            yield from training_cells(profile, domain, study="depth", depth=depths)
        if "separable-depth" in profile.studies and domain != "text":
            sources = 20 if domain == "gaussian" else profile.sources
            yield from training_cells(
                profile,
                domain,
                study="separable-depth",
                critic="separable",
                depth=depths,
                sources=sources,
            )
        if "width" in profile.studies and domain == "gaussian":
            yield from training_cells(
                profile,
                domain,
                study="width",
                critic=["joint", "separable"],
                width=widths,
                sources=20,
            )


SWEEP = sweep(
    "critic-capacity",
    cells,
    PROFILES,
    axes=("studies", "depths", "widths"),
    choices={"studies": STUDIES},
    share=("study", "critic", "depth", "width"),
    version=3,
)
