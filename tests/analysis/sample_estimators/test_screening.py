"""The table of screens on made-up runs."""

import numpy as np
import pandas as pd
import pytest

from analysis.sample_estimators.screening import add_counts, comparison, summarised


def made_up():
    """Two tables, two data sets each; the columns of the second table are independent."""
    rows = []
    for table, dependent in (("lines", 4), ("nothing", 0)):
        for number in (0, 1):
            common = {"table": table, "set": number, "n": 100, "dependent": dependent, "took_seconds": 1.0 + number}
            held = {"held": 9.0 + number, "intervals": 10.0}
            choice = {"spare_found": 2, "spare_kept": 1, "needed_found": 2, "needed_kept": 2}
            rows.append(common | {"method": "screen", "found": dependent, "false": number} | held | choice)
            rows.append(common | {"method": "dcor", "found": dependent / 2, "false": 0})
    return pd.DataFrame(rows)


def test_shares_are_means_over_tables():
    figures, text = summarised(add_counts(made_up()))
    of = figures.set_index("method")
    assert of.loc["screen", "power"] == 1 and of.loc["dcor", "power"] == pytest.approx(0.5)
    assert of.loc["screen", "false discoveries"] == pytest.approx((0 + 1 / 5 + 0 + 1) / 4)
    assert of.loc["screen", "intervals that cover the true value"] == pytest.approx(0.95)
    assert np.isnan(of.loc["dcor", "intervals that cover the true value"])
    assert of.loc["screen", "redundant ones left out"] == 0.5 and of.loc["screen", "needed ones kept"] == 1
    assert of.loc["screen", "seconds"] == 1.5 and text["intervals that cover the true value"].tolist()[1] == ""


def test_the_caption_gives_the_target_and_compares_powers():
    lines = comparison(summarised(add_counts(made_up()))[0])
    assert "30.0%" in lines[0] and "target: 10%" in lines[0]
    assert lines[1].startswith("Intervals that cover the true value, screen: 95.0%")
    assert lines[-1] == "Power: screen 100.0%; dcor 50.0%."
    assert comparison(summarised(add_counts(made_up().query("method == 'dcor'")))[0]) == [
        "The screen was not run; dcor were."
    ]
