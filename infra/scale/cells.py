"""A sweep whose cells take no time: `python -m infra.scale.cells --set count=500`."""

from infoscope.tracking import Pack, Profile, Report, Sweep, grid, main

NAME, PROFILE, VALUES = "scale", "laptop", 13


def cells(profile: Profile) -> list[dict]:
    """One cell per number."""
    return grid(number=list(range(profile.count)))


def trial(pack: Pack, report: Report) -> None:
    """A short curve and a few numbers for each cell."""
    for cell in pack.cells:
        for step in range(VALUES - 3):
            report.metrics(cell, {"level": cell["number"] + step / 10}, step)
        report.metrics(cell, {"mean": float(cell["number"]), "bias": 0.25, "variance": 0.5})


SWEEP = Sweep(NAME, cells, trial, {PROFILE: Profile(count=100)}, axes=("count",))

if __name__ == "__main__":
    main(SWEEP)
