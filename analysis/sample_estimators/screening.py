"""Does a screen find the columns that depend on the target, and no others?

Power: share of the columns that depend on the target which are found. False
discoveries: share of the columns found which do not depend on it. Redundant columns
carry nothing beyond another column. Shares are means over tables.
"""

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pandas as pd

from analysis.common.runs import latest, provenance
from analysis.common.tables import Analysis, Result
from infoscope.estimators.result import mean_of
from infoscope.metrics.shares import share_interval

SHARES = {  # title -> columns of the numerator and of the denominator
    "power": ("true_discoveries", "dependent_columns"),
    "false discoveries": ("false_discoveries", "discoveries"),
    "intervals that cover the true value": ("covering_intervals", "intervals"),
    "redundant ones left out": ("redundant_left_out", "redundant_found"),
}


def share(runs: pd.DataFrame, part: str, whole: str) -> tuple[float, float, float]:
    """The mean over tables of the mean share in their data sets, and its 95 % interval;
    tables are independent.
    """
    shares = runs[part] / runs[whole]
    # a data set without discoveries has no false ones; any other share of 0 is missing
    if whole == "discoveries":
        shares = shares.where(runs[whole] != 0, 0.0)
    by_table = shares.groupby(runs["table"]).mean().dropna()
    if by_table.empty:
        return np.nan, np.nan, np.nan
    mean = mean_of(by_table.to_numpy())
    count = int(runs.loc[shares.notna(), whole].sum())
    items = SimpleNamespace(
        value=mean.value,
        standard_error=mean.standard_error,
        n=count,
        clusters=len(by_table),
    )
    return mean.value, *share_interval(items)


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """A row for each method: the screen, and public packages of archived runs."""
    runs, left_out = latest(runs, ())
    runs = runs.assign(
        discoveries=runs["true_discoveries"] + runs["false_discoveries"],
        redundant_left_out=runs["redundant_found"] - runs["redundant_chosen"],
    )
    rows = []
    texts = []
    for method, members in runs.groupby("method", sort=False):
        tables = members["table"].nunique()
        row = {"method": method, "tables": tables, "data_sets": len(members)}
        text = {"method": method, "data sets": f"{len(members)} of {tables} tables"}
        for title, (part, whole) in SHARES.items():
            value, low, high = share(members, part, whole)
            row |= {title: value, f"{title}_low": low, f"{title}_high": high}
            text[title] = (
                f"{value:.1%} ({low:.1%} to {high:.1%})" if np.isfinite(value) else ""
            )
        text["seconds"] = f"{members['screen_seconds'].median():.1f}"
        rows.append(row)
        texts.append(text)
    first = texts[0]
    finding = (
        f"The screen finds {first['power']} of the dependent columns, and "
        f"{first['false discoveries']} of what it "
        "finds is false."
    )
    caption = [
        finding,
        "In brackets stand 95 % intervals over tables.",
        provenance(runs),
        *left_out,
    ]
    return [Result("methods", pd.DataFrame(rows), pd.DataFrame(texts), caption)]


ANALYSIS = Analysis("screening", analyse)
