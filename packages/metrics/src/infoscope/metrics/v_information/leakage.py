"""V-information of every latent block for every family, and features that hide a label
from one (Xu et al. 2020, section 6.4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.nn import functional

from infoscope.checks import require_int
from infoscope.errors import NoVariation, OutOfRange, TooFew, WrongLength, WrongType
from infoscope.estimators.alignment import aligns
from infoscope.estimators.checks import generator_or_default
from infoscope.estimators.columns import as_matrix
from infoscope.estimators.families.networks import Network, fully_connected, outputs
from infoscope.estimators.families.protocol import Features
from infoscope.metrics.v_information.measures import estimate


@aligns("blocks", "labels", "groups", "given")
def usable_leakage(
    blocks: Mapping[str, Any],
    labels: Mapping[str, ArrayLike],
    families: Mapping[str, Any],
    folds: int = 5,
    groups: ArrayLike | None = None,
    generator: np.random.Generator | None = None,
    given: Any = None,
) -> pd.DataFrame:
    """The cross-fitted V-information of blocks about labels for families, as a table.

    Parameters
    ----------
    blocks
        Name -> [n, d].
    labels
        Name -> [n].
    families
        Name -> family.
    given
        As in `v_information.estimate`.

    Returns
    -------
    DataFrame
        Columns label, block, family, value_bits, standard_error_bits, ceiling_bits
        (H_V(label)), floored, n, groups. All rows use the same folds; values are not
        clipped.

    Raises
    ------
    ValueError
        As `v_information.estimate`.

    Examples
    --------
    >>> y = np.arange(60) % 2
    >>> table = usable_leakage({"z": y[:, None]}, {"y": y}, {"linear": "logistic"})
    >>> print(f"{table['value_bits'][0]:.1f}")
    0.9
    """
    arguments = {"blocks": blocks, "labels": labels, "families": families}
    for name, mapping in arguments.items():
        if not mapping:
            raise TooFew(f"{name} must have one entry or more, got none.")
    seed = int(generator_or_default(generator).integers(2**63))
    rows = []
    for label, values in labels.items():
        for block, x in blocks.items():
            for name, family in families.items():
                information = estimate(
                    family,
                    x,
                    values,
                    folds=folds,
                    groups=groups,
                    generator=np.random.default_rng(seed),
                    given=given,
                )
                row = {
                    "label": label,
                    "block": block,
                    "family": name,
                    "value_bits": information.bits.value,
                    "standard_error_bits": information.bits.standard_error,
                    "ceiling_bits": information.null_entropy.bits.value,
                    "floored": information.floored,
                    "n": information.n,
                    "groups": information.units,
                }
                rows.append(row)
    return pd.DataFrame(rows)


@dataclass(frozen=True, eq=False)
class Hiding:
    """An encoder trained to hide a label.

    encode               inputs [n, d] -> features [n, size], float64
    reconstruction       mean squared error over standardised inputs
    adversary_log_loss   nats; the entropy of the label if it is hidden completely
    """

    encode: Callable[[ArrayLike], np.ndarray]
    reconstruction: float
    adversary_log_loss: float


@aligns("x", "u")
def hide(
    x: ArrayLike,
    u: ArrayLike,
    against: Network,
    size: int = 10,
    strength: float = 10.0,
    steps: int = 2000,
    batch: int = 256,
    adversary_steps: int = 3,
    learning_rate: float = 1e-3,
    generator: torch.Generator | None = None,
) -> Hiding:
    """Trains features that keep x [n, d] and hide the classes u [n] from a family of
    networks.

    An autoencoder minimises squared error plus strength times the Kullback-Leibler
    divergence of the adversary's prediction from the class frequencies; the adversary
    takes adversary_steps steps for each of its own. If the adversary learns too slowly,
    the label is not hidden: check the features by `usable_leakage` on other rows.
    ValueError: different lengths, one class only, numbers that are not classes, a
    negative strength, counts below 1, a batch below 2.
    """
    inputs = as_matrix("x", x)
    codes = _classes(u, len(inputs))
    require_int("size", size, 1)
    require_int("steps", steps, 1)
    require_int("batch", batch, 2)
    require_int("adversary_steps", adversary_steps, 1)
    if not strength >= 0.0:
        raise OutOfRange(f"strength must be at least 0, got {strength!r}.")
    generator = torch.Generator().manual_seed(0) if generator is None else generator
    features = Features.of(inputs, 1)
    rows = torch.as_tensor(features(inputs), dtype=torch.float32)
    targets = torch.as_tensor(codes)
    width = rows.shape[1]
    encoder = nn.Sequential(
        fully_connected([width, 64, size], generator),
        nn.BatchNorm1d(size, affine=False),
    )
    decoder = fully_connected([size, 64, width], generator)
    adversary = against.build(size, int(codes.max()) + 1, generator)
    frequencies = torch.bincount(targets) / len(targets)
    encoder_optimizer = torch.optim.Adam(
        [*encoder.parameters(), *decoder.parameters()], lr=learning_rate
    )
    adversary_optimizer = torch.optim.Adam(
        adversary.parameters(), lr=3.0 * learning_rate
    )

    def minibatch() -> Tensor:
        return torch.randint(len(rows), (batch,), generator=generator)

    for _ in range(steps):
        for _ in range(adversary_steps):
            chosen = minibatch()
            with torch.no_grad():
                z = encoder(rows[chosen])
            adversary_optimizer.zero_grad()
            functional.cross_entropy(adversary(z), targets[chosen]).backward()
            adversary_optimizer.step()
        chosen = minibatch()
        z = encoder(rows[chosen])
        logs = adversary(z).log_softmax(dim=1)
        divergence = (frequencies * (frequencies.log() - logs)).sum(dim=1).mean()
        encoder_optimizer.zero_grad()
        loss = functional.mse_loss(decoder(z), rows[chosen]) + strength * divergence
        loss.backward()
        encoder_optimizer.step()
    encoder.eval()
    with torch.no_grad():
        z = encoder(rows)
        error = float(functional.mse_loss(decoder(z), rows))
        log_loss = float(functional.cross_entropy(adversary(z), targets))
    return Hiding(lambda new: outputs(encoder, features(new)), error, log_loss)


def _classes(u: ArrayLike, n: int) -> np.ndarray:
    """The classes u [n] as numbers from 0; an error unless there are two at least."""
    labels, codes = np.unique(np.asarray(u), return_inverse=True)
    if len(codes) != n:
        raise WrongLength(
            f"u must be one class for each of {n} rows of x, got {len(codes)}."
        )
    if len(labels) < 2:
        raise NoVariation(
            f"u must take at least two values, got {labels.tolist()!r} in all rows."
        )
    if labels.dtype.kind == "f" and np.mod(labels, 1).any():
        raise WrongType(
            f"u must be classes, got {len(labels)} different numbers; bin them into "
            "classes."
        )
    return codes
