"""The command on a person's own code: a verdict, a map, a page and one run; or a
sentence and nothing.
"""

import numpy as np
import pandas as pd
import pytest

from analysis import disentangle
from infoscope.estimators import Continuous, Discrete
from tests.analysis.commands import assert_refused, recorded, status_of, written

N = 240


@pytest.fixture
def here(empty_folder):
    rng = np.random.default_rng(0)
    shape = rng.integers(0, 3, N)
    weight = rng.normal(70, 10, N)
    frame = pd.DataFrame(
        {"PC 1": shape + 0.1 * rng.normal(size=N), "PC 2": weight + rng.normal(size=N)}
    )
    frame["body weight (kg)"] = weight.round(1)
    frame["shape"] = np.array(["disc", "heart", "square"])[shape]
    frame["same"] = 1
    frame.to_csv("codes.csv", index=False)
    return empty_folder


def test_a_verdict_a_table_a_map_a_page_and_one_run(here, capsys):
    words = "--data codes.csv --x PC* --factors 'shape,body weight (kg)'"
    assert status_of(disentangle.COMMAND, words) == 0
    printed, _ = capsys.readouterr()
    assert printed.startswith(
        "Each factor is in one column of its own: shape wholly in PC 1 (100 %) and "
        "body weight (kg) "
    )
    assert "as numbers in 10 parts" in printed
    assert "as 3 categories" in printed
    assert (
        printed.index("as 3 categories")
        < printed.index("\nScores:")
        < printed.index("DCI completeness")
    )
    figures = written("disentangle-codes", ".png", ".pdf", ".html").set_index(
        ["what", "factor", "column"]
    )
    run = recorded("disentangle")
    assert run.data.params["factors"] == "shape,body weight (kg)"
    assert figures.loc[("share of H", "shape", "PC 1"), "low"] > 0.9
    bound = figures["value"].xs("UniBound").item()
    assert run.data.metrics["UniBound"] == pytest.approx(bound)
    assert bound > 0.7


def test_a_column_of_categories_is_one_column(here, capsys):
    frame = pd.read_csv("codes.csv")
    # not in the order of the shapes
    frame["code"] = frame["shape"].map({"disc": 2, "heart": 0, "square": 1})
    frame.to_csv("categories.csv", index=False)
    words = "--data categories.csv --x 'code,PC 2' --factors 'shape,body weight (kg)'"
    assert status_of(disentangle.COMMAND, f"{words} --discrete code") == 0
    assert (
        "shape wholly in code (100 %) and body weight (kg) mostly in PC 2"
        in capsys.readouterr().out.splitlines()[0]
    )


@pytest.mark.parametrize(
    "values, kind",
    [
        (np.tile([0.5, 0.6, 0.7], 20), Continuous),
        (np.tile([0.5, 0.6], 30), Discrete),
        (np.tile([1, 2], 30), Discrete),
        (np.arange(60), Continuous),  # a value in each row
        (np.tile(["a", "b"], 30), Discrete),
    ],
)
def test_factors_are_classes_or_numbers(values, kind):
    assert isinstance(disentangle.factor("size", pd.Series(values)), kind)


@pytest.mark.parametrize(
    "words, argument",
    [
        ("", "FACTORS"),
        ("--factors shape,same --x PC*", "factors"),
    ],
)
def test_bad_input_writes_nothing(here, capsys, words, argument):
    assert_refused(disentangle.COMMAND, f"--data codes.csv {words}", argument, capsys)
