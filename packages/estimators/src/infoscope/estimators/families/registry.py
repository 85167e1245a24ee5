"""Families by name, and objects of other libraries as families."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from infoscope.errors import InvalidInput, UnknownName
from infoscope.estimators.families.closed_form import Gaussian
from infoscope.estimators.families.local import NearestNeighbours
from infoscope.estimators.families.logistic import Logistic
from infoscope.estimators.families.protocol import CLASSES, Family
from infoscope.estimators.families.scikit import GradientBoosting, Sklearn, is_predictor


def _network() -> Family:
    # with torch, which takes seconds
    from infoscope.estimators.families.networks import Network

    return Network((64, 64), learning_rate=1e-3, patience=6)


FAMILIES: dict[str, Callable[[], Family]] = {
    "logistic": Logistic,
    "gaussian": Gaussian,
    "gradient-boosting": GradientBoosting,
    "mlp": _network,
    "knn": NearestNeighbours,
}


def as_family(family: Any) -> Family:
    """A family from a name in `FAMILIES`, a family, or an object of another library.

    scikit-learn   a classifier with predict_proba, a regressor, or a pipeline that ends in one: `Sklearn`
    transformers   a pair (model, tokenizer) or a text-classification pipeline: `transformers.TextClassifier`

    ValueError for anything else.
    """
    if isinstance(family, str) and family in FAMILIES:
        return FAMILIES[family]()
    if not isinstance(family, type):
        if isinstance(family, Family):
            return family
        if is_predictor(family):
            return Sklearn(family)
        if is_of_transformers(family):
            # imports transformers: seconds
            from infoscope.estimators.families.transformers import TextClassifier

            return TextClassifier.of(family)
    raise UnknownName(
        f"family must be one of {', '.join(FAMILIES)}, a scikit-learn classifier with "
        "predict_proba or regressor, a "
        "transformers text-classification pipeline or (model, tokenizer), or an "
        "object like "
        f"infoscope.estimators.families.Family, got {family!r}."
    )


def as_classifiers(family: Any) -> tuple[Family, ...]:
    """One or more families of classes.

    ValueError: no family, or a family that predicts numbers only.
    """
    members = family if is_several(family) else (family,)
    families = tuple(map(as_family, members))
    if not families or not all(CLASSES in member.outcomes for member in families):
        raise InvalidInput(
            f"family must be one or more that predict classes, got {family!r}."
        )
    return families


def is_several(family: Any) -> bool:
    """Whether it is a sequence of families, and not one."""
    return (
        isinstance(family, Sequence)
        and not isinstance(family, str)
        and not is_of_transformers(family)
    )


def is_of_transformers(family: Any) -> bool:
    """Whether the value is an object of transformers, or a pair of them.

    transformers is not imported for this check.
    """
    parts = family if isinstance(family, tuple) and len(family) == 2 else (family,)
    return all(_is_object_of_transformers(part) for part in parts)


def _is_object_of_transformers(part: Any) -> bool:
    return any(
        base.__module__.split(".")[0] == "transformers" for base in type(part).__mro__
    )
