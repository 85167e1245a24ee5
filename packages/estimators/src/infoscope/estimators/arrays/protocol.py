"""Protocol of estimators on two arrays (`Described`).

A method is any object with a `name` and `estimate(pairs, generator)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from infoscope.checks import nearest, require_int
from infoscope.errors import UnknownName, WrongType
from infoscope.estimators.pairs import Pairs
from infoscope.estimators.result import Estimate

NUMBERS = "numbers"  # in x and in y
CATEGORIES = "categories"  # in x and in y
LABELS = "labels"  # x or y of categories alone, anything in the other
# numbers against numbers, or against categories alone
NUMBERS_OR_LABELS = "numbers or labels"
ANY = "anything"
TAKES = {
    NUMBERS: "numbers in x and in y",
    NUMBERS_OR_LABELS: "numbers in x and y, or categories in one of them",
    CATEGORIES: "categories in x and in y",
    LABELS: "categories in x or in y",
    ANY: "numbers, categories or both in x and in y",
}


@runtime_checkable
class Method(Protocol):
    """An estimator of the mutual information of pairs."""

    @property
    def name(self) -> str:
        """Its name in results."""
        ...

    def estimate(self, pairs: Pairs, generator: np.random.Generator) -> Estimate:
        """I(x; y), nats, with its error.

        ValueError, in one sentence: the method does not apply to these pairs.
        """
        ...


def takes_kinds(takes: str, x: str, y: str) -> bool:
    """Whether a method takes variables of these kinds (`Variable.kind`).

    `takes` is one of `TAKES`.
    """
    kinds = [x, y]
    return {
        NUMBERS: kinds == ["continuous"] * 2,
        CATEGORIES: kinds == ["discrete"] * 2,
        NUMBERS_OR_LABELS: "continuous" in kinds and "mixed" not in kinds,
        LABELS: "discrete" in kinds,
        ANY: True,
    }[takes]


@dataclass(frozen=True)
class Described:
    """Base of infoscope's methods: frozen settings and an entry in the list of methods.

    takes   one of TAKES
    use     for what columns and how many rows, one phrase
    cost    growth of time, and seconds at n = 5,000 with 20 + 20 columns
    least   smallest values of settings that are whole numbers; 1 by default
    """

    name: ClassVar[str]
    takes: ClassVar[str]
    use: ClassVar[str]
    cost: ClassVar[str]
    source: ClassVar[str]
    least: ClassVar[Mapping[str, int]] = {}

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type == "int" or (
                field.type == "int | None" and value is not None
            ):
                require_int(field.name, value, self.least.get(field.name, 1))

    def with_settings(self, settings: Mapping[str, Any]) -> Self:
        """The method with some settings changed. ValueError for an unknown setting."""
        names = [field.name for field in fields(self)]
        for name in settings:
            if name not in names:
                start = (
                    f"{self.name} must be given settings among "
                    f"{', '.join(names) or 'none'}, got {name!r}"
                )
                raise UnknownName(f"{start}{nearest(name, names)}")
        return replace(self, **settings)

    def require(self, pairs: Pairs) -> None:
        """Raises ValueError if the method does not accept pairs of these types."""
        kinds = pairs.x.kind, pairs.y.kind
        if not takes_kinds(self.takes, *kinds):
            raise WrongType(
                f"method must fit the types of x and y: {self.name} takes "
                f"{TAKES[self.takes]}, "
                f"got a {kinds[0]} x and a {kinds[1]} y; methods() lists what each "
                "takes."
            )
