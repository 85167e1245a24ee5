"""What a screen and public packages find in tables of known truth: true and false columns, intervals, seconds.

Power is the share of the columns that depend on the target which a method finds, false discoveries the mean share of
what it finds that does not depend on it, over data sets; both with 95 % intervals over tables, which are the
independent units. `pairs` asks the same of every pair of columns.
"""

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pandas as pd

from analysis.common.runs import latest, versions
from analysis.common.tables import Analysis, Result, text_of
from infoscope.estimators.result import mean_of
from infoscope.metrics.shares import share_interval
from sweeps.sample_estimators.settings import PAIRS, SCREEN, TEST_LEVEL

MAX_FALSE_DISCOVERIES, MIN_COVERAGE = 0.10, 0.93  # what is wanted


SHARES = {  # title -> what is counted, among what
    "power": ("found", "dependent"),
    "false discoveries": ("false", "discovered"),
    "intervals that cover the true value": ("held", "intervals"),
    "redundant ones left out": ("spare_left_out", "spare_found"),
    "needed ones kept": ("needed_kept", "needed_found"),
}


def counted(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs with all that `SHARES` counts; of what a method does not say nothing."""
    runs = runs.reindex(columns=runs.columns.union(["held", "intervals", "spare_kept", "spare_found",
                                                    "needed_kept", "needed_found"]))  # fmt: skip
    return runs.assign(
        discovered=runs["found"] + runs["false"], spare_left_out=runs["spare_found"] - runs["spare_kept"]
    )


def over_tables(runs: pd.DataFrame, part: str, whole: str) -> tuple[float, float, float]:
    """The mean over tables of their data sets' mean share, and its 95 % interval, tables being independent. Where
    nothing is discovered nothing is false; any other share of nothing is left out.
    """
    empty = 0.0 if whole == "discovered" else np.nan
    shares = (runs[part] / runs[whole].where(runs[whole] > 0)).where(runs[whole] != 0, empty)
    known = runs.assign(share=shares).dropna(subset="share")
    if known.empty:
        return np.nan, np.nan, np.nan
    mean = mean_of(known.groupby("table")["share"].mean().to_numpy())
    items = SimpleNamespace(
        value=mean.value,
        standard_error=mean.standard_error,
        n=int(known[whole].sum()),
        clusters=known["table"].nunique(),
    )
    return mean.value, *share_interval(items)


def in_all(runs: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A row for each method: figures, and the same to read."""
    rows, texts = [], []
    for method in sorted(set(runs["method"]), key=lambda one: (one != SCREEN, one != PAIRS, one)):
        of = runs[runs["method"] == method]
        row = {"method": method, "tables": of["table"].nunique(), "data_sets": len(of)}
        text = {"method": method, "data sets": f"{len(of)} of {row['tables']} tables"}
        for title, (part, whole) in SHARES.items():
            value, low, high = over_tables(of, part, whole)
            row |= dict(zip((title, f"{title}_low", f"{title}_high"), (value, low, high)))
            text[title] = f"{value:.1%} ({low:.1%} to {high:.1%})".replace("%", " %") if np.isfinite(value) else ""
        row["seconds"] = of["took_seconds"].median()
        rows.append(row)
        texts.append(text | {"seconds": f"{row['seconds']:.1f}"})
    return pd.DataFrame(rows), pd.DataFrame(texts)


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """All tables together, and each one."""
    runs, left_out = latest(runs, ())
    runs = counted(runs)
    figures, text = in_all(runs)
    level = f"{TEST_LEVEL:.0%}"
    caption = [
        f"What is found in tables of known truth, at a false discovery rate of {level} (boruta as it comes). "
        "Power: of the columns that depend on the target, the share that is found; false discoveries: of what is "
        "found, the mean share that does not depend on it. Intervals: of the screen's bits, the share that covers the "
        "true value. Redundant ones tell nothing beyond another column and should be left out of the choice; needed "
        "ones are sources of the target of which some column was found, and is kept. In brackets 95 % intervals over "
        "tables. Seconds: median of one table, one thread. pairs: every pair of columns.",
        f"Profile {', '.join(sorted(set(runs['profile'])))}; generated data; code {versions(runs)}.",
        *said(figures),
        *left_out,
    ]
    tables = runs.groupby(["table", "n", "method"], sort=False)
    by_table = tables[["found", "dependent", "false", "discovered", "held", "intervals"]].sum().assign(
        data_sets=tables.size(), seconds=tables["took_seconds"].median()
    ).reset_index()  # fmt: skip

    def of(part: str, whole: str) -> list[str]:
        return [f"{a:.0f} of {b:.0f}" if b > 0 else "" for a, b in zip(by_table[part], by_table[whole])]

    words = text_of(
        by_table,
        ["table", "n", "method", "data_sets"],
        {"found": of("found", "dependent"), "false": of("false", "discovered"), "cover": of("held", "intervals")}
        | {"seconds": ("seconds", "{:.1f}")},
    ).rename(columns={"data_sets": "data sets"})
    each = (
        "Each table, all of its data sets together. Found: of the columns (or pairs) that depend; false: of those that "
        "were found; cover: intervals that cover the true value."
    )
    return [Result("methods", figures, text, caption), Result("tables", by_table, words, [each])]


def said(figures: pd.DataFrame) -> list[str]:
    """Whether the screen is as good as is wanted, and how it compares with each package."""
    of = figures.set_index("method")
    if SCREEN not in of.index:
        return []
    ours, lines = of.loc[SCREEN], []
    lines.append(
        f"False discoveries of the screen: {ours['false discoveries']:.1%}, upper limit "
        f"{ours['false discoveries_high']:.1%} (wanted: at most {MAX_FALSE_DISCOVERIES:.0%})."
    )
    held = "intervals that cover the true value"
    for method in (one for one in (SCREEN, PAIRS) if one in of.index):
        lines.append(
            f"{held.capitalize()}, {method}: {of.loc[method, held]:.1%} (wanted: at least {MIN_COVERAGE:.0%})."
        )
    peers = [f"{name} {of.loc[name, 'power']:.1%}" for name in of.index if name not in (SCREEN, PAIRS)]
    lines.append(f"Power: screen {ours['power']:.1%}" + (f"; {', '.join(peers)}." if peers else "."))
    return lines


ANALYSIS = Analysis("screening", analyse)
