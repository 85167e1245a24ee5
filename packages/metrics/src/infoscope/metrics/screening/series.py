"""Which columns of a table of series lead which: transfer entropies of pairs, with
q-values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import false_discovery_control

from infoscope.checks import one_of
from infoscope.errors import InfoscopeError, TooFew
from infoscope.estimators.reading.reader import C
from infoscope.estimators.series import transfer_entropy
from infoscope.notebook import InNotebook

SHOWN = 3  # leading pairs in the answer


@dataclass(frozen=True, eq=False)
class SeriesScreen(InNotebook):
    """Pairs of series in the order of their q-values.

    table   a row for each pair: cause, effect, bits with low and high (of the transfer entropy), p, q, leads (q at most
            the level, and not grade C), grade, history, n
    level   of the false discovery rate
    notes   pairs that could not be read, and why
    """

    table: pd.DataFrame
    level: float
    notes: tuple[str, ...] = ()

    @property
    def answers(self) -> list[str]:
        """What was found, in sentences."""
        leading = self.table[self.table["leads"]]
        assert isinstance(leading, pd.DataFrame)
        compared = len(self.table)
        if leading.empty:
            return [
                f"No series is found to lead another, of {compared:,} pairs (false "
                f"discovery rate {self.level:g})."
            ]
        phrases = []
        for row in leading.head(SHOWN).to_dict("records"):
            low = row["low"]
            high = row["high"]
            bits = f"at most {high:.2f} bits"
            if low > 0:
                bits = f"{row['bits']:.2f} bits (95 %: {low:.2f} to {high:.2f})"
            phrases.append(f"{row['cause']} adds {bits} about {row['effect']}")
        count = (
            f"{len(leading):,} of {compared:,} pairs lead (false discovery rate "
            f"{self.level:g})"
        )
        return [f"{count}: {'; '.join(phrases)}."]

    def __str__(self) -> str:
        return "\n".join(self.answers)


def screen_series(
    columns: Mapping[str, Any],
    target: str | None = None,
    *,
    time: Any = None,
    groups: ArrayLike | None = None,
    history: int | None = None,
    level: float = 0.05,
    generator: np.random.Generator | None = None,
    progress: Callable[[float, str], None] = lambda *_: None,
) -> SeriesScreen:
    """Transfer entropies of every column to the target or to every other, with q-values.

    Parameters
    ----------
    columns
        Name -> values [n], as `infoscope.estimators.series.as_series` takes them.
    target
        The name of the effect; None: each column in turn.
    time, groups
        As in `as_series`.
    history
        Number of past values; None: for each pair as many as help to predict.
    level
        False discovery rate (Benjamini & Hochberg 1995); a pair without a p-value is
        included with p = 1.
    generator
        Of the draws of the readings.

    Raises
    ------
    UnknownName
        The target is not a column.
    TooFew
        Fewer than two columns, or no pair that can be read.
    """
    names = list(columns)
    if len(names) < 2:
        raise TooFew(f"columns must be at least two series, got {len(names)}.")
    if target is not None:
        one_of("target", target, names)
    effects = names if target is None else [target]
    pairs = []
    for effect in effects:
        pairs += [(cause, effect) for cause in names if cause != effect]
    rows = []
    notes = []
    for done, (cause, effect) in enumerate(pairs, 1):
        try:
            answer = transfer_entropy(
                columns[cause],
                columns[effect],
                history,
                time=time,
                groups=groups,
                generator=generator,
            )
        except InfoscopeError as error:
            notes.append(f"{cause} to {effect}: {error}")
        else:
            row = {
                "cause": cause,
                "effect": effect,
                "bits": answer.bits.value,
                "low": answer.bits.low,
                "high": answer.bits.high,
                "p": answer.p_value,
                "grade": answer.grade,
                "history": answer.history,
                "n": answer.n,
            }
            rows.append(row)
        progress(done / len(pairs), f"{cause} to {effect}")
    if not rows:
        raise TooFew(f"columns must have a pair that can be read, got none. {notes[0]}")
    table = pd.DataFrame(rows)
    q = false_discovery_control(table["p"].fillna(1.0).to_numpy())
    table.insert(6, "q", np.where(table["p"].isna(), np.nan, q))
    table.insert(7, "leads", (table["q"] <= level) & (table["grade"] != C))
    table = table.sort_values(["q", "bits"], ascending=[True, False], ignore_index=True)
    return SeriesScreen(table, level, tuple(notes))
