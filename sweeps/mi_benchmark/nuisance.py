"""What is the effect of a background without information? (the benchmark paper, section
5.6, figure 5)

Random photographs, weighted by eta, are added to the composed images, and the sum is
clipped. This does not change the mutual information as long as the classes can be
distinguished, so a classifier decodes them at every eta.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sweeps.mi_benchmark._benchmark import sweep, training_cells
from sweeps.mi_benchmark._cells import BenchmarkProfile, PairCell, for_laptop, for_smoke
from sweeps.mi_benchmark._decoding import decoding_cells
from sweeps.mi_benchmark._pairs import backgrounds_of

ETAS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True)
class NuisanceProfile(BenchmarkProfile):
    """The weights of the background, and its images."""

    domains: tuple[str, ...] = ("images",)
    etas: tuple[float, ...] = ETAS
    backgrounds: str = "cifar10"  # pool, as in `_pairs.backgrounds_of`


PAPER = NuisanceProfile()
PROFILES = {
    "smoke": replace(
        for_smoke(PAPER),
        backgrounds="auto",
        etas=(0.0, 1.0),
        bounds=("js", "smile-inf"),
        schedule_bits=(2.0, 6.0),
        seeds=(0,),
    ),
    "laptop": replace(
        for_laptop(PAPER),
        backgrounds="auto",
        etas=(0.0, 0.2, 0.4, 0.7, 1.0),
        bounds=("nwj", "mine", "js", "smile-inf"),
        schedule_bits=(2.0, 6.0),
    ),
    "paper": PAPER,
}


def cells(profile: NuisanceProfile) -> Iterator[PairCell]:
    """One cell per eta, estimator and seed, and one per eta that decodes the classes."""
    for domain in profile.domains:
        added = dict(
            nuisance=list(profile.etas),
            backgrounds=backgrounds_of(profile.backgrounds),
            channels=3,
        )
        yield from training_cells(profile, domain, **added)
        yield from decoding_cells(profile, domain, **added)


SWEEP = sweep("nuisance", cells, PROFILES, axes=("etas",), share=("nuisance",))
