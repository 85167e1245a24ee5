"""Families of scikit-learn's interface: any classifier or regressor, or a pipeline that ends in one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from infoscope.checks import require_int, require_number
from infoscope.errors import InvalidInput, OutOfRange
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.columns import as_matrix
from infoscope.estimators.families.distributions import Categorical, FlooredNormal, with_absent, without_input
from infoscope.estimators.families.protocol import CLASSES, NUMBERS, Predictor


@dataclass(frozen=True)
class Sklearn:
    """A scikit-learn classifier with predict_proba, or a regressor, cloned and fitted anew for every training set.

    Seeds of a `random_state` are drawn from the generator. A regressor predicts the mean of a normal distribution with
    the covariance of five-fold cross-validated residuals, mixed as in `local`. Without input, or with one class, class
    frequencies are used; a class that the training set lacks has probability 0.

    title  in results; None is scikit-learn's own description
    """

    estimator: Any
    title: str | None = None

    def __post_init__(self) -> None:
        if not is_predictor(self.estimator):
            raise InvalidInput(f"estimator must have predict_proba, or be a regressor, got {self.estimator!r}.")

    @property
    def outcomes(self) -> tuple[str, ...]:
        return (NUMBERS,) if is_regressor(self.estimator) else (CLASSES,)

    @property
    def name(self) -> str:
        return self.title or " ".join(repr(self.estimator).split())

    def fit(self, x: Any, y: np.ndarray, classes: int | None = None, groups: np.ndarray | None = None,
            generator: np.random.Generator | None = None) -> Predictor:  # fmt: skip
        if x is None:
            return without_input(y, classes)
        x, model = as_rows(x), clone(self.estimator)
        seeds = [name for name in model.get_params() if name.split("__")[-1] == "random_state"]
        if seeds:
            drawn = generator_or_default(generator).integers(2**31, size=len(seeds))
            model.set_params(**{name: int(seed) for name, seed in zip(seeds, drawn)})
        if classes is None:
            return self._fit_numbers(model, x, y, np.arange(len(y)) if groups is None else groups)
        present = np.unique(y)
        if len(present) == 1:  # most classifiers refuse a single class
            alone = without_input(y, classes).log_probabilities(None)
            return Categorical(
                lambda new: (
                    alone if new is None else alone.repeat(new.shape[0] if hasattr(new, "shape") else len(new), 0)
                )
            )
        model.fit(x, y)

        def predict(new: Any) -> np.ndarray:
            with np.errstate(divide="ignore"):
                found = np.log(np.asarray(model.predict_proba(as_rows(new)), dtype=np.float64))
            return with_absent(found, model.classes_, classes)

        return Categorical(predict)

    def _fit_numbers(self, model: Any, x: Any, y: np.ndarray, groups: np.ndarray) -> Predictor:
        targets = y[:, 0] if y.shape[1] == 1 else y
        count = len(np.unique(groups))
        if count < 2:
            raise OutOfRange(f"groups must be at least 2 in every training set of {self.name}, got 1.")
        folds = GroupKFold(min(5, count))
        held_out = cross_val_predict(model, x, targets, groups=groups, cv=folds).reshape(y.shape)
        model.fit(x, targets)

        def mean(new: Any) -> np.ndarray:
            return np.asarray(model.predict(as_rows(new)), dtype=np.float64).reshape(-1, y.shape[1])

        return FlooredNormal.around(mean, y, y - held_out)


def is_predictor(estimator: Any) -> bool:
    """Whether it is an estimator of scikit-learn's interface that predicts probabilities or numbers."""
    known = hasattr(estimator, "get_params") and not isinstance(estimator, type)
    return known and (hasattr(estimator, "predict_proba") or is_regressor(estimator))


def as_rows(x: Any) -> Any:
    """Numbers [n] as one column [n, 1]; anything else as it is."""
    return x[:, None] if isinstance(x, np.ndarray) and x.ndim == 1 and np.issubdtype(x.dtype, np.number) else x


@dataclass(frozen=True)
class GradientBoosting:
    """Gradient-boosted trees on histograms (Friedman 2001; scikit-learn), `rounds` trees (for each class or column).

    `components`: inputs of more columns are reduced to so many leading principal components.
    """

    rounds: int = 60
    leaves: int = 15
    learning_rate: float = 0.1
    components: int | None = None
    outcomes = (CLASSES, NUMBERS)

    def __post_init__(self) -> None:
        if self.components is not None:
            require_int("components", self.components)

    @property
    def name(self) -> str:
        few = "" if self.components is None else f", components={self.components}"
        return f"gradient-boosting(rounds={self.rounds}, leaves={self.leaves}, rate={self.learning_rate:g}{few})"

    def fit(self, x: Any, y: np.ndarray, classes: int | None = None, groups: np.ndarray | None = None,
            generator: np.random.Generator | None = None) -> Predictor:  # fmt: skip
        trees = HistGradientBoostingRegressor if classes is None else HistGradientBoostingClassifier
        settings = {"max_iter": self.rounds, "max_leaf_nodes": self.leaves, "learning_rate": self.learning_rate}
        x = None if x is None else as_matrix("x", x)
        model = trees(**settings, l2_regularization=1.0, early_stopping=False)
        if classes is None and y.shape[1] > 1:
            model = MultiOutputRegressor(model)
        if x is not None and self.components is not None and self.components < min(x.shape):
            wide = x.shape[1] > x.shape[0]  # a covariance of all columns would take hours of 25,000
            model = make_pipeline(PCA(self.components, svd_solver="full" if wide else "covariance_eigh"), model)
        return Sklearn(model, self.name).fit(x, y, classes, groups, generator)


WORDS = {"sublinear_tf": True, "token_pattern": r"\b\w+\b", "dtype": np.float64}  # of TF-IDF weights


def columns_logistic(frame: pd.DataFrame, penalty: float = 1.0) -> Sklearn:
    """Logistic regression on the columns of a data frame, as a family over its rows; penalty as in `Logistic`.

    Columns of texts become TF-IDF weights of their words, numbers are standardised.
    """
    require_number("penalty", penalty, ends=False)
    numbers = frame.select_dtypes(include=["number", "bool"]).columns.tolist()
    parts = [(str(name), TfidfVectorizer(**WORDS), name) for name in frame if name not in numbers]
    texts = "logistic regression on TF-IDF" if parts else "logistic regression"
    if numbers:
        parts.append(("numbers", StandardScaler(), numbers))
    steps = [("columns", ColumnTransformer(parts)), ("classifier", LogisticRegression(C=1.0 / penalty, max_iter=1000))]
    return Sklearn(Pipeline(steps), f"{texts} (penalty {penalty:g})")


def tfidf_logistic(penalty: float = 1.0, ngrams: int = 1, least_documents: int = 2) -> Sklearn:
    """Logistic regression on TF-IDF weights (norm 1) of word n-grams up to a length, as a family over texts.

    The vocabulary is of n-grams in at least `least_documents` training texts; penalty as in `Logistic`.
    """
    require_number("penalty", penalty, ends=False)
    words = TfidfVectorizer(ngram_range=(1, ngrams), min_df=least_documents, **WORDS)
    steps = [("words", words), ("classifier", LogisticRegression(C=1.0 / penalty, max_iter=1000))]
    return Sklearn(Pipeline(steps), f"tfidf-logistic(penalty={penalty:g}, ngrams={ngrams})")
