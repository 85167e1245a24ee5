"""Token artefacts: the change of -log2 p(label | text) when a token is left out
(Ethayarajh et al. 2022, section 5).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from infoscope.checks import require_int
from infoscope.errors import OutOfRange, WrongShape
from infoscope.estimators.alignment import aligns
from infoscope.estimators.families.protocol import ClassPredictor
from infoscope.estimators.result import clustered_error
from infoscope.estimators.units import NATS_PER_BIT

TOKENS = re.compile(r"\w+|[^\w\s]+")  # words and runs of other characters, as published
SPACE = " "  # stands for an empty text, on which some tokenisers fail


@aligns("texts", "codes")
def token_artefacts(
    predictor: ClassPredictor,
    texts: Sequence[str],
    codes: ArrayLike,
    least_frequency: int = 6,
    batch: int = 4096,
    tokens: Callable[[str], Sequence[str]] = TOKENS.findall,
) -> pd.DataFrame:
    """The contribution of each token to the prediction of each class, H(y | x without
    it) - H(y | x), bits.

    predictor        predicts classes of a list of texts; fitted on other texts
    texts, codes     [n], the texts and their classes as coded by the predictor
    least_frequency  of a token in all texts; in the paper above 5
    tokens           splits a text

    One occurrence is left out at a time; errors are robust to several in one text.
    ValueError: a class of probability 0.
    """
    codes = np.asarray(codes)
    if len(codes) != len(texts) or not np.issubdtype(codes.dtype, np.integer):
        raise WrongShape(
            f"codes must be one integer for each of the {len(texts)} texts, got "
            f"{codes.dtype} {codes.shape}."
        )
    split = [list(tokens(text)) for text in texts]
    frequency = Counter(chain.from_iterable(split))
    require_int("least_frequency", least_frequency, 1)
    items = []
    places = []  # of the occurrences in their texts
    for item, words in enumerate(split):
        for place, token in enumerate(words):
            if frequency[token] >= least_frequency:
                items.append(item)
                places.append(place)
    if not items:
        most = max(frequency.values(), default=0)
        raise OutOfRange(
            "least_frequency must be at most the count of the most frequent token, "
            f"{most}, got {least_frequency}."
        )
    surprise = surprises(predictor, [_text(words) for words in split], codes, batch)
    change = np.empty(len(items))
    for start in range(0, len(items), batch):
        part = slice(start, start + batch)
        shorter = []
        for item, place in zip(items[part], places[part]):
            words = split[item]
            shorter.append(_text(words[:place] + words[place + 1 :]))
        change[part] = (
            surprises(predictor, shorter, codes[items[part]], batch)
            - surprise[items[part]]
        )
    left_out = [split[item][place] for item, place in zip(items, places)]
    occurrences = pd.DataFrame(
        {"token": left_out, "code": codes[items], "item": items, "bits": change}
    )
    rows = []
    for names, members in occurrences.groupby(["token", "code"], sort=True):
        assert isinstance(names, tuple)
        groups = pd.factorize(members["item"])[0]
        bits = members["bits"].to_numpy()
        error = clustered_error(bits, groups)
        rows.append([*names, bits.mean(), error, len(bits), int(groups.max()) + 1])
    names = [
        "token",
        "code",
        "mean_bits",
        "standard_error_bits",
        "occurrences",
        "texts",
    ]
    table = pd.DataFrame(rows, columns=names)
    return table.sort_values(
        ["code", "mean_bits"], ascending=[True, False], kind="stable", ignore_index=True
    )


def _text(tokens: Sequence[str]) -> str:
    """The tokens as a text, which is not empty."""
    return SPACE.join(tokens) or SPACE


def surprises(
    predictor: ClassPredictor, texts: Sequence[str], codes: np.ndarray, batch: int
) -> np.ndarray:
    """-log2 of the probability of every text's class [n]."""
    parts = []
    for start in range(0, len(texts), batch):
        part = slice(start, start + batch)
        parts.append(predictor.log_density(texts[part], codes[part]))
    logs = np.concatenate(parts)
    bad = int((~np.isfinite(logs)).sum())
    if bad:
        raise OutOfRange(
            f"predictor must give every class a positive probability, but {bad} of "
            f"{len(logs)} texts have 0 or NaN."
        )
    return -logs / NATS_PER_BIT
