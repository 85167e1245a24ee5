"""Families by others: any probabilistic classifier of scikit-learn's interface, and the estimators' own classifiers.

Without an input the best member is taken to be the class frequencies, which each of them can state of a constant input.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.families import classifiers
from infoscope.estimators.families.protocol import CLASSES, Features, Posterior, as_matrix, frequencies, needed


@dataclass(frozen=True)
class Sklearn:
    """A scikit-learn classifier (or pipeline) with predict_proba, cloned and fitted anew for every training set.

    Its inputs are whatever it takes: arrays, lists of texts. The seed of one with a `random_state` is drawn from the
    generator. title names it in results; None is scikit-learn's own description.
    """

    estimator: BaseEstimator
    title: str | None = None
    outcomes = (CLASSES,)

    def __post_init__(self) -> None:
        if not hasattr(self.estimator, "predict_proba"):
            raise ValueError(f"estimator must have predict_proba, got {self.estimator!r}.")

    @property
    def name(self) -> str:
        return self.title or " ".join(repr(self.estimator).split())

    def fit(self, x: Any, y: np.ndarray, classes: int | None = None, groups: Any = None, generator: Any = None):
        if x is None:
            return frequencies(y, classes)
        model = clone(self.estimator)
        seeds = [name for name in model.get_params() if name.split("__")[-1] == "random_state"]
        if seeds:
            drawn = generator_or_default(generator).integers(2**31, size=len(seeds))
            model.set_params(**{name: int(seed) for name, seed in zip(seeds, drawn)})
        model.fit(x, y)

        def predict(new: Any) -> np.ndarray:
            with np.errstate(divide="ignore"):
                found = np.log(np.asarray(model.predict_proba(new), dtype=np.float64))
            return spread(found, model.classes_, needed(classes))

        return Posterior(predict)


def tfidf_logistic(penalty: float = 1.0, ngrams: int = 1, least_documents: int = 2) -> Sklearn:
    """Logistic regression on TF-IDF weights of word n-grams up to a length, as a family over texts.

    Its vocabulary is that of the training texts only: n-grams in at least `least_documents` of them, of words of any
    length ("I", "a"), in lower case and without punctuation. penalty as in `Logistic`, on the TF-IDF weights as they
    are (rows of norm 1).
    """
    if not penalty > 0.0:
        raise ValueError(f"penalty must be positive, got {penalty!r}.")
    words = TfidfVectorizer(
        ngram_range=(1, ngrams),
        min_df=least_documents,
        sublinear_tf=True,
        token_pattern=r"\b\w+\b",
        dtype=np.float64,
    )
    steps = [("words", words), ("classifier", LogisticRegression(C=1.0 / penalty, max_iter=1000))]
    return Sklearn(Pipeline(steps), f"tfidf-logistic(penalty={penalty:g}, ngrams={ngrams})")


@dataclass(frozen=True)
class Standardised:
    """A classifier of `infoscope.estimators.families.classifiers` on standardised inputs, such as gradient boosting."""

    family: classifiers.Family
    outcomes = (CLASSES,)

    @property
    def name(self) -> str:
        return self.family.name

    def fit(
        self,
        x: Any | None,
        y: np.ndarray,
        classes: int | None = None,
        groups: np.ndarray | None = None,
        generator: np.random.Generator | None = None,
    ) -> Posterior:
        if x is None:
            return frequencies(y, classes)
        inputs = as_matrix("x", x)
        features = Features.of(inputs, 1)
        present, codes = np.unique(y, return_inverse=True)
        groups = np.arange(len(y)) if groups is None else groups
        predict = self.family.fit(features(inputs), codes, groups, generator_or_default(generator))
        return Posterior(lambda new: spread(predict(features(new)), present, needed(classes)))


def spread(logs: np.ndarray, present: np.ndarray, classes: int) -> np.ndarray:
    """Log probabilities [n, present] as [n, classes]: -inf for classes that were not in the training set."""
    whole = np.full((len(logs), classes), -np.inf)
    whole[:, present] = logs
    return whole
