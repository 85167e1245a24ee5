"""Every disentanglement score of one representation in one table."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from infoscope.checks import one_of
from infoscope.errors import UnknownName
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.variables import aligns
from infoscope.metrics.disentanglement.concrete import decomposed
from infoscope.metrics.disentanglement.measuring import Inputs, measure_scores, streams_of, titled
from infoscope.metrics.disentanglement.registry import SCORES, TERMS
from infoscope.metrics.factor_information import exact
from infoscope.metrics.factor_information.arrays import from_arrays
from infoscope.metrics.factor_information.result import FactorInformation
from infoscope.metrics.pid import DECOMPOSITIONS
from infoscope.metrics.writing import row

PROGRESS_SECONDS = 3.0  # seconds between lines of progress


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
    decompositions: Sequence[str] = (),
    extra: Sequence[str] = (),
) -> pd.DataFrame:
    """One row for every score of SCORES but the extra ones: score, better (which values are the more disentangled),
    value, standard_error, low, high (95 %), unit, n, method, notes.

    representation  a posterior or an array [N, L]. Of a posterior, "uni-bound" takes draws; "disentanglement-lib", the
                    discretised MIG, SAP and DCI take means, which omit noise; MIG, UniBound and the bounds are exact
    factors         [N, K], K >= 2, as `inputs.as_factors` takes them
    measured        the information, if known; None: `exact.measure` with `draws`, or `from_arrays` by `method`
    items           random items for the scores of arrays other than BetaVAE and FactorVAE; None: all
    categorical     numbers of an array's latents that are categories
    progress        called with the share done and what was done last; True: a line on standard error
    extra, decompositions  keys of slow scores; names in pid.DECOMPOSITIONS, three more rows for each

    Bounds "as published" are maximised over latents one by one; "at one latent" are those of the most informative
    latent, and add up. A score that cannot be computed is nan, with a note. ValueError: shapes that do not fit, values
    that are not finite, a factor of one value, fewer than two factors, unknown names.
    """
    for name in decompositions:
        one_of("decompositions", name, DECOMPOSITIONS)
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
        {"score": titled(SCORES[key], inputs), "better": SCORES[key].better} | row(score)
        for key, score in found.items()
    ]
    for name in decompositions:
        for term, value in decomposed(inputs, name).items():
            rows.append({"score": f"{term} ({name}, at one latent)", "better": TERMS[term]} | row(value))
    return pd.DataFrame(rows)


class Line:
    """Progress on standard error: a line every few seconds, none of what is short."""

    def __init__(self) -> None:
        self.began = self.told = time.monotonic()

    def __call__(self, share: float, what: str) -> None:
        now = time.monotonic()
        if share < 1.0 and now - self.told >= PROGRESS_SECONDS:
            self.told = now
            print(f"disentanglement: {share:.0%}, {what}, {now - self.began:.0f} s", file=sys.stderr, flush=True)
