"""Every disentanglement score of one representation in one table, and the Gaussian decomposition next to the bounds."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from infoscope.errors import UnknownName
from infoscope.estimators.alignment import aligns
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.column_types import as_variable
from infoscope.estimators.columns import Discrete
from infoscope.estimators.result import BITS, NATS, Estimate, undefined
from infoscope.estimators.variables import Variable, join
from infoscope.metrics import pid
from infoscope.metrics.disentanglement.measuring import Inputs, measure_scores, streams_of, titled
from infoscope.metrics.disentanglement.registry import SCORES, TERMS
from infoscope.metrics.factor_information.arrays import from_arrays
from infoscope.metrics.factor_information.inputs import as_factors, random_items
from infoscope.metrics.factor_information.result import OF_ENTROPY, FactorInformation
from infoscope.metrics.report import listed, row

if TYPE_CHECKING:
    from infoscope.metrics.factor_information import exact

HEADLINES = {  # beginning of a title -> the finding
    "MIG (": "The best latent of a factor carries {} of H(factor) more than the second best (MIG, 95 %: {}).",
    "SAP": "The best latent of a factor predicts it better than the second best by {} (SAP, 95 %: {}).",
    "DCI disentanglement": "Latents are about one factor each to a share of {} (DCI disentanglement, 95 %: {}).",
}
PROGRESS_SECONDS = 3.0  # seconds between lines of progress


class Scores(pd.DataFrame):
    """The table of `report`. Printed, it begins with the finding and fits into 80 columns."""

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    @property
    def finding(self) -> str:
        """The first score of `HEADLINES` that has a value, in a sentence with its 95 % interval."""
        for start, sentence in HEADLINES.items():
            chosen = self[self["score"].str.startswith(start) & self["value"].notna()]
            if len(chosen):
                first = chosen.iloc[0]
                return sentence.format(f"{first['value']:z.2f}", f"{first['low']:z.2f} to {first['high']:z.2f}")
        return "No score has a value: the notes give the reasons."

    def __repr__(self) -> str:
        lines = []
        for line in self.to_dict("records"):
            unit = " bits" if line["unit"] == BITS else ""
            text = "none"
            if math.isfinite(line["value"]):
                text = f"{line['value']:z.3f}{unit} ({line['low']:z.3f} to {line['high']:z.3f})"
            lines.append({"score": line["score"], "value (95 %)": text, "better": line["better"]})
        table = pd.DataFrame(lines).to_string(index=False, max_colwidth=44)
        notes = self[self["notes"] != ""].groupby("notes", sort=False)["score"]
        return "\n".join([self.finding, table, *(f"{listed(scores, 2)}: {note}" for note, scores in notes)])


@aligns("representation", "factors")
def report(
    representation: Any,
    factors: ArrayLike,
    measured: exact.Measured | FactorInformation | None = None,
    method: str = "classifier",
    draws: int = 10_000,
    items: int | None = 10_000,
    categorical: Sequence[int] = (),
    generator: np.random.Generator | None = None,
    progress: Callable[[float, str], None] | bool = True,
    gaussian: bool = False,
    extra: Sequence[str] = (),
) -> Scores:
    """One row for every score of SCORES but the extra ones: score, better (which values are the more disentangled),
    value, standard_error, low, high (95 %), unit, n, method, notes.

    representation  a posterior or an array [N, L]. Of a posterior, "uni-bound" takes draws; "disentanglement-lib", the
                    discretised MIG, SAP and DCI take means, which omit noise; MIG, UniBound and the bounds are exact
    factors         [N, K], K >= 2, as `inputs.as_factors` takes them
    measured        the information, if known; None: `exact.measure` with `draws`, or `from_arrays` by `method`
    items           random items for the scores of arrays other than BetaVAE and FactorVAE; None: all
    categorical     numbers of an array's latents that are categories
    progress        called with the share done and what was done last; True: a line on standard error
    gaussian        three more rows, the terms of `pid.gaussian_from_arrays` at one latent
    extra           keys of slow scores

    Bounds "as published" are maximised over latents one by one; "at one latent" are those of the most informative
    latent, and add up. A score that cannot be computed is nan, with a note. ValueError: shapes that do not fit, values
    that are not finite, a factor of one value, fewer than two factors, unknown names.
    """
    longer = {key: spec for key, spec in SCORES.items() if spec.extra}
    if not set(extra) <= set(longer):
        raise UnknownName(f"extra must be some of {', '.join(longer)}, got {list(extra)}.")
    tell = Line() if progress is True else progress or (lambda share, what: None)
    generator = generator_or_default(generator)
    inputs = Inputs(
        representation=representation, factors=factors, draws=draws,
        stream=streams_of(generator),
        items=items, categorical=categorical, from_arrays=partial(from_arrays, method=method), measured=measured,
    )  # fmt: skip
    specs = [spec for key, spec in SCORES.items() if not spec.extra or key in extra]
    found = measure_scores(inputs, specs, tell)
    rows = [
        {"score": titled(SCORES[key], inputs), "better": SCORES[key].better}
        | row(score.bits if score.unit == NATS else score)
        for key, score in found.items()
    ]
    if gaussian:
        for term, value in decomposed(inputs).items():
            rows.append({"score": f"{term} (gaussian, at one latent)", "better": TERMS[term]} | row(value))
    return Scores(rows)


class Line:
    """Progress on standard error: a line every few seconds, none of what is short."""

    def __init__(self) -> None:
        self.began = self.told = time.monotonic()

    def __call__(self, share: float, what: str) -> None:
        now = time.monotonic()
        if share < 1.0 and now - self.told >= PROGRESS_SECONDS:
            self.told = now
            print(f"disentanglement: {share:.0%}, {what}, {now - self.began:.0f} s", file=sys.stderr, flush=True)


def decomposed(inputs: Inputs) -> dict[str, Estimate]:
    """Unique, redundant and synergistic by `pid.gaussian_from_arrays`, means over factors, shares of H(y).

    Sources are the latent with most information about a factor and all others; factors are taken as numbers. Terms
    outside of the bounds are noted; what the definition does not allow is nan.
    """
    information, codes = inputs.information, as_factors(inputs.factors).codes
    generator = inputs.stream("decomposition")
    rows = random_items(len(codes), inputs.items, generator)
    z = inputs.representation.draw(rows, generator) if inputs.has_density else inputs.codes[rows]
    shares: dict[str, list[Estimate]] = {term: [] for term in TERMS}
    for y, latent, entropy in zip(codes[rows].T, information.best_latent(), information.entropy):
        best = _typed(z, np.array([latent]), inputs.categorical)
        rest = _typed(z, np.delete(np.arange(z.shape[1]), latent), inputs.categorical)
        try:
            terms = pid.gaussian_from_arrays(best, rest, _numbers(y[:, None]))
        except ValueError as error:
            return {term: undefined(str(error), OF_ENTROPY, len(rows)) for term in TERMS}
        for term, value in zip(TERMS, (terms.unique_a, terms.redundant, terms.synergistic)):
            shares[term].append(replace(value / entropy, unit=OF_ENTROPY))
    bounds, means = information.aggregated("alone"), {}
    for term, each in shares.items():
        mean = sum(each) / len(each)
        beyond = outside(mean, getattr(bounds, f"{term}_low"), getattr(bounds, f"{term}_high"))
        means[term] = replace(mean, notes=(*mean.notes, beyond)) if beyond else mean
    return means


def _typed(z: NDArray[np.float64], columns: NDArray[np.int64], categorical: Sequence[int]) -> Variable:
    """Some latents [n, L]; the categories among them as such."""
    labels = np.isin(columns, categorical)
    numbers = _numbers(z[:, columns[~labels]])
    return join(numbers, as_variable("latents", Discrete(z[:, columns[labels]]))) if labels.any() else numbers


def _numbers(values: NDArray[Any]) -> Variable:
    """[n, d] as numbers, with no question whether they are labels."""
    return Variable(values.astype(np.float64), None, 1)


def outside(term: Estimate, low: Estimate, high: Estimate) -> str:
    """That a term is outside of its bounds, and by how much; "" where it is not."""
    distance, bound = max((low.value - term.value, low), (term.value - high.value, high), key=lambda pair: pair[0])
    if distance <= pid.ROUNDING:
        return ""
    error = np.hypot(term.standard_error, bound.standard_error)
    return (
        f"It is outside of the bounds, {low.value:.3f} to {high.value:.3f}, by {distance:.2g}, {distance / error:.1f} "
        "standard errors (of both, as if apart): they are estimated in other ways."
    )
