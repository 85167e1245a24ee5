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
from infoscope.estimators.result import Estimate, mean_of
from sweeps.sample_estimators.settings import PAIRS, SCREEN, TEST_LEVEL

MOST_FALSE, LEAST_HELD = 0.10, 0.93  # what is wanted


def shares(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs with what each found as shares; none where there is nothing to find or to measure."""
    some, asked, found = runs["dependent"].where(runs["dependent"] > 0), runs.get("intervals"), runs["found"]
    return runs.assign(
        power=found / some,
        false_discoveries=runs["false"] / (found + runs["false"]).clip(lower=1),
        held_share=runs["held"] / asked if asked is not None else np.nan,
        spare_dropped=_ratio(runs, "spare_kept", "spare_found", but=True),
        needed_kept_share=_ratio(runs, "needed_kept", "needed_found"),
    )


def _ratio(runs: pd.DataFrame, part: str, whole: str, but: bool = False) -> pd.Series:
    if part not in runs:
        return pd.Series(np.nan, runs.index)
    share = runs[part] / runs[whole].where(runs[whole] > 0)
    return 1 - share if but else share


def over_tables(runs: pd.DataFrame, column: str) -> Estimate:
    """The mean over tables of their data sets' mean, with its error over tables."""
    means = runs.groupby("table")[column].mean().dropna()
    return mean_of(means.to_numpy()) if len(means) else Estimate(np.nan)


TITLES = {
    "power": "power", "false_discoveries": "false discoveries", "held_share": "intervals that hold the truth",
    "spare_dropped": "redundant ones left out", "needed_kept_share": "needed ones kept",
}  # fmt: skip


def in_all(runs: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A row for each method: figures, and the same to read."""
    rows, texts = [], []
    for method in sorted(set(runs["method"]), key=lambda one: (one != SCREEN, one != PAIRS, one)):
        of = runs[runs["method"] == method]
        row = {"method": method, "tables": of["table"].nunique(), "data_sets": len(of)}
        text = {"method": method, "data sets": f"{len(of)} of {row['tables']} tables"}
        for column, title in TITLES.items():
            share = over_tables(of, column)
            row |= {column: share.value, f"{column}_low": share.low, f"{column}_high": share.high}
            known = np.isfinite(share.value)
            text[title] = f"{share.value:.1%} ({share.low:.1%} to {share.high:.1%})".replace("%", " %") if known else ""
        row["seconds"] = of["took_seconds"].median()
        rows.append(row)
        texts.append(text | {"seconds": f"{row['seconds']:.1f}"})
    return pd.DataFrame(rows), pd.DataFrame(texts)


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """All tables together, and each one."""
    runs, left_out = latest(runs, ())
    runs = shares(runs)
    figures, text = in_all(runs)
    level = f"{TEST_LEVEL:.0%}"
    caption = [
        f"What is found in tables of known truth, at a false discovery rate of {level} (boruta as it comes). "
        "Power: of the columns that depend on the target, the share that is found; false discoveries: of what is "
        "found, the mean share that does not depend on it. Intervals: of the screen's bits, the share that holds the "
        "truth. Redundant ones tell nothing beyond another column and should be left out of the choice; needed ones "
        "are sources of the target of which some column was found, and is kept. In brackets 95 % intervals over "
        "tables. Seconds: median of one table, one thread. pairs: every pair of columns.",
        f"Profile {', '.join(sorted(set(runs['profile'])))}; generated data; code {versions(runs)}.",
        *said(figures),
        *left_out,
    ]
    by_table = runs.groupby(["table", "n", "method"], sort=False).agg(
        data_sets=("set", "size"), dependent=("dependent", "mean"), power=("power", "mean"),
        false_discoveries=("false_discoveries", "mean"), held_share=("held_share", "mean"),
        seconds=("took_seconds", "median"),
    ).reset_index()  # fmt: skip
    words = text_of(
        by_table,
        ["table", "n", "method"],
        {
            "dependent": ("dependent", "{:.0f}"),
            "power": ("power", "{:.2f}", ""),
            "false discoveries": ("false_discoveries", "{:.2f}"),
            "hold": ("held_share", "{:.3f}", ""),
            "seconds": ("seconds", "{:.1f}"),
        },
    )
    each = "The same for each table: means over data sets; dependent: columns (or pairs) that depend."
    return [Result("methods", figures, text, caption), Result("tables", by_table, words, [each])]


def said(figures: pd.DataFrame) -> list[str]:
    """Whether the screen is as good as is wanted, and how it compares with each package."""
    of = figures.set_index("method")
    if SCREEN not in of.index:
        return []
    ours, lines = of.loc[SCREEN], []
    lines.append(
        f"False discoveries of the screen: {ours['false_discoveries']:.1%}, upper limit "
        f"{ours['false_discoveries_high']:.1%} (wanted: at most {MOST_FALSE:.0%})."
    )
    for method in (SCREEN, PAIRS):
        if method in of.index:
            lines.append(
                f"Intervals that hold the truth, {method}: {of.loc[method, 'held_share']:.1%} (wanted: at least "
                f"{LEAST_HELD:.0%})."
            )
    peers = [f"{name} {of.loc[name, 'power']:.1%}" for name in of.index if name not in (SCREEN, PAIRS)]
    lines.append(f"Power: screen {ours['power']:.1%}" + (f"; {', '.join(peers)}." if peers else "."))
    return lines


ANALYSIS = Analysis("screening", analyse)
