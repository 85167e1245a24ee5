"""Do tests of independence reject as often as they should?

Size is the share of independent data sets in which independence is rejected, power the same of dependent ones.
"""

from collections.abc import Sequence
from types import SimpleNamespace

import pandas as pd

from analysis.common.runs import latest, provenance
from analysis.common.tables import Analysis, Result, share_text
from sweeps.sample_estimators.settings import TEST_LEVEL


def analyse(runs: pd.DataFrame, arguments: SimpleNamespace) -> Sequence[Result]:
    """A row for every setting and test, over all its blocks."""
    runs, left_out = latest(runs, ("permutations",))
    rows, texts = [], []
    for (law, test), of in runs.groupby(["law", "test"], sort=False):
        row = {"law": law, "columns": of["columns"].iloc[0], "n": of["n"].iloc[0], "test": test}
        text = {"setting": law, "columns of z": row["columns"], "n": row["n"], "test": test}
        for dependent, kind in enumerate(("size", "power")):
            blocks = of[of["dependent"] == dependent]
            sets, rejected = int(blocks["sets"].sum()), blocks["rejected"].sum()
            row |= {f"{kind}_sets": sets, kind: rejected / sets if sets else float("nan")}
            text[kind] = share_text(rejected, sets, missing="not run")
        rows.append(row)
        texts.append(text | {"seconds a test": f"{of['test_seconds'].median():.3f}"})
    figures = pd.DataFrame(rows)
    caption = []
    for test, of in figures.groupby("test", sort=False):
        size, power = of["size"], of["power"]
        caption.append(
            f"{test}: size {size.mean():.1%} on average, at most {size.max():.1%}; power {power.mean():.1%}."
        )
    caption.append(f"Share of data sets with p <= {TEST_LEVEL}, and its 95 % interval. {provenance(runs)}")
    return [Result("tests", figures, pd.DataFrame(texts), [*caption, *left_out])]


ANALYSIS = Analysis("independence", analyse)
