"""Does a screen find the columns that depend on the target, and no others?

Power: share of the columns that depend on the target which are found. False discoveries: mean share of the columns
found which do not depend on it. Both with 95 % intervals over tables, the independent units. `pairs`: the same for
every pair of columns.
"""

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pandas as pd

from analysis.common.runs import latest, profiles, versions
from analysis.common.tables import Analysis, Result, text_of
from infoscope.estimators.result import mean_of
from infoscope.metrics.shares import share_interval
from sweeps.sample_estimators.settings import PAIRS, SCREEN, TEST_LEVEL

MAX_FALSE_DISCOVERIES, MIN_COVERAGE = 0.10, 0.93  # targets, shares
SHARES = {  # title -> columns of the numerator and of the denominator
    "power": ("found", "dependent"),
    "false discoveries": ("false", "discovered"),
    "intervals that cover the true value": ("held", "intervals"),
    "redundant ones left out": ("spare_left_out", "spare_found"),
    "needed ones kept": ("needed_kept", "needed_found"),
}


def add_counts(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs with all columns of `SHARES`; missing where a method does not report one."""
    runs = runs.reindex(columns=runs.columns.union(["held", "intervals", "spare_kept", "spare_found",
                                                    "needed_kept", "needed_found"]))  # fmt: skip
    return runs.assign(
        discovered=runs["found"] + runs["false"], spare_left_out=runs["spare_found"] - runs["spare_kept"]
    )


def share_over_tables(runs: pd.DataFrame, part: str, whole: str) -> tuple[float, float, float]:
    """The mean over tables of the mean share in their data sets, and its 95 % interval; tables are independent.

    A data set without discoveries has no false ones: its share is 0. Any other share of 0 is left out.
    """
    empty = 0.0 if whole == "discovered" else np.nan
    shares = (runs[part] / runs[whole].where(runs[whole] > 0)).where(runs[whole] != 0, empty)
    known = runs.assign(share=shares).dropna(subset="share")
    if known.empty:
        return np.nan, np.nan, np.nan
    mean = mean_of(known.groupby("table")["share"].mean().to_numpy())
    items = SimpleNamespace(
        value=mean.value, standard_error=mean.standard_error, n=int(known[whole].sum()),
        clusters=known["table"].nunique(),
    )  # fmt: skip
    return mean.value, *share_interval(items)


def summarised(runs: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A row for each method: figures, and the same as text."""
    rows, texts = [], []
    for method in sorted(set(runs["method"]), key=lambda one: (one != SCREEN, one != PAIRS, one)):
        of = runs[runs["method"] == method]
        row = {"method": method, "tables": of["table"].nunique(), "data_sets": len(of)}
        text = {"method": method, "data sets": f"{len(of)} of {row['tables']} tables"}
        for title, (part, whole) in SHARES.items():
            value, low, high = share_over_tables(of, part, whole)
            row |= {title: value, f"{title}_low": low, f"{title}_high": high}
            text[title] = f"{value:.1%} ({low:.1%} to {high:.1%})".replace("%", " %") if np.isfinite(value) else ""
        row["seconds"] = of["took_seconds"].median()
        rows.append(row)
        texts.append(text | {"seconds": f"{row['seconds']:.1f}"})
    return pd.DataFrame(rows), pd.DataFrame(texts)


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """All tables together, and each table."""
    runs, left_out = latest(runs, ())
    runs = add_counts(runs)
    figures, text = summarised(runs)
    level = f"{TEST_LEVEL:.0%}"
    finding, *more = comparison(figures)
    caption = [
        finding,
        *more,
        f"Columns found in tables of known truth, at a false discovery rate of {level} (boruta: its default). Power: "
        "share of the columns that depend on the target which are found. False discoveries: mean share of the columns "
        "found which do not depend on it. Intervals: share of the screen's intervals that cover the true value. "
        "Redundant columns carry no information beyond another column and should not be selected. Needed ones: "
        "sources of the target of which a column was found, and is selected. In brackets 95 % intervals over tables. "
        "Seconds: median of one table, one thread. pairs: every pair of columns.",
        f"Profile {profiles(runs)}; generated data; code {versions(runs)}.",
        *left_out,
    ]
    tables = runs.groupby(["table", "n", "method"], sort=False)
    by_table = tables[["found", "dependent", "false", "discovered", "held", "intervals"]].sum().assign(
        data_sets=tables.size(), seconds=tables["took_seconds"].median()
    ).reset_index()  # fmt: skip

    def counts(part: str, whole: str) -> list[str]:
        return [f"{a:.0f} of {b:.0f}" if b > 0 else "" for a, b in zip(by_table[part], by_table[whole])]

    table_text = text_of(
        by_table,
        ["table", "n", "method", "data_sets"],
        {"found": counts("found", "dependent"), "false": counts("false", "discovered")}
        | {"cover": counts("held", "intervals")}
        | {"seconds": ("seconds", "{:.1f}")},
    ).rename(columns={"data_sets": "data sets"})
    best, hardest = (getattr(by_table["found"] / by_table["dependent"], which)() for which in ("max", "min"))
    each = (
        f"Of the dependent columns {hardest:.0%} are found in the hardest case and {best:.0%} in the easiest "
        f"({len(by_table)} cases of table, rows and method).\n"
        "Each table, all of its data sets together. Found: of the dependent columns (or pairs). False: of those found. "
        "Cover: intervals that cover the true value."
    )
    return [Result("methods", figures, text, caption), Result("tables", by_table, table_text, [each])]


def comparison(figures: pd.DataFrame) -> list[str]:
    """The screen compared with its targets and with each package, in sentences."""
    of = figures.set_index("method")
    if SCREEN not in of.index:
        return [f"The screen was not run; {', '.join(of.index)} were."]
    ours, covered = of.loc[SCREEN], "intervals that cover the true value"
    lines = [
        f"The screen finds {ours['power']:.1%} of the dependent columns (95 %: {ours['power_low']:.1%} to "
        f"{ours['power_high']:.1%}), and {ours['false discoveries']:.1%} of what it finds is false, at most "
        f"{ours['false discoveries_high']:.1%} (target: {MAX_FALSE_DISCOVERIES:.0%}).",
        *(
            f"{covered.capitalize()}, {method}: {of.loc[method, covered]:.1%} (target: at least {MIN_COVERAGE:.0%})."
            for method in (SCREEN, PAIRS)
            if method in of.index
        ),
    ]
    peers = [f"{name} {of.loc[name, 'power']:.1%}" for name in of.index if name not in (SCREEN, PAIRS)]
    lines.append(f"Power: screen {ours['power']:.1%}" + (f"; {', '.join(peers)}." if peers else "."))
    return lines


ANALYSIS = Analysis("screening", analyse)
