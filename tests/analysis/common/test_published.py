"""Published figures beside ours: matched by place, signs as here, chance by Student's t."""

import math

import pandas as pd
import pytest

from analysis.common.published import (
    beyond_chance,
    deviation,
    published,
    published_figures,
    published_table,
    standard_errors,
)


def one_figure(**numbers):
    return published_figures("table", [{"published": 1.0, **numbers}])


@pytest.mark.parametrize("runs, is_beyond", [(2, False), (3, True), (10, True)])
def test_chance_allows_for_few_runs(runs, is_beyond):
    """Eight standard errors of the difference: within chance for two runs (12.7),
    beyond it for three (4.3).
    """
    error = 1 / 8 / math.sqrt(1 + runs)
    figures = one_figure(ours=2.0, ours_error=error, runs=runs)
    assert standard_errors(figures).tolist() == pytest.approx([8.0])
    assert beyond_chance(figures).tolist() == [is_beyond]
    assert deviation(figures).tolist() == [1.0]


def test_published_errors_count_where_there_are_some():
    figures = one_figure(published_error=0.3, ours=1.5, ours_error=0.4, runs=5)
    assert standard_errors(figures).tolist() == pytest.approx([1.0])


def test_without_any_error_chance_is_unknown():
    figures = one_figure(ours=2.0, runs=1)
    assert standard_errors(figures).isna().all()
    assert not beyond_chance(figures).any()


def test_a_published_table_keeps_what_was_not_run_and_our_sign_of_a_bias():
    ours = pd.DataFrame(
        {
            "domain": ["text"],
            "depth": [2],
            "bias_bits": [-0.1],
            "bias_bits_error": [0.01],
            "runs": [3],
        }
    )
    figures = published_table("table2", ["bias_bits"], ["domain", "depth"], ours)
    theirs = published("table2")
    assert len(figures) == len(theirs)
    assert figures["published"].tolist() == (-theirs["bias_bits"]).tolist()
    run = figures[figures["ours"].notna()]
    assert run["place"].tolist() == ["text depth 2"]
    assert run["ours"].tolist() == [-0.1]
    assert run["unit"].tolist() == ["bits"]
