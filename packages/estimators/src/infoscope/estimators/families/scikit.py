"""Families from any scikit-learn classifier, regressor, or pipeline that ends in one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
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
from infoscope.estimators.families.distributions import (
    Categorical,
    FlooredNormal,
    with_absent,
    without_input,
)
from infoscope.estimators.families.protocol import CLASSES, NUMBERS, Predictor


@dataclass(frozen=True)
class Sklearn:
    """A scikit-learn classifier with predict_proba, or a regressor.

    It is cloned and fitted for every training set.

    Seeds of a `random_state` are drawn from the generator. A regressor predicts the
    mean of a normal distribution with the covariance of five-fold cross-validated
    residuals, mixed as in `local`. Without input, or with one class, class frequencies
    are used. A class that the training set lacks has probability 0.

    title  in results; None is scikit-learn's own description
    """

    estimator: Any
    title: str | None = None

    def __post_init__(self) -> None:
        if not is_predictor(self.estimator):
            raise InvalidInput(
                "estimator must have predict_proba, or be a regressor, got "
                f"{self.estimator!r}."
            )

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
        x = as_rows(x)
        model: Any = clone(self.estimator)
        seed_names = [
            name
            for name in model.get_params()
            if name.split("__")[-1] == "random_state"
        ]
        if seed_names:
            seeds = generator_or_default(generator).integers(
                2**31, size=len(seed_names)
            )
            model.set_params(**dict(zip(seed_names, seeds.tolist())))
        if classes is None:
            return self._fit_numbers(
                model, x, y, np.arange(len(y)) if groups is None else groups
            )
        if len(np.unique(y)) == 1:  # most classifiers refuse a single class
            return _same_for_all(without_input(y, classes).log_probabilities(None))
        model.fit(x, y)

        def predict(new: Any) -> np.ndarray:
            probabilities = np.asarray(
                model.predict_proba(as_rows(new)), dtype=np.float64
            )
            with np.errstate(divide="ignore"):
                logs = np.log(probabilities)
            return with_absent(logs, model.classes_, classes)

        return Categorical(predict)

    def _fit_numbers(
        self, model: Any, x: Any, y: np.ndarray, groups: np.ndarray
    ) -> Predictor:
        targets = y[:, 0] if y.shape[1] == 1 else y
        count = len(np.unique(groups))
        if count < 2:
            raise OutOfRange(
                f"groups must be at least 2 in every training set of {self.name}, got "
                "1."
            )
        folds = GroupKFold(min(5, count))
        held_out: Any = cross_val_predict(model, x, targets, groups=groups, cv=folds)
        model.fit(x, targets)

        def mean(new: Any) -> np.ndarray:
            return np.asarray(model.predict(as_rows(new)), dtype=np.float64).reshape(
                -1, y.shape[1]
            )

        return FlooredNormal.around(mean, y, y - held_out.reshape(y.shape))


def _same_for_all(logs: np.ndarray) -> Categorical:
    """The distribution that gives every item the log probabilities [1, classes]."""

    def predict(new: Any) -> np.ndarray:
        if new is None:
            return logs
        items = new.shape[0] if hasattr(new, "shape") else len(new)
        return logs.repeat(items, 0)

    return Categorical(predict)


def is_predictor(estimator: Any) -> bool:
    """Whether the value is a scikit-learn estimator of probabilities or numbers."""
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        return False
    return hasattr(estimator, "predict_proba") or is_regressor(estimator)


def as_rows(x: Any) -> Any:
    """Numbers [n] as one column [n, 1]; anything else as it is."""
    is_column = (
        isinstance(x, np.ndarray) and x.ndim == 1 and np.issubdtype(x.dtype, np.number)
    )
    return x[:, None] if is_column else x


@dataclass(frozen=True)
class GradientBoosting:
    """Gradient-boosted trees on histograms (Friedman 2001; scikit-learn).

    There are `rounds` trees for each class or column.

    `components`: inputs of more columns are reduced to so many leading principal
    components.
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
        components = (
            "" if self.components is None else f", components={self.components}"
        )
        return (
            f"gradient-boosting(rounds={self.rounds}, leaves={self.leaves}, "
            f"rate={self.learning_rate:g}{components})"
        )

    def fit(self, x: Any, y: np.ndarray, classes: int | None = None, groups: np.ndarray | None = None,
            generator: np.random.Generator | None = None) -> Predictor:  # fmt: skip
        if x is None:
            return without_input(y, classes)
        x = as_matrix("x", x)
        trees: Any = (
            HistGradientBoostingRegressor
            if classes is None
            else HistGradientBoostingClassifier
        )
        model = trees(
            max_iter=self.rounds, max_leaf_nodes=self.leaves, learning_rate=self.learning_rate,
            l2_regularization=1.0, early_stopping=False,
        )  # fmt: skip
        if classes is None and y.shape[1] > 1:
            model = MultiOutputRegressor(model)
        if self.components is not None and self.components < min(x.shape):
            n, columns = x.shape
            # a covariance of 25,000 columns would take hours
            solver = "full" if columns > n else "covariance_eigh"
            model = make_pipeline(PCA(self.components, svd_solver=solver), model)
        return Sklearn(model, self.name).fit(x, y, classes, groups, generator)


# settings of TF-IDF weights
WORDS = {"sublinear_tf": True, "token_pattern": r"\b\w+\b", "dtype": np.float64}


def columns_logistic(frame: pd.DataFrame, penalty: float = 1.0) -> Sklearn:
    """Logistic regression on the columns of a data frame, as a family over rows.

    The penalty is as in `Logistic`.

    Columns of texts become TF-IDF weights of their words, numbers are standardised.
    """
    require_number("penalty", penalty, ends=False)
    numbers = frame.select_dtypes(include=["number", "bool"]).columns.tolist()
    parts: list[tuple[str, Any, Any]] = [
        (str(name), TfidfVectorizer(**WORDS), name)
        for name in frame
        if name not in numbers
    ]
    title = "logistic regression on TF-IDF" if parts else "logistic regression"
    if numbers:
        parts.append(("numbers", StandardScaler(), numbers))
    classifier = LogisticRegression(C=1.0 / penalty, max_iter=1000)
    pipeline = Pipeline(
        [("columns", ColumnTransformer(parts)), ("classifier", classifier)]
    )
    return Sklearn(pipeline, f"{title} (penalty {penalty:g})")


def tfidf_logistic(
    penalty: float = 1.0, ngrams: int = 1, least_documents: int = 2
) -> Sklearn:
    """Logistic regression on TF-IDF weights (norm 1) of word n-grams.

    It is a family over texts.

    The vocabulary consists of n-grams in at least `least_documents` training texts;
    penalty as in `Logistic`.
    """
    require_number("penalty", penalty, ends=False)
    words = TfidfVectorizer(ngram_range=(1, ngrams), min_df=least_documents, **WORDS)
    classifier = LogisticRegression(C=1.0 / penalty, max_iter=1000)
    pipeline = Pipeline([("words", words), ("classifier", classifier)])
    return Sklearn(pipeline, f"tfidf-logistic(penalty={penalty:g}, ngrams={ngrams})")
