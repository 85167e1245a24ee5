"""Do tests of independence reject as often as they should?

Size is the share of independent data sets in which independence is rejected, power the same of dependent ones. The
power of a test whose size is above the level is inflated.
"""

from collections.abc import Sequence
from types import SimpleNamespace

import pandas as pd

from analysis.common.runs import latest, profiles, versions
from analysis.common.tables import Analysis, Result, share_text, text_of
from infoscope.metrics.shares import clopper_pearson
from sweeps.sample_estimators.settings import TEST_LEVEL

MIN_SIZE, MAX_SIZE = 0.03, 0.07  # acceptable at a level of 5 %
OURS, PUBLISHED = "local-permutation", "local-permutation-published"


def scored(runs: pd.DataFrame) -> pd.DataFrame:
    """Size and power of each test in each setting, over all its blocks."""
    rows = []
    for (name, test), of in runs.groupby(["law", "test"], sort=False):
        row = {"law": name, "columns": of["columns"].iloc[0], "n": of["n"].iloc[0], "test": test}
        for kind, some in (("size", of[of["dependent"] == 0]), ("power", of[of["dependent"] == 1])):
            row[f"{kind}_sets"] = int(some["sets"].sum())
            row[kind] = some["rejected"].sum() / row[f"{kind}_sets"] if len(some) else float("nan")
        row["seconds"] = of["test_seconds"].median()
        rows.append(row)
    return pd.DataFrame(rows)


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """A row for every setting and test; the caption summarises them."""
    runs, left_out = latest(runs, ("permutations",))
    figures = scored(runs).sort_values(["columns", "n", "law"], kind="stable")
    rejected = {
        kind: [
            share_text(hits, sets, missing="not run")
            for hits, sets in zip((figures[kind] * figures[f"{kind}_sets"]).fillna(0).round(), figures[f"{kind}_sets"])
        ]
        for kind in ("size", "power")
    }
    text = text_of(figures, ["law", "columns", "n", "test", "size_sets"], rejected | {"seconds": ("seconds", "{:.3f}")})
    caption = [
        *sizes(figures),
        f"Share of data sets with p <= {TEST_LEVEL}: size where independence holds, power where it does not; in "
        "brackets the 95 % Clopper-Pearson interval. Seconds: median of one test on one thread.",
        f"Profile {profiles(runs)}, {runs['permutations'].iloc[0]} permutations; generated data; code "
        f"{versions(runs)}.",
        *powers(figures),
        *left_out,
    ]
    titles = {"law": "setting", "columns": "columns of z", "size_sets": "data sets", "seconds": "seconds a test"}
    return [Result("tests", figures, text.rename(columns=titles), caption)]


def sizes(figures: pd.DataFrame) -> list[str]:
    """For each test, in how many settings its size is acceptable, and where its interval is above that."""
    lines = []
    for test, of in figures[figures["size_sets"] > 0].groupby("test", sort=False):
        pairs = zip(of["size"], of["size_sets"])
        above = of["law"][[clopper_pearson(round(size * sets), sets)[0] > MAX_SIZE for size, sets in pairs]]
        good = int(of["size"].between(MIN_SIZE, MAX_SIZE).sum())
        lines.append(
            f"{test}: size within {100 * MIN_SIZE:.0f} to {100 * MAX_SIZE:.0f} % in {good} of {len(of)} settings, "
            f"{100 * of['size'].mean():.1f} % on average; significantly above {100 * MAX_SIZE:.0f} %: "
            f"{', '.join(above) or 'none'}."
        )
    return lines


def powers(figures: pd.DataFrame) -> list[str]:
    """Difference of power between permutations without reuse and the published algorithm, on the same data."""
    both = figures.pivot(index="law", columns="test", values="power").reindex(columns=[OURS, PUBLISHED])
    gain = (both[OURS] - both[PUBLISHED]).dropna()
    if gain.empty:
        return []
    return [
        f"Power of {OURS} minus that of {PUBLISHED}: {100 * gain.mean():+.1f} points on average over {len(gain)} "
        f"settings, from {100 * gain.min():+.0f} ({gain.idxmin()}) to {100 * gain.max():+.0f} ({gain.idxmax()})."
    ]


ANALYSIS = Analysis("independence", analyse)
