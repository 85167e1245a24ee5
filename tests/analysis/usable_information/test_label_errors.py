"""The tables of label errors on made-up runs, whose scores are known."""

import itertools
import math
import re

import numpy as np
import pandas as pd
import pytest

from analysis.common.tables import save
from analysis.usable_information.label_errors import ANALYSIS, TITLES, balanced, level
from tests.analysis.pictures import drawn

LEVELS = dict(zip(TITLES, (0.50, 0.55, 0.52, 0.45, 0.58, 0.57, 0.20, 0.30)))  # average precision at 10 % of digits
IN_SAMPLE = ("aum", "confidence", "forgetting", "el2n")
GAIN = {"digits": 0.0, "cola": -0.1, "snli": 0.02}  # of the scores in sample, added to those


def run(number, **cell):
    row = {"run_id": f"run-{number}", "family": "mlp", "seed": 0, "n": 1000.0, "flipped": 100.0, "version": "1",
           "profile": "laptop", "start": pd.Timestamp("2026-01-01") + pd.Timedelta(number, "s"), "accuracy": 0.8,
           "v_information_bits": 0.3, "v_information_bits_error": 0.02,
           "tags": {"infoscope.data": "made up", "infoscope.code": "abc"}}  # fmt: skip
    return row | cell


@pytest.fixture
def store(monkeypatch):
    """Three data sets, two rates, four seeds; maps of two of the data sets, one of pictures."""
    rows = []
    for data, rate, seed in itertools.product(GAIN, (0.1, 0.2), range(4)):
        draws = np.random.default_rng([seed, *data.encode(), int(100 * rate)])
        common = 0.1 * draws.normal()  # of all scores alike: a paired difference does not know it
        figures = {}
        for key, value in LEVELS.items():
            own = value + common + (GAIN[data] if key in IN_SAMPLE else 0.0) + 0.002 * draws.normal()
            figures |= {f"{key}/average_precision": own, f"{key}/auroc": 0.9, f"{key}/precision": own - 0.05}
        rows.append(run(len(rows), data=data, noise="symmetric", rate=rate, seed=seed, **figures))
    for data in ("digits", "cola"):
        rows.append(run(len(rows), data=data, noise="none", rate=0.0, flipped=0.0))
    n = 50
    table = pd.DataFrame({"id": np.arange(n).astype(str), "label": "a", "predicted": "b", "correctness": 0.5,
                          "pvi_bits": np.linspace(-3, 1, n)[::-1], "confidence": 0.4, "variability": 0.1})  # fmt: skip
    tables = {rows[-2]["run_id"]: table, rows[-1]["run_id"]: table.assign(text=[f"text {i}" for i in range(n)])}
    monkeypatch.setattr("infoscope.tracking.table", lambda run, name: tables[run].copy())
    monkeypatch.setattr("infoscope.tracking.arrays", lambda run, name: {"pictures": np.zeros((10, 8, 8), np.uint8)})
    return pd.DataFrame(rows)


def analysed(runs, *words):
    return {result.name: result for result in ANALYSIS.analyse(runs, ANALYSIS.arguments(list(words)))}


def test_every_table_and_figure_is_there_and_can_be_saved(store, tmp_path):
    results = analysed(store)
    assert list(results) == ["scores", "settings", "maps"]
    assert drawn(save(results["maps"], tmp_path / "maps"))
    for result in results.values():
        assert (result.draw is None) == (result.name == "scores")
        assert all("nan" not in str(value) for value in result.text.to_numpy().ravel()), result.name
    assert results["maps"].text["PVI"].iloc[0] == "-3.000"


def test_differences_are_paired_over_seeds(store):
    noisy = store[store["noise"] != "none"]
    found = level(noisy, "aum", "average_precision", less="pvi")
    assert found.n == 4 and found.value == pytest.approx(0.08 + np.mean(list(GAIN.values())), abs=0.005)
    assert found.standard_error < 0.003 < level(noisy, "aum", "average_precision").standard_error
    by_hand = (noisy["aum/average_precision"] - noisy["pvi/average_precision"]).groupby(noisy["seed"]).mean()
    assert found.standard_error == pytest.approx(by_hand.std(ddof=1) / 2)


def test_the_sentence_says_where_the_best_finds_more_than_pvi(store):
    caption = analysed(store)["scores"].caption
    assert re.search(r"^AUM finds more than PVI in 4 of 6\D* 2, by 95 %", caption)


def test_what_is_missed_adds_up_and_the_best_are_counted(store):
    results = analysed(store)
    text, figures = results["scores"].text.set_index("score"), results["scores"].figures.set_index("score")
    assert figures.loc["aum", "best_in"] + figures.loc["self_confidence", "best_in"] == 6
    share = float(text.loc["PVI", "missed"].rstrip("%")) / 100
    assert share == pytest.approx(1 - figures.loc["pvi", "precision"], abs=1e-3)


def test_settings_with_fewer_seeds_are_left_out_and_one_seed_has_no_interval(store):
    noisy = store[store["noise"] != "none"]
    some = noisy[(noisy["data"] != "cola") | (noisy["seed"] < 2)]
    assert set(balanced(some)["data"]) == {"digits", "snli"}
    assert re.search(r"over 4 settings \(.*\) of 6", analysed(some)["scores"].caption)
    one = analysed(store[store["seed"] == 0])["scores"]
    assert "no interval" in one.caption
    assert math.isnan(one.figures["average_precision_error"].iloc[0])
