"""Does the size of the representation matter? (the benchmark paper, section 5.5, table 4)

One pair of images carries one bit and is resized to 10 to 100 pixels per side. The paper's table includes 50 pixels,
but its published files do not.
"""

from __future__ import annotations

from collections.abc import Iterator

from infoscope.tracking import Profile
from sweeps.mi_benchmark._benchmark import data_fields, profiles, sweep, training_cells
from sweeps.mi_benchmark._decoding import decoding_cells

PROFILES = profiles(
    dict(domains=("images",), sides=(10, 20, 50, 100), sources=1, schedule_bits=(1.0,)),
    smoke=dict(sides=(10, 20), bounds=("js", "smile-inf"), steps=40),
    laptop=dict(steps=2000),
    paper=dict(steps=20_000),
)


def cells(profile: Profile) -> Iterator[dict]:
    """One cell per side, estimator and seed, and one per side that decodes the labels."""
    for domain in profile.domains:
        image = dict(size=list(profile.sides), rows=1)
        yield from training_cells(profile, domain, **image)
        yield from decoding_cells(profile, data_fields(profile, domain), **image)


SWEEP = sweep("representation-dimension", cells, PROFILES, axes=("sides",), share=("size",))
