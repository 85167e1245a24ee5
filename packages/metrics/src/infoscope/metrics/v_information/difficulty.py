"""Token artefacts: the change of -log2 p(label | text) when a token is left out (Ethayarajh et al. 2022, section 5)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

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
    """The contribution of each token to the prediction of each class, H(y | x without it) - H(y | x), bits.

    predictor        predicts classes of a list of texts; fitted on other texts
    texts, codes     [n], the texts and their classes as coded by the predictor
    least_frequency  of a token in all texts; in the paper above 5
    tokens           splits a text

    One occurrence is left out at a time; errors are robust to several in one text. ValueError: a class of probability
    0.
    """
    codes = np.asarray(codes)
    if len(codes) != len(texts) or not np.issubdtype(codes.dtype, np.integer):
        raise WrongShape(
            f"codes must be one integer for each of the {len(texts)} texts, got {codes.dtype} {codes.shape}."
        )
    split = [[*tokens(text)] for text in texts]
    frequency = pd.Series([token for own in split for token in own], dtype=object).value_counts()
    frequent = set(frequency.index[frequency >= require_int("least_frequency", least_frequency, 1)])
    if not frequent:
        raise OutOfRange(
            f"least_frequency must be at most the count of the most frequent token, "
            f"{int(frequency.max()) if len(frequency) else 0}, got {least_frequency}."
        )
    whole_surprise = surprises(predictor, [SPACE.join(own) or SPACE for own in split], codes, batch)
    places = [(item, place) for item, own in enumerate(split) for place, token in enumerate(own) if token in frequent]
    items = np.array([item for item, _ in places])
    helped = np.empty(len(places))
    for start in range(0, len(places), batch):
        part = slice(start, start + batch)
        shorter = [SPACE.join(split[i][:p] + split[i][p + 1 :]) or SPACE for i, p in places[part]]
        helped[part] = surprises(predictor, shorter, codes[items[part]], batch) - whole_surprise[items[part]]
    occurrences = pd.DataFrame(
        {"token": [split[i][p] for i, p in places], "code": codes[items], "item": items, "helped": helped}
    )
    rows = []
    for (token, code), found in occurrences.groupby(["token", "code"], sort=True):
        own = np.unique(found["item"], return_inverse=True)[1]
        bits = found["helped"].to_numpy()
        rows.append([token, code, bits.mean(), clustered_error(bits, own), len(bits), int(own.max()) + 1])
    names = ["token", "code", "mean_bits", "standard_error_bits", "occurrences", "texts"]
    table = pd.DataFrame(rows, columns=names)
    return table.sort_values(["code", "mean_bits"], ascending=[True, False], kind="stable", ignore_index=True)


def surprises(predictor: ClassPredictor, texts: Sequence[str], codes: np.ndarray, batch: int) -> np.ndarray:
    """-log2 of the probability of every text's class [n]."""
    parts = [slice(start, start + batch) for start in range(0, len(texts), batch)]
    logs = np.concatenate([predictor.log_density(texts[part], codes[part]) for part in parts])
    bad = int((~np.isfinite(logs)).sum())
    if bad:
        raise OutOfRange(
            f"predictor must give every class a positive probability, but {bad} of {len(logs)} texts have 0 or NaN."
        )
    return -logs / NATS_PER_BIT
