"""Rotated MNIST: handwritten digits, a domain for each angle, in the two protocols of the literature."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from infoscope.checks import one_of, require_int
from infoscope.data.domains.dataset import DomainDataset
from infoscope.data.domains.digits import INTERPOLATIONS, base_digits, check_angles, rotated
from infoscope.data.domains.split import permutation
from infoscope.data.pools.pools import ImagePool
from infoscope.errors import InvalidInput, OutOfRange

_ANGLES = (0, 15, 30, 45, 60, 75)  # degrees
_INTERPOLATION = {"diva": "nearest", "domainbed": "bilinear"}
_SPLITS = {"diva": ("train",), "domainbed": ("train", "test")}


def rotated_mnist(
    root: Path | str | None = None,
    protocol: str = "diva",
    *,
    base: ImagePool | str | None = None,
    angles: Sequence[float] = _ANGLES,
    per_class: int = 100,
    indices: Sequence[int] | None = None,
    interpolation: str | None = None,
    size: int | Sequence[int] = 28,
    generator: torch.Generator | None = None,
) -> DomainDataset:
    """Grey digits turned counterclockwise, a domain for each angle (named by it, "15"); y is the digit.

    protocol "diva" (Ilse et al. 2020, section 4.1): the same 1,000 digits, per_class of each class, at every angle,
    nearest neighbour; `indices` takes a published set of positions. The paper trains and tests on the same digits:
    `split("75", None, generator, disjoint=False)`.

    protocol "domainbed" (Gulrajani and Lopez-Paz 2021): all 70,000 digits, each at one angle only, bilinear. Its split:
    `split("75", 0.2, generator)`. Accuracies of the two protocols are not comparable.

    base           a pool of grey images, or "digits", the bundled ones; None: MNIST, else the bundled ones
    size           before the digits are turned
    interpolation  nearest, bilinear or bicubic; None: that of the protocol
    generator      None: seeded with 0

    Groups are digits. ValueError for another protocol or interpolation, too few digits of a class, or indices that are
    not there; FileNotFoundError when MNIST is not in the folder.
    """
    one_of("protocol", protocol, _SPLITS)
    interpolation = one_of("interpolation", interpolation or _INTERPOLATION[protocol], INTERPOLATIONS)
    generator = torch.Generator().manual_seed(0) if generator is None else generator
    degrees = check_angles("angles", angles)
    digits, labels, name = base_digits(base, root, _SPLITS[protocol], size)
    if protocol == "diva":
        chosen = _of_each_class(labels, per_class, generator) if indices is None else _checked(indices, len(labels))
        hands = [chosen] * len(degrees)
    elif indices is not None:
        raise InvalidInput("indices must be left out for the protocol 'domainbed', which takes every digit.")
    else:
        dealt = permutation(len(labels), generator)
        hands = [np.sort(dealt[first :: len(degrees)]) for first in range(len(degrees))]
    groups = np.concatenate(hands)
    images = np.concatenate([rotated(digits[hand], angle, interpolation) for hand, angle in zip(hands, degrees)])
    classes = np.unique(labels)
    return DomainDataset.of_arrays(
        images,
        np.searchsorted(classes, labels[groups]),
        np.repeat(np.arange(len(degrees)), [len(hand) for hand in hands]),
        groups,
        class_names=tuple(map(str, classes.tolist())),
        domain_names=tuple(f"{angle:g}" for angle in degrees),
        name=f"rotated-mnist ({protocol}) of {name}",
        synthetic=isinstance(base, ImagePool) and base.synthetic,
    )


def _of_each_class(labels: np.ndarray, per_class: int, generator: torch.Generator) -> np.ndarray:
    """Positions of per_class digits of each class, in rising order."""
    require_int("per_class", per_class)
    order = permutation(len(labels), generator)
    members = {label: order[labels[order] == label] for label in np.unique(labels).tolist()}
    fewest = min(map(len, members.values()))
    if per_class > fewest:
        raise OutOfRange(f"per_class must be at most {fewest}, the digits of the rarest class, got {per_class}.")
    return np.sort(np.concatenate([some[:per_class] for some in members.values()]))


def _checked(indices: Sequence[int], n: int) -> np.ndarray:
    chosen = np.asarray(indices)
    if chosen.ndim != 1 or not chosen.size or chosen.dtype.kind not in "iu" or chosen.min() < 0 or chosen.max() >= n:
        raise OutOfRange(f"indices must be positions from 0 to {n - 1}, at least one, got {chosen!r}.")
    if len(np.unique(chosen)) < len(chosen):
        raise OutOfRange("indices must be distinct positions, but some occur more than once.")
    return chosen.astype(np.int64)
