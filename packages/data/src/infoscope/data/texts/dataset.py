"""Labelled texts, for the training of text encoders and the difficulty of data sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from infoscope.errors import InvalidInput, OutOfRange, WrongLength, WrongShape


@dataclass(frozen=True, eq=False)
class LabelledTexts:
    """Texts, or pairs of texts, each of one class.

    Parameters
    ----------
    texts : sequence of str, or of pairs of str
        n texts, all single or all pairs.
    labels : torch.Tensor
        int64 [n] in 0..len(classes)-1.
    classes : tuple of str
        Names of the classes.
    name : str
        Recorded by runs.
    split : str
        Part of the original data set.
    ids : sequence of str, optional
        The ids of the items in the original; by default their place.
    synthetic : bool
        Marks generated items.

    Raises
    ------
    WrongLength, OutOfRange, InvalidInput
        If lengths differ, there is no item, a label has no class, or texts are a
        mixture.

    Examples
    --------
    >>> texts = LabelledTexts(["good", "bad"], torch.tensor([1, 0]), ("negative", "positive"), "example")
    >>> texts.label_names
    ['positive', 'negative']
    """

    texts: Sequence[str] | Sequence[tuple[str, str]]
    labels: torch.Tensor
    classes: tuple[str, ...]
    name: str
    split: str = ""
    ids: Sequence[str] | None = field(default=None, repr=False)
    synthetic: bool = False

    def __post_init__(self) -> None:
        n = len(self.texts)
        if self.labels.dtype != torch.int64 or self.labels.shape != (n,) or n == 0:
            got = f"{self.labels.dtype} {list(self.labels.shape)}"
            raise WrongLength(
                f"labels must be torch.int64 [{n}], one or more, got {got}."
            )
        labels = self.labels.unique().tolist()
        if not set(labels) <= set(range(len(self.classes))):
            raise OutOfRange(
                f"labels must be from 0 to {len(self.classes) - 1}, one of "
                f"{self.classes}, got {labels}."
            )
        ids = self.ids
        if ids is None:
            ids = [str(place) for place in range(n)]
            object.__setattr__(self, "ids", ids)
        if len(ids) != n:
            raise WrongLength(
                f"ids must be one for each of the {n} texts, got {len(ids)}."
            )
        single = all(isinstance(text, str) for text in self.texts)
        if not single and not all(map(_is_pair, self.texts)):
            raise InvalidInput(
                "texts must be all strings or all pairs of strings, got a mixture or "
                "something else."
            )

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def of_pairs(self) -> bool:
        """Whether every item is a premise and a hypothesis."""
        return not isinstance(self.texts[0], str)

    @property
    def premises(self) -> list[str]:
        """The first text of every pair; InvalidInput for single texts."""
        return self._side(0)

    @property
    def hypotheses(self) -> list[str]:
        """The second text of every pair; InvalidInput for single texts."""
        return self._side(1)

    @property
    def label_names(self) -> list[str]:
        """The name of every item's class."""
        return [self.classes[label] for label in self.labels.tolist()]

    @property
    def groups(self) -> np.ndarray:
        """Group codes int64 [n]: items of one text, or of one premise, are dependent."""
        texts = self.premises if self.of_pairs else list(self.texts)
        _, codes = np.unique(texts, return_inverse=True)
        return codes

    def take(self, rows: Sequence[int] | torch.Tensor | np.ndarray) -> LabelledTexts:
        """Some of the items.

        Parameters
        ----------
        rows : sequence of int, torch.Tensor or numpy.ndarray
            Integers, in the order wanted, or a mask bool [n].

        Returns
        -------
        LabelledTexts
            The items at these rows.

        Raises
        ------
        WrongShape
            If a mask has another length.
        """
        chosen = np.asarray(rows)
        if chosen.dtype == bool and chosen.shape != (len(self),):
            raise WrongShape(
                f"rows must be a mask of length {len(self)}, got shape "
                f"{list(chosen.shape)}."
            )
        if chosen.dtype == bool:
            chosen = np.flatnonzero(chosen)
        places = chosen.tolist()
        ids = self.ids or ()
        return replace(
            self,
            texts=[self.texts[place] for place in places],
            labels=self.labels[torch.tensor(places, dtype=torch.int64)],
            ids=[ids[place] for place in places],
        )

    def _side(self, place: int) -> list[str]:
        """One text of every pair."""
        if not self.of_pairs:
            raise InvalidInput(f"texts must be pairs, got single texts in {self.name}.")
        return [pair[place] for pair in self.texts]


def _is_pair(text: object) -> bool:
    return (
        isinstance(text, tuple)
        and len(text) == 2
        and all(isinstance(part, str) for part in text)
    )
