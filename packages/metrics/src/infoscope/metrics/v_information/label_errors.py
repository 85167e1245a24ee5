"""Labels flipped at random, to see whether `labels.report` finds them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from infoscope.checks import one_of
from infoscope.errors import NoVariation, OutOfRange

NOISES = ("symmetric", "pair")


def flip_labels(
    labels: ArrayLike,
    share: float,
    generator: np.random.Generator,
    noise: str = "symmetric",
) -> tuple[np.ndarray, np.ndarray]:
    """Labels [n] with a random `share` replaced, and a mask [n] of the replaced ones.

    "symmetric": by any other label; "pair": by the next one (Han et al. 2018).
    ValueError: a share outside (0, 1), or of no label; one label only; an unknown
    noise.
    """
    labels = np.asarray(labels)
    values, codes = np.unique(labels, return_inverse=True)
    count = round(share * len(labels))
    if not 0.0 < share < 1.0 or not count:
        raise OutOfRange(
            f"share must be between 0 and 1 and flip at least one of {len(labels)} "
            f"labels, got {share!r}."
        )
    if len(values) < 2:
        raise NoVariation(
            f"labels must take at least two values, got {values.tolist()!r}."
        )
    one_of("noise", noise, NOISES)
    flipped = np.zeros(len(labels), dtype=bool)
    rows = generator.choice(len(labels), count, replace=False)
    flipped[rows] = True
    steps = 1  # to the next label
    if noise == "symmetric":
        steps = generator.integers(1, len(values), count)
    codes[flipped] = (codes[flipped] + steps) % len(values)
    return values[codes], flipped
