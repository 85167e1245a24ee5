"""Which estimator is the most accurate? (the benchmark paper, section 5.3, table 3)

In each domain every estimator trains the joint critic of depth 2 while the true mutual information rises from 2 to 10
bits. A classifier also decodes the labels of unseen items, to determine how much of the nominal information the items
really contain.
"""

from __future__ import annotations

from collections.abc import Iterator

from infoscope.tracking import Profile
from sweeps.mi_benchmark._benchmark import PUBLISHED, data_fields, profiles, sweep, training_cells
from sweeps.mi_benchmark._decoding import decoding_cells

PROFILES = profiles(
    {},
    smoke=dict(bounds=("js", "infonce", "smile-inf"), schedule_bits=(2.0, 6.0)),
    laptop=dict(schedule_bits=(2.0, 6.0, 10.0)),
    paper=dict(seeds=(0, 1, 2, 3)),
) | {"paper-4bits": Profile(**PUBLISHED | dict(schedule_bits=(2.0, 4.0), seeds=(0, 1)))}


def cells(profile: Profile) -> Iterator[dict]:
    """One cell per domain, estimator and seed, and one that decodes the labels of a domain."""
    for domain in profile.domains:
        yield from training_cells(profile, domain)
        yield from decoding_cells(profile, data_fields(profile, domain))


SWEEP = sweep("estimator-choice", cells, PROFILES, axes=(), share=())
