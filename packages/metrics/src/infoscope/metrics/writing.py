"""How results are written: sentences of reports and pages, rows and columns of tables."""

from __future__ import annotations

import math
from collections.abc import Iterable

from infoscope.estimators.reading.sentences import amount as amount
from infoscope.estimators.reading.sentences import at_most as at_most
from infoscope.estimators.result import Estimate

COLUMNS = ("value", "standard_error", "low", "high", "unit", "n", "method", "notes")


def shown(one: Estimate, error: bool = True, interval: bool = True) -> str:
    """Value ± standard error [95 % interval], or why there is no value."""
    if math.isnan(one.value):
        return f"none ({' '.join(one.notes)})"
    text = f"{one.value:z.3f}"
    if one.low == one.high:
        return text
    if error and math.isfinite(one.standard_error):
        text += f" ± {one.standard_error:.3f}"
    return f"{text} [{one.low:z.3f}, {one.high:z.3f}]" if interval and math.isfinite(one.low) else text


def in_bits(one: Estimate, interval: bool = True) -> str:
    """An estimate of information in bits with its 95 % interval, or why there is none."""
    return shown(one if math.isnan(one.value) else one.bits, error=False, interval=interval)


def listed(names: Iterable[str], most: int = 8) -> str:
    """The first names, and how many more there are: a, b and c; a, b and 3 more."""
    names = list(names)
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most:,} more"
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


def row(one: Estimate) -> dict[str, object]:
    """The values of `COLUMNS`, notes as one text."""
    return {name: getattr(one, name) for name in COLUMNS} | {"notes": " ".join(one.notes)}


def columns(name: str, one: Estimate | None) -> dict[str, float]:
    """Value, standard error and ends of the interval by their columns; nan without an estimate."""
    ends = (math.nan,) * 4 if one is None else (one.value, one.standard_error, one.low, one.high)
    return dict(zip((name, f"{name}_error", f"{name}_low", f"{name}_high"), ends))


def blocks_and_widths(blocks: dict[str, int]) -> str:
    """Names of blocks with their numbers of columns."""
    return ", ".join(f"{name} ({width})" for name, width in blocks.items())
