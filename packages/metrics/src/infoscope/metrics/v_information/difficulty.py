"""Which tokens make items hard, and which labels look wrong (Ethayarajh et al. 2022, sections 4, 5).

token_artefacts      what leaving a token out does to the surprise at the label
flip_labels, mislabel_scores, detection    how well a score finds labels that were flipped on purpose
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from infoscope.estimators.checks import generator_or_default, require_int
from infoscope.estimators.families.protocol import ClassPredictor, as_outcome
from infoscope.estimators.families.registry import as_family
from infoscope.estimators.result import clustered_error
from infoscope.estimators.units import NATS_PER_BIT
from infoscope.metrics.v_information.predictions import FLOOR, as_groups, check_length, fold_splits, predict

TOKENS: dict[str, Callable[[str], list[str]]] = {  # ways to split a text
    "punctuation": re.compile(r"\w+|[^\w\s]+").findall,
    "white space": str.split,
}
SPACE = " "  # what is left of a text without its only token: some tokenisers fail on the empty string
SCORES = ("pvi", "loss", "margin", "confident_learning")


def token_artefacts(
    predictor: ClassPredictor,
    texts: Sequence[str],
    codes: ArrayLike,
    least_frequency: int = 6,
    batch: int = 4096,
    tokens: str | Callable[[str], Sequence[str]] = "punctuation",
) -> pd.DataFrame:
    """How much each token helps to predict each class: H(y | x without it) - H(y | x), bits; positive = it helps.

    predictor        of classes from a list of texts, fitted on others; it is not fitted again. ValueError if it holds a
                     class to be impossible
    texts, codes     [n], the texts and their classes as the predictor counts them (0, 1, ...)
    least_frequency  of a token in all texts; the paper's is more than 5
    tokens           "punctuation": words, and runs of other signs apart from them, as published (the authors' code
                     splits by the Whitespace of Hugging Face's tokenizers, which does that; 109 tokens in CoLA's
                     in-domain dev set); "white space": at white space only (97 there); or a function that splits a text

    Texts are put together from their tokens with spaces, whole ones as well. One occurrence at a time is
    left out; the mean is over a token's occurrences in
    texts of a class, and its standard error allows for several in one text. Columns: token, code, mean_bits,
    standard_error_bits, occurrences, texts; the most helpful tokens of every class first.
    """
    codes = np.asarray(codes)
    if len(codes) != len(texts) or not np.issubdtype(codes.dtype, np.integer):
        raise ValueError(
            f"codes must be one integer for each of the {len(texts)} texts, got {codes.dtype} {codes.shape}."
        )
    if not callable(tokens) and tokens not in TOKENS:
        raise ValueError(f"tokens must be one of {', '.join(TOKENS)} or a function of a text, got {tokens!r}.")
    parts_of = tokens if callable(tokens) else TOKENS[tokens]
    split = [[*parts_of(text)] for text in texts]
    frequency = pd.Series([token for own in split for token in own], dtype=object).value_counts()
    frequent = set(frequency.index[frequency >= require_int("least_frequency", least_frequency, 1)])
    if not frequent:
        raise ValueError(
            f"least_frequency must be reached by some token, but the most frequent one occurs "
            f"{int(frequency.max()) if len(frequency) else 0} times, fewer than {least_frequency}."
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
        raise ValueError(
            f"predictor must give every class a probability, but {bad} of {len(logs)} texts have 0 or none."
        )
    return -logs / NATS_PER_BIT


def flip_labels(labels: ArrayLike, share: float, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Labels [n] of which a random `share` is replaced, each by any other label that occurs; and which (a mask [n]).

    ValueError: a share outside (0, 1), or that flips nothing; one label only.
    """
    labels = np.asarray(labels)
    values, codes = np.unique(labels, return_inverse=True)
    count = round(share * len(labels))
    if not 0.0 < share < 1.0 or not count:
        raise ValueError(f"share must be between 0 and 1 and flip at least one of {len(labels)} labels, got {share!r}.")
    if len(values) < 2:
        raise ValueError(f"labels must take at least two values, got only {values.tolist()!r}.")
    flipped = np.zeros(len(labels), dtype=bool)
    flipped[generator.choice(len(labels), count, replace=False)] = True
    codes[flipped] = (codes[flipped] + generator.integers(1, len(values), count)) % len(values)
    return values[codes], flipped


