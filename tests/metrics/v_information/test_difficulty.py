"""Slices, hardest items and token artefacts against hand-made cases."""

import math
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pytest import approx

from infoscope.estimators.families.distributions import Categorical
from infoscope.metrics.v_information.difficulty import TOKENS, token_artefacts
from infoscope.metrics.v_information.pvi import slices

PUNCTUATED = 'The "book", that is... John\'s - is mine!'
TABLE = pd.DataFrame({"pvi_bits": [1.0, 3.0, -2.0, 0.0, 4.0], "label": list("aabba"), "length": [1, 5, 9, 5, 2]})


def test_slices_are_means_with_standard_errors():
    found = slices(TABLE, "label")
    assert found.index.tolist() == ["a", "b"] and found["n"].tolist() == [3, 2]
    assert found["mean_bits"].tolist() == approx([8 / 3, -1.0])
    assert found["standard_error_bits"].tolist() == approx([np.std([1, 3, 4], ddof=1) / 3**0.5, 1.0])
    missing = slices(TABLE.assign(kind=["x", None, "x", None, "x"]), "kind")
    assert missing["n"].sum() == len(TABLE)  # a slice of their own


def test_slices_by_two_columns_and_with_groups():
    both = slices(TABLE, ["label", "length"])
    assert both.loc[("a", 5), "mean_bits"] == 3.0 and math.isnan(both.loc[("a", 5), "standard_error_bits"])
    copies = pd.concat([TABLE, TABLE], ignore_index=True)
    grouped, once = slices(copies, "label", groups=np.tile(np.arange(5), 2)), slices(TABLE, "label")
    assert grouped["standard_error_bits"].tolist() == approx(once["standard_error_bits"].tolist())


def counting_predictor(weights):
    """log odds of class 1: the sum of its tokens' weights."""

    def predict(texts):
        odds = np.array([sum(weights.get(token, 0.0) for token in text.split()) for text in texts])
        return -np.logaddexp(0.0, np.stack([odds, -odds], axis=1))

    return Categorical(predict)


def test_a_token_helps_by_what_its_absence_costs():
    """Odds 2 for "good" alone: with it the surprise is log2(1 + e^-2), without it 1 bit; each occurrence by itself."""
    texts = ["good", "good x", "x good good", "x", "bad x"]
    codes = np.array([1, 1, 1, 0, 0])
    found = token_artefacts(counting_predictor({"good": 2.0, "bad": -1.0}), texts, codes, least_frequency=4)
    assert found["token"].tolist() == ["x", "good", "x"]
    one, two = (math.log2(1 + math.exp(-odds)) for odds in (2, 4))
    good = found[(found["token"] == "good")].iloc[0]
    helped = [1 - one, 1 - one, one - two, one - two]
    assert good["mean_bits"] == approx(np.mean(helped))
    assert (good["code"], good["occurrences"], good["texts"]) == (1, 4, 3)
    sums = np.array([helped[0], helped[1], helped[2] + helped[3]]) - np.mean(helped) * np.array([1, 1, 2])
    assert good["standard_error_bits"] == approx(math.sqrt(1.5 * (sums**2).sum()) / 4)
    assert (found[found["token"] == "x"]["mean_bits"] == 0.0).all()
    same = token_artefacts(counting_predictor({"good": 2.0, "bad": -1.0}), texts, codes, least_frequency=4, batch=2)
    pd.testing.assert_frame_equal(found, same)


def test_punctuation_is_apart_as_published():
    """What the authors' tokeniser (Hugging Face's Whitespace) makes of a sentence: runs of other signs stay whole."""
    texts = [PUNCTUATED, "It is."] * 3
    published = ["The", '"', "book", '",', "that", "is", "...", "John", "'", "s", "-", "is", "mine", "!"]
    assert TOKENS.findall(texts[0]) == published
    found = token_artefacts(counting_predictor({".": 1.0}), texts, np.array([0, 1] * 3), least_frequency=3)
    assert {".", ",", "is."} & set(found["token"]) == {"."}
    assert found.set_index(["token", "code"])["occurrences"]["is", 0] == 6
    assert found.set_index("token")["mean_bits"]["."] > 0.3
    spaces = token_artefacts(counting_predictor({}), texts, np.array([0, 1] * 3), 3, tokens=str.split)
    assert "is." in set(spaces["token"]) and "." not in set(spaces["token"])


def test_the_tokens_of_cola_are_as_many_as_published():
    """109 tokens occur more than five times in the in-domain dev set; split at white space it would be 97."""
    folder = Path(os.environ.get("INFOSCOPE_DATA", Path(__file__).parents[4] / "shared" / "data")) / "cola"
    if not folder.is_dir():
        pytest.skip("no CoLA")
    texts = [line.split("\t")[3] for line in (folder / "in_domain_dev.tsv").read_text("utf-8").splitlines()]
    always = Categorical(lambda texts: np.full((len(texts), 2), -math.log(2)))
    ways = TOKENS.findall, str.split
    counts = [token_artefacts(always, texts, np.zeros(len(texts), int), tokens=way)["token"] for way in ways]
    assert [found.nunique() for found in counts] == [109, 97]
    assert {".", ","} <= set(counts[0])
