"""The table of screens on made-up runs, with a public package of archived ones."""

import pandas as pd
from pytest import approx

from analysis.sample_estimators.screening import ANALYSIS
from tests.analysis.runs import RUN


def made_up():
    """Two tables, two data sets each; the columns of the second table are independent."""
    rows = []
    for table, dependent in (("lines", 4), ("nothing", 0)):
        for number in (0, 1):
            common = RUN | {"table": table, "set": number, "n": 100, "start": number}
            common |= {"dependent_columns": dependent, "screen_seconds": 1.0 + number}
            screen = {
                "method": "screen",
                "true_discoveries": dependent,
                "false_discoveries": number,
            }
            screen |= {"covering_intervals": 9.0 + number, "intervals": 10.0}
            screen |= {"redundant_found": 2, "redundant_chosen": 1}
            dcor = {
                "method": "dcor",
                "true_discoveries": dependent / 2,
                "false_discoveries": 0,
            }
            rows += [common | screen, common | dcor]
    return pd.DataFrame(rows)


def test_shares_are_means_over_tables():
    (result,) = ANALYSIS.analyse(made_up(), None)
    of = result.figures.set_index("method")
    assert of.loc["screen", "power"] == 1
    assert of.loc["dcor", "power"] == approx(0.5)
    assert of.loc["screen", "false discoveries"] == approx((0 + 1 / 5 + 0 + 1) / 4)
    assert of.loc["screen", "intervals that cover the true value"] == approx(0.95)
    assert (
        of.loc[
            "dcor", ["intervals that cover the true value", "redundant ones left out"]
        ]
        .isna()
        .all()
    )
    assert of.loc["screen", "redundant ones left out"] == 0.5
    assert list(result.text["seconds"]) == ["1.5", "1.5"]
    assert result.text["intervals that cover the true value"].tolist()[1] == ""
