"""What rendering sprites in batches costs beside one image at a time in plain numpy:
processor seconds in one run.

Both render the same 64 x 64 images of the full grid, to rounding. What is asserted is
what was reached (4 to 5 times as fast for batches of 256) with a margin for a busy
machine.
"""

import numpy as np
import pytest

from infoscope.data import sprites
from tests.benchmarks.timing import median, ratios, seconds, show

pytestmark = pytest.mark.bench

BATCH = 256
ROUNDS = 7
SIDE = 64


def plain(codes, dataset):
    """One image, float32 [H, W], from the outlines' inequalities at every pixel."""
    scale, turn, x, y = (
        values[code] for values, code in zip(dataset.factor_values[1:], codes[1:])
    )
    centres = (np.arange(SIDE, dtype=np.float32) + 0.5) / SIDE
    across = (centres - 0.25 - 0.5 * x) / scale
    down = ((centres - 0.25 - 0.5 * y) / scale)[:, None]
    u = np.cos(turn) * across - np.sin(turn) * down
    v = np.sin(turn) * across + np.cos(turn) * down
    if codes[0] == 0:
        inside = np.maximum(abs(u), abs(v)) <= 0.15
    elif codes[0] == 1:
        inside = (u / 0.1994) ** 2 + (v / 0.1128) ** 2 <= 1
    else:
        c2 = np.maximum(1 - np.cbrt(u / 0.15) ** 2, 0)
        height = (v + 0.0225) * (-29 / 0.3) - (4 - 2 * c2 - 8 * c2 * c2)
        inside = (abs(height) <= np.sqrt(c2) * (19 - 8 * c2)) & (abs(u) <= 0.15)
    return inside.astype(np.float32)


def test_batches_against_one_image_at_a_time():
    dataset = sprites(3, 6, 40, 32, SIDE)
    some = np.random.default_rng(0).choice(len(dataset), BATCH, replace=False)
    codes = dataset.factors[some]
    ours = lambda: dataset.images(some)  # noqa: E731
    alone = lambda: np.stack([plain(row, dataset) for row in codes])  # noqa: E731
    assert (ours()[:, 0].numpy() != alone()).sum() <= 10
    found = median("images, plain / ours", ratios(alone, ours, ROUNDS, repeat=20))
    show("", rate=BATCH / seconds(ours, 20))
    assert found >= 2.5