def mislabel_scores(
    family: Any,
    x: Any,
    y: ArrayLike,
    folds: int = 10,
    groups: ArrayLike | None = None,
    floor: float = FLOOR,
    generator: np.random.Generator | None = None,
) -> pd.DataFrame:
    """How suspicious every label is, by several scores of the same cross-fitted predictions; larger = more suspicious.

        pvi                 -PVI, bits (Ethayarajh et al. 2022)
        loss                -log2 q(y | x), bits
        margin              the largest q of another class - q(y | x) (Pleiss et al. 2020, at the end of training)
        confident_learning  the same with every class's q less its mean over the items so labelled (Northcutt et al.
                            2021, per-class thresholds)

    Arguments and errors as `pvi.pointwise`, for classes.
    """
    family = as_family(family)
    outcome = as_outcome(family, y)
    if outcome.classes is None:
        raise ValueError("y must be classes, got numbers.")
    check_length(x, outcome.n)
    generator = generator_or_default(generator)
    codes = as_groups(groups, outcome.n)
    splits = fold_splits(outcome, codes, folds, generator)
    found = predict(family, x, outcome, splits, codes, floor, 0.0, generator)
    q = np.exp(found.logs)
    thresholds = np.array([q[outcome.values == c, c].mean() for c in range(outcome.classes)])
    scores = [
        (found.null - found.informed) / NATS_PER_BIT,
        -found.informed / NATS_PER_BIT,
        margins(q, outcome.values),
        margins(q - thresholds, outcome.values),
    ]
    return pd.DataFrame(dict(zip(SCORES, scores)))


def margins(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The largest of the other classes' values less the own one's; values [n, classes] -> [n]."""
    rows = np.arange(len(codes))
    others = values.copy()
    others[rows, codes] = -np.inf
    return others.max(axis=1) - values[rows, codes]


def detection(
    scores: pd.DataFrame,
    flipped: ArrayLike,
    at: Sequence[int] | None = None,
    resamples: int = 500,
    generator: np.random.Generator | None = None,
) -> pd.DataFrame:
    """How well each column of scores [n] finds the items of a mask [n]: precision among the k largest, and AUROC.

    at         the k; None is the number of items to find
    resamples  of the items, flipped and others apart, for standard errors and 95 % intervals (percentiles). All
               scores see the same resamples. The predictions stay as they are.

    One row for each score and measure: score, measure, value, standard_error, low, high, n, flipped. ValueError: a mask
    without both values, a k outside 1..n, scores that are not finite, fewer than 50 resamples.
    """
    mask = np.asarray(flipped)
    if mask.dtype != bool or mask.shape != (len(scores),) or mask.all() or not mask.any():
        raise ValueError(
            f"flipped must be a mask [{len(scores)}] that holds both values, got {mask.dtype} {mask.shape}."
        )
    if not np.isfinite(scores.to_numpy(dtype=np.float64)).all():
        raise ValueError("scores must be finite, but some are not.")
    at = [int(mask.sum())] if at is None else [require_int("at", k, 1) for k in at]
    if max(at) > len(mask):
        raise ValueError(f"at must be at most the number of items, {len(mask)}, got {max(at)}.")
    require_int("resamples", resamples, 50)
    generator = generator_or_default(generator)
    parts = [np.flatnonzero(mask), np.flatnonzero(~mask)]
    draws = np.array([np.concatenate([generator.choice(part, len(part)) for part in parts]) for _ in range(resamples)])
    measures: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {"auroc": auroc}
    measures |= {f"precision@{k}": np.vectorize(partial(precision, k=k), signature="(n),(n)->()") for k in at}
    rows = []
    for score in scores:
        values = scores[score].to_numpy(dtype=np.float64)
        for measure, function in measures.items():
            again, value = function(values[draws], mask[draws]), float(function(values, mask))
            low, high = np.quantile(again, [0.025, 0.975])
            rows.append([score, measure, value, again.std(ddof=1), low, high, len(mask), len(parts[0])])
    columns = ["score", "measure", "value", "standard_error", "low", "high", "n", "flipped"]
    return pd.DataFrame(rows, columns=columns)


def auroc(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The share of pairs of which the one in the mask has the larger value, ties one half; [..., n] -> [...].

    By ranks, so that all resamples are one array: scikit-learn's takes one at a time, and a hundred times as long.
    """
    inside, n = mask.sum(axis=-1), mask.shape[-1]
    ranks = np.where(mask, stats.rankdata(values, axis=-1), 0.0).sum(axis=-1)
    return (ranks - inside * (inside + 1) / 2) / (inside * (n - inside))


def precision(values: np.ndarray, mask: np.ndarray, k: int) -> float:
    """The share of the mask among the k largest values; of items tied at the last place their average share counts."""
    least = np.partition(values, len(values) - k)[len(values) - k]
    above, tied = values > least, values == least
    return float((mask[above].sum() + (k - above.sum()) * mask[tied].mean()) / k)
