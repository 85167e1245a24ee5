"""Leaks, information that blocks of a representation should not carry: the first
sentences of reports.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import nan
from typing import NamedTuple

from infoscope.estimators.reading.sentences import LEVEL, amount, at_most, p_in_words
from infoscope.estimators.result import Estimate
from infoscope.metrics.pid import ROUNDING
from infoscope.metrics.report import listed

# advice in Python
EACH_COLUMN = "representation.report({name: z[name] for name in z}, ...) shows which"
MAX_NAMED = 3  # leaks, or limits, that a sentence names


class Unwanted(NamedTuple):
    """Information of a block about a variable that it is not meant for, in bits.

    ceiling: the entropy of the variable, if it is of classes; usable: what predictors
    use of the information, if that is another number; p_value: of a test of
    independence.
    """

    block: str
    variable: str
    information: Estimate
    ceiling: Estimate | None
    usable: Estimate | None = None
    p_value: float = nan

    @property
    def detected(self) -> bool:
        """Whether the 95 % interval lies above 0."""
        return self.information.low > ROUNDING

    def __str__(self) -> str:
        carried = (
            f"{self.block} also carries {amount(self.information, self.ceiling)} "
            f"about {self.variable}"
        )
        if self.usable is None or self.usable.value >= self.information.value:
            return carried
        return f"{carried} (predictors use {self.usable.value:z.2f})"


def leaks(
    unwanted: Sequence[Unwanted],
    columns: Collection[str] = (),
    each_column: str = EACH_COLUMN,
) -> list[str]:
    """Sentences that name the largest leaks and what to do about the first, or the
    upper limits where there is none.

    unwanted     in the order of importance
    columns      names of blocks of a single column
    each_column  advice on how to find the columns of a block that leak
    """
    detected = [leak for leak in unwanted if leak.detected]
    if detected:
        first = detected[0]
        named = "; ".join(map(str, detected[:MAX_NAMED]))
        others = len(detected) - MAX_NAMED
        more = f"; and {others} more" if others > 0 else ""
        part = first.block
        if part not in columns:
            part = f"the columns of {part} that carry it: {each_column}"
        return [
            f"Leak: {named}{more}.",
            f"What to do: penalise information about {first.variable} in "
            f"{first.block} during training, or drop "
            f"{part}. Some leak is expected if {first.variable} depends on the target "
            f"of {first.block}.",
        ]
    # Bonferroni
    weak = [leak for leak in unwanted if leak.p_value * len(unwanted) <= LEVEL]
    if weak:
        least = min(weak, key=lambda leak: leak.p_value)
        return [
            f"{least.block} depends on {least.variable} "
            f"({p_in_words(least.p_value)}), but weakly: it carries "
            f"{at_most(least.information)} about {least.variable} (95 %)."
        ]
    if not unwanted:
        return []
    limits = []
    for leak in sorted(unwanted, key=lambda leak: -leak.information.high):
        limit = at_most(leak.information)
        limits.append(f"{leak.block} carries {limit} about {leak.variable}")
    return [f"No leak is detected: {listed(limits, MAX_NAMED)} (95 %)."]
