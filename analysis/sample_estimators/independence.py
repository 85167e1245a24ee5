"""Do tests of independence reject as often as they should?

Size is the share of independent data sets in which independence is rejected, power the
same of dependent ones.
"""

import math
from collections.abc import Sequence
from types import SimpleNamespace

import pandas as pd

from analysis.common.runs import latest, provenance
from analysis.common.tables import Analysis, Result, share_text
from sweeps.sample_estimators.settings import TEST_LEVEL


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """A row for every setting and test, over all its blocks."""
    runs, left_out = latest(runs, ("permutations",))
    rows = []
    texts = []
    for (law, test), blocks in runs.groupby(["law", "test"], sort=False):
        first = blocks.iloc[0]
        row = {"law": law, "columns": first["columns"], "n": first["n"], "test": test}
        text = {
            "setting": law,
            "columns of z": first["columns"],
            "n": first["n"],
            "test": test,
        }
        for dependent, kind in enumerate(("size", "power")):
            of_kind = blocks[blocks["dependent"] == dependent]
            sets = int(of_kind["sets"].sum())
            rejected = of_kind["rejected"].sum()
            row[f"{kind}_sets"] = sets
            row[kind] = rejected / sets if sets else math.nan
            text[kind] = share_text(rejected, sets, missing="not run")
        text["seconds a test"] = f"{blocks['test_seconds'].median():.3f}"
        rows.append(row)
        texts.append(text)
    figures = pd.DataFrame(rows)
    caption = [
        rejections(figures),
        f"Share of data sets with p <= {TEST_LEVEL}, and its 95 % interval. "
        f"{provenance(runs)}",
    ]
    return [Result("tests", figures, pd.DataFrame(texts), [*caption, *left_out])]


def rejections(figures: pd.DataFrame) -> str:
    """In what share of independent and of dependent data sets each test rejects
    independence, in a sentence.
    """
    parts = []
    for test, members in figures.groupby("test", sort=False):
        size = members["size"]
        parts.append(
            f"{test} {size.mean():.1%} (at most {size.max():.1%} in a setting) and "
            f"{members['power'].mean():.1%}"
        )
    return (
        f"At p <= {TEST_LEVEL} independence is rejected in this share of independent "
        f"and of dependent data sets: {'; '.join(parts)}."
    )


ANALYSIS = Analysis("independence", analyse)
