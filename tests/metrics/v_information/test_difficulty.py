"""Slices and token artefacts against hand-made cases."""

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
PUBLISHED = 'The " book ", that is ... John \' s - is mine !'
TABLE = pd.DataFrame(
    {
        "pvi_bits": [1.0, 3.0, -2.0, 0.0, 4.0],
        "label": list("aabba"),
        "length": [1, 5, 9, 5, 2],
    }
)


def test_slices_are_means_with_standard_errors():
    by_label = slices(TABLE, "label")
    assert by_label.index.tolist() == ["a", "b"]
    assert by_label["n"].tolist() == [3, 2]
    assert by_label["mean_bits"].tolist() == approx([8 / 3, -1.0])
    error = np.std([1, 3, 4], ddof=1) / math.sqrt(3)
    assert by_label["standard_error_bits"].tolist() == approx([error, 1.0])
    with_missing = TABLE.assign(kind=["x", None, "x", None, "x"])
    assert slices(with_missing, "kind")["n"].sum() == len(TABLE)  # a slice of their own


def test_slices_by_two_columns_and_with_groups():
    row = slices(TABLE, ["label", "length"]).loc[("a", 5)]
    assert row["mean_bits"] == 3.0
    assert math.isnan(row["standard_error_bits"])
    copies = pd.concat([TABLE, TABLE], ignore_index=True)
    grouped = slices(copies, "label", groups=np.tile(np.arange(5), 2))
    single = slices(TABLE, "label")
    assert grouped["standard_error_bits"].tolist() == approx(
        single["standard_error_bits"].tolist()
    )


def counting_predictor(weights):
    """log odds of class 1: the sum of its tokens' weights."""

    def predict(texts):
        odds = np.empty(len(texts))
        for place, text in enumerate(texts):
            odds[place] = sum(weights.get(token, 0.0) for token in text.split())
        return -np.logaddexp(0.0, np.stack([odds, -odds], axis=1))

    return Categorical(predict)


def test_a_token_helps_by_what_its_absence_costs():
    """Odds 2 for "good" alone: with it the surprise is log2(1 + e^-2), without it 1
    bit; each occurrence by itself.
    """
    texts = ["good", "good x", "x good good", "x", "bad x"]
    codes = np.array([1, 1, 1, 0, 0])
    predictor = counting_predictor({"good": 2.0, "bad": -1.0})
    artefacts = token_artefacts(predictor, texts, codes, least_frequency=4)
    assert artefacts["token"].tolist() == ["x", "good", "x"]
    once = math.log2(1 + math.exp(-2))
    twice = math.log2(1 + math.exp(-4))
    # by text, of 1, 1 and 2 occurrences
    helped = np.array([1 - once, 1 - once, 2 * (once - twice)])
    mean = helped.sum() / 4
    good = artefacts.iloc[1]
    assert good["code"] == 1
    assert good["occurrences"] == 4
    assert good["texts"] == 3
    assert good["mean_bits"] == approx(mean)
    deviations = helped - mean * np.array([1, 1, 2])
    assert good["standard_error_bits"] == approx(
        math.sqrt(1.5 * np.square(deviations).sum()) / 4
    )
    assert (artefacts["mean_bits"].iloc[[0, 2]] == 0.0).all()
    in_batches = token_artefacts(predictor, texts, codes, least_frequency=4, batch=2)
    pd.testing.assert_frame_equal(artefacts, in_batches)


def test_punctuation_is_apart_as_published():
    """What the authors' tokeniser (Hugging Face's Whitespace) makes of a sentence: runs
    of other signs stay whole.
    """
    assert " ".join(TOKENS.findall(PUNCTUATED)) == PUBLISHED
    texts = [PUNCTUATED, "It is."] * 3
    codes = np.array([0, 1] * 3)
    artefacts = token_artefacts(
        counting_predictor({".": 1.0}), texts, codes, least_frequency=3
    )
    assert artefacts.set_index(["token", "code"])["occurrences"]["is", 0] == 6
    assert artefacts.set_index("token")["mean_bits"]["."] > 0.3
    assert "is." not in set(artefacts["token"])
    by_spaces = token_artefacts(
        counting_predictor({}), texts, codes, 3, tokens=str.split
    )
    assert "is." in set(by_spaces["token"])


def test_the_tokens_of_cola_are_as_many_as_published():
    """109 tokens occur more than five times in the in-domain dev set; split at white
    space it would be 97.
    """
    path = Path(os.environ.get("INFOSCOPE_DATA", "")) / "cola" / "in_domain_dev.tsv"
    if not path.is_file():
        pytest.skip("no CoLA")
    texts = [line.split("\t")[3] for line in path.read_text("utf-8").splitlines()]
    codes = np.zeros(len(texts), int)
    for tokens, count in ((TOKENS.findall, 109), (str.split, 97)):
        artefacts = token_artefacts(counting_predictor({}), texts, codes, tokens=tokens)
        assert artefacts["token"].nunique() == count
