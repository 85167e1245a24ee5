"""The table of verdicts on made-up data sets."""

import functools

import numpy as np
import pandas as pd

from analysis.sample_estimators.verdicts import as_text, counted, draw, judged, sentences


def made_up(law="a", wrong=2, reliable=25, sets=40, n=1000):
    """Truth 1; intervals of every set hold it, but for the truth of the first `wrong` reliable ones, which miss it."""
    number = np.arange(sets)
    return pd.DataFrame({
        "law": law, "collection": "unseen", "n": n, "k": 5, "truth": 1.0, "value": 1.0, "standard_error": 0.1,
        "low": np.where(number < wrong, 1.1, 0.8), "high": 1.2,
        "truth_low": np.where(number < wrong, 1.05, 0.7), "truth_high": 1.3,
        "verdict": np.where(number < reliable, "reliable", "unverified"),
        "predicted_bias": np.where(number < 10, 0.05, 0.2),
    })  # fmt: skip


def test_calls_are_counted_by_their_own_interval():
    row = counted(judged(made_up()), ["collection", "law"]).iloc[0]
    assert (row["reliable"], row["wrong"], row["covered"], row["reliable_and_covered"]) == (25, 2, 38, 23)
    assert (row["by_drift"], row["wrong_by_drift"]) == (10, 2)


def test_small_neighbourhoods_alone_are_judged_by_drift():
    """k / n of 5 %: none, whatever is predicted."""
    assert counted(judged(made_up(n=100)), ["law"]).iloc[0]["by_drift"] == 0


def test_the_caption_names_the_laws_that_break_what_is_allowed(tmp_path):
    figures = counted(judged(pd.concat([made_up(), made_up("b", wrong=0)])), ["collection", "law"])
    words = " ".join(sentences(figures))
    assert "4 % (0 to 14)" in words and "62 %" in words and "a 2 of 25" in words
    text = as_text(figures, "law")
    assert list(text["reliable but wrong"]) == ["2 of 25: 8 % (1 to 26)", "0 of 25: 0 % (0 to 14)"]
    functools.partial(draw, figures)(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 1000
