"""Lee & Rhee 2024: the random networks are not invertible maps of a sample.

Invertible networks keep information. MAF, RealNVP and i-RevNet are random here, never
trained, and normalise by the current batch. The code of a sample then depends on the
other samples, and x and y pass through different maps.
"""

import torch

from infoscope.models.invertible import RealNVP

x = torch.randn(64, 16, generator=torch.Generator().manual_seed(0))
changed = torch.cat(
    [x[:32], torch.randn(32, 16, generator=torch.Generator().manual_seed(1))]
)
moved = {}
for statistics in ("batch", "fixed"):
    encoder = RealNVP(16, statistics=statistics)
    if statistics == "fixed":
        encoder.calibrate(x)
    moved[statistics] = float((encoder(x)[:32] - encoder(changed)[:32]).abs().max())
print(
    "largest change of the codes of 32 samples when the other 32 are replaced:",
    {name: round(by, 3) for name, by in moved.items()},
)
assert moved["batch"] > 0.1 and moved["fixed"] == 0
