"""Which kind of critic? (the benchmark paper, section 5.1, figures 3 and 9)

Compared are the inner product (which has no parameters), the bilinear, separable and
joint critics, with every estimator, on 10 and 20 Gaussian sources, images, text, and
pairs of an image and a text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sweeps.mi_benchmark._benchmark import sweep, training_cells
from sweeps.mi_benchmark._cells import BenchmarkProfile, PairCell, for_laptop, for_smoke
from sweeps.mi_benchmark._decoding import decoding_cells
from sweeps.mi_benchmark.settings import CRITICS, DOMAINS


@dataclass(frozen=True)
class ArchitectureProfile(BenchmarkProfile):
    """The critics, and the numbers of Gaussian sources."""

    domains: tuple[str, ...] = (*DOMAINS, "mixture")
    critics: tuple[str, ...] = CRITICS
    gaussian_sources: tuple[int, ...] = (10, 20)


PAPER = ArchitectureProfile()
PROFILES = {
    "smoke": replace(
        for_smoke(PAPER),
        bounds=("js", "smile-inf"),
        schedule_bits=(2.0, 6.0),
        gaussian_sources=(10,),
        seeds=(0,),
        steps=20,
    ),
    "laptop": replace(
        for_laptop(PAPER),
        bounds=("nwj", "infonce", "dv", "js", "smile-5"),
        schedule_bits=(2.0, 6.0, 10.0),
        steps=400,
    ),
    "paper": PAPER,
}


def cells(profile: ArchitectureProfile) -> Iterator[PairCell]:
    """One cell per domain, critic, estimator and seed."""
    for domain in profile.domains:
        sources = (
            list(profile.gaussian_sources) if domain == "gaussian" else profile.sources
        )
        yield from training_cells(
            profile, domain, critic=list(profile.critics), sources=sources
        )
        yield from decoding_cells(profile, domain)


SWEEP = sweep(
    "critic-architecture",
    cells,
    PROFILES,
    axes=("critics", "gaussian_sources"),
    share=("critic", "sources"),
)
