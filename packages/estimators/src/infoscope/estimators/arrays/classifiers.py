"""Information about a label that a predictive family can use of the other variable."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from infoscope.estimators.arrays.protocol import LABELS, Described
from infoscope.estimators.pairs import Pairs
from infoscope.estimators.result import Estimate


@dataclass(frozen=True)
class Classifier(Described):
    """V-information about a label: entropy of frequencies less calibrated held-out loss.

    The label is the variable of categories only; y if both variables are. TooFew: a
    class in fewer than two rows or groups.

    family  a name in `families.FAMILIES`, or what `families.as_family` takes; of several, calibration chooses by fold
    folds   at least 3; the calibration needs folds (folds + 1) / 2 fits
    """

    family: Any = "logistic"
    folds: int = 5

    name: ClassVar[str] = "classifier"
    takes: ClassVar[str] = LABELS
    use: ClassVar[str] = (
        "labels of few classes with many rows each, against many columns"
    )
    cost: ClassVar[str] = "15 fits; 1 s"
    source: ClassVar[str] = "Xu et al. 2020, definition 2"

    def estimate(self, pairs: Pairs, generator: np.random.Generator) -> Estimate:
        """V-information about the label, nats."""
        # imports scikit-learn, which takes a second
        from infoscope.estimators.classifier import cross_fit

        self.require(pairs)
        label, other = pairs.x, pairs.y
        if pairs.y.kind == "discrete":
            label, other = pairs.y, pairs.x
        inputs = {"z": other.as_numbers()}
        labels = {"label": label.strata}
        fits = cross_fit(
            inputs, labels, pairs.groups, self.family, self.folds, generator=generator
        )
        information = fits.information("z", "label")
        return replace(information, method=f"V-information of {fits.family}")


METHODS: tuple[Described, ...] = (Classifier(),)
