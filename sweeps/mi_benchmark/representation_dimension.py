"""Does the size of the representation matter? (the benchmark paper, section 5.5, table
4)

One pair of images carries one bit and is resized to 10 to 100 pixels per side. The
paper's table includes 50 pixels, but its published files do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sweeps.mi_benchmark._benchmark import sweep, training_cells
from sweeps.mi_benchmark._cells import BenchmarkProfile, PairCell, for_laptop, for_smoke
from sweeps.mi_benchmark._decoding import decoding_cells


@dataclass(frozen=True)
class SizeProfile(BenchmarkProfile):
    """The sizes of an image; it carries one bit."""

    domains: tuple[str, ...] = ("images",)
    sides: tuple[int, ...] = (10, 20, 50, 100)  # pixels
    sources: int = 1
    schedule_bits: tuple[float, ...] = (1.0,)
    steps: int = 20_000


PAPER = SizeProfile()
PROFILES = {
    "smoke": replace(
        for_smoke(PAPER), sides=(10, 20), bounds=("js", "smile-inf"), steps=40
    ),
    "laptop": replace(for_laptop(PAPER), steps=2000),
    "paper": PAPER,
}


def cells(profile: SizeProfile) -> Iterator[PairCell]:
    """One cell per side, estimator and seed, and one per side that decodes the labels."""
    for domain in profile.domains:
        image = dict(size=list(profile.sides), rows=1)
        yield from training_cells(profile, domain, **image)
        yield from decoding_cells(profile, domain, **image)


SWEEP = sweep(
    "representation-dimension", cells, PROFILES, axes=("sides",), share=("size",)
)
