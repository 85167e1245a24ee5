"""What is not surely worse than the best, by paired differences."""

from collections.abc import Iterable

import pandas as pd

from infoscope.metrics import replicated


def level_with(best: pd.Series, others: pd.DataFrame) -> list[str]:
    """The columns that are not surely below the best: the 95 % interval of the paired
    difference over rows reaches 0, or there are too few pairs for one.
    """
    names = []
    for name, values in others.items():
        differences = (best - values).dropna()
        if differences.empty or not replicated(differences.to_numpy()).low > 0:
            names.append(str(name))
    return names


def listed(names: Iterable[str]) -> str:
    """Names in a sentence: a, b and c."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
