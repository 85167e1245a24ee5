"""Items as vectors that a small network can read: label-errors needs hundreds of trainings, and no label is in them."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from infoscope.data import transformations
from sweeps.usable_information._data import Task, loaded, part_of

COMPONENTS = 128


@functools.lru_cache(maxsize=4)
def encoded(name: str, count: int, seed: int) -> tuple[Task, np.ndarray]:
    """At most `count` items (0: all) of a data set, drawn by the seed, and their vectors [n, d].

    Texts: leading components of TF-IDF weights (latent semantic analysis, Deerwester et al. 1990); pairs: those of the
    hypothesis and their products with the premise's.
    """
    task = part_of(loaded(name, "train"), count, seed)
    if isinstance(task.x, np.ndarray):
        return task, components(task.x, seed)
    sides = [list(side) for side in zip(*task.x)] if isinstance(task.x[0], tuple) else [task.x]
    words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True, token_pattern=r"\b\w+\b")
    weights = words.fit_transform([text for side in sides for text in side])
    first, *second = np.split(components(weights, seed), len(sides))
    return task, np.hstack([second[0], first * second[0]]) if second else first


def components(values: Any, seed: int) -> np.ndarray:
    """The leading components of rows, at most n / 2, randomly rotated so that standardised columns keep their
    proportions.
    """
    count = min(COMPONENTS, values.shape[0] // 2, values.shape[1])
    few = TruncatedSVD(count, random_state=seed).fit_transform(values) if count < values.shape[1] else values
    return few @ np.linalg.qr(np.random.default_rng(seed).normal(size=(count, count)))[0]


def shown(task: Task, length: int) -> list[str]:
    """How texts begin, pairs with their headers; of vectors, which item they are."""
    if isinstance(task.x, np.ndarray):
        return [f"item {place}" for place in task.ids]
    return [text[:length] for text in transformations.standard(task.x)]
