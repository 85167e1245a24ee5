"""Does a larger critic estimate mutual information better? (the benchmark paper, section 5.2, table 2 and D.3)

Three studies vary one dimension of the critic each: the depth of the joint critic in every domain, the depth of the
separable critic, and the width of both on 20 Gaussian sources. All other settings are the published ones.
"""

from __future__ import annotations

from collections.abc import Iterator

from infoscope.tracking import Profile
from sweeps.mi_benchmark._benchmark import LAPTOP, PUBLISHED, SMOKE, sweep, training_cells
from sweeps.mi_benchmark.settings import ESTIMATORS

STUDIES = ("depth", "separable-depth", "width")
JS_TRAINED = ("js", "smile-1", "smile-5", "smile-inf")  # one training
SIZES = dict(studies=STUDIES, depths=(1, 2, 3, 4, 5), widths=(8, 32, 128, 512, 1024, 2048))
DEPTHS = PUBLISHED | SIZES | dict(studies=("depth",), bounds=JS_TRAINED, seeds=(0, 1))  # table 2 alone

PROFILES = {
    "smoke": Profile(  # two sources and a larger learning rate, so that critics are trained within a minute
        **SMOKE
        | SIZES
        | dict(studies=("depth",), depths=(1, 2, 3), bounds=("js", "smile-inf"), schedule_bits=(2.0,), steps=500)
        | dict(sources=2, size=8, width=64, learning_rate=0.002)
    ),
    "laptop": Profile(
        **LAPTOP
        | SIZES
        | dict(widths=(8, 32, 128, 512), bounds=("infonce", *JS_TRAINED), schedule_bits=(2.0,), seeds=(0, 1, 2))
    ),
    "paper-2bits": Profile(**DEPTHS | dict(schedule_bits=(2.0,))),
    "paper-4bits": Profile(**DEPTHS | dict(schedule_bits=(2.0, 4.0))),
    "paper": Profile(**PUBLISHED | SIZES | dict(bounds=ESTIMATORS)),
}


def cells(profile: Profile) -> Iterator[dict]:
    """One cell per study, domain, size, estimator and seed."""
    depths, widths = list(profile.depths), list(profile.widths)
    for domain in profile.domains:
        if "depth" in profile.studies:
            yield from training_cells(profile, domain, study="depth", depth=depths)
        if "separable-depth" in profile.studies and domain != "text":
            sources = 20 if domain == "gaussian" else profile.sources
            yield from training_cells(
                profile, domain, study="separable-depth", critic="separable", depth=depths, sources=sources
            )
        if "width" in profile.studies and domain == "gaussian":
            yield from training_cells(
                profile, domain, study="width", critic=["joint", "separable"], width=widths, sources=20
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
