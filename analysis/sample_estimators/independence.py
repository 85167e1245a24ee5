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
from infoscope.metrics.report import listed
from infoscope.metrics.shares import clopper_pearson
from sweeps.sample_estimators.settings import TEST_LEVEL

# by what a share of them is
DATA_SETS = {"size": "independent data sets", "power": "dependent data sets"}


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
        for dependent, kind in enumerate(DATA_SETS):
            of_kind = blocks[blocks["dependent"] == dependent]
            sets = int(of_kind["sets"].sum())
            rejected = of_kind["rejected"].sum()
            row[f"{kind}_sets"] = sets
            row[kind] = rejected / sets if sets else math.nan
            row[f"{kind}_low"] = clopper_pearson(rejected, sets)[0] if sets else 0.0
            text[kind] = share_text(rejected, sets, missing="not run")
            text[DATA_SETS[kind]] = sets
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
    """Which tests surely reject independence too often (95 % interval) and in which
    settings, in a sentence.
    """
    level = f"{100 * TEST_LEVEL:g} %"
    excess = figures[figures["size_low"] > TEST_LEVEL]
    if excess.empty:
        return (
            f"No test surely rejects more than {level} of the independent data sets of "
            f"a setting at p <= {TEST_LEVEL} (95 % intervals)."
        )
    parts = []
    for test, members in excess.groupby("test", sort=False):
        cells = []
        for row in members.itertuples():
            sets = row.size_sets
            share = share_text(round(row.size * sets), sets)
            cells.append(
                f"{share} of {sets} data sets with {row.columns} columns of z "
                f"({row.law})"
            )
        parts.append(f"by {test} in {listed(cells)}")
    return (
        f"Independence is rejected too often (p <= {TEST_LEVEL}) {listed(parts)}; no "
        f"other test or setting is surely above {level} (95 % intervals)."
    )


ANALYSIS = Analysis("independence", analyse)
