"""The weights of a resize: Pillow's pixels bit for bit in exact arithmetic, and the cut
into bands.
"""

import numpy as np
import pytest
from PIL import Image

from infoscope.data.pools.canvas import resampling_weights

LENGTHS = [
    *((28, side) for side in (7, 28, 61, 100)),
    *((28 * side, 60) for side in (3, 10)),
    (140, 96),
    (32, 224),
]


@pytest.mark.parametrize(("n_in", "n_out"), LENGTHS)
def test_one_pass_agrees_with_pillow(n_in, n_out):
    rows = np.random.default_rng(0).integers(0, 256, (200, n_in), dtype=np.uint8)
    # float64 holds every product and sum exactly
    exact = rows @ resampling_weights(n_in, n_out).T
    ours = np.clip(np.floor(exact + 0.5), 0, 255).astype(np.uint8)
    for image, result in ((rows, ours), (rows.T, ours.T)):
        size = (n_out, 200) if image is rows else (200, n_out)
        resized = Image.fromarray(np.ascontiguousarray(image)).resize(
            size, Image.Resampling.BICUBIC
        )
        assert np.array_equal(np.asarray(resized), result)
