"""The table of tests of independence on made-up runs."""

import pandas as pd
import pytest

from analysis.sample_estimators.independence import powers, scored, sizes
from tests.analysis.pictures import numbers


def made_up():
    """Two settings; the published test rejects half as often, and smooth-beyond has not met the alternative."""
    rows = []
    for name, columns in (("linear-1", 1), ("linear-10", 10)):
        for test, factor in (("local-permutation", 2), ("local-permutation-published", 1), ("smooth-beyond", 10)):
            for dependent in (0, 1):
                for block in (0, 1):
                    rows.append({"law": name, "columns": columns, "n": 100, "test": test, "dependent": dependent,
                                 "block": block, "sets": 100, "rejected": (2.5 + 15 * dependent) * factor,
                                 "test_seconds": 0.1})  # fmt: skip
    runs = pd.DataFrame(rows)
    return runs[(runs["test"] != "smooth-beyond") | (runs["dependent"] == 0)]


def test_blocks_are_pooled_and_size_and_power_kept_apart():
    figures = scored(made_up()).set_index(["law", "test"])
    ours = figures.loc[("linear-1", "local-permutation")]
    assert (ours["size_sets"], ours["power_sets"]) == (200, 200)
    assert ours["size"] == pytest.approx(0.05) and ours["power"] == pytest.approx(0.35)
    assert figures.loc[("linear-1", "smooth-beyond"), "power_sets"] == 0


def test_the_caption_counts_settings_and_compares_powers():
    figures = scored(made_up())
    ours, published, smooth = sizes(figures)
    assert numbers(ours)[:5] == [3, 7, 2, 2, 5.0] and "none" in ours
    assert numbers(published)[:5] == [3, 7, 0, 2, 2.5]
    assert numbers(smooth)[:6] == [3, 7, 0, 2, 25.0, 7] and "linear-1, linear-10" in smooth
    assert "+17.5 points" in powers(figures)[0]
    assert powers(figures[figures["test"] == "smooth-beyond"]) == []
