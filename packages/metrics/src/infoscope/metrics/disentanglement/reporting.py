"""Every disentanglement score of one representation in one table."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from infoscope.estimators.checks import generator_or_default
from infoscope.metrics.disentanglement.information_based import SHARE, as_score, bound_scores, mig
from infoscope.metrics.disentanglement.intervention_based import PROTOCOLS, beta_vae_score, factor_vae_score
from infoscope.metrics.disentanglement.predictor_based import dci, sap
from infoscope.metrics.factor_information import exact
from infoscope.metrics.factor_information.arrays import from_arrays
from infoscope.metrics.factor_information.inputs import (
    Score,
    as_array,
    as_factors,
    categorical_latents,
    scored,
    typical_codes,
    undefined,
)
from infoscope.metrics.factor_information.result import FactorInformation

PATIENCE = 3.0  # seconds without a word
COLUMNS = ("value", "standard_error", "low", "high", "unit", "n", "how", "notes")


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
) -> pd.DataFrame:
    """One row for every score: score, value, standard_error, low, high (95 %), unit, n, how, notes.

    representation  a posterior or an array [N, L]. Of a posterior, the protocol "uni-bound" takes draws; the protocol
                    "disentanglement-lib", the discretised MIG, SAP and DCI take means (the most probable category);
                    MIG, UniBound and the bounds are exact. Means know nothing of a posterior's noise, and so nothing of
                    a synergy attack
    factors         integers [N, K], K >= 2
    measured        the information, if it is there already; None: `exact.measure` with `draws` draws of a posterior,
                    `factor_information.from_arrays` by `method` of an array
    items           random items for the scores of arrays other than BetaVAE and FactorVAE; None: all
    categorical     numbers of an array's latents that are categories; a posterior knows its own
    progress        called with the share that is done and what was done last; True: a line on standard error once it
                    has taken some seconds; False: nothing

    Bounds "as published" are maximised over latents each by itself, so those of a factor may come from three latents;
    "at one latent" are those of the latent that tells most about a factor, and add up. A score that cannot be computed
    from these items (a value with too few of them, say) is nan, and its notes say why.
    ValueError: shapes that do not fit, values that are not finite, a factor of one value, fewer than two factors.
    """
    tell = Line() if progress is True else progress or (lambda share, what: None)
    streams = generator_or_default(generator).spawn(4 + 2 * len(PROTOCOLS))  # no score depends on the others
    known = as_factors(factors, least=2)
    posterior = hasattr(representation, "draw")
    codes = as_array(typical_codes(representation) if posterior else representation, known.n)
    of_latents = {"categorical": categorical_latents(representation) if posterior else list(categorical)}
    scores = {}
    for preset in PROTOCOLS:
        for name, score in (("BetaVAE", beta_vae_score), ("FactorVAE", factor_vae_score)):
            votes = partial(score, representation, factors, preset, **of_latents, generator=streams.pop())
            scores[f"{name} ({preset})"] = attempted(votes, "share of test votes")
            tell(0.05 * len(scores), f"{name} ({preset})")
    binned = partial(mig, codes, factors, "discretised", items=items, **of_latents, generator=streams.pop())
    scores["MIG (discretised)"] = attempted(binned, SHARE)
    gaps = partial(sap, codes, factors, items=items, generator=streams.pop())
    scores["SAP"] = attempted(gaps, "difference of accuracies")
    forests = partial(
        dci, codes, factors, items=items, generator=streams.pop(),
        progress=lambda share: tell(0.2 + 0.4 * share, "DCI"),
    )  # fmt: skip
    scores |= forest_scores(forests)
    if measured is None and posterior:
        measured = exact.measure(representation, known.codes, draws, streams.pop(), known.names)
    elif measured is None:
        measured = from_arrays(
            codes, factors, method, items=items, **of_latents, generator=streams.pop(),
            progress=lambda share: tell(0.6 + 0.4 * share, "information"),
        )  # fmt: skip
    information = measured.factors if isinstance(measured, exact.Measured) else measured
    scores |= information_scores(information, "exact" if posterior else "estimated")
    if isinstance(measured, exact.Measured):
        scores |= latent_scores(measured.latents, information.method)
    tell(1.0, "done")
    return as_table(scores)


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


def attempted(score: Callable[[], Score], unit: str) -> Score:
    """The score, or none with the reason as a note."""
    try:
        return score()
    except ValueError as error:
        return undefined(unit, 0, "", str(error))


def forest_scores(measure: Callable[[], Any]) -> dict[str, Score]:
    """The three scores of DCI."""
    parts = ("disentanglement", "completeness", "informativeness")
    try:
        found = measure()
    except ValueError as error:
        return {f"DCI {part}": undefined("share", 0, "", str(error)) for part in parts}
    return {f"DCI {part}": getattr(found, part) for part in parts}


def information_scores(information: FactorInformation, kind: str) -> dict[str, Score]:
    """Everything that follows from a FactorInformation; `kind` says how MIG was found."""
    scores = {
        f"MIG ({kind})": attempted(lambda: as_score(information.mig(), information), SHARE),
        "UniBound": as_score(information.unibound(), information),
        "I(y; z) / H(y)": as_score(information.informativeness(), information),
    }
    for latent, where in ((None, "as published"), ("alone", "at one latent")):
        for name, score in bound_scores(information, latent).items():
            words = name.replace("_low", " lower").replace("_high", " upper")
            scores[f"{words} ({where})"] = score
    return scores


def latent_scores(latents: exact.LatentInformation, how: str) -> dict[str, Score]:
    """What a posterior says of its latents without regard to factors."""
    found = {"total correlation": latents.total_correlation, "I(x; z)": latents.mutual_information}
    return {name: scored(float(e.value), float(e.standard_error), "nats", e.n, how) for name, e in found.items()}


def as_table(scores: dict[str, Score]) -> pd.DataFrame:
    """One row for every score, in their order."""
    rows = [{"score": name, **{c: asdict(score)[c] for c in COLUMNS}} for name, score in scores.items()]
    table = pd.DataFrame(rows)
    table["notes"] = [" ".join(notes) for notes in table["notes"]]
    return table
