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

from infoscope.errors import InvalidInput
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.variables import aligns
from infoscope.metrics.disentanglement.concrete import decomposed, require_decomposition
from infoscope.metrics.disentanglement.measuring import Inputs, measure_scores, streams_of, titled
from infoscope.metrics.disentanglement.registry import SCORES, TERMS
from infoscope.metrics.factor_information import exact
from infoscope.metrics.factor_information.arrays import from_arrays
from infoscope.metrics.factor_information.result import FactorInformation

PATIENCE = 3.0  # seconds without a word
COLUMNS = ("value", "standard_error", "low", "high", "unit", "n", "method", "notes")


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

    representation  a posterior or an array [N, L]. Of a posterior, the protocol "uni-bound" takes draws; the protocol
                    "disentanglement-lib", the discretised MIG, SAP and DCI take means (the most probable category);
                    MIG, UniBound and the bounds are exact. Means know nothing of a posterior's noise, and so nothing of
                    a synergy attack
    factors         [N, K], K >= 2, as `inputs.as_factors` takes them: integers are classes; scores that take no numbers
                    say so
    measured        the information, if it is there already; None: `exact.measure` with `draws` draws of a posterior,
                    `factor_information.from_arrays` by `method` of an array
    items           random items for the scores of arrays other than BetaVAE and FactorVAE; None: all
    categorical     numbers of an array's latents that are categories; a posterior knows its own
    progress        called with the share that is done and what was done last; True: a line on standard error once it
                    has taken some seconds; False: nothing
    extra           keys of scores that take long, and are measured only where they are asked for
    decompositions  names in pid.DECOMPOSITIONS: three more rows for each, of the terms at the latent that tells most
                    about a factor; where a term is outside of the bounds at that latent, its notes say so

    Bounds "as published" are maximised over latents each by itself, so those of a factor may come from three latents;
    "at one latent" are those of the latent that tells most about a factor, and add up. A score that cannot be computed
    from these items (a value with too few of them, say) is nan, and its notes say why.
    ValueError: shapes that do not fit, values that are not finite, a factor of one value, fewer than two factors, an
    unknown decomposition or extra score.
    """
    for name in decompositions:
        require_decomposition(name)
    longer = {key: spec for key, spec in SCORES.items() if spec.extra}
    if not set(extra) <= set(longer):
        raise InvalidInput(f"extra must be some of {', '.join(longer)}, got {list(extra)}.")
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
        {"score": titled(SCORES[key], inputs), "better": SCORES[key].better, **{c: getattr(score, c) for c in COLUMNS}}
        for key, score in found.items()
    ]
    for name in decompositions:
        for term, value in decomposed(inputs, name).items():
            title = f"{term} ({name}, at one latent)"
            rows.append({"score": title, "better": TERMS[term], **{c: getattr(value, c) for c in COLUMNS}})
    return pd.DataFrame(rows).assign(notes=lambda table: table["notes"].map(" ".join))


class Line:
    """A line on standard error about something that takes long: nothing in its first seconds, then now and again, on a
    terminal over itself.
    """

    def __init__(self) -> None:
        self.began = self.told = time.monotonic()
        self.shown = False

    def __call__(self, share: float, what: str) -> None:
        now, end = time.monotonic(), share >= 1.0
        on_terminal = sys.stderr.isatty()
        if end and self.shown and on_terminal:
            print(file=sys.stderr)
        if end or now - self.began < PATIENCE or now - self.told < (0.5 if on_terminal else PATIENCE):
            return
        self.told, self.shown = now, True
        start, stop = ("\r", "\033[K") if on_terminal else ("", "\n")
        print(f"{start}disentanglement: {share:.0%}, {what}, {now - self.began:.0f} s", end=stop, file=sys.stderr,
              flush=True)  # fmt: skip
