"""Items as vectors that a small network can read: label-errors needs hundreds of trainings, and no label is in them."""

from __future__ import annotations

import functools

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from infoscope.data import transformations
from sweeps.usable_information._data import Task, loaded, part_of

COMPONENTS = 128


@functools.lru_cache(maxsize=4)
def encoded(name: str, count: int, seed: int) -> tuple[Task, np.ndarray]:
    """At most `count` items (0: all) of a data set, drawn by the seed, and their vectors [n, d].

    Texts are their leading components in TF-IDF weights of words and pairs of words (latent semantic analysis,
    Deerwester et al. 1990); pairs those of the hypothesis, and their products with the premise's. Pixels and embeddings
    of more dimensions are reduced alike.
    """
    task = part_of(loaded(name, "train"), count, seed)
    if isinstance(task.x, np.ndarray):
        wide = min(task.x.shape) > COMPONENTS
        return task, reduction(seed, len(task.x)).fit_transform(task.x) if wide else task.x
    sides = [list(side) for side in zip(*task.x)] if isinstance(task.x[0], tuple) else [task.x]
    every = [text for side in sides for text in side]
    words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True, token_pattern=r"\b\w+\b")
    first, *second = np.split(make_pipeline(words, reduction(seed, len(every))).fit_transform(every), len(sides))
    return task, np.hstack([second[0], first * second[0]]) if second else first


def reduction(seed: int, items: int) -> TruncatedSVD:
    """Leading components, at most half as many as there are items; its draws are the seed's."""
    return TruncatedSVD(min(COMPONENTS, items // 2), random_state=seed)


def shown(task: Task, length: int) -> list[str]:
    """How texts begin, pairs with their headers; of vectors, which item they are."""
    if isinstance(task.x, np.ndarray):
        return [f"item {place}" for place in task.ids]
    return [text[:length] for text in transformations.standard(task.x)]
