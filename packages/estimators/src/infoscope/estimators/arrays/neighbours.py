"""The nearest-neighbour estimators of `knn` on pairs.

They use all columns, or principal components.

Intervals are of sampling error only, by half-samples. `estimate(x, y)` without a method
gives one for the true value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from infoscope.estimators import uncertainty
from infoscope.estimators.arrays.fitting import Preparation
from infoscope.estimators.arrays.protocol import ANY, NUMBERS, Described
from infoscope.estimators.knn import estimators as knn
from infoscope.estimators.pairs import Pairs
from infoscope.estimators.result import Estimate
from infoscope.estimators.scales import with_repeated_values, within_steps
from infoscope.estimators.variables import Variable
from infoscope.notes import Note

_COMPONENTS = Note(
    "The interval is for the leading components; what the other components share is "
    "not included.",
    "components",
)
_TOO_FEW = Note(
    "Too few rows, groups, or rows of a class for half-samples: the standard error "
    "takes the neighbours as fixed and "
    "may be a quarter too small.",
    "few half-samples",
)
_HALF_SAMPLES = 40
_ROWS_OF_HALF_SAMPLES = 1_000  # at most, that half-samples are drawn from


@dataclass(frozen=True)
class Ksg(Described):
    """KSG 1 of numbers, Ross' estimator with one discrete variable (`knn`).

    Mixed variables are stratified.
    """

    k: int = 5
    margins: str = "auto"

    name: ClassVar[str] = "ksg"
    takes: ClassVar[str] = ANY
    use: ClassVar[str] = "one number per row or few, many rows; numbers against labels"
    cost: ClassVar[str] = "n log n in few columns, n² in many; 0.5 s"
    source: ClassVar[str] = (
        "Kraskov et al. 2004, eq. 8; Ross 2014; Mesner & Shalizi 2019 for ties"
    )
    form: ClassVar[str] = "ksg1"

    def estimate(self, pairs: Pairs, generator: np.random.Generator) -> Estimate:
        self.require(pairs)
        if pairs.x.dim and pairs.y.dim and self.form == "ksg1":
            pairs = replace(
                pairs, x=with_repeated_values(pairs.x), y=with_repeated_values(pairs.y)
            )
        draws, notes = _with_noise_in_steps(pairs, generator)
        estimates = []
        for draw in draws:
            estimate = knn.mutual_information(
                draw.x,
                draw.y,
                self.k,
                method=self.form,
                margins=self.margins,
                groups=draw.groups,
                local=True,
            )
            estimates.append(estimate)
        mean = estimates[0] if len(estimates) == 1 else _mean_of_draws(estimates, notes)
        return with_half_samples(mean, draws[0], generator, self.k, self.margins)


def _with_noise_in_steps(
    pairs: Pairs, generator: np.random.Generator, count: int = 5
) -> tuple[list[Pairs], tuple[str, ...]]:
    """The pairs, or several draws with noise, and notes.

    If only one variable is rounded, noise is added within its steps.
    """
    if not (pairs.x.dim and pairs.y.dim):
        return [pairs], ()
    coarse = knn.rounded_variables({"x": pairs.x, "y": pairs.y})
    if not coarse:
        return [pairs], ()
    draws = []
    for _ in range(count):
        noisy = {name: within_steps(getattr(pairs, name), generator) for name in coarse}
        draws.append(replace(pairs, **noisy))
    # ties that are no rounding
    if knn.rounded_variables({"x": draws[0].x, "y": draws[0].y}):
        return [pairs], ()
    sentence = (
        f"Only the values of {coarse[0]} are rounded: ties are broken by uniform noise "
        f"within a step (the mean of {count} draws), which changes no information."
    )
    return draws, (Note(sentence, "rounded values", coarse[0]),)


def _mean_of_draws(each: list[Estimate], notes: tuple[str, ...]) -> Estimate:
    """The mean of estimates with different noise.

    Its error is the error of one estimate, which includes the noise.
    """
    local = np.mean([estimate.local for estimate in each], axis=0)
    least_certain = max(each, key=lambda estimate: estimate.standard_error)
    shared: dict[str, None] = {}
    for estimate in each:
        shared |= dict.fromkeys(estimate.notes)
    return replace(
        least_certain, value=float(np.mean(each)), local=local, notes=(*shared, *notes)
    )


@dataclass(frozen=True)
class Ksg2(Ksg):
    """KSG 2: rectangles instead of squares. Settings as in `Ksg`."""

    name: ClassVar[str] = "ksg-2"
    takes: ClassVar[str] = NUMBERS
    use: ClassVar[str] = "as ksg, several numbers per row: less bias, more scatter"
    source: ClassVar[str] = "Kraskov et al. 2004, eq. 9"
    form: ClassVar[str] = "ksg2"


@dataclass(frozen=True)
class ReducedKsg(Described):
    """KSG on leading principal components of x and of y, all on one scale.

    The components of a variable are computed without the other variable.

    components  of each; None: as many as hold `variance` (a share), at most `most`
    margins     scaled, rank, given or auto (`Preparation.fit`) before the rotation; given suits columns of one unit
    k           neighbours
    """

    components: int | None = None
    margins: str = "scaled"
    k: int = 5
    variance: float = 0.95
    most: int = 8

    name: ClassVar[str] = "reduced-ksg"
    takes: ClassVar[str] = ANY
    use: ClassVar[str] = "many columns that vary together, such as pixels or spectra"
    cost: ClassVar[str] = "n² in at most 8 columns; 1 s"
    source: ClassVar[str] = "Kraskov et al. 2004, eq. 8, after principal components"

    def estimate(self, pairs: Pairs, generator: np.random.Generator) -> Estimate:
        self.require(pairs)
        x, y = self._reduced(pairs.x), self._reduced(pairs.y)
        reduced = Pairs(x, y, pairs.groups)
        estimate = knn.mutual_information(
            x, y, self.k, margins="given", groups=pairs.groups, local=True
        )
        estimate = with_half_samples(estimate, reduced, generator, self.k, "given")
        notes = estimate.notes
        if x.dim + y.dim < pairs.x.dim + pairs.y.dim:
            notes = (*notes, _COMPONENTS)
        return replace(
            estimate,
            n=pairs.n,
            method="KSG 1 on principal components",
            settings=f"{x.dim} and {y.dim} components, k = {self.k}",
            notes=notes,
        )

    def _reduced(self, variable: Variable) -> Variable:
        """The variable with leading components in place of its numbers.

        Its categories are unchanged.
        """
        columns = np.ascontiguousarray(self._columns(variable))
        return replace(variable, continuous=columns, notes=())

    def _columns(self, variable: Variable) -> NDArray[np.float64]:
        """The leading components [n, p] of the numbers of one variable."""
        if not variable.dim:
            return np.empty((variable.n, 0))
        numbers = replace(variable, codes=None, categories=1)
        count = self.components or variable.dim
        columns = Preparation.fit(numbers, slice(None), self.margins, count)(numbers)
        if self.components is None:
            variances = np.cumsum(columns.var(axis=0))
            wanted = self.variance * variances[-1]
            count = 1 + int(np.searchsorted(variances, wanted))
            columns = columns[:, : min(count, self.most)]
        return columns / columns.std(axis=0).max()


def with_half_samples(
    estimate: Estimate,
    pairs: Pairs,
    generator: np.random.Generator,
    k: int,
    margins: str,
) -> Estimate:
    """The estimate with a standard error that is at least the error of KSG.

    KSG's error is from half-samples of at most 1,000 rows.

    Groups stay whole. Not for categories alone.
    """
    if not (pairs.x.dim or pairs.y.dim):
        return estimate
    sample = pairs
    if pairs.n > _ROWS_OF_HALF_SAMPLES:
        places = generator.permutation(int(pairs.units.max()) + 1)[pairs.units]
        first = np.argsort(places, kind="stable")[:_ROWS_OF_HALF_SAMPLES]
        sample = pairs.take(np.sort(first))
    try:
        halves = uncertainty.subsample(
            sample.x,
            sample.y,
            None,
            k,
            _HALF_SAMPLES,
            sample.groups,
            generator,
            margins,
        )
    except ValueError:
        return replace(estimate, notes=(*estimate.notes, _TOO_FEW))
    error_of_sample = estimate.standard_error * sqrt(pairs.n / sample.n)
    if not error_of_sample > 0:
        return estimate
    ratio = max(1.0, float(halves.standard_error) / error_of_sample)
    influence = estimate.influence
    if influence is not None:
        influence = ratio * influence
    return replace(
        estimate,
        standard_error=ratio * estimate.standard_error,
        degrees=min(estimate.degrees, halves.degrees),
        influence=influence,
    )


METHODS: tuple[Described, ...] = (Ksg(), Ksg2(), ReducedKsg())
